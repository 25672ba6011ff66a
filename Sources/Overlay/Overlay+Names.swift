import FUSE
import LinuxSystem
import SidecarStore

/// Changes of names on a file system whose objects are known by name: announced to the store, made
/// in the source, and settled.
extension Overlay {
  /// Tells the store that a name is about to go.
  private func announceRemoval(
    of victim: Inode, _ name: FileName, in parent: Inode
  ) throws(Errno) -> IntentID? {
    guard try isStored(victim) else { return nil }
    return try announce(
      Intent(
        .remove, key(of: victim), at: place(name, in: parent),
        fingerprint: Fingerprint(victim.held().file.status())))
  }

  /// Announces a change, for good where the source may keep the change itself when the power fails.
  private func announce(_ intent: Intent) throws(Errno) -> IntentID {
    try store.intend(intent, isDurable: !FileSystemKind.isInMemory(rootInode.volume.type))
  }

  /// A name that has moved is on the disk before the store may forget that it was about to. The
  /// source may have no way to be sure, as over a network.
  private func keep(_ directories: [HeldFile], announced intent: IntentID?) {
    guard intent != nil, !FileSystemKind.isInMemory(rootInode.volume.type) else { return }
    for directory in directories {
      do throws(Errno) {
        let open = try descriptors.makingRoom { () throws(Errno) in
          try directory.file.reopen([.readOnly, .directory])
        }
        try open.sync()
      } catch .invalidArgument {
        // There is nothing to sync.
      } catch {
        options.report("a change of names may not be on the disk: \(error)")
      }
    }
  }

  private func place(_ name: FileName, in parent: Inode) throws(Errno) -> Place {
    Place(directory: try lineage(of: parent).steps, name: name.bytes)
  }

  /// Removes a name by `change`, which is told how the directory spells it.
  func removeNamed(
    _ name: FileName, in parent: Inode, _ victim: Inode,
    _ change: (FileName) throws(Errno) -> Void
  ) throws(Errno) {
    let name = victim.name(in: parent, spelled: name)
    let intent = try announceRemoval(of: victim, name, in: parent)
    try make(announced: intent) { () throws(Errno) in try change(name) }
    Rehearsal.pass(.unlinked)
    try lostNamed(name, in: parent, victim)
    settle(intent)
    // Whoever set the first attribute meanwhile has entered a name that is gone.
    if intent == nil { disown(victim, name, in: parent) }
    dropUnknown(victim)
  }

  /// Moves a name, or swaps two, whatever spellings lead to them.
  func renameNamed(
    _ name: FileName, in parent: Inode, _ moved: Inode, to newName: FileName,
    in newParent: Inode, _ victim: Inode?, _ flags: FileDescriptor.RenameFlags
  ) throws(Errno) {
    let name = moved.name(in: parent, spelled: name)
    let taken = victim?.name(in: newParent, spelled: newName) ?? newName
    if taken == newName || !moved.volume.folds {
      return try renameListed(name, in: parent, moved, to: newName, in: newParent, victim, flags)
    }
    if newParent === parent, taken == name {
      // The object itself is to be spelled otherwise.
      return try renameListed(name, in: parent, moved, to: newName, in: parent, nil, flags)
    }
    // In place of an object that is spelled otherwise: two changes, each of which can be told from
    // its names when it is cut off.
    try renameListed(name, in: parent, moved, to: taken, in: newParent, victim, flags)
    guard !flags.contains(.exchange) else { return }
    // Refused, it leaves the spelling that was there.
    try? renameListed(taken, in: newParent, moved, to: newName, in: newParent, nil, [])
  }

