import LinuxSystem

/// The process of `sidecarfs run` that serves the mount: parent of the command.
struct RunServer {
  let directory: FileName
  let settings: MountSettings
  let command: [FileName]
  let output: Output

  init(
    directory: FileName, settings: MountSettings, command: [FileName], _ output: Output
  ) {
    self.directory = directory
    self.settings = settings
    self.command = command
    self.output = output
  }

  /// Mounts, runs the command, clears up; ends with the command's status. When `front` is closed,
  /// the process in front has been killed, and the command is killed as well.
  func run(untilClosed front: consuming FileDescriptor?) -> Never {
    do throws(CommandFailure) {
      do throws(Errno) {
        try Processes.adoptOrphans()
      } catch {
        throw CommandFailure(.run, "cannot start a process: \(error)")
      }
      // Mounts in a namespace of our own: nobody else sees them, and they end with the last process
      // in it, whatever ends us.
      do throws(Errno) {
        try Mounts.makePrivate()
      } catch {
        throw CommandFailure(
          .run, "cannot make mounts of its own: \(error)", remedy: Self.remedy(for: error))
      }
      let child = try startCommand()
      Processes.exit(try serve(child, front))
    } catch {
      output.complain("sidecarfs: \(error.message)")
      LeftBehind.end()
      Processes.exit(ExitStatus.run.rawValue)
    }
  }

  private static func remedy(for error: Errno) -> String {
    if error == .noSpace {
      return "let more user namespaces be made (sysctl user.max_user_namespaces), or run as root"
    }
    return "run as root, or where user namespaces are allowed"
      + " (sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
  }

  /// Serves in this process while the command runs in the other.
  private func serve(
    _ child: consuming WaitingChild, _ front: consuming FileDescriptor?
  ) throws(CommandFailure) -> Int32 {
    // Keys of the terminal are for the command and the process in front of it.
    try? Processes.startGroup()
    Signals.passedOn.block()
    Signals.background.block()
    let process = child.process
    let mounting: Mounting
    do throws(CommandFailure) {
      mounting = try Mounting(
        directory, at: directory, settings, report: output.report,
        trace: settings.isTraced ? output.complain : nil,
        started: child.release.send)
    } catch {
      child.release.drop()
      _ = try? Processes.wait(for: process)
      throw error
    }
    let outcome = Lock<Int32?>(nil)
    let ended = Condition()
    let closing = Held(front)
    do throws(Errno) {
      try Threads.start(named: "signals") {
        while true { try? Signals.send(Signals.passedOn.wait(), to: process) }
      }
      try Threads.start(named: "front") {
        closing.waitUntilClosed()
        try? Signals.send(Signals.kill, to: process)
      }
      try Threads.start(named: "command") {
        let status = Self.wait(for: process) ?? ExitStatus.run.rawValue
        LeftBehind.end()
        outcome.withLock { $0 = status }
        ended.broadcast()
        mounting.stop()
      }
    } catch {
      throw CommandFailure(.run, "cannot start a thread: \(error)")
    }
    try mounting.serve()
    // When the command itself has unmounted it, it goes on without.
    return outcome.wait(for: ended) { $0 }
  }

  /// Waits for the command, and for adopted children that end before it.
  private static func wait(for process: Int32) -> Int32? {
    while true {
      do throws(Errno) {
        let ended = try Processes.waitForAny()
        if ended.process == process { return ended.ending.status }
      } catch {
        return nil
      }
    }
  }

  /// A process that waits for the mount, to become the command then.
  private struct WaitingChild: ~Copyable {
    let process: Int32
    let release: Release
  }

  /// The pipe by which the child is told to go on.
  private final class Release: Sendable {
    private let pipe: Lock<FileDescriptor?>
    init(_ pipe: consuming FileDescriptor?) { self.pipe = Lock(pipe) }
    var send: @Sendable () -> Void {
      { self.pipe.withLock { try? $0.take()?.write([1]) } }
    }
    func drop() { pipe.withLock { $0 = nil } }
  }

  /// Forks while there is one thread, which is when Swift can.
  private func startCommand() throws(CommandFailure) -> WaitingChild {
    do throws(Errno) {
      var pipe = try Processes.pipe()
      let parent = Processes.identifier
      let process = try Processes.fork()
      if process == 0 {
        pipe.writing = nil
        becomeCommand(of: parent, when: pipe.reading.take())
      }
      return WaitingChild(process: process, release: Release(pipe.writing.take()))
    } catch {
      throw CommandFailure(.run, "cannot start a process: \(error)")
    }
  }

  private func becomeCommand(of parent: Int32, when ready: consuming FileDescriptor?) -> Never {
    do throws(Errno) {
      // Without us the directory is dead: the command must not go on with it.
      try Processes.endWithParent()
      guard Processes.parent == parent, let ready, try !ready.readSome(count: 1).isEmpty else {
        Processes.exitForked(ExitStatus.run.rawValue)
      }
      // Until somebody asks for the root's status the kernel takes it for root's own, which an
      // ordinary user's namespace does not know and refuses to give an attribute.
      _ = try FileDescriptor.open(directory, .path).status()
      // The working directory is the one below the mount; by its path we come to the one above.
      if let path = try? Processes.workingDirectory() { try Processes.changeDirectory(path) }
      Signals.handBack()
      try Processes.execute(command)
    } catch {
      let remedy =
        error == .noEntry ? "name a program in PATH, or its path" : "make it executable"
      output.complain("sidecarfs: run: \(command.first?.description ?? ""): \(error); \(remedy)")
      Processes.exitForked((error == .noEntry ? ExitStatus.notFound : .notExecutable).rawValue)
    }
  }
}

/// Lets a thread's closure own a descriptor.
final class Held: Sendable {
  let file: FileDescriptor?
  init(_ file: consuming FileDescriptor?) { self.file = file }

  /// Waits until the other end is closed.
  func waitUntilClosed() {
    switch file {
    case .some(let file): _ = try? file.readUntilClosed()
    case .none: break
    }
  }
}
