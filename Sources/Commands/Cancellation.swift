import LinuxSystem
import Synchronization

/// Whether a signal asked this process to end; a command that changes a store ends between two
/// steps then, and undoes what it has begun.
enum Cancellation {
  private static let flag = Atomic(false)
  private static let isWatching = Atomic(false)

  /// A signal came.
  static var isRequested: Bool { flag.load(ordering: .relaxed) }

  /// Takes SIGTERM, SIGINT and SIGHUP from now on. The second one ends the process at once, and so
  /// does the first when there is nothing to undo: a transaction that was not committed is none. In
  /// a process of several threads, which tests are, they may end it anyhow.
  static func watch(undoes: Bool = true) {
    guard !isWatching.exchange(true, ordering: .relaxed) else { return }
    Signals.ending.block()
    try? Threads.start(named: "signals") {
      _ = Signals.ending.wait()
      flag.store(true, ordering: .relaxed)
      if undoes { _ = Signals.ending.wait() }
      Processes.exitForked(ToolStatus.cancelled.rawValue)
    }
  }

  /// Throws when a signal came.
  static func check() throws(CommandFailure) {
    if isRequested { throw CommandFailure(.system, "cancelled") }
  }
}
