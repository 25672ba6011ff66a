import LinuxSystem

/// The open files that the kernel knows: what keeps them alive from the reply to OPEN until RELEASE.
///
/// The kernel's name for one is its address, so that a request finds it without the table. When a
/// session ends while files are open, no RELEASE comes: then the table lets go of them.
final class HandleTable: Sendable {
  private struct Kept {
    let handle: Handle
    let backing: BackingFile?
  }

  private let handles = Lock<[UInt64: Kept]>([:])

  /// Keeps a handle and tells what the kernel is to call it.
  func keep(_ opened: Opened) -> UInt64 {
    let id = UInt64(UInt(bitPattern: Unmanaged.passUnretained(opened.handle).toOpaque()))
    let kept = Kept(handle: opened.handle, backing: opened.passage.backing)
    kept.backing?.begin()
    handles.withLock { $0[id] = kept }
    return id
  }

  /// Lets go of a handle that the kernel knows no more. It ends outside the lock.
  func discard(_ id: UInt64) {
    handles.withLock { $0.removeValue(forKey: id) }?.backing?.end()
  }

  /// Lets go of all.
  func discardAll() {
    _ = handles.withLock { handles in
      defer { handles = [:] }
      return handles
    }
  }
}
