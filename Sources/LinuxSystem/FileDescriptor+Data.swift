import CLinux
import Glibc

/// The calls on the contents of an open file.
extension FileDescriptor {
  /// Puts data and inode on the disk. The corresponding system call is `fsync`.
  public func sync() throws(Errno) {
    let raw = self.raw
    try call { fsync(raw) }
  }

  /// Puts the data on the disk, and of the inode what is needed to read it back.
  ///
  /// The corresponding system call is `fdatasync`.
  public func dataSync() throws(Errno) {
    let raw = self.raw
    try call { fdatasync(raw) }
  }

  /// Finds data or a hole: `whence` is `SEEK_DATA` or `SEEK_HOLE`, or one of the ordinary three.
  ///
  /// `ENXIO` past the end. The corresponding system call is `lseek`.
  public func seek(to offset: Int64, whence: Int32) throws(Errno) -> Int64 {
    let raw = self.raw
    return try Int64(call { lseek(raw, Int(offset), whence) })
  }

  /// Reserves, frees or moves space; `mode` is a set of `FALLOC_FL_*`, lengths are in bytes.
  ///
  /// The corresponding system call is `fallocate`.
  public func allocate(mode: Int32, offset: Int64, length: Int64) throws(Errno) {
    let raw = self.raw
    try call { fallocate(raw, mode, Int(offset), Int(length)) }
  }

  /// Copies within the kernel; the count is in bytes and may be short.
  ///
  /// The corresponding system call is `copy_file_range`.
  public func copyRange(
    from offset: Int64, to target: borrowing FileDescriptor, at targetOffset: Int64, count: Int,
    flags: UInt32
  ) throws(Errno) -> Int {
    let raw = self.raw
    let targetRaw = target.raw
    var from = Int(offset)
    var to = Int(targetOffset)
    return try call { copy_file_range(raw, &from, targetRaw, &to, count, flags) }
  }

  /// Cuts or extends the file to `size` bytes. The corresponding system call is `ftruncate`.
  public func truncate(to size: Int64) throws(Errno) {
    let raw = self.raw
    try call { ftruncate(raw, Int(size)) }
  }

  /// Cuts or extends the file that this descriptor holds with `O_PATH`.
  ///
  /// The corresponding system call is `truncate`, on its path in /proc.
  public func truncateHeld(to size: Int64) throws(Errno) {
    let path = procPath
    try call { Glibc.truncate(path.cString, Int(size)) }
  }

  /// Reads up to `count` bytes at `offset`. The corresponding system call is `pread`.
  public func read(at offset: Int64, count: Int) throws(Errno) -> [UInt8] {
    let raw = self.raw
    var buffer = [UInt8](repeating: 0, count: count)
    let length = try call { pread(raw, &buffer, count, Int(offset)) }
    buffer.removeLast(buffer.count - length)
    return buffer
  }

  /// Reads from where the file stands until its end, at most `limit` bytes.
  ///
  /// The corresponding system call is `read`.
  public func readToEnd(limit: Int = 1 << 20) throws(Errno) -> [UInt8] {
    let raw = self.raw
    var result = [UInt8]()
    var buffer = [UInt8](repeating: 0, count: 4096)
    while result.count < limit {
      let length = try call { Glibc.read(raw, &buffer, 4096) }
      if length == 0 { break }
      result.append(contentsOf: buffer[..<length])
    }
    return result
  }

  /// Writes all bytes where the file stands. The corresponding system call is `write`.
  public func write(_ bytes: some Collection<UInt8>) throws(Errno) {
    let raw = self.raw
    var rest = Array(bytes)
    while !rest.isEmpty {
      let written = try call { Glibc.write(raw, rest, rest.count) }
      rest.removeFirst(written)
    }
  }

  /// Writes all bytes at `offset`. The corresponding system call is `pwrite`.
  public func write(at offset: Int64, _ bytes: [UInt8]) throws(Errno) {
    let raw = self.raw
    let written = try call { pwrite(raw, bytes, bytes.count, Int(offset)) }
    if written < bytes.count {
      try write(at: offset + Int64(written), Array(bytes[written...]))
    }
  }

  /// Makes every write go to the end, or to where it says. The system call is `fcntl`.
  public func setAppending(_ appends: Bool) throws(Errno) {
    let raw = self.raw
    let flags = try call { fcntl(raw, F_GETFL) }
    try call { fcntl(raw, F_SETFL, appends ? flags | O_APPEND : flags & ~O_APPEND) }
  }

  /// Takes or drops a lock of the whole open file; `operation` is made of `LOCK_*`.
  ///
  /// `EAGAIN` when another has it and `LOCK_NB` is given. The corresponding system call is `flock`.
  public func lockWhole(_ operation: Int32) throws(Errno) {
    let raw = self.raw
    try call { flock(raw, operation) }
  }
}

/// A lock of a range of bytes, as fcntl(2) describes it.
public struct RangeLock: Hashable, Sendable {
  /// `F_RDLCK`, `F_WRLCK` or `F_UNLCK`.
  public var type: Int16
  /// The first byte.
  public var start: Int64
  /// How many bytes; 0 means to the end, however far it moves.
  public var length: Int64
  /// Who holds it; 0 when that is not known.
  public var pid: Int32

  /// A lock of a range.
  public init(type: Int16, start: Int64, length: Int64, pid: Int32) {
    self.type = type
    self.start = start
    self.length = length
    self.pid = pid
  }

  /// Whether this frees a range.
  public var isUnlock: Bool { type == F_UNLCK }
}

extension FileDescriptor {
  /// What would keep `lock` from being taken; its type is `F_UNLCK` when nothing would.
  ///
  /// The corresponding system call is `fcntl` with `F_OFD_GETLK`.
  public func conflict(with lock: RangeLock) throws(Errno) -> RangeLock {
    var kernel = lock.kernel
    let raw = self.raw
    try call { clinux_lock(raw, F_OFD_GETLK, &kernel) }
    return RangeLock(
      type: kernel.l_type, start: Int64(kernel.l_start), length: Int64(kernel.l_len),
      pid: kernel.l_pid)
  }

  /// Takes or drops a lock that belongs to this open file; `EAGAIN` when another is in the way.
  ///
  /// The corresponding system call is `fcntl` with `F_OFD_SETLK`.
  public func setLock(_ lock: RangeLock) throws(Errno) {
    var kernel = lock.kernel
    let raw = self.raw
    try call { clinux_lock(raw, F_OFD_SETLK, &kernel) }
  }
}

extension RangeLock {
  /// For locks of an open file the kernel wants the process to be 0.
  fileprivate var kernel: flock {
    var lock = flock()
    lock.l_type = type
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = Int(start)
    lock.l_len = Int(length)
    lock.l_pid = 0
    return lock
  }
}
