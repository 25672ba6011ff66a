import CLinux
import Glibc

/// Children of this process, and becoming another program.
extension Processes {
  /// Makes a child that goes on from here; 0 in the child. The system call is `fork`.
  ///
  /// Only before this process starts a second thread: Swift's runtime does not survive it after.
  public static func fork() throws(Errno) -> Int32 { try call { clinux_fork() } }

  /// Waits for a child; its exit status, or 128 and the number of the signal that ended it.
  ///
  /// The corresponding system call is `waitpid`.
  public static func wait(for child: Int32) throws(Errno) -> Int32 {
    var status: Int32 = 0
    try call { waitpid(child, &status, 0) }
    return Ending(status: status).status
  }

  /// How a process ended.
  public enum Ending: Equatable, Sendable {
    /// With an exit status.
    case exited(Int32)
    /// By a signal.
    case killed(signal: Int32)

    init(status: Int32) {
      let signal = status & 0x7f
      self = signal == 0 ? .exited((status >> 8) & 0xff) : .killed(signal: signal)
    }

    /// One number for both, as a shell tells it: 128 and the signal's number.
    public var status: Int32 {
      switch self {
      case .exited(let status): status
      case .killed(let signal): 128 + signal
      }
    }
  }

  /// Waits for whichever child ends next; which, and how. `ECHILD` when there is none.
  ///
  /// The corresponding system call is `waitpid`.
  public static func waitForAny() throws(Errno) -> (process: Int32, ending: Ending) {
    var status: Int32 = 0
    let process = try call { waitpid(-1, &status, 0) }
    return (process, Ending(status: status))
  }

  /// How a child has ended; nil while it has not. Does not wait. The system call is `waitpid`.
  public static func poll(_ child: Int32) throws(Errno) -> Ending? {
    var status: Int32 = 0
    return try call { waitpid(child, &status, WNOHANG) } == 0 ? nil : Ending(status: status)
  }

  /// Makes this process the parent of its descendants whose own parents end.
  ///
  /// The corresponding system call is `prctl` with `PR_SET_CHILD_SUBREAPER`.
  public static func adoptOrphans() throws(Errno) { try call { clinux_adopt_orphans() } }

  /// The children of this process, adopted ones among them, as /proc tells them (proc(5)).
  public static func children() throws(Errno) -> [Int32] {
    let proc = try FileDescriptor.open(FileName("/proc"), [.readOnly, .directory])
    var children = [Int32]()
    while true {
      let entries = try proc.readDirectory()
      if entries.isEmpty { return children }
      for entry in entries {
        // One that has ended meanwhile is nobody's child.
        guard let process = Int32(entry.name.description),
          let text = try? proc.open(FileName("\(process)/stat"), .readOnly).readToEnd(),
          parent(inStat: text) == identifier
        else { continue }
        children.append(process)
      }
    }
  }

  /// The name of the program, in parentheses, may hold anything; the parent is the second field
  /// after it.
  static func parent(inStat text: [UInt8]) -> Int32? {
    guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
    return fields.count > 1 ? Int32(String(decoding: fields[1], as: UTF8.self)) : nil
  }

  /// Whether there is such a process. The corresponding system call is `kill` with no signal.
  public static func exists(_ process: Int32) -> Bool { kill(process, 0) == 0 || errno != ESRCH }

  /// Sleeps. The corresponding function is `usleep`.
  public static func sleep(milliseconds: UInt32) { usleep(milliseconds &* 1000) }

  /// Becomes another program, found along `PATH`; returns only to throw.
  ///
  /// The corresponding function is `execvp`.
  public static func execute(_ words: [FileName]) throws(Errno) -> Never {
    var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0.cString) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    guard let program = words.first else { throw .noEntry }
    execvp(program.cString, pointers)
    throw Errno(errno)
  }

  /// Runs a program and waits for it; its exit status as ``wait(for:)`` tells it, and what it wrote
  /// to its standard error.
  ///
  /// The corresponding function is `posix_spawnp`.
  public static func run(_ words: [FileName]) throws(Errno) -> (status: Int32, errors: [UInt8]) {
    var ends = try pipe()
    guard let reading = ends.reading.take(), let writing = ends.writing.take() else {
      throw .badDescriptor
    }
    let child = try spawn(words, errors: writing)
    let errors = try reading.readUntilClosed()
    return (try wait(for: child), errors)
  }

  /// The child alone has the writing end then.
  private static func spawn(
    _ words: [FileName], errors: consuming FileDescriptor
  ) throws(Errno) -> Int32 {
    var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0.cString) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    guard let program = words.first else { throw .noEntry }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, errors.raw, 2)
    var child: pid_t = 0
    let result = posix_spawnp(
      &child, program.cString, &actions, nil, pointers, clinux_environment())
    if result != 0 { throw Errno(result) }
    return child
  }

  /// Makes this process end when its parent does. The system call is `prctl`.
  public static func endWithParent() throws(Errno) {
    try call { clinux_set_parent_death_signal(SIGKILL) }
  }

  /// The parent's number. The corresponding system call is `getppid`.
  public static var parent: Int32 { getppid() }
}
