public import Foundation

/// How values of a type are kept in the bytes of an attribute.
///
/// | coding | for | bytes | others read it with |
/// |---|---|---|---|
/// | ``data`` | `Data` | as they are | anything |
/// | `text` | `String`, `URL` | UTF-8, no NUL at the end | `getfattr`, `xattr -p` |
/// | ``decimal`` | integers | decimal digits | `getfattr`, shell scripts |
/// | ``iso8601`` | `Date` | `2026-02-28T12:00:00.000Z` | `getfattr` |
/// | ``propertyList`` | any `Codable` | binary property list | `plutil`, Python's `plistlib` |
/// | ``propertyListObject`` | property-list objects | binary property list | the same |
/// | ``json`` | any `Codable` | JSON | `jq`, anything |
///
/// A coding of your own is two functions:
///
/// ```swift
/// extension ExtendedAttributeCoding where Value == UUID {
///   static var bytes: Self {
///     Self { withUnsafeBytes(of: $0.uuid) { Data($0) } } decode: { data in
///       guard data.count == 16 else { throw CocoaError(.coderReadCorrupt) }
///       return UUID(uuid: data.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
///     }
///   }
/// }
/// ```
public struct ExtendedAttributeCoding<Value>: Sendable {
  let encode: @Sendable (Value) throws -> Data
  let decode: @Sendable (Data) throws -> Value

  /// A coding of two functions, the inverse of each other.
  ///
  /// - Parameters:
  ///   - encode: Makes bytes of a value, or throws; what it throws becomes the sentence of an
  ///     ``ExtendedAttributeError`` of the kind `invalidValue`.
  ///   - decode: Makes a value of bytes, or throws likewise.
  public init(
    encode: @escaping @Sendable (Value) throws -> Data,
    decode: @escaping @Sendable (Data) throws -> Value
  ) {
    self.encode = encode
    self.decode = decode
  }
}

/// Why bytes are no value of a type.
struct Unfit: Error, CustomStringConvertible {
  let description: String
}

extension ExtendedAttributeCoding where Value == Data {
  /// The bytes themselves.
  public static var data: Self {
    Self {
      $0
    } decode: {
      $0
    }
  }
}

extension ExtendedAttributeCoding where Value == String {
  /// UTF-8 without a NUL at its end; bytes that are not UTF-8 are refused, not repaired.
  public static var text: Self {
    Self {
      Data($0.utf8)
    } decode: { data in
      guard let text = data.withUnsafeBytes(validText) else {
        throw Unfit(description: "the value is not UTF-8")
      }
      return text
    }
  }
}

extension ExtendedAttributeCoding where Value == URL {
  /// The whole URL as text.
  public static var text: Self {
    Self {
      Data($0.absoluteString.utf8)
    } decode: { data in
      guard let url = data.withUnsafeBytes(validText).flatMap({ URL(string: $0) }) else {
        throw Unfit(description: "the value is not a URL")
      }
      return url
    }
  }
}

extension ExtendedAttributeCoding where Value: FixedWidthInteger & SendableMetatype {
  /// Decimal digits, with a minus sign if need be; what does not fit the type is refused.
  public static var decimal: Self {
    Self {
      Data(String($0).utf8)
    } decode: { data in
      guard let value = data.withUnsafeBytes(validText).flatMap({ Value($0) }) else {
        throw Unfit(description: "the value is not a decimal \(Value.self)")
      }
      return value
    }
  }
}

extension ExtendedAttributeCoding where Value == Date {
  /// UTC as ISO 8601 has it, to the millisecond: `2026-02-28T12:00:00.000Z`.
  ///
  /// For every bit of a `Date` use ``propertyList``.
  public static var iso8601: Self {
    // A formatter cannot be shared between threads, and is made quickly.
    @Sendable func formatter(_ more: ISO8601DateFormatter.Options) -> ISO8601DateFormatter {
      let formatter = ISO8601DateFormatter()
      formatter.formatOptions = more.union(.withInternetDateTime)
      return formatter
    }
    return Self {
      Data(formatter(.withFractionalSeconds).string(from: $0).utf8)
    } decode: { data in
      guard let text = data.withUnsafeBytes(validText),
        let date = formatter(.withFractionalSeconds).date(from: text)
          ?? formatter([]).date(from: text)
      else { throw Unfit(description: "the value is not an ISO 8601 date") }
      return date
    }
  }
}

extension ExtendedAttributeCoding where Value: Codable & SendableMetatype {
  /// A binary property list, the format of Apple's own attributes; any property list is read.
  ///
  /// Unlike `PropertyListEncoder` alone it takes single strings, numbers, dates and booleans too,
  /// and keeps them as Apple's tools do: a property list that is just that object.
  public static var propertyList: Self {
    Self { value in
      // The coder refuses single objects, so it gets a list of one, which is opened again.
      let encoder = PropertyListEncoder()
      encoder.outputFormat = .binary
      let list = try PropertyListSerialization.propertyList(
        from: encoder.encode([value]), format: nil)
      guard let object = (list as? [Any])?.first, !isNull(object) else {
        throw Unfit(description: "a property list cannot hold nil")
      }
      return try PropertyListSerialization.data(
        fromPropertyList: object, format: .binary, options: 0)
    } decode: { data in
      let object = try PropertyListSerialization.propertyList(from: data, format: nil)
      // The coder would take the text `$null` for nil.
      if Value.self == String.self, let text = object as? Value { return text }
      let list = try PropertyListSerialization.data(
        fromPropertyList: [object], format: .binary, options: 0)
      guard let value = try PropertyListDecoder().decode([Value].self, from: list).first else {
        throw Unfit(description: "the property list is empty")
      }
      return value
    }
  }

  /// JSON, with sorted keys; single values are taken too.
  public static var json: Self {
    Self { value in
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys]
      return try encoder.encode(value)
    } decode: { data in
      try JSONDecoder().decode(Value.self, from: data)
    }
  }

  /// The coder writes `nil` as the text `$null`, which others would take for text.
  private static func isNull(_ object: Any) -> Bool {
    Value.self is any OptionalValue.Type && object as? String == "$null"
  }
}

/// Tells optionals among the types.
private protocol OptionalValue {}
extension Optional: OptionalValue {}

extension ExtendedAttributeCoding {
  /// A property-list object: `String`, a number, `Bool`, `Date`, `Data`, or arrays and dictionaries
  /// of them, also as `Any`; kept as a binary property list, any property list is read.
  public static var propertyListObject: Self {
    Self { value in
      guard PropertyListSerialization.propertyList(value, isValidFor: .binary) else {
        throw Unfit(description: "a property list cannot hold \(type(of: value))")
      }
      return try PropertyListSerialization.data(
        fromPropertyList: value, format: .binary, options: 0)
    } decode: { data in
      let object = try PropertyListSerialization.propertyList(from: data, format: nil)
      guard let value = object as? Value else {
        throw Unfit(description: "the property list holds \(type(of: object)), not \(Value.self)")
      }
      return value
    }
  }
}
