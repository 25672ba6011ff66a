import LinuxSystem

/// What the commands that look at a store say as they end: the numbers of fsck(8). They are promised
/// and never change.
public enum ToolStatus: Int32, Sendable, CaseIterable {
  /// All is well, or all was done.
  case clean = 0
  /// Something was wrong, and was put right.
  case corrected = 1
  /// Something is wrong, or was left undone.
  case uncorrected = 4
  /// The command itself failed, and changed nothing.
  case failed = 8
  /// Wrong usage.
  case usage = 16
  /// A signal ended it, before anything was changed.
  case cancelled = 32

  /// Runs a command that ends with such numbers; a failure is told in one line.
  static func running(
    _ output: Output, _ body: () throws(CommandFailure) -> ToolStatus
  ) -> Int32 {
    do throws(CommandFailure) {
      return try body().rawValue
    } catch {
      if Cancellation.isRequested {
        output.complain("sidecarfs: cancelled, nothing was changed")
        return cancelled.rawValue
      }
      output.complain("sidecarfs: \(error.message)")
      return (error.status == .usage ? usage : failed).rawValue
    }
  }

  /// For the help of each.
  static let help = """
    exit status: 0 clean or done, 1 errors were corrected, 4 errors are left, 8 the
    command failed, 16 usage, 32 cancelled

    """
}
