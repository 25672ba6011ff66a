public import Synchronization

/// A lock of one byte, for what there are a great many of and two threads rarely want at once.
///
/// Free, it is taken and freed by one atomic operation each. Who finds it taken waits at one place for
/// all these locks and looks again whenever one of them that was waited for is freed. Use a ``Lock``
/// where waiting is usual, or a value is to be waited for.
///
/// Atomic operations and a `pthread_mutex_t` are all it is made of, so Thread Sanitizer sees what it
/// orders.
@frozen public struct SmallLock: ~Copyable, Sendable {
  /// 0: free; 1: taken; 2: taken, and somebody may be waiting.
  @usableFromInline let state = Atomic<UInt8>(0)

  /// A lock that is free.
  @inlinable public init() {}

  /// Runs `body` while no other thread is inside. Not to be entered again from inside.
  @inlinable @inline(__always)
  public borrowing func withLock<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if !state.compareExchange(
      expected: 0, desired: 1, successOrdering: .acquiring, failureOrdering: .relaxed
    ).exchanged {
      wait()
    }
    defer { if state.exchange(0, ordering: .releasing) == 2 { Self.wake() } }
    return try body()
  }

  private static let place = (lock: Lock(0), freed: Condition())

  @usableFromInline borrowing func wait() {
    // Whoever takes it here marks it as waited for, since others may be: at worst they look in vain.
    let place = Self.place
    place.lock.wait(for: place.freed) { _ -> Void? in
      state.exchange(2, ordering: .acquiring) == 0 ? () : nil
    }
  }

  @usableFromInline static func wake() {
    // Behind the lock: whoever has marked this one as waited for is asleep by then, or has it.
    place.lock.withLock { $0 &+= 1 }
    place.freed.broadcast()
  }
}
