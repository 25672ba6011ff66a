import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Bad input: one line that says what failed, on what, and what to do; nothing is changed.
@Suite(.needsFuse, .serialized) struct CommandRefusals {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  /// Expects that a command is refused and leaves source, mount point and mounts as they were.
  func refuse(
    _ status: Int32, _ mentions: String..., by command: () throws -> Outcome,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let before = try (
      fixture.look(at: fixture.memory.path), fixture.look(at: fixture.scratch.path), mounts().count
    )
    let outcome = try command()
    expectRefusal(outcome, status, at: location)
    for word in mentions {
      #expect(outcome.errorText.contains(word), "\(outcome.errorText)", sourceLocation: location)
    }
    #expect(try fixture.look(at: fixture.memory.path) == before.0, sourceLocation: location)
    #expect(try fixture.look(at: fixture.scratch.path) == before.1, sourceLocation: location)
    let left = try mounts().filter {
      $0.path.hasPrefix(fixture.scratch.path) && $0.kind.hasPrefix("fuse")
    }
    #expect(left.isEmpty, sourceLocation: location)
    try fixture.awaitNoDaemon()
  }

  @Test func sourceIsNoDirectory() throws {
    let (source, view) = (fixture.source, fixture.mountPoint)
    try refuse(32, "nowhere", "No such file") { try fixture.sidecarfs("mount", "nowhere", view) }
    try refuse(32, "file", "Not a directory") {
      try fixture.sidecarfs("mount", source + "/file", view)
    }
    try refuse(32, "file", "Not a directory") {
      try fixture.sidecarfs("mount", source + "/file/below", view)
    }
    try refuse(125, "nowhere", "No such file") {
      try fixture.sidecarfs("run", "nowhere", "--", "true")
    }
    try refuse(125, "file", "not a directory") {
      try fixture.sidecarfs("run", source + "/file", "--", "true")
    }
  }

  @Test func mountPointIsNoDirectory() throws {
    try refuse(32, "mount point nowhere", "make") {
      try fixture.sidecarfs("mount", fixture.source, "nowhere")
    }
    try refuse(32, "mount point \(fixture.source)/file", "not a directory") {
      try fixture.sidecarfs("mount", fixture.source, fixture.source + "/file")
    }
  }

  @Test func storeIsNoStore() throws {
    let place = fixture.memory.path + "/place"
    func make(_ statements: String) throws {
      try check(["sh", "-c", "rm -rf \"$1\"; mkdir -m 700 \"$1\"", "sh", place])
      try check(["sqlite3", place + "/store.db", statements])
    }
    func mount() throws -> Outcome {
      try fixture.sidecarfs("mount", "--store", place, fixture.source, fixture.mountPoint)
    }
    try check([
      "sh", "-c", "mkdir -m 700 \"$1\"; head -c 9000 /dev/zero > \"$1/store.db\"", "sh", place,
    ])
    try refuse(32, place, "not a database", "--store") { try mount() }
    try make("PRAGMA application_id = 77; CREATE TABLE a(b); CREATE TABLE c(d);")
    try refuse(32, place, "another program", "77", "--store") { try mount() }
    try make("PRAGMA application_id = 1396917843; PRAGMA user_version = 99; CREATE TABLE a(b);")
    try refuse(32, place, "version 99", "newer") { try mount() }
    try check(["rm", "-rf", place])
    try writeFile(place, Array("text".utf8))
    try refuse(32, place, "Not a directory", "--store") { try mount() }
    try refuse(32, place, "Not a directory", "--store") {
      try fixture.sidecarfs(
        "mount", "--store", place + "/below", fixture.source, fixture.mountPoint)
    }
    try refuse(125, place, "Not a directory", "--store") {
      try fixture.sidecarfs("run", "--store", place, fixture.source, "--", "true")
    }
  }

  @Test func storeOfSomebodyElse() throws {
    let place = try fixture.directory("theirs", of: CommandFixture.nobody)
    try refuse(32, place, "user 65534", "chown") {
      try fixture.sidecarfs("mount", "--store", place, fixture.source, fixture.mountPoint)
    }
    let open = try fixture.scratch.directory("open")
    try call(chmod(open, 0o777))
    try refuse(32, open, "written by others", "chmod") {
      try fixture.sidecarfs("mount", "--store", open, fixture.source, fixture.mountPoint)
    }
  }

  @Test func storeCannotBeWritten() throws {
    try fixture.memory.remount(readOnly: true)
    let place = fixture.memory.path + "/place"
    try refuse(32, place, "read-only", "--store") {
      try fixture.sidecarfs("mount", "--store", place, fixture.source, fixture.mountPoint)
    }
  }

  @Test func storeIsInUse() throws {
    let daemon = try fixture.mount()
    let second = try fixture.scratch.directory("second")
    // The store itself belongs to the daemon, which may be writing.
    let before = try fixture.look(at: fixture.source + "/inner")
    let lock = try readFile(fixture.source + "/.sidecarfs/lock")
    expectRefusal(
      try fixture.sidecarfs("mount", fixture.source, second), 32, "in use", fixture.mountPoint,
      "\(daemon)", "unmount")
    expectRefusal(
      try fixture.sidecarfs("run", fixture.source, "--", "true"), 125, "in use",
      fixture.mountPoint, "\(daemon)")
    #expect(try fixture.look(at: fixture.source + "/inner") == before)
    #expect(try readFile(fixture.source + "/.sidecarfs/lock") == lock)
    try check(["stat", fixture.mountPoint + "/file"])
  }

  @Test func mountPointIsAMountAlready() throws {
    let daemon = try fixture.mount()
    let other = fixture.memory.path + "/other"
    try call(mkdir(other, 0o755))
    for words in [
      [other, fixture.mountPoint], [fixture.mountPoint, fixture.mountPoint],
    ] {
      expectRefusal(
        try fixture.sidecarfs("mount", words[0], words[1]), 32, "already", "unmount")
    }
    expectRefusal(
      try fixture.sidecarfs("run", fixture.mountPoint, "--", "true"), 125, "already")
    #expect(entries(of: other).isEmpty)
    #expect(fixture.daemons() == [daemon])
    // A mount whose daemon has died is called that.
    kill(daemon, SIGKILL)
    try fixture.awaitNoDaemon()
    for words in [[other, fixture.mountPoint], [fixture.mountPoint, fixture.mountPoint]] {
      expectRefusal(
        try fixture.sidecarfs("mount", words[0], words[1]), 32, "died",
        "sidecarfs unmount \(fixture.mountPoint)")
    }
  }

  @Test func sourceWithoutLastingIdentities() throws {
    let second = try fixture.scratch.directory("second")
    try refuse(32, "ramfs", "no file handles", "identity") {
      try fixture.sidecarfs("mount", "--identity", "handle", fixture.source, second)
    }
  }
}
