import Glibc
import TestSupport

extension ParityCase {
  /// What `open` allows, and what it does to the file.
  static let opening: [ParityCase] = [
    .files("open with every mix of flags") { c in
      c.file("f", "content")
      c.mkdir("d")
      c.symlink("f", "l")
      c.symlink("d", "ld")
      c.symlink("nowhere", "dangling")
      let modes = [O_RDONLY, O_WRONLY, O_RDWR, 3]
      let extras: [Int32] = [
        0, O_DIRECTORY, O_NOFOLLOW, O_APPEND, O_NONBLOCK, O_PATH, O_PATH | O_NOFOLLOW,
        O_PATH | O_DIRECTORY, O_DIRECTORY | O_NOFOLLOW, O_SYNC,
      ]
      for path in ["f", "d", "l", "ld", "dangling", "missing", "f/", "d/", "f/x", "missing/x"] {
        for mode in modes {
          for extra in extras {
            let file = c.open(Bytes(path), mode | extra)
            if file.raw >= 0 { Glibc.close(file.raw) }
          }
        }
      }
    },
    .files("open that creates") { c in
      c.file("f", "content")
      c.mkdir("d")
      c.symlink("f", "l")
      c.symlink("made", "dangling")
      c.symlink("d", "ld")
      let flags: [Int32] = [
        O_CREAT, O_CREAT | O_EXCL, O_CREAT | O_NOFOLLOW, O_CREAT | O_TRUNC,
        O_CREAT | O_DIRECTORY, O_CREAT | O_EXCL | O_NOFOLLOW,
      ]
      for path in ["f", "d", "l", "ld", "dangling", "new", "new/", "d/", "f/x", "missing/x", ""] {
        for flag in flags {
          for mode in [O_RDONLY, O_RDWR] {
            let file = c.open(Bytes(path), mode | flag, 0o640)
            if file.raw >= 0 { Glibc.close(file.raw) }
            c.stat(Bytes(path))
            if path == "new" { Glibc.unlink("new") }
            if path == "dangling" { Glibc.unlink("made") }
          }
        }
      }
      c.names(in: ".")
    },
    .files("open that truncates") { c in
      for flags in [O_RDONLY, O_WRONLY, O_RDWR] {
        c.file("f", "content")
        let file = c.open("f", flags | O_TRUNC)
        c.stat(file)
        c.write(file, "xy")
        c.content("f")
      }
      c.mkdir("d")
      _ = c.open("d", O_RDONLY | O_TRUNC)
      c.file("f", "content")
      _ = c.open("f", O_PATH | O_TRUNC)
      _ = c.open("f", O_RDWR | O_CREAT | O_EXCL | O_TRUNC)
      c.content("f")
    },
    .files("append") { c in
      c.file("f", "start")
      let file = c.open("f", O_RDWR | O_APPEND)
      c.write(file, " one")
      c.seek(file, 0, 0)
      c.write(file, " two")
      c.seek(file, 0, 1)
      c.pwrite(file, " three", at: 0)
      let other = c.open("f", O_WRONLY | O_APPEND)
      c.write(other, " four")
      c.write(file, " five")
      c.content("f")
      c.seek(file, 0, 2)
      c.call("F_SETFL off") { fcntl(file.raw, F_SETFL, 0) }
      c.pwrite(file, "S", at: 0)
      c.content("f")
    },
    .files("names that are long or odd") { c in
      for count in [1, 254, 255, 256, 300] {
        let name = Bytes("n", times: count)
        let file = c.open(name, O_RDWR | O_CREAT)
        c.stat(name)
        c.close(file)
        c.rename(name, "x")
        c.rename("x", name)
        c.unlink(name)
        c.mkdir(name)
        c.rmdir(name)
        c.symlink("x", name)
        c.unlink(name)
        c.mknod(name, S_IFIFO | 0o644)
        c.unlink(name)
      }
      for name: [UInt8] in [[0xff], [0x0a], [0xc3, 0x28], [0x5c], [0x20], [0x3a], [0x7f]] {
        c.file(Bytes(name), Bytes(name))
        c.content(Bytes(name))
        c.stat(Bytes(name))
      }
      c.names(in: ".")
      var path = Bytes("p", times: 200)
      for _ in 0..<18 { path = path + "/" + Bytes("p", times: 200) }
      c.stat(path)
      path = path + "/" + Bytes("p", times: 275)
      c.stat(path)
      path = path + Bytes("p", times: 1)
      c.stat(path)
      for _ in 0..<2 { path = path + "/" + Bytes("p", times: 200) }
      c.stat(path)
      _ = c.open(path, O_RDWR | O_CREAT)
    },
    .files("links that lead on, away, or in circles") { c in
      c.symlink("a", "b")
      c.symlink("b", "a")
      c.symlink("self", "self")
      for path: Bytes in ["a", "a/x", "self", "self/"] {
        _ = c.open(path, O_RDONLY)
        _ = c.open(path, O_RDWR | O_CREAT)
        c.stat(path)
        c.readlink(path)
        c.mkdir(path)
        c.access(path, F_OK)
        c.truncate(path, 0)
        c.chmod(path, 0o600)
      }
      c.file("end", "end")
      c.symlink("end", "l0")
      for number in 1...42 { c.symlink(Bytes("l\(number - 1)"), Bytes("l\(number)")) }
      for number in [1, 38, 39, 40, 41] { c.content(Bytes("l\(number)")) }
      c.mkdir("d")
      c.symlink("../end", "d/up")
      c.content("d/up")
      c.symlink("d/../d/../end", "long")
      c.content("long")
      c.symlink("/proc/self/status", "away")
      let away = c.open("away", O_RDONLY)
      c.close(away)
    },
    .files("nameless files") { c in
      c.mkdir("d")
      c.file("f")
      for flags in [O_RDONLY, O_WRONLY, O_RDWR] {
        let file = c.open("d", temporary | flags, 0o6755)
        c.stat(file)
        c.write(file, "content")
        c.link(file, "d/name")
        c.stat(file)
        c.content("d/name")
        c.link(file, "d/name")
        c.link(file, "d/name2", byProc: true)
        c.stat("d/name2")
        c.unlink("d/name")
        c.unlink("d/name2")
        c.link(file, "d/back")
        c.close(file)
      }
      let file = c.open(".", temporary | O_RDWR | O_EXCL)
      c.link(file, "g")
      c.names(in: "d")
      _ = c.open("f", temporary | O_RDWR)
      _ = c.open("missing", temporary | O_RDWR)
      c.chmod("d", 0o700)
      c.asUser(alice) { _ = c.open("d", temporary | O_RDWR) }
      c.chmod("d", 0o777)
      c.asUser(alice) {
        let file = c.open("d", temporary | O_RDWR, 0o666)
        c.stat(file)
      }
    },
  ]
}
