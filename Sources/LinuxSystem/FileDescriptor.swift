import CLinux
import Glibc

/// An open file, closed when its owner lets go of it.
///
/// The methods are one system call each and are named after it; directories are arguments of the
/// `*at` calls, so that no path is ever walked twice.
public struct FileDescriptor: ~Copyable, Sendable {
  package let raw: Int32

  package init(owning raw: Int32) { self.raw = raw }

  deinit { Glibc.close(raw) }

  /// Closes the file and reports what `close` says, such as a delayed write error of NFS.
  ///
  /// The descriptor is gone in either case. The corresponding system call is `close`.
  public consuming func close() throws(Errno) {
    let raw = self.raw
    discard self
    if Glibc.close(raw) == -1 && errno != EINTR { throw Errno(errno) }
  }

  /// The same open file, for as long as the owner lives: for value types, which cannot hold an
  /// owner.
  public struct Reference: Sendable {
    package let raw: Int32
  }

  /// A reference that is valid while this owner lives.
  public var reference: Reference { Reference(raw: raw) }

  /// How `open` and `openat` open a file (`O_*`); combine as a set.
  public struct OpenFlags: OptionSet, Sendable {
    /// The kernel's bits.
    public let rawValue: Int32
    /// Takes the kernel's bits.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Reading (`O_RDONLY`, which is no bit at all).
    public static let readOnly: OpenFlags = []
    /// Writing only (`O_WRONLY`).
    public static let writeOnly = OpenFlags(rawValue: O_WRONLY)
    /// Reading and writing (`O_RDWR`).
    public static let readWrite = OpenFlags(rawValue: O_RDWR)
    /// Makes the file if it is missing (`O_CREAT`).
    public static let create = OpenFlags(rawValue: O_CREAT)
    /// Fails with `EEXIST` if it is there (`O_EXCL`).
    public static let exclusive = OpenFlags(rawValue: O_EXCL)
    /// Cuts the file to nothing (`O_TRUNC`).
    public static let truncate = OpenFlags(rawValue: O_TRUNC)
    /// Every write goes to the end (`O_APPEND`).
    public static let append = OpenFlags(rawValue: O_APPEND)
    /// Fails with `ENOTDIR` on anything but a directory (`O_DIRECTORY`).
    public static let directory = OpenFlags(rawValue: O_DIRECTORY)
    /// Does not follow a symbolic link at the end of the path (`O_NOFOLLOW`).
    public static let noFollow = OpenFlags(rawValue: O_NOFOLLOW)
    /// Holds the object without opening it (`O_PATH`).
    public static let path = OpenFlags(rawValue: O_PATH)
    /// Does not wait (`O_NONBLOCK`).
    public static let nonBlocking = OpenFlags(rawValue: O_NONBLOCK)
    /// A nameless file in the directory that is opened (`O_TMPFILE`, which includes `O_DIRECTORY`).
    public static let temporary = OpenFlags(rawValue: 0o20000000 | O_DIRECTORY)
    /// Transfers bypass the page cache and must be aligned (`O_DIRECT`).
    public static let direct = OpenFlags(rawValue: O_DIRECT)
    /// Opened to be executed: the kernel's own mark, which reaches FUSE servers (`__FMODE_EXEC`).
    public static let execution = OpenFlags(rawValue: 0o40)
    /// The two bits that say reading, writing or both (`O_ACCMODE`).
    public static let accessMode = OpenFlags(rawValue: O_ACCMODE)
  }

  /// Opens a path of this process.
  ///
  /// Always with `O_CLOEXEC`. The corresponding system call is `open`.
  public static func open(
    _ path: FileName, _ flags: OpenFlags, mode: UInt32 = 0
  ) throws(Errno) -> FileDescriptor {
    try FileDescriptor(
      owning: openRaw(AT_FDCWD, path, flags.rawValue | O_CLOEXEC, mode))
  }

  /// Opens `name` in this directory.
  ///
  /// Always with `O_CLOEXEC`. The corresponding system call is `openat`.
  public func open(
    _ name: FileName, _ flags: OpenFlags, mode: UInt32 = 0
  ) throws(Errno) -> FileDescriptor {
    try FileDescriptor(owning: Self.openRaw(raw, name, flags.rawValue | O_CLOEXEC, mode))
  }

  /// Opens `name` in this directory, unless something is mounted on it: `EXDEV`.
  ///
  /// Always with `O_CLOEXEC`; makes nothing. `ENOSYS` before Linux 5.6. The corresponding system call
  /// is `openat2` with `RESOLVE_NO_XDEV`.
  public func openHere(_ name: FileName, _ flags: OpenFlags) throws(Errno) -> FileDescriptor {
    let raw = self.raw
    let all = flags.rawValue | O_CLOEXEC
    return try FileDescriptor(owning: call { clinux_open_here(raw, name.cString, all) })
  }

  /// Opens once more what this descriptor holds, such as an object held with `O_PATH`.
  ///
  /// Goes through /proc/self/fd, which leads to the object itself, whatever its names are now.
  /// Do not pass `O_NOFOLLOW`: the entry there is a link. The corresponding system call is `open`.
  public func reopen(_ flags: OpenFlags) throws(Errno) -> FileDescriptor {
    let raw = self.raw
    let all = flags.subtracting(.noFollow).rawValue | O_CLOEXEC
    return try FileDescriptor(owning: call { clinux_reopen(raw, all) })
  }

  /// The same open file under another number.
  ///
  /// The corresponding system call is `fcntl` with `F_DUPFD_CLOEXEC`.
  public func duplicate() throws(Errno) -> FileDescriptor {
    let raw = self.raw
    return try FileDescriptor(owning: call { fcntl(raw, F_DUPFD_CLOEXEC, 0) })
  }

  /// The path in /proc that leads to this open file.
  public var procPath: FileName { FileName("/proc/self/fd/\(raw)") }

  private static func openRaw(
    _ directory: Int32, _ name: FileName, _ flags: Int32, _ mode: UInt32
  ) throws(Errno) -> Int32 {
    try call { clinux_openat(directory, name.cString, flags, mode) }
  }
}
