import FUSE
import LinuxSystem

/// An open file of the source.
final class OpenFile: Handle, @unchecked Sendable {
  let file: FileDescriptor

  init(_ file: consuming FileDescriptor) { self.file = file }
}

/// An open directory of the source, and what was read of it and not yet listed.
final class OpenDirectory: Handle, @unchecked Sendable {
  struct Reading {
    /// Where `pending` begins, as the kernel names it.
    var position: Int64 = 0
    /// The entries that the kernel gets next, last first.
    var pending: [DirectoryEntry] = []
  }

  let file: FileDescriptor
  let reading = Lock(Reading())

  init(_ file: consuming FileDescriptor) { self.file = file }
}
