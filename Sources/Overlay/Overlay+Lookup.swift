public import FUSE
public import LinuxSystem
import SidecarStore
import Synchronization

/// From names to inodes, and what becomes of an inode that the kernel forgets.
extension Overlay {
  /// Looks a name up; the inode stands for the object from then on until it is forgotten.
  public func lookup(
    _ name: FileName, in parent: Node, _ request: Request
  ) throws(Errno) -> NodeEntry {
    let parent = try inode(parent)
    if isReserved(name, in: parent) { throw .noEntry }
    return try entry(name, in: parent)
  }

  /// The object is no longer named by the kernel; an orphan ends here.
  public func forget(_ node: Node, lookups: UInt64) {
    if let spelling = node as? Spelling, spellings.release(spelling, lookups: lookups) {
      return forget(spelling.inode, lookups: 1)
    }
    guard let inode = node as? Inode else { return }
    guard nodes.release(inode, lookups: lookups) else { return }
    dropIfOrphan(inode)
    inode.leave()
  }

  /// What a directory has under a name, held.
  ///
  /// `ELOOP` for what our own mount shows: each question about it would be one to ourselves, asked
  /// by a thread that is to answer questions, and there is no end to a mount that shows itself.
  func open(_ name: FileName, in directory: HeldFile) throws(Errno) -> HeldFile {
    do throws(Errno) {
      return HeldFile(
        try descriptors.makingRoom { () throws(Errno) in
          try directory.file.openHere(name, [.path, .noFollow])
        })
    } catch {
      // Before Linux 5.6, or where a container does not let us, nothing tells what is mounted there.
      guard error == .crossDevice || error == .notImplemented || error == .notPermitted else {
        throw error
      }
    }
    let found = HeldFile(
      try descriptors.makingRoom { () throws(Errno) in
        try directory.file.open(name, [.path, .noFollow])
      })
    if let device = shownAs.withLock({ $0 }), try found.file.rememberedDevice() == device {
      throw .loop
    }
    return found
  }

  /// What a name leads to, if that is an inode which holds its object: then nothing has to be opened.
  ///
  /// Two objects never have one number at the same time. So what had this number when the name was
  /// looked at is the object that was held before and is held after. Only on the source's own file
  /// system, and where that is not reached over a network: there a look costs more than an opening.
  private func held(
    _ name: FileName, in parent: Inode
  ) throws(Errno) -> (inode: Inode, status: FileStatus)? {
    let volume = parent.volume
    guard volume === volumes.source, volume.key?.kind != .path,
      !FileSystemKind.isRemote(volume.type)
    else { return nil }
    let directory = try parent.held()
    let before = HeldFile.now
    let status = try directory.file.rememberedStatus(of: name)
    let id = FileID(status)
    guard status.device == volume.device, id != hidden.id, let inode = nodes.find(.number(id)),
      inode.naming == .byNumber, inode.type == status.type,
      let held = inode.withState({ $0.held }), held.wasOpen(at: before)
    else { return nil }
    inode.wasUsed.store(true, ordering: .relaxed)
    return (inode, status)
  }

  /// The inode under a name, known to the kernel with one lookup more.
  ///
  /// `isListed` says that the directory has just listed the very name.
  func entry(
    _ name: FileName, in parent: Inode, isListed: Bool = false
  ) throws(Errno) -> NodeEntry {
    if let (inode, status) = try held(name, in: parent), nodes.retain(inode) {
      return entered(inode, status, name, name, in: parent)
    }
    let (file, own) = try isListed ? (open(name, in: parent.held()), name) : find(name, in: parent)
    let status = try file.file.status()
    let volume = try volumes.volume(of: file.file, status)
    if let hiddenID = hidden.id, FileID(status) == hiddenID, !volume.inventsNumbers {
      throw .noEntry
    }
    let inode = try retained(file, status, volume, own ?? name, in: parent)
    if own == nil { inode.withState { $0.isUnlisted = true } }
    return entered(inode, status, name, own ?? name, in: parent)
  }

  private func entered(
    _ inode: Inode, _ status: FileStatus, _ name: FileName, _ own: FileName, in parent: Inode
  ) -> NodeEntry {
    if inode !== rootInode { inode.saw(own, in: parent, links: status.links) }
    let node = node(for: inode, spelled: name, in: parent)
    let shown = shown(status, of: node, inode)
    nameIfNameless(inode)
    return NodeEntry(node: node, status: shown, timeouts: timeouts(for: inode))
  }

  /// The inode of what was opened, with one lookup more.
  private func retained(
    _ file: HeldFile, _ status: FileStatus, _ volume: Volume, _ name: FileName, in parent: Inode
  ) throws(Errno) -> Inode {
    let (naming, key) = naming(on: volume, status, name, in: parent)
    if let known = key.flatMap({ nodes.retain($0) }),
      let inode = try confirmed(known, file, status)
    {
      return inode
    }
    return try retained(Inode(file, status, volume, naming, key), status)
  }

  /// The inode, or another of the same object that the kernel knows, with one lookup more.
  func retained(_ made: Inode, _ status: FileStatus) throws(Errno) -> Inode {
    let file = try made.held()
    while true {
      let inode = nodes.retain(orInsert: made)
      if inode === made {
        made.enter()
        return made
      }
      if let inode = try confirmed(inode, file, status) { return inode }
    }
  }

