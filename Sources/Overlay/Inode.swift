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

/// One object of the source, held by a descriptor and never by a path: whatever becomes of its
/// names, this is it.
final class Inode: Node, @unchecked Sendable {
  let id: FileID
  let type: FileType
  let volume: Volume
  /// Opened with `O_PATH`.
  let file: FileDescriptor
  let state: Lock<InodeState>
  let locks = InodeLocks()
  /// When last looked at, it had the set-group-ID bit without group execution.
  let hasLooseSetGroup: Atomic<Bool>

  init(_ file: consuming FileDescriptor, _ status: FileStatus, _ volume: Volume) {
    id = FileID(status)
    type = status.type
    self.volume = volume
    self.file = file
    hasLooseSetGroup = Atomic(status.hasLooseSetGroup)
    state = Lock(InodeState())
  }

  /// What the store calls this object; `EOPNOTSUPP` where it could not be known again.
  func key() throws(Errno) -> ObjectKey {
    if let key = state.withLock({ $0.key }) { return key }
    guard let volume = volume.key else { throw .notSupported }
    let key = ObjectKey(volume: volume, bytes: try identity(volume.kind))
    state.withLock { $0.key = key }
    return key
  }

  private func identity(_ kind: IdentityKind) throws(Errno) -> [UInt8] {
    switch kind {
    case .handle:
      let handle = try file.handle()
      return bytes(of: UInt64(UInt32(bitPattern: handle.type))) + handle.bytes
    case .inode:
      let number = bytes(of: id.inode)
      guard FileSystemKind.keepsBirthTimes(volume.type), let born = try file.status().born else {
        return number
      }
      return number + bytes(of: UInt64(bitPattern: born.seconds))
        + bytes(of: UInt64(bitPattern: born.nanoseconds))
    }
  }

  /// A name that leads here now.
  func saw(_ name: FileName, in parent: Inode) {
    state.withLock { $0.entry = (parent, name) }
  }

  /// A name that leads here no longer.
  func lost(_ name: FileName, in parent: Inode) {
    state.withLock { state in
      guard let entry = state.entry, entry.parent.id == parent.id, entry.name == name else {
        return
      }
      state.entry = nil
    }
  }

  /// The way here from the source's root, as far as it is known; empty for an orphan.
  ///
  /// Hints for finding objects again after a restore, so an outdated step does no harm. Takes the
  /// lock of one inode at a time.
  func lineage() throws(Errno) -> Lineage {
    var steps = [LineageStep]()
    var inodes = [Inode]()
    var next: Inode? = self
    // A rename underneath can make a loop of what was seen at different times.
    var seen = Set<ObjectIdentifier>()
    while let inode = next, seen.insert(ObjectIdentifier(inode)).inserted {
      let (entry, isOrphan) = inode.state.withLock { ($0.entry, $0.isOrphan) }
      if isOrphan && steps.isEmpty { return Lineage() }
      // Above a file system whose objects have no keys, nothing can be recorded.
      guard inode === self || inode.volume.key != nil else { break }
      steps.append(
        LineageStep(object: try inode.key(), name: entry?.name.bytes ?? [], type: inode.type))
      if inode !== self { inodes.append(inode) }
      next = entry?.parent
    }
    steps.reverse()
    if let first = steps.first {
      steps[0] = LineageStep(object: first.object, name: [], type: first.type)
    }
    return Lineage(steps: steps, ancestors: inodes)
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
  /// Its key, once asked for.
  var key: ObjectKey?
  /// One name by which it was last seen.
  var entry: (parent: Inode, name: FileName)?
  /// Its last name is gone, or it never had one.
  var isOrphan = false
}

/// What the store keeps of an object.
struct InodeRecord {
  var attributes = AttributeSet()
  /// When one of them last changed.
  var changed: Timestamp?
  /// The store knows the object.
  var isStored = false
}
