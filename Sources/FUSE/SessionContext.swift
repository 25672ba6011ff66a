import CFUSE
import Glibc
import LinuxSystem
import Synchronization

/// What the callbacks of one session need: they are C functions and capture nothing.
final class SessionContext: Sendable {
  let fileSystem: any FileSystem
  let counters = OperationCounters()
  let handles = HandleTable()
  let trace: (@Sendable (String) -> Void)?
  let workers: WorkerLoop
  let handshake: Handshake
  let passthrough = Passthrough()
  let started: @Sendable () -> Void
  let report: @Sendable (String) -> Void
  /// What there is no use in serving without.
  let demanded: KernelFeatures
  private let session = Lock<SessionPointer?>(nil)
  private let mountPoint = Lock<FileName?>(nil)

  init(
    _ fileSystem: any FileSystem, trace: (@Sendable (String) -> Void)?, workers: WorkerLoop,
    _ handshake: Handshake, demanded: KernelFeatures,
    report: @escaping @Sendable (String) -> Void, started: @escaping @Sendable () -> Void
  ) {
    self.fileSystem = fileSystem
    self.trace = trace
    self.workers = workers
    self.handshake = handshake
    self.started = started
    self.report = report
    self.demanded = demanded
  }

  /// The session is mounted.
  func start(_ session: SessionPointer, at mountPoint: FileName) {
    self.mountPoint.withLock { $0 = mountPoint }
    self.session.withLock { $0 = session }
    passthrough.start(fuse_session_fd(session.pointer))
  }

  /// The session ends: its device is about to be closed.
  func stop() {
    session.withLock { $0 = nil }
    passthrough.stop()
  }

  /// What stat(2) shows of a node is asked for anew: it has changed, and the kernel cannot know.
  func forgetStatus(of node: Node) {
    let id = node === fileSystem.root ? UInt64(FUSE_ROOT_ID) : node.id
    session.withLock {
      // A negative offset means the attributes without the pages, for which no lock is needed that
      // the caller of a request may hold.
      if let session = $0 { _ = fuse_lowlevel_notify_inval_inode(session.pointer, id, -1, 0) }
    }
  }

  /// Makes ready for requests that come by io_uring, of so many bytes; false, and reported, when they
  /// cannot.
  func prepareRings(_ payload: Int) -> Bool {
    guard let session = session.withLock({ $0 }) else { return false }
    do throws(Errno) {
      let path = mountPoint.withLock { $0 }
      try workers.rings.prepare(session, at: path, payload: payload)
      return true
    } catch {
      report("requests come through /dev/fuse, as there is no io_uring for them: \(error)")
      return false
    }
  }

  /// The kernel has our answer: from now on the mount can be used.
  func greeted() {
    let accepted = handshake.accepted
    workers.rings.begin(accepted.contains(.ring), report: report)
    if accepted.isSuperset(of: demanded) { started() } else { workers.fail(Errno(EOPNOTSUPP)) }
  }

  static func of(_ request: fuse_req_t?) -> SessionContext? {
    fuse_req_userdata(request).map {
      Unmanaged<SessionContext>.fromOpaque($0).takeUnretainedValue()
    }
  }

  /// The node that the kernel names. It names only what it was given and has not given back.
  func node(_ id: fuse_ino_t) throws(Errno) -> Node {
    if id == FUSE_ROOT_ID { return fileSystem.root }
    guard let address = UnsafeRawPointer(bitPattern: UInt(id)) else { throw .stale }
    return Unmanaged<Node>.fromOpaque(address).takeUnretainedValue()
  }

  /// The open file that the kernel names, if it names one.
  func handleIfAny(_ info: UnsafeMutablePointer<fuse_file_info>?) -> Handle? {
    guard let info, let address = UnsafeRawPointer(bitPattern: UInt(info.pointee.fh)) else {
      return nil
    }
    return Unmanaged<Handle>.fromOpaque(address).takeUnretainedValue()
  }

  /// The open file that the kernel names.
  func handle(_ info: UnsafeMutablePointer<fuse_file_info>?) throws(Errno) -> Handle {
    guard let handle = handleIfAny(info) else { throw .badDescriptor }
    return handle
  }

  func request(_ raw: fuse_req_t?) -> Request { Request(raw, self) }

  /// Before the reply, because after it the kernel may have forgotten what the line speaks of.
  func traceBeforeReply(
    _ operation: Operation, _ subject: () -> String, _ failure: Errno?, _ started: Int64
  ) {
    guard let trace else { return }
    let microseconds = (monotonicNanoseconds() - started) / 1000
    let result = failure.map { "\($0.code) \($0)" } ?? "ok"
    trace("\(operation) \(subject()) = \(result) (\(microseconds) us)")
  }
}

/// How often each operation was asked for, and failed.
public final class OperationCounters: Sendable {
  private final class Counter: Sendable {
    let total = Atomic<UInt64>(0)
    let failed = Atomic<UInt64>(0)
  }

  private let counters = Operation.allCases.map { _ in Counter() }

  func count(_ operation: Operation, failed: Bool) {
    counters[operation.rawValue].total.wrappingAdd(1, ordering: .relaxed)
    if failed { counters[operation.rawValue].failed.wrappingAdd(1, ordering: .relaxed) }
  }

  /// The operations that were asked for: how often, and how often they failed.
  public var all: [(operation: Operation, total: UInt64, failed: UInt64)] {
    Operation.allCases.compactMap { operation in
      let counter = counters[operation.rawValue]
      let total = counter.total.load(ordering: .relaxed)
      return total == 0 ? nil : (operation, total, counter.failed.load(ordering: .relaxed))
    }
  }
}
