public import LinuxSystem

/// What a file system does: one method an operation of the FUSE protocol.
///
/// A method returns its result or throws the errno for the caller; the binding sends it. Methods are
/// called from several threads at once, those that change one directory one at a time (the kernel
/// holds the directory's lock). What is not implemented answers `ENOSYS`, which the kernel
/// remembers: it does not ask again, and takes the default that the method's comment tells. So a
/// method that *is* implemented must never throw `ENOSYS`.
///
/// With `default_permissions` the kernel checks modes before it asks; a method need not.
public protocol FileSystem: AnyObject, Sendable {
  /// The object at the mount point. The kernel knows it from the start and never forgets it.
  var root: Node { get }

  /// Finds a name. The kernel keeps the answer for the entry's timeout, then asks again, and asks
  /// before every operation on a name that it does not know. The reply counts as one lookup.
  func lookup(_ name: FileName, in parent: Node, _ request: Request) throws(Errno) -> NodeEntry

  /// The kernel gives lookups back. At none it may not name the node again. Nobody waits for it.
  func forget(_ node: Node, lookups: UInt64)

  /// What stat(2) shows. With a handle when the kernel has a file open (fstat after an unlink).
  func getattr(_ node: Node, _ handle: Handle?, _ request: Request) throws(Errno) -> TimedStatus

  /// chmod, chown, truncate, utimensat; also what the kernel does on its own, such as taking
  /// setuid bits away at a write. With a handle for ftruncate.
  func setattr(_ node: Node, _ change: StatusChange, _ handle: Handle?, _ request: Request)
    throws(Errno) -> TimedStatus

  /// Where a symbolic link leads.
  func readlink(_ node: Node, _ request: Request) throws(Errno) -> FileName

  /// Makes a file, fifo, socket or device node; `mode` holds the type, the umask is not applied yet.
  func mknod(
    _ name: FileName, in parent: Node, mode: UInt32, device: UInt64, _ request: Request
  ) throws(Errno) -> NodeEntry

  /// Makes a directory; the umask is not applied yet.
  func mkdir(_ name: FileName, in parent: Node, mode: UInt32, _ request: Request)
    throws(Errno) -> NodeEntry

  /// Makes a symbolic link.
  func symlink(_ name: FileName, in parent: Node, to target: FileName, _ request: Request)
    throws(Errno) -> NodeEntry

  /// Removes a name. The object lives on while the kernel has lookups of it.
  func unlink(_ name: FileName, in parent: Node, _ request: Request) throws(Errno)

  /// Removes an empty directory; its node lives on as after unlink.
  func rmdir(_ name: FileName, in parent: Node, _ request: Request) throws(Errno)

  /// Moves a name, with the flags of renameat2(2); the kernel has locked both directories.
  func rename(
    _ name: FileName, in parent: Node, to newName: FileName, in newParent: Node,
    _ flags: FileDescriptor.RenameFlags, _ request: Request) throws(Errno)

  /// Gives an object one more name; also for linkat(2) of a nameless file.
  func link(_ node: Node, to newName: FileName, in newParent: Node, _ request: Request)
    throws(Errno) -> NodeEntry

  /// Opens a file, and cuts it when `O_TRUNC` says so; creating and exclusion are the kernel's.
  ///
  /// `OpenFlags.execution` comes with what is opened to be executed.
  func open(_ node: Node, flags: FileDescriptor.OpenFlags, _ request: Request)
    throws(Errno) -> Opened

  /// Makes and opens a file in one step. Not implemented: mknod, then open.
  func create(
    _ name: FileName, in parent: Node, mode: UInt32, flags: FileDescriptor.OpenFlags,
    _ request: Request
  ) throws(Errno) -> (NodeEntry, Opened)

  /// Makes and opens a file without a name (`O_TMPFILE`). Not implemented: `EOPNOTSUPP`.
  func tmpfile(
    in parent: Node, mode: UInt32, flags: FileDescriptor.OpenFlags, _ request: Request
  ) throws(Errno) -> (NodeEntry, Opened)

  /// Reads; short only at the end of the file, or the kernel fills up with zeros.
  func read(_ handle: Handle, at offset: Int64, count: Int, _ request: Request)
    throws(Errno) -> FileRange

