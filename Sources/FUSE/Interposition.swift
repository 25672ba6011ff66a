import CFUSE
import Glibc
import LinuxSystem

/// What stands between libfuse and /dev/fuse: libfuse calls these in place of read(2) and writev(2).
enum Interposition {
  static func begin(on session: OpaquePointer) throws(MountError) {
    var calls = fuse_custom_io()
    calls.read = { file, buffer, room, context in
      let count = Glibc.read(file, buffer, room)
      if count > 0, !Interposition.isOver(context) {
        Interposition.context(context)?.handshake
          .saw(UnsafeRawBufferPointer(start: buffer, count: count))
      }
      return count
    }
    calls.writev = { file, parts, count, context in
      let all = UnsafeBufferPointer(start: parts, count: Int(count))
      if let taken = Ring.current?.takes(all) { return taken }
      if !Interposition.isOver(context), let context = Interposition.context(context) {
        return Interposition.greet(file, all, context)
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

  /// Writes what may be the answer to INIT, upon which the mount can be used.
  private static func greet(
    _ file: Int32, _ parts: UnsafeBufferPointer<iovec>, _ context: SessionContext
  ) -> Int {
    guard let answer = context.handshake.completed(parts, prepareRings: context.prepareRings)
    else { return Glibc.writev(file, parts.baseAddress, Int32(clamping: parts.count)) }
    let written = answer.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
    if written >= 0 { context.greeted() }
    return written
  }

  /// Whether there is nothing more to see, which each request asks.
  private static func isOver(_ context: UnsafeMutableRawPointer?) -> Bool {
    guard let context else { return true }
    return Unmanaged<SessionContext>.fromOpaque(context)._withUnsafeGuaranteedRef {
      $0.handshake.isOver
    }
  }

  private static func context(_ context: UnsafeMutableRawPointer?) -> SessionContext? {
    context.map { Unmanaged<SessionContext>.fromOpaque($0).takeUnretainedValue() }
  }
}
