import LinuxSystem

/// The ranges of one file that one owner has locked, so that we can tell who holds a lock: of the
/// locks that open files own, the kernel does not.
struct HeldRanges {
  private struct Held {
    var first: Int64
    /// Included; the largest number for a lock to the end of the file.
    var last: Int64
    var type: Int16
  }

  private var ranges: [Held] = []

  /// Takes or drops a range, as fcntl(2) does: what it covers changes, the rest stays.
  mutating func set(_ lock: RangeLock) {
    let new = Held(first: lock.start, last: lock.last, type: lock.type)
    var kept = [Held]()
    for range in ranges {
      if range.last < new.first || range.first > new.last {
        kept.append(range)
        continue
      }
      if range.first < new.first {
        kept.append(Held(first: range.first, last: new.first - 1, type: range.type))
      }
      if range.last > new.last {
        kept.append(Held(first: new.last + 1, last: range.last, type: range.type))
      }
    }
    if !lock.isUnlock { kept.append(new) }
    ranges = kept
  }

  /// Whether a lock of this type that covers the beginning of `lock` is held.
  func covers(_ lock: RangeLock) -> Bool {
    ranges.contains {
      $0.type == lock.type && $0.first <= lock.start && lock.start <= $0.last
    }
  }
}

extension RangeLock {
  /// The last byte that the lock covers.
  fileprivate var last: Int64 {
    guard length > 0 else { return .max }
    let (last, overflows) = start.addingReportingOverflow(length - 1)
    return overflows ? .max : last
  }
}
