public import FUSE
public import LinuxSystem
public import SidecarStore

/// The file system: files pass through to a source directory, attributes go to a store.
///
/// Locks, in the order in which they may be taken:
///
///     OpenDirectory.reading -> SharedRecord, or Inode.state (one at a time) -> the store's own
///                           -> NodeTable's, DescriptorPool, AttributeCache, VolumeTable,
///                              InodeNumbers (leaves)
///
/// A system call on the source may be made under `OpenDirectory.reading` only, and under an inode's
/// lock for the record of an orphan that a dead mount has left.
public final class Overlay: FileSystem {
  /// How a source is shown.
  public struct Options: Sendable {
    /// How long the kernel keeps what it was told.
    public var cache: CachePolicy
    /// How objects are known again.
    public var identity: IdentityChoice
    /// Requests are carried out as the user who makes them. Needs root.
    public var actsAsCaller: Bool
    /// How many bytes of memory attributes may take that were read; beyond it those that are not
    /// asked for are read again when they are.
    public var attributeMemory = 32 << 20
    /// What the store is called in messages: its file.
    public var storeName: String
    /// Called with one line when the store begins to fail, fails in another way or works again, and
    /// when something fails where no caller can be told.
    public var report: @Sendable (String) -> Void

    /// The usual options.
    public init(
      cache: CachePolicy = .auto, identity: IdentityChoice = .auto, actsAsCaller: Bool,
      storeName: String = "the store",
      report: @escaping @Sendable (String) -> Void
    ) {
      self.cache = cache
      self.identity = identity
      self.actsAsCaller = actsAsCaller
      self.storeName = storeName
      self.report = report
    }
  }

  let rootInode: Inode
  let store: WatchedStore
  let nodes = NodeTable<Inode>()
  let spellings = NodeTable<Spelling>()
  let descriptors: DescriptorPool
  let attributes: AttributeCache
  let volumes: VolumeTable
  let numbers = InodeNumbers()
  let records = SharedRecords()
  let options: Options
  let hidden: HiddenStore
  let leftOrphans = Lock<LeftOrphans?>(nil)
  /// The device of our own mount, once there is one.
  let shownAs = Lock<UInt64?>(nil)

  /// Shows `source`, whose attributes are in `store`, which is in the directory that
  /// `storeDirectory` tells of, which the mount hides.
  ///
  /// Throws the errno of a look at the directory.
  public init(
    _ source: borrowing Source, store: any EntryStore, storeDirectory: FileStatus?,
    _ options: Options
  ) throws(Errno) {
    let status = try source.directory.status()
    descriptors = DescriptorPool(limit: Int(clamping: Processes.openFileLimit / 2))
    attributes = AttributeCache(limit: options.attributeMemory)
    let volume = Volume(
      device: status.device, type: source.type, key: source.volume, index: 0, pool: descriptors,
      attributes: attributes,
      mount: Volume.mount(of: source.directory, source.volume))
    rootInode = Inode(
      HeldFile(try source.directory.duplicate()), status, volume,
      source.volume.kind == .path ? .root : .byNumber, .number(FileID(status)))
    volumes = VolumeTable(source: volume, status, choice: options.identity)
    self.store = WatchedStore(store, called: options.storeName, report: options.report)
    self.options = options
    hidden = HiddenStore(id: storeDirectory.map { FileID($0) })
    // Bound to another place in the source, it is this inode, too.
    _ = nodes.retain(orInsert: rootInode)
    learnFolding()
  }

  /// Tells where the mount is, before it is served: if the source leads there, nothing follows.
  ///
  /// Throws the errno of a look at the directory.
  public func isMounted(at mountPoint: FileName) throws(Errno) {
    let device = try FileDescriptor.open(mountPoint, [.path, .directory]).rememberedDevice()
    shownAs.withLock { $0 = device }
  }

  /// The source's root.
  public var root: Node { rootInode }

  /// Ends: what was unlinked and still open is no more now that nobody can have it open, and
  /// everything is on the disk. Call it after the session has ended.
  public func close() throws(Errno) {
    _ = spellings.drain()
    for inode in nodes.drain() { dropIfOrphan(inode) }
    descriptors.removeAll()
    attributes.removeAll()
    try collectLeftOrphans()
    try store.sync()
  }

