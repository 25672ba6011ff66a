import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// What the system does not allow.
extension CommandRefusals {
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
    let configuration = try fixture.scratch.file(
      "fuse.conf", "# user_allow_other\n mount_max = 9\n")
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
    let outcome = try run(
      [
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
