import CLinux
import Glibc

/// A value that one thread at a time may touch.
///
/// A `pthread_mutex_t`, because `Synchronization.Mutex` of Swift 6.3 spins for tens of microseconds
/// when two threads meet, and Thread Sanitizer reports races inside it.
public final class Lock<Value: ~Copyable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var value: Value

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

  /// Runs `body` with the value, while no other thread can.
  public func withLock<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }

  /// The same, unless another thread is inside: then nil, at once.
  public func withLockIfAvailable<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    guard pthread_mutex_trylock(mutex) == 0 else { return nil }
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }

  fileprivate func wait(on condition: UnsafeMutablePointer<pthread_cond_t>) {
    pthread_cond_wait(condition, mutex)
  }

  fileprivate func wait(
    on condition: UnsafeMutablePointer<pthread_cond_t>, until deadline: inout timespec
  ) -> Bool {
    pthread_cond_timedwait(condition, mutex, &deadline) == 0
  }
}

/// Where threads that hold a lock wait for its value to change.
///
/// Call `wait` only inside `withLock` of the lock that is passed; the lock is open while the thread
/// sleeps, and the value may have changed in any way when it wakes.
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

  /// Waits until another thread signals.
  public func wait<Value: ~Copyable>(on lock: Lock<Value>) { lock.wait(on: condition) }

  /// Waits until another thread signals, at most so many milliseconds; false when time ran out.
  public func wait<Value: ~Copyable>(on lock: Lock<Value>, milliseconds: Int) -> Bool {
    var deadline = timespec()
    clock_gettime(CLOCK_MONOTONIC, &deadline)
    let bounded = max(0, min(milliseconds, 1_000_000_000))
    deadline.tv_sec += bounded / 1000
    deadline.tv_nsec += (bounded % 1000) * 1_000_000
    if deadline.tv_nsec >= 1_000_000_000 {
      deadline.tv_sec += 1
      deadline.tv_nsec -= 1_000_000_000
    }
    return lock.wait(on: condition, until: &deadline)
  }

  /// Wakes one thread that waits.
  public func signal() { pthread_cond_signal(condition) }

  /// Wakes every thread that waits.
  public func broadcast() { pthread_cond_broadcast(condition) }
}
