public import FUSE
public import LinuxSystem
import SidecarStore

/// The contents of files.
extension Overlay {
  /// Opens a file of the source, as the caller.
  public func open(
    _ node: Node, flags: FileDescriptor.OpenFlags, _ request: Request
  ) throws(Errno) -> Opened {
    let inode = try inode(node)
    let wanted = sourceFlags(flags)
    let held = try inode.held()
    // Before the file is opened, which may cut it: what is refused must lose nothing.
    let passage = try passage(of: inode, flags, request)
    do throws(Errno) {
      let file = try descriptors.makingRoom { () throws(Errno) in
        try asCaller(request, opening: inode) { () throws(Errno) in
          try held.file.reopen(wanted)
        }
      }
      return opened(file, inode, flags, passage)
    } catch {
      // A program may be executed by who may not read it.
      guard error == .accessDenied, flags.contains(.execution) else { throw error }
      try asCaller(request, opening: inode) { () throws(Errno) in
        try held.file.checkAccess(1)
      }
      let file = try descriptors.makingRoom { () throws(Errno) in try held.file.reopen(wanted) }
      return opened(file, inode, flags, passage)
    }
  }

  /// An open file of the source as an answer.
  func opened(
    _ file: consuming FileDescriptor, _ inode: Inode, _ flags: FileDescriptor.OpenFlags,
    _ passage: Passage
  ) -> Opened {
    let handle = OpenFile(file, appends: flags.contains(.append))
    inode.withState { $0.opened = handle }
    return Opened(handle: handle, keepsCache: keepsPages(of: inode), passage: passage)
  }

  /// How a file of the source is opened for a caller's flags.
  ///
  /// Creating is a step of its own. With `O_DIRECT` the kernel passes by its own
  /// pages; the source's file is opened without, as its alignment is not that of our buffers.
  func sourceFlags(_ flags: FileDescriptor.OpenFlags) -> FileDescriptor.OpenFlags {
    flags.subtracting([.create, .exclusive, .noFollow, .direct, .temporary, .execution])
  }

  /// A part of the file, spliced to the kernel.
  public func read(
    _ handle: Handle, at offset: Int64, count: Int, _ request: Request
  ) throws(Errno) -> FileRange {
    FileRange(file: try openFile(handle).file.reference, offset: offset, count: count)
  }

  /// The bytes go from the kernel's pipe into the file.
  public func write(
    _ data: borrowing WriteData, to handle: Handle, _ node: Node, at offset: Int64,
    _ request: Request
  ) throws(Errno) -> Int {
    let open = try openFile(handle)
    try dropPrivileges(of: inode(node), request)
    try open.follow(appending: data.appends)
    return try data.copy(to: open.file, at: offset)
  }

  /// Closes a duplicate, which makes a network file system send what it still holds and say what
  /// became of it, where that can be; and the owner's POSIX locks end, as they do with any close(2) of
  /// the file.
  public func flush(
    _ handle: Handle, _ node: Node, lockOwner: UInt64, _ request: Request
  ) throws(Errno) {
    let inode = try inode(node)
    inode.locksIfAny?.release(owner: lockOwner)
    guard FileSystemKind.tellsAtClose(inode.volume.type) else { return }
    let open = try openFile(handle)
    let copy = try descriptors.makingRoom { () throws(Errno) in try open.file.duplicate() }
    try copy.close()
  }

  /// The descriptor closes with the handle.
  public func release(_ handle: Handle, _ node: Node) {
    guard let inode = try? inode(node) else { return }
    let locks = inode.withState { state in
      if state.opened === handle { state.opened = nil }
      return state.locks
    }
    locks?.release(handle: handle)
  }

  /// Data is on the disk after this, and so are the attributes that were set before it.
  public func fsync(_ handle: Handle, dataOnly: Bool, _ request: Request) throws(Errno) {
    let open = try openFile(handle)
    if dataOnly { try open.file.dataSync() } else { try open.file.sync() }
    try store.sync()
  }

  /// Space is reserved, freed or moved in the source.
  public func fallocate(
    _ handle: Handle, _ node: Node, mode: Int32, offset: Int64, length: Int64, _ request: Request
  ) throws(Errno) {
    try dropPrivileges(of: inode(node), request)
    try openFile(handle).file.allocate(mode: mode, offset: offset, length: length)
  }

  /// Holes are where the source has them.
  public func lseek(
    _ handle: Handle, to offset: Int64, whence: Int32, _ request: Request
  ) throws(Errno) -> Int64 {
    try openFile(handle).file.seek(to: offset, whence: whence)
  }

  /// Copied, or shared, by the source's own file system.
  public func copyFileRange(
    from handle: Handle, at offset: Int64, to target: Handle, _ targetNode: Node,
    at targetOffset: Int64, count: Int, flags: UInt32, _ request: Request
  ) throws(Errno) -> Int {
    try dropPrivileges(of: inode(targetNode), request)
    return try openFile(handle).file.copyRange(
      from: offset, to: openFile(target).file, at: targetOffset, count: count, flags: flags)
  }
}
