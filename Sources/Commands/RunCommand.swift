import LinuxSystem

/// `sidecarfs run`.
enum RunCommand {
  static let name = "run"
  static let summary = "run a command with extended attributes in a directory, for it alone"
  static let usage = "sidecarfs run [OPTIONS] DIRECTORY -- COMMAND [ARGUMENT ...]"
  static let options = MountSettings.options.filter { $0.name != "foreground" }

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> Int32 {
    do throws(CommandFailure) {
      return try start(words, output)
    } catch {
      // Statuses below 125 are the command's.
      let isOurs = error.status == .notFound || error.status == .notExecutable
      throw CommandFailure(isOurs ? error.status : .run, error.message)
    }
  }

  private static func start(_ words: [FileName], _ output: Output) throws(CommandFailure) -> Int32 {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") { return Help.show(name, usage, summary, options, output) }
    var settings = MountSettings()
    for (option, value) in arguments.options { _ = try settings.take(option, value) }
    guard arguments.operands.count == 1, let command = arguments.rest, !command.isEmpty else {
      throw CommandFailure(
        .usage, "run: a directory, --, and a command are needed", remedy: "usage: \(usage)")
    }
    let directory = try MountPoint.check(arguments.operands[0], output)
    // Mounts in a namespace of our own: nobody else sees them, and they end with the last process
    // in it, whatever ends us.
    do throws(Errno) {
      try Mounts.makePrivate()
    } catch {
      throw CommandFailure(
        .run, "cannot make mounts of its own: \(error)",
        remedy: "run as root, or where user namespaces are allowed")
    }
    let child = try startChild(command, output)
    let settled = settings
    return try serve(directory, settled, child, output)
  }

  /// Serves in this process while the command runs in the other.
  private static func serve(
    _ directory: FileName, _ settings: MountSettings, _ child: consuming WaitingChild,
    _ output: Output
  ) throws(CommandFailure) -> Int32 {
    Signals.keyboard.ignore()
    Signals.ending.block()
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
    do throws(Errno) {
      try Threads.start(named: "signals") {
        while true { try? Signals.send(Signals.ending.wait(), to: process) }
      }
      try Threads.start(named: "command") {
        let status = try? Processes.wait(for: process)
        outcome.withLock { $0 = status }
        mounting.stop()
      }
    } catch {
      throw CommandFailure(.run, "cannot start a thread: \(error)")
    }
    try mounting.serve()
    return outcome.withLock { $0 } ?? ExitStatus.run.rawValue
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
  private static func startChild(
    _ command: [FileName], _ output: Output
  ) throws(CommandFailure) -> WaitingChild {
    do throws(Errno) {
      var pipe = try Processes.pipe()
      let parent = Processes.identifier
      let process = try Processes.fork()
      if process == 0 {
        pipe.writing = nil
        become(command, parent, output, when: pipe.reading.take())
      }
      return WaitingChild(process: process, release: Release(pipe.writing.take()))
    } catch {
      throw CommandFailure(.run, "cannot start a process: \(error)")
    }
  }

  private static func become(
    _ command: [FileName], _ parent: Int32, _ output: Output, when ready: consuming FileDescriptor?
  ) -> Never {
    do throws(Errno) {
      // Without us the directory is dead: the command must not go on with it.
      try Processes.endWithParent()
      guard Processes.parent == parent, let ready, try !ready.readSome(count: 1).isEmpty else {
        Processes.exitForked(ExitStatus.run.rawValue)
      }
      // The working directory is the one below the mount; by its path we come to the one above.
      try Processes.changeDirectory(Processes.workingDirectory())
      try Processes.execute(command)
    } catch {
      let name = command.first?.description ?? ""
      output.complain("sidecarfs: run: \(name): \(error)")
      Processes.exitForked(
        (error == .noEntry ? ExitStatus.notFound : .notExecutable).rawValue)
    }
  }
}
