import CLinux
import Glibc

/// A set of signals, for threads that take them one by one instead of being interrupted.
public struct Signals: Sendable {
  private let numbers: [Int32]

  /// Those that ask a program to end: SIGTERM, SIGINT and SIGHUP.
  public static let ending = Signals(numbers: [SIGTERM, SIGINT, SIGHUP])
  /// Those that one who waits for a command looks after: the same, SIGQUIT, and SIGCHLD.
  public static let supervision = Signals(numbers: [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD])
  /// Those that a process passes on to the command that it serves: SIGTERM, SIGINT, SIGHUP, SIGQUIT.
  public static let passedOn = Signals(numbers: [SIGTERM, SIGINT, SIGHUP, SIGQUIT])
  /// What stops a process that writes to a terminal without being in front of it: SIGTTOU.
  public static let background = Signals(numbers: [SIGTTOU])

  /// The number of SIGTERM.
  public static let terminate = SIGTERM
  /// The number of SIGKILL, which no process can refuse.
  public static let kill = SIGKILL
  /// The number of SIGCHLD.
  public static let child = SIGCHLD

  private var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    return set
  }

  private struct Inherited {
    var mask = sigset_t()
    var ignored: [Int32] = []
  }

  private static let inherited = Lock<Inherited?>(nil)

  /// Makes signals mean to this process what it expects, whatever its parent left: none is blocked,
  /// SIGCHLD tells of children, a write to whom nobody reads answers `EPIPE` instead of ending the
  /// process. What the parent left is remembered for ``handBack()``. Call it first of all.
  ///
  /// The corresponding functions are `pthread_sigmask` and `signal`.
  public static func takeOver() {
    var left = Inherited()
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &left.mask)
    for (number, handler) in [(SIGPIPE, SIG_IGN), (SIGCHLD, SIG_DFL)] {
      var before = sigaction()
      sigaction(number, nil, &before)
      if isIgnored(before) { left.ignored.append(number) }
      signal(number, handler)
    }
    let all = left
    inherited.withLock { $0 = all }
  }

  /// Leaves signals as the parent had left them, for the program that this process becomes.
  public static func handBack() {
    guard let left = inherited.withLock({ $0 }) else { return }
    for number in [SIGPIPE, SIGCHLD] {
      signal(number, left.ignored.contains(number) ? SIG_IGN : SIG_DFL)
    }
    var mask = left.mask
    pthread_sigmask(SIG_SETMASK, &mask, nil)
  }

  private static func isIgnored(_ action: sigaction) -> Bool {
    unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
      == unsafeBitCast(SIG_IGN, to: UInt.self)
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

  /// Waits for one of these, which must be blocked; its number, and whether the kernel itself sent
  /// it, as it does for a key of the terminal: then everybody in front of the terminal got it.
  ///
  /// The corresponding system call is `sigwaitinfo`.
  public func waitForOrigin() -> (number: Int32, isFromKernel: Bool) {
    var set = self.set
    while true {
      var information = siginfo_t()
      let number = sigwaitinfo(&set, &information)
      if number > 0 { return (number, information.si_code > 0) }
    }
  }

  /// Sends a signal to a process. The corresponding system call is `kill`.
  public static func send(_ number: Int32, to process: Int32) throws(Errno) {
    try call { Glibc.kill(process, number) }
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
