/// What is wrong with a piece of JSON.
struct JSONError: Error {
  let problem: String
  init(_ problem: String) { self.problem = problem }
}

/// Reads one value of JSON (RFC 8259) from bytes.
struct JSONReading {
  enum Value {
    case null
    case bool(Bool)
    /// As it is written.
    case number([UInt8])
    /// In UTF-8.
    case string([UInt8])
    case array([Value])
    /// Of several members of one name the last counts.
    case object([String: Value])
  }

  private var rest: ArraySlice<UInt8>
  /// What is nested deeper is not ours, and must not use up the stack.
  private static let deepest = 16

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  /// The value, after which nothing may follow.
  mutating func document() throws(JSONError) -> Value {
    let value = try value(depth: 0)
    skipSpace()
    guard rest.isEmpty else { throw JSONError("something follows the end of the object") }
    return value
  }

  private mutating func value(depth: Int) throws(JSONError) -> Value {
    guard depth < Self.deepest else { throw JSONError("nested too deep") }
    skipSpace()
    switch rest.first {
    case UInt8(ascii: "{"): return try object(depth)
    case UInt8(ascii: "["): return try array(depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
      let number = rest.prefix { Array("+-.0123456789eE".utf8).contains($0) }
      rest = rest.dropFirst(number.count)
      return .number(Array(number))
    case nil: throw JSONError("the line ends too soon")
    default: throw JSONError("no value where one is expected")
    }
  }

  private mutating func word(_ text: String, _ value: Value) throws(JSONError) -> Value {
    guard rest.starts(with: text.utf8) else { throw JSONError("no value where one is expected") }
    rest = rest.dropFirst(text.utf8.count)
    return value
  }

  private mutating func object(_ depth: Int) throws(JSONError) -> Value {
    var members: [String: Value] = [:]
    rest = rest.dropFirst()
    if skip("}") { return .object(members) }
    repeat {
      skipSpace()
      guard rest.first == UInt8(ascii: "\"") else { throw JSONError("a name is expected") }
      let name = String(decoding: try string(), as: UTF8.self)
      guard skip(":") else { throw JSONError("a colon is expected") }
      members[name] = try value(depth: depth + 1)
    } while skip(",")
    guard skip("}") else { throw JSONError("\"}\" is expected") }
    return .object(members)
  }

  private mutating func array(_ depth: Int) throws(JSONError) -> Value {
    var elements: [Value] = []
    rest = rest.dropFirst()
    if skip("]") { return .array(elements) }
    repeat { elements.append(try value(depth: depth + 1)) } while skip(",")
    guard skip("]") else { throw JSONError("\"]\" is expected") }
    return .array(elements)
  }

  private mutating func string() throws(JSONError) -> [UInt8] {
    rest = rest.dropFirst()
    var text: [UInt8] = []
    while true {
      let plain = rest.prefix { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
      guard plain.allSatisfy({ $0 >= 0x20 }) else { throw JSONError("a bare control character") }
      text += plain
      rest = rest.dropFirst(plain.count)
      guard let byte = rest.popFirst() else { throw JSONError("a string does not end") }
      if byte == UInt8(ascii: "\"") { break }
      text += try escaped()
    }
    guard String(validating: text, as: UTF8.self) != nil else { throw JSONError("not UTF-8") }
    return text
  }

  private mutating func escaped() throws(JSONError) -> [UInt8] {
    switch rest.popFirst() {
    case UInt8(ascii: "\""): return Array("\"".utf8)
    case UInt8(ascii: "\\"): return Array("\\".utf8)
    case UInt8(ascii: "/"): return Array("/".utf8)
    case UInt8(ascii: "b"): return [8]
    case UInt8(ascii: "f"): return [12]
    case UInt8(ascii: "n"): return [10]
    case UInt8(ascii: "r"): return [13]
    case UInt8(ascii: "t"): return [9]
    case UInt8(ascii: "u"):
      var code = try codeUnit()
      if (0xd800..<0xdc00).contains(code) {
        guard rest.starts(with: Array("\\u".utf8)) else { throw JSONError("half a character") }
        rest = rest.dropFirst(2)
        let low = try codeUnit()
        guard (0xdc00..<0xe000).contains(low) else { throw JSONError("half a character") }
        code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw JSONError("half a character") }
      return Array(String(Character(scalar)).utf8)
    default: throw JSONError("an unknown escape")
    }
  }

  private mutating func codeUnit() throws(JSONError) -> UInt32 {
    let digits = rest.prefix(4)
    let isHex = digits.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
    guard digits.count == 4, isHex,
      let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    else { throw JSONError("four hexadecimal digits are expected") }
    rest = rest.dropFirst(4)
    return code
  }

  private mutating func skip(_ sign: Character) -> Bool {
    skipSpace()
    guard let byte = sign.asciiValue, rest.first == byte else { return false }
    rest = rest.dropFirst()
    return true
  }

  private mutating func skipSpace() {
    rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0a || $0 == 0x0d }
  }
}
