import CLinux
import Glibc

/// Takes locks as it is told, a line at a time, and answers each with a line: `ok`, the name of the
/// errno, or what is in the way.
///
///     open NAME PATH            close NAME           alarm MILLISECONDS
///     posix|ofd NAME r|w|u START LENGTH [wait]       get|ofdget NAME r|w START LENGTH
///     flock NAME sh|ex|un [wait]
final class Locker {
  private var files: [String: Int32] = [:]

  /// Serves until the input ends.
  func serve() {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in }
    sigaction(SIGALRM, &action, nil)
    while let line = readLine() {
      let answer = answer(line.split(separator: " ").map(String.init)) + "\n"
      _ = answer.utf8CString.withUnsafeBytes { write(1, $0.baseAddress, $0.count - 1) }
    }
  }

  private func answer(_ words: [String]) -> String {
    guard words.count > 1 else { return "what?" }
    let file = files[words[1]] ?? -1
    let waits = words.last == "wait"
    switch words[0] {
    case "open":
      let opened = clinux_openat(AT_FDCWD, words[2], O_RDWR | O_CLOEXEC, 0)
      files[words[1]] = opened
      return result(Int(opened))
    case "close": return result(Int(close(file)))
    case "alarm":
      let milliseconds = Int(words[1]) ?? 0
      var timer = itimerval()
      timer.it_value.tv_usec = milliseconds * 1000
      return result(Int(setitimer(ITIMER_REAL, &timer, nil)))
    case "posix": return lock(file, words, waits ? F_SETLKW : F_SETLK)
    case "ofd": return lock(file, words, waits ? 38 : 37)
    case "get": return lock(file, words, F_GETLK)
    case "ofdget": return lock(file, words, 36)
    case "flock":
      let operations: [String: Int32] = ["sh": LOCK_SH, "ex": LOCK_EX, "un": LOCK_UN]
      let operation = operations[words[2]] ?? 0
      return result(Int(wholeFileLock(file, operation | (waits ? 0 : LOCK_NB))))
    default: return "what?"
    }
  }

  private func lock(_ file: Int32, _ words: [String], _ command: Int32) -> String {
    let kinds: [String: Int32] = ["r": Int32(F_RDLCK), "w": Int32(F_WRLCK), "u": Int32(F_UNLCK)]
    var lock = Glibc.flock()
    lock.l_type = Int16(kinds[words[2]] ?? 9)
    lock.l_start = Int(words[3]) ?? 0
    lock.l_len = Int(words[4]) ?? 0
    let done = result(Int(clinux_lock(file, command, &lock)))
    guard done == "ok", command == F_GETLK || command == 36 else { return done }
    let kind = kinds.first { $0.value == Int32(lock.l_type) }?.key ?? "?"
    return kind == "u" ? "free" : "\(kind) \(lock.l_start)+\(lock.l_len) of \(lock.l_pid)"
  }

  private func result(_ value: Int) -> String {
    if value >= 0 { return "ok" }
    return strerrorname_np(errno).map { String(cString: $0) } ?? "?"
  }
}

/// Out here, where `flock` can only be the function and not the struct.
private let wholeFileLock: @Sendable (Int32, Int32) -> Int32 = flock
