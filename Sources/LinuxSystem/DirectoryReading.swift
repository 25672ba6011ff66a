import CLinux
import Glibc

/// One entry of a directory, as getdents64(2) tells it.
public struct DirectoryEntry: Sendable {
  /// The name's bytes.
  public let name: FileName
  /// The inode number.
  public let inode: UInt64
  /// The type, as `DT_*`; 0 where the file system does not say.
  public let typeCode: UInt8
  /// Where the next entry begins, for ``FileDescriptor/seekDirectory(to:)``.
  public let next: Int64

  /// An entry.
  public init(name: FileName, inode: UInt64, typeCode: UInt8, next: Int64) {
    self.name = name
    self.inode = inode
    self.typeCode = typeCode
    self.next = next
  }
}

extension FileDescriptor {
  /// The next entries of an open directory, as many as fit `size` bytes; none at its end.
  ///
  /// The corresponding system call is `getdents64`.
  public func readDirectory(size: Int = 32768) throws(Errno) -> [DirectoryEntry] {
    let raw = self.raw
    var buffer = [UInt8](repeating: 0, count: size)
    let length = try call { clinux_getdents64(raw, &buffer, size) }
    // struct linux_dirent64: u64 inode, s64 next, u16 length of the record, u8 type, name, NUL.
    let header = 19
    let bytes = buffer.span.bytes
    var entries = [DirectoryEntry]()
    var start = 0
    while start + header <= length {
      let record = Int(bytes.unsafeLoadUnaligned(fromByteOffset: start + 16, as: UInt16.self))
      guard record > header, start + record <= length else { throw .inputOutput }
      entries.append(
        DirectoryEntry(
          name: name(in: buffer, from: start + header, below: start + record),
          inode: bytes.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self),
          typeCode: buffer[start + 18],
          next: bytes.unsafeLoadUnaligned(fromByteOffset: start + 8, as: Int64.self)))
      start += record
    }
    return entries
  }

  private func name(in buffer: [UInt8], from start: Int, below end: Int) -> FileName {
    buffer.withUnsafeBytes { FileName(copying: UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
  }

  /// Goes on reading a directory where an entry's ``DirectoryEntry/next`` says.
  ///
  /// The corresponding system call is `lseek` with `SEEK_SET`.
  public func seekDirectory(to position: Int64) throws(Errno) {
    let raw = self.raw
    try call { lseek(raw, Int(position), SEEK_SET) }
  }
}
