import CLinux
import Glibc
import TestSupport

extension ParityCase {
  /// Makes what `readOnly` finds.
  static let beforeReadOnly = ParityCase(name: "read-only", oracle: .natives) { c in
    everyKind(c)
    c.file("directory/inside", "inside")
    c.mkdir("empty")
    c.chmod(".", 0o777)
    c.chmod("directory", 0o777)
    for name in ["file", "directory", "link", "fifo", "character"] {
      c.set(.link(Bytes(name)), "trusted.kept", "1")
    }
    c.set("file", "user.kept", "value")
    c.file("open", "content", 0o666)
  }

  /// Every call that changes something, and some that do not.
  static let readOnly = ParityCase(name: "read-only", oracle: .natives) { c in
    c.names(in: ".")
    c.content("file")
    for name in ["file", "directory", "link", "fifo", "character", "missing"] {
      let target = Target.link(Bytes(name))
      c.stat(Bytes(name))
      c.get(target, "trusted.kept")
      c.list(target)
      for space in ["user", "trusted", "security", "weird"] {
        c.fourCalls(target, Bytes(space + ".a"))
      }
      c.set(target, "user.", "x")
      c.remove(target, "trusted.kept")
      c.chown(Bytes(name), 1, 1)
      c.times(Bytes(name), .now, .now)
      c.link(Bytes(name), "new")
      c.rename(Bytes(name), "new")
      c.rename(Bytes(name), "file", 2)
      c.unlink(Bytes(name))
      c.rmdir(Bytes(name))
    }
    c.get("file", "user.kept")
    c.remove("file", "user.kept")
    let file = c.open("file", O_RDONLY)
    c.fourCalls(.file(file), "user.a")
    c.fchmod(file, 0o600)
    c.fchown(file, 1, 1)
    c.ftimes(file, .now, .now)
    c.flock(file, LOCK_EX | LOCK_NB)
    c.sync(file)
    for flags in [
      O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_RDONLY | O_CREAT, O_RDWR | O_CREAT, O_PATH,
      O_RDONLY | O_CREAT | O_EXCL, O_RDONLY | O_APPEND,
    ] {
      for name in ["file", "new", "directory", "fifo", "file/x"] {
        if name == "fifo" && flags & O_ACCMODE != O_RDWR { continue }
        let file = c.open(Bytes(name), flags)
        if file.raw >= 0 { Glibc.close(file.raw) }
      }
    }
    _ = c.open(".", temporary | O_RDWR)
    c.mkdir("new")
    c.mkdir("directory")
    c.symlink("x", "new")
    c.symlink("x", "file")
    c.mknod("new", S_IFIFO | 0o644)
    c.bindSocket("new")
    c.chmod("file", 0o600)
    c.chmod("missing", 0o600)
    c.truncate("file", 0)
    c.truncate("missing", 0)
    c.rmdir("empty")
    c.rename("file", "directory/inside")
    c.access("file", W_OK)
    c.access("fifo", W_OK)
    c.access("character", W_OK)
    c.access("missing", W_OK)
    c.statfs(".")
    c.asUser(alice) {
      c.fourCalls("open", "user.a")
      c.fourCalls("file", "user.a")
      c.fourCalls("file", "trusted.a")
      c.access("open", W_OK)
      c.access("file", W_OK)
      c.chmod("open", 0o600)
      c.truncate("file", 0)
      c.truncate("open", 0)
      c.unlink("file")
      c.mkdir("directory/new")
    }
    c.names(in: ".")
  }
}
