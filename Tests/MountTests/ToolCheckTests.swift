import Glibc
import LinuxSystem
import SQLite
import TestSupport
import Testing

/// `check` and `prune`: what they find, what they put right, and how they end.
@Suite(.needsFuse, .needsLoop, .serialized) struct ToolChecks {
  private final class Filled {
    let scratch: Scratch
    let source: Source
    let mount: Mount

    init(_ kind: SourceKind) throws {
      scratch = try Scratch()
      source = try Source(kind, in: scratch)
      mount = try Mount(source.path, in: scratch)
      try Tool.makeTree(in: mount.mountPoint)
      try Tool.setAttributes(in: mount.mountPoint, trailingNUL: true)
    }
    func sql(_ statement: String) throws {
      // Not by the sqlite3 command, which leaves pages whose checksums do not fit.
      try Database(FileName("\(source.path)/.sidecarfs/store.db"), .readWrite).execute(statement)
    }
  }

  @Test(arguments: [SourceKind.ext4, .ramfs, .xfs, .btrfs, .tmpfs], [false, true])
  func aSoundStoreIsClean(_ kind: SourceKind, _ isMounted: Bool) throws {
    let filled = try Filled(kind)
    if !isMounted { try filled.mount.unmount() }
    let before = entries(of: "\(filled.source.path)/.sidecarfs").sorted()
    let found = try Tool.run(["check", filled.source.path], ends: 0)
    #expect(found.text.hasSuffix(" objects: clean\n") && found.errorText == "")
    #expect(entries(of: "\(filled.source.path)/.sidecarfs").sorted() == before)
    try Tool.run(["check", "--json", filled.source.path], ends: 0)
    if isMounted {
      // By the name of the mount as well.
      try Tool.run(["check", filled.mount.mountPoint], ends: 0)
      let refused = try Tool.run(["check", "--repair", filled.source.path], ends: 8)
      #expect(refused.errorText.contains(filled.mount.mountPoint))
      #expect(try Tool.run(["prune", filled.source.path], ends: 8).errorText.contains("mount at"))
      try filled.mount.unmount()
    }
    try Tool.run(["check", "--repair", filled.source.path], ends: 0)
    try Tool.run(["prune", filled.source.path], ends: 0)
  }

