import LinuxSystem
import Synchronization

/// The memory that attributes take, which stay with their inodes once they were read: no more than a
/// limit. When there are too many, inodes drop theirs and read them again when they are asked for.
///
/// A clock chooses, as with descriptors. It moves a bounded way for each set that is added, so that no
/// request pays for all.
final class AttributeCache: Sendable {
  enum Places: ClockPlaces {
    static var index: ReferenceWritableKeyPath<Inode, Int32> { \.cacheIndex }
    static func takeUse(of inode: Inode) -> Bool {
      inode.wasRead.exchange(false, ordering: .relaxed)
    }
  }

  /// Bytes.
  let limit: Int
  private let bytes = Atomic<Int>(0)
  private let clock = Lock(Clock<Places>())

  init(limit: Int) { self.limit = limit }

  /// How many bytes there are, with what allocations add.
  var size: Int { bytes.load(ordering: .relaxed) }

  /// So many bytes more, or less, are kept.
  func grew(by count: Int) { if count != 0 { bytes.add(count, ordering: .relaxed) } }

  /// An inode keeps attributes from now on. Not to be called with any inode's lock taken.
  func add(_ inode: Inode) {
    clock.withLock { $0.insert(inode) }
    for _ in 0..<64 where size > limit {
      // Outside the lock: an inode's own comes before it.
      clock.withLock { $0.next() }?.dropAttributes()
    }
  }

  /// The kernel knows the inode no longer.
  func remove(_ inode: Inode) { clock.withLock { $0.remove(inode) } }

  /// Empties the clock.
  func removeAll() {
    let all = clock.withLock { $0.removeAll() }
    withExtendedLifetime(all) {}
  }
}
