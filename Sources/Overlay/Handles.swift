import FUSE
import LinuxSystem

/// An open file of the source.
final class OpenFile: Handle, @unchecked Sendable {
  let file: FileDescriptor
  private let appends: Lock<Bool>

  init(_ file: consuming FileDescriptor, appends: Bool) {
    self.file = file
    self.appends = Lock(appends)
  }

  /// Follows the caller's open file, whose `O_APPEND` fcntl(2) may change.
  func follow(appending: Bool) throws(Errno) {
    try appends.withLock { (appends) throws(Errno) in
      guard appends != appending else { return }
      try file.setAppending(appending)
      appends = appending
    }
  }
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
