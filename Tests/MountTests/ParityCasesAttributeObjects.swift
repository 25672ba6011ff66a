import Glibc

extension ParityCase {
  /// What attributes are set on.
  static let attributeObjects: [ParityCase] = [
    .attributes("every kind of object") { c in
      everyKind(c)
      for name in ["file", "directory", "link", "fifo", "socket", "character", "block"] {
        for space in ["user", "trusted", "security", "weird"] {
          c.fourCalls(.link(Bytes(name)), Bytes(space + ".a"))
        }
        c.set(.link(Bytes(name)), "trusted.kept", Bytes(name))
      }
      for name in ["file", "directory", "link", "fifo", "socket", "character", "block"] {
        c.get(.link(Bytes(name)), "trusted.kept")
        c.list(.link(Bytes(name)))
      }
    },
    .attributes("links are followed or not") { c in
      c.file("f")
      c.symlink("f", "l")
      c.symlink("nowhere", "dangling")
      c.symlink("loop", "loop")
      c.set("l", "user.a", "through the link")
      c.get("f", "user.a")
      c.get("l", "user.a")
      c.get(.link("l"), "user.a")
      c.set(.link("l"), "user.b", "on the link")
      c.set(.link("l"), "trusted.b", "on the link")
      c.list("f")
      c.list("l")
      c.list(.link("l"))
      c.remove("l", "trusted.b")
      c.remove(.link("l"), "trusted.b")
      for target: Target in ["dangling", "loop"] {
        c.set(target, "user.a", "1")
        c.get(target, "user.a")
        c.list(target)
        c.remove(target, "user.a")
      }
      c.set(.link("dangling"), "trusted.a", "1")
      c.list(.link("dangling"))
      c.set(.link("loop"), "trusted.a", "1")
      c.list(.link("loop"))
    },
    .attributes("by descriptor") { c in
      c.file("f")
      c.mkdir("d")
      for (path, flags): (Bytes, Int32) in [
        ("f", O_RDONLY), ("f", O_WRONLY), ("f", O_RDWR), ("d", O_RDONLY | O_DIRECTORY),
      ] {
        let file = c.open(path, flags)
        c.fourCalls(.file(file), "user.a")
        c.fourCalls(.file(file), "trusted.a")
        c.fourCalls(.file(file), "weird.a")
        c.fourCalls(.file(file), "user.")
        c.close(file)
      }
      for path: Bytes in ["f", "d"] {
        let file = c.open(path, O_PATH)
        c.fourCalls(.file(file), "user.a")
        c.close(file)
        c.fourCalls(.file(file), "user.a")
      }
      c.mknod("fifo", S_IFIFO | 0o644)
      let fifo = c.open("fifo", O_RDWR | O_NONBLOCK)
      c.fourCalls(.file(fifo), "user.a")
      c.fourCalls(.file(fifo), "trusted.a")
    },
    .attributes("the root of the file system") { c in
      for name in ["user.parity", "trusted.parity", "security.parity"] {
        c.set("..", Bytes(name), "root")
        c.get("..", Bytes(name))
        c.get("..", Bytes(name), room: 0)
        c.set("..", Bytes(name), "root", 1)
        c.remove("..", Bytes(name))
        c.get("..", Bytes(name))
      }
    },
    .attributes("unlinked but open") { c in
      c.file("f")
      c.set("f", "user.a", "before")
      let file = c.open("f", O_RDWR)
      c.unlink("f")
      c.get("f", "user.a")
      c.get(.file(file), "user.a")
      c.set(.file(file), "user.a", "after", 2)
      c.set(.file(file), "user.b", "new", 1)
      c.attributes(.file(file), "user.a")
      c.remove(.file(file), "user.a")
      c.list(.file(file))
      c.file("f")
      c.list("f")
      c.set("f", "user.c", "another file")
      c.list(.file(file))
      c.link(file, "back")
      c.close(file)
      c.list("f")
    },
    .attributes("a removed directory that is open") { c in
      c.mkdir("d")
      c.set("d", "user.a", "1")
      let directory = c.open("d", O_RDONLY | O_DIRECTORY)
      c.rmdir("d")
      c.get(.file(directory), "user.a")
      c.set(.file(directory), "user.b", "2")
      c.list(.file(directory))
      c.mkdir("d")
      c.list("d")
    },
    .attributes("nameless files") { c in
      let file = c.open(".", temporary | O_RDWR, 0o640)
      c.stat(file)
      c.fourCalls(.file(file), "user.a")
      c.set(.file(file), "user.kept", "1")
      c.set(.file(file), "trusted.kept", "2")
      c.link(file, "named")
      c.stat("named")
      c.get("named", "user.kept")
      c.list("named")
      c.set("named", "user.more", "3")
      c.list(.file(file))
      c.close(file)
      c.list("named")
      let second = c.open(".", temporary | O_RDWR, 0o600)
      c.list(.file(second))
      c.set(.file(second), "user.second", "1")
      c.link(second, "second", byProc: true)
      c.list("second")
      let third = c.open(".", temporary | O_RDWR | O_EXCL, 0o600)
      c.set(.file(third), "user.third", "1")
      c.link(third, "third")
      c.list(.file(third))
    },
  ]

  /// One object of each kind, called by it.
  static func everyKind(_ c: Calls) {
    c.file("file", "content")
    c.mkdir("directory")
    c.symlink("file", "link")
    c.mknod("fifo", S_IFIFO | 0o644)
    c.bindSocket("socket")
    c.mknod("character", S_IFCHR | 0o644, (1, 3))
    c.mknod("block", S_IFBLK | 0o644, (7, 200))
  }
}
