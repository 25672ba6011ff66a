public import LinuxSystem

/// Where a source's attributes are kept.
public enum StoreLocation: Hashable, Sendable {
  /// In the source itself, in the directory ``directoryName``.
  case inSource
  /// In a directory of its own.
  case path(FileName)

  /// The directory in a source, which the mount hides.
  public static let directoryName = ".sidecarfs"

  /// What the choice depends on, of a source.
  public struct Source: Hashable, Sendable {
    /// It is not on a network, and not made up by another program.
    public var isLocal: Bool
    /// A directory can be made in it.
    public var isWritable: Bool
    /// What distinguishes it from any other source.
    public var identity: [UInt8]
    /// Facts about a source.
    public init(isLocal: Bool, isWritable: Bool, identity: [UInt8]) {
      self.isLocal = isLocal
      self.isWritable = isWritable
      self.identity = identity
    }
  }

  /// What the choice depends on, of the user who mounts.
  public struct User: Hashable, Sendable {
    /// The effective user ID.
    public var uid: UInt32
    /// The environment's `XDG_STATE_HOME`.
    public var stateHome: FileName?
    /// The environment's `HOME`.
    public var home: FileName?
    /// Facts about a user.
    public init(uid: UInt32, stateHome: FileName?, home: FileName?) {
      self.uid = uid
      self.stateHome = stateHome
      self.home = home
    }
  }

  /// Chooses the place: `override` (the option `--store`) if there is one, else the source itself
  /// when it is local and writable, else a directory named after the source's identity: below
  /// `/var/lib/sidecarfs` for root, below `$XDG_STATE_HOME/sidecarfs` or `~/.local/state/sidecarfs`
  /// for others.
  public static func choose(
    override: FileName?, source: Source, user: User
  ) throws(StoreError) -> StoreLocation {
    if let override { return .path(override) }
    if source.isLocal && source.isWritable { return .inSource }
    return .path(try base(of: user) / hex(source.identity))
  }

  private static func base(of user: User) throws(StoreError) -> FileName {
    if user.uid == 0 { return FileName("/var/lib/sidecarfs") }
    // The XDG specification has relative paths ignored.
    if let path = user.stateHome, path.isAbsolute { return path / "sidecarfs" }
    if let path = user.home, path.isAbsolute { return path / ".local/state/sidecarfs" }
    throw StoreError(.noPlace, at: FileName("$HOME"))
  }

  /// The place as a path to show; `source` is that of the source.
  public func path(in source: FileName) -> FileName {
    switch self {
    case .inSource: source / Self.directoryName
    case .path(let path): path
    }
  }

  /// Opens the directory, made with mode 0700 where it, or one above it, is missing.
  ///
  /// The descriptor is an `O_PATH` one. `name` is the source's path, for messages only.
  public func open(
    source: borrowing FileDescriptor, named name: FileName
  ) throws(StoreError) -> FileDescriptor {
    do throws(Errno) {
      switch self {
      case .inSource:
        return try source.openMaking(FileName(Self.directoryName), isOurs: true)
      case .path(let path):
        var directory = try FileDescriptor.open(
          FileName(path.isAbsolute ? "/" : "."), [.path, .directory])
        let steps = path.bytes.split(separator: UInt8(ascii: "/"))
        for step in steps {
          directory = try directory.openMaking(try FileName(step), isOurs: false)
        }
        return directory
      }
    } catch {
      let reason: StoreError.Reason = error == .readOnly ? .readOnly : .unreachable(error)
      throw StoreError(reason, at: path(in: name))
    }
  }
}

extension FileDescriptor {
  /// Opens a directory in this one, made if it is missing; in a source, where others may put
  /// something in our place, no link is followed.
  fileprivate func openMaking(_ name: FileName, isOurs: Bool) throws(Errno) -> FileDescriptor {
    let flags: OpenFlags = isOurs ? [.path, .directory, .noFollow] : [.path, .directory]
    do throws(Errno) {
      return try open(name, flags)
    } catch .noEntry {
      do throws(Errno) {
        try makeDirectory(name, mode: 0o700)
        // The new name has to outlive a power failure like everything below it.
        try reopen([.readOnly, .directory]).sync()
      } catch .exists {}
      return try open(name, flags)
    }
  }
}

extension FileName {
  fileprivate var isAbsolute: Bool { bytes.first == UInt8(ascii: "/") }

  fileprivate static func / (path: FileName, name: String) -> FileName {
    let separator = path.bytes.last == UInt8(ascii: "/") ? "" : "/"
    // Neither part holds a NUL.
    return (try? FileName(path.bytes + Array((separator + name).utf8))) ?? path
  }
}

private func hex(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
