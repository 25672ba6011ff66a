public import FUSE
public import LinuxSystem
import SidecarStore

/// From names to inodes, and what becomes of an inode that the kernel forgets.
extension Overlay {
  /// Looks a name up; the inode is held by descriptor from then on until it is forgotten.
  public func lookup(
    _ name: FileName, in parent: Node, _ request: Request
  ) throws(Errno) -> NodeEntry {
    let parent = try inode(parent)
    if isReserved(name, in: parent) { throw .noEntry }
    return try entry(name, in: parent)
  }

  /// The object is no longer named by the kernel; an orphan ends here.
  public func forget(_ node: Node, lookups: UInt64) {
    guard let inode = node as? Inode else { return }
    if nodes.release(inode.id, inode, lookups: lookups) { dropIfOrphan(inode) }
  }

  /// The inode under a name, known to the kernel with one lookup more.
  func entry(_ name: FileName, in parent: Inode) throws(Errno) -> NodeEntry {
    try entry(of: parent.file.open(name, [.path, .noFollow]), name, in: parent)
  }

  /// The inode that a descriptor holds, known to the kernel with one lookup more.
  ///
  /// Without a name for a nameless file.
  func entry(
    of file: consuming FileDescriptor, _ name: FileName?, in parent: Inode
  ) throws(Errno) -> NodeEntry {
    try refuseOurselves(file)
    let status = try file.status()
    let id = FileID(status)
    if let hiddenID = hidden.id, id == hiddenID { throw .noEntry }
    let inode: Inode
    if let known = nodes.retain(id) {
      inode = known
    } else {
      let volume = try volumes.volume(of: file, status)
      inode = nodes.retain(id, orInsert: Inode(file, status, volume))
    }
    if let name, inode !== rootInode { inode.saw(name, in: parent) }
    return NodeEntry(
      node: inode, status: shown(status, of: inode), timeouts: options.cache.timeouts)
  }

  /// The inode under a name, whether the kernel knows it or not; its lookups stay as they are.
  func peek(_ name: FileName, in parent: Inode) throws(Errno) -> Inode {
    let file = try parent.file.open(name, [.path, .noFollow])
    try refuseOurselves(file)
    let status = try file.status()
    if let known = nodes.find(FileID(status)) { return known }
    let volume = try volumes.volume(of: file, status)
    return Inode(file, status, volume)
  }

  /// `ELOOP` for what our own mount shows: each question about it would be one to ourselves, asked
  /// by a thread that is to answer questions, and there is no end to a mount that shows itself.
  private func refuseOurselves(_ file: borrowing FileDescriptor) throws(Errno) {
    guard let device = shownAs.withLock({ $0 }) else { return }
    if try file.rememberedDevice() == device { throw .loop }
  }

  /// Whether a name is the store's, so that nobody may make or find it.
  func isReserved(_ name: FileName, in parent: Inode) -> Bool {
    parent === rootInode && name == HiddenStore.reservedName
  }

  /// Refuses to make the store's name.
  func refuseReserved(_ name: FileName, in parent: Inode) throws(Errno) {
    if isReserved(name, in: parent) { throw .notPermitted }
  }

  /// A name of an object is gone. When it was the last, the object is an orphan: dead as soon as
  /// nobody has it open, and its record with it.
  func lostName(_ name: FileName, in parent: Inode, _ removed: Inode) {
    // Since it was peeked at, the kernel may have come to know it.
    let inode = nodes.find(removed.id) ?? removed
    inode.lost(name, in: parent)
    do throws(Errno) {
      let isLast = try inode.file.status().links == 0
      if isLast { inode.state.withLock { $0.isOrphan = true } }
      guard inode.volume.key != nil, let isStored = try? isStored(inode), isStored else { return }
      let lost = Entry(parent: try parent.key(), name: name.bytes)
      try store.unlink(try inode.key(), lost, isLast: isLast)
      if isLast, nodes.find(inode.id) == nil { dropIfOrphan(inode) }
    } catch {
      // The name is gone, whatever the store says: the record waits for a check.
      options.report("the store did not take note of a removal: \(error)")
    }
  }

  /// Directories were made known to the store on the way to an object. One that was removed
  /// meanwhile is known too late for whoever removed it, and known to nobody who would drop it.
  func dropDead(_ ancestors: [Inode]) {
    for inode in ancestors {
      do throws(Errno) {
        guard try inode.file.status().links == 0, nodes.find(inode.id) == nil else { continue }
        try store.discard(try inode.key())
      } catch {
        options.report("the store did not take note of a removal: \(error)")
      }
    }
  }

  /// Nobody can reach the inode any more. If its last name is gone too, so is the object.
  func dropIfOrphan(_ inode: Inode) {
    guard inode.state.withLock({ $0.isOrphan }), inode.volume.key != nil else { return }
    do throws(Errno) {
      // Underneath, a nameless file may have been given a name.
      guard try inode.file.status().links == 0, try isStored(inode) else { return }
      try store.discard(try inode.key())
    } catch {
      options.report("the store did not take note of a removal: \(error)")
    }
  }
}
