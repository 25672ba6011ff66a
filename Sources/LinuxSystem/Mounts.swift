import CLinux
import Glibc

/// A line of /proc/self/mountinfo (proc(5)).
public struct MountedFileSystem: Sendable {
  /// The number of the mount, as in ``FileStatus/mount``.
  public let id: UInt64
  /// The directory of the file system that is mounted, as a path in it.
  public let root: FileName
  /// The device number of its files, "major:minor": no other file system has it meanwhile.
  public let device: String
  /// Where it is mounted.
  public let mountPoint: FileName
  /// The type, such as "fuse.sidecarfs".
  public let type: String
  /// What is mounted, as the file system calls it.
  public let source: FileName
  /// Options of the mount and of the file system.
  public let options: [String]

  /// The user who has mounted it, for one of FUSE (`user_id=`).
  public var owner: UInt32? {
    options.lazy.compactMap { option in
      option.hasPrefix("user_id=") ? UInt32(option.dropFirst(8)) : nil
    }.first
  }
}

/// Mounting, unmounting, and what is mounted.
public enum Mounts {
  /// What this process sees mounted, in the order of mounting.
  public static func all() throws(Errno) -> [MountedFileSystem] {
    let file = try FileDescriptor.open(FileName("/proc/self/mountinfo"), .readOnly)
    return try file.readToEnd(limit: 64 << 20).split(separator: UInt8(ascii: "\n"))
      .compactMap { line in parse(Array(line)) }
  }

  static func parse(_ line: [UInt8]) -> MountedFileSystem? {
    let fields = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    // Optional fields stand between the sixth and a lone hyphen.
    guard fields.count > 9, let hyphen = fields.dropFirst(6).firstIndex(of: [UInt8(ascii: "-")]),
      fields.count > hyphen + 3
    else { return nil }
    do throws(Errno) {
      let options =
        String(decoding: fields[5], as: UTF8.self) + ","
        + String(decoding: fields[hyphen + 3], as: UTF8.self)
      return MountedFileSystem(
        id: UInt64(String(decoding: fields[0], as: UTF8.self)) ?? 0,
        root: try FileName(unescaped(fields[3])),
        device: String(decoding: fields[2], as: UTF8.self),
        mountPoint: try FileName(unescaped(fields[4])),
        type: String(decoding: fields[hyphen + 1], as: UTF8.self),
        source: try FileName(unescaped(fields[hyphen + 2])),
        options: options.split(separator: ",").map(String.init))
    } catch {
      return nil
    }
  }

  /// Blanks, line ends and backslashes stand there as a backslash and three octal digits.
  private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
    var result = [UInt8]()
    var rest = field
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      if byte == UInt8(ascii: "\\"), digits.count == 3,
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
      {
        result.append(value)
        rest.removeFirst(3)
      } else {
        result.append(byte)
      }
    }
    return result
  }

  /// Takes a mount away; `lazily` as soon as nobody uses it, else `EBUSY` while somebody does.
  ///
  /// The corresponding system call is `umount2`.
  public static func unmount(_ path: FileName, lazily: Bool) throws(Errno) {
    let flags = Int32(lazily ? MNT_DETACH | UMOUNT_NOFOLLOW : UMOUNT_NOFOLLOW)
    try call { umount2(path.cString, flags) }
  }

  /// Gives this process mounts of its own, which others do not see and which end with it.
  ///
  /// An ordinary user gets a user namespace as well, in which he is still himself. `EPERM` or
  /// `ENOSPC` where the system allows none. The corresponding system call is `unshare`.
  public static func makePrivate() throws(Errno) {
    let uid = Processes.effectiveUser
    let gid = Processes.effectiveGroup
    if uid == 0 {
      try call { unshare(CLONE_NEWNS) }
    } else {
      try call { unshare(CLONE_NEWUSER | CLONE_NEWNS) }
      try write("deny", to: "/proc/self/setgroups")
      try write("\(uid) \(uid) 1", to: "/proc/self/uid_map")
      try write("\(gid) \(gid) 1", to: "/proc/self/gid_map")
    }
    try call { mount("none", "/", nil, UInt(MS_REC | MS_PRIVATE), nil) }
  }

  private static func write(_ text: String, to path: String) throws(Errno) {
    try FileDescriptor.open(FileName(path), .writeOnly).write(text.utf8)
  }
}
