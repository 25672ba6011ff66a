public import LinuxSystem

/// How long the kernel may believe an answer without asking again, in seconds.
public struct Timeouts: Hashable, Sendable {
  /// That a name leads to an object.
  public var entry: Double
  /// An object's attributes, as stat(2) shows them.
  public var attributes: Double
  /// Timeouts in seconds.
  public init(entry: Double, attributes: Double) {
    self.entry = entry
    self.attributes = attributes
  }
}

/// A name's object, in answer to lookup and whatever makes an object.
public struct NodeEntry {
  /// The object; the reply gives the kernel one lookup of it, which the table has counted.
  public var node: Node
  /// Its attributes.
  public var status: FileStatus
  /// How long the kernel may keep them.
  public var timeouts: Timeouts
  /// An entry.
  public init(node: Node, status: FileStatus, timeouts: Timeouts) {
    self.node = node
    self.status = status
    self.timeouts = timeouts
  }
}

/// What stat(2) shows, and for how long.
public struct TimedStatus {
  /// The attributes.
  public var status: FileStatus
  /// Seconds.
  public var timeout: Double
  /// Attributes that the kernel may keep for `timeout` seconds.
  public init(status: FileStatus, timeout: Double) {
    self.status = status
    self.timeout = timeout
  }
}

/// What setattr is to change; nil and `keep` leave a field alone.
public struct StatusChange: Sendable {
  /// Permission bits.
  public var mode: UInt32?
  /// Owner.
  public var uid: UInt32?
  /// Group.
  public var gid: UInt32?
  /// Length in bytes.
  public var size: Int64?
  /// Time of last access.
  public var accessed: FileDescriptor.TimeChange = .keep
  /// Time of the last change of data.
  public var modified: FileDescriptor.TimeChange = .keep

  /// Changes nothing.
  public init() {}

  /// Whether it changes nothing but, as any setattr, the ctime.
  public var isEmpty: Bool {
    mode == nil && uid == nil && gid == nil && size == nil && accessed.isKept && modified.isKept
  }
}

/// An opened file or directory.
public struct Opened {
  /// What the kernel is to name in later requests.
  public var handle: Handle
  /// The pages that the kernel has of this file stay valid (`FOPEN_KEEP_CACHE`), or the entries
  /// of a directory (`FOPEN_CACHE_DIR`).
  public var keepsCache: Bool
  /// Which way its data takes; a directory's is `served`.
  public var passage: Passage
  /// An opened file.
  public init(handle: Handle, keepsCache: Bool, passage: Passage = .served) {
    self.handle = handle
    self.keepsCache = keepsCache
    self.passage = passage
  }
}

/// A part of an open file of the server's, in answer to read: spliced, not copied, where it can be.
public struct FileRange: Sendable {
  /// The file; open until the handle of the read is released.
  public var file: FileDescriptor.Reference
  /// The first byte.
  public var offset: Int64
  /// How many bytes; fewer are sent at the end of the file.
  public var count: Int
  /// A part of a file.
  public init(file: FileDescriptor.Reference, offset: Int64, count: Int) {
    self.file = file
    self.offset = offset
    self.count = count
  }
}

/// The condition of a setxattr (`XATTR_*`).
public struct SetAttributeFlags: OptionSet, Sendable {
  /// The kernel's bits.
  public let rawValue: Int32
  /// Takes the kernel's bits.
  public init(rawValue: Int32) { self.rawValue = rawValue }
  /// The attribute must be missing (`XATTR_CREATE`).
  public static let create = SetAttributeFlags(rawValue: 1)
  /// The attribute must be there (`XATTR_REPLACE`).
  public static let replace = SetAttributeFlags(rawValue: 2)
}
