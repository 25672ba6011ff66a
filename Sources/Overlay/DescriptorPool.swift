import LinuxSystem
import Synchronization

/// A descriptor that holds an object of the source (`O_PATH`). Whoever works with the object keeps
/// it for as long, so that its inode may let go of it meanwhile.
final class HeldFile: Sendable {
  let file: FileDescriptor

  init(_ file: consuming FileDescriptor) { self.file = file }
}

/// The descriptors that are held for inodes, no more than a share of what the process may have
/// open: when there are too many, inodes let go of theirs and open their object again when it is
/// asked for.
///
/// A clock: its hand passes over the inodes, spares those that were used since it came by last, and
/// takes the next. It moves a bounded way for each descriptor that is added, so that no request
/// pays for all; until it has gone round, there can be some more than the limit.
///
/// The inodes in it are known to the kernel: they are taken out when they are forgotten.
final class DescriptorPool: Sendable {
  fileprivate struct Clock {
    var inodes: [Inode] = []
    var hand = 0
  }

  /// How many descriptors are held before some are let go.
  let limit: Int
  private let clock = Lock(Clock())

  init(limit: Int) { self.limit = max(16, limit) }

  /// How many there are.
  var count: Int { clock.withLock { $0.inodes.count } }

  /// An inode holds a descriptor from now on. Not to be called with any inode's lock taken.
  func add(_ inode: Inode) {
    let isFull = clock.withLock { clock in
      clock.insert(inode)
      return clock.inodes.count > limit
    }
    if isFull { letGo(1, steps: 64) }
  }

  /// The kernel knows the inode no longer.
  func remove(_ inode: Inode) { clock.withLock { $0.remove(inode) } }

  /// Empties the pool.
  func removeAll() {
    let all = clock.withLock { clock in
      let all = clock.inodes
      for inode in all { inode.poolIndex = nil }
      clock = Clock()
      return all
    }
    withExtendedLifetime(all) {}
  }

  /// Runs `body` once more after room was made, when the process has no descriptor left for it.
  func makingRoom<Result: ~Copyable>(
    _ body: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    do throws(Errno) {
      return try body()
    } catch {
      guard error == .tooManyOpenFiles, letGo(64, steps: 1024) > 0 else { throw error }
      return try body()
    }
  }

  /// Lets so many descriptors go, if that many are found within so many steps of the hand.
  @discardableResult
  private func letGo(_ wanted: Int, steps: Int) -> Int {
    var count = 0
    for _ in 0..<steps where count < wanted {
      guard let inode = clock.withLock({ $0.next() }) else { continue }
      // Outside the lock: it may take a system call to know the object again.
      if inode.letGo() { count += 1 } else { clock.withLock { $0.insert(inode) } }
    }
    return count
  }
}

extension DescriptorPool.Clock {
  /// Moves the hand by one; an inode that was not used meanwhile is taken out.
  mutating func next() -> Inode? {
    if hand >= inodes.count { hand = 0 }
    guard hand < inodes.count else { return nil }
    let inode = inodes[hand]
    if inode.wasUsed.exchange(false, ordering: .relaxed) {
      hand += 1
      return nil
    }
    remove(inode)
    return inode
  }

  mutating func insert(_ inode: Inode) {
    // It may have been forgotten since it was opened.
    guard inode.poolIndex == nil, inode.isKnown.load(ordering: .sequentiallyConsistent) else {
      return
    }
    inode.poolIndex = inodes.count
    inodes.append(inode)
  }

  /// The last one takes the place of the one that goes.
  mutating func remove(_ inode: Inode) {
    guard let index = inode.poolIndex, index < inodes.count else { return }
    inode.poolIndex = nil
    let last = inodes.removeLast()
    guard last !== inode else { return }
    inodes[index] = last
    last.poolIndex = index
  }
}
