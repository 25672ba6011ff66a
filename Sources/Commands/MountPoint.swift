import LinuxSystem

/// The directory that a file system is mounted on.
enum MountPoint {
  /// Looks before mounting: a directory on which this user may mount (where `mustOwn` says that it
  /// has to be his), and no mount of ours on it yet. The path without links.
  static func check(
    _ path: FileName, called what: String = "mount point", mustOwn: Bool = true
  ) throws(CommandFailure) -> FileName {
    try checkDevice()
    let resolved: FileName
    do throws(Errno) {
      let directory = try FileDescriptor.open(path, .path)
      let status = try directory.status()
      guard status.type == .directory else { throw Errno.notDirectory }
      resolved = try Processes.resolve(path)
      // What fusermount3 asks as well, which would say so only when there is a store already.
      if mustOwn, Processes.effectiveUser != 0 {
        try directory.checkAccess(2)
        let isSticky = status.mode & 0o1000 != 0
        if isSticky && status.uid != Processes.effectiveUser { throw .notPermitted }
      }
    } catch {
      throw failure(error, "\(what) \(path)", path)
    }
    if try mounted(at: resolved) != nil {
      if isDead(resolved) { throw failure(.notConnected, "\(what) \(resolved)", resolved) }
      throw CommandFailure(
        .mount, "\(what) \(resolved) is a mount of sidecarfs already",
        remedy: "use it as it is, or take it away with sidecarfs unmount")
    }
    return resolved
  }

  /// What stat tells may be remembered for a while; this is asked of the daemon.
  private static func isDead(_ path: FileName) -> Bool {
    do throws(Errno) {
      _ = try FileDescriptor.open(path, .path).fileSystemStatus()
      return false
    } catch {
      return error == .notConnected
    }
  }

  private static func failure(_ error: Errno, _ what: String, _ path: FileName) -> CommandFailure {
    switch error {
    case .notConnected:
      CommandFailure(
        .mount, "\(what) holds a mount whose daemon has died",
        remedy: "clear it with sidecarfs unmount \(path)")
    case .notDirectory:
      CommandFailure(
        .mount, "\(what) is not a directory", remedy: "name one, or make one with mkdir")
    case .accessDenied, .notPermitted:
      CommandFailure(
        .usage, "\(what): \(error)", remedy: "choose a directory that you own and may write to")
    case .noEntry:
      CommandFailure(.mount, "\(what): \(error)", remedy: "make the directory first")
    default: CommandFailure(.mount, "\(what): \(error)", remedy: "choose another directory")
    }
  }

  private static func checkDevice() throws(CommandFailure) {
    do throws(Errno) {
      try FileDescriptor.open(FileName("/dev/fuse"), .path).checkAccess(4 | 2)
    } catch .accessDenied {
      throw CommandFailure(
        .usage, "/dev/fuse: \(Errno.accessDenied)",
        remedy: "have root let you use it (chmod a+rw /dev/fuse)")
    } catch {
      throw CommandFailure(
        .mount, "/dev/fuse: \(error)",
        remedy: "load it with modprobe fuse, or let your container have the device")
    }
  }

  /// The mount of ours at a path that ``canonical(_:)`` has returned; nil when there is none, or
  /// something else is mounted over it.
  static func mounted(at path: FileName) throws(CommandFailure) -> MountedFileSystem? {
    do throws(Errno) {
      let top = try Mounts.all().last { $0.mountPoint == path }
      return top?.type == "fuse.sidecarfs" ? top : nil
    } catch {
      throw CommandFailure(
        .system, "cannot read the mount table: \(error)", remedy: "mount /proc")
    }
  }

  /// The path of a mount point as the mount table has it. The directory itself may be a dead mount,
  /// so only the one above it is resolved then.
  static func canonical(_ path: FileName) -> FileName {
    if let resolved = try? Processes.resolve(path) { return resolved }
    var bytes = path.bytes
    while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
    let slash = bytes.lastIndex(of: UInt8(ascii: "/"))
    let above = slash.map { $0 == 0 ? bytes[..<1] : bytes[..<$0] } ?? ArraySlice(".".utf8)
    let name = slash.map { bytes[($0 + 1)...] } ?? bytes[...]
    guard let directory = try? FileName(above), let parent = try? Processes.resolve(directory),
      let last = try? FileName(name)
    else { return path }
    return parent.appending(last)
  }
}
