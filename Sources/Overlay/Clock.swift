import LinuxSystem
import Synchronization

/// Where an inode's place in a clock is kept, and whether it was used since the hand came by.
///
/// Places are guarded by the lock of the clock.
protocol ClockPlaces {
  /// -1 outside.
  static var index: ReferenceWritableKeyPath<Inode, Int32> { get }
  static func takeUse(of inode: Inode) -> Bool
}

/// Inodes that hold something of which there shall not be too much.
///
/// A hand passes over them, spares those that were used since it came by last, and takes the next.
/// Only inodes that the kernel knows are in it: they are taken out when they are forgotten.
struct Clock<Places: ClockPlaces> {
  private(set) var inodes: [Inode] = []
  private var hand = 0

  /// Moves the hand by one; an inode that was not used meanwhile is taken out.
  mutating func next() -> Inode? {
    if hand >= inodes.count { hand = 0 }
    guard hand < inodes.count else { return nil }
    let inode = inodes[hand]
    if Places.takeUse(of: inode) {
      hand += 1
      return nil
    }
    remove(inode)
    return inode
  }

  mutating func insert(_ inode: Inode) {
    // It may have been forgotten since it came to hold something.
    guard inode[keyPath: Places.index] < 0, inode.isKnown.load(ordering: .sequentiallyConsistent),
      let index = Int32(exactly: inodes.count)
    else { return }
    inode[keyPath: Places.index] = index
    inodes.append(inode)
  }

  /// The last one takes the place of the one that goes.
  mutating func remove(_ inode: Inode) {
    let index = Int(inode[keyPath: Places.index])
    guard inodes.indices.contains(index) else { return }
    inode[keyPath: Places.index] = -1
    let last = inodes.removeLast()
    guard last !== inode else { return }
    inodes[index] = last
    last[keyPath: Places.index] = Int32(truncatingIfNeeded: index)
  }

  /// Takes all out.
  mutating func removeAll() -> [Inode] {
    let all = inodes
    for inode in all { inode[keyPath: Places.index] = -1 }
    self = Clock()
    return all
  }
}
