import Glibc
package import LinuxSystem

/// A process that this one started, leader of a process group of its own.
package final class Child: Sendable {
  /// Its process id, valid until `wait` has returned.
  package let pid: Int32

  private let command: String
  private let status = Lock<Int32?>(nil)

  /// Starts `command`, looked up in PATH; throws what `posix_spawnp` says.
  ///
  /// The child has an empty signal mask and default handlers (threads of the test run block
  /// signals, and a child would inherit that and ignore SIGTERM), `files` as its descriptors 0, 1
  /// and 2, and no other descriptor. `environment` is added to this process's own.
  package init(
    _ command: [String], in directory: String? = nil, environment: [String: String] = [:],
    as user: User? = nil, files: [Int32]
  ) throws(Errno) {
    self.command = command.joined(separator: " ")
    let start: @Sendable () throws(Errno) -> pid_t = { () throws(Errno) -> pid_t in
      try spawn(command, in: directory, environment: environment, files: files)
    }
    // Credentials belong to a thread: one of our own takes the user's, starts the child and ends.
    if let user {
      let result = onThread { () -> Result<pid_t, Errno> in
        Result { () throws(Errno) -> pid_t in
          try become(user, forGood: true)
          return try start()
        }
      }
      pid = try result.get()
    } else {
      pid = try start()
    }
  }

  deinit {
    guard status.withLock({ $0 }) == nil else { return }
    signal(SIGKILL)
    _ = try? wait(within: .seconds(10))
  }

  /// The status when the child has ended, else nil; does not wait.
  package func poll() -> Int32? {
    status.withLock { status in
      if let status { return status }
      var raw: Int32 = 0
      guard waitpid(pid, &raw, WNOHANG) == pid else { return nil }
      status = raw & 0x7f == 0 ? (raw >> 8) & 0xff : 128 + (raw & 0x7f)
      return status
    }
  }

  /// Waits for the end and returns the status, 128 + n after signal n.
  ///
  /// At the deadline the process group is killed and `Overdue` thrown.
  @discardableResult
  package func wait(within limit: Duration) throws -> Int32 {
    do {
      return try waiting(for: command, within: limit) { poll() }
    } catch {
      signal(SIGKILL)
      _ = try? waiting(for: command, within: .seconds(10)) { poll() }
      throw error
    }
  }

  /// Sends a signal to the child's process group, unless it has been waited for.
  package func signal(_ number: Int32) {
    status.withLock { if $0 == nil { Glibc.kill(-pid, number) } }
  }
}

private func spawn(
  _ command: [String], in directory: String?, environment: [String: String], files: [Int32]
) throws(Errno) -> pid_t {
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  for (number, file) in files.enumerated() {
    posix_spawn_file_actions_adddup2(&actions, file, Int32(number))
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, 3)
  if let directory { posix_spawn_file_actions_addchdir_np(&actions, directory) }

  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  var mask = sigset_t()
  sigemptyset(&mask)
  posix_spawnattr_setsigmask(&attributes, &mask)
  for signal in [SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGCHLD, SIGUSR1, SIGUSR2] {
    sigaddset(&mask, signal)
  }
  posix_spawnattr_setsigdefault(&attributes, &mask)
  posix_spawnattr_setpgroup(&attributes, 0)
  posix_spawnattr_setflags(
    &attributes,
    Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

  let words = command.map { strdup($0) }
  let settings = variables(environment).map { strdup($0) }
  defer { for pointer in words + settings { free(pointer) } }
  var pid: pid_t = 0
  let code = posix_spawnp(
    &pid, command[0], &actions, &attributes, words + [nil], settings + [nil])
  if code != 0 { throw Errno(code) }
  return pid
}

/// This process's environment with `changes` made, as `name=value`.
private func variables(_ changes: [String: String]) -> [String] {
  var result: [String] = changes.map { "\($0.key)=\($0.value)" }
  var cursor = environ
  while let entry = cursor.pointee {
    let text = String(cString: entry)
    let name = text.prefix { $0 != "=" }
    if changes[String(name)] == nil { result.append(text) }
    cursor += 1
  }
  return result
}
