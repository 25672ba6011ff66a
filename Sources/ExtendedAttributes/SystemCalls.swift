#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import CExtendedAttributes
  import Glibc
#elseif canImport(Musl)
  import CExtendedAttributes
  import Musl
#else
  #error("Extended attributes: no C library that is known here")
#endif

/// What a system call acts on, for as long as the call lasts.
enum Target {
  /// A path ending in NUL; whether a symbolic link at its end is followed.
  case path(UnsafePointer<CChar>, followsSymlinks: Bool)
  /// An open file.
  case descriptor(Int32)
}

/// The four calls, each with the arguments that its platform wants.
///
/// They answer as the C functions do: -1 and `errno`. Only ``retried(_:)`` looks at `errno`.
extension Target {
  /// Calls `getxattr`, `lgetxattr` or `fgetxattr`.
  func get(_ name: UnsafePointer<CChar>, _ room: UnsafeMutableRawBufferPointer) -> Int {
    switch self {
    #if canImport(Darwin)
      case .path(let path, let follows):
        return getxattr(
          path, name, room.baseAddress, room.count, 0, follows ? 0 : XATTR_NOFOLLOW)
      case .descriptor(let descriptor):
        return fgetxattr(descriptor, name, room.baseAddress, room.count, 0, 0)
    #else
      case .path(let path, followsSymlinks: true):
        return getxattr(path, name, room.baseAddress, room.count)
      case .path(let path, followsSymlinks: false):
        return lgetxattr(path, name, room.baseAddress, room.count)
      case .descriptor(let descriptor):
        return fgetxattr(descriptor, name, room.baseAddress, room.count)
    #endif
    }
  }

  /// Calls `listxattr`, `llistxattr` or `flistxattr`.
  func list(_ room: UnsafeMutableRawBufferPointer) -> Int {
    let names = room.baseAddress?.assumingMemoryBound(to: CChar.self)
    switch self {
    #if canImport(Darwin)
      case .path(let path, let follows):
        return listxattr(path, names, room.count, follows ? 0 : XATTR_NOFOLLOW)
      case .descriptor(let descriptor):
        return flistxattr(descriptor, names, room.count, 0)
    #else
      case .path(let path, followsSymlinks: true):
        return listxattr(path, names, room.count)
      case .path(let path, followsSymlinks: false):
        return llistxattr(path, names, room.count)
      case .descriptor(let descriptor):
        return flistxattr(descriptor, names, room.count)
    #endif
    }
  }

  /// Calls `setxattr`, `lsetxattr` or `fsetxattr`.
  func set(
    _ name: UnsafePointer<CChar>, _ value: UnsafeRawBufferPointer, _ flags: Int32
  ) -> Int {
    switch self {
    #if canImport(Darwin)
      case .path(let path, let follows):
        return Int(
          setxattr(
            path, name, value.baseAddress, value.count, 0,
            flags | (follows ? 0 : XATTR_NOFOLLOW)))
      case .descriptor(let descriptor):
        return Int(fsetxattr(descriptor, name, value.baseAddress, value.count, 0, flags))
    #else
      case .path(let path, followsSymlinks: true):
        return Int(setxattr(path, name, value.baseAddress, value.count, flags))
      case .path(let path, followsSymlinks: false):
        return Int(lsetxattr(path, name, value.baseAddress, value.count, flags))
      case .descriptor(let descriptor):
        return Int(fsetxattr(descriptor, name, value.baseAddress, value.count, flags))
    #endif
    }
  }

  /// Calls `removexattr`, `lremovexattr` or `fremovexattr`.
  func remove(_ name: UnsafePointer<CChar>) -> Int {
    switch self {
    #if canImport(Darwin)
      case .path(let path, let follows):
        return Int(removexattr(path, name, follows ? 0 : XATTR_NOFOLLOW))
      case .descriptor(let descriptor):
        return Int(fremovexattr(descriptor, name, 0))
    #else
      case .path(let path, followsSymlinks: true):
        return Int(removexattr(path, name))
      case .path(let path, followsSymlinks: false):
        return Int(lremovexattr(path, name))
      case .descriptor(let descriptor):
        return Int(fremovexattr(descriptor, name))
    #endif
    }
  }
}

/// What a system call answered.
package enum Answer {
  /// It worked: a length, or zero.
  case success(Int)
  /// It failed, with this `errno`.
  case failure(Int32)
}

/// Makes a call, again for as long as a signal interrupts it, and picks up `errno` when it fails.
@inline(__always)
func retried(_ call: () -> Int) -> Answer {
  while true {
    let result = call()
    if result >= 0 { return .success(result) }
    let code = errno
    if code != EINTR { return .failure(code) }
  }
}

/// Numbers that differ between the platforms, under one name.
enum Code {
  #if canImport(Darwin)
    static let noAttribute = ENOATTR
    static let noAttributeName = "ENOATTR"
    static let nameLimit = 127
    static let nameTooLong = ENAMETOOLONG
    /// Darwin sets no limit of its own to a value (a resource fork can be large).
    static let valueLimit = Int.max
  #else
    static let noAttribute = ENODATA
    static let noAttributeName = "ENODATA"
    static let nameLimit = 255
    static let nameTooLong = ERANGE
    static let valueLimit = 65_536
  #endif
  static let create = Int32(XATTR_CREATE)
  static let replace = Int32(XATTR_REPLACE)

  static let noSuchItem = ENOENT
  static let notADirectory = ENOTDIR
  static let exists = EEXIST
  static let notSupported = ENOTSUP
  static let noSpace = ENOSPC
  static let overQuota = EDQUOT
  static let notPermitted = EPERM
  static let accessDenied = EACCES
  static let readOnly = EROFS
  static let tooLarge = E2BIG
  static let range = ERANGE
  static let invalid = EINVAL
  static let badDescriptor = EBADF
  static let inputOutput = EIO
  static let loop = ELOOP
}

/// What the C library says about an `errno`, for the ones that have no sentence of their own.
func systemMessage(_ code: Int32) -> String {
  guard let text = strerror(code) else { return "error \(code)" }
  return String(cString: text)
}
