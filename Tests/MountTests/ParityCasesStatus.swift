import CLinux
import Glibc
import TestSupport

extension ParityCase {
  /// Modes, owners, times, permissions.
  static let status: [ParityCase] = [
    .files("chmod") { c in
      everyKind(c)
      for name in ["file", "directory", "fifo", "socket", "character"] {
        for mode: UInt32 in [0, 0o7777, 0o644, 0o4755, 0o2710, 0o1700] {
          c.chmod(Bytes(name), mode)
          c.stat(Bytes(name))
        }
      }
      c.chmod("link", 0o600)
      c.stat("link")
      c.stat("file")
      for path: Bytes in ["missing", "file/x", ""] { c.chmod(path, 0o600) }
      c.call("fchmodat(link, NOFOLLOW)") {
        fchmodat(AT_FDCWD, "link", 0o600, AT_SYMLINK_NOFOLLOW)
      }
      let file = c.open("file", O_RDONLY)
      c.fchmod(file, 0o640)
      c.stat(file)
      let path = c.open("file", O_PATH)
      c.fchmod(path, 0o600)
      c.chmod(".", 0o777)
      c.asUser(alice) {
        c.chmod("file", 0o666)
        c.fchmod(file, 0o666)
        c.file("own")
        for mode: UInt32 in [0o7777, 0o000, 0o2755] {
          c.chmod("own", mode)
          c.stat("own")
        }
      }
      // A group that is not one's own cannot be lent.
      c.chown("own", 4242, 77)
      c.asUser(alice) {
        c.chmod("own", 0o2755)
        c.stat("own")
        c.chmod("own", 0o6755)
        c.stat("own")
      }
      c.asUser(User(4242, groups: [77])) {
        c.chmod("own", 0o2755)
        c.stat("own")
      }
    },
    .files("chown") { c in
      everyKind(c)
      for name in ["file", "directory", "link", "fifo", "socket", "character"] {
        for (uid, gid) in [(1, 2), (-1, 3), (4, -1), (-1, -1), (0xffff_fffe, 0xffff_fffe)] {
          c.chown(Bytes(name), uid, gid)
          c.stat(Bytes(name))
        }
      }
      c.chown("missing", 1, 1)
      let file = c.open("file", O_RDONLY)
      c.fchown(file, 0, 0)
      c.chmod(".", 0o777)
      c.asUser(alice) {
        c.chown("file", 4242, 4242)
        c.chown("file", -1, -1)
        c.file("own")
        c.chown("own", 4242, 4242)
        c.chown("own", -1, 77)
        c.chown("own", 4343, -1)
        c.chown("own", 0, 0)
        c.stat("own")
      }
      c.asUser(User(4242, groups: [77])) {
        c.chown("own", -1, 77)
        c.stat("own")
        c.chown("own", -1, 78)
      }
    },
    .files("set-id bits go with a change") { c in
      c.chmod(".", 0o777)
      for (number, mode): (Int, UInt32) in [0o6777, 0o4711, 0o2755, 0o2644, 0o6644].enumerated() {
        let name = Bytes("f\(number)")
        c.file(name, "content", mode)
        c.chown(name, 4242, -1)
        c.stat(name)
        c.chmod(name, mode)
        c.chown(name, -1, -1)
        c.stat(name)
        c.chmod(name, mode)
        c.asUser(alice) {
          c.chown(name, -1, -1)
          c.stat(name)
        }
        c.chmod(name, mode | 0o666)
        c.asUser(bob) {
          let file = c.open(name, O_RDWR)
          c.stat(name)
          c.write(file, "x")
          c.stat(name)
        }
        c.chmod(name, mode | 0o666)
        c.asUser(bob) {
          c.truncate(name, 2)
          c.stat(name)
        }
        c.chmod(name, mode | 0o666)
        c.asUser(bob) {
          let file = c.open(name, O_RDWR | O_TRUNC)
          c.stat(file)
          c.fallocate(file, 0, 0, 100)
          c.stat(file)
        }
        c.chmod(name, mode | 0o666)
        let file = c.open(name, O_RDWR)
        c.write(file, "root may")
        c.stat(name)
      }
      c.mkdir("d", 0o755)
      c.chmod("d", 0o6755)
      c.chown("d", 4242, 4242)
      c.stat("d")
    },
    .files("times") { c in
      c.file("f", "content")
      c.mkdir("d")
      c.symlink("f", "l")
      for path: Bytes in ["f", "d", "l"] {
        c.times(path, .at(1_000_000_000, 123_456_789), .at(1_100_000_000, 987_654_321))
        c.times(path, .omit, .at(5, 0))
        c.times(path, .at(6, 0), .omit)
        c.times(path, .omit, .omit)
        c.times(path, .now, .omit)
        c.times(path, .at(7, 1), .now)
        c.times(path, .at(0, 0), .at(0, 0))
        c.times(path, .at(4_000_000_000, 1), .at(4_000_000_000, 999_999_999))
        c.times(path, .at(-1, 0), .at(-1, 0))
        c.times(path, .at(1, 1_000_000_000), .at(1, 0))
        c.times(path, .at(1, -1), .at(1, 0))
      }
      c.times("l", .at(8, 0), .at(9, 0), follow: true)
      c.times("f")
      c.times("missing", .now, .now)
      c.times("missing", .omit, .omit)
      let file = c.open("f", O_RDONLY)
      c.ftimes(file, .at(10, 0), .at(11, 0))
      c.times("f")
      c.moving("f") { c.ftimes(file, .at(12, 0), .omit) }
      c.moving("f") { c.ftimes(file, .omit, .omit) }
      let path = c.open("f", O_PATH)
      c.ftimes(path, .now, .now)
    },
    .files("times and users") { c in
      c.file("writable", "", 0o666)
      c.file("readable", "", 0o644)
      c.chmod(".", 0o777)
      c.asUser(alice) {
        c.file("own", "", 0o000)
        for path: Bytes in ["writable", "readable", "own"] {
          c.times(path, .now, .now)
          c.times(path, .at(1, 0), .at(2, 0))
          c.times(path, .now, .at(2, 0))
          c.times(path, .omit, .now)
          c.times(path, .omit, .omit)
        }
        let file = c.open("writable", O_RDWR)
        c.ftimes(file, .now, .now)
        c.ftimes(file, .at(1, 0), .now)
      }
    },
    .files("which times move") { c in
      c.file("f", "content")
      c.mkdir("d")
      let file = c.open("f", O_RDWR)
      c.moving("f") { c.write(file, "x") }
      c.moving("f") { c.pwrite(file, "", at: 0) }
      c.moving("f") { c.pread(file, 1, at: 0) }
      c.moving("f") { c.ftruncate(file, 3) }
      c.moving("f") { c.ftruncate(file, 3) }
      c.moving("f") { c.truncate("f", 3) }
      c.moving("f") { c.truncate("f", 4) }
      c.moving("f") { c.chmod("f", 0o600) }
      c.moving("f") { c.chmod("f", 0o600) }
      c.moving("f") { c.chown("f", 1, 1) }
      c.moving("f") { c.chown("f", -1, -1) }
      c.moving("f") { c.fallocate(file, 0, 0, 100) }
      c.moving("f") { c.link("f", "g") }
      c.moving("f") { c.unlink("g") }
      c.moving("f") { _ = c.open("f", O_RDWR | O_TRUNC) }
      c.moving("f") { _ = c.open("f", O_RDWR | O_TRUNC) }
      c.moving("d") { c.file("d/f") }
      c.moving("d") { c.mkdir("d/e") }
      c.moving("d") { c.symlink("x", "d/l") }
      c.moving("d") { c.rename("d/f", "d/g") }
      c.moving("d") { c.unlink("d/g") }
      c.moving("d") { c.rmdir("d/e") }
      c.moving("d") { c.unlink("d/missing") }
      c.moving("d") { c.link("f", "d/f") }
      c.moving("f") { c.rename("d/f", "g") }
    },
    .files("access") { c in
      c.chmod(".", 0o777)
      for mode: UInt32 in [0o000, 0o400, 0o200, 0o100, 0o004, 0o002, 0o001, 0o644, 0o755, 0o070] {
        let name = Bytes("f\(String(mode, radix: 8))")
        c.file(name, "", mode)
        c.mkdir(name + "d")
        c.chmod(name + "d", mode)
        c.chown(name, 4242, 77)
        for wanted in [F_OK, R_OK, W_OK, X_OK, R_OK | W_OK, 8] {
          c.access(name, wanted)
          c.access(name + "d", wanted)
          c.asUser(alice) { c.access(name, wanted) }
          c.asUser(bob) { c.access(name, wanted, AT_EACCESS) }
          c.asUser(User(4343, groups: [77])) { c.access(name, wanted) }
        }
      }
      c.symlink("missing", "l")
      c.access("l", F_OK)
      c.access("l", F_OK, AT_SYMLINK_NOFOLLOW)
      c.access("missing", F_OK)
      c.access("f644/x", F_OK)
      c.access("f644", F_OK, 0x8000)
    },
    .files("the file system's numbers") { c in
      c.file("f")
      for path: Bytes in [".", "f", "missing", ".."] { c.statfs(path) }
    },
  ]
}
