import Glibc
import TestSupport
import Testing

/// `rebind`: sources that were copied or restored by other programs.
@Suite(.needsFuse, .needsLoop, .serialized) struct ToolRebind {
  private final class Copied {
    let scratch: Scratch
    let source: Source
    let mount: Mount
    let wanted: [String]

    init(_ kind: SourceKind) throws {
      scratch = try Scratch()
      source = try Source(kind, in: scratch)
      // A directory in it, so that lost+found stays out of sight.
      let directory = "\(source.path)/src"
      try call(mkdir(directory, 0o755))
      mount = try Mount(directory, in: scratch)
      try Tool.makeTree(in: mount.mountPoint)
      try Tool.setAttributes(in: mount.mountPoint, trailingNUL: true)
      wanted = try Tool.listing(of: mount.mountPoint)
      try mount.unmount()
    }
    var path: String { "\(source.path)/src" }
  }

  /// How a source gets to another place.
  enum Way: String, CaseIterable {
    case cpBeside, cpElsewhere, tarElsewhere
  }

  @Test(arguments: [SourceKind.ext4, .tmpfs, .ramfs], Way.allCases)
  func attributesComeAlong(_ kind: SourceKind, _ way: Way) throws {
    let copied = try Copied(kind)
    let other = try Source(kind == .ext4 ? .xfs : .ext4, in: copied.scratch, named: "other")
    let target = way == .cpBeside ? "\(copied.source.path)/copy" : "\(other.path)/copy"
    switch way {
    case .cpBeside, .cpElsewhere: try check(["cp", "-a", copied.path, target])
    case .tarElsewhere:
      try call(mkdir(target, 0o755))
      try check(["sh", "-c", "tar -C \(copied.path) -cf - . | tar -C \(target) -xf -"])
    }
    // Before, nothing is there, and check says why.
    let found = try Tool.run(["check", target], ends: 4)
    #expect(found.text.contains("other root"))
    #expect(found.errorText.contains("rebind"))
    let refused = try Tool.run(["prune", target], ends: 8)
    #expect(refused.errorText.contains("rebind"))
    let trial = try Tool.run(["rebind", "--dry-run", target], ends: 4)
    #expect(trial.text.contains("to be moved") && trial.text.contains("0 refused, 0 not found"))
    try Tool.run(["rebind", target], ends: 1)
    try Tool.run(["rebind", target], ends: 0)
    let mount = try Mount(target, in: copied.scratch)
    #expect(try Tool.listing(of: mount.mountPoint) == copied.wanted)
    // One file of two names has one record.
    try check(["setfattr", "-n", "user.later", "-v", "1", "\(mount.mountPoint)/a"])
    try check(["getfattr", "-n", "user.later", "\(mount.mountPoint)/d/second"])
    try mount.unmount()
    #expect(try Tool.run(["check", target], ends: 0).text.hasSuffix(": clean\n"))
    // The old place has lost nothing.
    try copied.mount.remount()
    #expect(try Tool.listing(of: copied.mount.mountPoint) == copied.wanted)
  }

  /// tar puts new files into the old directory.
  @Test(arguments: [SourceKind.ext4, .ramfs]) func restoreInPlace(_ kind: SourceKind) throws {
    let copied = try Copied(kind)
    let archive = copied.scratch.path("backup.tar")
    try check(["tar", "-C", copied.path, "--exclude=./.sidecarfs", "-cf", archive, "."])
    try check(["sh", "-c", "rm -r \(copied.path)/*"])
    try check(["tar", "-C", copied.path, "-xf", archive])
    try copied.mount.remount()
    #expect(try Tool.listing(of: copied.mount.mountPoint).count == 1, "only the root's")
    let held = try Tool.run(["rebind", copied.path], ends: 8)
    #expect(held.errorText.contains(copied.mount.mountPoint))
    try copied.mount.unmount()
    let found = try Tool.run(["check", copied.path], ends: 4)
    #expect(found.text.contains("replaced: a\n") || found.text.contains("replaced: d/second\n"))
    // Neither takes away what rebind can save.
    try Tool.run(["prune", copied.path], ends: 4)
    try Tool.run(["check", "--repair", copied.path], ends: 4)
    try Tool.run(["rebind", copied.path], ends: 1)
    try copied.mount.remount()
    #expect(try Tool.listing(of: copied.mount.mountPoint) == copied.wanted)
  }

