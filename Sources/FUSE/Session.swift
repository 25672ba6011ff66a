import CFUSE
import Glibc
public import LinuxSystem

/// How a session mounts.
public struct MountOptions: Sendable {
  /// What the mount table shows as the source.
  public var source: String
  /// What the mount table shows after "fuse." as the type.
  public var subtype: String
  /// Other users than the one who mounts may come in (`allow_other`).
  public var allowsOthers: Bool
  /// No writes (`ro`).
  public var isReadOnly: Bool
  /// Further options for the kernel, such as `nosuid` or `noatime`.
  public var others: [String]
  /// How many threads serve.
  public var threads: Int
  /// The source may take long to answer anything, as over a network.
  public var isSlow = false
  /// What is asked of the kernel, if it offers it.
  public var features = KernelFeatures.all
  /// What of it there is no use in mounting without: ``Session/serve()`` then ends with
  /// `EOPNOTSUPP` before anything is served.
  public var demanded: KernelFeatures = []
  /// How many file systems may lie upon each other, ours and the source's included: 1 for a source
  /// that lies upon nothing, 2 for one such as overlayfs. More than 2 the kernel does not allow.
  public var stackDepth: UInt32 = 1

  /// The usual: `nosuid,nodev`, writable, for this user.
  public init(source: String, subtype: String, threads: Int) {
    self.source = source
    self.subtype = subtype
    allowsOthers = false
    isReadOnly = false
    others = []
    self.threads = threads
  }

  var arguments: [String] {
    var words = ["fsname=\(escaped(source))", "subtype=\(escaped(subtype))", "default_permissions"]
    if allowsOthers { words.append("allow_other") }
    if isReadOnly { words.append("ro") }
    return words + others
  }

  /// libfuse separates options by commas; a backslash takes a meaning away.
  private func escaped(_ text: String) -> String {
    text.reduce(into: "") { $0 += $1 == "," || $1 == "\\" ? "\\\($1)" : "\($1)" }
  }
}

/// Why a mount failed: what libfuse or fusermount3 had to say.
public struct MountError: Error, Sendable {
  /// One line, without a full stop.
  public let message: String
}

/// One mount: connects a ``FileSystem`` with the kernel.
///
/// Make it, ``mount(at:)``, ``serve()`` until somebody unmounts or calls ``stop()``. SIGUSR1 of the
/// process is used to wake threads.
public final class Session: @unchecked Sendable {
  private let session: SessionPointer
  private let context: SessionContext
  private let workers: WorkerLoop
  private let mounted = Lock<Bool>(false)

  /// Prepares a session; `trace` gets a line a request, `report` one about what is not as it should
  /// be, `started` is called when the kernel has said hello: from then on the mount can be used.
  ///
  /// Throws ``MountError`` for options that libfuse does not know.
  public init(
    _ fileSystem: any FileSystem, _ options: MountOptions,
    trace: (@Sendable (String) -> Void)? = nil,
    report: @escaping @Sendable (String) -> Void = { _ in },
    started: @escaping @Sendable () -> Void = {}
  ) throws(MountError) {
    LibraryLog.capture()
    let workers = WorkerLoop(threads: options.threads, isSlow: options.isSlow)
    let context = SessionContext(
      fileSystem, trace: trace, workers: workers,
      Handshake(options.features, stackDepth: options.stackDepth), demanded: options.demanded,
      report: report, started: started)
    self.workers = workers
    self.context = context
    var table = operationTable()
    table.`init` = { _, connection in
      if let connection { negotiate(connection) }
    }
    let words = [options.subtype] + options.arguments.flatMap { ["-o", $0] }
    let made = withArguments(words) { arguments in
      fuse_session_new(
        arguments, &table, MemoryLayout<fuse_lowlevel_ops>.size,
        Unmanaged.passUnretained(context).toOpaque())
    }
    guard let made else { throw MountError(message: LibraryLog.take("the options were refused")) }
    session = SessionPointer(pointer: made)
  }

  deinit { fuse_session_destroy(session.pointer) }

