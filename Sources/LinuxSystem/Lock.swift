import CLinux
import Glibc

/// A value that one thread at a time may touch.
///
/// A `pthread_mutex_t`, because `Synchronization.Mutex` of Swift 6.3 spins for tens of microseconds
/// when two threads meet, and Thread Sanitizer reports races inside it.
public final class Lock<Value: ~Copyable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  // The mutex sees to it that accesses do not overlap.
  @exclusivity(unchecked) @usableFromInline var value: Value

  /// Puts `value` behind a lock of its own.
  public init(_ value: consuming sending Value) {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    self.value = value
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  // Inlinable, so that it is compiled for the value where it is used: most requests take several.
  /// Runs `body` with the value, while no other thread can.
  @inlinable public func withLock<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    enter()
    defer { leave() }
    return try body(&value)
  }

  @usableFromInline func enter() { pthread_mutex_lock(mutex) }
  @usableFromInline func leave() { pthread_mutex_unlock(mutex) }

  /// The same, unless another thread is inside: then nil, at once.
  public func withLockIfAvailable<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    guard pthread_mutex_trylock(mutex) == 0 else { return nil }
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }

  /// Runs `body` with the value, again after each signal of `condition`, until it returns something.
  ///
  /// The lock is open while the thread sleeps. Each run of `body` is an access of its own, which sees
  /// what others have made of the value meanwhile: waiting inside one access would let the compiler
  /// believe that nobody can.
  public func wait<Result, Failure: Error>(
    for condition: Condition, until body: (inout sending Value) throws(Failure) -> sending Result?
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = try body(&value) { return result }
      condition.wait(mutex)
    }
  }

  /// The same for so many milliseconds at the most; nil when time ran out.
  public func wait<Result, Failure: Error>(
    for condition: Condition, milliseconds: Int,
    until body: (inout sending Value) throws(Failure) -> sending Result?
  ) throws(Failure) -> sending Result? {
    var deadline = Condition.deadline(after: milliseconds)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = try body(&value) { return result }
      if !condition.wait(mutex, until: &deadline) { return nil }
    }
  }
}

/// Where threads wait for the value behind a ``Lock`` to change: see ``Lock/wait(for:until:)``.
public final class Condition: @unchecked Sendable {
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  /// A condition that nobody waits on yet.
  public init() {
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    // Deadlines must not move when somebody sets the clock.
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
  }

  fileprivate func wait(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
    pthread_cond_wait(condition, mutex)
  }

  fileprivate func wait(
    _ mutex: UnsafeMutablePointer<pthread_mutex_t>, until deadline: inout timespec
  ) -> Bool {
    pthread_cond_timedwait(condition, mutex, &deadline) == 0
  }

  fileprivate static func deadline(after milliseconds: Int) -> timespec {
    var deadline = timespec()
    clock_gettime(CLOCK_MONOTONIC, &deadline)
    let bounded = max(0, min(milliseconds, 1_000_000_000))
    deadline.tv_sec += bounded / 1000
    deadline.tv_nsec += (bounded % 1000) * 1_000_000
    if deadline.tv_nsec >= 1_000_000_000 {
      deadline.tv_sec += 1
      deadline.tv_nsec -= 1_000_000_000
    }
    return deadline
  }

  /// Wakes one thread that waits.
  public func signal() { pthread_cond_signal(condition) }

  /// Wakes every thread that waits.
  public func broadcast() { pthread_cond_broadcast(condition) }
}
