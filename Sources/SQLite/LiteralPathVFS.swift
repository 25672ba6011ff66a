import CSQLite
import Glibc
import LinuxSystem

/// SQLite's own Unix file layer, except that a path stays as it was given and pages have checksums.
///
/// A database is opened as `/proc/self/fd/N/store.db`, where N is the directory's descriptor. The
/// original resolves links first and would go on with the name that the directory had at that
/// moment: a name that a rename changes, or that a mount over it covers.
enum LiteralPathVFS {
  /// The name under which SQLite knows it; nil when it could not be registered.
  static let name: String? = register()

  private static func register() -> String? {
    let name = "unix-literal-path"
    guard let original = sqlite3_vfs_find("unix"), let cName = strdup(name) else { return nil }
    if Rehearsal.isOn { StoreWrites.watch(original) }
    // SQLite keeps the pointer for the life of the process.
    let copy = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    copy.initialize(to: original.pointee)
    PageChecksums.add(to: &copy.pointee)
    #if DEBUG
      // Room for what tests put before a file.
      copy.pointee.szOsFile += 64
    #endif
    copy.pointee.pNext = nil
    copy.pointee.zName = UnsafePointer(cName)
    copy.pointee.xFullPathname = { _, path, room, result in
      guard let path, let result else { return SQLITE_CANTOPEN }
      let length = strlen(path)
      guard length < Int(room) else { return SQLITE_CANTOPEN }
      memcpy(result, path, length + 1)
      return SQLITE_OK
    }
    return sqlite3_vfs_register(copy, 0) == SQLITE_OK ? name : nil
  }
}
