import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Bad input: one line that says what failed, on what, and what to do; nothing is changed.
@Suite(.needsFuse, .serialized) struct CommandRefusals {
  private let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  /// Expects that a command is refused and leaves source, mount point and mounts as they were.
  private func refuse(
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
    let left = try mounts().filter { $0.path.hasPrefix(fixture.scratch.path) && $0.kind.hasPrefix("fuse") }
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
    try check(["sh", "-c", "mkdir -m 700 \"$1\"; head -c 9000 /dev/zero > \"$1/store.db\"", "sh", place])
    try refuse(32, place, "not a database", "--store") { try mount() }
    try make("PRAGMA application_id = 77; CREATE TABLE a(b); CREATE TABLE c(d);")
    try refuse(32, place, "another program", "77", "--store") { try mount() }
    try make("PRAGMA application_id = 1396917843; PRAGMA user_version = 99; CREATE TABLE a(b);")
    try refuse(32, place, "version 99", "newer") { try mount() }
    try check(["rm", "-rf", place])
    try writeFile(place, Array("text".utf8))
    try refuse(32, place, "Not a directory", "--store") { try mount() }
    try refuse(32, place, "Not a directory", "--store") {
      try fixture.sidecarfs("mount", "--store", place + "/below", fixture.source, fixture.mountPoint)
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
    _ = try fixture.mount()
    let second = try fixture.scratch.directory("second")
    expectRefusal(
      try fixture.sidecarfs("mount", fixture.mountPoint + "/inner", second), 32, "FUSE",
      "inode numbers", "choose")
    #expect(entries(of: fixture.mountPoint + "/inner").isEmpty)
    try check([fixture.binary, "unmount", fixture.mountPoint])
    try check(["rm", "-r", fixture.source + "/.sidecarfs"])
    try refuse(32, "ramfs", "no file handles", "choose") {
      try fixture.sidecarfs("mount", "--identity", "handle", fixture.source, second)
    }
  }

  @Test(.enabled(if: hasFAT, "needs mkfs.vfat and the kernel's vfat"))
  func sourceOnFAT() throws {
    let image = fixture.scratch.path("fat.image")
    let fat = try fixture.scratch.directory("fat")
    try check(["truncate", "-s", "8M", image])
    try check(["mkfs.vfat", image])
    try check(["mount", "-o", "loop", image, fat])
    expectRefusal(
      try fixture.sidecarfs("mount", fat, fixture.mountPoint), 32, "FAT", "inode numbers")
    #expect(entries(of: fat).isEmpty)
  }

  private static var hasFAT: Bool {
    ((try? run(["sh", "-c", "command -v mkfs.vfat && { modprobe -q vfat; grep -qw vfat /proc/filesystems; }"])
      .status) ?? 1) == 0
  }

  @Test func thereIsNoDevice() throws {
    for words in [
      ["mount", fixture.source, fixture.mountPoint], ["run", fixture.source, "--", "true"],
    ] {
      try refuse(words[0] == "run" ? 125 : 32, "/dev/fuse", "modprobe fuse") {
        try run(
          ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /dev && exec \"$@\"", "sh"]
            + [fixture.binary] + words)
      }
    }
  }

  @Test func mountingIsForbidden() throws {
    // Root, but without CAP_SYS_ADMIN.
    let words = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    let start = try fixture.look(at: fixture.source + "/inner")
    let outcome = try run(
      words + [fixture.binary, "mount", fixture.source, fixture.mountPoint])
    expectRefusal(outcome, 1, "CAP_SYS_ADMIN")
    #expect(entries(of: fixture.source).sorted() == ["file", "inner", "link"])
    #expect(try fixture.look(at: fixture.source + "/inner") == start)
    expectRefusal(
      try run(words + [fixture.binary, "run", fixture.source, "--", "true"]), 125, "permitted")
    #expect(entries(of: fixture.source).sorted() == ["file", "inner", "link"])
  }

  /// A mount whose store is open when fusermount3 says no: there are too many mounts.
  private func failLate(_ words: String...) throws -> Outcome {
    let configuration = try fixture.scratch.file("fuse.conf", "mount_max = 0\n")
    return try run(
      [
        "unshare", "--mount", "sh", "-c",
        """
        mount --bind "$1" /etc/fuse.conf && shift
        exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
        """, "sh", configuration, fixture.binary, "mount",
      ] + words)
  }

  /// A store that was made before the mount failed is gone again.
  @Test func aNewStoreGoesAgain() throws {
    let mine = try fixture.directory("mine", of: CommandFixture.nobody)
    let view = try fixture.directory("their-view", of: CommandFixture.nobody)
    expectRefusal(try failLate(mine, view), 32, view, "too many")
    #expect(entries(of: mine).isEmpty)
    let place = try fixture.directory("place", of: CommandFixture.nobody)
    expectRefusal(try failLate("--store", place, mine, view), 32, view, "too many")
    expectRefusal(try failLate("--store", place + "/a/b", mine, view), 32, view, "too many")
    #expect(entries(of: mine).isEmpty && entries(of: place).isEmpty)
  }

