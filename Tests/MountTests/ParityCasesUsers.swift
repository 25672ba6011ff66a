import Glibc
import TestSupport

extension ParityCase {
  /// Who may do what, and whose is what they make.
  static let users: [ParityCase] = [
    .files("what users make is theirs") { c in
      c.chmod(".", 0o777)
      for user in [alice, User(4242, 77), User(4343, groups: [77, 78])] {
        c.asUser(user) {
          let name = Bytes("u\(user.uid)-\(user.gid)-\(user.groups.count)")
          c.close(c.open(name, O_CREAT | O_RDWR, 0o666))
          c.mkdir(name + "d", 0o777)
          c.symlink("x", name + "l")
          c.mknod(name + "p", S_IFIFO | 0o666)
          for kind: Bytes in ["", "d", "l", "p"] { c.stat(name + kind) }
        }
      }
    },
    .files("umask") { c in
      for mask: UInt32 in [0, 0o002, 0o027, 0o777] {
        umask(mask)
        c.close(c.open("f", O_CREAT | O_RDWR, 0o6777))
        c.mkdir("d", 0o1777)
        c.mknod("p", S_IFIFO | 0o777)
        c.bindSocket("s")
        c.symlink("x", "l")
        let file = c.open(".", temporary | O_RDWR, 0o666)
        c.stat(file)
        for name: Bytes in ["f", "d", "p", "s", "l"] {
          c.stat(name)
          Glibc.remove(name.cString)
        }
      }
    },
    .files("directories that give their group") { c in
      c.mkdir("d")
      c.chown("d", 0, 77)
      c.chmod("d", 0o2777)
      for user in [User(0), alice, User(4242, groups: [77])] {
        c.asUser(user) {
          let name = Bytes("d/\(user.uid)-\(user.groups.count)")
          c.close(c.open(name, O_CREAT | O_RDWR, 0o2775))
          c.mkdir(name + "d", 0o755)
          c.mkdir(name + "d/e", 0o755)
          c.mknod(name + "p", S_IFIFO | 0o644)
          c.symlink("x", name + "l")
          let file = c.open("d", temporary | O_RDWR, 0o2775)
          c.stat(file)
          for kind: Bytes in ["", "d", "d/e", "p", "l"] { c.stat(name + kind) }
        }
      }
    },
    .files("what permissions forbid") { c in
      c.mkdir("closed")
      c.file("closed/f", "x", 0o666)
      c.mkdir("closed/d")
      c.chmod("closed", 0o700)
      c.file("secret", "x", 0o600)
      c.file("readable", "x", 0o644)
      c.file("writable", "x", 0o622)
      c.mkdir("kept")
      c.file("kept/f")
      c.mkdir("kept/d")
      c.asUser(alice) {
        for flags in [O_RDONLY, O_WRONLY, O_RDWR, O_PATH, O_RDONLY | O_TRUNC, O_RDONLY | O_NOATIME]
        {
          for path: Bytes in ["secret", "readable", "writable", "closed/f", "closed", "kept"] {
            let file = c.open(path, flags)
            if file.raw >= 0 { Glibc.close(file.raw) }
          }
        }
        for place: Bytes in ["closed", "kept"] {
          c.stat(place + "/f")
          _ = c.open(place + "/new", O_CREAT | O_RDWR)
          c.mkdir(place + "/new")
          c.symlink("x", place + "/new")
          c.mknod(place + "/new", S_IFIFO | 0o644)
          c.bindSocket(place + "/new")
          c.unlink(place + "/f")
          c.unlink(place + "/missing")
          c.rmdir(place + "/d")
          c.rename(place + "/f", place + "/g")
          c.rename("readable", place + "/g")
          c.link("readable", place + "/g")
          c.mkdir(place + "/d")
          _ = c.open(place + "/f", O_CREAT | O_RDONLY)
          _ = c.open(place + "/f", O_CREAT | O_EXCL | O_RDONLY)
          c.truncate(place + "/f", 0)
          c.readlink(place + "/f")
          c.names(in: place)
          c.call("chdir") { chdir(place.cString) == 0 ? chdir("..") : -1 }
        }
        for path: Bytes in ["secret", "readable", "writable"] { c.truncate(path, 0) }
      }
    },
    .files("sticky directories") { c in
      c.mkdir("t")
      c.chmod("t", 0o1777)
      c.file("t/root", "", 0o666)
      c.asUser(alice) {
        c.file("t/alice", "", 0o666)
        c.mkdir("t/alices")
      }
      c.asUser(bob) {
        for name: Bytes in ["t/alice", "t/root"] {
          c.unlink(name)
          c.rename(name, "t/stolen")
          _ = c.open(name, O_RDWR)
          _ = c.open(name, O_RDWR | O_CREAT, 0o600)
          _ = c.open(name, O_RDWR | O_TRUNC)
        }
        c.rmdir("t/alices")
        c.file("t/bob")
        c.rename("t/bob", "t/alice")
        c.rename("t/bob", "t/alice", 2)
        c.unlink("t/bob")
      }
      c.chown("t", 4343, 4343)
      c.asUser(bob) {
        c.unlink("t/alice")
        c.rmdir("t/alices")
      }
    },
    .files("programs") { c in
      for (name, mode): (Bytes, UInt32) in [
        ("yes", 0o755), ("no", 0o644), ("others", 0o701), ("owner", 0o700), ("group", 0o070),
      ] {
        c.file(name, "#!/bin/sh\nexit 7\n", mode)
      }
      c.file("broken", "#!/nowhere/interpreter\n", 0o755)
      c.file("garbage", Bytes([0, 1, 2, 3]), 0o755)
      c.mkdir("d")
      for user in [User(0), alice] {
        c.asUser(user) {
          for name in ["yes", "no", "others", "owner", "group", "broken", "garbage", "d", "none"] {
            c.run("./\(name)")
          }
        }
      }
      let file = c.open("yes", O_WRONLY)
      c.run("./yes")
      c.close(file)
      c.run("./yes")
    },
  ]
}
