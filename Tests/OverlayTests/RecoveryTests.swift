import FUSE
import Glibc
import LinuxSystem
import Overlay
import SidecarStore
import TestSupport
import Testing

/// Objects that are known by name, and a daemon that dies in the middle of a change of names: the
/// next one finds out what happened.
@Suite(.needsRoot) struct RecoveryTests {
  /// A change that is cut off.
  struct Deed: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let body: @Sendable (Shown) throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (Shown) throws -> Void) {
      testDescription = name
      self.body = body
    }
  }

  static let deeds = [
    Deed("rename") { try $0.rename("f", "h") },
    Deed("rename over") { try $0.rename("f", "g") },
    Deed("rename over one without") { try $0.rename("f", "bare") },
    Deed("rename one without over") { try $0.rename("bare", "g") },
    Deed("rename a directory") { try $0.rename("d", "moved") },
    Deed("exchange") { try $0.rename("f", "g", .exchange) },
    Deed("exchange with one without") { try $0.rename("bare", "g", .exchange) },
    Deed("exchange with a directory") { try $0.rename("f", "d", .exchange) },
    Deed("unlink") { try $0.unlink("f") },
    Deed("replace") { shown in
      try shown.unlink("f")
      try shown.create("f", "new")
    },
    Deed("link") { try $0.link("f", "h") },
    Deed("link, then unlink") { shown in
      try shown.link("f", "h")
      try shown.unlink("f")
    },
  ]

  /// Each object says in its content which one it is, and has that as its attribute.
  @Test(arguments: deeds, [FaultyStore.Fault.lasting, .answerLost])
  func diesAtEveryCall(_ deed: Deed, _ fault: FaultyStore.Fault) throws {
    var call = 0
    var isComplete = false
    while !isComplete {
      call += 1
      try #require(call < 200)
      let scratch = try Scratch()
      let path = try scratch.directory("source")
      let store = MemoryStore()
      try Self.prepare(path, store)
      let faulty = FaultyStore(store, failing: call, with: .inputOutput, fault)
      do {
        let shown = try Shown(path, faulty)
        try deed.body(shown)
      } catch {
        #expect(error as? Errno == .inputOutput, "\(deed.testDescription), call \(call): \(error)")
      }
      isComplete = !faulty.hasFailed
      // The one that comes after a death.
      let reports = Lock<[String]>([])
      let shown = try Shown(path, store) { line in reports.withLock { $0.append(line) } }
      #expect(try store.intents() == [], "\(deed.testDescription), call \(call)")
      #expect(reports.withLock { $0 } == [], "\(deed.testDescription), call \(call)")
      for (name, content) in Self.contents(of: path) {
        let isLink = deed.testDescription.hasPrefix("link") && name == "h"
        let attribute = try shown.attribute(of: name)
        if content.hasPrefix("bare") || ["new", ""].contains(content) {
          #expect(attribute == nil, "\(deed.testDescription), call \(call), \(name)")
        } else {
          // A second name that nobody was told of need not be known.
          #expect(
            attribute == content || (isLink && attribute == nil && !isComplete),
            "\(deed.testDescription), call \(call), \(name)")
        }
      }
      #expect(try store.counts().quarantined == 0)
    }
    #expect(call > 3)
  }

  /// When what is there does not tell what happened, attributes are set aside and it is said.
  @Test func undecided() throws {
    let scratch = try Scratch()
    let path = try scratch.directory("source")
    let store = MemoryStore()
    try Self.prepare(path, store)
    let root = ObjectKey(
      volume: try ShownSource(FileName(path), .path).volume, bytes: Array("root".utf8))
    let way = [LineageStep(object: root, name: [], type: .directory)]
    let object = try #require(try store.object(at: Entry(parent: root, name: Array("f".utf8))))
    _ = try store.intend(
      Intent(
        .rename, object, at: Place(directory: way, name: Array("f".utf8)),
        to: Place(directory: way, name: Array("bare".utf8)),
        fingerprint: Fingerprint(
          type: .regular, size: 77, modified: Timestamp(seconds: 1, nanoseconds: 1))))
    let reports = Lock<[String]>([])
    let next = try Shown(path, store) { line in reports.withLock { $0.append(line) } }
    #expect(reports.withLock { $0.count } == 1)
    #expect(try store.intents() == [])
    #expect(try store.counts().quarantined == 1)
    #expect(try next.attribute(of: "f") == nil)
    #expect(try next.attribute(of: "bare") == nil)
    #expect(try next.attribute(of: "g") == "g has it, too")
  }

  private static let has = ["f": "f has it", "g": "g has it, too", "d/x": "d/x has"]

  private static func prepare(_ path: String, _ store: any EntryStore) throws {
    try call(mkdir(path + "/d", 0o755))
    // Of different lengths: two that look alike could not be told apart.
    for (name, text) in has { try writeFile("\(path)/\(name)", Array(text.utf8)) }
    for (name, text) in [("bare", "bare file"), ("d/bare", "bare, too, and longer")] {
      try writeFile("\(path)/\(name)", Array(text.utf8))
    }
    let shown = try Shown(path, store)
    for (name, value) in has { try shown.set(name, value) }
  }

  /// All files by name.
  private static func contents(of path: String) -> [(String, String)] {
    var found: [(String, String)] = []
    for directory in ["", "d/", "moved/", "f/"] {
      for name in entries(of: "\(path)/\(directory)") {
        guard let bytes = try? readFile("\(path)/\(directory)\(name)") else { continue }
        found.append((directory + name, String(decoding: bytes, as: UTF8.self)))
      }
    }
    return found
  }
}

/// An overlay without a mount, by paths.
struct Shown {
  let path: String
  let overlay: Overlay
  let request = Request(uid: 0, gid: 0)

  init(
    _ path: String, _ store: any EntryStore,
    report: @escaping @Sendable (String) -> Void = { _ in }
  ) throws {
    self.path = path
    let source = try ShownSource(FileName(path), .path)
    overlay = try Overlay(
      source, store: store, storeDirectory: nil,
      Overlay.Options(identity: .path, actsAsCaller: false, report: report))
    try overlay.recover()
  }

  private func node(_ path: String) throws(Errno) -> Node {
    var node = overlay.root
    for name in path.split(separator: "/") {
      node = try overlay.lookup(FileName(String(name)), in: node, request).node
    }
    return node
  }

  func set(_ path: String, _ value: String) throws(Errno) {
    try overlay.setxattr(Array("user.is".utf8), Array(value.utf8), [], on: node(path), request)
  }

  func attribute(of path: String) throws(Errno) -> String? {
    do throws(Errno) {
      let value = try overlay.getxattr(Array("user.is".utf8), of: node(path), request)
      return String(decoding: value, as: UTF8.self)
    } catch .noAttribute {
      return nil
    }
  }

  func rename(
    _ name: String, _ newName: String, _ flags: FileDescriptor.RenameFlags = []
  ) throws(Errno) {
    try overlay.rename(
      FileName(name), in: overlay.root, to: FileName(newName), in: overlay.root, flags, request)
  }

  func unlink(_ name: String) throws(Errno) {
    try overlay.unlink(FileName(name), in: overlay.root, request)
  }

  func link(_ name: String, _ newName: String) throws(Errno) {
    _ = try overlay.link(node(name), to: FileName(newName), in: overlay.root, request)
  }

  func create(_ name: String, _ content: String) throws(Errno) {
    _ = try overlay.create(
      FileName(name), in: overlay.root, mode: 0o644, flags: [.writeOnly, .exclusive], request)
    try writeFile("\(path)/\(name)", Array(content.utf8))
  }
}
