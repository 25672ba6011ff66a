import Glibc

extension ParityCase {
  /// What becomes of attributes when their object is linked, moved, replaced or removed.
  static let attributeLife: [ParityCase] = [
    .attributes("hard links share") { c in
      c.file("f")
      c.set("f", "user.a", "1")
      c.link("f", "g")
      c.get("g", "user.a")
      c.set("g", "user.b", "2")
      c.list("f")
      c.unlink("f")
      c.list("g")
      c.link("g", "f")
      c.remove("f", "user.a")
      c.list("g")
      c.unlink("f")
      c.unlink("g")
      c.file("f")
      c.list("f")
    },
    .attributes("rename") { c in
      c.file("f")
      c.mkdir("d")
      c.mkdir("d/e")
      c.file("d/e/inside")
      c.set("f", "user.a", "f")
      c.set("d/e", "user.a", "e")
      c.set("d/e/inside", "user.a", "inside")
      c.rename("f", "g")
      c.list("f")
      c.get("g", "user.a")
      c.rename("g", "d/g")
      c.get("d/g", "user.a")
      c.rename("d/e", "e")
      c.get("e", "user.a")
      c.get("e/inside", "user.a")
      c.rename("e", "d/e2")
      c.get("d/e2/inside", "user.a")
      c.file("f")
      c.list("f")
    },
    .attributes("rename over") { c in
      c.file("f")
      c.file("g")
      c.set("f", "user.f", "f")
      c.set("g", "user.g", "g")
      let open = c.open("g", O_RDONLY)
      c.rename("f", "g")
      c.list("g")
      c.list(.file(open))
      c.get(.file(open), "user.g")
      c.close(open)
      c.file("bare")
      c.rename("bare", "g")
      c.list("g")
      c.mkdir("d")
      c.mkdir("e")
      c.set("d", "user.d", "d")
      c.set("e", "user.e", "e")
      c.rename("d", "e")
      c.list("e")
      c.file("one")
      c.set("one", "user.one", "1")
      c.link("one", "two")
      c.rename("one", "two")
      c.list("one")
      c.list("two")
      c.file("three")
      c.rename("three", "one")
      c.list("one")
      c.list("two")
    },
    .attributes("exchange and no-replace") { c in
      c.file("f")
      c.mkdir("d")
      c.file("d/g")
      c.set("f", "user.f", "f")
      c.set("d/g", "user.g", "g")
      c.rename("f", "d/g", 2)
      c.list("f")
      c.list("d/g")
      c.rename("f", "d", 2)
      c.list("d")
      c.list("f")
      c.list("f/g")
      c.rename("d", "f", 1)
      c.list("d")
      c.list("f")
      c.rename("d", "new", 1)
      c.list("new")
    },
    .attributes("removed and made again") { c in
      for number in 0..<20 {
        c.file("f")
        c.list("f")
        c.set("f", "user.a", Bytes("\(number)"))
        c.get("f", "user.a")
        c.unlink("f")
        c.get("f", "user.a")
      }
      for _ in 0..<5 {
        c.mkdir("d")
        c.list("d")
        c.set("d", "user.d", "1")
        c.rmdir("d")
      }
      c.symlink("x", "l")
      c.set(.link("l"), "trusted.l", "1")
      c.unlink("l")
      c.symlink("x", "l")
      c.list(.link("l"))
      c.mknod("p", S_IFIFO | 0o600)
      c.list("p")
      c.set("p", "trusted.p", "1")
      c.unlink("p")
      c.mknod("p", S_IFIFO | 0o600)
      c.list("p")
    },
    .attributes("writing, truncating and changing mode keep them") { c in
      c.file("f", "content")
      c.set("f", "user.a", "1")
      c.set("f", "trusted.a", "2")
      let file = c.open("f", O_RDWR | O_TRUNC)
      c.write(file, "new content")
      c.ftruncate(file, 3)
      c.fchmod(file, 0o600)
      c.fchown(file, 4242, 4242)
      c.list("f")
      c.get("f", "user.a")
      c.chmod("f", 0)
      c.get("f", "user.a")
      c.set("f", "user.a", "3")
      c.get("f", "user.a")
    },
    .attributes("ctime moves, mtime does not") { c in
      c.file("f", "content")
      c.mkdir("d")
      c.symlink("f", "l")
      for path: Bytes in ["f", "d", "l"] {
        c.moving(path) { c.set(.link(path), "trusted.a", "1") }
        c.moving(path) { c.set(.link(path), "trusted.a", "2") }
        c.moving(path) { c.set(.link(path), "trusted.a", "2") }
        c.moving(path) { c.set(.link(path), "trusted.a", "2", 1) }
        c.moving(path) { c.set(.link(path), "trusted.missing", "2", 2) }
        c.moving(path) { c.get(.link(path), "trusted.a") }
        c.moving(path) { c.list(.link(path)) }
        c.moving(path) { c.remove(.link(path), "trusted.a") }
        c.moving(path) { c.remove(.link(path), "trusted.a") }
      }
      c.moving("f") { c.set("f", "user.a", "1") }
      c.moving("f") { c.remove("f", "user.a") }
      c.moving("f") { c.chmod("f", 0o600) }
      c.moving("f") { c.link("f", "g") }
      let file = c.open("f", O_RDWR)
      c.moving("f") { c.set(.file(file), "user.a", "1") }
      c.moving("f") { c.remove(.file(file), "user.a") }
      c.moving("g") { c.set("f", "user.a", "2") }
      // The later of the two times counts, whichever was set last.
      c.moving("f") { c.write(file, "x") }
      c.moving("f") { c.set("f", "user.b", "2") }
      c.moving("f") { c.rename("f", "h") }
      c.moving(".") { c.set("h", "user.c", "2") }
    },
  ]
}
