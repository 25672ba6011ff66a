import LinuxSystem

/// `sidecarfs unmount`.
enum UnmountCommand {
  static let name = "unmount"
  static let summary = "take a mount away, and wait until its store is closed"
  static let usage = "sidecarfs unmount [--lazy] MOUNTPOINT"
  static let options = [
    Option(name: "lazy", letter: "l", help: "take it away now, end when nobody uses it any more")
  ]

  static let more = """

    A mount whose daemon has died is cleared as well.

    examples:
      sidecarfs unmount /mnt/view
      sidecarfs unmount --lazy ~/photos

    exit status: 0 unmounted, 1 usage or permission, 2 system error, 32 not a mount
    of sidecarfs, or in use

    """

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> Int32 {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") {
      return Help.show(name, usage, summary, options, output, more: more)
    }
    let operands = arguments.operands + (arguments.rest ?? [])
    guard operands.count == 1 else {
      throw CommandFailure(.usage, "unmount: one mount point is needed", remedy: "usage: \(usage)")
    }
    let path = MountPoint.canonical(operands[0])
    guard let mount = try MountPoint.mounted(at: path) else {
      throw CommandFailure(
        .mount, "\(path) is not a mount of sidecarfs", remedy: "see sidecarfs status")
    }
    let user = Processes.effectiveUser
    if let owner = mount.owner, user != 0, owner != user {
      throw CommandFailure(
        .usage, "\(path) was mounted by user \(owner)",
        remedy: "unmount it as that user, or as root")
    }
    let isLazy = arguments.has("lazy")
    // Opened before, since the daemon takes its socket away as it ends.
    let daemon = ControlSocket.connection(to: mount)
    try unmount(path, lazily: isLazy)
    if !isLazy, case .some(let daemon) = daemon { try waitForEnd(daemon, path) }
    return ExitStatus.success.rawValue
  }

  private static func unmount(_ path: FileName, lazily: Bool) throws(CommandFailure) {
    var said = ""
    do throws(Errno) {
      if Processes.effectiveUser == 0 {
        return try Mounts.unmount(path, lazily: lazily)
      }
      // An ordinary user has the setuid program do it, which says itself what is wrong.
      let words = ["fusermount3", "-u"] + (lazily ? ["-z"] : []) + ["--"]
      let ended = try Processes.run(words.map { FileName($0) } + [path])
      if ended.status == 0 { return }
      said = String(decoding: ended.errors, as: UTF8.self)
    } catch {
      if error == .busy { throw inUse(path) }
      throw CommandFailure(
        .mount, "cannot unmount \(path): \(error)",
        remedy: error == .noEntry && Processes.effectiveUser != 0
          ? "install fusermount3 (package fuse3)" : "look who has mounted it with findmnt \(path)")
    }
    if said.contains(Errno.busy.description) { throw inUse(path) }
    let lines = said.split(separator: "\n").joined(separator: ", ")
    throw CommandFailure(
      .mount, "cannot unmount \(path): \(lines)", remedy: "ask the user who has mounted it, or root"
    )
  }

  private static func inUse(_ path: FileName) -> CommandFailure {
    CommandFailure(
      .mount, "\(path) is in use",
      remedy: "end the programs there (fuser -vm \(path)), or use --lazy")
  }

  /// The daemon closes the connection as it ends, and by then its store.
  private static func waitForEnd(
    _ daemon: borrowing FileDescriptor, _ path: FileName
  ) throws(CommandFailure) {
    do throws(Errno) {
      guard try daemon.waitUntilReadable(milliseconds: 60_000) else { throw Errno.busy }
    } catch {
      throw CommandFailure(
        .system, "\(path) is unmounted, but its daemon still runs: \(error)",
        remedy: "look into the system's log")
    }
  }
}
