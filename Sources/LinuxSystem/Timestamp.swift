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
  public static var now: Timestamp { Timestamp(CLOCK_REALTIME_COARSE) }

  /// The present, as a time stamp that tells a change from the one before it.
  ///
  /// The coarse clock stands still for milliseconds; when it has not moved since `previous`, the
  /// fine one is read, as Linux does for a time stamp that somebody has seen.
  public static func now(after previous: Timestamp) -> Timestamp {
    let coarse = now
    return previous < coarse ? coarse : Timestamp(CLOCK_REALTIME)
  }

  private init(_ clock: clockid_t) {
    var time = timespec()
    clock_gettime(clock, &time)
    self.init(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
  }

  /// Earlier first.
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
  }
}
