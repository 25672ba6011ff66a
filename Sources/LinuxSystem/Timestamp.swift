import CLinux
import Glibc

/// A point in time as inodes carry it: seconds since 1970 and nanoseconds (`struct timespec`).
public struct Timestamp: Hashable, Sendable, Comparable {
  /// Seconds since 1970-01-01 00:00 UTC; negative before.
  public var seconds: Int64
  /// 0 to 999,999,999.
  public var nanoseconds: Int64

  /// A point in time.
  public init(seconds: Int64, nanoseconds: Int64) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// The present, from the coarse clock that the kernel stamps inodes with.
  ///
  /// A finer clock would be ahead of it, and an attribute's ctime would then seem to lie in the
  /// future of a file that is written right after.
  public static var now: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME_COARSE, &time)
    return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
  }

  /// Earlier first.
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
  }
}
