import AttributeModel
import FUSE
import LinuxSystem
import SidecarStore
import Synchronization

/// What tells two objects of the running system apart. While a descriptor holds the object, no
/// other can have the same.
struct FileID: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64

  init(_ status: FileStatus) {
    device = status.device
    inode = status.inode
  }
}

/// Under what an inode is found when a name leads to it.
enum NodeKey: Hashable, Sendable {
  /// By number, on file systems where that means one object as long as it lives.
  case number(FileID)
  /// By a name in a directory, which is told by its inode's serial number.
  case entry(parent: UInt64, name: FileName)
  /// Never: the number or name means another object by now, or nothing, and the kernel has not
  /// forgotten this one.
  case nameless(UInt64)
}

/// One object of the source, known by a descriptor or by what it takes to open it again, and never
/// by a path: whatever becomes of its names, this is it.
final class Inode: Node, KeyedNode, @unchecked Sendable {
  /// Guarded by the table.
  var tableKey: NodeKey
  /// No other inode of this process has it.
  let serial: UInt64
  let id: FileID
  let type: FileType
  let volume: Volume
  let naming: Naming
  let state: Lock<InodeState>
  /// When last looked at, it was a file with a set-id bit.
  let hasSetID: Atomic<Bool>
  /// The kernel knows it, so a descriptor may stay for its next request.
  let isKnown = Atomic<Bool>(false)
  /// Since the clock's hand came by.
  let wasUsed = Atomic<Bool>(true)
  /// Where it is in the pool of descriptors; guarded by the pool's lock.
  var poolIndex: Int?

  /// Without a key it is not found by lookups.
  init(
    _ file: HeldFile, _ status: FileStatus, _ volume: Volume, _ naming: Naming, _ key: NodeKey?
  ) {
    id = FileID(status)
    serial = Self.nextSerial()
    tableKey = key ?? .nameless(serial)
    self.naming = naming
    type = status.type
    self.volume = volume
    hasSetID = Atomic(status.hasSetID)
    state = Lock(InodeState(identity: naming == .root ? Naming.rootKey : nil, held: file))
  }

  private static let serials = Atomic<UInt64>(0)

  /// A number that nothing else in a table has.
  static func nextSerial() -> UInt64 { serials.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The POSIX locks of callers; made when the first is asked for.
  var locks: InodeLocks {
    state.withLock { state in
      if let locks = state.locks { return locks }
      let locks = InodeLocks()
      state.locks = locks
      return locks
    }
  }

  /// The locks, if there ever were any.
  var locksIfAny: InodeLocks? { state.withLock { $0.locks } }

  /// A name that leads here now. An object with `links` names is remembered by the others, too, under
  /// which it was seen before.
  func saw(_ name: FileName, in parent: Inode, links: UInt32 = 1) {
    let hasOthers = links > 1 && type != .directory && naming == .byNumber
    state.withLock { $0.saw(name, in: parent, hasOthers: hasOthers) }
  }

  /// A name that led here was changed into another.
  func moved(
    from name: FileName, in parent: Inode, to newName: FileName, in newParent: Inode
  ) {
    state.withLock { state in
      state.otherNames.removeAll { $0.parent.isSame(as: parent) && $0.name == name }
      if let entry = state.entry, entry.parent.isSame(as: parent), entry.name == name {
        state.entry = nil
      }
      state.saw(newName, in: newParent, hasOthers: true)
    }
  }

  private func isSame(as other: Inode) -> Bool { self === other || id == other.id }

  /// The object's own name in a directory where it was found by a spelling of it.
  func name(in parent: Inode, spelled name: FileName) -> FileName {
    guard naming == .byName, volume.folds, let entry = state.withLock({ $0.entry }),
      entry.parent === parent
    else { return name }
    return entry.name
  }

  /// A name that leads here no longer; `isLast` if it was the last one. Until another name is seen,
  /// the object may be lost if it is not held, so it is held by `held` unless it is already.
  func lost(_ name: FileName, in parent: Inode, isLast: Bool, _ held: HeldFile) {
    let isNew = state.withLock { state in
      if isLast {
        state.isOrphan = true
        state.otherNames = []
      }
      state.otherNames.removeAll { $0.parent.isSame(as: parent) && $0.name == name }
      if let entry = state.entry, entry.parent.isSame(as: parent), entry.name == name {
        state.entry = nil
      }
      if state.held != nil { return false }
      state.held = held
      return true
    }
    if isNew { volume.pool.add(self) }
  }
}

/// The way from the source's root to an object, and the directories on it.
struct Lineage {
  var steps: [LineageStep] = []
  var ancestors: [Inode] = []
}

/// What changes about an inode. Behind its lock, under which the store may be called, and no other
/// inode's lock taken.
struct InodeState {
  /// What the store keeps of it, once asked.
  var record: InodeRecord?
  /// What tells it from any other object of its file system, once asked for: of one that is known
  /// by name, what the store calls it.
  var identity: [UInt8]?
  /// The object, unless it was let go.
  var held: HeldFile?
  /// An open file of it, from which it can be held again even when it has no name.
  weak var opened: OpenFile?
  /// What the kernel has of a file, so that it can pass us by.
  var backing = Backing.unasked
  /// Only with an inode that has seen a lock.
  var locks: InodeLocks?
  /// One name by which it was last seen.
  var entry: (parent: Inode, name: FileName)?
  /// Names by which it was seen before that one; underneath, they may be gone. Only of an object with
  /// hard links.
  var otherNames: [(parent: Inode, name: FileName)] = []
  /// It is known by name, and the store did not know the name.
  var isUnstored = false
  /// It is known by a name that its directory does not list: nothing can be kept of it.
  var isUnlisted = false
  /// In place of `record` with an object that is known by name.
  var shared: SharedRecord?
  /// Its last name is gone, or it never had one.
  var isOrphan = false

  /// Each name is remembered together with its directory, so they must not become many.
  private static let otherNamesLimit = 16

  fileprivate mutating func saw(_ name: FileName, in parent: Inode, hasOthers: Bool) {
    if let entry, entry.parent === parent, entry.name == name { return }
    if !hasOthers {
      otherNames = []
    } else {
      otherNames.removeAll { $0.parent === parent && $0.name == name }
      if let entry { otherNames.append(entry) }
      if otherNames.count > Self.otherNamesLimit { otherNames.removeFirst() }
    }
    entry = (parent, name)
  }
}

/// What the store keeps of an object.
struct InodeRecord {
  var attributes = AttributeSet()
  /// When one of them last changed.
  var changed: Timestamp?
  /// The store knows the object.
  var isStored = false
  /// The store knows a name of it, or shall not be told one.
  var isNamed = true
}