  /// Mounts. As root by mount(2), as an ordinary user through fusermount3.
  public func mount(at path: FileName) throws(MountError) {
    guard fuse_session_mount(session.pointer, path.cString) == 0 else {
      throw MountError(message: LibraryLog.take("the kernel refused"))
    }
    mounted.withLock { $0 = true }
    do throws(MountError) {
      try Interposition.begin(on: session.pointer)
    } catch {
      unmount()
      throw error
    }
    context.start(session, at: path)
  }

  /// Serves requests until the mount is gone or ``stop()`` is called; then unmounts what is left.
  ///
  /// Throws what /dev/fuse said when it failed otherwise.
  public func serve() throws(Errno) {
    defer {
      unmount()
      context.handles.discardAll()
    }
    try workers.run(session)
  }

  /// Ends ``serve()``: running requests are finished, then the mount is taken away. What programs
  /// still have open answers `ENOTCONN` from then on.
  public func stop() { workers.stop() }

  /// How often each operation was asked for.
  public var counters: OperationCounters { context.counters }

  /// What the kernel does of what it was asked; nothing until it has said hello. Passthrough is no longer
  /// among it once it was refused for want of CAP_SYS_ADMIN.
  public var features: KernelFeatures {
    let accepted = context.handshake.accepted
    return context.passthrough.isPossible ? accepted : accepted.subtracting(.passthrough)
  }

  /// Whether this process may have what ``KernelFeatures/ring`` needs of it; the kernel's part shows
  /// at the mount only.
  ///
  /// `ENOSYS` when this was built without liburing or the kernel has no io_uring, `EPERM` where it is
  /// forbidden.
  public static func checkRing() throws(Errno) { _ = try Ring(queue: 0, device: -1, payload: 8192) }

  private func unmount() {
    let wasMounted = mounted.withLock { mounted in
      defer { mounted = false }
      return mounted
    }
    if wasMounted {
      context.stop()
      fuse_session_unmount(session.pointer)
    }
  }
}

/// What we ask of the kernel, of what it offers.
///
/// What libfuse does not know is asked for by the ``Handshake``. Not among it: the writeback cache,
/// because the source may change underneath; EXPORT_SUPPORT, because a forgotten node cannot be
/// found again.
private func negotiate(_ connection: UnsafeMutablePointer<fuse_conn_info>) {
  let wanted =
    FUSE_CAP_ASYNC_READ | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS
    | FUSE_CAP_DONT_MASK
    | FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE
    | FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO
    | FUSE_CAP_ASYNC_DIO
  connection.pointee.want = connection.pointee.capable & UInt32(wanted)
}

private func withArguments<Result>(
  _ words: [String], _ body: (UnsafeMutablePointer<fuse_args>) -> Result
) -> Result {
  var arguments = fuse_args()
  for word in words { fuse_opt_add_arg(&arguments, word) }
  // Even with one argument: libfuse has copied them.
  defer { fuse_opt_free_args(&arguments) }
  return body(&arguments)
}

/// What libfuse wants to log; kept, so that an error can say why.
enum LibraryLog {
  private static let lines = Lock<[String]>([])

  static func capture() {
    fuse_set_log_func { _, format, arguments in
      guard let format, let arguments else { return }
      var buffer = [CChar](repeating: 0, count: 512)
      vsnprintf(&buffer, buffer.count, format, arguments)
      let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
      LibraryLog.append(String(decoding: bytes, as: UTF8.self))
    }
  }

  private static func append(_ line: String) {
    lines.withLock { lines in
      if lines.count == 64 { lines.removeFirst() }
      lines.append(line)
    }
  }

  /// What was logged since the last time, on one line, or `fallback` when nothing was.
  static func take(_ fallback: String) -> String {
    let all = lines.withLock { lines -> [String] in
      defer { lines = [] }
      return lines
    }
    let text = all.joined(separator: "; ").split(separator: "\n").joined(separator: "; ")
    return text.isEmpty ? fallback : text
  }
}
