import CLinux
import Glibc

/// The extended attributes that the file system itself has; the calls work on what `O_PATH` holds.
extension FileDescriptor {
  /// The names of the object's attributes, a NUL after each.
  ///
  /// `EOPNOTSUPP` where the file system has none. The corresponding system call is `listxattr`, on
  /// the path in /proc.
  public func attributeNames() throws(Errno) -> [UInt8] {
    let path = procPath
    return try Self.growing { (buffer, room) in
      listxattr(path.cString, buffer, room)
    }
  }

  /// The value of an attribute; `ENODATA` when there is none.
  ///
  /// The corresponding system call is `getxattr`, on the path in /proc.
  public func attribute(_ name: FileName) throws(Errno) -> [UInt8] {
    let path = procPath
    return try Self.growing { (buffer, room) in
      getxattr(path.cString, name.cString, buffer, room)
    }
  }

  /// Sets an attribute, in place of an older one.
  ///
  /// `EOPNOTSUPP`, `ENOSPC`, `E2BIG`, `ERANGE`, `EPERM` as the file system has it. The corresponding
  /// system call is `setxattr`, on the path in /proc.
  public func setAttribute(_ name: FileName, to value: [UInt8]) throws(Errno) {
    let path = procPath
    try call { setxattr(path.cString, name.cString, value, value.count, 0) }
  }

  /// What a call fills in that says `ERANGE` when there is not room enough; it may have become more
  /// since it was asked how much there is.
  private static func growing(
    _ body: (UnsafeMutableRawPointer?, Int) -> Int
  ) throws(Errno) -> [UInt8] {
    var room = 1024
    while true {
      var buffer = [UInt8](repeating: 0, count: room)
      do throws(Errno) {
        let length = try call { buffer.withUnsafeMutableBytes { body($0.baseAddress, room) } }
        buffer.removeLast(room - length)
        return buffer
      } catch {
        // Neither a list nor a value is longer than 64 KiB (linux/limits.h).
        guard error == .outOfRange, room < 1 << 17 else { throw error }
        room *= 8
      }
    }
  }
}
