import CFUSE
import Glibc
import LinuxSystem
import Synchronization

/// The first request, INIT, as it passes between the kernel and libfuse: what the kernel offers is
/// read, and what libfuse accepts is completed by what it does not know.
///
/// The numbers are those of linux/fuse.h. The kernel takes the newer flags whatever the version of
/// the protocol that libfuse answers with.
final class Handshake: Sendable {
  private struct Meeting {
    var unique: UInt64?
    var offered: KernelFeatures = []
    var accepted: KernelFeatures = []
  }

  private static let headerSize = 40
  private static let answerHeaderSize = 16
  /// `FUSE_PARALLEL_DIROPS`, `FUSE_HANDLE_KILLPRIV_V2`, `FUSE_INIT_EXT`; in the second word of flags,
  /// `FUSE_PASSTHROUGH`.
  private static let parallelDirectories: UInt32 = 1 << 18
  private static let privileges: UInt32 = 1 << 28
  private static let hasMoreFlags: UInt32 = 1 << 30
  private static let passthrough: UInt32 = 1 << 5

  private let wanted: KernelFeatures
  /// How many file systems may lie upon each other below ours, it included.
  private let stackDepth: UInt32
  private let meeting = Lock(Meeting())
  private let ended = Atomic<Bool>(false)

  init(_ wanted: KernelFeatures, stackDepth: UInt32) {
    self.wanted = wanted
    self.stackDepth = stackDepth
  }

  /// INIT was answered: from then on nothing is looked at.
  var isOver: Bool { ended.load(ordering: .relaxed) }

  /// What both sides have agreed on.
  var accepted: KernelFeatures { meeting.withLock { $0.accepted } }

  /// A request came from the kernel.
  func saw(_ request: UnsafeRawBufferPointer) {
    guard let opcode = request.word(at: 4), opcode == UInt32(cfuse_opcode_init),
      let low = request.word(at: 8), let high = request.word(at: 12),
      let flags = request.word(at: Self.headerSize + Int(cfuse_init_in_flags))
    else { return }
    var offered: KernelFeatures = []
    if flags & Self.parallelDirectories != 0 { offered.insert(.parallelDirectories) }
    if flags & Self.privileges != 0 { offered.insert(.privileges) }
    // The second word came with Linux 5.17.
    let more = request.word(at: Self.headerSize + Int(cfuse_init_in_flags2)) ?? 0
    if flags & Self.hasMoreFlags != 0, more & Self.passthrough != 0 { offered.insert(.passthrough) }
    let all = offered
    meeting.withLock {
      $0.unique = UInt64(high) << 32 | UInt64(low)
      $0.offered = all
    }
  }

  /// The answer to INIT with what we add to it, when this is the one.
  func completed(_ parts: UnsafeBufferPointer<iovec>) -> [UInt8]? {
    meeting.withLock { meeting in
      guard let unique = meeting.unique, !isOver else { return nil }
      var answer = parts.flatMap {
        Array(UnsafeRawBufferPointer(start: $0.iov_base, count: $0.iov_len))
      }
      let isAnswer = answer.withUnsafeBytes {
        $0.word(at: 8) == UInt32(truncatingIfNeeded: unique)
          && $0.word(at: 12) == UInt32(truncatingIfNeeded: unique >> 32)
      }
      guard isAnswer else { return nil }
      ended.store(true, ordering: .relaxed)
      // A refusal, or an answer of before Linux 4.x, has no room for more.
      guard answer.count == Self.answerHeaderSize + Int(cfuse_init_out_size) else { return answer }
      meeting.accepted = meeting.offered.intersection(wanted)
      complete(&answer, meeting.accepted)
      return answer
    }
  }

  private func complete(_ answer: inout [UInt8], _ accepted: KernelFeatures) {
    var flags: UInt32 = 0
    if accepted.contains(.parallelDirectories) { flags |= Self.parallelDirectories }
    if accepted.contains(.privileges) { flags |= Self.privileges }
    if accepted.contains(.passthrough) {
      flags |= Self.hasMoreFlags
      answer.or(Self.passthrough, at: Self.answerHeaderSize + Int(cfuse_init_out_flags2))
      answer.or(stackDepth, at: Self.answerHeaderSize + Int(cfuse_init_out_max_stack_depth))
    }
    answer.or(flags, at: Self.answerHeaderSize + Int(cfuse_init_out_flags))
  }

  /// Stands between libfuse and /dev/fuse; libfuse calls these in place of read(2) and writev(2).
  static func interpose(on session: OpaquePointer) throws(MountError) {
    var calls = fuse_custom_io()
    calls.read = { file, buffer, room, context in
      let count = Glibc.read(file, buffer, room)
      if count > 0, !Handshake.isOver(context) {
        Handshake.of(context)?.saw(UnsafeRawBufferPointer(start: buffer, count: count))
      }
      return count
    }
    calls.writev = { file, parts, count, context in
      if !Handshake.isOver(context), let handshake = Handshake.of(context),
        let answer = handshake.completed(UnsafeBufferPointer(start: parts, count: Int(count)))
      {
        return answer.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      }
      return Glibc.writev(file, parts, count)
    }
    calls.splice_receive = { from, fromOffset, to, toOffset, count, flags, _ in
      Glibc.splice(from, fromOffset, to, toOffset, count, flags)
    }
    calls.splice_send = { from, fromOffset, to, toOffset, count, flags, _ in
      Glibc.splice(from, fromOffset, to, toOffset, count, flags)
    }
    guard fuse_session_custom_io(session, &calls, fuse_session_fd(session)) == 0 else {
      throw MountError(message: LibraryLog.take("libfuse does not let us see requests"))
    }
  }

  /// Whether there is nothing more to see, which each request asks.
  private static func isOver(_ context: UnsafeMutableRawPointer?) -> Bool {
    guard let context else { return true }
    return Unmanaged<SessionContext>.fromOpaque(context)._withUnsafeGuaranteedRef {
      $0.handshake.isOver
    }
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> Handshake? {
    context.map { Unmanaged<SessionContext>.fromOpaque($0).takeUnretainedValue().handshake }
  }
}

extension UnsafeRawBufferPointer {
  /// Four bytes as the machine has them; nil beyond the end.
  fileprivate func word(at offset: Int) -> UInt32? {
    guard offset >= 0, offset + 4 <= count else { return nil }
    return loadUnaligned(fromByteOffset: offset, as: UInt32.self)
  }
}

extension [UInt8] {
  /// Adds bits to four bytes.
  fileprivate mutating func or(_ bits: UInt32, at offset: Int) {
    guard offset >= 0, offset + 4 <= count else { return }
    withUnsafeMutableBytes { bytes in
      let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
      bytes.storeBytes(of: word | bits, toByteOffset: offset, as: UInt32.self)
    }
  }
}
