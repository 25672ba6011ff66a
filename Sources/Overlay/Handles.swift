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

/// An open directory of the source, and what was read of it.
final class OpenDirectory: Handle, @unchecked Sendable {
  /// A part of the directory as it was read, and the place in it where the list goes on.
  ///
  /// What the kernel was given last stays, for it may come back to some of it: it asks again for
  /// what the caller's buffer had no room for. To seek in the source instead would miss names on
  /// file systems whose positions are counts, such as ramfs, once others were deleted.
  struct Reading {
    private var entries: [DirectoryEntry] = []
    private var index = 0
    private var start: Int64 = 0

    /// Where the list goes on, as the kernel names it.
    var position: Int64 { index == 0 ? start : entries[index - 1].next }

    /// The entry there; nil when more has to be read.
    var next: DirectoryEntry? { index < entries.count ? entries[index] : nil }

    /// Goes on behind the next entry.
    mutating func advance() { index = min(index + 1, entries.count) }

    /// Goes back to a place in what was read; false when it is not there. The directory's beginning
    /// never is: from there it is read anew.
    mutating func moves(to position: Int64) -> Bool {
      if position == self.position { return true }
      guard position != 0 else { return false }
      if position == start {
        index = 0
        return true
      }
      guard let found = entries.lastIndex(where: { $0.next == position }) else { return false }
      index = found + 1
      return true
    }

    /// Forgets what was read: the source is at another place.
    mutating func restart(at position: Int64) {
      entries = []
      index = 0
      start = position
    }

    /// Adds what was read next, and forgets what comes before a place.
    mutating func add(_ more: [DirectoryEntry], keepingFrom place: Int64) {
      if let end = entries.prefix(index).lastIndex(where: { $0.next == place }) {
        entries.removeFirst(end + 1)
        index -= end + 1
        start = place
      }
      entries += more
    }
  }

  let file: FileDescriptor
  let reading = Lock(Reading())

  init(_ file: consuming FileDescriptor) { self.file = file }
}
