import AttributeModel
import FUSE
import Glibc
import LinuxSystem
import Overlay
import SidecarStore
import TestSupport
import Testing

/// Whichever call of the store fails: who asked for attributes is told, and the old state stands or
/// the new one, never a mixture, never that of another object.
@Suite(.needsRoot) struct FailingStoreTests {
  /// What is done while the store fails, and how it may end.
  struct Deed: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The attributes of "f" and "g" after it is done.
    let after: [String: [String: String]]
    /// Names that are gone after it.
    let gone: [String]
    let body: @Sendable (Scene) throws -> Void
  }

  /// "f" has `user.a`, "g" has `user.g`, "bare" has nothing.
  static let before = ["f": ["user.a": "1"], "g": ["user.g": "2"], "bare": [:]]

  static let deeds = [
    Deed("set", ["f": ["user.a": "1", "user.b": "new"]]) { try $0.set("f", "user.b", "new") },
    Deed("replace", ["f": ["user.a": "new"]]) { try $0.set("f", "user.a", "new") },
    Deed("first", ["bare": ["user.b": "new"]]) { try $0.set("bare", "user.b", "new") },
    Deed("remove", ["f": [:]]) { scene in
      try scene.overlay.removexattr(
        Array("user.a".utf8), from: scene.node("f"), scene.request)
    },
    Deed("get", [:]) { scene in
      let value = try scene.overlay.getxattr(
        Array("user.a".utf8), of: scene.node("f"), scene.request)
      #expect(value == Array("1".utf8)[...])
    },
    Deed("list", [:]) { scene in
      let list = try scene.overlay.listxattr(scene.node("f"), scene.request)
      #expect(list == Array("user.a\0".utf8)[...])
    },
    Deed("fsync", [:]) { scene in
      let node = try scene.node("f")
      let opened = try scene.overlay.open(node, flags: .readWrite, scene.request)
      try scene.overlay.fsync(opened.handle, dataOnly: false, scene.request)
    },
    Deed("unlink", ["f": nil]) { scene in
      try scene.overlay.unlink(FileName("f"), in: scene.overlay.root, scene.request)
    },
    Deed("rename", ["f": nil, "h": ["user.a": "1"]]) { scene in
      try scene.rename("f", "h")
    },
    Deed("rename over", ["f": nil, "g": ["user.a": "1"]]) { scene in
      try scene.rename("f", "g")
    },
    Deed("exchange", ["f": ["user.g": "2"], "g": ["user.a": "1"]]) { scene in
      try scene.rename("f", "g", .exchange)
    },
    Deed("link", ["h": ["user.a": "1"]]) { scene in
      let entry = try scene.overlay.link(
        scene.node("f"), to: FileName("h"), in: scene.overlay.root, scene.request)
      scene.overlay.forget(entry.node, lookups: 1)
    },
    Deed("create", ["h": [:]]) { scene in
      let (entry, opened) = try scene.overlay.create(
        FileName("h"), in: scene.overlay.root, mode: 0o644, flags: .readWrite, scene.request)
      scene.overlay.release(opened.handle, entry.node)
      scene.overlay.forget(entry.node, lookups: 1)
    },
    Deed("nameless", ["h": ["user.t": "3"]]) { scene in
      let (entry, opened) = try scene.overlay.tmpfile(
        in: scene.overlay.root, mode: 0o644, flags: .readWrite, scene.request)
      defer {
        scene.overlay.release(opened.handle, entry.node)
        scene.overlay.forget(entry.node, lookups: 1)
      }
      try scene.overlay.setxattr(
        Array("user.t".utf8), Array("3".utf8), [], on: entry.node, scene.request)
      let linked = try scene.overlay.link(
        entry.node, to: FileName("h"), in: scene.overlay.root, scene.request)
      scene.overlay.forget(linked.node, lookups: 1)
    },
  ]

  @Test(arguments: deeds) func everyCallFails(_ deed: Deed) throws {
    for call in 1..<50 {
      let scratch = try Scratch()
      let directory = try TestSupport.Source(.tmpfs, in: scratch)
      let base = MemoryStore()
      let healthy = try Scene(directory.path, base)
      for (name, attributes) in Self.before {
        try writeFile("\(directory.path)/\(name)", [])
        for (attribute, value) in attributes { try healthy.set(name, attribute, value) }
      }
      try healthy.overlay.close()

      let faulty = FaultyStore(base, failing: call, with: .noSpace)
      let scene = try Scene(directory.path, faulty)
      var failure: Errno?
      do {
        try deed.body(scene)
      } catch let error as Errno {
        failure = error
      }
      let hasFailed = faulty.hasFailed
      var after = Self.before
      for (name, attributes) in deed.after { after[name] = attributes }
      for name in deed.gone { after[name] = nil }
      let remounted = try Scene(directory.path, base)
      let later = try remounted.everything()
      guard hasFailed else {
        #expect(failure == nil)
        #expect(later == after, "undisturbed")
        #expect(call > 1, "a store that fails was met")
        return
      }
      let now = try scene.everything()
      #expect(now == later, "\(call): in memory as in the store")
      // A look at the time of change that fails is made up for later: nobody need be told.
      #expect(failure == nil || failure == .noSpace, "\(call)")
      #expect(now == (failure == nil ? after : Self.before), "\(call): done or not done")
      // What has a name may not be taken for an orphan; nobody inherits what was left behind.
      try scene.overlay.close()
      for name in ["f", "g", "h"] where now[name] == nil {
        try writeFile("\(directory.path)/\(name)", [])
        #expect(try remounted.attributes(of: name).isEmpty, "\(call): a new \(name)")
      }
      #expect(try base.counts().orphans <= 1, "\(call): orphans")
    }
    Issue.record("the deed never came to an end")
  }
}

