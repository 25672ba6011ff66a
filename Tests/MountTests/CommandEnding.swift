import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// `sidecarfs unmount`, and signals to the daemon.
@Suite(.needsFuse, .serialized) struct CommandEnding {
  private let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  private var isMounted: Bool {
    ((try? mounts()) ?? []).contains { $0.path == fixture.mountPoint }
  }

  @Test func unmountWaitsForTheStore() throws {
    for _ in 0..<10 {
      _ = try fixture.mount()
      try check([
        "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do setfattr -n user.$i -v $i \"$0/file\"; done",
        fixture.mountPoint,
      ])
      try check([fixture.binary, "unmount", fixture.mountPoint + "/"])
      #expect(try fixture.isClosed())
      #expect(fixture.daemons().isEmpty && !isMounted)
    }
  }

  @Test func whatIsInUseStays() throws {
    let daemon = try fixture.mount()
    let user = try Child(["sleep", "60"], in: fixture.mountPoint + "/inner", files: [0, 1, 2])
    func files() -> Int { entries(of: "/proc/\(daemon)/fd").count }
    let before = files()
    for _ in 0..<5 {
      expectRefusal(
        try fixture.sidecarfs("unmount", fixture.mountPoint), 32, "in use", "fuser",
        fixture.mountPoint, "--lazy")
    }
    // Who has asked in vain is forgotten.
    _ = try waiting(for: "the daemon to close what was asked") { files() <= before ? true : nil }
    #expect(isMounted)
    try check(["stat", fixture.mountPoint + "/file"])

    try check([fixture.binary, "unmount", "--lazy", fixture.mountPoint])
    #expect(!isMounted && fixture.daemons() == [daemon])
    user.signal(SIGKILL)
    try user.wait(within: .seconds(10))
    try fixture.awaitNoDaemon()
    #expect(try fixture.isClosed())
  }

  @Test func whatIsNotOursStays() throws {
    expectRefusal(
      try fixture.sidecarfs("unmount", fixture.memory.path), 32, "not a mount of sidecarfs")
    expectRefusal(
      try fixture.sidecarfs("unmount", fixture.source + "/inner"), 32, "not a mount")
    // Below one of ours, and over one of ours.
    _ = try fixture.mount()
    expectRefusal(
      try fixture.sidecarfs("unmount", fixture.mountPoint + "/inner"), 32, "not a mount")
    try check(["mount", "-t", "ramfs", "none", fixture.mountPoint])
    expectRefusal(try fixture.sidecarfs("unmount", fixture.mountPoint), 32, "not a mount")
    try check(["umount", fixture.mountPoint])
    try check([fixture.binary, "unmount", fixture.mountPoint])
  }

  @Test func deadMountIsCleared() throws {
    let daemon = try fixture.mount()
    try check(["setfattr", "-n", "user.a", "-v", "1", fixture.mountPoint + "/file"])
    kill(daemon, SIGKILL)
    try fixture.awaitNoDaemon()
    #expect(isMounted)
    try check([fixture.binary, "unmount", "view"], in: fixture.scratch.path)
    #expect(!isMounted)
    _ = try fixture.mount()
    let text = try check([
      "getfattr", "--absolute-names", "--only-values", "-n", "user.a", fixture.mountPoint + "/file",
    ])
    #expect(text == "1")
  }

  @Test func ordinaryUserUnmountsHisOwn() throws {
    let mine = try fixture.directory("mine", of: CommandFixture.nobody)
    let view = try fixture.directory("their-view", of: CommandFixture.nobody)
    try check([fixture.binary, "mount", mine, view], as: CommandFixture.nobody)
    expectRefusal(
      try fixture.sidecarfs("unmount", view, as: User(65533)), 1, "user 65534", "as that user")
    let inside = try Child(
      ["sleep", "60"], in: view, as: CommandFixture.nobody, files: [0, 1, 2])
    expectRefusal(
      try fixture.sidecarfs("unmount", view, as: CommandFixture.nobody), 32, "in use", "--lazy")
    inside.signal(SIGKILL)
    try inside.wait(within: .seconds(10))
    try check([fixture.binary, "unmount", view], as: CommandFixture.nobody)
    #expect(fixture.daemons().isEmpty)
    #expect(try fixture.isClosed(mine + "/.sidecarfs"))
    // Root waits for the daemons of others as well.
    try check([fixture.binary, "mount", mine, view], as: CommandFixture.nobody)
    try check([fixture.binary, "unmount", view])
    #expect(fixture.daemons().isEmpty)
    #expect(try fixture.isClosed(mine + "/.sidecarfs"))
    // And he does not unmount root's.
    _ = try fixture.mount()
    expectRefusal(
      try fixture.sidecarfs("unmount", fixture.mountPoint, as: CommandFixture.nobody), 1, "user 0")
    #expect(isMounted)
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP]) func signalsEndInGoodOrder(_ signal: Int32) throws {
    let mount = try Child(
      [fixture.binary, "mount", "--foreground", fixture.source, fixture.mountPoint],
      files: [0, 1, 2])
    _ = try waiting(for: "the mount") { isMounted ? true : nil }
    let file = fixture.mountPoint + "/file"
    try check(["setfattr", "-n", "user.a", "-v", "1", file])
    // Somebody has a file open, has it locked, and somebody else waits for the lock.
    let holder = try Child(
      ["flock", file, "sleep", "60"], files: [0, 1, 2])
    let descriptor = try call(open(file, O_RDWR | O_CLOEXEC))
    defer { close(descriptor) }
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    try call(fcntl(descriptor, F_SETLK, &lock))
    let waiter = try Child(
      [
        "python3", "-c", "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX)",
        file,
      ],
      files: [0, 1, 2])
    defer {
      waiter.signal(SIGKILL)
      holder.signal(SIGKILL)
    }
    try awaitSleep(of: waiter)
    let daemon = mount.pid
    // The second of each, and another, do no harm.
    for number in [signal, signal, SIGTERM] { kill(daemon, number) }
    #expect(try mount.wait(within: .seconds(20)) == 0)
    #expect(!isMounted)
    #expect(try fixture.isClosed())
    #expect(try fixture.query("SELECT CAST(value AS TEXT) FROM attribute") == "1")
    #expect(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
    // What the kernel reads by itself can still be read; all else is gone.
    #expect(fsync(descriptor) == -1 && (errno == ENOTCONN || errno == ECONNABORTED))
    try waiter.wait(within: .seconds(10))
  }

  /// Until it waits in a system call for the daemon.
  private func awaitSleep(of child: Child) throws {
    _ = try waiting(for: "a process to wait for a lock") {
      let text = String(
        decoding: (try? readFile("/proc/\(child.pid)/syscall")) ?? [], as: UTF8.self)
      // fcntl is system call 72 of x86-64, 25 of arm64; F_SETLKW is 7.
      let words = text.split(separator: " ")
      return words.count > 2 && ["72", "25"].contains(words[0]) && words[2] == "0x7" ? true : nil
    }
  }

  @Test func theBackgroundDaemonEndsAsWell() throws {
    for signal in [SIGTERM, SIGINT, SIGHUP] {
      let daemon = try fixture.mount()
      kill(daemon, signal)
      try fixture.awaitNoDaemon()
      #expect(!isMounted)
      #expect(try fixture.isClosed())
    }
  }
}
