import LinuxSystem
import SidecarStore
import Synchronization

/// How identities are chosen: by a look at the file system, or as told.
public enum IdentityChoice: String, Sendable, CaseIterable {
  /// By file handle where there is one, by inode number where that is sound, else by name.
  case auto
  /// By file handle; a file system without them is refused.
  case handle
  /// By inode number and birth time.
  case inode
  /// By name.
  case path
}

/// Why a file system's objects cannot be known again.
struct IdentityRefusal: Error {
  let type: UInt32
  let reason: String
}

/// A file system that the source, or something mounted inside it, is on.
final class Volume: Sendable {
  /// `st_dev` of its objects.
  let device: UInt64
  /// Its type, as in linux/magic.h.
  let type: UInt32
  /// What the store calls it; nil where its objects cannot be known again.
  let key: VolumeKey?
  /// 0 for the source's own; others get numbers as they are met.
  let index: UInt64
  /// Its inode numbers are made up.
  var inventsNumbers: Bool { FileSystemKind.inventsNumbers(type) }
  /// Whether its files can be opened with `O_DIRECT`, once it was tried.
  private let takesDirect = Lock<Bool?>(nil)
  /// How it takes names; asked only where objects are known by name.
  let folding: Atomic<Folding>
  /// Several spellings mean one name there.
  var folds: Bool { folding.load(ordering: .relaxed) == .folds }
  /// It may turn out that they do.
  var mayFold: Bool { folding.load(ordering: .relaxed) != .exact }
  /// Where descriptors of its objects are counted.
  let pool: DescriptorPool
  /// Where the memory that attributes of its objects take is counted.
  let attributes: AttributeCache
  /// An open directory of it, if its objects can be opened by their handles. Only of the source's
  /// own: another file system could not be unmounted while it is open.
  let mount: HeldFile?

  init(
    device: UInt64, type: UInt32, key: VolumeKey?, index: UInt64, pool: DescriptorPool,
    attributes: AttributeCache, mount: HeldFile? = nil
  ) {
    self.device = device
    self.type = type
    self.key = key
    self.index = index
    self.pool = pool
    self.attributes = attributes
    self.mount = mount
    folding = Atomic(FileSystemKind.foldsNames(type) ? .folds : .unknown)
  }

  /// Whether files of this file system can be opened with `O_DIRECT`, as seen by one.
  func allowsDirect(_ file: HeldFile) -> Bool {
    if let known = takesDirect.withLock({ $0 }) { return known }
    do throws(Errno) {
      _ = try pool.makingRoom { () throws(Errno) in
        try file.file.reopen([.readOnly, .direct, .nonBlocking])
      }
      takesDirect.withLock { $0 = true }
      return true
    } catch {
      // Other errors say nothing of the file system.
      if error == .invalidArgument { takesDirect.withLock { $0 = false } }
      return false
    }
  }

  /// The directory, opened so that handles lead from it, if handles do that here: the process needs
  /// CAP_DAC_READ_SEARCH, and some file systems forget what they have given out.
  static func mount(of directory: borrowing FileDescriptor, _ key: VolumeKey) -> HeldFile? {
    guard key.kind == .handle else { return nil }
    do throws(Errno) {
      let mount = try directory.reopen([.readOnly, .directory])
      _ = try mount.open(directory.handle(), .path)
      return HeldFile(mount)
    } catch {
      return nil
    }
  }

  /// What the store is to call a file system, from any object of it.
  static func key(
    of object: borrowing FileDescriptor, _ status: FileStatus,
    _ system: FileDescriptor.FileSystemStatus, _ choice: IdentityChoice
  ) throws(IdentityRefusal) -> VolumeKey {
    let kind = try identityKind(of: object, system.type, choice)
    if kind == .path {
      guard let bytes = nameOfRoot(object, status, system.type) else {
        throw IdentityRefusal(type: system.type, reason: "where it is mounted cannot be found out")
      }
      return VolumeKey(bytes: bytes, kind: kind)
    }
    var bytes = identifier(of: object, status, system)
    if FileSystemKind.isInMemory(system.type) && kind == .inode { bytes += bootIdentifier() }
    return VolumeKey(bytes: bytes, kind: kind)
  }

  private static func identityKind(
    of object: borrowing FileDescriptor, _ type: UInt32, _ choice: IdentityChoice
  ) throws(IdentityRefusal) -> IdentityKind {
    if choice == .path { return .path }
    if FileSystemKind.inventsNumbers(type) {
      if choice == .auto { return .path }
      throw IdentityRefusal(
        type: type,
        reason: "its inode numbers are made up and may mean another file after a remount")
    }
    var handleFailure: Errno?
    do throws(Errno) { _ = try object.handle() } catch { handleFailure = error }
    switch choice {
    case .handle, .auto:
      guard let handleFailure else { return .handle }
      if choice == .auto { return FileSystemKind.keepsNumbers(type) ? .inode : .path }
      throw IdentityRefusal(type: type, reason: "it gives out no file handles (\(handleFailure))")
    case .inode: return .inode
    case .path: return .path
    }
  }

