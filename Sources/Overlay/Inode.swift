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

  init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }

  init(_ status: FileStatus) { self.init(device: status.device, inode: status.inode) }
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
///
/// There is one for each object that the kernel remembers, which can be millions: what most do not need
/// is in a side object (``InodeState``), and numbers are as small as they can be.
final class Inode: Node, KeyedNode, @unchecked Sendable {
  let volume: Volume
  private let number: UInt64
  /// No other inode of this process has it.
  let serial: UInt64
  private var state: InodeState
  /// Guarded by the table.
  private var tablePlace: TablePlace
  /// Where it is in the pool of descriptors, and among those with attributes in memory; guarded by the
  /// lock of either. -1 outside.
  var poolIndex: Int32 = -1
  var cacheIndex: Int32 = -1
  private let typeCode: UInt8
  let naming: Naming
  private let lock = SmallLock()
  /// When last looked at, it was a file with a set-id bit.
  let hasSetID: Atomic<Bool>
  /// The kernel knows it, so a descriptor may stay for its next request.
  let isKnown = Atomic<Bool>(false)
  /// Since the hand of the descriptors' clock came by.
  let wasUsed = Atomic<Bool>(true)
  /// Its attributes were asked for since the hand of their clock came by.
  let wasRead = Atomic<Bool>(true)

  /// ``tableKey``, without what the inode knows itself.
  private enum TablePlace {
    case number, nameless
    case entry(TableEntry)
  }

  private final class TableEntry {
    let parent: UInt64
    let name: FileName

    init(_ parent: UInt64, _ name: FileName) {
      self.parent = parent
      self.name = name
    }
  }

  /// Without a key it is not found by lookups. The object is on that volume.
  init(
    _ file: HeldFile, _ status: FileStatus, _ volume: Volume, _ naming: Naming, _ key: NodeKey?
  ) {
    number = status.inode
    serial = Self.nextSerial()
    self.volume = volume
    self.naming = naming
    typeCode = UInt8(truncatingIfNeeded: status.mode >> 12)
    hasSetID = Atomic(status.hasSetID)
    state = InodeState(held: file)
    tablePlace = key.map { Self.place($0) } ?? .nameless
    super.init()
    if naming == .root { state.identity = Naming.rootKey }
  }

  deinit { volume.attributes.grew(by: -state.record.memory) }

  /// What it has in common with no other object, while it is held.
  var id: FileID { FileID(device: volume.device, inode: number) }

  var type: FileType { FileType(mode: UInt32(typeCode) << 12) }

  /// Guarded by the table.
  var tableKey: NodeKey {
    get {
      switch tablePlace {
      case .number: .number(id)
      case .nameless: .nameless(serial)
      case .entry(let entry): .entry(parent: entry.parent, name: entry.name)
      }
    }
    set { tablePlace = Self.place(newValue) }
  }

  private static func place(_ key: NodeKey) -> TablePlace {
    switch key {
    case .number: .number
    case .nameless: .nameless
    case .entry(let parent, let name): .entry(TableEntry(parent, name))
    }
  }

  /// Runs `body` with what changes about the inode, while no other thread can.
  func withState<Result, Failure: Error>(
    _ body: (inout InodeState) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try lock.withLock { () throws(Failure) in try body(&state) }
  }

  private static let serials = Atomic<UInt64>(0)

  /// A number that nothing else in a table has.
  static func nextSerial() -> UInt64 { serials.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The POSIX locks of callers; made when the first is asked for.
  var locks: InodeLocks {
    withState { state in
      if let locks = state.locks { return locks }
      let locks = InodeLocks()
      state.locks = locks
      return locks
    }
  }

  /// The locks, if there ever were any.
  var locksIfAny: InodeLocks? { withState { $0.locks } }

  /// A name that leads here now. An object with `links` names is remembered by the others, too, under
  /// which it was seen before.
  func saw(_ name: FileName, in parent: Inode, links: UInt32 = 1) {
    let hasOthers = links > 1 && type != .directory && naming == .byNumber
    withState { $0.saw(name, in: parent, hasOthers: hasOthers) }
  }

  /// A name that led here was changed into another.
  func moved(
    from name: FileName, in parent: Inode, to newName: FileName, in newParent: Inode
  ) {
    withState { state in
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
    guard naming == .byName, volume.folds, let entry = withState({ $0.entry }),
      entry.parent === parent
    else { return name }
    return entry.name
  }

  /// A name that leads here no longer; `isLast` if it was the last one. Until another name is seen,
  /// the object may be lost if it is not held, so it is held by `held` unless it is already.
  func lost(_ name: FileName, in parent: Inode, isLast: Bool, _ held: HeldFile) {
    let isNew = withState { state in
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
