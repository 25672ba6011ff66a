public import FUSE
public import LinuxSystem

/// Locks, which hold against programs underneath too.
extension Overlay {
  /// What stands in the way of a POSIX lock.
  public func getlk(
    _ handle: Handle, _ node: Node, owner: UInt64, _ lock: RangeLock, _ request: Request
  ) throws(Errno) -> RangeLock {
    let inode = try inode(node)
    let held = try inode.held()
    return try descriptors.makingRoom { () throws(Errno) in
      try inode.locks.conflict(with: lock, owner: owner, on: held.file)
    }
  }

  /// Takes or drops a POSIX lock.
  public func setlk(
    _ handle: Handle, _ node: Node, owner: UInt64, _ lock: RangeLock, waits: Bool,
    _ request: Request
  ) throws(Errno) {
    let inode = try inode(node)
    let held = try inode.held()
    try repeated(waits: waits, inode, request) { () throws(Errno) in
      try descriptors.makingRoom { () throws(Errno) in
        try inode.locks.set(lock, owner: owner, through: handle, on: held.file)
      }
    }
  }

  /// flock(2), on the source's open file that belongs to the caller's.
  public func flock(
    _ handle: Handle, _ node: Node, operation: Int32, _ request: Request
  ) throws(Errno) {
    let inode = try inode(node)
    let open = try openFile(handle)
    let nonBlocking: Int32 = 4  // LOCK_NB
    try repeated(waits: operation & nonBlocking == 0, inode, request) { () throws(Errno) in
      try open.file.lockWhole(operation | nonBlocking)
    }
    inode.locksIfAny?.announceDrop()
  }

  /// Tries until the lock is free or the caller is interrupted. Not by a system call that waits: it
  /// could not be ended when the kernel takes the request back.
  private func repeated(
    waits: Bool, _ inode: Inode, _ request: Request, _ attempt: () throws(Errno) -> Void
  ) throws(Errno) {
    do throws(Errno) {
      return try attempt()
    } catch {
      guard waits, error == .tryAgain else { throw error }
    }
    try request.waiting { () throws(Errno) in
      var pause = 1
      while true {
        if request.isInterrupted { throw .interrupted }
        let drops = inode.locks.dropCount
        do throws(Errno) {
          return try attempt()
        } catch {
          guard error == .tryAgain else { throw error }
        }
        inode.locks.waitForDrop(after: drops, milliseconds: pause)
        pause = min(pause * 2, 50)
      }
    }
  }
}