  /// What was there before stays, whatever fails.
  @Test func aStoreThatWasThereStays() throws {
    let mine = try fixture.directory("mine", of: CommandFixture.nobody)
    let view = try fixture.directory("their-view", of: CommandFixture.nobody)
    func mount() throws {
      let outcome = try fixture.sidecarfs("mount", mine, view, as: CommandFixture.nobody)
      try #require(outcome.status == 0, "\(outcome.errorText)")
    }
    // Empty, too.
    for isEmpty in [true, false] {
      try mount()
      if !isEmpty {
        try check(["setfattr", "-n", "user.a", "-v", "1", view], as: CommandFixture.nobody)
      }
      try check([fixture.binary, "unmount", view])
      expectRefusal(try failLate(mine, view), 32, view, "too many")
      #expect(try fixture.isClosed(mine + "/.sidecarfs"))
    }
    try mount()
    let value = try check(
      ["getfattr", "--only-values", "-n", "user.a", view], as: CommandFixture.nobody)
    #expect(value == "1")
    try check([fixture.binary, "unmount", view])
  }

  @Test func ordinaryUserOnAnothersDirectory() throws {
    let mine = try fixture.directory("mine", of: CommandFixture.nobody)
    let sticky = try fixture.scratch.directory("sticky")
    try call(chmod(sticky, 0o1777))
    for place in [fixture.mountPoint, sticky] {
      try refuse(1, place, "own") {
        try fixture.sidecarfs("mount", mine, place, as: CommandFixture.nobody)
      }
    }
    let secret = try fixture.scratch.directory("secret")
    try call(chmod(secret, 0o700))
    try refuse(1, secret, "Permission denied") {
      try fixture.sidecarfs("mount", secret, mine, as: CommandFixture.nobody)
    }
    try call(chmod(secret, 0o755))
    try call(mkdir(secret + "/below", 0o700))
    try refuse(1, secret, "Permission denied") {
      try fixture.sidecarfs("mount", secret + "/below", mine, as: CommandFixture.nobody)
    }
  }

  @Test func otherUsersAreNotAllowed() throws {
    let mine = try fixture.directory("mine", of: CommandFixture.nobody)
    let view = try fixture.directory("their-view", of: CommandFixture.nobody)
    let configuration = try fixture.scratch.file("fuse.conf", "# user_allow_other\n mount_max = 9\n")
    for options in [["--allow-other"], ["-o", "allow_other"]] {
      try refuse(1, "allow_other", "user_allow_other", "/etc/fuse.conf") {
        try run(
          [
            "unshare", "--mount", "sh", "-c",
            """
            mount --bind "$1" /etc/fuse.conf && shift
            exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
            """, "sh", configuration, fixture.binary, "mount",
          ] + options + [mine, view])
      }
    }
  }

  @Test func theDeviceIsRootsAlone() throws {
    let mine = try fixture.directory("mine", of: CommandFixture.nobody)
    let view = try fixture.directory("their-view", of: CommandFixture.nobody)
    let device = fixture.scratch.path("fuse")
    try check(["mknod", "-m", "600", device, "c", "10", "229"])
    for words in [["mount", mine, view], ["run", mine, "--", "true"]] {
      try refuse(words[0] == "run" ? 125 : 1, "/dev/fuse", "Permission denied", "chmod") {
        try run(
          [
            "unshare", "--mount", "sh", "-c",
            """
            mount --bind "$1" /dev/fuse && shift
            exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
            """, "sh", device, fixture.binary,
          ] + words)
      }
    }
  }

  @Test func userNamespacesAreForbidden() throws {
    let mine = try fixture.directory("mine", of: CommandFixture.nobody)
    // In a user namespace that may have none below it; a shell that is started before it knows
    // who it is has no capabilities, so another is started after.
    let outcome = try run([
      "sh", "-c",
      """
      mkfifo go
      unshare --user sh -c 'read x < go; exec sh -c "$0" "$@"' '
        echo 0 > /proc/sys/user/max_user_namespaces
        exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" "$@"' "$@" &
      ours=$(readlink /proc/self/ns/user)
      while [ "$(readlink /proc/$!/ns/user)" = "$ours" ]; do sleep 0.01; done
      echo 0 0 65536 > /proc/$!/uid_map
      echo 0 0 65536 > /proc/$!/gid_map
      echo go > go
      wait $!
      """, "sh", fixture.binary, "run", mine, "--", "true",
    ], in: fixture.scratch.path)
    expectRefusal(outcome, 125, "mounts of its own", "user.max_user_namespaces")
    #expect(entries(of: mine).isEmpty)
  }
}
