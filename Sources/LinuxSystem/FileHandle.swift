import CLinux
import Glibc

/// What the kernel calls a file handle: a name for an object that is its own, whatever names it has
/// in directories (name_to_handle_at(2)). Most hold the inode number and a generation.
public struct FileHandle: Hashable, Sendable {
  /// The handle's type, which the file system chooses.
  public let type: Int32
  /// The handle itself: opaque, at most 128 bytes.
  public let bytes: [UInt8]

  /// A handle that was kept.
  public init(type: Int32, bytes: [UInt8]) {
    self.type = type
    self.bytes = bytes
  }
}

extension FileDescriptor {
  /// The handle of the object that this descriptor holds.
  ///
  /// `EOPNOTSUPP` where the file system has none that could be opened again. The corresponding
  /// system call is `name_to_handle_at`.
  public func handle() throws(Errno) -> FileHandle {
    var buffer = clinux_file_handle()
    buffer.handle_bytes = 128
    let raw = self.raw
    try call { clinux_name_to_handle(raw, &buffer, 0) }
    let count = min(Int(buffer.handle_bytes), 128)
    let bytes = withUnsafeBytes(of: &buffer.bytes) { Array($0.prefix(count)) }
    return FileHandle(type: buffer.handle_type, bytes: bytes)
  }

  /// Opens the object of a handle, on the file system that this descriptor, an open file or
  /// directory of it, belongs to.
  ///
  /// `ESTALE` when the object is gone, `EPERM` without CAP_DAC_READ_SEARCH. The corresponding system
  /// call is `open_by_handle_at`.
  public func open(_ handle: FileHandle, _ flags: OpenFlags) throws(Errno) -> FileDescriptor {
    guard handle.bytes.count <= 128 else { throw .invalidArgument }
    var buffer = clinux_file_handle()
    buffer.handle_bytes = UInt32(handle.bytes.count)
    buffer.handle_type = handle.type
    withUnsafeMutableBytes(of: &buffer.bytes) { $0.copyBytes(from: handle.bytes) }
    let raw = self.raw
    return try FileDescriptor(
      owning: call { clinux_open_by_handle(raw, &buffer, flags.rawValue | O_CLOEXEC) })
  }
}
