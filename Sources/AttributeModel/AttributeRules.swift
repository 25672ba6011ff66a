public import LinuxSystem

/// Which names, values and lists of names a file system admits; here those of Linux (xattr(7)).
public struct AttributeRules: Hashable, Sendable {
  /// The most bytes a value may have (`XATTR_SIZE_MAX`, linux/limits.h).
  public let maximumValueSize: Int
  /// The most bytes an object's names may have together, a NUL after each (`XATTR_LIST_MAX`).
  public let maximumListSize: Int

  /// What ext4, XFS and tmpfs have in common.
  public static let linux = AttributeRules(maximumValueSize: 65_536, maximumListSize: 65_536)

  /// Whether an attribute of this name can exist; the same for get, set and remove.
  ///
  /// - Throws: `EINVAL` when nothing follows the namespace; `EOPNOTSUPP` for a namespace that no
  ///   file system knows, for a name without one, and for the kernel's own (`system.`).
  public func check(_ name: AttributeName) throws(Errno) {
    let namespace = name.namespace
    switch namespace {
    case .unknown, .system: throw .notSupported
    case .user, .trusted, .security:
      if name.bytes.count == namespace.prefixSize { throw .invalidArgument }
    }
  }
}

/// What has to be true of an attribute before it is set (setxattr(2)).
public struct SetCondition: OptionSet, Hashable, Sendable {
  /// The kernel's bits.
  public let rawValue: Int32
  /// Takes bits as they are.
  public init(rawValue: Int32) { self.rawValue = rawValue }

  /// Nothing: an attribute is made or replaced.
  public static let any: SetCondition = []
  /// The attribute must be missing, else `EEXIST` (`XATTR_CREATE`).
  public static let create = SetCondition(rawValue: 1)
  /// The attribute must be there, else `ENODATA` (`XATTR_REPLACE`).
  public static let replace = SetCondition(rawValue: 2)

  /// Takes the flags of a system call, both of them too; `EINVAL` when there are others.
  public init(flags: Int32) throws(Errno) {
    let known: SetCondition = [.create, .replace]
    guard flags & ~known.rawValue == 0 else { throw .invalidArgument }
    rawValue = flags
  }
}
