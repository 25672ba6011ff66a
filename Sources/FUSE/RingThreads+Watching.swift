import LinuxSystem
import Synchronization

/// Finding out that what was thought short is not: see ``ReadingTurns``, which does so for threads that
/// read /dev/fuse.
extension RingThreads {
  /// The thread begins to serve what should not take long.
  func begin(_ ring: Ring) {
    let number = ring.count.load(ordering: .relaxed) &+ 1
    ring.count.store(number, ordering: .relaxed)
    // In this order, and the watcher's in its own: one of the two sees the other.
    ring.serving.store(number, ordering: .sequentiallyConsistent)
    if isAsleep.load(ordering: .sequentiallyConsistent),
      isAsleep.exchange(false, ordering: .relaxed)
    {
      // Behind the lock, or the signal could come just before the watcher waits for it.
      state.withLock { _ in busy.signal() }
    }
  }

  /// Looks every two milliseconds whether all threads of a queue still serve what they served at the
  /// last look; sleeps while none serves.
  func watch() {
    var seen: [ObjectIdentifier: UInt64] = [:]
    var total: UInt64 = 0
    while true {
      let isOver = state.wait(for: busy, milliseconds: 2) { $0.phase == .over ? true : nil }
      if isOver == true { break }
      let (now, sum) = state.withLock { state -> ([ObjectIdentifier: UInt64], UInt64) in
        var now: [ObjectIdentifier: UInt64] = [:]
        var sum: UInt64 = 0
        var stuck = Array(repeating: 0, count: state.queues.count)
        for (id, ring) in state.rings {
          sum &+= ring.count.load(ordering: .relaxed)
          let serving = ring.serving.load(ordering: .relaxed)
          guard serving != 0 else { continue }
          now[id] = serving
          if seen[id] == serving { stuck[ring.queue] += 1 }
        }
        for queue in stuck.indices where stuck[queue] > 0 {
          state.queues[queue].occupied += stuck[queue]
          addThread(queue, &state)
          state.queues[queue].occupied -= stuck[queue]
        }
        return (now, sum)
      }
      if now.isEmpty, sum == total, liesDown() {
        state.wait(for: busy) { state -> Void? in
          state.phase == .over || !isAsleep.load(ordering: .relaxed) ? () : nil
        }
      }
      seen = now
      total = sum
    }
    state.withLock { $0.isWatched = false }
    changed.broadcast()
  }

  /// Tells that the watcher will sleep, unless a request is being served: whoever began it would not
  /// have woken the watcher.
  private func liesDown() -> Bool {
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    let isServing = state.withLock {
      $0.rings.values.contains { $0.serving.load(ordering: .sequentiallyConsistent) != 0 }
    }
    if isServing { isAsleep.store(false, ordering: .relaxed) }
    return !isServing
  }
}
