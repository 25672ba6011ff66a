import CLinux
import Glibc

/// Threads outside Swift's cooperative pool, for work that blocks.
public enum Threads {
  /// Starts a thread that runs `body`. The corresponding function is `pthread_create`.
  public static func start(named name: String, _ body: @escaping @Sendable () -> Void)
    throws(Errno)
  {
    let box = Unmanaged.passRetained(
      ThreadBody {
        clinux_set_thread_name(name)
        body()
      })
    var thread = pthread_t()
    let result = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      }, box.toOpaque())
    if result != 0 {
      box.release()
      throw Errno(result)
    }
    pthread_detach(thread)
  }

  /// Keeps the calling thread, and those that it starts, on one processor. `EINVAL` for one that is
  /// switched off or not for this process. The corresponding system call is `sched_setaffinity`.
  public static func stay(onProcessor number: Int) throws(Errno) {
    guard let number = UInt32(exactly: number) else { throw .invalidArgument }
    try call { clinux_run_on_processor(number) }
  }
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
