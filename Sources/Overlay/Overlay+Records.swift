import AttributeModel
import FUSE
import LinuxSystem
import SidecarStore
import Synchronization

/// What the store keeps of an inode, held in memory once it was read.
extension Overlay {
  /// Runs `body` with what is kept of an inode, read from the store if need be, under its lock.
  ///
  /// Without a key for an object that the store does not know by its name, unless one has to be
  /// made.
  func withRecord<Result: Sendable>(
    of inode: Inode, makesKey: Bool = false,
    _ body: (inout InodeRecord, ObjectKey?) throws(Errno) -> Result
  ) throws(Errno) -> Result {
    guard let key = try makesKey ? key(of: inode) : storedKey(of: inode) else {
      var nothing = InodeRecord()
      return try body(&nothing, nil)
    }
    var isKept = false
    defer { if isKept { inode.volume.attributes.add(inode) } }
    if inode.naming == .byName {
      return try sharedRecord(of: inode, key).record.withLock { (cached) throws(Errno) in
        if !cached.isKnown {
          try fill(&cached, inode) { () throws(Errno) in try load(key, inode.type) }
        }
        return try use(&cached, inode, key, &isKept, body)
      }
    }
    // Before the lock is taken: to open it again takes the locks of directories above.
    let held = inode.withState { $0.record.isKnown } ? nil : try inode.held()
    return try inode.withState { (state) throws(Errno) in
      if !state.record.isKnown, let held {
        let isOrphan = state.isOrphan
        try fill(&state.record, inode) { () throws(Errno) in
          try load(key, inode.type, held, isOrphan: isOrphan)
        }
      }
      return try use(&state.record, inode, key, &isKept, body)
    }
  }

  private func fill(
    _ cached: inout CachedRecord, _ inode: Inode, _ load: () throws(Errno) -> InodeRecord
  ) throws(Errno) {
    cached.put(try load())
    inode.volume.attributes.grew(by: cached.memory)
  }

  private func use<Result: Sendable>(
    _ cached: inout CachedRecord, _ inode: Inode, _ key: ObjectKey, _ isKept: inout Bool,
    _ body: (inout InodeRecord, ObjectKey?) throws(Errno) -> Result
  ) throws(Errno) -> Result {
    let before = cached.memory
    if cached.isDropped {
      // It is ours, whatever became of its names since: nothing but the attributes is read again.
      cached.restore(AttributeSet(try store.record(of: key)?.attributes ?? [:]))
    }
    var record = cached.take()
    defer {
      cached.put(record)
      inode.volume.attributes.grew(by: cached.memory - before)
      isKept = cached.memory > 0
    }
    return try body(&record, key)
  }

  /// The attributes of an inode. Once they were read this costs one lock and no more: it is what most
  /// requests ask for.
  func attributes(of inode: Inode) throws(Errno) -> AttributeSet {
    if !inode.wasRead.load(ordering: .relaxed) { inode.wasRead.store(true, ordering: .relaxed) }
    if inode.naming != .byName, let known = inode.withState({ $0.record.attributes }) {
      return known
    }
    return try withRecord(of: inode) { (record, _) throws(Errno) in record.attributes }
  }

  /// When an attribute of an inode last changed.
  func changed(of inode: Inode) throws(Errno) -> Timestamp? {
    if inode.naming != .byName {
      let (isKnown, changed) = inode.withState { ($0.record.isKnown, $0.record.changed) }
      if isKnown { return changed }
    }
    return try withRecord(of: inode) { (record, _) throws(Errno) in record.changed }
  }

  private func sharedRecord(of inode: Inode, _ key: ObjectKey) -> SharedRecord {
    inode.withState { state in
      if let known = state.shared { return known }
      let record = records.record(of: key, inode.volume.attributes)
      state.shared = record
      return record
    }
  }

