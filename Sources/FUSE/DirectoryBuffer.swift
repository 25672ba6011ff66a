import CFUSE
public import LinuxSystem

/// A reply to readdir or readdirplus while it is being filled.
public struct DirectoryBuffer: ~Copyable {
  private let request: fuse_req_t?
  private let room: Int
  private(set) var bytes: [CChar] = []
  /// Those looked up so far: they are given back should the kernel not take the reply.
  private(set) var nodes: [Node] = []

  init(_ request: fuse_req_t?, room: Int) {
    self.request = request
    self.room = room
    bytes.reserveCapacity(room)
  }

  /// Adds an entry of readdir; false, and nothing added, when it does not fit.
  ///
  /// `next` is where the list goes on after it.
  public mutating func append(_ entry: DirectoryEntry) -> Bool {
    var status = stat()
    status.st_ino = UInt(entry.inode)
    status.st_mode = UInt32(entry.typeCode) << 12
    let (request, name, next) = (request, entry.name.cString, Int(entry.next))
    return append { fuse_add_direntry(request, $0, $1, name, &status, next) }
  }

  /// Whether an entry of readdirplus with such a name would fit: ask before looking it up.
  public func hasRoomPlus(for name: FileName) -> Bool {
    bytes.count + fuse_add_direntry_plus(request, nil, 0, name.cString, nil, 0) <= room
  }

  /// Adds an entry of readdirplus, looked up or, for "." and "..", not (nil).
  ///
  /// False when it does not fit: the lookup has then to be given back.
  public mutating func append(_ entry: DirectoryEntry, _ found: NodeEntry?) -> Bool {
    var parameters = found.map { fuse_entry_param($0) } ?? fuse_entry_param()
    if found == nil {
      parameters.attr.st_ino = UInt(entry.inode)
      parameters.attr.st_mode = UInt32(entry.typeCode) << 12
    }
    let (request, name, next) = (request, entry.name.cString, Int(entry.next))
    let fits = append { fuse_add_direntry_plus(request, $0, $1, name, &parameters, next) }
    if fits, let found { nodes.append(found.node) }
    return fits
  }

  private mutating func append(_ add: (UnsafeMutablePointer<CChar>?, Int) -> Int) -> Bool {
    let size = add(nil, 0)
    guard bytes.count + size <= room else { return false }
    let start = bytes.count
    bytes.append(contentsOf: repeatElement(0, count: size))
    bytes.withUnsafeMutableBufferPointer { buffer in
      _ = add(buffer.baseAddress.map { $0 + start }, size)
    }
    return true
  }
}

extension fuse_entry_param {
  init(_ entry: NodeEntry) {
    self.init()
    ino = fuse_ino_t(entry.node.id)
    attr = stat(entry.status)
    attr_timeout = entry.timeouts.attributes
    entry_timeout = entry.timeouts.entry
  }
}

extension stat {
  init(_ status: FileStatus) {
    self.init()
    st_dev = dev_t(status.device)
    st_ino = UInt(status.inode)
    st_mode = status.mode
    st_nlink = UInt(status.links)
    st_uid = status.uid
    st_gid = status.gid
    st_rdev = dev_t(status.specialDevice)
    st_size = Int(status.size)
    st_blksize = Int(status.blockSize)
    st_blocks = Int(status.blocks)
    st_atim = timespec(status.accessed)
    st_mtim = timespec(status.modified)
    st_ctim = timespec(status.changed)
  }
}

extension timespec {
  init(_ time: Timestamp) { self.init(tv_sec: Int(time.seconds), tv_nsec: Int(time.nanoseconds)) }
}
