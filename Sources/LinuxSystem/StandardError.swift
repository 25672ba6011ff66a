import CLinux
import Glibc

/// What programs that we start write to our standard error, for a while.
public struct StandardError: ~Copyable {
  private let usual: FileDescriptor
  private let text: FileDescriptor

  /// From now on what is written to descriptor 2 is kept; nil when that is not possible.
  ///
  /// For a process with one thread that writes there. The corresponding system calls are
  /// `memfd_create` and `dup2`.
  public static func hold() -> StandardError? {
    do throws(Errno) {
      let usual = try FileDescriptor.standardError()
      let text = try FileDescriptor(
        owning: call { memfd_create("standard error", UInt32(MFD_CLOEXEC)) })
      let raw = text.raw
      try call { dup2(raw, 2) }
      return StandardError(usual: usual, text: text)
    } catch {
      return nil
    }
  }

  private init(usual: consuming FileDescriptor, text: consuming FileDescriptor) {
    self.usual = usual
    self.text = text
  }

  /// Lets descriptor 2 be what it was, and says what was written meanwhile.
  @discardableResult
  public consuming func release() -> String {
    dup2(usual.raw, 2)
    let bytes = (try? text.read(at: 0, count: 65536)) ?? []
    return String(decoding: bytes, as: UTF8.self)
  }
}
