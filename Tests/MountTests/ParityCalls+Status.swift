import CLinux
import Glibc

extension Calls {
  /// Kind, mode, links, owner; size of what is not a directory (theirs is the file system's own).
  func stat(_ path: Bytes) {
    var status = Glibc.stat()
    _ = call("lstat(\(path))", shows: { _ in describe(status) }) {
      lstat(path.cString, &status)
    }
  }

  func stat(_ file: Descriptor) {
    var status = Glibc.stat()
    _ = call("fstat(\(file.label))", shows: { _ in describe(status) }) {
      fstat(file.raw, &status)
    }
  }

  /// Whether two names lead to one object.
  func same(_ one: Bytes, _ other: Bytes) {
    var first = Glibc.stat()
    var second = Glibc.stat()
    let found = lstat(one.cString, &first) == 0 && lstat(other.cString, &second) == 0
    let same = first.st_ino == second.st_ino && first.st_dev == second.st_dev
    note("same(\(one), \(other)) = \(found ? String(same) : "missing")")
  }

  func chmod(_ path: Bytes, _ mode: UInt32) {
    call("chmod(\(path), \(octal(mode)))") { Glibc.chmod(path.cString, mode) }
  }

  func fchmod(_ file: Descriptor, _ mode: UInt32) {
    call("fchmod(\(file.label), \(octal(mode)))") { Glibc.fchmod(file.raw, mode) }
  }

  /// -1 leaves the owner or the group as it is.
  func chown(_ path: Bytes, _ uid: Int, _ gid: Int) {
    call("lchown(\(path), \(uid), \(gid))") {
      lchown(path.cString, uid_t(truncatingIfNeeded: uid), gid_t(truncatingIfNeeded: gid))
    }
  }

  func fchown(_ file: Descriptor, _ uid: Int, _ gid: Int) {
    call("fchown(\(file.label), \(uid), \(gid))") {
      Glibc.fchown(
        file.raw, uid_t(truncatingIfNeeded: uid), gid_t(truncatingIfNeeded: gid))
    }
  }

  func access(_ path: Bytes, _ mode: Int32, _ flags: Int32 = 0) {
    let words = flagNames(mode, ["R": R_OK, "W": W_OK, "X": X_OK])
    let more = flagNames(flags, ["EACCESS": AT_EACCESS, "NOFOLLOW": AT_SYMLINK_NOFOLLOW])
    call("access(\(path), \(words), \(more))") {
      clinux_access(AT_FDCWD, path.cString, mode, flags)
    }
  }

  /// Sets both times; see `Moment`.
  func times(_ path: Bytes, _ accessed: Moment, _ modified: Moment, follow: Bool = false) {
    let times = [accessed.value, modified.value]
    call("utimensat(\(path), \(accessed), \(modified), \(follow ? "follow" : "nofollow"))") {
      utimensat(AT_FDCWD, path.cString, times, follow ? 0 : AT_SYMLINK_NOFOLLOW)
    }
    self.times(path)
  }

  func ftimes(_ file: Descriptor, _ accessed: Moment, _ modified: Moment) {
    let times = [accessed.value, modified.value]
    call("futimens(\(file.label), \(accessed), \(modified))") { futimens(file.raw, times) }
  }

  /// The times as far as they were set by hand: "now" for what the clock set.
  func times(_ path: Bytes) {
    var status = Glibc.stat()
    guard lstat(path.cString, &status) == 0 else { return note("times(\(path)) = missing") }
    note("times(\(path)) = atime \(shown(status.st_atim)), mtime \(shown(status.st_mtim))")
  }

  /// Says which times of an object moved while `body` ran. Waits for the clock before.
  func moving(_ path: Bytes, _ body: () -> Void) {
    var before = Glibc.stat()
    var after = Glibc.stat()
    lstat(path.cString, &before)
    waitForTick()
    body()
    lstat(path.cString, &after)
    let moved = [
      ("ctime", before.st_ctim, after.st_ctim), ("mtime", before.st_mtim, after.st_mtim),
    ]
    let words = moved.map { name, old, new in
      let steps = (new.tv_sec - old.tv_sec, new.tv_nsec - old.tv_nsec)
      return "\(name) \(steps == (0, 0) ? "stays" : steps > (0, 0) ? "moves" : "goes back")"
    }
    note("    of \(path): \(words.joined(separator: ", "))")
  }

  func statfs(_ path: Bytes) {
    var status = statvfs()
    let result = statvfs(path.cString, &status)
    let sane = status.f_bfree <= status.f_blocks && status.f_bavail <= status.f_bfree
    note("statvfs(\(path)) = \(result), namemax \(status.f_namemax), sane \(sane)")
  }
}

/// What `utimensat` takes.
enum Moment: CustomStringConvertible {
  case now, omit
  /// Seconds and nanoseconds.
  case at(Int, Int)

  var value: timespec {
    switch self {
    case .now: timespec(tv_sec: 0, tv_nsec: (1 << 30) - 1)
    case .omit: timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2)
    case .at(let seconds, let nanoseconds): timespec(tv_sec: seconds, tv_nsec: nanoseconds)
    }
  }

  var description: String {
    switch self {
    case .now: "now"
    case .omit: "omit"
    case .at(let seconds, let nanoseconds): "\(seconds).\(nanoseconds)"
    }
  }
}

/// Within an hour of now, which no case sets by hand, it is the clock's doing.
private func shown(_ time: timespec) -> String {
  abs(time.tv_sec - Glibc.time(nil)) < 3600 ? "now" : "\(time.tv_sec).\(time.tv_nsec)"
}

/// Waits until the clock that file systems stamp with is past this moment, some milliseconds.
///
/// That clock goes in steps, and a stamp may be ahead of it: so it is compared with the exact one.
func waitForTick() {
  var start = timespec()
  var now = timespec()
  clock_gettime(CLOCK_REALTIME, &start)
  repeat {
    usleep(500)
    clock_gettime(CLOCK_REALTIME_COARSE, &now)
  } while (now.tv_sec, now.tv_nsec) <= (start.tv_sec, start.tv_nsec)
}

private func describe(_ status: stat) -> String {
  let kinds: [UInt32: String] = [
    S_IFREG: "file", S_IFDIR: "directory", S_IFLNK: "link", S_IFIFO: "fifo", S_IFSOCK: "socket",
    S_IFCHR: "character device", S_IFBLK: "block device",
  ]
  let kind = status.st_mode & S_IFMT
  var words = "\(kinds[kind] ?? "?") \(octal(status.st_mode & 0o7777)), \(status.st_nlink) links"
  words += ", owner \(status.st_uid):\(status.st_gid)"
  if kind != S_IFDIR { words += ", size \(status.st_size)" }
  if status.st_rdev != 0 { words += ", device \(status.st_rdev)" }
  return words
}
