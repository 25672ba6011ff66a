import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// `sidecarfs status`.
@Suite(.needsFuse, .serialized) struct CommandStatus {
  private let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  /// Whose sockets no other test has to do with ("bin").
  private static let another = User(2)

  private struct Report: Decodable {
    let mountpoint, source, filesystem, identity, store, engine, cache, version: String
    let readOnly: Bool
    let threads, pid, seconds, knownObjects: Int
    // Of others' mounts on this machine one may be closing its store: that one tells an error.
    let storedObjects, storedAttributes, orphans, quarantined: Int?
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
      .filter {
        $0.source.hasPrefix(fixture.scratch.path) || $0.mountpoint.hasPrefix(fixture.scratch.path)
      }
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
    #expect(report.storedAttributes == 5 && report.orphans == 0)
    // The way to an object is kept as well.
    #expect((report.storedObjects ?? 0) >= 1)
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
      try fixture.sidecarfs("status", fixture.mountPoint), 32, "does not answer",
      "sidecarfs unmount")
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
    let user = Self.another
    let fallback = "/tmp/sidecarfs-\(user.uid)"
    let mine = try fixture.directory("mine", of: user)
    let view = try fixture.directory("their-view", of: user)
    let runtime = try fixture.directory("runtime", of: user)
    let long = try fixture.directory(String(repeating: "x", count: 90), of: user)
    defer { removeTree(fallback) }
    for (place, directory) in [
      ("", fallback), (runtime, runtime + "/sidecarfs"), (long, fallback), ("/nowhere", fallback),
    ] {
      let environment = ["XDG_RUNTIME_DIR": place]
      try check([fixture.binary, "mount", mine, view], environment: environment, as: user)
      #expect(try reports(view, as: user, environment: environment).count == 1)
      let status = try check(["stat", "-c", "%u %a %F", directory]).trimmed
      #expect(status == "\(Self.another.uid) 700 directory")
      #expect(entries(of: directory).count == 1)
      try check([fixture.binary, "unmount", view], environment: environment, as: user)
      #expect(fixture.daemons().isEmpty && entries(of: directory).isEmpty)
    }
    // A daemon is found without the environment that it was started in, where that can be known.
    try check(
      [fixture.binary, "mount", mine, view], environment: ["XDG_RUNTIME_DIR": ""], as: user)
    #expect(
      try reports(view, as: user, environment: ["XDG_RUNTIME_DIR": runtime]).count == 1)
    try check([fixture.binary, "unmount", view], as: user)
  }

  /// Whoever was faster with the name in /tmp learns nothing and breaks nothing.
  @Test func directoryOfSomebodyElseIsNotUsed() throws {
    let user = Self.another
    let fallback = "/tmp/sidecarfs-\(user.uid)"
    let mine = try fixture.directory("mine", of: user)
    let view = try fixture.directory("their-view", of: user)
    defer { removeTree(fallback) }
    for prepare in [
      "mkdir -m 755 \"$0\"", "mkdir -m 777 \"$0\" && chown \(Self.another.uid) \"$0\"",
      "ln -s \"$PWD\" \"$0\"", "touch \"$0\"",
    ] {
      removeTree(fallback)
      try check(["sh", "-c", prepare, fallback], in: mine)
      let environment = ["XDG_RUNTIME_DIR": ""]
      try check([fixture.binary, "mount", mine, view], environment: environment, as: user)
      #expect(try run(["find", fallback, "-type", "s"]).output.isEmpty)
      #expect(!entries(of: mine).contains { $0.hasSuffix(".sock") })
      expectRefusal(
        try fixture.sidecarfs("status", view, as: user, environment: environment), 32,
        "does not answer")
      try check([fixture.binary, "unmount", view], environment: environment, as: user)
      try fixture.awaitNoDaemon()
    }
  }
}
