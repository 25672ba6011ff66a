import LinuxSystem

/// The directory that a file system is mounted on.
enum MountPoint {
  /// Looks before mounting: a directory, and no dead mount on it. The path without links.
  static func check(_ path: FileName, _ output: Output) throws(CommandFailure) -> FileName {
    try checkDevice()
    do throws(Errno) {
      let status = try FileDescriptor.open(path, .path).status()
      guard status.type == .directory else { throw Errno.notDirectory }
      return try Processes.resolve(path)
    } catch {
      switch error {
      case .notConnected:
        throw CommandFailure(
          .mount, "mount point \(path) holds a mount whose daemon has died",
          remedy: "clear it with sidecarfs unmount \(path)")
      case .notDirectory:
        throw CommandFailure(
          .mount, "mount point \(path) is not a directory", remedy: "make one with mkdir")
      default:
        throw CommandFailure(
          .mount, "mount point \(path): \(error)", remedy: "make the directory first")
      }
    }
  }

  static func checkDevice() throws(CommandFailure) {
    do throws(Errno) {
      _ = try FileDescriptor.open(FileName("/dev/fuse"), .path)
    } catch {
      throw CommandFailure(
        .mount, "/dev/fuse: \(error)",
        remedy: "load it with modprobe fuse, or let your container have the device")
    }
  }

  /// The mounts of ours that this process sees; of several on one directory the last, on top.
  static func mounted() throws(CommandFailure) -> [MountedFileSystem] {
    do throws(Errno) {
      return try Mounts.all().filter { $0.type == "fuse.sidecarfs" }
    } catch {
      throw CommandFailure(.system, "cannot read the mount table: \(error)")
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
      let joined = try? FileName(
        parent.bytes + (parent.bytes.last == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]) + name)
    else { return path }
    return joined
  }
}
