import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// What a store holds, read from its database by the `sqlite3` command.
struct StoredState {
  /// Attributes of the objects that are not set aside, by key: `name=value` in hexadecimal.
  var objects: [String: Set<String>] = [:]
  /// Keys of objects whose last name is gone.
  var orphans: [String] = []
  /// `directory/name` and the object there, by key; the name in hexadecimal. Not the names that are
  /// kept of what was set aside.
  var entries: Set<String> = []
  /// How many records were set aside.
  var quarantined = 0

  /// Reads the store in a directory, which no daemon may have open.
  init(_ directory: String) throws {
    for row in try Self.rows("SELECT hex(key), orphan FROM object WHERE key NOT NULL", directory) {
      objects[row[0]] = []
      if row[1] != "0" { orphans.append(row[0]) }
    }
    let attributes = """
      SELECT hex(key), hex(name), hex(value) FROM attribute JOIN object ON object.id = object
      WHERE key NOT NULL
      """
    for row in try Self.rows(attributes, directory) {
      objects[row[0]]?.insert("\(row[1])=\(row[2])")
    }
    let names = """
      SELECT hex(directory.key), hex(name), hex(object.key) FROM entry
      JOIN object ON object.id = object JOIN object AS directory ON directory.id = parent
      WHERE object.key NOT NULL
      """
    entries = Set(try Self.rows(names, directory).map { "\($0[0])/\($0[1]) \($0[2])" })
    quarantined = Int(try Self.rows("SELECT count(*) FROM quarantine", directory)[0][0]) ?? -1
  }

  private static func rows(_ query: String, _ directory: String) throws -> [[String]] {
    try check(["sqlite3", "-batch", "file:\(directory)/store.db?immutable=1", query])
      .split(separator: "\n")
      .map { $0.split(separator: "|", omittingEmptySubsequences: false).map(String.init) }
  }
}

/// What a store ought to hold: the objects of a source, and the attributes that they have natively.
struct ExpectedState {
  /// Keys of everything in the source.
  var living: [String: String] = [:]
  /// Attributes of what has any, by key.
  var attributes: [String: Set<String>] = [:]
  /// `directory/name object`, of everything.
  var entries: Set<String> = []

  /// Walks a source together with a tree that looks the same and has the attributes itself.
  init(source: String, model: String, kind: SourceKind) throws {
    try add(source, model, kind, path: "", parent: nil)
  }

  private mutating func add(
    _ source: String, _ model: String, _ kind: SourceKind, path: String, parent: String?
  ) throws {
    let key = try Self.key(of: source + path, kind)
    living[key] = path
    if let parent, let name = path.split(separator: "/").last {
      let bytes = Array(String(name).utf8)
      entries.insert("\(parent)/\(hex(bytes)) \(key)")
    }
    let found = try attributesOf(model + path)
    if !found.isEmpty { attributes[key] = found }
    var status = Glibc.stat()
    try call(lstat(source + path, &status))
    guard status.st_mode & S_IFMT == S_IFDIR else { return }
    for name in TestSupport.entries(of: source + path)
    where name != "lost+found" {
      try add(source, model, kind, path: path + "/" + name, parent: key)
    }
  }

  /// How the store names an object: by its handle, or its number on a file system without.
  static func key(of path: String, _ kind: SourceKind) throws(Errno) -> String {
    let file = try FileDescriptor.open(FileName(path), [.path, .noFollow])
    if kind == .ramfs { return hex(littleEndian(try file.status().inode)) }
    let handle = try file.handle()
    return hex(littleEndian(UInt64(UInt32(bitPattern: handle.type))) + handle.bytes)
  }

  private static func littleEndian(_ number: UInt64) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }
}

extension StoredState {
  /// Records an issue for whatever is missing or too much. Ancestors of objects with attributes are
  /// in the store too, and objects that had attributes once, because of their time of change: they
  /// have to live.
  func expect(_ expected: ExpectedState, _ what: String) {
    for (key, attributes) in expected.attributes where objects[key] != attributes {
      Issue.record(
        """
        \(what): \(expected.living[key] ?? "?") has \(attributes.count) attributes, the store \
        \(objects[key].map { "\($0.count) (\($0.subtracting(attributes).count) wrong)" } ?? "none")
        """)
    }
    for (key, attributes) in objects where expected.attributes[key] == nil {
      #expect(attributes.isEmpty, "\(what): \(expected.living[key] ?? "a dead object")")
      #expect(
        expected.living[key] != nil, "\(what): the store knows a dead object \(key) \(names(key))")
    }
    let wrong = entries.subtracting(expected.entries)
    #expect(wrong.isEmpty, "\(what): names that are not so: \(wrong.map(readable))")
    #expect(orphans.isEmpty, "\(what): orphans")
    #expect(quarantined == 0, "\(what): records set aside")
  }

  private func names(_ key: String) -> [String] {
    entries.filter { $0.hasSuffix(" " + key) }.map(readable)
  }

  private func readable(_ entry: String) -> String {
    let name = entry.split(separator: "/").last?.split(separator: " ").first ?? ""
    var bytes: [UInt8] = []
    var rest = name[...]
    while rest.count > 1 {
      bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
      rest = rest.dropFirst(2)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// `name=value` of each attribute but those of the system, in hexadecimal.
func attributesOf(_ path: String) throws(Errno) -> Set<String> {
  var list = [CChar](repeating: 0, count: 1 << 17)
  let size = try call(llistxattr(path, &list, list.count))
  var found: Set<String> = []
  for name in list.prefix(size).split(separator: 0) {
    let bytes = name.map { UInt8(bitPattern: $0) }
    if bytes.starts(with: "system.".utf8) || bytes.starts(with: "security.".utf8) { continue }
    var value = [UInt8](repeating: 0, count: 1 << 16)
    let count = try call(lgetxattr(path, Array(name) + [0], &value, value.count))
    found.insert("\(hex(bytes))=\(hex(Array(value.prefix(count))))")
  }
  return found
}

/// Two capital digits a byte, as SQLite's `hex`.
func hex(_ bytes: [UInt8]) -> String {
  let digits = Array("0123456789ABCDEF".utf8)
  return String(
    decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
