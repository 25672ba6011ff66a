import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Over file systems whose inode numbers are made up: sshfs, exFAT through FUSE, bindfs.
@Suite(.needsFuse, .needsLoop, .serialized) struct ForeignSources {
  /// Attributes follow names over remounts of the mount and of what is below it, as on a native
  /// file system.
  @Test(arguments: ForeignKind.allCases) func scenarios(_ kind: ForeignKind) async throws {
    let names = ["remount", "rename", "rename over", "hard links"]
    let scenarios = LifetimeScenario.names.filter {
      names.contains($0.name)
        && (kind.hasLinks || !["rename over", "hard links"].contains($0.name))
    }
    #expect(scenarios.count == (kind.hasLinks ? 4 : 2))
    let scratch = try Scratch()
    let native = try Source(.tmpfs, in: scratch)
    let source = try ForeignSource(kind, in: scratch)
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, in: scratch)
    #expect(
      try check([try daemonBinary(), "status", mount.mountPoint]).contains(
        "identity            path"))
    for step in 0..<3 {
      for scenario in scenarios where step < scenario.steps.count {
        var lines: [[String]] = []
        for place in [native.path, mount.mountPoint] {
          let directory = "\(place)/\(scenario.directory)"
          if step == 0 { try call(mkdir(directory, 0o755)) }
          let calls = Calls()
          let inTime = await onIsolatedThread(in: directory, within: .seconds(60)) {
            scenario.steps[step](calls)
          }
          #expect(inTime, "\(scenario.name) hangs after \(calls.lines.last ?? "nothing")")
          lines.append(calls.lines)
        }
        #expect(lines[1] == lines[0], "\(kind), \(scenario.name), step \(step)")
      }
      try noOrphans(mount)
      try mount.unmount()
      // With it goes every number that was made up.
      try source.remount()
      try mount.remount()
    }
    try mount.unmount()
    #expect(mount.printed == "", "\(kind)")
    let left = try StoredState(store)
    #expect(left.orphans.isEmpty && left.quarantined == 0)
  }

  /// What is forgotten and found again under another number is the same; what is new has nothing.
  @Test(arguments: ForeignKind.allCases) func forgottenAndMadeAnew(_ kind: ForeignKind) throws {
    let scratch = try Scratch()
    let source = try ForeignSource(kind, in: scratch)
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: ["--cache", "never"], in: scratch)
    let root = mount.mountPoint
    var number = 0
    func set(_ name: String) throws {
      try call(setxattr("\(root)/\(name)", "user.n", name, name.utf8.count, 0))
    }
    func expect(_ name: String, _ value: String?) throws {
      #expect(
        try attributesOf("\(root)/\(name)")
          == (value.map { ["\(hex(Array("user.n".utf8)))=\(hex(Array($0.utf8)))"] } ?? []),
        "\(kind), \(name), \(number)")
      number += 1
    }
    try call(mkdir(root + "/d", 0o755))
    for name in ["a", "b", "c", "d/x", "d/y"] { try writeFile("\(root)/\(name)", Array(name.utf8)) }
    for name in ["a", "b", "d/x", "d"] { try set(name) }
    for _ in 0..<3 {
      try dropCaches()
      for name in ["a", "b", "d/x", "d"] { try expect(name, name) }
      for name in ["c", "d/y"] { try expect(name, nil) }
    }
    // Over one with attributes, over one without, over nothing.
    try call(rename(root + "/a", root + "/b"))
    try call(rename(root + "/c", root + "/e"))
    try call(rename(root + "/d", root + "/f"))
    try dropCaches()
    try expect("b", "a")
    try expect("e", nil)
    try expect("f", "d")
    try expect("f/x", "d/x")
    // A refused change leaves everything as it is.
    let exchanged = clinux_renameat2(AT_FDCWD, root + "/b", AT_FDCWD, root + "/f/x", 2) == 0
    try expect("b", exchanged ? "d/x" : "a")
    try expect("f/x", exchanged ? "a" : "d/x")
    #expect(rmdir(root + "/f") == -1 && errno == ENOTEMPTY)
    try expect("f", "d")
    // The old name is another's.
    try writeFile(root + "/a", [])
    try expect("a", nil)
    try call(unlink(root + "/b"))
    try writeFile(root + "/b", [])
    try expect("b", nil)
    for name in ["f/x", "f/y"] { try call(unlink("\(root)/\(name)")) }
    try call(rmdir(root + "/f"))
    try call(mkdir(root + "/f", 0o755))
    try writeFile(root + "/f/x", [])
    for name in ["f", "f/x"] { try expect(name, nil) }
    try noOrphans(mount)
    try mount.remount()
    for name in ["a", "b", "e", "f", "f/x"] { try expect(name, nil) }
    #expect(try statusNumber("quarantined", of: mount) == 0)
    try mount.unmount()
    #expect(mount.printed == "", "\(kind)")
  }

  /// Every call of the tools. Other programs' scripts want fifos, which sshfs has not, or the number
  /// of links at once, which bindfs tells a second late.
  @Test(arguments: [(ForeignKind.bindfs, "attributes.sh")])
  func programs(_ kind: ForeignKind, _ script: String) throws {
    let scratch = try Scratch()
    let source = try ForeignSource(kind, in: scratch)
    let other = try Source(.tmpfs, in: scratch)
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: ["-o", "suid,dev"], in: scratch)
    let directory =
      #filePath.split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" } + "/Programs"
    let outcome = try run(
      ["\(directory)/\(script)", mount.mountPoint, other.path], timeout: .seconds(600))
    #expect(outcome.status == 0, "\(kind): \(outcome.errorText)\(outcome.text.suffix(4000))")
    try mount.unmount()
    #expect(mount.printed == "", "the daemon complained")
  }
}
