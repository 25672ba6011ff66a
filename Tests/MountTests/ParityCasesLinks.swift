import Glibc
import TestSupport

extension ParityCase {
  /// Names of files: removing, linking, symbolic links, special files.
  static let names: [ParityCase] = [
    .files("unlink") { c in
      everyKind(c)
      c.symlink("directory", "ld")
      for path: Bytes in [
        "missing", "directory", "directory/", "file/", "file/x", "", ".", "..", "ld/", "ld",
        "file", "link", "fifo", "socket", "character", "block", "file",
      ] {
        c.unlink(path)
      }
      c.names(in: ".")
      c.file("f", "content")
      let file = c.open("f", O_RDWR)
      c.unlink("f")
      c.stat(file)
      c.read(file, 10)
      c.write(file, " more")
      c.ftruncate(file, 5)
      c.pread(file, 10, at: 0)
      c.fchmod(file, 0o600)
      c.stat(file)
      c.stat("f")
      c.link(file, "f")
      c.names(in: ".")
    },
    .files("hard links") { c in
      everyKind(c)
      c.symlink("nowhere", "dangling")
      for name in [
        "file", "directory", "link", "dangling", "fifo", "socket", "character", "block", "missing",
      ] {
        for flags in [0, AT_SYMLINK_FOLLOW] {
          c.link(Bytes(name), Bytes("\(name)-\(flags)"), flags)
          c.stat(Bytes(name))
          c.same(Bytes(name), Bytes("\(name)-\(flags)"))
        }
      }
      c.link("file", "fifo")
      c.link("file", "directory")
      c.link("file", "directory/")
      c.link("file", "dangling")
      c.link("file", "missing/x")
      c.link("file", "file/x")
      c.link("file/", "x")
      c.link("", "x")
      c.link("file", "")
      c.link("/proc/version", "across")
      c.link("file", "directory/inside")
      c.chmod("directory/inside", 0o600)
      c.stat("file")
      let file = c.open("directory/inside", O_WRONLY | O_TRUNC)
      c.write(file, "by another name")
      c.content("file")
      c.unlink("file")
      c.stat("directory/inside")
      c.names(in: ".")
    },
    .files("hard links and users") { c in
      c.chmod(".", 0o777)
      c.file("readable", "", 0o644)
      c.file("writable", "", 0o666)
      c.file("setuid", "", 0o4777)
      c.file("setgid", "", 0o2777)
      c.mknod("p", S_IFIFO | 0o666)
      c.asUser(alice) {
        c.file("own", "", 0o000)
        for name: Bytes in ["readable", "writable", "setuid", "setgid", "p", "own"] {
          c.link(name, name + "-link")
        }
        let file = c.open("writable", O_RDONLY)
        c.link(file, "by-descriptor")
        c.link(file, "by-proc", byProc: true)
      }
      c.names(in: ".")
    },
    .files("symbolic links") { c in
      c.file("f")
      c.mkdir("d")
      for path: Bytes in ["f", "d", "f/x", "missing/x", "", "d/", "new/"] { c.symlink("x", path) }
      c.symlink("", "empty")
      for count in [1, 59, 60, 61, 255, 1000, 4094, 4095, 4096] {
        let name = Bytes("l\(count)")
        c.symlink(Bytes("t", times: count), name)
        c.stat(name)
        c.readlink(name)
        c.readlink(name, room: 1)
        c.readlink(name, room: 60)
      }
      c.readlink("l1", room: 0)
      for path: Bytes in ["f", "d", "missing", "f/x", "", "l1/"] { c.readlink(path) }
      c.symlink(Bytes([0xff, 0x0a]), "bytes")
      c.readlink("bytes")
      c.chown("bytes", 1, 2)
      c.stat("bytes")
      c.stat("f")
      c.names(in: ".")
      let link = c.open("bytes", O_PATH | O_NOFOLLOW)
      c.stat(link)
      c.call("readlinkat of it") {
        var room = [CChar](repeating: 0, count: 10)
        return readlinkat(link.raw, "", &room, 10)
      }
    },
    .files("special files") { c in
      c.file("f")
      for mask: UInt32 in [0o022, 0o000, 0o077] {
        umask(mask)
        for kind in [UInt32(0), S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK] {
          c.mknod("new", kind | 0o666, (kind == S_IFCHR || kind == S_IFBLK) ? (1, 3) : (0, 0))
          c.stat("new")
          c.unlink("new")
        }
        c.mknod("new", S_IFREG | 0o6777)
        c.stat("new")
        c.unlink("new")
      }
      umask(0o022)
      c.mknod("new", S_IFDIR | 0o755)
      c.mknod("new", S_IFLNK | 0o755)
      c.mknod("new", 0o110_644)
      c.mknod("f", S_IFIFO | 0o644)
      c.mknod("missing/x", S_IFIFO | 0o644)
      c.mknod("f/x", S_IFIFO | 0o644)
      c.mknod("", S_IFIFO | 0o644)
      for (major, minor): (UInt32, UInt32) in [(0, 0), (1, 5), (255, 255), (4095, 255)] {
        c.mknod("device", S_IFCHR | 0o600, (major, minor))
        c.stat("device")
        c.unlink("device")
      }
      c.chmod(".", 0o777)
      c.asUser(alice) {
        for kind in [S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK] {
          c.mknod("users", kind | 0o644, kind == S_IFCHR ? (1, 3) : (0, 0))
          c.stat("users")
          c.unlink("users")
        }
        c.mknod("users", S_IFCHR | 0o644, (0, 0))
        c.stat("users")
      }
    },
    .files("devices, fifos and sockets in use") { c in
      c.mknod("null", S_IFCHR | 0o666, (1, 3))
      c.mknod("zero", S_IFCHR | 0o666, (1, 5))
      c.mknod("nothing", S_IFCHR | 0o666, (4000, 1))
      c.mknod("disk", S_IFBLK | 0o666, (4000, 1))
      let null = c.open("null", O_RDWR)
      c.write(null, "gone")
      c.read(null, 10)
      let zero = c.open("zero", O_RDONLY)
      c.read(zero, 5)
      _ = c.open("nothing", O_RDONLY)
      _ = c.open("disk", O_RDONLY)
      c.mknod("p", S_IFIFO | 0o644)
      _ = c.open("p", O_WRONLY | O_NONBLOCK)
      let reader = c.open("p", O_RDONLY | O_NONBLOCK)
      c.read(reader, 10)
      let writer = c.open("p", O_WRONLY | O_NONBLOCK)
      c.write(writer, "through the fifo")
      c.read(reader, 7)
      c.read(reader, 100)
      c.read(reader, 100)
      c.close(writer)
      c.read(reader, 100)
      c.seek(reader, 0, 0)
      c.stat("p")
      c.meetAt("s")
      c.stat("s")
      _ = c.open("s", O_RDWR)
      c.bindSocket("missing/s")
      c.unlink("s")
      c.meetAt("s")
    },
  ]
}
