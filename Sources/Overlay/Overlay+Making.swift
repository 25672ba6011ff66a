public import FUSE
public import LinuxSystem
import SidecarStore

/// Making objects, and further names for them.
extension Overlay {
  /// Makes a fifo, socket, device node or empty file as the caller's.
  public func mknod(
    _ name: FileName, in parent: Node, mode: UInt32, device: UInt64, _ request: Request
  ) throws(Errno) -> NodeEntry {
    let parent = try inode(parent)
    try refuseReserved(name, in: parent)
    let directory = try parent.held()
    try making(request) { () throws(Errno) in
      try directory.file.makeNode(name, mode: mode, device: device)
    }
    return try newEntry(name, in: parent)
  }

  /// Makes a directory as the caller's.
  public func mkdir(
    _ name: FileName, in parent: Node, mode: UInt32, _ request: Request
  ) throws(Errno) -> NodeEntry {
    let parent = try inode(parent)
    try refuseReserved(name, in: parent)
    let directory = try parent.held()
    try making(request) { () throws(Errno) in try directory.file.makeDirectory(name, mode: mode) }
    return try newEntry(name, in: parent, isDirectory: true)
  }

  /// Makes a symbolic link as the caller's.
  public func symlink(
    _ name: FileName, in parent: Node, to target: FileName, _ request: Request
  ) throws(Errno) -> NodeEntry {
    let parent = try inode(parent)
    try refuseReserved(name, in: parent)
    let directory = try parent.held()
    try making(request) { () throws(Errno) in
      try directory.file.makeSymbolicLink(name, to: target)
    }
    return try newEntry(name, in: parent)
  }

  /// Makes and opens a file. One that somebody made underneath a moment ago is opened as it is,
  /// unless `O_EXCL` forbids.
  public func create(
    _ name: FileName, in parent: Node, mode: UInt32, flags: FileDescriptor.OpenFlags,
    _ request: Request
  ) throws(Errno) -> (NodeEntry, Opened) {
    let parent = try inode(parent)
    try refuseReserved(name, in: parent)
    let wanted = sourceFlags(flags)
    let directory = try parent.held()
    do throws(Errno) {
      let file = try descriptors.makingRoom { () throws(Errno) in
        try making(request) { () throws(Errno) in
          try directory.file.open(name, wanted.union([.create, .exclusive]), mode: mode)
        }
      }
      return try newFile(file, name, in: parent, flags, request)
    } catch {
      guard error == .exists, !flags.contains(.exclusive) else { throw error }
    }
    let entry = try entry(name, in: parent)
    do throws(Errno) {
      return (entry, try open(entry.node, flags: flags, request))
    } catch {
      forget(entry.node, lookups: 1)
      throw error
    }
  }

  /// Makes a file without a name. It is an orphan from the start: gone when it is closed, unless
  /// linkat(2) gives it a name.
  public func tmpfile(
    in parent: Node, mode: UInt32, flags: FileDescriptor.OpenFlags, _ request: Request
  ) throws(Errno) -> (NodeEntry, Opened) {
    let parent = try inode(parent)
    let exclusive = flags.intersection(.exclusive)
    let wanted = sourceFlags(flags).union([.temporary, exclusive])
    let directory = try parent.held()
    let file = try descriptors.makingRoom { () throws(Errno) in
      try making(request) { () throws(Errno) in
        try directory.file.open(FileName("."), wanted, mode: mode)
      }
    }
    return try newFile(file, nil, in: parent, flags, request)
  }

  /// One more name for an object; an orphan comes back to life.
  public func link(
    _ node: Node, to newName: FileName, in newParent: Node, _ request: Request
  ) throws(Errno) -> NodeEntry {
    let parent = try inode(newParent)
    let target = try inode(node)
    try refuseReserved(newName, in: parent)
    let wasOrphan = target.withState { $0.isOrphan }
    let held = try target.held()
    let directory = try parent.held()
    if target.naming == .byName {
      let inode = try linkNamed(target, to: newName, in: parent)
      return NodeEntry(
        node: inode, status: shown(try inode.held().file.status(), of: inode, inode),
        timeouts: timeouts(for: inode))
    }
    try directory.file.link(held.file, as: newName)
    Rehearsal.pass(.linked)
    target.withState { $0.isOrphan = false }
    do throws(Errno) {
      let entry = try entry(newName, in: parent)
      do throws(Errno) {
        if target.volume.key != nil, try isStored(target) {
          let lineage = try lineage(of: target)
          try store.link(key(of: target), at: lineage.steps)
          dropDead(lineage.ancestors)
        }
        return entry
      } catch {
        forget(entry.node, lookups: 1)
        throw error
      }
    } catch {
      // An orphan that the store takes for one must not have a name.
      try? directory.file.unlink(newName)
      target.withState { $0.isOrphan = wasOrphan }
      throw error
    }
  }

  /// The entry of an object that was made under a name. What cannot be entered is taken away again.
  private func newEntry(
    _ name: FileName, in parent: Inode, isDirectory: Bool = false
  ) throws(Errno) -> NodeEntry {
    let directory = try parent.held()
    do throws(Errno) {
      return try newEntry(of: open(name, in: directory), name, in: parent)
    } catch {
      try? isDirectory ? directory.file.removeDirectory(name) : directory.file.unlink(name)
      throw error
    }
  }

  private func newEntry(
    of file: HeldFile, _ name: FileName?, in parent: Inode
  ) throws(Errno) -> NodeEntry {
    let status = try file.file.status()
    let volume = try volumes.volume(of: file.file, status)
    let listed = try name.flatMap { (name) throws(Errno) in
      try listedName(ofNew: name, status, volume, in: parent)
    }
    let own = listed ?? name
    let (naming, key) = naming(on: volume, status, own, in: parent)
    Rehearsal.pass(.made)
    if naming == .byName, let own, let key {
      try vacate(own, in: parent)
      // What is in the table under a name where nothing was is out of date.
      if let stale = nodes.find(key) { displace(stale) }
    }
    let made = Inode(file, status, volume, naming, key)
    if name == nil { made.withState { $0.isOrphan = true } }
    // Before the kernel hears of it, so that it never sees attributes of another object.
    try startAnew(made)
    let inode = try retained(made, status)
    guard let name, let own else {
      return NodeEntry(
        node: inode, status: shown(status, of: inode, inode), timeouts: timeouts(for: inode))
    }
    inode.saw(own, in: parent)
    if listed == nil { inode.withState { $0.isUnlisted = true } }
    let node = node(for: inode, spelled: name, in: parent)
    return NodeEntry(
      node: node, status: shown(status, of: node, inode), timeouts: timeouts(for: inode))
  }

  private func newFile(
    _ file: consuming FileDescriptor, _ name: FileName?, in parent: Inode,
    _ flags: FileDescriptor.OpenFlags, _ request: Request
  ) throws(Errno) -> (NodeEntry, Opened) {
    do throws(Errno) {
      let held = HeldFile(
        try descriptors.makingRoom { () throws(Errno) in try file.reopen(.path) })
      let entry = try newEntry(of: held, name, in: parent)
      do throws(Errno) {
        let inode = try inode(entry.node)
        return (
          entry, opened(file, inode, flags, try passage(of: inode, flags, request, entry.status))
        )
      } catch {
        forget(entry.node, lookups: 1)
        throw error
      }
    } catch {
      if let name { try? parent.held().file.unlink(name) }
      throw error
    }
  }
}
