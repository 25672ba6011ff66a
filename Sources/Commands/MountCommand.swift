import LinuxSystem

/// `sidecarfs mount`, and the form that mount(8) and fstab use.
enum MountCommand {
  static let name = "mount"
  static let summary = "show a directory with extended attributes at a mount point"
  static let usage = "sidecarfs mount [OPTIONS] SOURCE MOUNTPOINT"
  static let options = MountSettings.options
  static let more = """

    A mount of root's serves every user; another user's serves him alone. MOUNTPOINT
    may be SOURCE itself, and hides it then. The command returns when the mount can
    be used.

    examples:
      sidecarfs mount /srv/data /mnt/view
      sidecarfs mount --store /var/lib/attributes -r /media/cdrom /mnt/cdrom
      sidecarfs mount -o noatime,noexec ~/photos ~/photos

    exit status: 0 mounted, 1 usage or permission, 2 system error, 32 mount failure

    """

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> Int32 {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") {
      return Help.show(name, usage, summary, options, output, more: more)
    }
    var settings = MountSettings()
    for (option, value) in arguments.options { _ = try settings.take(option, value) }
    let operands = arguments.operands + (arguments.rest ?? [])
    guard operands.count == 2 else {
      throw CommandFailure(
        .usage, "mount: a source and a mount point are needed", remedy: "usage: \(usage)")
    }
    // First, so that a dead or living mount over the source itself is called what it is.
    let mountPoint = try MountPoint.check(operands[1])
    let source = try absolute(operands[0], "source")
    try settings.checkPermission()
    if settings.isForeground {
      try serve(
        source, mountPoint, settings, report: output.report,
        trace: settings.isTraced ? output.complain : nil, started: {})
      return ExitStatus.success.rawValue
    }
    return try startDaemon(source, mountPoint, settings, output)
  }

  /// A daemon leaves the working directory, so paths have to do without it.
  static func absolute(_ path: FileName, _ what: String) throws(CommandFailure) -> FileName {
    do throws(Errno) {
      return try Processes.resolve(path)
    } catch {
      throw CommandFailure(
        .mount, "\(what) \(path): \(error)", remedy: "name a directory that exists")
    }
  }

  /// Mounts and serves in this process, until the mount is gone or a signal ends it.
  private static func serve(
    _ source: FileName, _ mountPoint: FileName, _ settings: MountSettings,
    report: @escaping @Sendable (String) -> Void, trace: (@Sendable (String) -> Void)?,
    started: @escaping @Sendable () -> Void
  ) throws(CommandFailure) {
    Signals.ending.block()
    let mounting = try Mounting(
      source, at: mountPoint, settings, report: report, trace: trace, started: started)
    do throws(Errno) {
      try Threads.start(named: "signals") {
        _ = Signals.ending.wait()
        mounting.stop()
      }
    } catch {
      throw CommandFailure(.system, "cannot start a thread: \(error)")
    }
    let control = ControlSocket(mounting, report: report)
    defer { control?.close() }
    try mounting.serve()
  }

  /// Leaves a daemon behind and returns when the mount can be used, or with the daemon's failure.
  private static func startDaemon(
    _ source: FileName, _ mountPoint: FileName, _ settings: MountSettings, _ output: Output
  ) throws(CommandFailure) -> Int32 {
    do throws(Errno) {
      var pipe = try Processes.pipe()
      guard try Processes.fork() != 0 else {
        pipe.reading = nil
        // Somebody may wait for the end of what a parent left open.
        guard let writing = pipe.writing.take() else { throw Errno.badDescriptor }
        try Processes.closeInherited(keeping: writing)
        runDaemon(source, mountPoint, settings, output, ready: writing)
      }
      pipe.writing = nil
      guard let reading = pipe.reading.take() else { return ExitStatus.system.rawValue }
      // One byte is the exit status: 0 when the mount can be used. None when the daemon died.
      if let status = try reading.readSome(count: 1).first {
        // Until somebody asks, the kernel takes the mount's root for nobody's directory.
        if status == 0 { _ = try? FileDescriptor.open(mountPoint, .path).status() }
        return Int32(status)
      }
      throw Errno.inputOutput
    } catch {
      throw CommandFailure(
        .system, "the daemon did not start: \(error)", remedy: "try --foreground to see why")
    }
  }

  private static func runDaemon(
    _ source: FileName, _ mountPoint: FileName, _ settings: MountSettings, _ output: Output,
    ready: consuming FileDescriptor?
  ) -> Never {
    let announcement = Announcement(ready)
    do throws(CommandFailure) {
      do throws(Errno) {
        try Processes.startSession()
        try Processes.changeDirectory(FileName("/"))
      } catch {
        throw CommandFailure(.system, "the daemon did not start: \(error)")
      }
      try serve(
        source, mountPoint, settings, report: { SystemLog.write($0, .error) }, trace: nil,
        started: { announcement.send(.success) })
    } catch {
      if announcement.isSent {
        SystemLog.write(error.message, .error)
      } else {
        output.complain("sidecarfs: \(error.message)")
        announcement.send(error.status)
      }
      Processes.exit(error.status.rawValue)
    }
    Processes.exit(ExitStatus.success.rawValue)
  }
}

/// Tells the process that waits in front, once, how the start went.
private final class Announcement: Sendable {
  private let pipe: Lock<FileDescriptor?>

  init(_ pipe: consuming FileDescriptor?) { self.pipe = Lock(pipe) }

  var isSent: Bool { pipe.withLock { $0 == nil } }

  func send(_ status: ExitStatus) {
    pipe.withLock { pipe in
      guard let writing = pipe.take() else { return }
      if status == .success { try? Processes.dropStandardStreams() }
      try? writing.write([UInt8(truncatingIfNeeded: status.rawValue)])
    }
  }
}
