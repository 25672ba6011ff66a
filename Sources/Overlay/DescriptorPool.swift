import LinuxSystem
import Synchronization

/// A descriptor that holds an object of the source (`O_PATH`). Whoever works with the object keeps
/// it for as long, so that its inode may let go of it meanwhile.
final class HeldFile: Sendable {
  let file: FileDescriptor
  /// What ``now`` was when it was open.
  private let since: UInt32

  init(_ file: consuming FileDescriptor) {
    self.file = file
    since = Self.clock.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
  }

  private static let clock = Atomic<UInt32>(0)

  /// A time, to be told to ``wasOpen(at:)``.
  static var now: UInt32 { clock.load(ordering: .sequentiallyConsistent) }

  /// Whether it was open at that time already; false, too, for what was open for very long.
  func wasOpen(at time: UInt32) -> Bool { Int32(truncatingIfNeeded: since &- time) <= 0 }
}

/// The descriptors that are held for inodes, no more than a share of what the process may have
/// open: when there are too many, inodes let go of theirs and open their object again when it is
/// asked for.
///
/// A clock chooses (``Clock``). It moves a bounded way for each descriptor that is added, so that no
/// request pays for all; until it has gone round, there can be some more than the limit.
final class DescriptorPool: Sendable {
  enum Places: ClockPlaces {
    static var index: ReferenceWritableKeyPath<Inode, Int32> { \.poolIndex }
    static func takeUse(of inode: Inode) -> Bool {
      inode.wasUsed.exchange(false, ordering: .relaxed)
    }
  }

  /// How many descriptors are held before some are let go.
  let limit: Int
  private let clock = Lock(Clock<Places>())

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
    let all = clock.withLock { $0.removeAll() }
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
