import CLinux
import Glibc
package import LinuxSystem

/// Runs `body` on a thread made for it and waits for the result.
package func onThread<Answer: Sendable>(_ body: @escaping @Sendable () -> Answer) -> Answer {
  let answer = Lock<Answer?>(nil)
  let thread = startThread {
    let value = body(); answer.withLock { $0 = value }
  }
  pthread_join(thread, nil)
  guard let value = answer.withLock({ $0 }) else { fatalError("the thread left no answer") }
  return value
}

/// Runs `body` on a thread with root directory, working directory, umask and descriptors of its
/// own, so that it may change them while other tests run; returns whether it ended in time.
///
/// The thread starts with descriptors 0 to 2 only and umask 022; what it opens is closed when it
/// ends. One that hangs is left behind: nothing can end a thread that waits for a file system.
package func onIsolatedThread(
  in directory: String, within limit: Duration, _ body: @escaping @Sendable () -> Void
) async -> Bool {
  await withCheckedContinuation { continuation in
    let waiter = startThread {
      let finished = Lock(false)
      let thread = startThread {
        isolateThread()
        chdir(directory)
        umask(0o022)
        body()
        closeEverything()
        finished.withLock { $0 = true }
      }
      let inTime =
        (try? waiting(for: "a thread", within: limit) { finished.withLock { $0 ? true : nil } })
      if inTime == nil { pthread_detach(thread) } else { pthread_join(thread, nil) }
      continuation.resume(returning: inTime != nil)
    }
    pthread_detach(waiter)
  }
}

/// Closes what an isolated thread has opened: whoever waits for a thread may go on before the
/// kernel has done so, and find its locks still there.
package func closeEverything() { close_range(3, UInt32.max, 0) }

/// Gives the calling thread its own working directory, umask and (empty) table of descriptors.
package func isolateThread() {
  guard unshare(CLONE_FS) == 0, close_range(3, UInt32.max, Int32(CLOSE_RANGE_UNSHARE)) == 0 else {
    fatalError("cannot isolate a thread: \(Errno(errno))")
  }
}

/// Starts a thread that nobody waits for.
package func detachedThread(_ body: @escaping @Sendable () -> Void) {
  pthread_detach(startThread(body))
}

/// Starts a thread; join it or detach it.
func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
  let box = Unmanaged.passRetained(Body(run: body))
  var thread = pthread_t()
  let code = pthread_create(
    &thread, nil,
    { raw in
      guard let raw else { return nil }
      Unmanaged<Body>.fromOpaque(raw).takeRetainedValue().run()
      return nil
    }, box.toOpaque())
  if code != 0 { fatalError("pthread_create: \(Errno(code))") }
  return thread
}

private final class Body {
  let run: @Sendable () -> Void
  init(run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Gives the calling thread the credentials of `user`; throws what the kernel says.
///
/// Of this thread only: the C library's functions would change all of them. Unless `forGood`, the
/// saved ids stay 0, and `becomeRoot` leads back; either way the thread has no capability left.
package func become(_ user: User, forGood: Bool = false) throws(Errno) {
  let saved = forGood ? user : User(0)
  try call(
    user.groups.withUnsafeBufferPointer {
      clinux_thread_setgroups($0.count, $0.baseAddress)
    })
  try call(clinux_thread_setresgid(user.gid, user.gid, saved.gid))
  try call(clinux_thread_setresuid(user.uid, user.uid, saved.uid))
}

/// Takes the calling thread back to root after `become`.
package func becomeRoot() throws(Errno) {
  try call(clinux_thread_setresuid(0, 0, 0))
  try call(clinux_thread_setresgid(0, 0, 0))
  try call(clinux_thread_setgroups(0, nil))
}

/// Makes system calls as another user, on the calling thread, and comes back.
package func asUser<Answer>(
  _ user: User, _ body: () throws -> Answer
) throws -> Answer {
  try become(user)
  let answer = Result { try body() }
  try becomeRoot()
  return try answer.get()
}
