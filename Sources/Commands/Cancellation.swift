import LinuxSystem
import Synchronization

/// Whether a signal asked this process to end; a command that changes a store ends between two
/// steps then, and undoes what it has begun.
enum Cancellation {
  private static let flag = Atomic(false)
  private static let isWatching = Atomic(false)

  /// A signal came.
  static var isRequested: Bool { flag.load(ordering: .relaxed) }

  /// Takes SIGTERM, SIGINT and SIGHUP from now on. In a process of several threads, which tests
  /// are, they may still end it.
  static func watch() {
    guard !isWatching.exchange(true, ordering: .relaxed) else { return }
    Signals.ending.block()
    try? Threads.start(named: "signals") {
      _ = Signals.ending.wait()
      flag.store(true, ordering: .relaxed)
    }
  }

  /// Throws when a signal came.
  static func check() throws(CommandFailure) {
    if isRequested { throw CommandFailure(.system, "cancelled") }
  }
}
