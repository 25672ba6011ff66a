import LinuxSystem
import SidecarStore

/// What the store calls the objects of the source.
extension Overlay {
  /// What the store calls an object, if it can know it; nil for one that is known by name and that
  /// the store does not know under its name.
  ///
  /// `EOPNOTSUPP` where objects could not be known again. With `asksAgain` the store is asked even
  /// if it did not know the object before.
  func storedKey(of inode: Inode, asksAgain: Bool = false) throws(Errno) -> ObjectKey? {
    guard let volume = inode.volume.key else { throw .notSupported }
    guard inode.naming == .byName else {
      return ObjectKey(volume: volume, bytes: try inode.identity())
    }
    let (known, isUnstored, isUnlisted, entry) = inode.withState {
      ($0.identity, $0.isUnstored, $0.isUnlisted, $0.entry)
    }
    if let known { return ObjectKey(volume: volume, bytes: known) }
    if isUnlisted { return nil }
    if isUnstored && !asksAgain { return nil }
    var found: ObjectKey?
    if let entry, let parent = try storedKey(of: entry.parent, asksAgain: asksAgain) {
      found = try object(at: Entry(parent: parent, name: entry.name.bytes), like: inode)
    }
    let bytes = found?.bytes
    return inode.withState { state in
      if state.identity == nil {
        state.identity = bytes
        state.isUnstored = bytes == nil
      }
      return state.identity.map { ObjectKey(volume: volume, bytes: $0) }
    }
  }

  private func object(at entry: Entry, like inode: Inode) throws(Errno) -> ObjectKey? {
    guard let found = try store.object(at: entry), found.volume == inode.volume.key else {
      return nil
    }
    if let record = try store.record(of: found), record.type != inode.type {
      // The name has come to mean something else: not this object's attributes.
      try store.vacate(entry, because: .otherType)
      return nil
    }
    return found
  }

  /// What the store calls an object, made up if need be for one that is known by name.
  func key(of inode: Inode) throws(Errno) -> ObjectKey {
    if let known = try storedKey(of: inode, asksAgain: true) { return known }
    guard let volume = inode.volume.key, !inode.withState({ $0.isUnlisted }) else {
      throw .notSupported
    }
    var random = SystemRandomNumberGenerator()
    let fresh = bytes(of: random.next()) + bytes(of: random.next())
    return inode.withState { state in
      let identity = state.identity ?? fresh
      state.identity = identity
      return ObjectKey(volume: volume, bytes: identity)
    }
  }

  /// The way to an object from the source's root, as far as it is known; empty for an orphan.
  ///
  /// For objects that are known by handle or number these are hints for finding them again after a
  /// restore, so an outdated step does no harm. Those that are known by name are found by it, so
  /// every step is where it was last seen. Takes the lock of one inode at a time.
  func lineage(of inode: Inode) throws(Errno) -> Lineage {
    var steps = [LineageStep]()
    var inodes = [Inode]()
    var next: Inode? = inode
    // A rename underneath can make a loop of what was seen at different times.
    var seen = Set<ObjectIdentifier>()
    while let current = next, seen.insert(ObjectIdentifier(current)).inserted {
      let (entry, isOrphan) = current.withState { ($0.entry, $0.isOrphan) }
      if isOrphan && steps.isEmpty { return Lineage() }
      if current.naming == .byName && entry == nil { return Lineage() }
      // Above a file system whose objects have no keys, nothing can be recorded.
      guard current === inode || current.volume.key != nil else { break }
      steps.append(
        LineageStep(
          object: try key(of: current), name: entry?.name.bytes ?? [], type: current.type))
      if current !== inode { inodes.append(current) }
      next = entry?.parent
    }
    steps.reverse()
    if let first = steps.first {
      steps[0] = LineageStep(object: first.object, name: [], type: first.type)
    }
    return Lineage(steps: steps, ancestors: inodes)
  }

  /// How an object is known that was found under a name, or has none, and under what key its inode
  /// is in the table.
  func naming(
    on volume: Volume, _ status: FileStatus, _ name: FileName?, in parent: Inode
  ) -> (Naming, NodeKey?) {
    guard volume.key?.kind == .path else { return (.byNumber, .number(FileID(status))) }
    guard parent.volume === volume else { return (.root, .number(FileID(status))) }
    return (.byName, name.map { .entry(parent: parent.serial, name: $0) })
  }
}

/// How an inode's object is known.
enum Naming: Sendable {
  /// By handle or number, whatever its names are.
  case byNumber
  /// By the name that leads to it; another name is another inode, even of the same object.
  case byName
  /// As the root of a file system whose other objects are known by name.
  case root

  /// What the store calls a root.
  static let rootKey = Array("root".utf8)
}

/// What the store keeps of an object that several inodes may stand for.
final class SharedRecord: Sendable {
  let record = Lock(CachedRecord())
  private let cache: AttributeCache

  init(_ cache: AttributeCache) { self.cache = cache }

  deinit { cache.grew(by: -record.withLock { $0.memory }) }

  /// Takes attributes out of memory.
  func dropAttributes() { cache.grew(by: -record.withLock { $0.drop() }) }
}

/// The records of objects that are known by name, each once, as long as an inode uses it.
final class SharedRecords: Sendable {
  private struct Reference {
    weak var record: SharedRecord?
  }

  private let records = Lock<[ObjectKey: Reference]>([:])

  /// The record of an object, made if nobody uses one.
  func record(of key: ObjectKey, _ cache: AttributeCache) -> SharedRecord {
    records.withLock { records in
      if let known = records[key]?.record { return known }
      let made = SharedRecord(cache)
      records[key] = Reference(record: made)
      return made
    }
  }

  /// Whether an inode uses the record. If none does, its place is given up.
  func isUsed(_ key: ObjectKey) -> Bool {
    records.withLock { records in
      if records[key]?.record != nil { return true }
      records[key] = nil
      return false
    }
  }
}
