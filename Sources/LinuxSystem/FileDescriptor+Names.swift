import CLinux
import Glibc

/// The calls that make, move and remove names; all relative to the directory that is held.
extension FileDescriptor {
  /// Makes a directory. The corresponding system call is `mkdirat`.
  public func makeDirectory(_ name: FileName, mode: UInt32) throws(Errno) {
    let raw = self.raw
    try call { mkdirat(raw, name.cString, mode) }
  }

  /// Makes a fifo, a socket, a device node or an empty file; the type is part of `mode`.
  ///
  /// `device` is a `st_rdev`. The corresponding system call is `mknodat`.
  public func makeNode(_ name: FileName, mode: UInt32, device: UInt64) throws(Errno) {
    let raw = self.raw
    try call { mknodat(raw, name.cString, mode, dev_t(device)) }
  }

  /// Makes a symbolic link. The corresponding system call is `symlinkat`.
  public func makeSymbolicLink(_ name: FileName, to target: FileName) throws(Errno) {
    let raw = self.raw
    try call { symlinkat(target.cString, raw, name.cString) }
  }

  /// Gives the object that `object` holds one more name, in this directory.
  ///
  /// Through /proc/self/fd, because `AT_EMPTY_PATH` wants CAP_DAC_READ_SEARCH; a symbolic link is
  /// linked itself. The corresponding system call is `linkat`.
  public func link(_ object: borrowing FileDescriptor, as name: FileName) throws(Errno) {
    let raw = self.raw
    let source = object.procPath
    try call { linkat(AT_FDCWD, source.cString, raw, name.cString, AT_SYMLINK_FOLLOW) }
  }

  /// Removes a name of anything but a directory. The corresponding system call is `unlinkat`.
  public func unlink(_ name: FileName) throws(Errno) {
    let raw = self.raw
    try call { unlinkat(raw, name.cString, 0) }
  }

  /// Removes an empty directory. The system call is `unlinkat` with `AT_REMOVEDIR`.
  public func removeDirectory(_ name: FileName) throws(Errno) {
    let raw = self.raw
    try call { unlinkat(raw, name.cString, AT_REMOVEDIR) }
  }

  /// How ``rename(_:to:_:_:)`` treats what is at the new name (`RENAME_*`, renameat2(2)).
  public struct RenameFlags: OptionSet, Sendable {
    /// The kernel's bits.
    public let rawValue: UInt32
    /// Takes the kernel's bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// Fails with `EEXIST` when something is there (`RENAME_NOREPLACE`).
    public static let noReplace = RenameFlags(rawValue: 1)
    /// Swaps the two (`RENAME_EXCHANGE`).
    public static let exchange = RenameFlags(rawValue: 2)
    /// Leaves a whiteout, a character device 0:0, under the old name (`RENAME_WHITEOUT`).
    public static let whiteout = RenameFlags(rawValue: 4)
  }

  /// Moves a name of this directory to another. The corresponding system call is `renameat2`.
  public func rename(
    _ name: FileName, to directory: borrowing FileDescriptor, _ newName: FileName,
    _ flags: RenameFlags
  ) throws(Errno) {
    let raw = self.raw
    let target = directory.raw
    try call { clinux_renameat2(raw, name.cString, target, newName.cString, flags.rawValue) }
  }

  /// Where the symbolic link that this descriptor holds (`O_PATH`) leads.
  ///
  /// The corresponding system call is `readlinkat` with an empty path.
  public func readLink() throws(Errno) -> FileName {
    let raw = self.raw
    // PATH_MAX bounds what symlink(2) accepts; the extra byte shows a result that was cut.
    let room = Int(PATH_MAX) + 1
    var buffer = [CChar](repeating: 0, count: room)
    let length = try call { readlinkat(raw, "", &buffer, room) }
    guard length < room else { throw .nameTooLong }
    return try FileName(buffer[..<length].map { UInt8(bitPattern: $0) })
  }
}
