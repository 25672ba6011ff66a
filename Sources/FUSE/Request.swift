import CFUSE
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
  private let workers: WorkerLoop?

  init(_ raw: fuse_req_t?, _ workers: WorkerLoop?) {
    self.raw = raw
    self.workers = workers
    let context = fuse_req_ctx(raw)
    uid = context?.pointee.uid ?? UInt32.max
    gid = context?.pointee.gid ?? UInt32.max
    pid = context?.pointee.pid ?? 0
    umask = context?.pointee.umask ?? 0
  }

  /// A request that no kernel made: of a caller without supplementary groups, whom no signal
  /// interrupts.
  package init(uid: UInt32, gid: UInt32, pid: Int32 = 0, umask: UInt32 = 0) {
    raw = nil
    workers = nil
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
    raw != nil && fuse_req_interrupted(raw) != 0 || workers?.isStopping == true
  }

  /// Runs `body`, which may wait for another request, while a spare thread serves in its place.
  ///
  /// `ENOLCK` when too many threads wait already.
  public func waiting<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
    guard let workers else { return try body() }
    return try workers.waiting(body)
  }
}
