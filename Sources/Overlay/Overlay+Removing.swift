public import FUSE
public import LinuxSystem
import SidecarStore

/// Removing and moving names. The source changes first, then the store: a crash between the two
/// leaves a record without an object, which does no harm, never an object with another's record.
extension Overlay {
  /// Removes a name; the object's record goes when nobody has the object open.
  public func unlink(_ name: FileName, in parent: Node, _ request: Request) throws(Errno) {
    try remove(name, in: inode(parent)) { (directory, name) throws(Errno) in
      try directory.file.unlink(name)
    }
  }

  /// Removes an empty directory.
  public func rmdir(_ name: FileName, in parent: Node, _ request: Request) throws(Errno) {
    try remove(name, in: inode(parent)) { (directory, name) throws(Errno) in
      try directory.file.removeDirectory(name)
    }
  }

  private func remove(
    _ name: FileName, in parent: Inode,
    by change: (HeldFile, FileName) throws(Errno) -> Void
  ) throws(Errno) {
    if isReserved(name, in: parent) { throw .noEntry }
    let victim = try peek(name, in: parent)
    let held = try victim.held()
    let directory = try parent.held()
    if victim.naming == .byName {
      return try removeNamed(name, in: parent, victim) { (name) throws(Errno) in
        try change(directory, name)
      }
    }
    try change(directory, name)
    Rehearsal.pass(.unlinked)
    lostName(name, in: parent, victim, held)
  }

  /// Moves a name, or swaps two.
  public func rename(
    _ name: FileName, in parent: Node, to newName: FileName, in newParent: Node,
    _ flags: FileDescriptor.RenameFlags, _ request: Request
  ) throws(Errno) {
    let parent = try inode(parent)
    let newParent = try inode(newParent)
    if isReserved(name, in: parent) { throw .noEntry }
    try refuseReserved(newName, in: newParent)
    let moved = try peek(name, in: parent)
    let victim = try peekIfPresent(newName, in: newParent)
    let heldVictim = try victim?.held()
    let directory = try parent.held()
    let newDirectory = try newParent.held()
    if moved.naming == .byName {
      try renameNamed(name, in: parent, moved, to: newName, in: newParent, victim, flags)
      if flags.contains(.whiteout) { try vacate(name, in: parent) }
      return
    }
    try directory.file.rename(name, to: newDirectory.file, newName, flags)
    Rehearsal.pass(.renamed)

    // Two names of one object: rename(2) does nothing.
    if let victim, victim.id == moved.id { return }
    if let victim, flags.contains(.exchange) {
      hasMoved(victim, from: newName, in: newParent, to: name, in: parent)
    } else if let victim, let heldVictim {
      lostName(newName, in: newParent, victim, heldVictim)
    }
    hasMoved(moved, from: name, in: parent, to: newName, in: newParent)
    if flags.contains(.whiteout) {
      do throws(Errno) {
        try startAnew(peek(name, in: parent))
      } catch {
        report("the store could not be asked about a whiteout", error)
      }
    }
  }

  private func peekIfPresent(_ name: FileName, in parent: Inode) throws(Errno) -> Inode? {
    do throws(Errno) {
      return try peek(name, in: parent)
    } catch {
      if error == .noEntry { return nil }
      throw error
    }
  }

  private func hasMoved(
    _ inode: Inode, from name: FileName, in parent: Inode, to newName: FileName,
    in newParent: Inode
  ) {
    inode.moved(from: name, in: parent, to: newName, in: newParent)
    guard inode.volume.key != nil else { return }
    do throws(Errno) {
      guard try isStored(inode) else { return }
      let lineage = try lineage(of: inode)
      try store.move(
        key(of: inode), from: Entry(parent: key(of: parent), name: name.bytes),
        to: lineage.steps)
      dropDead(lineage.ancestors)
    } catch {
      // The handle still leads to the record; only the way back after a restore is out of date.
      report("the store did not take note of a rename", error)
    }
  }
}