  private func load(
    _ key: ObjectKey, _ type: FileType, _ held: HeldFile? = nil, isOrphan: Bool = false
  ) throws(Errno) -> InodeRecord {
    guard let stored = try store.record(of: key) else { return InodeRecord() }
    guard stored.type == type else {
      // The number has come to mean something else: not this object's attributes.
      try store.quarantine(key, because: .otherType)
      return InodeRecord()
    }
    // One of ours was loaded before it lost its name. This one is of a mount that died.
    if stored.isOrphan, !isOrphan, let held, try held.file.status().links > 0 {
      guard key.volume.kind == .handle else {
        // The object died, and its number has come to mean another.
        try store.quarantine(key, because: .reusedKey)
        return InodeRecord()
      }
      // The generation tells that it is the same: it was given a name underneath.
      try store.link(key, at: [])
    }
    return InodeRecord(
      attributes: AttributeSet(stored.attributes), changed: stored.changed, isStored: true,
      isNamed: stored.isNamed)
  }

  /// Whether the store knows an object. Of a directory it may know because of something inside, of
  /// which the directory's inode knows nothing: so it is asked.
  func isStored(_ inode: Inode) throws(Errno) -> Bool {
    if inode.type == .directory {
      // What has attributes of its own stays known as long as there is an inode of it.
      if inode.naming == .byNumber, try isRecordStored(of: inode) { return true }
      guard let key = try storedKey(of: inode) else { return false }
      return try store.record(of: key) != nil
    }
    return try isRecordStored(of: inode)
  }

  private func isRecordStored(of inode: Inode) throws(Errno) -> Bool {
    if inode.naming != .byName {
      let (isKnown, isStored) = inode.withState { ($0.record.isKnown, $0.record.isStored) }
      if isKnown { return isStored }
    }
    return try withRecord(of: inode) { (record, _) throws(Errno) in record.isStored }
  }

  /// An object was made: it starts without attributes, and what the store has under its key was
  /// another's.
  ///
  /// A handle's generation is new with each object. So when the store cannot be read, files can
  /// still be made; with inode numbers alone they cannot.
  func startAnew(_ inode: Inode) throws(Errno) {
    guard let volume = inode.volume.key else { return }
    if inode.naming == .byName {
      inode.withState { $0.isUnstored = true }
      return
    }
    let key = try key(of: inode)
    try inode.withState { (state) throws(Errno) in
      do throws(Errno) {
        switch try store.record(of: key)?.isOrphan {
        case .some(true): try store.discard(key)  // It is dead, or its number were not free.
        case .some(false): try store.quarantine(key, because: .reusedKey)
        case .none: break
        }
      } catch {
        guard volume.kind == .handle else { throw error }
        report("the store could not be asked about a new object", error)
      }
      inode.volume.attributes.grew(by: -state.record.memory)
      state.record = CachedRecord(InodeRecord())
    }
  }

  /// What stat(2) shows of an inode: the source's answer, with the number that is distinct in this
  /// mount, and the ctime of the attributes if that is later.
  func shown(_ status: FileStatus, of node: Node, _ inode: Inode) -> FileStatus {
    var shown = status
    inode.hasSetID.store(status.hasSetID, ordering: .relaxed)
    // As it was when the kernel first heard of it, also where the source makes up another.
    shown.inode =
      (node as? Spelling).flatMap { numbers.number(of: $0) }
      ?? numbers.number(of: inode.id.inode, on: inode.volume)
    if inode === rootInode, hasHiddenDirectory, shown.links > 2 { shown.links -= 1 }
    // When the store fails, files go on; the attribute calls say what is wrong.
    if inode.volume.key != nil, let changed = (try? changed(of: inode)) ?? nil,
      shown.changed < changed
    {
      shown.changed = changed
    }
    return shown
  }

  /// Whether one of the root's links is the hidden directory's "..".
  private var hasHiddenDirectory: Bool {
    (try? rootInode.held().file.status(of: HiddenStore.reservedName))?.type == .directory
  }
}
