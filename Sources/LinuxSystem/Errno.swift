import CLinux
import Glibc

/// What went wrong in a system call, in the kernel's own vocabulary.
///
/// The same value travels from the call that failed to the FUSE reply; nothing in between
/// translates it. The names are those of errno(3) in words, the C name stands beside each.
public struct Errno: Error, Hashable, Sendable {
  /// The kernel's number, positive.
  public let code: Int32

  /// Wraps a number that a system call left in `errno`.
  public init(_ code: Int32) { self.code = code }

  /// The caller may not do this, whatever the mode bits say (`EPERM`).
  public static let notPermitted = Errno(EPERM)
  /// No such file or directory (`ENOENT`).
  public static let noEntry = Errno(ENOENT)
  /// A signal or a FUSE interrupt ended the wait (`EINTR`).
  public static let interrupted = Errno(EINTR)
  /// Input/output error; also what a damaged store answers (`EIO`).
  public static let inputOutput = Errno(EIO)
  /// The argument list, or an attribute's value, is too long (`E2BIG`).
  public static let tooBig = Errno(E2BIG)
  /// Not an open descriptor, or one opened for something else (`EBADF`).
  public static let badDescriptor = Errno(EBADF)
  /// Try again: the call would have to wait (`EAGAIN`, also `EWOULDBLOCK`).
  public static let tryAgain = Errno(EAGAIN)
  /// Out of memory (`ENOMEM`).
  public static let noMemory = Errno(ENOMEM)
  /// The mode bits forbid it (`EACCES`).
  public static let accessDenied = Errno(EACCES)
  /// In use (`EBUSY`).
  public static let busy = Errno(EBUSY)
  /// Something of that name is there already (`EEXIST`).
  public static let exists = Errno(EEXIST)
  /// From one file system to another (`EXDEV`).
  public static let crossDevice = Errno(EXDEV)
  /// Not a directory (`ENOTDIR`).
  public static let notDirectory = Errno(ENOTDIR)
  /// A directory, where something else is needed (`EISDIR`).
  public static let isDirectory = Errno(EISDIR)
  /// An argument makes no sense (`EINVAL`).
  public static let invalidArgument = Errno(EINVAL)
  /// This process has no descriptor left (`EMFILE`).
  public static let tooManyOpenFiles = Errno(EMFILE)
  /// Larger than a file may be, or than a number can say (`EFBIG`, `EOVERFLOW` for counts).
  public static let fileTooLarge = Errno(EFBIG)
  /// No space left on the device (`ENOSPC`).
  public static let noSpace = Errno(ENOSPC)
  /// Over quota (`EDQUOT`).
  public static let overQuota = Errno(EDQUOT)
  /// Read-only file system (`EROFS`).
  public static let readOnly = Errno(EROFS)
  /// A result does not fit the buffer, or a name its limit (`ERANGE`).
  public static let outOfRange = Errno(ERANGE)
  /// A name is too long (`ENAMETOOLONG`).
  public static let nameTooLong = Errno(ENAMETOOLONG)
  /// Not empty (`ENOTEMPTY`).
  public static let notEmpty = Errno(ENOTEMPTY)
  /// Too many symbolic links (`ELOOP`).
  public static let loop = Errno(ELOOP)
  /// The attribute is not there (`ENODATA`; other systems call it `ENOATTR`).
  public static let noAttribute = Errno(ENODATA)
  /// This file system, or this namespace, has no such thing (`EOPNOTSUPP`, also `ENOTSUP`).
  public static let notSupported = Errno(EOPNOTSUPP)
  /// The call does not exist. The kernel remembers this answer: see `FileSystem` (`ENOSYS`).
  public static let notImplemented = Errno(ENOSYS)
  /// A number does not fit the type that has to carry it (`EOVERFLOW`).
  public static let overflow = Errno(EOVERFLOW)
  /// The handle names an object that is gone (`ESTALE`).
  public static let stale = Errno(ESTALE)
  /// No such device; /dev/fuse says so after an unmount (`ENODEV`).
  public static let noDevice = Errno(ENODEV)
  /// No such process (`ESRCH`).
  public static let noProcess = Errno(ESRCH)
  /// The other end is not connected; a dead FUSE mount says so (`ENOTCONN`).
  public static let notConnected = Errno(ENOTCONN)
  /// Nobody listens there (`ECONNREFUSED`).
  public static let connectionRefused = Errno(ECONNREFUSED)
  /// An ioctl that this object does not know (`ENOTTY`).
  public static let noSuchControl = Errno(ENOTTY)
}

extension Errno: CustomStringConvertible {
  /// The C library's sentence, such as "No such file or directory".
  public var description: String {
    var buffer = [CChar](repeating: 0, count: 128)
    guard let text = strerror_r(code, &buffer, buffer.count) else { return "errno \(code)" }
    return String(cString: text)
  }
}

/// Makes a call, again for as long as a signal interrupts it, and throws what `errno` then says.
///
/// Not for `close`: on Linux the descriptor is gone even when it says `EINTR`.
@discardableResult
package func call<Result: FixedWidthInteger>(_ body: () -> Result) throws(Errno) -> Result {
  #if DEBUG
    if let code = Rehearsal.failure(at: .system) { throw Errno(code) }
  #endif
  while true {
    let result = body()
    if result != -1 { return result }
    let code = errno
    if code != EINTR { throw Errno(code) }
  }
}
