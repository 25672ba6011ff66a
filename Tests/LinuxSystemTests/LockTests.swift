import Glibc
import TestSupport
import Testing

@testable import LinuxSystem

/// Locks, conditions, and the clock that stamps inodes.
@Suite struct Locks {
  @Test func nothingIsLost() throws {
    let total = Lock(0)
    let done = Lock(0)
    for _ in 0..<8 {
      try Threads.start(named: "adder") {
        for _ in 0..<5000 { total.withLock { $0 += 1 } }
        done.withLock { $0 += 1 }
      }
    }
    _ = try waiting(for: "the threads") { done.withLock { $0 == 8 ? true : nil } }
    #expect(total.withLock { $0 } == 40000)
  }

  @Test func whoIsInsideKeepsOthersOut() throws {
    let lock = Lock(1)
    let seen = Lock<Int??>(nil)
    try lock.withLock { _ in
      try Threads.start(named: "other") {
        let value = lock.withLockIfAvailable { $0 }
        seen.withLock { $0 = .some(value) }
      }
      _ = try waiting(for: "the thread") { seen.withLock { $0 == nil ? nil : true } }
    }
    #expect(seen.withLock { $0 } == .some(nil))
    #expect(lock.withLockIfAvailable { $0 } == 1)
  }

  @Test func theLockOpensAfterAnError() {
    let lock = Lock(1)
    #expect(throws: Errno.busy) {
      try lock.withLock { (value) throws(Errno) in
        value = 2
        throw Errno.busy
      }
    }
    #expect(lock.withLock { $0 } == 2)
  }

  @Test func waitersAreWoken() throws {
    let turn = Lock(0)
    let changed = Condition()
    let woken = Lock(0)
    for _ in 0..<4 {
      try Threads.start(named: "waiter") {
        turn.wait(for: changed) { $0 == 0 ? nil : () }
        woken.withLock { $0 += 1 }
      }
    }
    turn.withLock { $0 = 1 }
    changed.broadcast()
    _ = try waiting(for: "the waiters") { woken.withLock { $0 == 4 ? true : nil } }
  }

  @Test func waitingEndsWhenTimeIsOut() {
    let lock = Lock(0)
    let changed = Condition()
    let start = ContinuousClock.now
    let isSignalled: Bool? = lock.wait(for: changed, milliseconds: 50) { _ in nil }
    #expect(isSignalled == nil)
    #expect(ContinuousClock.now - start >= .milliseconds(50))
    for milliseconds in [0, -5, .min] {
      let isSignalled: Bool? = lock.wait(for: changed, milliseconds: milliseconds) { _ in nil }
      #expect(isSignalled == nil)
    }
  }

  @Test func timesAreOrdered() {
    let times = [(-1, 999_999_999), (0, 0), (0, 1), (1, 0)].map {
      Timestamp(seconds: $0.0, nanoseconds: $0.1)
    }
    for (left, a) in times.enumerated() {
      for (right, b) in times.enumerated() { #expect((a < b) == (left < right)) }
    }
  }

  /// A file that is made now is never older than the clock that was read before. The kernel may
  /// stamp it more finely (Linux 6.13): then the clock is behind by a tick, 10 ms, at the most.
  @Test func theClockIsThatOfInodes() throws {
    let scratch = try Scratch()
    for number in 0..<100 {
      let before = Timestamp.now
      try scratch.file("\(number)")
      let file = try FileDescriptor.open(FileName(scratch.path("\(number)")), .path).status()
      var tick = Timestamp.now
      tick.nanoseconds += 10_000_000
      if tick.nanoseconds >= 1_000_000_000 {
        tick.seconds += 1
        tick.nanoseconds -= 1_000_000_000
      }
      #expect(before <= file.changed && file.changed <= tick)
    }
  }
}
