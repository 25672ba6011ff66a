import CFUSE
import CLinux
import Glibc
import LinuxSystem

/// The threads that take requests from the kernel and serve them.
///
/// Each takes one in its turn (see ``ReadingTurns``), serves it, takes the next. A thread that has to
/// wait for another request (for a lock to be dropped) says so, and a spare one serves meanwhile:
/// waiting never stops the mount.
final class WorkerLoop: Sendable {
  private struct State {
    var session: SessionPointer?
    var threads: [pthread_t] = []
    var waiting = 0
    var isStopping = false
    var isWatched = false
    var failure: Errno?
  }

  private let state: Lock<State>
  private let changed = Condition()
  private let wanted: Int
  private let turns: ReadingTurns
  /// Those that serve what comes another way.
  let rings: RingThreads
  /// Everything may take long: the source is reached over a network.
  private let isSlow: Bool

  /// As many threads may wait at once; more than any program is known to need.
  private let waitingLimit = 1024

  init(threads: Int, isSlow: Bool) {
    wanted = max(1, threads)
    self.isSlow = isSlow
    rings = RingThreads(threads: threads, isSlow: isSlow)
    turns = ReadingTurns(limit: min(wanted, Processes.processorCount))
    state = Lock(State())
  }

  /// Serves until the mount is gone or `stop` is called; throws what /dev/fuse said last.
  func run(_ session: SessionPointer) throws(Errno) {
    ignoreWakeSignal()
    let device = fuse_session_fd(session.pointer)
    state.withLock { $0.isWatched = true }
    try Threads.start(named: "watcher") {
      self.turns.watch(device)
      self.state.withLock { $0.isWatched = false }
      self.changed.broadcast()
    }
    state.withLock { state in
      state.session = session
      for _ in 0..<wanted { spawn(&state) }
    }
    // The threads end by themselves; a stop wakes those that sleep in read(2) again and again,
    // since a signal that comes just before the read is lost.
    let isOver = state.wait(for: changed) { state -> Bool? in
      state.threads.isEmpty ? true : state.isStopping ? false : nil
    }
    if !isOver { while !wakeAll() {} }
    rings.end()
    turns.stop()
    state.wait(for: changed) { state -> Void? in state.isWatched ? nil : () }
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }

  /// Wakes the threads, and waits for a moment; true when none is left.
  private func wakeAll() -> Bool {
    state.wait(for: changed, milliseconds: 10) { state -> Bool? in
      for thread in state.threads { pthread_kill(thread, SIGUSR1) }
      return state.threads.isEmpty ? true : nil
    } ?? false
  }

  /// Lets every thread finish its request and end.
  func stop() {
    state.withLock { state in
      state.isStopping = true
      if let session = state.session { fuse_session_exit(session.pointer) }
    }
    turns.stop()
    changed.broadcast()
  }

  /// Ends ``run(_:)`` with an error.
  func fail(_ error: Errno) {
    state.withLock { $0.failure = $0.failure ?? error }
    stop()
  }

  func waiting<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
    if let ring = Ring.current { return try rings.waiting(ring, body) }
    let admitted = state.withLock { state -> Bool in
      guard state.waiting < waitingLimit else { return false }
      state.waiting += 1
      if state.threads.count - state.waiting < wanted { spawn(&state) }
      return true
    }
    guard admitted else { throw Errno(ENOLCK) }
    defer { state.withLock { $0.waiting -= 1 } }
    return try body()
  }

  /// Whether threads have to give up waiting, because the mount is going away.
  var isStopping: Bool { state.withLock { $0.isStopping } }

  private func spawn(_ state: inout State) {
    guard !state.isStopping else { return }
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self)
    let result = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<WorkerLoop>.fromOpaque(argument).takeRetainedValue().serve()
        return nil
      }, context.toOpaque())
    if result == 0 {
      pthread_detach(thread)
      state.threads.append(thread)
    } else {
      context.release()
      state.failure = Errno(result)
    }
  }

  private func serve() {
    clinux_set_thread_name("worker")
    var buffer = fuse_buf()
    defer { free(buffer.mem) }
    var failure: Errno?
    do throws(Errno) { try detachFileSystemState() } catch { failure = error }
    let seat = ReadingTurns.Seat()
    while failure == nil, let session = state.withLock({ $0.session })?.pointer,
      fuse_session_exited(session) == 0, !isSurplus, turns.take(seat)
    {
      do throws(Errno) { try takeTurn(seat, session, &buffer) } catch { failure = error }
    }
    turns.pass(seat)
    leave(failure)
  }

  /// Reads and serves until the turn is another's or the session ends; throws what /dev/fuse says.
  private func takeTurn(
    _ seat: ReadingTurns.Seat, _ session: OpaquePointer, _ buffer: inout fuse_buf
  ) throws(Errno) {
    while fuse_session_exited(session) == 0 {
      let count = fuse_session_receive_buf(session, &buffer)
      if count == -EINTR || count == -EAGAIN { continue }
      if count == 0 { return fuse_session_exit(session) }
      if count < 0 {
        // Everybody's end; the others hear of it at once.
        fuse_session_exit(session)
        throw Errno(-count)
      }
      buffer.admitTemporaryFile()
      if isSlow || buffer.mayTakeLong {
        turns.pass(seat)
        return fuse_session_process_buf(session, &buffer)
      }
      turns.begin(seat)
      fuse_session_process_buf(session, &buffer)
      if !turns.end(seat) { return }
    }
  }

  /// More threads than wanted are left over when waits end.
  private var isSurplus: Bool { state.withLock { $0.threads.count - $0.waiting > wanted } }

  private func leave(_ failure: Errno?) {
    let this = pthread_self()
    state.withLock { state in
      state.threads.removeAll { pthread_equal($0, this) != 0 }
      if let failure {
        state.failure = state.failure ?? failure
        state.isStopping = true
      }
      if let session = state.session, fuse_session_exited(session.pointer) != 0 {
        state.isStopping = true
      }
    }
    if isStopping { turns.stop() }
    changed.broadcast()
  }

  private func ignoreWakeSignal() {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in }
    sigaction(SIGUSR1, &action, nil)
  }
}

/// libfuse's session: a C object with locks of its own.
struct SessionPointer: @unchecked Sendable {
  let pointer: OpaquePointer
}
