import CLinux
import Glibc

/// What an attribute call is made on.
enum Target: ExpressibleByStringLiteral, Sendable {
  /// A path, links followed: `getxattr`.
  case path(Bytes)
  /// A path, a link at its end not followed: `lgetxattr`.
  case link(Bytes)
  /// An open file: `fgetxattr`.
  case file(Descriptor)

  init(stringLiteral text: String) { self = .path(Bytes(text)) }
}

/// More than any value or list has.
let plenty = 1 << 17

extension Calls {
  @discardableResult
  func set(_ target: Target, _ name: Bytes, _ value: Bytes, _ flags: Int32 = 0) -> Int {
    let more = flags == 0 ? "" : ", " + flagNames(flags, ["CREATE": 1, "REPLACE": 2])
    let rest = "\(name), \(value)\(more))"
    let size = value.bytes.count
    return switch target {
    case .path(let path):
      call("setxattr(\(path), \(rest)") {
        setxattr(path.cString, name.cString, value.bytes, size, flags)
      }
    case .link(let path):
      call("lsetxattr(\(path), \(rest)") {
        lsetxattr(path.cString, name.cString, value.bytes, size, flags)
      }
    case .file(let file):
      call("fsetxattr(\(file.label), \(rest)") {
        fsetxattr(file.raw, name.cString, value.bytes, size, flags)
      }
    }
  }

  /// `room` is the size of the buffer; 0 asks for the length.
  func get(_ target: Target, _ name: Bytes, room: Int = plenty) {
    var buffer = [UInt8](repeating: 0xee, count: max(room, 1))
    let rest = room == plenty ? "\(name))" : "\(name), room \(room))"
    let body: (UnsafeMutableRawPointer?) -> Int
    let text: String
    switch target {
    case .path(let path):
      text = "getxattr(\(path), \(rest)"
      body = { getxattr(path.cString, name.cString, $0, room) }
    case .link(let path):
      text = "lgetxattr(\(path), \(rest)"
      body = { lgetxattr(path.cString, name.cString, $0, room) }
    case .file(let file):
      text = "fgetxattr(\(file.label), \(rest)"
      body = { fgetxattr(file.raw, name.cString, $0, room) }
    }
    let count = buffer.withUnsafeMutableBytes { bytes in
      call(text, shows: { room == 0 ? nil : "\($0) \(Bytes(Array(bytes.prefix($0))))" }) {
        body(bytes.baseAddress)
      }
    }
    // What is beyond the value is not the file system's to write.
    let used = room == 0 ? 0 : max(count, 0)
    if count >= 0 && buffer[used...].contains(where: { $0 != 0xee }) {
      note("\(text) wrote past the value")
    }
  }

  /// The names in order of bytes: a file system may list them in any.
  func list(_ target: Target, room: Int = plenty) {
    var buffer = [UInt8](repeating: 0, count: max(room, 1))
    let rest = room == plenty ? "" : ", room \(room)"
    let body: (UnsafeMutablePointer<CChar>?) -> Int
    let text: String
    switch target {
    case .path(let path):
      text = "listxattr(\(path)\(rest))"
      body = { listxattr(path.cString, $0, room) }
    case .link(let path):
      text = "llistxattr(\(path)\(rest))"
      body = { llistxattr(path.cString, $0, room) }
    case .file(let file):
      text = "flistxattr(\(file.label)\(rest))"
      body = { flistxattr(file.raw, $0, room) }
    }
    _ = buffer.withUnsafeMutableBytes { bytes in
      call(text, shows: { room == 0 ? nil : "\($0) \(nameList(bytes.prefix($0)))" }) {
        body(bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
      }
    }
  }

  @discardableResult
  func remove(_ target: Target, _ name: Bytes) -> Int {
    switch target {
    case .path(let path):
      call("removexattr(\(path), \(name))") { removexattr(path.cString, name.cString) }
    case .link(let path):
      call("lremovexattr(\(path), \(name))") { lremovexattr(path.cString, name.cString) }
    case .file(let file):
      call("fremovexattr(\(file.label), \(name))") { fremovexattr(file.raw, name.cString) }
    }
  }

  /// Every way to ask for one attribute, and the list.
  func attributes(_ target: Target, _ name: Bytes) {
    get(target, name, room: 0)
    get(target, name)
    list(target)
  }

  /// All four calls with one name and value.
  func fourCalls(_ target: Target, _ name: Bytes, _ value: Bytes = "value") {
    get(target, name)
    remove(target, name)
    set(target, name, value)
    get(target, name, room: 0)
    get(target, name)
    list(target)
    set(target, name, value, 1)
    set(target, name, "other", 2)
    get(target, name)
    remove(target, name)
    set(target, name, "other", 2)
    list(target)
  }
}

private func nameList(_ list: some Collection<UInt8>) -> String {
  let names = list.split(separator: 0, omittingEmptySubsequences: false).dropLast()
    .map { Array($0) }.sorted { $0.lexicographicallyPrecedes($1) }
  if names.count > 12 { return "\(names.count) names #\(checksum(names.joined(separator: [0])))" }
  return "[" + names.map { Bytes($0).description }.joined(separator: " ") + "]"
}
