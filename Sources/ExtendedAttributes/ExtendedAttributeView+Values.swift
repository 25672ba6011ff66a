import Foundation

/// Typed values.
extension ExtendedAttributeView {
  /// The text of an attribute.
  ///
  /// - Parameter name: The attribute.
  /// - Returns: The text, or `nil` if there is no such attribute.
  /// - Throws: ``ExtendedAttributeError``, as ``data(for:)``, and of the kind `invalidValue` if the
  ///   value is not UTF-8.
  ///
  /// The corresponding system call is `getxattr`.
  public func string(for name: ExtendedAttributeName) throws(ExtendedAttributeError) -> String? {
    let value = try value(for: name, short: validText, long: longText)
    // The outer `nil` is a missing attribute, the inner one bytes that are no text.
    switch value {
    case .none: return nil
    case .some(.none): throw invalid(.get, name, "the value is not UTF-8")
    case .some(let text): return text
    }
  }

  /// Writes text to an attribute, as UTF-8 without a NUL at its end.
  ///
  /// - Parameters:
  ///   - string: The text, which may be empty.
  ///   - name: The attribute.
  ///   - options: Whether it must not, or must, exist.
  /// - Throws: ``ExtendedAttributeError``, as ``set(_:for:options:)-(ContiguousBytes,_,_)``.
  ///
  /// The corresponding system call is `setxattr`.
  public func set(
    string: String, for name: ExtendedAttributeName, options: SetOptions = []
  ) throws(ExtendedAttributeError) {
    try set(Array(string.utf8), for: name, options: options)
  }

  /// The value of an attribute in a coding.
  ///
  /// ```swift
  /// let count: Int? = try attributes.value(for: "com.example.count", as: .decimal)
  /// let film = try attributes.value(Film.self, for: "com.example.film", as: .json)
  /// ```
  ///
  /// - Parameters:
  ///   - type: The type, where it cannot be inferred.
  ///   - name: The attribute.
  ///   - coding: How the bytes are to be read.
  /// - Returns: The value, or `nil` if there is no such attribute.
  /// - Throws: ``ExtendedAttributeError``, as ``data(for:)``, and of the kind `invalidValue` if the
  ///   bytes are no such value.
  ///
  /// The corresponding system call is `getxattr`.
  public func value<Value>(
    _ type: Value.Type = Value.self, for name: ExtendedAttributeName,
    as coding: ExtendedAttributeCoding<Value>
  ) throws(ExtendedAttributeError) -> Value? {
    guard let data = try data(for: name) else { return nil }
    do {
      return try coding.decode(data)
    } catch {
      throw invalid(.get, name, "the value is no \(Value.self): \(sentence(error))")
    }
  }

  /// The value of an attribute that holds a property list, as
  /// ``ExtendedAttributeCoding/propertyList``.
  ///
  /// - Parameters:
  ///   - type: The type, where it cannot be inferred.
  ///   - name: The attribute.
  /// - Returns: The value, or `nil` if there is no such attribute.
  /// - Throws: ``ExtendedAttributeError``, as ``data(for:)``, and of the kind `invalidValue` if the
  ///   bytes are no such property list.
  ///
  /// The corresponding system call is `getxattr`.
  public func value<Value: Codable & SendableMetatype>(
    _ type: Value.Type = Value.self, for name: ExtendedAttributeName
  ) throws(ExtendedAttributeError) -> Value? {
    try value(for: name, as: .propertyList)
  }

  /// Writes a value to an attribute in a coding.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - name: The attribute.
  ///   - coding: How it is to be kept.
  ///   - options: Whether the attribute must not, or must, exist.
  /// - Throws: ``ExtendedAttributeError``, as ``set(_:for:options:)-(ContiguousBytes,_,_)``, and of
  ///   the kind `invalidValue` if the coding cannot hold the value.
  ///
  /// The corresponding system call is `setxattr`.
  public func set<Value>(
    value: Value, for name: ExtendedAttributeName, as coding: ExtendedAttributeCoding<Value>,
    options: SetOptions = []
  ) throws(ExtendedAttributeError) {
    let data: Data
    do {
      data = try coding.encode(value)
    } catch {
      throw invalid(.set, name, "\(Value.self) cannot be kept so: \(sentence(error))")
    }
    try set(data, for: name, options: options)
  }

  /// Writes a value to an attribute as a binary property list, as
  /// ``ExtendedAttributeCoding/propertyList``.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - name: The attribute.
  ///   - options: Whether the attribute must not, or must, exist.
  /// - Throws: ``ExtendedAttributeError``, as ``set(_:for:options:)-(ContiguousBytes,_,_)``, and of
  ///   the kind `invalidValue` if a property list cannot hold the value.
  ///
  /// The corresponding system call is `setxattr`.
  public func set<Value: Codable & SendableMetatype>(
    value: Value, for name: ExtendedAttributeName, options: SetOptions = []
  ) throws(ExtendedAttributeError) {
    try set(value: value, for: name, as: .propertyList, options: options)
  }

  /// What a coder says, in one line.
  private func sentence(_ error: any Error) -> String {
    switch error {
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context):
      context.debugDescription
    case EncodingError.invalidValue(_, let context): context.debugDescription
    default: String(describing: error)
    }
  }
}