  private static func identifier(
    of object: borrowing FileDescriptor, _ status: FileStatus,
    _ system: FileDescriptor.FileSystemStatus
  ) -> [UInt8] {
    let type = bytes(of: UInt64(system.type))
    if !FileSystemKind.hasLastingIdentifier(system.type),
      status.type == .directory || status.type == .regular
    {
      do throws(Errno) {
        let opened = try object.reopen([.readOnly, .nonBlocking])
        return try type
          + (system.type == FileSystemKind.xfs ? opened.xfsUUID() : opened.fileSystemUUID())
      } catch {}  // Then it is as good as statfs tells.
    }
    return type + bytes(of: system.identifier)
  }

  private static func bootIdentifier() -> [UInt8] {
    do throws(Errno) {
      let file = try FileDescriptor.open(
        FileName("/proc/sys/kernel/random/boot_id"), .readOnly)
      return try file.readToEnd().filter { $0 != UInt8(ascii: "\n") }
    } catch {
      return []
    }
  }
}

/// A number's bytes, lowest first, as keys of the store hold them.
func bytes(of number: UInt64) -> [UInt8] {
  (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
}

/// The file systems met so far.
///
/// The source's own is told by its device. Others may come and go underneath, and a new one may get
/// an old one's device number, so there the identifier that statfs tells belongs to the key.
final class VolumeTable: Sendable {
  private struct Place: Hashable {
    let device: UInt64
    let type: UInt32
    let identifier: UInt64
    /// Where objects are known by name, another part of the file system has another root.
    let mount: UInt64?
  }

  let source: Volume
  private let sourceMount: UInt64
  private let choice: IdentityChoice
  private let others = Lock<[Place: Volume]>([:])

  init(source: Volume, _ status: FileStatus, choice: IdentityChoice) {
    self.source = source
    sourceMount = status.mount
    self.choice = choice
  }

  /// The volume of an object.
  func volume(of object: borrowing FileDescriptor, _ status: FileStatus) throws(Errno) -> Volume {
    if status.device == source.device, source.key?.kind != .path || status.mount == sourceMount {
      return source
    }
    let system = try object.fileSystemStatus()
    let byName = choice == .path || FileSystemKind.inventsNumbers(system.type)
    let place = Place(
      device: status.device, type: system.type, identifier: system.identifier,
      mount: byName ? status.mount : nil)
    if let known = others.withLock({ $0[place] }) { return known }
    var key: VolumeKey?
    // Files there pass through all the same; their attributes answer EOPNOTSUPP.
    do throws(IdentityRefusal) {
      let choice = byName && choice != .path || choice == .handle ? .auto : choice
      key = try Volume.key(of: object, status, system, choice)
    } catch {}
    let found = key
    return others.withLock { volumes in
      if let known = volumes[place] { return known }
      let volume = Volume(
        device: status.device, type: system.type, key: found, index: UInt64(volumes.count) + 1,
        pool: source.pool, attributes: source.attributes)
      volumes[place] = volume
      return volume
    }
  }
}

/// Inode numbers as the mount shows them: the source's own as they are, those of file systems
/// mounted inside it in a range that no local file system uses, since one mount has one `st_dev`.
final class InodeNumbers: Sendable {
  private struct Foreign: Hashable {
    let index: UInt64
    let inode: UInt64
  }

  private let tooLarge = Lock<[Foreign: UInt64]>([:])
  private let foreign: UInt64 = 1 << 63

  /// The number of an object under another spelling; nil for its own. Through FUSE every spelling has
  /// one, so that mv(1) does not take a new spelling for the same file; FAT and exFAT of the kernel
  /// know better.
  func number(of spelling: Spelling) -> UInt64? {
    if FileSystemKind.foldsNames(spelling.inode.volume.type) { return nil }
    return foreign | 0x7ffe << 48 | spelling.serial & (1 << 48 - 1)
  }

  /// The number of an object: bit 63, fifteen bits of the volume's index, 48 of its own number.
  func number(of inode: UInt64, on volume: Volume) -> UInt64 {
    if volume.index == 0 { return inode }
    if inode < 1 << 48, volume.index < 0x7ffe { return foreign | volume.index << 48 | inode }
    let key = Foreign(index: volume.index, inode: inode)
    return tooLarge.withLock { numbers in
      if let number = numbers[key] { return number }
      let number = foreign | 0x7fff << 48 | UInt64(numbers.count)
      numbers[key] = number
      return number
    }
  }
}
