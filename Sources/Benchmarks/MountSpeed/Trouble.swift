import CLinux
import Glibc
import LinuxSystem

/// A call that failed, or that succeeded and gave something wrong.
struct Trouble: Error {
  let text: String
  /// What the call said; nil when it said that all was well.
  let errno: Errno?

  init(text: String, errno: Errno?) {
    self.text = text
    self.errno = errno
  }

  /// A result that is not what it has to be.
  init(wrong text: String) {
    self.text = text
    errno = nil
  }

  /// A call that failed just now.
  init(call: String) {
    let error = Errno(Glibc.errno)
    text = "\(call): \(error)"
    errno = error
  }

  /// Whether a directory that says so when an operation is prepared is one without the ability.
  var isLack: Bool {
    guard let errno else { return false }
    return [.notImplemented, .notSupported, .noSpace, .tooBig, .readOnly].contains(errno)
  }
}

/// The result of a call that has not failed.
@discardableResult
@inline(__always)
func done<Result: FixedWidthInteger>(
  _ result: Result, _ call: @autoclosure () -> String
) throws(Trouble) -> Result {
  if result < 0 { throw Trouble(call: call()) }
  return result
}

/// Throws unless something is as it has to be.
@inline(__always)
func expect(_ isRight: Bool, _ text: @autoclosure () -> String) throws(Trouble) {
  if !isRight { throw Trouble(wrong: text()) }
}

/// Nanoseconds on a clock that nobody sets.
@inline(__always)
func now() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Nanoseconds that a number of calls take, one after another.
@inline(__always)
func timed(
  _ calls: Int, _ body: (Int) throws(Trouble) -> Void
) throws(Trouble) -> UInt64 {
  let start = now()
  for call in 0..<calls { try body(call) }
  return now() - start
}

/// Memory that calls read and write.
final class Memory: @unchecked Sendable {
  let bytes: UnsafeMutableRawPointer
  let count: Int

  /// So many bytes, each of them `fill`.
  init(_ count: Int, fill: UInt8 = 0) {
    bytes = .allocate(byteCount: max(count, 8), alignment: 4096)
    self.count = count
    bytes.initializeMemory(as: UInt8.self, repeating: fill, count: max(count, 8))
  }

  deinit { bytes.deallocate() }

  /// Writes a number into every eighth byte and those after it: what is read can be told from
  /// what was there before, and from anything else.
  func stamp(_ number: UInt64) {
    for offset in stride(from: 0, to: count - 7, by: 8) {
      bytes.storeBytes(of: number &+ UInt64(offset), toByteOffset: offset, as: UInt64.self)
    }
  }

  /// Changes both ends of the first bytes, so that a call that reads nothing is noticed.
  @inline(__always)
  func spoil(_ count: Int) {
    guard count > 0 else { return }
    bytes.storeBytes(
      of: ~bytes.load(as: UInt8.self), as: UInt8.self)
    let last = count - 1
    bytes.storeBytes(
      of: ~bytes.load(fromByteOffset: last, as: UInt8.self), toByteOffset: last, as: UInt8.self)
  }

  /// Whether the first bytes are those of `other`.
  @inline(__always)
  func starts(with other: Memory, count: Int) -> Bool { memcmp(bytes, other.bytes, count) == 0 }
}

/// Signals that ask for an end: what was made is taken away before.
enum Interruption {
  /// Keeps them from ending the program at once, in all threads that are started from here on.
  static func expect() {
    var set = wanted
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Throws when one has come.
  static func check() throws(Trouble) {
    var pending = sigset_t()
    sigpending(&pending)
    if [SIGINT, SIGTERM, SIGHUP].contains(where: { sigismember(&pending, $0) == 1 }) {
      throw Trouble(wrong: "interrupted")
    }
  }

  private static var wanted: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&set, signal) }
    return set
  }
}
