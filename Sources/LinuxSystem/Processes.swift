import CLinux
import Glibc

/// What a process does with itself and its children.
public enum Processes {
  /// The arguments of this process, the program's name not among them: bytes, as they came.
  public static func arguments() -> [FileName] {
    (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      CommandLine.unsafeArgv[index].map { FileName(copying: $0) }
    }
  }

  /// The value of an environment variable, if it is set and not empty.
  public static func environment(_ name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    let text = String(cString: value)
    return text.isEmpty ? nil : text
  }

  /// The user whose rights this process has (its effective user).
  public static var effectiveUser: UInt32 { UInt32(geteuid()) }
  /// The group whose rights this process has.
  public static var effectiveGroup: UInt32 { UInt32(getegid()) }
  /// This process's number.
  public static var identifier: Int32 { getpid() }
  /// How many processors there are to run on.
  public static var processorCount: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

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
    let signal = status & 0x7f
    return signal == 0 ? (status >> 8) & 0xff : 128 + signal
  }

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

  /// Runs a program and waits for it; its exit status as ``wait(for:)`` tells it.
  ///
  /// The corresponding function is `posix_spawnp`.
  public static func run(_ words: [FileName]) throws(Errno) -> Int32 {
    var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0.cString) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    guard let program = words.first else { throw .noEntry }
    var child: pid_t = 0
    let result = posix_spawnp(&child, program.cString, nil, nil, pointers, clinux_environment())
    if result != 0 { throw Errno(result) }
    return try wait(for: child)
  }

  /// Ends the process. The corresponding function is `exit`.
  public static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

  /// Ends a forked process that never became another program: nothing that its parent has prepared
  /// for its own end is run. The corresponding system call is `_exit`.
  public static func exitForked(_ status: Int32) -> Never { Glibc._exit(status) }

  /// Leaves the terminal: a session of its own. The corresponding system call is `setsid`.
  public static func startSession() throws(Errno) { try call { setsid() } }

  /// Makes this process end when its parent does. The system call is `prctl`.
  public static func endWithParent() throws(Errno) {
    try call { clinux_set_parent_death_signal(SIGKILL) }
  }

  /// The parent's number. The corresponding system call is `getppid`.
  public static var parent: Int32 { getppid() }

  /// Changes the working directory. The corresponding system call is `chdir`.
  public static func changeDirectory(_ path: FileName) throws(Errno) {
    try call { chdir(path.cString) }
  }

  /// The path of the working directory. The corresponding function is `getcwd`.
  public static func workingDirectory() throws(Errno) -> FileName {
    guard let path = getcwd(nil, 0) else { throw Errno(errno) }
    defer { free(path) }
    return FileName(copying: path)
  }

  /// The absolute path of what exists, without links. The corresponding function is `realpath`.
  public static func resolve(_ path: FileName) throws(Errno) -> FileName {
    guard let resolved = realpath(path.cString, nil) else { throw Errno(errno) }
    defer { free(resolved) }
    return FileName(copying: resolved)
  }

  /// Points standard input, output and error at /dev/null.
  public static func dropStandardStreams() throws(Errno) {
    let null = try FileDescriptor.open(FileName("/dev/null"), .readWrite)
    for number in 0...2 {
      let raw = null.raw
      try call { dup2(raw, Int32(number)) }
    }
  }

  /// Opens standard input, output and error on /dev/null where they are closed: a file that is
  /// opened later must not become one of them.
  public static func fillStandardStreams() {
    while true {
      let raw = Glibc.open("/dev/null", O_RDWR)
      if raw < 0 { return }
      if raw > 2 {
        Glibc.close(raw)
        return
      }
    }
  }

  /// Lets this process open as many files as it may at most; how many those are.
  ///
  /// The corresponding system call is `setrlimit` with `RLIMIT_NOFILE`.
  @discardableResult
  public static func raiseOpenFileLimit() -> UInt64 {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return UInt64(limit.rlim_cur)
  }

  /// A pipe: what is written to the second end is read from the first. The system call is `pipe2`.
  public static func pipe() throws(Errno) -> Pipe {
    var ends: [Int32] = [-1, -1]
    try call { pipe2(&ends, O_CLOEXEC) }
    return Pipe(reading: FileDescriptor(owning: ends[0]), writing: FileDescriptor(owning: ends[1]))
  }

  /// Both ends of a pipe.
  public struct Pipe: ~Copyable {
    /// The end to read from.
    public var reading: FileDescriptor?
    /// The end to write to.
    public var writing: FileDescriptor?

    init(reading: consuming FileDescriptor, writing: consuming FileDescriptor) {
      self.reading = consume reading
      self.writing = consume writing
    }
  }
}

/// Threads outside Swift's cooperative pool, for work that blocks.
public enum Threads {
  /// Starts a thread that runs `body`. The corresponding function is `pthread_create`.
  public static func start(named name: String, _ body: @escaping @Sendable () -> Void)
    throws(Errno)
  {
    let box = Unmanaged.passRetained(
      ThreadBody {
        clinux_set_thread_name(name)
        body()
      })
    var thread = pthread_t()
    let result = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      }, box.toOpaque())
    if result != 0 {
      box.release()
      throw Errno(result)
    }
    pthread_detach(thread)
  }
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
