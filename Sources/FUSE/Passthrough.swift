import CFUSE
import Glibc
import LinuxSystem
import Synchronization

/// Gives files of the source to the kernel, which then reads, writes and maps them by itself.
final class Passthrough: Sendable {
  /// /dev/fuse of the session while it serves: a number that is closed may be another file's.
  private let device = Lock<Int32?>(nil)

  /// Whether files can be given.
  var isPossible: Bool { device.withLock { $0 != nil } }

  /// From now on files can be given.
  func start(_ device: Int32) { self.device.withLock { $0 = device } }

  /// The kernel takes back by itself what it still has.
  func stop() { device.withLock { $0 = nil } }

  /// Gives the kernel a file, which may be opened with `O_PATH`: the kernel opens it anew each time.
  func give(_ file: borrowing FileDescriptor) throws(Errno) -> BackingFile {
    let raw = file.raw
    let number = try device.withLock { (device) throws(Errno) in
      guard let open = device else { throw Errno(EOPNOTSUPP) }
      let number = cfuse_backing_open(open, raw)
      if number > 0 { return number }
      let error = Errno(errno)
      // Without CAP_SYS_ADMIN no file will do.
      if error == .notPermitted { device = nil }
      throw error
    }
    return BackingFile(number, self)
  }

  fileprivate func takeBack(_ number: Int32) {
    device.withLock { if let device = $0 { _ = cfuse_backing_close(device, number) } }
  }
}

/// A file of the source that the kernel has, for as long as anybody refers to this. It counts
/// towards no limit of open files.
public final class BackingFile: Sendable {
  let number: Int32
  private let passthrough: Passthrough
  private let users = Atomic<Int>(0)

  /// Whether the kernel has a file open by way of this, as far as is known: the last that closes it
  /// is told of later.
  public var isInUse: Bool { users.load(ordering: .relaxed) > 0 }

  func begin() { users.wrappingAdd(1, ordering: .relaxed) }
  func end() { users.wrappingSubtract(1, ordering: .relaxed) }

  fileprivate init(_ number: Int32, _ passthrough: Passthrough) {
    self.number = number
    self.passthrough = passthrough
  }

  deinit { passthrough.takeBack(number) }
}

/// Which way the data of an open file takes.
///
/// The kernel wants one way for an inode: once an open file of it is `backed` or `mapped`, all are,
/// by the same backing file; another open would fail with `EIO`. So would one that the file's own
/// file system refuses, as with `O_DIRECT`.
public enum Passage: Sendable {
  /// Through the server, and the kernel keeps pages.
  case served
  /// Through the server, and the kernel keeps nothing (`FOPEN_DIRECT_IO`). `EIO` for the caller
  /// while others are `backed` or `mapped`.
  case uncached
  /// Reads, writes and maps pass the server by (`FOPEN_PASSTHROUGH`).
  case backed(BackingFile)
  /// Maps pass the server by; reads and writes come to it.
  case mapped(BackingFile)

  var backing: BackingFile? {
    switch self {
    case .backed(let file), .mapped(let file): file
    case .served, .uncached: nil
    }
  }
}

extension cfuse_open_out {
  init(_ opened: Opened, _ handles: HandleTable) {
    var flags: UInt32 = 0
    var backing: Int32 = 0
    switch opened.passage {
    // With another passage the kernel refuses these flags.
    case .served: if opened.keepsCache { flags |= Self.keepCache | Self.cacheDirectory }
    case .uncached: flags |= Self.direct
    case .backed(let file):
      flags |= Self.passthrough
      backing = file.number
    case .mapped(let file):
      flags |= Self.passthrough | Self.direct
      backing = file.number
    }
    self.init(fh: handles.keep(opened), open_flags: flags, backing_id: backing)
  }

  /// `FOPEN_*` of linux/fuse.h.
  private static let direct: UInt32 = 1 << 0
  private static let keepCache: UInt32 = 1 << 1
  private static let cacheDirectory: UInt32 = 1 << 3
  private static let passthrough: UInt32 = 1 << 7
}
