import LinuxSystem

/// What names a file system whose objects are known by name.
extension Volume {
  /// Its type, what is mounted, and the directory in it from which names are counted: the source,
  /// or the root of what is mounted inside it. Nil when that is not to be found.
  static func nameOfRoot(
    _ root: borrowing FileDescriptor, _ status: FileStatus, _ type: UInt32
  ) -> [UInt8]? {
    do throws(Errno) {
      guard let mount = try Mounts.all().first(where: { $0.id == status.mount }) else {
        return nil
      }
      let path = try FileDescriptor.open(root.procPath, [.path, .noFollow]).readLink().bytes
      let top = mount.mountPoint.bytes == [UInt8(ascii: "/")] ? [] : mount.mountPoint.bytes
      guard path.starts(with: top) else { return nil }
      let below = path.dropFirst(top.count)
      return bytes(of: UInt64(type)) + whatIsMounted(mount) + [0]
        + (namesPlace(mount.source) ? [] : mount.mountPoint.bytes + [0])
        + (mount.root.bytes == [UInt8(ascii: "/")] ? [] : mount.root.bytes)
        + (below.isEmpty ? [UInt8(ascii: "/")] : below)
    } catch {
      return nil
    }
  }

  /// Whether what is mounted is called by a place (`/dev/sdb1`, `host:/srv`) and not by the program
  /// that serves it, as with some FUSE mounts, where only the mount point tells one from another.
  private static func namesPlace(_ source: FileName) -> Bool {
    source.bytes.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: ":") }
  }

  /// A loop device's number is whatever was free; its file is what is meant.
  private static func whatIsMounted(_ mount: MountedFileSystem) -> [UInt8] {
    let device = mount.source.bytes
    let prefix = Array("/dev/loop".utf8)
    guard device.starts(with: prefix) else { return device }
    let name = String(decoding: device.dropFirst(5), as: UTF8.self)
    do throws(Errno) {
      let path = FileName("/sys/block/\(name)/loop/backing_file")
      return try FileDescriptor.open(path, .readOnly).readToEnd()
        .filter { $0 != UInt8(ascii: "\n") }
    } catch {
      return device
    }
  }
}
