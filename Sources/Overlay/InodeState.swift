import FUSE
import LinuxSystem
import SidecarStore

/// What changes about an inode. Behind its lock, under which the store may be called, and no other
/// inode's lock taken.
struct InodeState {
  /// The object, unless it was let go.
  var held: HeldFile?
  /// One name by which it was last seen.
  var entry: (parent: Inode, name: FileName)?
  private var extras: InodeExtras?
  private var packedIdentity = PackedIdentity.unknown
  /// What the store keeps of it, once asked.
  var record = CachedRecord()
  /// It is known by name, and the store did not know the name.
  var isUnstored = false
  /// It is known by a name that its directory does not list: nothing can be kept of it.
  var isUnlisted = false
  /// Its last name is gone, or it never had one.
  var isOrphan = false

  init(held: HeldFile) { self.held = held }

  /// What tells it from any other object of its file system, once asked for: of one that is known
  /// by name, what the store calls it.
  var identity: [UInt8]? {
    get { packedIdentity.bytes }
    set { packedIdentity = PackedIdentity(newValue) }
  }

  var hasIdentity: Bool {
    if case .unknown = packedIdentity { false } else { true }
  }

  /// An open file of it, from which it can be held again even when it has no name.
  var opened: OpenFile? {
    get { extras?.opened }
    set { if newValue != nil || extras != nil { withExtras { $0.opened = newValue } } }
  }

  /// What the kernel has of a file, so that it can pass us by.
  var backing: Backing {
    get { extras?.backing ?? .unasked }
    set {
      if case .unasked = newValue, extras == nil { return }
      withExtras { $0.backing = newValue }
    }
  }

  /// Only with an inode that has seen a lock.
  var locks: InodeLocks? {
    get { extras?.locks }
    set { withExtras { $0.locks = newValue } }
  }

  /// Names by which it was seen before that one; underneath, they may be gone. Only of an object with
  /// hard links.
  var otherNames: [(parent: Inode, name: FileName)] {
    get { extras?.otherNames ?? [] }
    set { if !newValue.isEmpty || extras != nil { withExtras { $0.otherNames = newValue } } }
  }

  /// In place of `record` with an object that is known by name.
  var shared: SharedRecord? {
    get { extras?.shared }
    set { if newValue != nil || extras != nil { withExtras { $0.shared = newValue } } }
  }

  private mutating func withExtras(_ body: (InodeExtras) -> Void) {
    let extras = extras ?? InodeExtras()
    self.extras = extras
    body(extras)
  }

  /// Each name is remembered together with its directory, so they must not become many.
  private static let otherNamesLimit = 16

  mutating func saw(_ name: FileName, in parent: Inode, hasOthers: Bool) {
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

/// What few inodes need. Guarded by the inode's lock.
private final class InodeExtras {
  var opened: OpenFile?
  var backing = Backing.unasked
  var locks: InodeLocks?
  var otherNames: [(parent: Inode, name: FileName)] = []
  var shared: SharedRecord?
}

/// An identity without an allocation, if it is as short as those of most file systems: a handle of up
/// to 16 bytes behind the 8 of its type, or up to 16 bytes.
private enum PackedIdentity {
  case unknown
  case short(UInt64, UInt64, count: UInt8)
  case typed(UInt64, UInt64, count: UInt8, type: UInt8)
  case long([UInt8])

  init(_ bytes: [UInt8]?) {
    guard let bytes else {
      self = .unknown
      return
    }
    if bytes.count <= 16 {
      self = .short(
        Self.number(bytes[...].prefix(8)), Self.number(bytes[...].dropFirst(8)),
        count: UInt8(bytes.count))
    } else if bytes.count <= 24, bytes[1..<8].allSatisfy({ $0 == 0 }) {
      let handle = bytes[8...]
      self = .typed(
        Self.number(handle.prefix(8)), Self.number(handle.dropFirst(8)),
        count: UInt8(handle.count), type: bytes[0])
    } else {
      self = .long(bytes)
    }
  }

  var bytes: [UInt8]? {
    switch self {
    case .unknown: nil
    case .short(let first, let second, let count): Self.bytes([], first, second, count)
    case .typed(let first, let second, let count, let type):
      Self.bytes([type, 0, 0, 0, 0, 0, 0, 0], first, second, count)
    case .long(let bytes): bytes
    }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func bytes(
    _ start: [UInt8], _ first: UInt64, _ second: UInt64, _ count: UInt8
  ) -> [UInt8] {
    var bytes = start
    bytes.reserveCapacity(start.count + Int(count))
    for index in 0..<UInt64(min(count, 16)) {
      let number = index < 8 ? first : second
      bytes.append(UInt8(truncatingIfNeeded: number >> (8 * (index % 8))))
    }
    return bytes
  }
}
