/// What the process says as it ends. The numbers are those of mount(8) and, for `run`, of env(1);
/// they are promised and never change.
public enum ExitStatus: Int32, Sendable, CaseIterable {
  /// All went well.
  case success = 0
  /// Wrong usage, or no permission.
  case usage = 1
  /// The system failed: no memory, no process, no thread, no log.
  case system = 2
  /// `mount` could not mount, `unmount` could not unmount, `status` found no mount.
  case mount = 32
  /// `run` itself failed, before the command was started.
  case run = 125
  /// `run` found the command and could not execute it.
  case notExecutable = 126
  /// `run` did not find the command.
  case notFound = 127
}

/// Why a command failed: one line for a person, and the exit status.
struct CommandFailure: Error {
  let status: ExitStatus
  let message: String

  /// `what` failed, on what, why; and what to do about it, where something can be done.
  init(_ status: ExitStatus, _ what: String, remedy: String? = nil) {
    self.status = status
    message = remedy.map { "\(what); \($0)" } ?? what
  }
}

/// Where a command writes.
public struct Output: Sendable {
  /// Text for standard output, line ends included.
  public let write: @Sendable (String) -> Void
  /// A line for standard error.
  public let complain: @Sendable (String) -> Void

  /// Writes go to these.
  public init(
    write: @escaping @Sendable (String) -> Void, complain: @escaping @Sendable (String) -> Void
  ) {
    self.write = write
    self.complain = complain
  }

  /// Complains in the program's name.
  var report: @Sendable (String) -> Void {
    let complain = complain
    return { complain("sidecarfs: \($0)") }
  }
}