  /// Writes. The bytes belong to the binding: they are copied on before this returns.
  func write(
    _ data: borrowing WriteData, to handle: Handle, _ node: Node, at offset: Int64,
    _ request: Request
  ) throws(Errno) -> Int

  /// A descriptor of the file was closed (there may be more): the last place where a delayed
  /// write error reaches the program, and where the owner's POSIX locks end.
  func flush(_ handle: Handle, _ node: Node, lockOwner: UInt64, _ request: Request) throws(Errno)

  /// The last descriptor is closed and unmapped. Its error reaches nobody.
  func release(_ handle: Handle, _ node: Node)

  /// fsync(2), or fdatasync(2) with `dataOnly`; all that was answered before is on the disk after.
  func fsync(_ handle: Handle, dataOnly: Bool, _ request: Request) throws(Errno)

  /// Opens a directory.
  func opendir(_ node: Node, _ request: Request) throws(Errno) -> Opened

  /// Lists from a position (0, or the `next` of an entry) into the buffer, until it is full.
  func readdir(
    _ handle: Handle, _ node: Node, at position: Int64, into buffer: inout DirectoryBuffer,
    _ request: Request) throws(Errno)

  /// The same with a lookup of each entry: what a list that is followed by stat(2) wants.
  func readdirplus(
    _ handle: Handle, _ node: Node, at position: Int64, into buffer: inout DirectoryBuffer,
    _ request: Request) throws(Errno)

  /// The directory is closed.
  func releasedir(_ handle: Handle, _ node: Node)

  /// fsync(2) of a directory: the names in it, and with them what was answered before.
  func fsyncdir(_ handle: Handle, dataOnly: Bool, _ request: Request) throws(Errno)

  /// Space and limits of the file system.
  func statfs(_ node: Node, _ request: Request) throws(Errno) -> FileDescriptor.FileSystemStatus

  /// access(2); asked only without `default_permissions`. Not implemented: allowed.
  func access(_ node: Node, mask: Int32, _ request: Request) throws(Errno)

  /// Sets an attribute. The kernel has checked: the name's length (1 to 255), the value's (64 KiB),
  /// the flags, the type of object for `user.`, the caller for `trusted.`. The prefix it has not.
  func setxattr(
    _ name: [UInt8], _ value: [UInt8], _ flags: SetAttributeFlags, on node: Node,
    _ request: Request) throws(Errno)

  /// The value of an attribute; the binding answers a probe for its length, and `ERANGE`.
  func getxattr(_ name: [UInt8], of node: Node, _ request: Request)
    throws(Errno) -> ArraySlice<UInt8>

  /// The names, each ended by a NUL. The kernel filters nothing: not even `trusted.`.
  func listxattr(_ node: Node, _ request: Request) throws(Errno) -> ArraySlice<UInt8>

  /// Removes an attribute.
  func removexattr(_ name: [UInt8], from node: Node, _ request: Request) throws(Errno)

  /// What stands in the way of a POSIX lock. Not implemented: the kernel keeps locks by itself.
  func getlk(
    _ handle: Handle, _ node: Node, owner: UInt64, _ lock: RangeLock, _ request: Request
  ) throws(Errno) -> RangeLock

  /// Takes or drops a POSIX lock; `waits` until it can be had, or `EINTR`.
  func setlk(
    _ handle: Handle, _ node: Node, owner: UInt64, _ lock: RangeLock, waits: Bool,
    _ request: Request) throws(Errno)

  /// flock(2); `operation` is made of `LOCK_*`, and without `LOCK_NB` it waits.
  func flock(_ handle: Handle, _ node: Node, operation: Int32, _ request: Request) throws(Errno)

  /// Reserves or frees space. Not implemented: `EOPNOTSUPP`.
  func fallocate(
    _ handle: Handle, _ node: Node, mode: Int32, offset: Int64, length: Int64, _ request: Request
  ) throws(Errno)

  /// `SEEK_DATA` and `SEEK_HOLE` alone. Not implemented: all is data.
  func lseek(_ handle: Handle, to offset: Int64, whence: Int32, _ request: Request)
    throws(Errno) -> Int64

  /// Copies between two open files of this mount. Not implemented: the kernel reads and writes.
  func copyFileRange(
    from handle: Handle, at offset: Int64, to target: Handle, _ targetNode: Node,
    at targetOffset: Int64, count: Int, flags: UInt32, _ request: Request
  ) throws(Errno) -> Int
}
