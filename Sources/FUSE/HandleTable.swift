import LinuxSystem

/// The open files that the kernel knows: what keeps them alive from the reply to OPEN until RELEASE.
///
/// The kernel's name for one is its address, so that a request finds it without the table. When a
/// session ends while files are open, no RELEASE comes: then the table lets go of them.
final class HandleTable: Sendable {
  private let handles = Lock<[UInt64: Handle]>([:])

  /// Keeps a handle and tells what the kernel is to call it.
  func keep(_ handle: Handle) -> UInt64 {
    let id = UInt64(UInt(bitPattern: Unmanaged.passUnretained(handle).toOpaque()))
    handles.withLock { $0[id] = handle }
    return id
  }

  /// Lets go of a handle that the kernel knows no more. It ends outside the lock.
  func discard(_ id: UInt64) { _ = handles.withLock { $0.removeValue(forKey: id) } }

  /// Lets go of all.
  func discardAll() {
    _ = handles.withLock { handles in
      defer { handles = [:] }
      return handles
    }
  }
}
