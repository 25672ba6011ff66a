import CLinux
import Glibc
package import LinuxSystem

/// A running daemon with its mount, for one test; unmounted with its owner.
///
/// The daemon is a child in the foreground: its process id is known, its exit status seen, and it
/// can be killed. What it prints goes to `log`.
package final class Mount: Sendable {
  /// The directory that is shown.
  package let source: String
  /// Where it is shown; may be the source itself.
  package let mountPoint: String
  /// The directory of the store; nil leaves the place to the daemon.
  package let store: String?
  /// What the daemon and its predecessors have printed, a file.
  package let log: String

  private let options: [String]
  private let user: User?
  private let openFiles: Int?
  private let environment: [String: String]
  private let allowance: RingAllowance?
  private let daemon = Lock<Child?>(nil)

  /// Mounts `source` at `mountPoint` (by default a new directory in `scratch`).
  ///
  /// `options` are the command's own, such as `--cache never` or `-o ro`; `SIDECARFS_TEST_OPTIONS`
  /// adds some to every mount, such as "-o io_uring", for which the kernel is told to. Returns when the mount
  /// answers; throws `Ended` with the daemon's words when it ends instead, `Overdue` when neither
  /// happens. With `openFiles` that is as many as the daemon may open (`ulimit -n`).
  package init(
    _ source: String, at mountPoint: String? = nil, store: String? = nil,
    options: [String] = [], as user: User? = nil, openFiles: Int? = nil,
    environment: [String: String] = [:], in scratch: Scratch
  ) throws {
    let number = Self.count.withLock { count in
      count += 1
      return count
    }
    self.source = source
    self.mountPoint = try mountPoint ?? scratch.directory("mount-\(number)")
    self.store = store
    self.log = scratch.path("mount-\(number).log")
    self.options = options
    let all = options + Self.added
    allowance =
      all.contains { $0.split(separator: ",").contains("io_uring") }
      ? try RingAllowance() : nil
    self.user = user
    self.openFiles = openFiles
    self.environment = environment
    if let user, mountPoint == nil { try call(chown(self.mountPoint, user.uid, user.gid)) }
    try start(options)
  }

  deinit {
    guard isMounted else { return }
    TestSupport.unmount(mountPoint)
    _ = try? daemon.withLock { $0 }?.wait(within: .seconds(10))
  }

  /// The daemon's process id; 0 when there is none.
  package var pid: Int32 {
    daemon.withLock { $0.flatMap { $0.poll() == nil ? $0.pid : nil } ?? 0 }
  }

  /// Whether the mount is in the kernel's list, dead or alive.
  package var isMounted: Bool {
    ((try? mounts()) ?? []).contains { $0.path == mountPoint && $0.kind.hasPrefix("fuse") }
  }

  /// What was printed so far.
  package var printed: String {
    (try? String(decoding: readFile(log), as: UTF8.self)) ?? ""
  }

  /// Unmounts and waits for the daemon's end; throws `Ended` unless its exit status is 0.
  package func unmount() throws {
    guard TestSupport.unmount(mountPoint) else {
      throw Overdue(what: "unmounting \(mountPoint), which is in use", limit: .seconds(5))
    }
    let status = try daemon.withLock { $0 }?.wait(within: .seconds(30)) ?? 0
    daemon.withLock { $0 = nil }
    if status != 0 { throw Ended(status: status, printed: printed) }
  }

  /// Unmounts, if it is mounted, and mounts again with the same store; other options if told.
  package func remount(options: [String]? = nil) throws {
    if isMounted { try unmount() }
    try start(options ?? self.options)
  }

  /// Ends the daemon with SIGKILL and takes its dead mount away; `remount` then recovers.
  package func kill() throws {
    try crash()
    TestSupport.unmount(mountPoint)
  }

  /// Ends the daemon with SIGKILL and leaves its dead mount.
  package func crash() throws {
    guard let daemon = daemon.withLock({ $0 }) else { return }
    daemon.signal(SIGKILL)
    try daemon.wait(within: .seconds(10))
    self.daemon.withLock { $0 = nil }
  }

  /// Sends the daemon a signal.
  package func signal(_ number: Int32) { daemon.withLock { $0 }?.signal(number) }

  /// Asks the daemon to end, by SIGTERM, and waits for it; throws `Ended` unless its status is 0.
  package func terminate(within limit: Duration) throws {
    guard let daemon = daemon.withLock({ $0 }) else { return }
    daemon.signal(SIGTERM)
    let status = try daemon.wait(within: limit)
    self.daemon.withLock { $0 = nil }
    if status != 0 { throw Ended(status: status, printed: printed) }
  }

  private static let count = Lock(0)
  private static let added = (getenv("SIDECARFS_TEST_OPTIONS").map { String(cString: $0) } ?? "")
    .split(separator: " ").map(String.init)

  private func start(_ options: [String]) throws {
    var command = [try daemonBinary(), "mount", "--foreground"]
    if let openFiles { command = ["prlimit", "--nofile=\(openFiles):\(openFiles)"] + command }
    if let store { command += ["--store", store] }
    command += options + Self.added + [source, mountPoint]
    let files = [
      try call(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      try call(open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)),
    ]
    defer { for file in files { close(file) } }
    let child = try Child(
      command, environment: environment, as: user, files: files + [files[1]])
    do {
      try waiting(for: "the mount on \(mountPoint)", within: .seconds(20)) { () throws -> Void? in
        if let status = child.poll() { throw Ended(status: status, printed: printed) }
        return isMounted ? () : nil
      }
      // The first answer comes when the daemon serves; by a child, for it may never come.
      try check(["stat", "--format=%i", mountPoint], as: user, timeout: .seconds(20))
    } catch {
      if isMounted { TestSupport.unmount(mountPoint, within: .zero) }
      child.signal(SIGKILL)
      throw error
    }
    daemon.withLock { $0 = child }
  }
}

/// A daemon that ended when it should not have, or not well.
package struct Ended: Error, CustomStringConvertible {
  /// Its exit status, 128 + n after signal n.
  package let status: Int32
  /// Its last words.
  package let printed: String

  /// One line and what it printed.
  package var description: String { "the daemon ended with status \(status)\n\(printed)" }
}

/// The command under test: `SIDECARFS_BINARY`, or `sidecarfs` beside the running tests.
package func daemonBinary() throws(Errno) -> String {
  if let path = getenv("SIDECARFS_BINARY") { return String(cString: path) }
  for argument in CommandLine.arguments + [executablePath()] {
    guard let slash = argument.lastIndex(of: "/") else { continue }
    let binary = argument[..<slash] + "/sidecarfs"
    if access(String(binary), X_OK) == 0 { return String(binary) }
  }
  throw .noEntry
}

private func executablePath() -> String {
  guard let path = realpath("/proc/self/exe", nil) else { return "" }
  defer { free(path) }
  return String(cString: path)
}
