import Glibc

extension LifetimeScenario {
  /// Attributes end with their objects.
  static let removals = [
    LifetimeScenario(
      "unlink while open",
      { c in
        c.file("f")
        c.set("f", "user.before", "1")
        let file = c.open("f", O_RDWR)
        c.unlink("f")
        c.get(.file(file), "user.before")
        c.set(.file(file), "user.after", "2")
        c.list(.file(file))
        c.remove(.file(file), "user.before")
        c.list(.file(file))
        c.get("f", "user.after")
        c.file("f")
        c.list("f")
        c.close(file)
        c.list("f")
        // No attribute until after the name is gone.
        c.file("g")
        let late = c.open("g", O_RDWR)
        c.unlink("g")
        c.set(.file(late), "user.late", "1")
        c.get(.file(late), "user.late")
        c.close(late)
        c.mkdir("d")
        c.set("d", "user.d", "1")
        let directory = c.open("d", O_RDONLY)
        c.rmdir("d")
        c.get(.file(directory), "user.d")
        c.close(directory)
      }, { c in c.list("f") }),
    LifetimeScenario(
      "nameless files",
      { c in
        c.mkdir("d")
        let kept = c.open("d", temporary | O_RDWR)
        c.set(.file(kept), "user.kept", "1")
        c.list(.file(kept))
        c.link(kept, "d/kept")
        c.list("d/kept")
        c.set("d/kept", "user.more", "2")
        c.close(kept)
        let bare = c.open("d", temporary | O_RDWR)
        c.link(bare, "d/bare", byProc: true)
        c.set(.file(bare), "user.late", "1")
        c.close(bare)
        let lost = c.open("d", temporary | O_RDWR)
        c.set(.file(lost), "user.lost", "1")
        c.set(.file(lost), "user.lost", "2")
        c.remove(.file(lost), "user.lost")
        c.set(.file(lost), "user.lost", "3")
        c.close(lost)
        let never = c.open("d", temporary | O_EXCL | O_RDWR)
        c.set(.file(never), "user.never", "1")
        c.link(never, "d/never")
        c.close(never)
        let again = c.open("d", temporary | O_RDWR)
        c.set(.file(again), "user.again", "1")
        c.link(again, "d/again")
        c.unlink("d/again")
        c.get(.file(again), "user.again")
        c.link(again, "d/again")
        c.close(again)
      },
      { c in
        c.list("d/kept")
        c.list("d/bare")
        c.names(in: "d")
      }),
    LifetimeScenario(
      "made again under the same name",
      { c in
        for number in 0..<8 {
          c.file("f")
          c.list("f")
          c.set("f", "user.a", Bytes("\(number)"))
          c.unlink("f")
          c.mkdir("d")
          c.list("d")
          c.set("d", "user.a", Bytes("\(number)"))
          c.rmdir("d")
        }
        c.mkdir("f")
        c.list("f")
        c.file("d")
        c.list("d")
      },
      { c in
        c.list("f")
        c.list("d")
      }),
    LifetimeScenario(
      "trees",
      { c in
        // Directories of which the store knows only as the way to something inside.
        c.mkdir("a")
        c.mkdir("a/b")
        c.mkdir("a/b/c")
        c.file("a/b/c/f")
        c.set("a/b/c/f", "user.a", "1")
        c.rename("a/b/c/f", "f")
        c.rmdir("a/b/c")
        c.file("a/b/g")
        c.set("a/b/g", "user.g", "1")
        c.unlink("a/b/g")
        c.rmdir("a/b")
        c.mkdir("x")
        c.mkdir("x/y")
        c.file("x/y/f")
        c.set("x/y/f", "user.f", "1")
        c.rename("x", "a/x")
        c.mkdir("empty")
        c.mkdir("over")
        c.file("over/f")
        c.set("over/f", "user.f", "1")
        c.unlink("over/f")
        c.rename("empty", "over")
      },
      { c in
        c.list("f")
        c.list("a/x/y/f")
        c.unlink("a/x/y/f")
        c.rmdir("a/x/y")
        c.rmdir("a/x")
        c.rmdir("a")
        c.list("f")
      }),
  ]
}