  /// How many objects the kernel knows at present.
  public var knownObjects: Int { nodes.count }

  /// How many bytes of memory attributes take that were read.
  public var attributeMemory: Int { attributes.size }

  /// Tells of a failure of which no caller hears; not of the store's own, which it has told.
  func report(_ what: String, _ error: Errno) {
    if !store.isFailing { options.report("\(what): \(error)") }
  }

  func inode(_ node: Node) throws(Errno) -> Inode {
    if let inode = node as? Inode { return inode }
    guard let spelling = node as? Spelling else { throw .stale }
    return spelling.inode
  }

  func openFile(_ handle: Handle) throws(Errno) -> OpenFile {
    guard let file = handle as? OpenFile else { throw .badDescriptor }
    return file
  }

  func openDirectory(_ handle: Handle) throws(Errno) -> OpenDirectory {
    guard let directory = handle as? OpenDirectory else { throw .badDescriptor }
    return directory
  }
}

/// How long the kernel may keep what it was told of names, files and directories.
public enum CachePolicy: String, Sendable, CaseIterable {
  /// A second: the source may change underneath.
  case auto
  /// For good: nobody else changes the source while it is mounted.
  case always
  /// Not at all.
  case never

  var timeouts: Timeouts {
    switch self {
    case .auto: Timeouts(entry: 1, attributes: 1)
    case .always: Timeouts(entry: 86400, attributes: 86400)
    case .never: Timeouts(entry: 0, attributes: 0)
    }
  }

  var keepsPages: Bool { self == .always }
}

/// A directory that is to be shown, and how its objects are known again.
public struct Source: ~Copyable, Sendable {
  /// The directory, opened with `O_PATH`.
  public let directory: FileDescriptor
  /// The type of its file system, as in linux/magic.h.
  public let type: UInt32
  /// What the store calls its file system.
  public let volume: VolumeKey
  /// The file system is reached over a network, or through another FUSE server.
  public let isRemote: Bool
  /// The file system lies upon another, as overlayfs does.
  public let isStacked: Bool
  /// The file system is mounted read-only.
  public let isReadOnly: Bool

  /// Opens a directory and looks at its file system.
  ///
  /// Throws the errno of opening it, or why its objects cannot be known again.
  public init(_ path: FileName, _ choice: IdentityChoice) throws(SourceError) {
    let opened = try Self.reaching { () throws(Errno) in
      try FileDescriptor.open(path, [.path, .directory])
    }
    let status = try Self.reaching { () throws(Errno) in try opened.status() }
    let system = try Self.reaching { () throws(Errno) in try opened.fileSystemStatus() }
    do throws(IdentityRefusal) {
      volume = try Volume.key(of: opened, status, system, choice)
    } catch {
      throw .unidentifiable(fileSystem: FileSystemKind.name(error.type), reason: error.reason)
    }
    directory = opened
    type = system.type
    isStacked = system.type == FileSystemKind.overlayfs
    isRemote = FileSystemKind.isRemote(system.type)
    isReadOnly = system.isReadOnly
  }

  private static func reaching<Result: ~Copyable>(
    _ body: () throws(Errno) -> Result
  ) throws(SourceError) -> Result {
    do throws(Errno) { return try body() } catch { throw .unreachable(error) }
  }

  /// The name of the kind of file system, for people.
  public var fileSystemName: String { FileSystemKind.name(type) }

  /// Whether this process can make something in it.
  public func isWritable() -> Bool {
    if isReadOnly { return false }
    do throws(Errno) {
      try directory.checkAccess(2 | 1)
      return true
    } catch {
      return false
    }
  }

  /// What tells this directory from others: of its file system, and in it.
  public func identity() throws(Errno) -> [UInt8] {
    try volume.bytes + bytes(of: directory.status().inode)
  }
}

/// Why a directory cannot be a source.
public enum SourceError: Error, Sendable {
  /// It cannot be opened.
  case unreachable(Errno)
  /// Its objects cannot be known again after a remount.
  case unidentifiable(fileSystem: String, reason: String)
}

/// The store's own directory, which the mount does not show.
struct HiddenStore: Sendable {
  /// The name that is reserved in the source's root, whether the store is there or not.
  static let reservedName = FileName(".sidecarfs")

  let id: FileID?
}
