import CLinux
import Glibc

extension Calls {
  /// Takes (`F_RDLCK`, `F_WRLCK`) or releases (`F_UNLCK`) a record lock; owned by the process, or
  /// by the open file with `openFile`.
  ///
  /// `waits` where another open file was closed just before: the kernel tells a FUSE server of that
  /// after close(2) has returned, and its locks end then.
  func lock(
    _ file: Descriptor, _ kind: Int32, _ start: Int, _ count: Int, openFile: Bool = false,
    waits: Bool = false
  ) {
    var lock = Glibc.flock(
      l_type: Int16(kind), l_whence: 0, l_start: start, l_len: count, l_pid: 0)
    call(
      "\(openFile ? "OFD_" : "")SETLK\(waits ? "W" : "")(\(file.label), \(lockNames[kind] ?? "?"), \(start)+\(count))"
    ) {
      clinux_lock(file.raw, (openFile ? 37 : F_SETLK) + (waits ? 1 : 0), &lock)
    }
  }

  /// What would be in the way of a lock.
  func testLock(
    _ file: Descriptor, _ kind: Int32, _ start: Int, _ count: Int, openFile: Bool = false
  ) {
    var lock = Glibc.flock(
      l_type: Int16(kind), l_whence: 0, l_start: start, l_len: count, l_pid: 0)
    let text =
      "\(openFile ? "OFD_" : "")GETLK(\(file.label), \(lockNames[kind] ?? "?"), \(start)+\(count))"
    let own = getpid()
    _ = call(
      text,
      shows: { _ in
        let kind = lockNames[Int32(lock.l_type)] ?? "?"
        if kind == "UNLCK" { return kind }
        let owner = lock.l_pid == own ? "process" : lock.l_pid == -1 ? "open file" : "someone"
        return "\(kind) \(lock.l_start)+\(lock.l_len) of \(owner)"
      }
    ) { clinux_lock(file.raw, openFile ? 36 : F_GETLK, &lock) }
  }

  /// Locks of the whole file, owned by the open file.
  func flock(_ file: Descriptor, _ operation: Int32) {
    let words = flagNames(
      operation, ["SH": LOCK_SH, "EX": LOCK_EX, "UN": LOCK_UN, "NB": LOCK_NB])
    call("flock(\(file.label), \(words))") { wholeFileLock(file.raw, operation) }
  }
}

private let lockNames: [Int32: String] = [
  Int32(F_RDLCK): "RDLCK", Int32(F_WRLCK): "WRLCK", Int32(F_UNLCK): "UNLCK",
]

/// Out here, where `flock` can only be the function and not the struct of `SETLK`.
private let wholeFileLock: @Sendable (Int32, Int32) -> Int32 = flock