extension FailingStoreTests.Deed {
  init(
    _ name: String, _ after: [String: [String: String]?],
    _ body: @escaping @Sendable (Scene) throws -> Void
  ) {
    testDescription = name
    self.after = after.compactMapValues { $0 }
    gone = after.filter { $0.value == nil }.map(\.key)
    self.body = body
  }
}

/// An overlay without a mount.
final class Scene {
  let overlay: Overlay
  let request = Request(uid: 0, gid: 0)
  private let path: String

  init(_ path: String, _ store: any EntryStore) throws {
    let source = try ShownSource(FileName(path), .auto)
    self.path = path
    overlay = try Overlay(
      source, store: store, storeDirectory: nil,
      Overlay.Options(actsAsCaller: false) { _ in })
  }

  /// The node of a name; its lookup is never given back.
  func node(_ name: String) throws(Errno) -> Node {
    try overlay.lookup(FileName(name), in: overlay.root, request).node
  }

  func set(_ name: String, _ attribute: String, _ value: String) throws(Errno) {
    try overlay.setxattr(Array(attribute.utf8), Array(value.utf8), [], on: node(name), request)
  }

  func rename(
    _ name: String, _ newName: String, _ flags: FileDescriptor.RenameFlags = []
  ) throws(Errno) {
    try overlay.rename(
      FileName(name), in: overlay.root, to: FileName(newName), in: overlay.root, flags, request)
  }

  func attributes(of name: String) throws(Errno) -> [String: String] {
    let node = try node(name)
    var found: [String: String] = [:]
    for attribute in try overlay.listxattr(node, request).split(separator: 0) {
      let value = try overlay.getxattr(Array(attribute), of: node, request)
      found[String(decoding: attribute, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
    }
    return found
  }

  /// The attributes of everything in the directory.
  func everything() throws -> [String: [String: String]] {
    var found: [String: [String: String]] = [:]
    for name in entries(of: path) { found[name] = try attributes(of: name) }
    return found
  }
}
