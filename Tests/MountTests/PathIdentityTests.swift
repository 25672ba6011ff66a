import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Objects that are known by name alone behave like others, as long as names change through the
/// mount.
@Suite(.needsFuse, .needsLoop, .serialized) struct PathIdentity {
  /// Everything that becomes of objects in their lives, on file systems that would not need it.
  @Test(arguments: SourceKind.allCases) func scenarios(_ kind: SourceKind) async throws {
    let scratch = try Scratch()
    let lifetime = Lifetime()
    let natives = try [SourceKind.tmpfs, .xfs].map {
      try Source($0, in: scratch, named: "native-\($0)")
    }
    var accepted: [[[String]]] = []
    for native in natives {
      var lines = LifetimeScenario.all.map { _ in [String]() }
      for step in 0..<3 { try await lifetime.make(step, in: native.path, &lines) }
      accepted.append(lines)
    }
    let source = try Source(kind, in: scratch)
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, options: ["--identity", "path"], in: scratch)
    var lines = LifetimeScenario.all.map { _ in [String]() }
    for step in 0..<3 {
      try await lifetime.make(step, in: mount.mountPoint, &lines)
      try noOrphans(mount)
      if step < 2 { try mount.remount() } else { try mount.unmount() }
    }
    #expect(mount.printed == "")
    for (number, scenario) in LifetimeScenario.all.enumerated() {
      for (line, text) in lines[number].enumerated() {
        let answers = accepted.compactMap { line < $0[number].count ? $0[number][line] : nil }
        #expect(answers.contains(text), "\(kind), \(scenario.name), line \(line + 1)")
      }
      #expect(lines[number].count == accepted[0][number].count, "\(scenario.name): lines")
    }
    let left = try StoredState(store)
    #expect(left.orphans.isEmpty)
    #expect(left.quarantined == 0)
    // Names lead to what is there, and to nothing that is not.
    try expectNames(in: store, of: source.path)
  }

  /// What stands under a name and cannot be what the store knows there has none of its attributes.
  @Test func otherTypes() throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, options: ["--identity", "path"], in: scratch)
    let root = mount.mountPoint
    for name in ["f", "g"] {
      try writeFile("\(root)/\(name)", [])
      try call(setxattr("\(root)/\(name)", "user.a", name, 1, 0))
    }
    try mount.unmount()
    try call(unlink(source.path + "/f"))
    try call(mkdir(source.path + "/f", 0o755))
    try mount.remount()
    #expect(try attributesOf(root + "/f").isEmpty)
    #expect(try attributesOf(root + "/g").count == 1)
    #expect(try statusNumber("quarantined", of: mount) == 1)
    try call(setxattr(root + "/f", "user.a", "d", 1, 0))
    try mount.remount()
    #expect(try attributesOf(root + "/f") == ["757365722E61=64"])
    try mount.unmount()
    #expect(mount.printed == "")
  }

  /// The two names of one file have one set of attributes, at once and after a remount; and each
  /// can go first.
  @Test func linksShare() throws {
    let scratch = try Scratch()
    let source = try Source(.xfs, in: scratch)
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, options: ["--identity", "path"], in: scratch)
    let root = mount.mountPoint
    for name in ["a", "b", "c"] { try writeFile("\(root)/\(name)", []) }
    try call(setxattr(root + "/a", "user.before", "1", 1, 0))
    for name in ["a", "b", "c"] { try call(link("\(root)/\(name)", "\(root)/\(name)-link")) }
    try call(setxattr(root + "/a-link", "user.after", "1", 1, 0))
    try call(setxattr(root + "/b-link", "user.late", "1", 1, 0))
    for remounted in [false, true] {
      if remounted { try mount.remount() }
      for (name, count) in [("a", 2), ("b", 1), ("c", 0)] {
        #expect(try attributesOf("\(root)/\(name)").count == count, "\(name), \(remounted)")
        #expect(try attributesOf("\(root)/\(name)-link").count == count)
      }
    }
    // Open by one name while the other goes, and then its own.
    let open = try call(open(root + "/a", O_RDONLY | O_CLOEXEC))
    try call(unlink(root + "/a"))
    try call(unlink(root + "/a-link"))
    var buffer = [UInt8](repeating: 0, count: 10)
    #expect(fgetxattr(open, "user.before", &buffer, 10) == 1)
    close(open)
    try call(unlink(root + "/b-link"))
    try call(rename(root + "/b", root + "/d"))
    #expect(try attributesOf(root + "/d").count == 1)
    try noOrphans(mount)
    try mount.remount()
    #expect(try attributesOf(root + "/d").count == 1)
    #expect(try statusNumber("stored_attributes", of: mount) == 1)
    try mount.unmount()
  }

  /// Every entry of the store is a name in the source.
  private func expectNames(in store: String, of source: String) throws {
    let query = """
      WITH RECURSIVE path(id, text) AS (
        SELECT object.id, '' FROM object WHERE CAST(key AS TEXT) = 'root'
        UNION ALL
        SELECT entry.object, path.text || '/' || CAST(entry.name AS TEXT)
        FROM entry JOIN path ON entry.parent = path.id)
      SELECT text FROM path
      """
    let paths = try check(["sqlite3", "file:\(store)/store.db?immutable=1", query])
      .split(separator: "\n")
    #expect(paths.count > 20)
    for path in paths {
      var status = stat()
      #expect(lstat(source + path, &status) == 0, "\(path)")
    }
    let all = try check([
      "sqlite3", "file:\(store)/store.db?immutable=1", "SELECT count(*) FROM entry",
    ])
    #expect(all == "\(paths.count)\n", "every entry can be reached from the root")
    #expect(
      try check([
        "sqlite3", "file:\(store)/store.db?immutable=1", "SELECT count(*) FROM intent",
      ]) == "0\n")
  }
}
