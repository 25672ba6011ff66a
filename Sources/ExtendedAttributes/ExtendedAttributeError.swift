public import Foundation

/// What went wrong with an extended attribute.
///
/// The one error that this library throws. ``kind`` is what a program decides by, ``errno`` what
/// the system said, and ``description`` a sentence for a person, with the call, the attribute and
/// the path:
///
/// > Cannot set the attribute "com.example.key" of "/mnt/usb/film.mp4": extended attributes are not
/// > supported here (lsetxattr, user.com.example.key, EOPNOTSUPP)
///
/// ```swift
/// do {
///   try url.extendedAttributes.set(data, for: "com.example.key")
/// } catch {
///   switch error.kind {
///   case .notSupported: try writeBesideTheFile(data)
///   default: throw error
///   }
/// }
/// ```
///
/// A missing attribute is no error for the calls that read or test: they return `nil` or `false`.
public struct ExtendedAttributeError: Error, Hashable, Sendable {
  /// The causes that programs tell apart; later versions may tell more.
  public struct Kind: Hashable, Sendable {
    private enum Cause {
      case missing, exists, notSupported, noSpace, notPermitted, tooLarge, nameNotAllowed,
        noSuchItem, notAFileURL, invalidValue, other
    }
    private let cause: Cause

    /// The attribute is not there: `ENODATA`, on Apple platforms `ENOATTR`.
    public static let missing = Kind(cause: .missing)
    /// The attribute is there already, and was to be created: `EEXIST`.
    public static let exists = Kind(cause: .exists)
    /// The file system keeps no extended attributes, or none of this namespace: `EOPNOTSUPP`.
    public static let notSupported = Kind(cause: .notSupported)
    /// No room: the disk, the quota or what this file system has for attributes is used up:
    /// `ENOSPC`, `EDQUOT`. On ext4 one value of a block, 4096 bytes or less, is enough.
    public static let noSpace = Kind(cause: .noSpace)
    /// The caller may not, or nobody may: `EPERM`, `EACCES`, `EROFS`. Linux gives no `user.`
    /// attributes to symbolic links, devices, sockets and pipes, and says `EPERM` then.
    public static let notPermitted = Kind(cause: .notPermitted)
    /// The value is longer than any file system takes: `E2BIG`; over 65 536 bytes on Linux.
    public static let tooLarge = Kind(cause: .tooLarge)
    /// The name is empty, too long, has a NUL in it, or no namespace that Linux knows:
    /// `ERANGE`, `EINVAL`, `EOPNOTSUPP`, on Apple platforms `ENAMETOOLONG`.
    public static let nameNotAllowed = Kind(cause: .nameNotAllowed)
    /// There is no file or directory at the path: `ENOENT`, `ENOTDIR`.
    public static let noSuchItem = Kind(cause: .noSuchItem)
    /// The URL does not name a file.
    public static let notAFileURL = Kind(cause: .notAFileURL)
    /// The bytes of the attribute are not a value of the type asked for, or the value cannot be
    /// written in the format asked for. ``ExtendedAttributeError/errno`` is 0.
    public static let invalidValue = Kind(cause: .invalidValue)
    /// Anything else; ``ExtendedAttributeError/errno`` tells.
    public static let other = Kind(cause: .other)
  }

  /// What the program was doing.
  public enum Operation: String, Hashable, Sendable {
    /// Listing the names.
    case list
    /// Reading a value.
    case get
    /// Writing a value.
    case set
    /// Removing an attribute.
    case remove
  }

  /// What a program decides by.
  public let kind: Kind

  /// The error number of the system, 0 when no system call was made or none failed.
  public let errno: Int32

  /// What the program was doing.
  public let operation: Operation

  /// The system call that failed, `lsetxattr` for example; `nil` when it was never made.
  public let call: String?

  /// The attribute; `nil` for a list.
  public let name: ExtendedAttributeName?

  /// The path of the file; of an open file `descriptor 5` or the like.
  public let path: String

  /// What a coder said about a value that it could not read or write.
  private let reason: String?

