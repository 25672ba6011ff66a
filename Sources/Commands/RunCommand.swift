import LinuxSystem

/// `sidecarfs run`.
///
/// Three processes: this one, which the caller sees, waits in front and passes signals on; its
/// child serves the mount (``RunServer``); and the server's child is the command. Each ends with
/// its parent, and the two above take over whom the command leaves behind, so that whichever is
/// killed, the others clear up.
enum RunCommand {
  static let name = "run"
  static let summary = "run a command with extended attributes in a directory, for it alone"
  static let usage = "sidecarfs run [OPTIONS] DIRECTORY -- COMMAND [ARGUMENT ...]"
  static let options = MountSettings.options.filter { $0.name != "foreground" }
  static let more = """

    The mount is over DIRECTORY itself, in a mount namespace that nobody else sees.
    It ends with COMMAND, as does every process that COMMAND has left behind. The
    attributes stay.

    examples:
      sidecarfs run . -- make check
      sidecarfs run --store /tmp/attributes ~/photos -- getfattr -Rd ~/photos

    exit status: the command's own, or 128 and the number of the signal that killed
    it; 125 sidecarfs failed, 126 the command cannot be executed, 127 it was not
    found

    """

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> Int32 {
    do throws(CommandFailure) {
      return try start(words, output)
    } catch {
      // Statuses below 125 are the command's.
      throw CommandFailure(.run, error.message)
    }
  }

  private static func start(_ words: [FileName], _ output: Output) throws(CommandFailure) -> Int32 {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") {
      return Help.show(name, usage, summary, options, output, more: more)
    }
    var settings = MountSettings()
    for (option, value) in arguments.options { _ = try settings.take(option, value) }
    guard arguments.operands.count == 1, let command = arguments.rest, !command.isEmpty else {
      throw CommandFailure(
        .usage, "run: a directory, --, and a command are needed", remedy: "usage: \(usage)")
    }
    let directory = try MountPoint.check(arguments.operands[0], called: "directory", mustOwn: false)
    let server = RunServer(directory: directory, settings: settings, command: command, output)
    let ending: Processes.Ending
    do throws(Errno) {
      ending = try supervise(start(server))
    } catch {
      throw CommandFailure(.run, "cannot start a process: \(error)")
    }
    LeftBehind.end()
    guard case .killed(let signal) = ending else { return ending.status }
    throw CommandFailure(.run, "the process that serves \(directory) was killed (signal \(signal))")
  }

  private struct Server: ~Copyable {
    let process: Int32
    /// Closed when this process ends, whatever ends it.
    let tie: FileDescriptor?
  }

  private static func start(_ server: RunServer) throws(Errno) -> Server {
    var pipe = try Processes.pipe()
    try Processes.adoptOrphans()
    // Before there is a child to tell of.
    Signals.supervision.block()
    let process = try Processes.fork()
    if process == 0 {
      pipe.writing = nil
      server.run(untilClosed: pipe.reading.take())
    }
    return Server(process: process, tie: pipe.writing.take())
  }

  /// Waits for the server, and lets it have what signals others send to this process.
  private static func supervise(_ server: consuming Server) throws(Errno) -> Processes.Ending {
    while true {
      let signal = Signals.supervision.waitForOrigin()
      if signal.number == Signals.child {
        if let ending = try Processes.poll(server.process) { return ending }
      } else if !signal.isFromKernel {
        // The command is in front of the terminal as we are, and has got its signals itself.
        try? Signals.send(signal.number, to: server.process)
      }
    }
  }
}

/// What a command has started and not waited for.
enum LeftBehind {
  /// Ends the children that this process has adopted: asks them, and after a second does not ask.
  static func end() {
    end(with: Signals.terminate, within: 1000)
    // What belongs to somebody else by now, or sleeps in the kernel, cannot be had.
    end(with: Signals.kill, within: 5000)
  }

  private static func end(with signal: Int32, within milliseconds: UInt32) {
    let pause: UInt32 = 10
    var sent = Set<Int32>()
    for _ in 0..<(milliseconds / pause) {
      guard let children = try? Processes.children() else { return }
      for child in children {
        // Reaped here if it has ended.
        guard (try? Processes.poll(child)) == nil else { continue }
        if sent.insert(child).inserted { try? Signals.send(signal, to: child) }
      }
      guard let rest = try? Processes.children(), !rest.isEmpty else { return }
      Processes.sleep(milliseconds: pause)
    }
  }
}
