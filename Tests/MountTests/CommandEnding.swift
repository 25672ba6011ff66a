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
    let mount = try Mount(fixture.source, at: fixture.mountPoint, in: fixture.scratch)
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
      ["python3", "-c", "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX)", file],
      files: [0, 1, 2])
    defer {
      waiter.signal(SIGKILL)
      holder.signal(SIGKILL)
    }
    try awaitSleep(of: waiter)
    let daemon = mount.pid
    // The second of each, and another, do no harm.
    for number in [signal, signal, SIGTERM] { kill(daemon, number) }
    _ = try waiting(for: "the daemon's end") { mount.pid == 0 ? true : nil }
    #expect(!isMounted)
    #expect(try fixture.isClosed())
    #expect(try fixture.query("SELECT CAST(value AS TEXT) FROM attribute") == "1")
    // Its exit status was 0.
    try mount.unmount()
    #expect(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
    var byte: UInt8 = 0
    #expect(read(descriptor, &byte, 1) == -1 && (errno == ENOTCONN || errno == ECONNABORTED))
    try waiter.wait(within: .seconds(10))
  }

  /// Until it waits in a system call for the daemon.
  private func awaitSleep(of child: Child) throws {
    _ = try waiting(for: "a process to wait for a lock") {
      let text = String(decoding: (try? readFile("/proc/\(child.pid)/syscall")) ?? [], as: UTF8.self)
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

/// `sidecarfs status`.
@Suite(.needsFuse, .serialized) struct CommandStatus {
  private let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  private struct Report: Decodable {
    let mountpoint, source, filesystem, identity, store, engine, cache, version: String
    let readOnly: Bool
    let threads, pid, seconds, knownObjects, storedObjects, storedAttributes: Int
    let orphans, quarantined: Int
    let operations: [String: Count]
    struct Count: Decodable { let total, failed: Int }
  }

  private func reports(
    _ words: String..., as user: User? = nil, environment: [String: String] = [:]
  ) throws -> [Report] {
    let outcome = try run(
      [fixture.binary, "status", "--json"] + words, environment: environment, as: user)
    #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errorText)")
    #expect(outcome.output.last == UInt8(ascii: "\n"))
    return try decodeJSON([Report].self, from: outcome.output)
      .filter { $0.source.hasPrefix(fixture.scratch.path) || $0.mountpoint.hasPrefix(fixture.scratch.path) }
  }

  @Test func tellsWhatIsMounted() throws {
    let daemon = try fixture.mount("--threads", "3", "--cache", "never", "-r")
    let report = try #require(try reports(fixture.mountPoint).first)
    #expect(report.mountpoint == fixture.mountPoint && report.source == fixture.source)
    #expect(report.store == fixture.source + "/.sidecarfs" && report.engine == "sqlite")
    #expect(report.filesystem == "ramfs" && report.identity == "inode")
    #expect(report.cache == "never" && report.threads == 3 && report.readOnly)
    #expect(report.pid == daemon)
    let version = try check([fixture.binary, "--version"]).trimmed
    #expect(version == "sidecarfs \(report.version)")
    // As many threads as were wanted serve.
    let workers = entries(of: "/proc/\(daemon)/task").filter {
      (try? readFile("/proc/\(daemon)/task/\($0)/comm")) == Array("worker\n".utf8)
    }
    #expect(workers.count == 3)
  }

  @Test func countersMove() throws {
    _ = try fixture.mount()
    let file = fixture.mountPoint + "/file"
    func counts(_ operation: String) throws -> (Int, Int) {
      let count = try #require(try reports(fixture.mountPoint).first).operations[operation]
      return (count?.total ?? 0, count?.failed ?? 0)
    }
    let before = try (counts("setxattr"), counts("getxattr"))
    for number in 0..<5 { try check(["setfattr", "-n", "user.\(number)", "-v", "1", file]) }
    for _ in 0..<3 { #expect(try run(["getfattr", "-n", "user.missing", file]).status == 1) }
    let after = try (counts("setxattr"), counts("getxattr"))
    #expect(after.0.0 - before.0.0 == 5 && after.0.1 == before.0.1)
    #expect(after.1.0 - before.1.0 >= 3 && after.1.1 - before.1.1 >= 3)
    let report = try #require(try reports(fixture.mountPoint).first)
    #expect(report.storedObjects == 1 && report.storedAttributes == 5 && report.orphans == 0)
  }

  @Test func severalMountsAndOne() throws {
    let second = try fixture.scratch.directory("second")
    let other = fixture.memory.path + "/other"
    try call(mkdir(other, 0o755))
    _ = try fixture.mount()
    try check([fixture.binary, "mount", other, second])
    #expect(Set(try reports().map(\.mountpoint)) == [fixture.mountPoint, second])
    #expect(try reports(second).map(\.source) == [other])
    let text = try check([fixture.binary, "status", "second/"], in: fixture.scratch.path)
    #expect(text.hasPrefix(second + "\n"))
    for line in ["  source              \(other)", "  identity            inode"] {
      #expect(text.contains(line + "\n"))
    }
    try check([fixture.binary, "unmount", second])
    #expect(try reports().map(\.mountpoint) == [fixture.mountPoint])
    expectRefusal(try fixture.sidecarfs("status", second), 32, second, "not a mount")
  }

  @Test func killedDaemonsAreNotListed() throws {
    let daemon = try fixture.mount()
    #expect(entries(of: "/run/sidecarfs").contains("\(daemon).sock"))
    kill(daemon, SIGKILL)
    try fixture.awaitNoDaemon()
    #expect(try reports().isEmpty)
    // Its socket was cleared away with the asking.
    #expect(!entries(of: "/run/sidecarfs").contains("\(daemon).sock"))
    expectRefusal(
      try fixture.sidecarfs("status", fixture.mountPoint), 32, "does not answer", "sidecarfs unmount")
    try check([fixture.binary, "unmount", fixture.mountPoint])
    let next = try fixture.mount()
    try check([fixture.binary, "unmount", fixture.mountPoint])
    #expect(!entries(of: "/run/sidecarfs").contains("\(next).sock"))
  }

  @Test func othersAreToldWhomToAsk() throws {
    _ = try fixture.mount()
    let nobody = CommandFixture.nobody
    expectRefusal(
      try fixture.sidecarfs("status", fixture.mountPoint, as: nobody), 32, "user 0", "as that user")
    #expect(try reports(as: nobody).isEmpty)
  }

  /// The user's own directory where there is one, else one in /tmp.
  @Test func socketsOfOrdinaryUsers() throws {
    let nobody = CommandFixture.nobody
    let fallback = "/tmp/sidecarfs-\(nobody.uid)"
    let mine = try fixture.directory("mine", of: nobody)
    let view = try fixture.directory("their-view", of: nobody)
    let runtime = try fixture.directory("runtime", of: nobody)
    let long = try fixture.directory(String(repeating: "x", count: 90), of: nobody)
    defer { removeTree(fallback) }
    for (place, directory) in [
      ("", fallback), (runtime, runtime + "/sidecarfs"), (long, fallback), ("/nowhere", fallback),
    ] {
      let environment = ["XDG_RUNTIME_DIR": place]
      try check([fixture.binary, "mount", mine, view], environment: environment, as: nobody)
      #expect(try reports(view, as: nobody, environment: environment).count == 1)
      let status = try check(["stat", "-c", "%u %a %F", directory]).trimmed
      #expect(status == "65534 700 directory")
      #expect(entries(of: directory).count == 1)
      try check([fixture.binary, "unmount", view], environment: environment, as: nobody)
      #expect(fixture.daemons().isEmpty && entries(of: directory).isEmpty)
    }
    // A daemon is found without the environment that it was started in, where that can be known.
    try check(
      [fixture.binary, "mount", mine, view], environment: ["XDG_RUNTIME_DIR": ""], as: nobody)
    #expect(
      try reports(view, as: nobody, environment: ["XDG_RUNTIME_DIR": runtime]).count == 1)
    try check([fixture.binary, "unmount", view], as: nobody)
  }

  /// Whoever was faster with the name in /tmp learns nothing and breaks nothing.
  @Test func directoryOfSomebodyElseIsNotUsed() throws {
    let nobody = CommandFixture.nobody
    let fallback = "/tmp/sidecarfs-\(nobody.uid)"
    let mine = try fixture.directory("mine", of: nobody)
    let view = try fixture.directory("their-view", of: nobody)
    defer { removeTree(fallback) }
    for prepare in ["mkdir -m 755 \"$0\"", "mkdir -m 777 \"$0\" && chown 65534 \"$0\"", "ln -s \"$PWD\" \"$0\"", "touch \"$0\""] {
      removeTree(fallback)
      try check(["sh", "-c", prepare, fallback], in: mine)
      let environment = ["XDG_RUNTIME_DIR": ""]
      try check([fixture.binary, "mount", mine, view], environment: environment, as: nobody)
      #expect(try run(["find", fallback, "-type", "s"]).output.isEmpty)
      #expect(!entries(of: mine).contains { $0.hasSuffix(".sock") })
      expectRefusal(
        try fixture.sidecarfs("status", view, as: nobody, environment: environment), 32,
        "does not answer")
      try check([fixture.binary, "unmount", view], environment: environment, as: nobody)
      try fixture.awaitNoDaemon()
    }
  }
}
