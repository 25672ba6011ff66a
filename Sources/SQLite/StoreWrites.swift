import CSQLite
import Glibc
import LinuxSystem

/// Lets a rehearsed write of SQLite fail; see `Rehearsal`.
///
/// SQLite's Unix layer calls the system through a table that can be changed (`xSetSystemCall`).
enum StoreWrites {
  /// Takes the place of the writing calls in SQLite's table, for the whole process.
  static func watch(_ layer: UnsafeMutablePointer<sqlite3_vfs>) {
    #if DEBUG
      typealias Write = @convention(c) (Int32, UnsafeRawPointer?, Int, Int) -> Int
      let write: Write = { file, bytes, count, offset in
        StoreWrites.isToFail() ? -1 : pwrite(file, bytes, count, offset)
      }
      typealias Cut = @convention(c) (Int32, Int) -> Int32
      let cut: Cut = { file, size in StoreWrites.isToFail() ? -1 : ftruncate(file, size) }
      let set = layer.pointee.xSetSystemCall
      for name in ["pwrite", "pwrite64"] {
        _ = set?(layer, name, unsafeBitCast(write, to: sqlite3_syscall_ptr.self))
      }
      _ = set?(layer, "ftruncate", unsafeBitCast(cut, to: sqlite3_syscall_ptr.self))
    #endif
  }

  #if DEBUG
    private static func isToFail() -> Bool {
      guard let code = Rehearsal.failure(at: .storeWrite) else { return false }
      errno = code
      return true
    }
  #endif
}