  /// Moves a name that the directory lists.
  private func renameListed(
    _ name: FileName, in parent: Inode, _ moved: Inode, to newName: FileName,
    in newParent: Inode, _ victim: Inode?, _ flags: FileDescriptor.RenameFlags
  ) throws(Errno) {
    let directory = try parent.held()
    let newDirectory = try newParent.held()
    if name == newName, parent === newParent {
      return try directory.file.rename(name, to: newDirectory.file, newName, flags)
    }
    let isMovedStored = try isStored(moved)
    let isVictimStored = try victim.map { (victim) throws(Errno) in try isStored(victim) } ?? false
    var intent: IntentID?
    if isMovedStored || isVictimStored {
      intent = try announce(
        Intent(
          flags.contains(.exchange) ? .exchange : .rename,
          isMovedStored ? key(of: moved) : nil, at: place(name, in: parent),
          other: isVictimStored
            ? victim.map { (victim) throws(Errno) in try key(of: victim) } : nil,
          to: place(newName, in: newParent),
          fingerprint: Fingerprint(moved.held().file.status())))
    }
    try make(announced: intent) { () throws(Errno) in
      try directory.file.rename(name, to: newDirectory.file, newName, flags)
    }
    Rehearsal.pass(.renamed)
    let isExchange = flags.contains(.exchange)
    if victim != nil, !isExchange, !flags.contains(.whiteout),
      (try? parent.held().file.status(of: name)) != nil
    {
      // Two names of one object: rename(2) has done nothing.
      withdraw(intent)
      return
    }
    if let victim, isExchange {
      displace(moved)
      move(victim, to: name, in: parent)
    } else if let victim {
      try lostNamed(newName, in: newParent, victim)
    }
    move(moved, to: newName, in: newParent)
    keep(parent === newParent ? [directory] : [newDirectory, directory], announced: intent)
    settle(intent)
    if victim == nil, !newName.isListedAsSpelled {
      correctName(of: moved, asked: newName, in: newParent)
    }
    if intent == nil, let victim, !isExchange { disown(victim, newName, in: newParent) }
    if let victim, !isExchange { dropUnknown(victim) }
  }

  /// Makes a change in the source; the announcement is taken back when it is refused.
  private func make(
    announced intent: IntentID?, _ change: () throws(Errno) -> Void
  ) throws(Errno) {
    if intent != nil { Rehearsal.pass(.announced) }
    do throws(Errno) {
      try change()
    } catch {
      withdraw(intent)
      throw error
    }
  }

  private func settle(_ intent: IntentID?) {
    guard let intent else { return }
    do throws(Errno) {
      _ = try store.settle(intent)
      Rehearsal.pass(.settled)
    } catch {
      // It is still announced: the next mount looks at the names.
      report("the store did not take note of a change of names", error)
    }
  }

  private func withdraw(_ intent: IntentID?) {
    guard let intent else { return }
    do throws(Errno) {
      try store.withdraw(intent)
    } catch {
      report("the store did not take back a change of names", error)
    }
  }

  /// The only name of an inode is gone; the object may have others, with inodes of their own.
  private func lostNamed(_ name: FileName, in parent: Inode, _ removed: Inode) throws(Errno) {
    let held = try removed.held()
    let key = NodeKey.entry(parent: parent.serial, name: name)
    for inode in [removed, nodes.find(key)].compactMap({ $0 }) {
      _ = nodes.rekey(inode, to: .nameless(inode.serial))
      inode.lost(name, in: parent, isLast: true, held)
    }
  }

  private func disown(_ inode: Inode, _ name: FileName, in parent: Inode) {
    do throws(Errno) {
      guard try isStored(inode), let parent = try storedKey(of: parent) else { return }
      try store.unlink(
        key(of: inode), Entry(parent: parent, name: name.bytes), isLast: true)
    } catch {
      report("the store did not take note of a removal", error)
    }
  }

  /// Nobody has it open who would be asked to forget it.
  private func dropUnknown(_ inode: Inode) {
    if !nodes.contains(inode) { dropIfOrphan(inode) }
  }

