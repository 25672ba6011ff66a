import Glibc
import LinuxSystem
import TestSupport
import Testing

/// The lock of one byte: one at a time, and nobody sleeps for ever.
@Suite struct SmallLockTests {
  private final class Guarded: @unchecked Sendable {
    let lock = SmallLock()
    var count = 0
    var isInside = false
  }

  @Test func itIsOneByte() { #expect(MemoryLayout<SmallLock>.size == 1) }

  @Test func itThrowsWhatIsThrown() {
    let guarded = Guarded()
    for _ in 0..<2 {
      #expect(throws: Errno.busy) {
        try guarded.lock.withLock { () throws(Errno) in throw .busy }
      }
    }
    #expect(guarded.lock.withLock { 7 } == 7)
  }

  /// Many threads at few locks, of which some hold theirs long enough for all others to wait.
  @Test(.timeLimit(.minutes(1))) func oneAtATime() throws {
    let all = (0..<3).map { _ in Guarded() }
    let faults = Lock(0)
    let left = Lock(12)
    for thread in 0..<12 {
      detachedThread {
        for round in 0..<20_000 {
          let guarded = all[(thread + round) % 3]
          guarded.lock.withLock {
            if guarded.isInside { faults.withLock { $0 += 1 } }
            guarded.isInside = true
            guarded.count += 1
            // Long enough for the others to find it taken.
            if round % 2000 == thread { usleep(1000) }
            guarded.isInside = false
          }
        }
        left.withLock { $0 -= 1 }
      }
    }
    try waiting(for: "threads", within: .seconds(50)) { left.withLock { $0 == 0 ? () : nil } }
    #expect(faults.withLock { $0 } == 0)
    #expect(all.reduce(0) { $0 + $1.count } == 12 * 20_000)
  }
}
