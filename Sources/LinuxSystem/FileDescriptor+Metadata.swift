import CLinux
import Glibc

/// The calls on an inode; all of them work on what `O_PATH` holds.
extension FileDescriptor {
  /// Sets the permission bits. The corresponding system call is `fchmodat`, on the path in /proc.
  public func setMode(_ mode: UInt32) throws(Errno) {
    let path = procPath
    try call { fchmodat(AT_FDCWD, path.cString, mode & 0o7777, 0) }
  }

  /// Sets owner and group; nil leaves one as it is. The corresponding system call is `fchownat`.
  public func setOwner(uid: UInt32?, gid: UInt32?) throws(Errno) {
    let raw = self.raw
    let unchanged = UInt32.max
    try call {
      fchownat(raw, "", uid ?? unchanged, gid ?? unchanged, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)
    }
  }

  /// What to do with a time stamp of an inode.
  public enum TimeChange: Sendable {
    /// Leaves it (`UTIME_OMIT`).
    case keep
    /// Sets it to the present (`UTIME_NOW`).
    case now
    /// Sets it.
    case set(Timestamp)

    /// Whether it leaves the time stamp alone.
    public var isKept: Bool {
      if case .keep = self { true } else { false }
    }

    fileprivate var kernel: timespec {
      switch self {
      case .keep: timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2)
      case .now: timespec(tv_sec: 0, tv_nsec: (1 << 30) - 1)
      case .set(let time): timespec(tv_sec: Int(time.seconds), tv_nsec: Int(time.nanoseconds))
      }
    }
  }

  /// Sets the times of last access and change of data. The system call is `utimensat`.
  public func setTimes(accessed: TimeChange, modified: TimeChange) throws(Errno) {
    let raw = self.raw
    let times = [accessed.kernel, modified.kernel]
    try call { utimensat(raw, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) }
  }

  /// Asks whether the calling thread may read (4), write (2), execute (1); `EACCES` if not.
  ///
  /// The corresponding system call is `faccessat2` with `AT_EACCESS`.
  public func checkAccess(_ mode: Int32) throws(Errno) {
    let raw = self.raw
    try call { clinux_access(raw, "", mode, AT_EMPTY_PATH | AT_EACCESS) }
  }

  /// Whether an access control list says more than the mode bits who may open the object; so, too,
  /// when that cannot be found out.
  ///
  /// The corresponding system call is `getxattr` of `system.posix_acl_access`, on the path in /proc.
  public var hasAccessControlList: Bool {
    if getxattr(procPath.cString, "system.posix_acl_access", nil, 0) >= 0 { return true }
    return errno != ENODATA && errno != EOPNOTSUPP
  }

  /// What `statfs` tells of a file system.
  public struct FileSystemStatus: Sendable {
    /// Its type, such as `EXT4_SUPER_MAGIC` (linux/magic.h).
    public var type: UInt32
    /// The size of a block in bytes.
    public var blockSize: UInt64
    /// The unit of the block counts in bytes.
    public var fragmentSize: UInt64
    /// Blocks in all.
    public var blocks: UInt64
    /// Blocks that are free.
    public var freeBlocks: UInt64
    /// Blocks that are free to an ordinary user.
    public var availableBlocks: UInt64
    /// Inodes in all.
    public var files: UInt64
    /// Inodes that are free.
    public var freeFiles: UInt64
    /// The longest name in bytes.
    public var maximumNameLength: UInt64
    /// An identifier, as far as the file system has one (`f_fsid`).
    public var identifier: UInt64
    /// Mount flags (`ST_*`).
    public var flags: UInt64
    /// It is mounted read-only (`ST_RDONLY`).
    public var isReadOnly: Bool { flags & 1 != 0 }
  }

  /// What is known of the file system that the object is on. The system call is `fstatfs`.
  public func fileSystemStatus() throws(Errno) -> FileSystemStatus {
    var buffer = statfs()
    let raw = self.raw
    try call { fstatfs(raw, &buffer) }
    let high = UInt64(UInt32(bitPattern: buffer.f_fsid.__val.1))
    let low = UInt64(UInt32(bitPattern: buffer.f_fsid.__val.0))
    let blockSize = UInt64(clamping: buffer.f_bsize)
    return FileSystemStatus(
      type: UInt32(truncatingIfNeeded: buffer.f_type), blockSize: blockSize,
      fragmentSize: buffer.f_frsize > 0 ? UInt64(buffer.f_frsize) : blockSize,
      blocks: UInt64(buffer.f_blocks), freeBlocks: UInt64(buffer.f_bfree),
      availableBlocks: UInt64(buffer.f_bavail), files: UInt64(buffer.f_files),
      freeFiles: UInt64(buffer.f_ffree), maximumNameLength: UInt64(clamping: buffer.f_namelen),
      identifier: high << 32 | low, flags: UInt64(clamping: buffer.f_flags))
  }

  /// The UUID that the file system itself has (FS_IOC_GETFSUUID, Linux 6.9).
  ///
  /// Needs an open file or directory, not `O_PATH`; `ENOTTY` where the kernel or the file system
  /// does not tell. The corresponding system call is `ioctl`.
  public func fileSystemUUID() throws(Errno) -> [UInt8] {
    var uuid = clinux_fs_uuid()
    let raw = self.raw
    try call { clinux_fs_uuid(raw, &uuid) }
    let length = Int(uuid.length)
    return withUnsafeBytes(of: &uuid.bytes) { Array($0.prefix(length)) }
  }

  /// The UUID in the superblock of an XFS, which its `f_fsid` does not show (that is the device's
  /// number).
  ///
  /// Needs an open file or directory. The corresponding system call is `ioctl` with
  /// `XFS_IOC_FSGEOMETRY_V1` (xfs_fs.h).
  public func xfsUUID() throws(Errno) -> [UInt8] {
    var geometry = clinux_xfs_geometry()
    let raw = self.raw
    try call { clinux_xfs_geometry(raw, &geometry) }
    return withUnsafeBytes(of: &geometry.uuid) { Array($0) }
  }
}
