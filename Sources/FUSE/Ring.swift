import CFUSE
import Glibc
import LinuxSystem
import Synchronization

#if IOUring
  import CURing

  /// An io_uring of one thread, and the place where the kernel puts one request at a time for it
  /// (`FUSE_OVER_IO_URING`).
  ///
  /// A thread that serves has no place where another request could wait for it: the kernel gives it
  /// to another thread, or keeps it until one is free.
  final class Ring: @unchecked Sendable {
    /// Which of the kernel's queues it takes from: the number of a processor.
    let queue: Int
    private let device: Int32
    private let ring: UnsafeMutablePointer<io_uring>
    /// One page with the kernel's headers at its beginning, then the payload. The last bytes of the
    /// page are left to put the headers before the payload, as libfuse wants them.
    private let memory: UnsafeMutableRawPointer
    private let memorySize: Int
    private let buffers: UnsafeMutablePointer<iovec>
    /// The request that is being served and should not take long, as the thread counts them, or 0.
    let serving = Atomic<UInt64>(0)
    /// How many such there were.
    let count = Atomic<UInt64>(0)
    /// It serves what may take long. Of the thread alone.
    var isOccupied = false
    /// What is being served: nothing, or the request and the number by which the kernel knows it.
    private var commit: UInt64 = 0
    private var isAnswered = true

    private static let page = 4096
    private static let headerSize = MemoryLayout<cfuse_in_header>.size
    private static let answerHeaderSize = MemoryLayout<fuse_out_header>.size

    /// Sets up what only the calling thread may use, with room for `payload` bytes.
    ///
    /// Throws what io_uring_setup(2) says: `ENOSYS` or `EPERM` where it is not to be had.
    init(queue: Int, device: Int32, payload: Int) throws(Errno) {
      guard UInt16(exactly: queue) != nil, (Self.page...(64 << 20)).contains(payload) else {
        throw .invalidArgument
      }
      let size = Self.page + payload
      // Only what is used of it takes memory.
      let memory = mmap(
        nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
      guard let memory, memory != MAP_FAILED else { throw Errno(errno) }
      ring = .allocate(capacity: 1)
      ring.initialize(to: io_uring())
      let result = curing_make(ring)
      guard result == 0 else {
        ring.deallocate()
        munmap(memory, size)
        throw Errno(-result)
      }
      buffers = .allocate(capacity: 2)
      buffers[0] = iovec(iov_base: memory, iov_len: Int(curing_header_size))
      buffers[1] = iovec(iov_base: memory + Self.page, iov_len: payload)
      self.queue = queue
      self.device = device
      self.memory = memory
      memorySize = size
    }

    deinit {
      io_uring_queue_exit(ring)
      ring.deallocate()
      buffers.deallocate()
      munmap(memory, memorySize)
    }

    /// Where the answer's bytes go, and how many there is room for.
    var payload: UnsafeMutableRawBufferPointer {
      UnsafeMutableRawBufferPointer(start: memory + Self.page, count: memorySize - Self.page)
    }

    /// Whether the kernel has taken the place. Of the thread alone.
    private(set) var hasServed = false

    /// Offers the place to the kernel; whether it was taken the next wait tells.
    func register() throws(Errno) { try prepare(UInt32(curing_register_entry), buffers, 0) }

    /// Hands over the answer to the request that is being served, and the place for another.
    func commitAnswer() throws(Errno) {
      if !isAnswered { fail(EIO) }
      try prepare(UInt32(curing_commit_and_fetch), nil, commit)
    }

    private func prepare(
      _ operation: UInt32, _ buffers: UnsafePointer<iovec>?, _ commit: UInt64
    ) throws(Errno) {
      let result = curing_prepare(
        ring, device, operation, buffers, commit, UInt16(truncatingIfNeeded: queue))
      guard result == 0 else { throw Errno(-result) }
    }

    /// Hands over what is there, without waiting.
    func flush() { _ = io_uring_submit(ring) }

    /// Waits for a request: true when there is one, false when the thread was woken otherwise.
    ///
    /// `ENOTCONN` when the mount is gone; others when the kernel did not take what it was handed.
    func wait() throws(Errno) -> Bool {
      var outcome: Int32 = 0
      let result = curing_wait(ring, &outcome)
      if result == -EINTR || result == -EAGAIN || result == 0 { return false }
      guard result > 0 else { throw Errno(-result) }
      guard outcome >= 0 else { throw Errno(outcome == Int32.min ? EIO : -outcome) }
      return true
    }

    /// The request as /dev/fuse would have given it; nil, and answered, if it cannot be one.
    func request() -> fuse_buf? {
      commit = memory.loadUnaligned(
        fromByteOffset: Int(curing_commit_id), as: UInt64.self)
      isAnswered = false
      hasServed = true
      let size = Int(memory.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
      let payload = Int(
        memory.loadUnaligned(fromByteOffset: Int(curing_payload_size), as: UInt32.self))
      let argument = size - Self.headerSize - payload
      guard payload <= self.payload.count, (0...Int(curing_argument_room)).contains(argument)
      else {
        fail(EIO)
        return nil
      }
      let start = memory + (Self.page - Self.headerSize - argument)
      start.copyMemory(from: memory, byteCount: Self.headerSize)
      (start + Self.headerSize).copyMemory(
        from: memory + Int(curing_argument), byteCount: argument)
      var buffer = fuse_buf()
      buffer.mem = start
      buffer.size = size
      return buffer
    }

    /// The number of the request in the kernel's header, which an answer leaves as it is.
    private var unique: UInt64 { memory.loadUnaligned(fromByteOffset: 8, as: UInt64.self) }

    /// Takes what libfuse would write to /dev/fuse, if it answers the request that is being served.
    func takes(_ parts: UnsafeBufferPointer<iovec>) -> Int? {
      guard !isAnswered, let first = parts.first, let header = first.iov_base,
        first.iov_len == Self.answerHeaderSize
      else { return nil }
      let answer = header.loadUnaligned(as: fuse_out_header.self)
      guard answer.unique == unique else { return nil }
      var count = 0
      for part in parts.dropFirst() {
        guard part.iov_len <= payload.count - count else {
          fail(EIO)
          return Self.answerHeaderSize
        }
        guard part.iov_len > 0, let base = part.iov_base else { continue }
        // What was read from a file lies there already.
        memmove(memory + Self.page + count, base, part.iov_len)
        count += part.iov_len
      }
      finish(answer.error, count)
      return Self.answerHeaderSize + count
    }

    private func fail(_ error: Int32) { finish(-error, 0) }

    private func finish(_ error: Int32, _ count: Int) {
      let size = UInt32(truncatingIfNeeded: Self.answerHeaderSize + count)
      memory.storeBytes(of: size, toByteOffset: 0, as: UInt32.self)
      memory.storeBytes(of: error, toByteOffset: 4, as: Int32.self)
      memory.storeBytes(
        of: UInt32(truncatingIfNeeded: count), toByteOffset: Int(curing_payload_size),
        as: UInt32.self)
      isAnswered = true
    }
  }
#else
  /// Built without liburing: there are no rings.
  final class Ring: @unchecked Sendable {
    let queue = 0
    let serving = Atomic<UInt64>(0)
    let count = Atomic<UInt64>(0)
    var isOccupied = false
    init(queue: Int, device: Int32, payload: Int) throws(Errno) { throw Errno(ENOSYS) }
    var payload: UnsafeMutableRawBufferPointer {
      UnsafeMutableRawBufferPointer(start: nil, count: 0)
    }
    func register() throws(Errno) { throw Errno(ENOSYS) }
    func commitAnswer() throws(Errno) { throw Errno(ENOSYS) }
    var hasServed: Bool { false }
    func flush() {}
    func wait() throws(Errno) -> Bool { throw Errno(ENOSYS) }
    func request() -> fuse_buf? { nil }
    func takes(_ parts: UnsafeBufferPointer<iovec>) -> Int? { nil }
  }
#endif

extension Ring {
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// The calling thread's, if it serves one.
  static var current: Ring? {
    pthread_getspecific(key).map { Unmanaged<Ring>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Makes it the calling thread's while `body` runs.
  func whileCurrent<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
    pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
    defer { pthread_setspecific(Self.key, nil) }
    return try body()
  }
}

extension Ring {
  /// Answers a read with bytes of a file, straight into the place where the kernel takes them from:
  /// there is no descriptor to splice them into.
  func reply(_ request: fuse_req_t?, _ range: FileRange) -> Int32 {
    let room = payload
    let count = pread(
      range.file.raw, room.baseAddress, min(range.count, room.count), Int(range.offset))
    if count < 0 { return fuse_reply_err(request, errno) }
    return fuse_reply_buf(request, room.baseAddress, count)
  }
}
