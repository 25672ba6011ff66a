import CFUSE
import Glibc
import LinuxSystem
import Synchronization

/// The threads that serve what the kernel hands over by io_uring, beside those that read /dev/fuse.
///
/// The kernel has a queue for each processor and gives a request to the queue of the processor on
/// which the caller runs; so threads stay on one processor each, and caller and server need not wake
/// another processor. A thread has one ``Ring``, and that has one place for a request: what it serves
/// can hold up no other request, as long as another thread of the queue is free. One is enough while
/// requests are short; before one that may take long, and when one does, the queue gets another
/// thread. It keeps them: the kernel takes no place back. Of those that are free the kernel takes the
/// one that was free last, so a lone caller always meets the same.
///
/// FORGET, INTERRUPT and notifications keep coming and going through /dev/fuse.
final class RingThreads: Sendable {
  enum Phase { case idle, preparing, serving, over }

  struct Queue {
    var threads = 0
    /// Those that serve what may take long.
    var occupied = 0
    /// Those of them that wait for another request.
    var waiting = 0
  }

  struct State {
    var phase = Phase.idle
    var session: SessionPointer?
    var mountPoint: FileName?
    var payload = 0
    var queues: [Queue] = []
    var rings: [ObjectIdentifier: Ring] = [:]
    var threads: [pthread_t] = []
    /// How many have not said yet whether they have a ring.
    var unready = 0
    var isWatched = false
    var failure: Errno?
    var report: (@Sendable (String) -> Void)?
  }

  let state = Lock(State())
  let changed = Condition()
  let busy = Condition()
  /// The watcher sleeps until a request comes.
  let isAsleep = Atomic<Bool>(false)
  /// How many threads a queue may have that do not wait for another request.
  private let limit: Int
  private let isSlow: Bool

  /// As many threads may wait at once.
  private let waitingLimit = 1024
  /// More processors than that are better served by fewer threads.
  private let processorLimit = 256

  /// `threads` for each processor, at most, and not more than 16.
  init(threads: Int, isSlow: Bool) {
    limit = max(2, min(threads, 16))
    self.isSlow = isSlow
  }

