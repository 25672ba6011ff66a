import CFUSE
import Glibc
public import LinuxSystem

/// Who asks. Valid during the operation only; a file system must not keep it.
public struct Request {
  /// The caller's user (its fsuid), in the user namespace of the mount.
  public let uid: UInt32
  /// The caller's group (its fsgid).
  public let gid: UInt32
  /// The calling thread; 0 when it is not visible from here.
  public let pid: Int32
  /// The caller's umask. Sent with what makes objects; 0 elsewhere.
  public let umask: UInt32

  private let raw: fuse_req_t?
  private let context: SessionContext?

  init(_ raw: fuse_req_t?, _ context: SessionContext?) {
    self.raw = raw
    self.context = context
    let caller = fuse_req_ctx(raw)
    uid = caller?.pointee.uid ?? UInt32.max
    gid = caller?.pointee.gid ?? UInt32.max
    pid = caller?.pointee.pid ?? 0
    umask = caller?.pointee.umask ?? 0
  }

  /// A request that no kernel made: of a caller without supplementary groups, whom no signal
  /// interrupts.
  package init(uid: UInt32, gid: UInt32, pid: Int32 = 0, umask: UInt32 = 0) {
    raw = nil
    context = nil
    self.uid = uid
    self.gid = gid
    self.pid = pid
    self.umask = umask
  }

  /// The caller's supplementary groups, which the protocol does not carry: read from /proc, so
  /// none when the caller is not visible there.
  public func supplementaryGroups() -> [UInt32] {
    if raw == nil { return [] }
    var groups = [gid_t](repeating: 0, count: 32)
    var count = fuse_req_getgroups(raw, Int32(groups.count), &groups)
    if count > groups.count {
      groups = [gid_t](repeating: 0, count: Int(count))
      count = fuse_req_getgroups(raw, count, &groups)
    }
    return groups.prefix(max(0, Int(count))).map { UInt32($0) }
  }

  /// Nobody waits for the answer any more: the kernel has taken the request back, because a signal
  /// came for the caller, or the session ends.
  public var isInterrupted: Bool {
    if raw == nil { return false }
    if fuse_req_interrupted(raw) != 0 || context?.workers.isStopping == true { return true }
    // Of a signal that comes between the call and the ring, Linux (6.18) does not tell us.
    return Ring.current != nil && PendingSignals.exist(for: pid)
  }

  /// Runs `body`, which may wait for another request, while a spare thread serves in its place.
  ///
  /// `ENOLCK` when too many threads wait already.
  public func waiting<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
    guard let context else { return try body() }
    return try context.workers.waiting(body)
  }

  /// Gives the kernel a file of the source, opened in whatever way, to read, write and map by itself.
  /// It is opened with the rights of this thread, whoever uses it.
  ///
  /// `EOPNOTSUPP` when the kernel or this session does not do that, `EPERM` without CAP_SYS_ADMIN,
  /// `ELOOP` when the file's own file system lies upon others already.
  public func give(_ file: borrowing FileDescriptor) throws(Errno) -> BackingFile {
    guard let context, context.handshake.accepted.contains(.passthrough) else {
      throw Errno(EOPNOTSUPP)
    }
    return try context.passthrough.give(file)
  }

  /// Lets the kernel ask anew what stat(2) shows of a node: it has changed by another's request.
  public func forgetStatus(of node: Node) { context?.forgetStatus(of: node) }
}
