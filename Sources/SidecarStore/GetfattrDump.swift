import AttributeModel
import LinuxSystem

/// The text of `getfattr --dump` (getfattr(1)).
///
///     # file: path
///     user.name="value"
///
/// In paths and names a backslash and three octal digits stand for a byte that would be taken for
/// something else; values are text in quotes, `0x` and hexadecimal, or `0s` and base64.
public enum GetfattrDump {
  /// A block for each name of an object, and an empty line after it.
  public static func text(_ record: DumpRecord, _ encoding: DumpEncoding = .auto) -> [UInt8] {
    var lines: [UInt8] = []
    for (name, value) in record.attributes.sorted(by: { $0.key < $1.key }) {
      lines += quoted(name.bytes, and: "=") + [UInt8(ascii: "=")]
      lines += self.value(value, encoding) + [newline]
    }
    return record.paths.flatMap { path in
      Array("# file: ".utf8) + quoted(path, and: "") + [newline] + lines + [newline]
    }
  }

  /// The path in a line that begins an object; nil for another line.
  static func path(_ line: [UInt8]) -> [UInt8]? {
    let mark = Array("# file: ".utf8)
    return line.starts(with: mark) ? unquoted(line[mark.count...]) : nil
  }

  /// The name and the value in a line; nil when it is no such line.
  static func attribute(_ line: [UInt8]) -> (AttributeName, [UInt8])? {
    let end = line.firstIndex(of: UInt8(ascii: "=")) ?? line.endIndex
    guard let name = try? AttributeName(unquoted(line[..<end])) else { return nil }
    if end == line.endIndex { return (name, []) }
    return decoded(line[(end + 1)...]).map { (name, $0) }
  }

  private static func quoted(_ bytes: [UInt8], and more: String) -> [UInt8] {
    let special = Array("\\\n\r\(more)".utf8)
    return bytes.flatMap { special.contains($0) ? octal($0) : [$0] }
  }

  private static func octal(_ byte: UInt8) -> [UInt8] {
    let zero = UInt8(ascii: "0")
    return [UInt8(ascii: "\\"), zero + byte >> 6, zero + byte >> 3 & 7, zero + byte & 7]
  }

  private static func unquoted(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    var rest = bytes
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\\"), let code = octalNumber(rest.prefix(3)) {
        result.append(code)
        rest.removeFirst(3)
      } else {
        result.append(byte)
      }
    }
    return result
  }

  private static func octalNumber(_ digits: ArraySlice<UInt8>) -> UInt8? {
    guard digits.count == 3, digits.allSatisfy({ (0x30...0x37).contains($0) }) else { return nil }
    return UInt8(exactly: digits.reduce(0) { $0 << 3 | UInt32($1 & 7) })
  }

  private static func value(_ value: [UInt8], _ encoding: DumpEncoding) -> [UInt8] {
    switch encoding {
    case .auto: self.value(value, isText(value) ? .text : .base64)
    case .hex: Array("0x".utf8) + value.flatMap { [hexDigit($0 >> 4), hexDigit($0 & 15)] }
    case .base64: Array("0s".utf8) + Base64.encoded(value)
    case .text:
      [quote]
        + value.flatMap { byte in
          switch byte {
          case 0, newline, UInt8(ascii: "\r"): octal(byte)
          case quote, UInt8(ascii: "\\"): [UInt8(ascii: "\\"), byte]
          default: [byte]
          }
        } + [quote]
    }
  }

  /// Of eight bytes at the most one may be what cannot be printed: getfattr's own measure. A NUL at
  /// the end, which getfattr leaves out of a text, makes it none.
  private static func isText(_ value: [UInt8]) -> Bool {
    let others = value.count { !(0x20...0x7e).contains($0) }
    return value.last != 0 && value.count / 8 >= others
  }

  private static func hexDigit(_ number: UInt8) -> UInt8 {
    number < 10 ? UInt8(ascii: "0") + number : UInt8(ascii: "a") + number - 10
  }

  private static let quote = UInt8(ascii: "\"")

  private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    let start = String(decoding: text.prefix(2), as: UTF8.self).lowercased()
    if start == "0x" { return hexValue(text.dropFirst(2)) }
    if start == "0s" { return Base64.decoded(text.dropFirst(2)) }
    var rest = text
    if rest.first == quote {
      guard rest.count > 1, rest.last == quote else { return nil }
      rest = rest.dropFirst().dropLast()
    }
    var result: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\\"), let code = octalNumber(rest.prefix(3)) {
        result.append(code)
        rest.removeFirst(3)
      } else if byte == UInt8(ascii: "\\"), let next = rest.first,
        next == quote || next == UInt8(ascii: "\\")
      {
        result.append(next)
        rest.removeFirst()
      } else {
        result.append(byte)
      }
    }
    return result
  }

  private static func hexValue(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
    var result: [UInt8] = []
    var rest = digits
    while !rest.isEmpty {
      let pair = rest.prefix(2)
      let isHex = pair.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
      guard pair.count == 2, isHex,
        let byte = UInt8(String(decoding: pair, as: UTF8.self), radix: 16)
      else { return nil }
      result.append(byte)
      rest = rest.dropFirst(2)
    }
    return result
  }
}

/// Base64 (RFC 4648, section 4).
enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func encoded(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      bits <<= UInt32(8 * (3 - group.count))
      for index in 0..<4 {
        result.append(
          index <= group.count
            ? alphabet[Int(bits >> UInt32(18 - 6 * index) & 63)] : UInt8(ascii: "="))
      }
    }
    return result
  }

  /// The bytes; nil when it is no base64. The signs at the end may be missing.
  static func decoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var result: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    var isAtEnd = false
    for character in text {
      if character == UInt8(ascii: "=") {
        isAtEnd = true
        continue
      }
      guard !isAtEnd, let value = digit(character) else { return nil }
      bits = (bits << 6 | value) & 0xff_ffff
      count += 1
      if count % 4 == 0 {
        result += [UInt8(bits >> 16), UInt8(bits >> 8 & 0xff), UInt8(bits & 0xff)]
      }
    }
    switch count % 4 {
    case 0: return result
    case 2: return result + [UInt8(bits >> 4 & 0xff)]
    case 3: return result + [UInt8(bits >> 10 & 0xff), UInt8(bits >> 2 & 0xff)]
    default: return nil
    }
  }

  private static func digit(_ character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a") + 26)
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0") + 52)
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
