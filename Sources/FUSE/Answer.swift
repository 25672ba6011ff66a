import CFUSE
import Glibc
import LinuxSystem

/// What an operation answers when all went well.
enum Answer {
  /// Nothing to tell but success.
  case done
  case entry(NodeEntry)
  case status(TimedStatus)
  case link(FileName)
  /// Of a file, with its node; of a directory, without.
  case opened(Opened, Node?)
  case created(NodeEntry, Opened)
  case file(FileRange)
  case written(Int)
  case offset(Int64)
  /// Bytes that may be asked for by length: a probe (room 0) is told how many there are.
  case sized(ArraySlice<UInt8>, room: Int)
  case directory([CChar], [Node])
  case fileSystem(FileDescriptor.FileSystemStatus)
  case lock(RangeLock)

  /// Sends the answer. What the kernel did not take, because the caller was interrupted, is undone.
  func send(to request: fuse_req_t?, _ context: SessionContext) -> Int32 {
    switch self {
    case .done: return fuse_reply_err(request, 0)
    case .entry(let entry):
      var parameters = fuse_entry_param(entry)
      let result = fuse_reply_entry(request, &parameters)
      if result != 0 { context.fileSystem.forget(entry.node, lookups: 1) }
      return result
    case .status(let timed):
      var attributes = stat(timed.status)
      return fuse_reply_attr(request, &attributes, timed.timeout)
    case .link(let target): return fuse_reply_readlink(request, target.cString)
    case .opened(let opened, let node):
      let answer = cfuse_open_out(opened, context.handles)
      let result = cfuse_reply_open(request, answer)
      if result != 0 {
        if let node { context.fileSystem.release(opened.handle, node) }
        context.handles.discard(answer.fh)
      }
      return result
    case .created(let entry, let opened):
      var parameters = fuse_entry_param(entry)
      let answer = cfuse_open_out(opened, context.handles)
      let result = cfuse_reply_create(request, &parameters, answer)
      if result != 0 {
        context.fileSystem.release(opened.handle, entry.node)
        context.handles.discard(answer.fh)
        context.fileSystem.forget(entry.node, lookups: 1)
      }
      return result
    case .file(let range):
      if let ring = Ring.current { return ring.reply(request, range) }
      return cfuse_reply_file(request, range.file.raw, Int(range.offset), range.count)
    case .written(let count): return fuse_reply_write(request, count)
    case .offset(let offset): return fuse_reply_lseek(request, Int(offset))
    case .sized(let bytes, let room):
      if room == 0 { return fuse_reply_xattr(request, bytes.count) }
      guard bytes.count <= room else { return fuse_reply_err(request, ERANGE) }
      return bytes.withUnsafeBytes { fuse_reply_buf(request, $0.baseAddress, $0.count) }
    case .directory(let bytes, let nodes):
      let result = fuse_reply_buf(request, bytes, bytes.count)
      if result != 0 { for node in nodes { context.fileSystem.forget(node, lookups: 1) } }
      return result
    case .fileSystem(let status):
      var buffer = statvfs(status)
      return fuse_reply_statfs(request, &buffer)
    case .lock(let lock):
      var buffer = Glibc.flock()
      buffer.l_type = lock.type
      buffer.l_start = Int(lock.start)
      buffer.l_len = Int(lock.length)
      buffer.l_pid = lock.pid
      return fuse_reply_lock(request, &buffer)
    }
  }
}

/// Answers a request with what `body` returns or throws. Every reply leaves through here, so this
/// is where operations are counted and traced.
func answer(
  _ request: fuse_req_t?, _ operation: Operation, _ subject: @autoclosure () -> String,
  _ body: (SessionContext) throws(Errno) -> Answer
) {
  guard let context = SessionContext.of(request) else { return }
  let started = context.trace == nil ? 0 : monotonicNanoseconds()
  var failure: Errno?
  do throws(Errno) {
    let result = try body(context)
    context.traceBeforeReply(operation, subject, nil, started)
    _ = result.send(to: request, context)
  } catch {
    failure = error
    context.traceBeforeReply(operation, subject, error, started)
    fuse_reply_err(request, error.code)
  }
  context.counters.count(operation, failed: failure != nil)
}

func monotonicNanoseconds() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

extension statvfs {
  init(_ status: FileDescriptor.FileSystemStatus) {
    self.init()
    f_bsize = UInt(status.blockSize)
    f_frsize = UInt(status.fragmentSize)
    f_blocks = UInt(status.blocks)
    f_bfree = UInt(status.freeBlocks)
    f_bavail = UInt(status.availableBlocks)
    f_files = UInt(status.files)
    f_ffree = UInt(status.freeFiles)
    f_namemax = UInt(status.maximumNameLength)
  }
}