  @Test func whatIsNotTheSameIsRefused() throws {
    let copied = try Copied(.ext4)
    let other = try Source(.xfs, in: copied.scratch, named: "other")
    let target = "\(other.path)/copy"
    try check(["cp", "-a", copied.path, target])
    try call(unlink("\(target)/q\"t"))
    try call(mkdir("\(target)/q\"t", 0o755))
    try call(unlink("\(target)/sp ace"))
    let outcome = try Tool.run(["rebind", target], ends: 4)
    #expect(outcome.text.contains("refused: q\"t is of another type now\n"))
    #expect(outcome.text.contains("not found: sp ace\n"))
    #expect(outcome.text.contains("1 refused, 1 not found"))
    let mount = try Mount(target, in: copied.scratch)
    let missing = ["b'./q\"t'", "b'./sp ace'"]
    let expected = copied.wanted.filter { line in
      !missing.contains { line.hasPrefix("(\($0)") }
    }
    #expect(try Tool.listing(of: mount.mountPoint) == expected)
  }

  /// A file that was renamed underneath keeps its attributes; one that was put in its place has none.
  @Test func theLivingKeepTheirs() throws {
    let copied = try Copied(.ext4)
    try call(rename("\(copied.path)/eq=u", "\(copied.path)/renamed"))
    try writeFile("\(copied.path)/eq=u", [])
    let outcome = try Tool.run(["rebind", copied.path], ends: 4)
    #expect(outcome.text.contains("refused: the file that was eq=u is renamed now\n"))
    try copied.mount.remount()
    let expected = copied.wanted.map { line in
      line.hasPrefix("(b'./eq=u'") ? "(b'./renamed'" + line.dropFirst("(b'./eq=u'".count) : line
    }.sorted()
    #expect(try Tool.listing(of: copied.mount.mountPoint) == expected)
    try copied.mount.unmount()
    // check finds the name out of date, and mends it.
    let found = try Tool.run(["check", copied.path], ends: 4)
    #expect(found.text.contains("wrong name: ./eq=u\n"))
    try Tool.run(["check", "--repair", copied.path], ends: 1)
    try Tool.run(["check", copied.path], ends: 0)
    let dump = try Tool.run(["export", copied.path], ends: 0)
    #expect(dump.text.contains("# file: renamed\n") && !dump.text.contains("\\075u"))
  }

  /// Who mounts the copy first and sets something has made records of new directories.
  @Test func directoriesThatWereOnTheWayGiveWay() throws {
    let copied = try Copied(.ext4)
    let target = "\(copied.source.path)/copy"
    try check(["cp", "-a", copied.path, target])
    let mount = try Mount(target, in: copied.scratch)
    try check(["setfattr", "-n", "user.new", "-v", "1", "\(mount.mountPoint)/d/e/../../plain"])
    try check(["setfattr", "-n", "user.new", "-v", "1", "\(mount.mountPoint)/d/e/f/deep"])
    try mount.unmount()
    let outcome = try Tool.run(["rebind", target], ends: 4)
    #expect(outcome.text.contains("refused: d/e/f/deep has attributes of its own\n"))
    try mount.remount()
    var expected = copied.wanted.filter { !$0.hasPrefix("(b'./d/e/f/deep'") }
    expected += ["(b'./plain', b'user.new', b'1')", "(b'./d/e/f/deep', b'user.new', b'1')"]
    #expect(try Tool.listing(of: mount.mountPoint) == expected.sorted())
  }
}
