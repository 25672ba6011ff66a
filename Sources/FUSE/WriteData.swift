import CFUSE
public import LinuxSystem

/// The bytes of a write: in memory of libfuse's or still in a pipe, and only during the operation.
public struct WriteData: ~Copyable {
  private let vector: UnsafeMutablePointer<fuse_bufvec>

  /// They go to the end of the file, wherever that is (`O_APPEND`, which fcntl(2) can change while
  /// the file is open).
  public let appends: Bool

  init(_ vector: UnsafeMutablePointer<fuse_bufvec>, flags: Int32) {
    self.vector = vector
    appends = FileDescriptor.OpenFlags(rawValue: flags).contains(.append)
  }

  /// How many bytes there are.
  public var count: Int { fuse_buf_size(vector) }

  /// Moves them into a file at `offset`, spliced where the kernel can; how many were written.
  ///
  /// A file opened with `O_APPEND` takes them at its end. The system calls are `splice` or `pwrite`.
  public func copy(to file: borrowing FileDescriptor, at offset: Int64) throws(Errno) -> Int {
    let written = cfuse_copy_to_file(vector, file.raw, Int(offset))
    guard written >= 0 else { throw Errno(Int32(clamping: -written)) }
    return written
  }
}
