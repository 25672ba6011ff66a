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

  /// How many processors the kernel has made room for, those that are switched off among them.
  public static func possibleProcessors() throws(Errno) -> Int {
    let path = FileName("/sys/devices/system/cpu/possible")
    return try processors(in: FileDescriptor.open(path, .readOnly).readToEnd())
  }

  /// The count of a list such as "0-3,8". `EINVAL` for what is none.
  static func processors(in list: [UInt8]) throws(Errno) -> Int {
    var count = 0
    for range in list.split(whereSeparator: { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\n") })
    {
      let ends = range.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false).map {
        Int(String(decoding: $0, as: UTF8.self))
      }
      guard ends.count <= 2, let first = ends.first ?? nil, let last = ends.last ?? nil,
        first >= 0, first <= last, last < 1 << 20, count < 1 << 20
      else { throw .invalidArgument }
      count += last - first + 1
    }
    guard count > 0 else { throw .invalidArgument }
    return count
  }

  /// Ends the process. The corresponding function is `exit`.
  public static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

  /// Ends a forked process that never became another program: nothing that its parent has prepared
  /// for its own end is run. The corresponding system call is `_exit`.
  public static func exitForked(_ status: Int32) -> Never { Glibc._exit(status) }

  /// Leaves the terminal: a session of its own. The corresponding system call is `setsid`.
  public static func startSession() throws(Errno) { try call { setsid() } }

  /// Leaves the process group: one of its own, which no key of the terminal reaches.
  ///
  /// The corresponding system call is `setpgid`.
  public static func startGroup() throws(Errno) { try call { setpgid(0, 0) } }

  /// Closes what a parent has left open besides the standard streams and one file of our own: a
  /// process that stays would keep it open for ever. The system call is `close_range`.
  public static func closeInherited(keeping file: borrowing FileDescriptor) throws(Errno) {
    let kept = UInt32(file.raw)
    if kept > 3 { try call { close_range(3, kept - 1, 0) } }
    try call { close_range(max(3, kept + 1), UInt32.max, 0) }
  }

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

  /// How many descriptors this process may have open.
  ///
  /// The corresponding system call is `getrlimit` with `RLIMIT_NOFILE`.
  public static var openFileLimit: UInt64 {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
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
