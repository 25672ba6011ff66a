public import LinuxSystem
public import SidecarStore

extension Volume {
  /// What the store calls an object of this file system; `EOPNOTSUPP` where it could not be known
  /// again by itself.
  func objectKey(
    of object: borrowing FileDescriptor, _ status: FileStatus
  ) throws(Errno) -> ObjectKey {
    guard let key, key.kind != .path else { throw .notSupported }
    return ObjectKey(volume: key, bytes: try identity(of: object, status))
  }
}

/// What a store calls the objects of a source, for who works on it without a mount.
public final class Identities: Sendable {
  /// The file system of the source's root.
  public let volume: VolumeKey
  private let volumes: VolumeTable
  private let rootID: FileID
  /// An open directory of that file system; nil where it cannot be read.
  private let directory: FileDescriptor?

  /// The objects of `source`. Throws the errno of a look at the directory.
  public init(_ source: borrowing Source, _ choice: IdentityChoice) throws(Errno) {
    let status = try source.directory.status()
    volume = source.volume
    rootID = FileID(status)
    volumes = VolumeTable(
      source: Volume(
        device: status.device, type: source.type, key: source.volume, index: 0,
        pool: DescriptorPool(limit: 0), attributes: AttributeCache(limit: 0)),
      status, choice: choice)
    directory = try? source.directory.reopen([.readOnly, .directory])
  }

  /// What became of an object of the source's file system.
  public enum Fate: Hashable, Sendable {
    /// It is there, with so many names.
    case alive(links: UInt32)
    /// It is no more, and never will be again.
    case gone
    /// That cannot be told from its key, or not by us.
    case unknown
  }

  /// What became of the object of a key: its file handle is opened, which needs
  /// CAP_DAC_READ_SEARCH.
  public func fate(of key: ObjectKey) -> Fate {
    guard key.volume == volume, let handle = Self.handle(in: key) else { return .unknown }
    do throws(Errno) {
      switch directory {
      case .some(let directory):
        return .alive(links: try directory.open(handle, .path).status().links)
      case .none: return .unknown
      }
    } catch {
      return error == .stale ? .gone : .unknown
    }
  }

  /// The key of an object in the source, or in a file system mounted inside it; `EOPNOTSUPP` where
  /// it could not be known again, or only by its name: all but the root.
  public func key(
    of object: borrowing FileDescriptor, _ status: FileStatus
  ) throws(Errno) -> ObjectKey {
    if volume.kind == .path, FileID(status) == rootID {
      return ObjectKey(volume: volume, bytes: Naming.rootKey)
    }
    return try volumes.volume(of: object, status).objectKey(of: object, status)
  }

  /// Whether the object of a key is whatever stands under its names.
  public func isByName(_ key: ObjectKey) -> Bool { volume.kind == .path && key.volume == volume }

  /// The file handle in a key; nil for a key of another kind.
  public static func handle(in key: ObjectKey) -> FileHandle? {
    key.volume.kind == .handle ? FileHandle(identity: key.bytes) : nil
  }
}
