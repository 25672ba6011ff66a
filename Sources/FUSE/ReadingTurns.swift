import Glibc
import LinuxSystem
import Synchronization

/// Whose turn it is to read requests from the kernel.
///
/// One thread reads a request, serves it and reads the next, while the others sleep: who is alone in
/// asking then always wakes the same thread, which has everything at hand. A thread that is about to
/// do something that takes long passes its turn on first. When one takes long unexpectedly, or
/// requests pile up, a watcher lets another read as well.
///
/// Nothing depends on it that only one reads; a turn that is passed on too early or too late costs
/// time alone.
final class ReadingTurns: Sendable {
  /// A thread that serves.
  final class Seat: Sendable {
    /// The request that it serves in its turn, as it counts them; 0 while it reads.
    fileprivate let serving = Atomic<UInt64>(0)
    fileprivate let count = Atomic<UInt64>(0)
    /// Its turn has been given to another. Set and cleared behind the lock.
    fileprivate let isReplaced = Atomic<Bool>(false)
  }

  private struct State {
    var reading: [ObjectIdentifier: Seat] = [:]
    /// How many may read at once.
    var wanted = 1
    var isOver = false
  }

  private let state = Lock(State())
  private let free = Condition()
  private let busy = Condition()
  /// The watcher sleeps until a request comes.
  private let isAsleep = Atomic<Bool>(false)
  private let limit: Int

  /// At most `limit` threads read at once.
  init(limit: Int) { self.limit = max(1, limit) }

  /// Waits until the thread may read; false when there is nothing more to read.
  func take(_ seat: Seat) -> Bool {
    state.wait(for: free) { state -> Bool? in
      if state.isOver { return false }
      guard state.reading.count < state.wanted else { return nil }
      state.reading[ObjectIdentifier(seat)] = seat
      return true
    }
  }

  /// The thread does something else than reading for a while.
  func pass(_ seat: Seat) {
    state.withLock { state in
      seat.isReplaced.store(false, ordering: .relaxed)
      state.reading[ObjectIdentifier(seat)] = nil
    }
    free.signal()
  }

  /// The thread begins to serve in its turn what should not take long.
  func begin(_ seat: Seat) {
    let number = seat.count.load(ordering: .relaxed) &+ 1
    seat.count.store(number, ordering: .relaxed)
    // In this order, and the watcher's in its own: one of the two sees the other.
    seat.serving.store(number, ordering: .sequentiallyConsistent)
    if isAsleep.load(ordering: .sequentiallyConsistent),
      isAsleep.exchange(false, ordering: .relaxed)
    {
      // Behind the lock, or the signal could come just before the watcher waits for it.
      state.withLock { _ in busy.signal() }
    }
  }

  /// It has served; false when its turn is over.
  func end(_ seat: Seat) -> Bool {
    seat.serving.store(0, ordering: .relaxed)
    guard seat.isReplaced.load(ordering: .relaxed) else { return true }
    state.withLock { _ in seat.isReplaced.store(false, ordering: .relaxed) }
    return false
  }

  /// Nobody is to read any more: who waits for a turn is told.
  func stop() {
    state.withLock { $0.isOver = true }
    free.broadcast()
    busy.broadcast()
  }

  /// Watches until ``stop()`` is called; `device` is where requests come from.
  func watch(_ device: Int32) {
    var seen: [ObjectIdentifier: UInt64] = [:]
    var total: UInt64 = 0
    var backlog = 0
    while true {
      // The time that a request may take before others are served beside it, in milliseconds.
      let isOver = state.wait(for: busy, milliseconds: 2) { $0.isOver ? true : nil }
      if isOver == true { return }
      let hasWaiting = isReadable(device)
      let (now, sum, places) = state.withLock {
        state -> ([ObjectIdentifier: UInt64], UInt64, Int) in
        var now: [ObjectIdentifier: UInt64] = [:]
        var sum: UInt64 = 0
        for (id, seat) in state.reading {
          sum &+= seat.count.load(ordering: .relaxed)
          let serving = seat.serving.load(ordering: .relaxed)
          guard serving != 0 else { continue }
          if seen[id] == serving { replace(seat, id, &state) } else { now[id] = serving }
        }
        adjust(&state, backlog)
        return (now, sum, state.wanted - state.reading.count)
      }
      for _ in 0..<max(0, places) { free.signal() }
      backlog = hasWaiting ? max(1, backlog + 1) : min(-1, backlog - 1)
      if now.isEmpty, !hasWaiting, sum == total, liesDown() { sleep() }
      seen = now
      total = sum
    }
  }

  private func replace(_ seat: Seat, _ id: ObjectIdentifier, _ state: inout State) {
    seat.isReplaced.store(true, ordering: .relaxed)
    state.reading[id] = nil
  }

  /// Requests that wait at several looks in a row are more than those who read can serve; when none
  /// has waited for long, one is enough.
  private func adjust(_ state: inout State, _ backlog: Int) {
    if backlog >= 4, state.wanted < limit {
      state.wanted += 1
    } else if backlog <= -64, state.wanted > 1 {
      state.wanted -= 1
      if state.reading.count > state.wanted, let (id, seat) = state.reading.first {
        replace(seat, id, &state)
      }
    }
  }

  /// Tells that the watcher will sleep, unless a request is being served: whoever began it would not
  /// have woken the watcher, and nobody else may be there to begin another.
  func liesDown() -> Bool {
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    let isServing = state.withLock {
      $0.reading.values.contains { $0.serving.load(ordering: .sequentiallyConsistent) != 0 }
    }
    if isServing { isAsleep.store(false, ordering: .relaxed) }
    return !isServing
  }

  /// Until a request comes.
  private func sleep() {
    state.wait(for: busy) { state -> Void? in
      state.isOver || !isAsleep.load(ordering: .relaxed) ? () : nil
    }
  }

  private func isReadable(_ device: Int32) -> Bool {
    var entry = pollfd(fd: device, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) == 1 && entry.revents & Int16(POLLIN) != 0
  }
}