  init(
    _ code: Int32, _ operation: Operation, _ name: ExtendedAttributeName?, call: String?,
    path: String
  ) {
    self.errno = code
    self.kind = Self.kind(of: code, operation, name)
    self.operation = operation
    self.call = call
    self.name = name
    self.path = path
    self.reason = nil
  }

  init(
    _ kind: Kind, _ operation: Operation, _ name: ExtendedAttributeName?, path: String,
    reason: String?
  ) {
    self.errno = kind == .notAFileURL ? Code.invalid : 0
    self.kind = kind
    self.operation = operation
    self.call = nil
    self.name = name
    self.path = path
    self.reason = reason
  }

  private static func kind(
    of code: Int32, _ operation: Operation, _ name: ExtendedAttributeName?
  ) -> Kind {
    switch code {
    case Code.noAttribute: .missing
    case Code.exists: .exists
    case Code.notSupported: name?.hasNamespace == false ? .nameNotAllowed : .notSupported
    case Code.noSpace, Code.overQuota: .noSpace
    case Code.notPermitted, Code.accessDenied, Code.readOnly: .notPermitted
    case Code.tooLarge: .tooLarge
    case Code.noSuchItem, Code.notADirectory: .noSuchItem
    // The kernel's word for a name out of bounds; of a name within, it is a buffer's size.
    case Code.range, Code.nameTooLong: name?.isWithinLimits == false ? .nameNotAllowed : .other
    case Code.invalid: name == nil ? .other : .nameNotAllowed
    default: .other
    }
  }
}

extension ExtendedAttributeError.Kind {
  /// Whether an error is of this kind: `catch ExtendedAttributeError.Kind.missing`.
  public static func ~= (kind: Self, error: any Error) -> Bool {
    (error as? ExtendedAttributeError)?.kind == kind
  }

  /// Whether an error is of this kind, where the compiler knows that nothing else is thrown.
  public static func ~= (kind: Self, error: ExtendedAttributeError) -> Bool {
    error.kind == kind
  }
}

extension ExtendedAttributeError: CustomStringConvertible, LocalizedError {
  /// One sentence: what failed, on what, why; then the call, the native name and the errno.
  public var description: String {
    var task: String
    switch operation {
    case .list: task = "list the attributes"
    case .get: task = "read the attribute"
    case .set: task = "set the attribute"
    case .remove: task = "remove the attribute"
    }
    if let name { task += " \"\(name)\"" }
    let details = [call, name?.native, codeName].compactMap(\.self).joined(separator: ", ")
    return "Cannot \(task) of \"\(path)\": \(cause)" + (details.isEmpty ? "" : " (\(details))")
  }

  /// The same as ``description``, for code that shows `localizedDescription`.
  public var errorDescription: String? {
    description
  }

  private var cause: String {
    switch kind {
    case .missing: "there is no such attribute"
    case .exists: "the attribute exists already"
    case .notSupported: "extended attributes are not supported here"
    case .noSpace: "no space is left for it"
    case .notPermitted: errno == Code.readOnly ? "the file system is read-only" : "not permitted"
    case .tooLarge: "the value is too large"
    case .nameNotAllowed: "such a name is not allowed"
    case .noSuchItem: "there is no such file or directory"
    case .notAFileURL: "this is not a file URL"
    case .invalidValue: reason ?? "the value does not fit the type"
    default: systemMessage(errno)
    }
  }

  private var codeName: String? {
    switch errno {
    case 0: nil
    case Code.noAttribute: Code.noAttributeName
    case Code.exists: "EEXIST"
    case Code.notSupported: "EOPNOTSUPP"
    case Code.noSpace: "ENOSPC"
    case Code.overQuota: "EDQUOT"
    case Code.notPermitted: "EPERM"
    case Code.accessDenied: "EACCES"
    case Code.readOnly: "EROFS"
    case Code.tooLarge: "E2BIG"
    case Code.noSuchItem: "ENOENT"
    case Code.notADirectory: "ENOTDIR"
    case Code.range: "ERANGE"
    case Code.nameTooLong: "ENAMETOOLONG"
    case Code.invalid: "EINVAL"
    case Code.badDescriptor: "EBADF"
    case Code.inputOutput: "EIO"
    case Code.loop: "ELOOP"
    default: "errno \(errno)"
    }
  }
}
