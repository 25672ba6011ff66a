import CLinux
import Glibc
import LinuxSystem

/// The processors that this process may use, in order.
func usableProcessors() -> [Int] {
  var set = cpu_set_t()
  guard sched_getaffinity(0, MemoryLayout<cpu_set_t>.size, &set) == 0 else { return [0] }
  let words = withUnsafeBytes(of: &set) { Array($0.bindMemory(to: UInt.self)) }
  let usable = (0..<words.count * UInt.bitWidth).filter {
    words[$0 / UInt.bitWidth] >> UInt($0 % UInt.bitWidth) & 1 == 1
  }
  return usable.isEmpty ? [0] : usable
}

/// Keeps the calling thread on one processor. The corresponding system call is
/// `sched_setaffinity`.
private func pin(to processor: Int) throws(Trouble) {
  var set = cpu_set_t()
  withUnsafeMutableBytes(of: &set) { bytes in
    let words = bytes.bindMemory(to: UInt.self)
    words[processor / UInt.bitWidth] |= 1 << UInt(processor % UInt.bitWidth)
  }
  try done(
    sched_setaffinity(0, MemoryLayout<cpu_set_t>.size, &set), "pinning to processor \(processor)")
}

/// A place where threads wait for each other.
private final class Barrier: @unchecked Sendable {
  private let barrier = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)

  init(_ count: Int) { pthread_barrier_init(barrier, nil, UInt32(count)) }

  deinit {
    pthread_barrier_destroy(barrier)
    barrier.deallocate()
  }

  func wait() { pthread_barrier_wait(barrier) }
}

/// Runs `body` in so many threads, each on a processor of its own as far as there are enough, all
/// beginning at the same time. Returns the mean of what they return; throws what one of them throws.
func withClients(
  _ count: Int, on processors: [Int],
  _ body: @escaping @Sendable (Int) throws(Trouble) -> UInt64
) throws(Trouble) -> Double {
  let results = Lock<[Result<UInt64, Trouble>]>([])
  let (begin, end) = (Barrier(count), Barrier(count + 1))
  for client in 0..<count {
    let thread = {
      @Sendable in
      let result = Result { () throws(Trouble) -> UInt64 in
        // All have to come to the barrier, also those that cannot go on behind it.
        let pinned = Result { () throws(Trouble) in
          try pin(to: processors[client % processors.count])
        }
        begin.wait()
        try pinned.get()
        return try body(client)
      }
      results.withLock { $0.append(result) }
      end.wait()
    }
    do {
      try Threads.start(named: "client \(client)", thread)
    } catch {
      // Those that have started wait for ever: the program is about to end.
      throw Trouble(wrong: "starting a thread: \(error)")
    }
  }
  end.wait()
  var sum = 0.0
  for result in results.withLock({ $0 }) { sum += Double(try result.get()) }
  return sum / Double(count)
}
