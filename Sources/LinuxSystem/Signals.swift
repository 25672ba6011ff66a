import CLinux
import Glibc

/// A set of signals, for threads that take them one by one instead of being interrupted.
public struct Signals: Sendable {
  private let numbers: [Int32]

  /// Those that ask a program to end: SIGTERM, SIGINT and SIGHUP.
  public static let ending = Signals(numbers: [SIGTERM, SIGINT, SIGHUP])
  /// Those that a terminal sends to everybody in front of it: SIGINT and SIGQUIT.
  public static let keyboard = Signals(numbers: [SIGINT, SIGQUIT])

  /// The number of SIGTERM.
  public static let terminate = SIGTERM
  /// The number of SIGINT.
  public static let interrupt = SIGINT
  /// The number of SIGHUP.
  public static let hangUp = SIGHUP

  private var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    return set
  }

  /// Lets every signal through again: a parent may have passed on a mask that blocks some.
  ///
  /// The corresponding function is `pthread_sigmask`.
  public static func unblockAll() {
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
  }

  /// Keeps these from interrupting this thread and those that it starts from now on.
  public func block() {
    var set = self.set
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for one of these, which must be blocked; its number. The function is `sigwait`.
  public func wait() -> Int32 {
    var set = self.set
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    return number
  }

  /// Ignores these, in this process and what it executes.
  public func ignore() { for number in numbers { signal(number, SIG_IGN) } }

  /// Gives these their usual effect again.
  public func restore() { for number in numbers { signal(number, SIG_DFL) } }

  /// Ignores SIGPIPE: a write to whom nobody reads answers `EPIPE` instead of ending the process.
  public static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

  /// Sends a signal to a process. The corresponding system call is `kill`.
  public static func send(_ number: Int32, to process: Int32) throws(Errno) {
    try call { kill(process, number) }
  }
}

/// The system's log.
public enum SystemLog {
  /// How grave a line is.
  public enum Priority: Sendable {
    /// Something failed (`LOG_ERR`).
    case error
    /// For the record (`LOG_NOTICE`).
    case notice
  }

  /// Writes a line. The corresponding function is `syslog`.
  public static func write(_ line: String, _ priority: Priority) {
    clinux_syslog((priority == .error ? LOG_ERR : LOG_NOTICE) | Int32(LOG_DAEMON), line)
  }
}
