import CLinux
import Glibc

/// What went otherwise than the model has it.
struct Mismatch: Error {
  let text: String
}

/// System calls that have to succeed; paths are of descriptors, so that nobody's renaming of a
/// directory gets in the way.
enum Calls {
  static func need(_ what: @autoclosure () -> String, _ result: Int) throws -> Int {
    if result < 0 { throw Mismatch(text: "\(what()): \(String(cString: strerror(errno)))") }
    return result
  }

  static func open(_ path: String, _ flags: Int32) throws -> Int32 {
    Int32(
      truncatingIfNeeded: try need(
        "open \(path)", Int(clinux_openat(AT_FDCWD, path, flags | O_CLOEXEC, 0o644))))
  }

  static func rename(_ from: String, _ to: String, _ flags: UInt32 = 0) throws {
    _ = try need(
      "rename \(from) \(to) \(flags)",
      Int(clinux_renameat2(AT_FDCWD, from, AT_FDCWD, to, flags)))
  }

  static func link(_ from: String, _ to: String, follow: Bool = false) throws {
    _ = try need(
      "link \(from) \(to)",
      Int(linkat(AT_FDCWD, from, AT_FDCWD, to, follow ? AT_SYMLINK_FOLLOW : 0)))
  }

  static func unlink(_ path: String) throws {
    _ = try need("unlink \(path)", Int(Glibc.unlink(path)))
  }

  static func set(_ path: String, _ name: String, _ value: [UInt8]) throws {
    _ = try need(
      "set \(path) \(name)", Int(lsetxattr(path, name, value, value.count, 0)))
  }

  static func set(_ file: Int32, _ name: String, _ value: [UInt8]) throws {
    _ = try need("set \(file) \(name)", Int(fsetxattr(file, name, value, value.count, 0)))
  }

  static func remove(_ path: String, _ name: String) throws {
    _ = try need("remove \(path) \(name)", Int(lremovexattr(path, name)))
  }

  /// All attributes of a path.
  static func attributes(of path: String) throws -> [String: [UInt8]] {
    try attributes(
      path, { llistxattr(path, $0, $1) }, { lgetxattr(path, $0, $1, $2) })
  }

  /// All attributes of an open file.
  static func attributes(of file: Int32) throws -> [String: [UInt8]] {
    try attributes(
      "\(file)", { flistxattr(file, $0, $1) }, { fgetxattr(file, $0, $1, $2) })
  }

  private static func attributes(
    _ what: String, _ list: (UnsafeMutablePointer<CChar>?, Int) -> Int,
    _ get: (String, UnsafeMutableRawPointer?, Int) -> Int
  ) throws -> [String: [UInt8]] {
    var names = [CChar](repeating: 0, count: 4096)
    let size = try need("list \(what)", list(&names, names.count))
    var found: [String: [UInt8]] = [:]
    for name in names.prefix(size).split(separator: 0) {
      let text = String(decoding: name.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      var value = [UInt8](repeating: 0, count: 8192)
      let count = try need("get \(what) \(text)", get(text, &value, value.count))
      found[text] = Array(value.prefix(count))
    }
    return found
  }
}
