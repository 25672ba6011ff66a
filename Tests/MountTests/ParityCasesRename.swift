import Glibc
import TestSupport

extension ParityCase {
  /// Moving and replacing.
  static let renaming: [ParityCase] = [
    .files("rename with every pair of objects and flag") { c in
      let flags: [UInt32] = [0, 1, 2, 3, 4, 5, 6, 8, 0x8000_0000]
      let objects = ["f", "g", "empty", "full", "l", "ld", "p", "missing", "f/x", "missing/x"]
      for flag in flags {
        for from in objects {
          for to in objects {
            objectsToRename(c)
            c.rename(Bytes(from), Bytes(to), flag)
            // What a whiteout leaves is a device 0:0, which only root may look for.
            c.names(in: ".")
          }
        }
      }
    },
    .files("rename into itself and onto itself") { c in
      c.mkdir("d")
      c.mkdir("d/e")
      c.file("d/e/f")
      for flag: UInt32 in [0, 1, 2] {
        c.rename("d", "d", flag)
        c.rename("d", "d/e", flag)
        c.rename("d", "d/new", flag)
        c.rename("d", "d/e/new", flag)
        c.rename("d/e", "d", flag)
        c.rename("d/e/f", "d/e", flag)
        c.rename("d/e/f", "d/e/f", flag)
        c.rename(".", "x", flag)
        c.rename("d/.", "x", flag)
        c.rename("d/..", "x", flag)
        c.rename("d", ".", flag)
        c.rename("d", "d/..", flag)
        c.rename("", "x", flag)
        c.rename("d", "", flag)
        c.rename("d/", "d2/", flag)
        c.rename("d2/", "d", flag)
        c.rename("d/e/f", "g/", flag)
        c.rename("d/e/f/", "g", flag)
      }
      c.names(in: "d/e")
    },
    .files("rename of one object's other name") { c in
      c.file("f", "content")
      c.link("f", "g")
      c.rename("f", "g")
      c.names(in: ".")
      c.stat("f")
      c.rename("f", "g", 1)
      c.rename("f", "g", 2)
      c.rename("f", "h")
      c.same("g", "h")
      c.stat("h")
    },
    .files("rename over an open file") { c in
      c.file("f", "new")
      c.file("g", "old")
      let open = c.open("g", O_RDWR)
      c.rename("f", "g")
      c.read(open, 10)
      c.stat(open)
      c.write(open, " still")
      c.pread(open, 20, at: 0)
      c.content("g")
      c.link(open, "back")
    },
    .files("rename across directories keeps the object") { c in
      c.mkdir("a")
      c.mkdir("b")
      c.file("a/f", "content")
      c.mkdir("a/d")
      c.file("a/d/inside", "inside")
      let file = c.open("a/f", O_RDWR)
      let directory = c.open("a/d", O_RDONLY | O_DIRECTORY)
      c.rename("a/f", "b/g")
      c.rename("a/d", "b/e")
      c.write(file, "CON")
      c.content("b/g")
      c.call("openat inside") { openat(directory.raw, "inside", O_RDONLY) }
      c.call("openat dot dot b") { openat(directory.raw, "../g", O_RDONLY) }
      c.names(in: "a")
      c.names(in: "b")
      c.rename("b/e", "a/f", 2)
      c.rename("b/e", "b/g", 2)
      c.names(in: "b")
      c.content("b/e")
      c.content("b/g/inside")
    },
    .files("rename and permissions") { c in
      for (name, mode): (Bytes, UInt32) in [
        ("open", 0o777), ("sticky", 0o1777), ("closed", 0o755),
      ] {
        c.mkdir(name)
        c.chmod(name, mode)
        c.file(name + "/root", "", 0o666)
        c.mkdir(name + "/dir")
      }
      c.asUser(bob) {
        c.file("open/bob", "", 0o666)
        c.file("sticky/bob", "", 0o666)
        c.mkdir("sticky/bobs")
      }
      c.asUser(alice) {
        for place: Bytes in ["open", "sticky", "closed"] {
          c.file(place + "/own", "", 0o600)
          c.rename(place + "/root", place + "/stolen")
          c.rename(place + "/own", place + "/moved")
          c.rename(place + "/moved", place + "/bob")
          c.rename(place + "/bob", place + "/bob2")
          c.rename(place + "/own", place + "/root", 2)
          c.rename(place + "/dir", place + "/dir2")
          c.rename(place + "/dir2", place + "/dir")
          c.unlink(place + "/root")
          c.unlink(place + "/bob2")
          c.unlink(place + "/bob")
          c.rmdir(place + "/bobs")
          c.rmdir(place + "/dir")
          c.names(in: place)
        }
        c.rename("open/own", "sticky/own")
        c.rename("sticky/own", "closed/own")
        c.rename("sticky/bobs", "open/bobs")
        c.rename("open/x", "missing/x")
      }
      // Moving a directory changes its "..", which needs leave to write to it.
      c.chmod("open", 0o777)
      c.mkdir("open/b")
      c.chown("open/b", 4343, 4343)
      c.chmod("sticky", 0o777)
      c.asUser(alice) {
        c.rename("open/b", "open/c")
        c.rename("open/c", "sticky/c")
      }
    },
  ]

  /// The same objects anew, whatever the last call has done to them.
  private static func objectsToRename(_ c: Calls) {
    for name in ["f", "g", "l", "ld", "p", "missing", "empty", "full"] {
      unlink(name)
      unlink("\(name)/x")
      rmdir(name)
    }
    for name in ["f", "g"] { close(open(name, O_CREAT | O_WRONLY, 0o644)) }
    for name in ["empty", "full"] { mkdir(name, 0o755) }
    close(open("full/x", O_CREAT | O_WRONLY, 0o644))
    symlink("f", "l")
    symlink("empty", "ld")
    mkfifo("p", 0o644)
  }
}