  /// Another object is where an inode was; it waits to be forgotten.
  func displace(_ inode: Inode) {
    _ = nodes.rekey(inode, to: .nameless(inode.serial))
    if inode.naming == .byName { inode.withState { $0.entry = nil } }
  }

  /// An inode is found under another name from now on.
  func move(_ inode: Inode, to name: FileName, in parent: Inode) {
    let key = NodeKey.entry(parent: parent.serial, name: name)
    while let other = nodes.rekey(inode, to: key), other !== inode { displace(other) }
    inode.saw(name, in: parent)
  }

  /// A name for an object that is known by names: whatever the store has under it is another's.
  func vacate(_ name: FileName, in parent: Inode) throws(Errno) {
    guard let parent = try storedKey(of: parent, asksAgain: true) else { return }
    let entry = Entry(parent: parent, name: name.bytes)
    if try store.object(at: entry) != nil { try store.vacate(entry, because: .reusedKey) }
  }

  /// Gives one more name to an object that is known by its names: both lead to one object of the
  /// store from now on.
  func linkNamed(_ target: Inode, to name: FileName, in parent: Inode) throws(Errno) -> Inode {
    let held = try target.held()
    let directory = try parent.held()
    if target.withState({ $0.entry == nil }) {
      try directory.file.link(held.file, as: name)
      Rehearsal.pass(.linked)
      return try undoing(name, in: directory) { () throws(Errno) in
        try revive(target, as: name, in: parent)
      }
    }
    // The kernel asks for a name that is free. One that is taken all the same is refused before
    // anything is announced of it.
    if (try? directory.file.status(of: name)) != nil { throw .exists }
    try vacate(name, in: parent)
    let object = try key(of: target)
    try store.enter(object, type: target.type, at: lineage(of: target).steps)
    let shared = target.withState { $0.shared }
    shared?.record.withLock { $0.isStoredNow() }
    guard let entry = target.withState({ $0.entry }) else { throw .stale }
    // When the power fails and takes it along, the new name is another file's: nothing is lost.
    let intent = try store.intend(
      Intent(
        .link, object, at: place(entry.name, in: entry.parent), to: place(name, in: parent),
        fingerprint: Fingerprint(held.file.status())))
    try make(announced: intent) { () throws(Errno) in
      try directory.file.link(held.file, as: name)
    }
    Rehearsal.pass(.linked)
    return try undoing(name, in: directory, intent) { () throws(Errno) in
      _ = try store.settle(intent)
      Rehearsal.pass(.settled)
      let file = try open(name, in: directory)
      let status = try file.file.status()
      // Something was mounted there meanwhile.
      guard status.device == target.volume.device else { throw .stale }
      let made = Inode(
        file, status, target.volume, .byName, .entry(parent: parent.serial, name: name))
      made.withState { $0.identity = object.bytes }
      made.saw(name, in: parent)
      if let stale = nodes.find(.entry(parent: parent.serial, name: name)) { displace(stale) }
      return try retained(made, status)
    }
  }

  /// An object without a name has one again.
  private func revive(
    _ target: Inode, as name: FileName, in parent: Inode
  ) throws(Errno) -> Inode {
    try vacate(name, in: parent)
    let wasStored = try isStored(target)
    move(target, to: name, in: parent)
    target.withState { $0.isOrphan = false }
    if wasStored {
      try store.enter(key(of: target), type: target.type, at: lineage(of: target).steps)
    }
    return nodes.retain(orInsert: target)
  }

  /// What follows a new name; when it fails the name is taken away again.
  private func undoing(
    _ name: FileName, in directory: HeldFile, _ intent: IntentID? = nil,
    _ body: () throws(Errno) -> Inode
  ) throws(Errno) -> Inode {
    do throws(Errno) {
      return try body()
    } catch {
      try? directory.file.unlink(name)
      withdraw(intent)
      throw error
    }
  }
}

extension Fingerprint {
  init(_ status: FileStatus) {
    self.init(type: status.type, size: status.size, modified: status.modified)
  }
}
