import CLinux

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
}
