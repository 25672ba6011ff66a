import CLinux
import Glibc

/// What kind of object an inode is: the `S_IFMT` bits of its mode.
public struct FileType: Hashable, Sendable {
  /// The bits, such as `S_IFREG`.
  public let bits: UInt32

  /// The type in a mode.
  public init(mode: UInt32) { bits = mode & S_IFMT }

  /// A regular file (`S_IFREG`).
  public static let regular = FileType(mode: S_IFREG)
  /// A directory (`S_IFDIR`).
  public static let directory = FileType(mode: S_IFDIR)
  /// A symbolic link (`S_IFLNK`).
  public static let symbolicLink = FileType(mode: S_IFLNK)
  /// A named pipe (`S_IFIFO`).
  public static let fifo = FileType(mode: S_IFIFO)
  /// A socket (`S_IFSOCK`).
  public static let socket = FileType(mode: S_IFSOCK)
  /// A character device (`S_IFCHR`).
  public static let characterDevice = FileType(mode: S_IFCHR)
  /// A block device (`S_IFBLK`).
  public static let blockDevice = FileType(mode: S_IFBLK)
}

/// What `statx` tells of an object.
public struct FileStatus: Sendable {
  /// The device of the file system it is on, as `st_dev`.
  public var device: UInt64
  /// The inode number.
  public var inode: UInt64
  /// Type and permission bits.
  public var mode: UInt32
  /// How many names it has.
  public var links: UInt32
  /// The owner.
  public var uid: UInt32
  /// The group.
  public var gid: UInt32
  /// What a device node stands for, as `st_rdev`.
  public var specialDevice: UInt64
  /// Length in bytes.
  public var size: Int64
  /// Space taken, in units of 512 bytes.
  public var blocks: Int64
  /// The preferred size of a transfer, in bytes.
  public var blockSize: UInt32
  /// Last access.
  public var accessed: Timestamp
  /// Last change of the data.
  public var modified: Timestamp
  /// Last change of the inode (ctime).
  public var changed: Timestamp
  /// Birth, where the file system keeps it.
  public var born: Timestamp?
  /// The object is immutable or append-only: its attributes must not change.
  public var isFrozen: Bool
  /// The mount by which it was reached, as /proc/self/mountinfo calls it; 0 before Linux 5.8.
  public var mount: UInt64

  /// The set-group-ID bit of a mode (`S_ISGID`).
  public static let setGroupBit: UInt32 = 0o2000

  /// The set-user-ID bit of a mode (`S_ISUID`).
  public static let setUserBit: UInt32 = 0o4000

  /// The bit of a mode that lets the group execute (`S_IXGRP`).
  public static let groupExecution: UInt32 = 0o010

  /// It is a file with a set-user-ID or set-group-ID bit.
  public var hasSetID: Bool {
    type == .regular && mode & (Self.setUserBit | Self.setGroupBit) != 0
  }

  /// The type of the object.
  public var type: FileType { FileType(mode: mode) }
}

extension FileDescriptor {
  /// What is known of the object that this descriptor holds; works with `O_PATH`.
  ///
  /// The corresponding system call is `statx` with `AT_EMPTY_PATH`.
  public func status() throws(Errno) -> FileStatus { try status(of: .empty, AT_EMPTY_PATH) }

  /// What is known of the object called `name` in this directory; a symbolic link is not followed.
  ///
  /// The corresponding system call is `statx` with `AT_SYMLINK_NOFOLLOW`.
  public func status(of name: FileName) throws(Errno) -> FileStatus {
    try status(of: name, AT_SYMLINK_NOFOLLOW)
  }

  /// The same as far as it is known here, without a question to whoever serves the file system: the
  /// device and the number are right, and on a local file system all is.
  ///
  /// The corresponding system call is `statx` with `AT_STATX_DONT_SYNC`.
  public func rememberedStatus(of name: FileName) throws(Errno) -> FileStatus {
    try status(of: name, AT_SYMLINK_NOFOLLOW | 0x4000)
  }

  /// The device that the object is on, without a question to whoever serves its file system.
  ///
  /// The corresponding system call is `statx` with `AT_STATX_DONT_SYNC`.
  public func rememberedDevice() throws(Errno) -> UInt64 {
    try status(of: .empty, AT_EMPTY_PATH | 0x4000).device
  }

  private func status(of name: FileName, _ flags: Int32) throws(Errno) -> FileStatus {
    var buffer = statx()
    let raw = self.raw
    let mountMask: UInt32 = 0x1000  // STATX_MNT_ID
    let mask = UInt32(STATX_BASIC_STATS | STATX_BTIME) | mountMask
    try call { statx(raw, name.cString, flags | AT_NO_AUTOMOUNT, mask, &buffer) }
    let frozen = UInt64(STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)
    return FileStatus(
      device: makeDevice(buffer.stx_dev_major, buffer.stx_dev_minor), inode: buffer.stx_ino,
      mode: UInt32(buffer.stx_mode), links: buffer.stx_nlink, uid: buffer.stx_uid,
      gid: buffer.stx_gid,
      specialDevice: makeDevice(buffer.stx_rdev_major, buffer.stx_rdev_minor),
      size: Int64(clamping: buffer.stx_size), blocks: Int64(clamping: buffer.stx_blocks),
      blockSize: buffer.stx_blksize, accessed: Timestamp(buffer.stx_atime),
      modified: Timestamp(buffer.stx_mtime), changed: Timestamp(buffer.stx_ctime),
      born: buffer.stx_mask & UInt32(STATX_BTIME) == 0 ? nil : Timestamp(buffer.stx_btime),
      isFrozen: buffer.stx_attributes & buffer.stx_attributes_mask & frozen != 0,
      mount: buffer.stx_mask & mountMask == 0 ? 0 : buffer.stx_mnt_id)
  }
}

extension Timestamp {
  init(_ time: statx_timestamp) {
    self.init(seconds: time.tv_sec, nanoseconds: Int64(time.tv_nsec))
  }
}

/// `makedev(3)`, which is a macro: twelve low bits of the major number, eight of the minor, then
/// the rest of each.
private func makeDevice(_ major: UInt32, _ minor: UInt32) -> UInt64 {
  let major = UInt64(major)
  let minor = UInt64(minor)
  return (major & 0xffff_f000) << 32 | (major & 0xfff) << 8 | (minor & 0xffff_ff00) << 12
    | (minor & 0xff)
}
