import FUSE
import LinuxSystem

/// The POSIX locks that callers hold on one inode.
///
/// A POSIX lock belongs to a process, and ours would all be the daemon's. So each of the kernel's
/// lock owners gets an open file of its own, and locks of open files (`F_OFD_SETLK`): these keep
/// owners apart, meet the locks of others underneath, and end when the file is closed.
final class InodeLocks: Sendable {
  /// Guarded by the lock of `owners`.
  private final class Owner: @unchecked Sendable {
    let file: FileDescriptor
    let pid: Int32
    /// The open files through which the owner has taken locks.
    var handles: Set<ObjectIdentifier> = []
    /// What it holds, so that others can be told who does.
    private var held: [(type: Int16, range: ClosedRange<Int64>)] = []

    init(_ file: consuming FileDescriptor, pid: Int32) {
      self.file = file
      self.pid = pid
    }

    /// A lock was taken or dropped; it replaces what was held in its range.
    func note(_ lock: RangeLock) {
      let range = lock.range
      held = held.flatMap { type, old in
        guard old.overlaps(range) else { return [(type, old)] }
        var rest: [(type: Int16, range: ClosedRange<Int64>)] = []
        if old.lowerBound < range.lowerBound {
          rest.append((type, old.lowerBound...(range.lowerBound - 1)))
        }
        if old.upperBound > range.upperBound {
          rest.append((type, (range.upperBound + 1)...old.upperBound))
        }
        return rest
      }
      if !lock.isUnlock { held.append((lock.type, range)) }
    }

    /// Whether a lock that stands in the way is this owner's.
    func holds(_ lock: RangeLock) -> Bool {
      held.contains { $0.type == lock.type && $0.range.contains(lock.range.lowerBound) }
    }
  }

  private let owners = Lock<[UInt64: Owner]>([:])
  /// How often a lock was dropped.
  private let drops = Lock(0)
  private let dropped = Condition()

  /// What stands in the way of a lock.
  func conflict(
    with lock: RangeLock, owner: UInt64, on inode: borrowing FileDescriptor
  ) throws(Errno) -> RangeLock {
    let fresh = try Self.open(inode)
    return try owners.withLock { (owners) throws(Errno) in
      var found: RangeLock
      if let own = owners[owner] {
        found = try own.file.conflict(with: lock)
      } else {
        found = try fresh.conflict(with: lock)
      }
      // The kernel knows only that an open file of ours holds it.
      if !found.isUnlock, found.pid < 0,
        let holder = owners.first(where: { $0.key != owner && $0.value.holds(found) })
      {
        found.pid = holder.value.pid
      }
      return found
    }
  }

  /// Takes or drops a lock; `EAGAIN` when another is in the way.
  func set(
    _ lock: RangeLock, owner: UInt64, through handle: Handle, on inode: borrowing FileDescriptor
  ) throws(Errno) {
    let isKnown = owners.withLock { $0[owner] != nil }
    if !isKnown {
      if lock.isUnlock { return }
      let made = Owner(try Self.open(inode), pid: lock.pid)
      enter(made, owner)
    }
    try owners.withLock { (owners) throws(Errno) in
      guard let own = owners[owner] else { throw .tryAgain }
      // Also when the lock is not to be had: an owner that holds nothing ends with the file, too.
      own.handles.insert(ObjectIdentifier(handle))
      try own.file.setLock(lock)
      own.note(lock)
    }
    if lock.isUnlock { announceDrop() }
  }

  private func enter(_ made: Owner, _ owner: UInt64) {
    owners.withLock { if $0[owner] == nil { $0[owner] = made } }
  }

  /// How often a lock was dropped so far, for ``waitForDrop(after:milliseconds:)``.
  var dropCount: Int { drops.withLock { $0 } }

  /// Waits until a lock of this inode was dropped through this mount since it was `count`, or a
  /// moment has passed: one that is held underneath tells nobody when it goes.
  func waitForDrop(after count: Int, milliseconds: Int) {
    _ = drops.wait(for: dropped, milliseconds: milliseconds) { $0 == count ? nil : true }
  }

  /// The owner has closed a descriptor of the file: all of its locks end.
  func release(owner: UInt64) {
    let had = owners.withLock { $0.removeValue(forKey: owner) != nil }
    if had { announceDrop() }
  }

  /// An open file is closed for good: locks end whose owner used no other. Those are locks of that
  /// open file (`F_OFD_SETLK`), at whose end the kernel sends nothing else.
  func release(handle: Handle) {
    let id = ObjectIdentifier(handle)
    owners.withLock { owners in
      for (key, owner) in owners where owner.handles.remove(id) != nil && owner.handles.isEmpty {
        owners[key] = nil
      }
    }
    announceDrop()
  }

  /// Wakes those that wait, because a lock may have become free.
  func announceDrop() {
    drops.withLock { $0 &+= 1 }
    dropped.broadcast()
  }

  /// A lock for writing needs a file open for writing, whatever the caller's descriptor is.
  private static func open(_ inode: borrowing FileDescriptor) throws(Errno) -> FileDescriptor {
    do throws(Errno) {
      return try inode.reopen(.readWrite)
    } catch {
      guard error == .accessDenied || error == .readOnly else { throw error }
      return try inode.reopen(.readOnly)
    }
  }
}

extension RangeLock {
  /// The bytes that it covers; the kernel has checked that there are such.
  fileprivate var range: ClosedRange<Int64> {
    let first = max(start, 0)
    let (last, overflow) = first.addingReportingOverflow(length - 1)
    return first...(length <= 0 || overflow || last < first ? Int64.max : last)
  }
}
