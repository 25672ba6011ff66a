import CLinux
import Glibc
import LinuxSystem
import TestSupport

/// Plain system calls in a directory of their own, written down with what they answered.
///
/// A case speaks in these; the transcripts of the same case on several file systems are compared
/// line by line. So nothing that differs for no good reason gets into a line: no inode and device
/// numbers, no times but those that were set, no order of names. The working directory of the
/// thread is the case's directory.
final class Calls: @unchecked Sendable {
  /// Who makes the calls, when it is not root: stands before each line.
  var who = ""

  private let written = Lock<[String]>([])

  /// The transcript so far.
  var lines: [String] { written.withLock { $0 } }

  /// Writes a line that is not a call's.
  func note(_ text: String) { written.withLock { $0.append(who + text) } }

  /// Makes a call and writes it down: `text = result`, or `text = ENOENT` and the like.
  ///
  /// `shows` says more of a result than its number.
  @discardableResult
  func call(_ text: String, shows: (Int) -> String? = { _ in nil }, _ body: () -> Int) -> Int {
    errno = 0
    let result = body()
    let code = errno
    if result < 0 {
      note("\(text) = \(errorName(code))")
    } else {
      note("\(text) = \(shows(result) ?? String(result))")
    }
    return result
  }

  /// The same for calls that return an `Int32`.
  @discardableResult
  func call(_ text: String, shows: (Int) -> String? = { _ in nil }, _ body: () -> Int32) -> Int {
    call(text, shows: shows) { Int(body()) }
  }

  /// Makes calls as another user.
  func asUser(_ user: User, _ body: () -> Void) {
    let before = who
    who = "[\(user.uid)] "
    defer { who = before }
    do throws(Errno) {
      try become(user)
      body()
      try becomeRoot()
    } catch {
      note("cannot become \(user): \(error)")
    }
  }

  /// Makes calls on a thread with a table of descriptors of its own, which is what the kernel takes
  /// for another process where it asks who owns a lock; waits for the end.
  func elsewhere(_ body: @escaping @Sendable (Calls) -> Void) {
    let other = Calls()
    other.who = "elsewhere: "
    onThread {
      isolateThread()
      body(other)
      closeEverything()
    }
    written.withLock { $0 += other.lines }
  }
}

/// An open file and what a transcript calls it: the path it was opened by.
struct Descriptor: Sendable {
  let raw: Int32
  let label: String
}

/// Bytes that a call is given: a path, a name, a value.
struct Bytes: ExpressibleByStringLiteral, CustomStringConvertible, Sendable {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }
  init(_ text: String) { bytes = Array(text.utf8) }
  init(stringLiteral text: String) { self.init(text) }

  /// `count` times the same byte.
  init(_ byte: Character, times count: Int) {
    bytes = Array(repeating: byte.asciiValue ?? 0, count: count)
  }

  /// With the NUL that C wants.
  var cString: [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }

  static func + (left: Bytes, right: Bytes) -> Bytes { Bytes(left.bytes + right.bytes) }

  /// Text where it is text; long values by their length and a checksum.
  var description: String {
    if bytes.count > 48 {
      let start = String(decoding: bytes.prefix(8).filter { $0 > 32 && $0 < 127 }, as: UTF8.self)
      return "<\(bytes.count) bytes \(start)... #\(checksum(bytes))>"
    }
    return "\"" + bytes.map(Self.escape).joined() + "\""
  }

  private static func escape(_ byte: UInt8) -> String {
    guard byte >= 32 && byte < 127 else { return "\\x" + String(byte, radix: 16) }
    return String(UnicodeScalar(byte))
  }
}

/// Enough to tell two values apart (FNV-1a).
func checksum(_ bytes: some Sequence<UInt8>) -> String {
  var hash: UInt32 = 2_166_136_261
  for byte in bytes { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
  return String(hash, radix: 16)
}

/// `ENOENT` for 2.
func errorName(_ code: Int32) -> String {
  guard let name = strerrorname_np(code) else { return "errno \(code)" }
  return String(cString: name)
}

/// The bits of a flags argument by name, what is left in hexadecimal; 0 for none.
func flagNames(_ flags: Int32, _ names: KeyValuePairs<String, Int32>) -> String {
  var rest = flags
  var found: [String] = []
  for (name, bits) in names where bits != 0 && rest & bits == bits {
    found.append(name)
    rest &= ~bits
  }
  if rest != 0 { found.append("0x" + String(UInt32(bitPattern: rest), radix: 16)) }
  return found.isEmpty ? "0" : found.joined(separator: "|")
}

/// Octal, as modes are read.
func octal(_ mode: UInt32) -> String { "0" + String(mode, radix: 8) }