  /// Starts threads with a ring each, that wait for ``begin(_:report:)``; `payload` is the largest that a
  /// request or an answer can have. When one cannot be had, none stays, and what it was is thrown.
  func prepare(
    _ session: SessionPointer, at mountPoint: FileName?, payload: Int
  ) throws(Errno) {
    let processors = try Processes.possibleProcessors()
    guard processors <= processorLimit else { throw .outOfRange }
    state.withLock { state in
      state.phase = .preparing
      state.session = session
      state.mountPoint = mountPoint
      state.payload = payload
      state.queues = Array(repeating: Queue(), count: processors)
      for queue in 0..<processors { spawn(queue, &state) }
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

  /// The kernel has our answer. The threads offer it their places, if they are to; `report` is told
  /// of one that ends before its time.
  func begin(_ isAccepted: Bool, report: @escaping @Sendable (String) -> Void) {
    state.withLock { state in
      guard state.phase == .preparing else { return }
      state.phase = isAccepted ? .serving : .over
      guard isAccepted else { return }
      state.report = report
      do throws(Errno) {
        try Threads.start(named: "ring watcher") { self.watch() }
        state.isWatched = true
      } catch {
        // What takes long unexpectedly then holds up others of its processor.
      }
    }
    changed.broadcast()
  }

  /// Waits until the threads have ended, which they do when the session is over; those that sleep
  /// are woken again and again, since a signal that comes just before the sleep is lost.
  func end() {
    state.withLock { $0.phase = .over }
    changed.broadcast()
    busy.broadcast()
    while true {
      let isOver = state.wait(for: changed, milliseconds: 10) { state -> Bool? in
        for thread in state.threads { pthread_kill(thread, SIGUSR1) }
        return state.threads.isEmpty && state.unready == 0 && !state.isWatched ? true : nil
      }
      if isOver == true { return }
    }
  }

  /// Runs `body`, for which the ring's thread waits for another request: a spare one serves.
  func waiting<Result>(
    _ ring: Ring, _ body: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    let admitted = state.withLock { state -> Bool in
      guard state.queues.indices.contains(ring.queue),
        state.queues.reduce(0, { $0 + $1.waiting }) < waitingLimit
      else { return false }
      state.queues[ring.queue].waiting += 1
      return true
    }
    guard admitted else { throw Errno(ENOLCK) }
    defer { state.withLock { $0.queues[ring.queue].waiting -= 1 } }
    return try occupying(ring, body)
  }

  /// Runs `body`, which may take long, while another thread of the queue is free, if there may be
  /// one more.
  private func occupying<Result>(
    _ ring: Ring, _ body: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    state.withLock { state in
      if !ring.isOccupied { state.queues[ring.queue].occupied += 1 }
      addThread(ring.queue, &state)
    }
    let wasOccupied = ring.isOccupied
    ring.isOccupied = true
    defer {
      ring.isOccupied = wasOccupied
      if !wasOccupied { state.withLock { $0.queues[ring.queue].occupied -= 1 } }
    }
    return try body()
  }

  /// Gives a queue one more thread if none of it is free and it may have one.
  func addThread(_ queue: Int, _ state: inout State) {
    let now = state.queues[queue]
    if now.threads - now.occupied < 1, now.threads - now.waiting < limit { spawn(queue, &state) }
  }

  private func spawn(_ queue: Int, _ state: inout State) {
    guard state.phase == .preparing || state.phase == .serving else { return }
    do throws(Errno) {
      let isSpare = state.phase == .serving
      try Threads.start(named: "ring \(queue)") { self.run(queue, isSpare) }
      state.queues[queue].threads += 1
      state.unready += 1
    } catch {
      state.failure = state.failure ?? error
    }
  }

  private func run(_ queue: Int, _ isSpare: Bool) {
    let this = pthread_self()
    let (session, payload) = state.withLock { state in
      state.threads.append(this)
      return (state.session, state.payload)
    }
    // A processor that is switched off, or not for us, has no callers either.
    try? Threads.stay(onProcessor: queue)
    var ring: Ring?
    var failure: Errno?
    do throws(Errno) {
      guard let session else { throw .notConnected }
      try detachFileSystemState()
      let made = try Ring(queue: queue, device: fuse_session_fd(session.pointer), payload: payload)
      ring = made
      if isToServe(with: made) {
        try made.whileCurrent { () throws(Errno) in try serve(made, session.pointer, isSpare) }
      }
    } catch {
      // When the mount is gone, what reads /dev/fuse says how.
      if error != .notConnected, error != Errno(ECONNABORTED) { failure = error }
    }
    leave(queue, ring, failure)
  }

  private func leave(_ queue: Int, _ ring: Ring?, _ failure: Errno?) {
    let this = pthread_self()
    let report = state.withLock { state in
      if let ring { state.rings[ObjectIdentifier(ring)] = nil } else { state.unready -= 1 }
      state.failure = state.failure ?? failure
      state.queues[queue].threads -= 1
      state.threads.removeAll { pthread_equal($0, this) != 0 }
      // The kernel goes on without a thread that it never had, but not without all of a processor's.
      if failure != nil, ring?.hasServed == true, state.queues[queue].threads == 0 {
        spawn(queue, &state)
      }
      return state.report
    }
    if let failure { report?("a thread that serves by io_uring has ended: \(failure)") }
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

  private func serve(
    _ ring: Ring, _ session: OpaquePointer, _ isSpare: Bool
  ) throws(Errno) {
    try ring.register()
    if isSpare {
      ring.flush()
      knock()
    }
    while fuse_session_exited(session) == 0 {
      guard try ring.wait() else { continue }
      if var buffer = ring.request() {
        buffer.admitTemporaryFile()
        if isSlow || buffer.mayTakeLong {
          try occupying(ring) { () throws(Errno) in fuse_session_process_buf(session, &buffer) }
        } else {
          begin(ring)
          fuse_session_process_buf(session, &buffer)
          ring.serving.store(0, ordering: .relaxed)
        }
      }
      try ring.commitAnswer()
    }
    ring.flush()
  }

  /// Makes a request, from the processor that the calling thread stays on.
  ///
  /// Linux (6.18) gives a new place to new requests alone. Those that wait for one already come when
  /// the next answer is handed over, and there may be none: who waits for a lock may wait for just
  /// that request. The thread is one of its own, as the calling one may have to serve it.
  private func knock() {
    guard let path = state.withLock({ $0.mountPoint }) else { return }
    try? Threads.start(named: "ring knock") {
      _ = try? FileDescriptor.open(path, .path).fileSystemStatus()
    }
  }
}