  /// An inode that was found in the table and retained, if it is that of the open file. If not, its
  /// object is gone and its number or name is another's: the kernel will forget it some time.
  private func confirmed(
    _ inode: Inode, _ file: HeldFile, _ status: FileStatus
  ) throws(Errno) -> Inode? {
    do throws(Errno) {
      if try inode.isSame(as: file, status) { return inode }
    } catch {
      forget(inode, lookups: 1)
      throw error
    }
    displace(inode)
    forget(inode, lookups: 1)
    return nil
  }

  /// The inode under a name, whether the kernel knows it or not; its lookups stay as they are. It
  /// holds its object.
  func peek(_ name: FileName, in parent: Inode) throws(Errno) -> Inode {
    if let (inode, _) = try held(name, in: parent) { return inode }
    let (file, own) = try find(name, in: parent)
    let status = try file.file.status()
    let volume = try volumes.volume(of: file.file, status)
    let (naming, key) = naming(on: volume, status, own ?? name, in: parent)
    if let known = key.flatMap({ nodes.find($0) }), try known.isSame(as: file, status) {
      return known
    }
    let inode = Inode(file, status, volume, naming, key)
    inode.saw(own ?? name, in: parent, links: status.links)
    if own == nil { inode.withState { $0.isUnlisted = true } }
    return inode
  }

  /// Whether a name is the store's, so that nobody may make or find it.
  func isReserved(_ name: FileName, in parent: Inode) -> Bool {
    guard parent === rootInode else { return false }
    return name == HiddenStore.reservedName
      || parent.volume.folds
        && SpellingRule.cut.folded(name) == SpellingRule.cut.folded(HiddenStore.reservedName)
  }

  /// Refuses to make the store's name.
  func refuseReserved(_ name: FileName, in parent: Inode) throws(Errno) {
    if isReserved(name, in: parent) { throw .notPermitted }
  }

  /// A name of an object is gone. When it was the last, the object is an orphan: dead as soon as
  /// nobody has it open, and its record with it.
  ///
  /// `held` is the object, held since before its name went: by its name it could not be found again.
  func lostName(
    _ name: FileName, in parent: Inode, _ removed: Inode, _ held: HeldFile
  ) {
    do throws(Errno) {
      let inode = try current(removed, held)
      let isLast = try held.file.status().links == 0
      inode.lost(name, in: parent, isLast: isLast, held)
      findAnotherName(of: inode, held)
      guard inode.volume.key != nil, let isStored = try? isStored(inode), isStored else { return }
      let lost = Entry(parent: try key(of: parent), name: name.bytes)
      try store.unlink(try key(of: inode), lost, isLast: isLast)
      if !isLast { try keepNamed(inode) }
      if isLast, !nodes.contains(inode) { dropIfOrphan(inode) }
    } catch {
      // The name is gone, whatever the store says: the record waits for a check.
      report("the store did not take note of a removal", error)
    }
  }

  /// Since it was peeked at, the kernel may have come to know an object.
  private func current(_ peeked: Inode, _ held: HeldFile) throws(Errno) -> Inode {
    guard let known = nodes.find(.number(peeked.id)), known !== peeked,
      try known.isSame(as: held, held.file.status())
    else { return peeked }
    return known
  }

  /// Directories were made known to the store on the way to an object. One that was removed
  /// meanwhile is known too late for whoever removed it, and known to nobody who would drop it.
  func dropDead(_ ancestors: [Inode]) {
    for inode in ancestors {
      do throws(Errno) {
        if inode.naming == .byName {
          guard inode.withState({ $0.isOrphan }) else { continue }
          let key = try key(of: inode)
          try store.unlink(key, Entry(parent: key, name: []), isLast: true)
          if !nodes.contains(inode) { try store.discard(key) }
          continue
        }
        guard !nodes.contains(inode), try inode.held().file.status().links == 0 else { continue }
        try store.discard(key(of: inode))
      } catch .stale {
        // Removed or moved underneath; which of the two, only a check of the store can tell.
      } catch {
        report("the store did not take note of a removal", error)
      }
    }
  }

  /// Nobody can reach the inode any more. If its last name is gone too, so is the object.
  func dropIfOrphan(_ inode: Inode) {
    guard inode.withState({ $0.isOrphan }), inode.volume.key != nil else { return }
    do throws(Errno) {
      if inode.naming == .byName { return try dropIfUnused(inode) }
      guard try isStored(inode) else { return }
      if try inode.held().file.status().links == 0 {
        try store.discard(key(of: inode))
      } else {
        // Underneath, it was given a name.
        try store.link(key(of: inode), at: [])
      }
    } catch {
      report("the store did not take note of a removal", error)
    }
  }

  /// The object of an inode without a name may have other names, and other inodes.
  private func dropIfUnused(_ inode: Inode) throws(Errno) {
    guard let key = try storedKey(of: inode) else { return }
    inode.withState { $0.shared = nil }
    guard !records.isUsed(key), try store.record(of: key)?.isOrphan == true else { return }
    try store.discard(key)
  }
}
