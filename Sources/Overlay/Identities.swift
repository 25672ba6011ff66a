public import LinuxSystem
public import SidecarStore

extension Volume {
  /// What the store calls an object of this file system; `EOPNOTSUPP` where it could not be known
  /// again.
  func objectKey(
    of object: borrowing FileDescriptor, inode: UInt64
  ) throws(Errno) -> ObjectKey {
    guard let key else { throw .notSupported }
    return ObjectKey(volume: key, bytes: try identity(of: object, inode: inode, key.kind))
  }

  private func identity(
    of object: borrowing FileDescriptor, inode: UInt64, _ kind: IdentityKind
  ) throws(Errno) -> [UInt8] {
    switch kind {
    case .handle:
      let handle = try object.handle()
      return bytes(of: UInt64(UInt32(bitPattern: handle.type))) + handle.bytes
    case .inode:
      let number = bytes(of: inode)
      guard FileSystemKind.keepsBirthTimes(type), let born = try object.status().born else {
        return number
      }
      return number + bytes(of: UInt64(bitPattern: born.seconds))
        + bytes(of: UInt64(bitPattern: born.nanoseconds))
    }
  }
}

/// What a store calls the objects of a source, for who works on it without a mount.
public final class Identities: Sendable {
  /// The file system of the source's root.
  public let volume: VolumeKey
  private let volumes: VolumeTable
  /// An open directory of that file system; nil where it cannot be read.
  private let directory: FileDescriptor?

  /// The objects of `source`. Throws the errno of a look at the directory.
  public init(_ source: borrowing Source, _ choice: IdentityChoice) throws(Errno) {
    let status = try source.directory.status()
    volume = source.volume
    volumes = VolumeTable(
      source: Volume(device: status.device, type: source.type, key: source.volume, index: 0),
      choice: choice)
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
  /// it could not be known again.
  public func key(
    of object: borrowing FileDescriptor, _ status: FileStatus
  ) throws(Errno) -> ObjectKey {
    try volumes.volume(of: object, status).objectKey(of: object, inode: status.inode)
  }

  /// The file handle in a key; nil for a key of another kind.
  public static func handle(in key: ObjectKey) -> FileHandle? {
    guard key.volume.kind == .handle, key.bytes.count > 8 else { return nil }
    let type = key.bytes[..<4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    return FileHandle(type: Int32(bitPattern: type), bytes: Array(key.bytes[8...]))
  }
}
