import CFUSE
import Glibc
import LinuxSystem
import Synchronization

/// The threads that serve what the kernel hands over by io_uring, beside those that read /dev/fuse.
///
/// The kernel has a queue for each processor and gives a request to the queue of the processor on
/// which the caller runs; so threads stay on one processor each, and caller and server need not wake
/// another processor. Of the threads that are free it takes the one that was free last: a lone
/// caller always meets the same. A request that takes long holds up its own thread alone.
///
/// FORGET, INTERRUPT and notifications keep coming and going through /dev/fuse.
final class RingThreads: Sendable {
  private enum Phase { case idle, preparing, serving, over }

  private struct Queue {
    var threads = 0
    /// Those of them that wait for another request.
    var waiting = 0
  }

  private struct State {
    var phase = Phase.idle
    var session: SessionPointer?
    var payload = 0
    var queues: [Queue] = []
    var rings: [ObjectIdentifier: Ring] = [:]
    var threads: [pthread_t] = []
    /// How many have not said yet whether they have a ring.
    var unready = 0
    var failure: Errno?
  }

  private let state = Lock(State())
  private let changed = Condition()
  private let serves = Atomic<Bool>(false)
  /// How many threads of a queue are not waiting.
  private let wanted: Int

  /// As many threads may wait at once.
  private let waitingLimit = 1024
  /// More processors than that are better served by fewer threads.
  private let processorLimit = 256

  /// `threads` a processor, at most.
  init(threads: Int) {
    wanted = getenv("RING_N").flatMap { Int(String(cString: $0)) } ?? max(1, min(threads, 4))
  }

  /// Whether the kernel was told that requests come this way.
  var isServing: Bool { serves.load(ordering: .relaxed) }

  /// Starts threads with a ring each, that wait for ``begin()``; `payload` is the largest that a
  /// request or an answer can have. When one cannot be had, none is left, and what it was is thrown.
  func prepare(_ session: SessionPointer, payload: Int) throws(Errno) {
    let processors = try Processes.possibleProcessors()
    guard processors <= processorLimit else { throw .outOfRange }
    state.withLock { state in
      state.phase = .preparing
      state.session = session
      state.payload = payload
      state.queues = Array(repeating: Queue(), count: processors)
      for queue in 0..<processors {
        for _ in 0..<wanted { spawn(queue, &state) }
      }
    }
    let isReady = state.wait(for: changed, milliseconds: 10_000) { state -> Bool? in
      state.failure != nil ? false : state.unready == 0 ? true : nil
    }
    if isReady == true { return }
    let failure = state.withLock { state in
      state.phase = .over
      return state.failure
    }
    changed.broadcast()
    throw failure ?? Errno(ETIMEDOUT)
  }

  /// The kernel knows: the threads offer it their places.
  func begin() {
    state.withLock { if $0.phase == .preparing { $0.phase = .serving } }
    serves.store(true, ordering: .relaxed)
    changed.broadcast()
  }

  /// Waits until the threads have ended, which they do when the session is over; those that sleep
  /// are woken again and again, since a signal that comes just before the sleep is lost.
  func end() {
    state.withLock { $0.phase = .over }
    changed.broadcast()
    while true {
      let isOver = state.wait(for: changed, milliseconds: 10) { state -> Bool? in
        for thread in state.threads { pthread_kill(thread, SIGUSR1) }
        return state.threads.isEmpty ? true : nil
      }
      if isOver == true { return }
    }
  }

  /// Runs `body`, for which the ring's thread waits, while a spare one serves.
  func waiting<Result>(
    _ ring: Ring, _ body: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    let admitted = state.withLock { state -> Bool in
      guard state.queues.indices.contains(ring.queue),
        state.queues.reduce(0, { $0 + $1.waiting }) < waitingLimit
      else { return false }
      state.queues[ring.queue].waiting += 1
      let queue = state.queues[ring.queue]
      // What was once needed stays: the kernel takes no place back.
      if queue.threads - queue.waiting < wanted { spawn(ring.queue, &state) }
      return true
    }
    guard admitted else { throw Errno(ENOLCK) }
    defer { state.withLock { $0.queues[ring.queue].waiting -= 1 } }
    return try body()
  }

  /// Whether a request is with one of the threads, or on its way to one.
  func isPending(_ unique: UInt64) -> Bool {
    state.withLock { $0.rings.values.contains { $0.isPending(unique) } }
  }

  private func spawn(_ queue: Int, _ state: inout State) {
    guard state.phase == .preparing || state.phase == .serving else { return }
    do throws(Errno) {
      try Threads.start(named: "ring-\(queue)") { self.run(queue) }
      state.queues[queue].threads += 1
      state.unready += 1
    } catch {
      state.failure = error
    }
  }

  private func run(_ queue: Int) {
    let this = pthread_self()
    let (session, payload) = state.withLock { state in
      state.threads.append(this)
      return (state.session, state.payload)
    }
    // One that is switched off, or not for us, has no callers either.
    try? Threads.stay(onProcessor: queue)
    var ring: Ring?
    var failure: Errno?
    do throws(Errno) {
      guard let session else { throw .notConnected }
      try detachFileSystemState()
      let made = try Ring(queue: queue, device: fuse_session_fd(session.pointer), payload: payload)
      ring = made
      if isToServe(with: made) {
        try made.whileCurrent { () throws(Errno) in try serve(made, session.pointer) }
      }
    } catch {
      failure = error
    }
    state.withLock { state in
      if let ring { state.rings[ObjectIdentifier(ring)] = nil } else { state.unready -= 1 }
      if let failure { state.failure = failure }
      state.queues[queue].threads -= 1
      state.threads.removeAll { pthread_equal($0, this) != 0 }
    }
    changed.broadcast()
  }

  /// Says that the thread has a ring, and waits until it is known whether it will be used.
  private func isToServe(with ring: Ring) -> Bool {
    state.withLock { state in
      state.rings[ObjectIdentifier(ring)] = ring
      state.unready -= 1
    }
    changed.broadcast()
    return state.wait(for: changed) { state -> Bool? in
      switch state.phase {
      case .idle, .preparing: nil
      case .serving: true
      case .over: false
      }
    }
  }

  private func serve(_ ring: Ring, _ session: OpaquePointer) throws(Errno) {
    try ring.register()
    while fuse_session_exited(session) == 0 {
      guard try ring.wait() else { continue }
      if var buffer = ring.request() {
        admitTemporaryFiles(buffer)
        fuse_session_process_buf(session, &buffer)
      }
      try ring.commitAnswer()
    }
    ring.flush()
  }
}