  /// A mount over its own source hides it, but not from check.
  @Test func aCoveredSourceIsChecked() throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    let mount = try Mount(source.path, at: source.path, in: scratch)
    try Tool.makeTree(in: source.path)
    try Tool.setAttributes(in: source.path, trailingNUL: true)
    let wanted = try Tool.listing(of: source.path)
    #expect(try Tool.run(["check", source.path], ends: 0).text.hasSuffix(": clean\n"))
    #expect(try Tool.run(["export", source.path], ends: 0).text.contains("# file: d/e\n"))
    #expect(try Tool.listing(of: source.path) == wanted)
    try mount.unmount()
  }

  @Test(arguments: [SourceKind.ext4, .ramfs]) func whatIsDeletedUnderneath(
    _ kind: SourceKind
  ) throws {
    let filled = try Filled(kind)
    try filled.mount.unmount()
    try check(["rm", "-r", "\(filled.source.path)/d/e", "\(filled.source.path)/sp ace"])
    let found = try Tool.run(["check", filled.source.path], ends: 4)
    let lines = Set(found.text.split(separator: "\n").dropLast().map(String.init))
    #expect(lines == ["gone: d/e", "gone: d/e/f", "gone: d/e/f/deep", "gone: sp ace"])
    // Young records stay.
    try Tool.run(["prune", "--older-than", "1", filled.source.path], ends: 0)
    try Tool.run(["check", filled.source.path], ends: 4)
    if kind == .ext4 {
      try Tool.run(["check", "--repair", filled.source.path], ends: 1)
      let after = try Tool.run(["check", filled.source.path], ends: 0)
      #expect(after.text.split(separator: "\n").filter { $0.hasPrefix("quarantined: ") }.count == 4)
      try Tool.run(["prune", "--quarantine", "--dry-run", filled.source.path], ends: 0)
      try Tool.run(["prune", "--quarantine", filled.source.path], ends: 0)
    } else {
      let trial = try Tool.run(["prune", "--dry-run", filled.source.path], ends: 4)
      #expect(trial.text.contains("gone: sp ace\n"))
      try Tool.run(["prune", filled.source.path], ends: 1)
    }
    let last = try Tool.run(["check", filled.source.path], ends: 0)
    #expect(last.text.split(separator: "\n").count == 1)
    try filled.mount.remount()
    let left = try Tool.listing(of: filled.mount.mountPoint)
    #expect(!left.isEmpty && !left.contains { $0.contains("deep") })
  }

  /// Files of another file system that was mounted inside are not gone while it is not.
  @Test func whatIsNotMountedIsNotGone() throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    try call(mkdir("\(source.path)/inside", 0o755))
    let image = scratch.path("inside.image")
    try check(["truncate", "-s", "64M", image])
    try check(["mkfs.ext4", "-q", "-F", image])
    try check(["mount", "-o", "loop", image, "\(source.path)/inside"])
    let mount = try Mount(source.path, in: scratch)
    try writeFile("\(mount.mountPoint)/inside/f", [])
    try check(["setfattr", "-n", "user.a", "-v", "1", "\(mount.mountPoint)/inside/f"])
    try mount.unmount()
    let isAway = unmount("\(source.path)/inside")
    #expect(isAway)
    for words in [["check"], ["check", "--repair"], ["prune"], ["rebind"]] {
      try Tool.run(words + [source.path], ends: words == ["rebind"] ? 4 : 0)
    }
    try check(["mount", "-o", "loop", image, "\(source.path)/inside"])
    try Tool.run(["check", source.path], ends: 0)
    try mount.remount()
    #expect(
      try Tool.listing(of: mount.mountPoint) == [#"(b'./inside/f', b'user.a', b'1')"#])
    try mount.unmount()
  }

  /// A bit flips in what leads to an attribute: no rule of SQLite's format is broken, and all is there
  /// a second time.
  @Test(arguments: [
    "object", "sqlite_autoindex_object_1", "entry", "entry_object", "sqlite_autoindex_attribute_1",
  ])
  func damageIsToldAndSaved(_ part: String) throws {
    let filled = try Filled(.ext4)
    let wanted = try Tool.listing(of: filled.mount.mountPoint)
    try filled.mount.unmount()
    let store = "\(filled.source.path)/.sidecarfs/store.db"
    let page = try Database(FileName(store), .readOnly).integer(
      "SELECT rootpage FROM sqlite_schema WHERE name = '\(part)'")
    var bytes = try readFile(store)
    // Near the page's end, before the checksum, is what was put there first.
    bytes[Int(try #require(page)) * 4096 - 8 - 4] ^= 2
    try writeFile(store, bytes, mode: 0o600)
    let found = try Tool.run(["check", filled.source.path], ends: 4)
    #expect(found.text.contains("damage: ") && found.errorText.contains("--salvage"))
    let saved = try Tool.run(["check", "--salvage", filled.source.path], ends: 0)
    #expect(saved.errorText.contains("store.db.damaged-") && saved.errorText.contains("attribute"))
    #expect(entries(of: "\(filled.source.path)/.sidecarfs").contains { $0.contains("damaged") })
    try filled.mount.remount()
    #expect(try Tool.listing(of: filled.mount.mountPoint) == wanted)
  }

  @Test func mountSalvages() throws {
    let filled = try Filled(.ext4)
    let wanted = try Tool.listing(of: filled.mount.mountPoint)
    try filled.mount.unmount()
    let store = "\(filled.source.path)/.sidecarfs/store.db"
    try call(truncate(store, off_t(try readFile(store).count - 4096)))
    let refused = try Tool.run(["mount", filled.source.path, filled.mount.mountPoint], ends: 32)
    #expect(refused.errorText.contains("damaged") && refused.errorText.contains("--salvage"))
    try filled.mount.remount(options: ["--salvage"])
    #expect(filled.mount.printed.contains("store.db.damaged-"))
    let left = Set(try Tool.listing(of: filled.mount.mountPoint))
    #expect(left.isSubset(of: wanted))
    try filled.mount.unmount()
  }

  @Test func theStoreIsNotThere() throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    for command in ["check", "prune", "rebind", "export"] {
      let outcome = try Tool.run([command, source.path], ends: 8)
      #expect(outcome.errorText.contains("there is no store"))
    }
    #expect(entries(of: source.path) == ["lost+found"])
  }
}
