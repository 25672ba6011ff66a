import LinuxSystem

/// `sidecarfs unmount`.
enum UnmountCommand {
  static let name = "unmount"
  static let summary = "take a mount away, and wait until its store is closed"
  static let usage = "sidecarfs unmount [--lazy] MOUNTPOINT"
  static let options = [
    Option(name: "lazy", letter: "l", help: "take it away now, end when nobody uses it any more")
  ]

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> Int32 {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") { return Help.show(name, usage, summary, options, output) }
    guard arguments.operands.count == 1 else {
      throw CommandFailure(.usage, "unmount: one mount point is needed", remedy: "usage: \(usage)")
    }
    let path = MountPoint.canonical(arguments.operands[0])
    guard try MountPoint.mounted().contains(where: { $0.mountPoint == path }) else {
      throw CommandFailure(
        .mount, "\(path) is not a mount of sidecarfs", remedy: "see sidecarfs status")
    }
    let isLazy = arguments.has("lazy")
    // Opened before, since the daemon takes its socket away as it ends.
    let daemon = ControlSocket.connection(toMountAt: path)
    try unmount(path, lazily: isLazy)
    if !isLazy, case .some(let daemon) = daemon { try waitForEnd(daemon, path) }
    return ExitStatus.success.rawValue
  }

  private static func unmount(_ path: FileName, lazily: Bool) throws(CommandFailure) {
    do throws(Errno) {
      if Processes.effectiveUser == 0 {
        return try Mounts.unmount(path, lazily: lazily)
      }
      // An ordinary user has the setuid program do it, which says itself what is wrong.
      let words = ["fusermount3", "-u"] + (lazily ? ["-z"] : []) + ["--"]
      if try Processes.run(words.map { FileName($0) } + [path]) == 0 { return }
    } catch {
      if error == .busy {
        throw CommandFailure(
          .mount, "\(path) is in use",
          remedy: "end the programs there (fuser -vm \(path)), or use --lazy")
      }
      throw CommandFailure(.mount, "cannot unmount \(path): \(error)")
    }
    throw CommandFailure(.mount, "fusermount3 could not unmount \(path)")
  }

  /// The daemon closes the connection as it ends, and by then its store.
  private static func waitForEnd(
    _ daemon: borrowing FileDescriptor, _ path: FileName
  ) throws(CommandFailure) {
    do throws(Errno) {
      guard try daemon.waitUntilReadable(milliseconds: 60_000) else { throw Errno.busy }
    } catch {
      throw CommandFailure(
        .system, "\(path) is unmounted, but its daemon still runs: \(error)")
    }
  }
}
