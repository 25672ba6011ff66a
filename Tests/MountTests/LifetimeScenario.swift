import Glibc
import TestSupport

/// What becomes of attributes over an object's life, as calls that are made in a directory of their
/// own; between two steps the file system is mounted anew.
struct LifetimeScenario: Sendable {
  let name: String
  let steps: [@Sendable (Calls) -> Void]

  init(_ name: String, _ steps: @Sendable (Calls) -> Void...) {
    self.name = name
    self.steps = steps
  }

  /// A name of letters and dashes.
  var directory: String { String(name.map { $0.isLetter || $0.isNumber ? $0 : "-" }) }

  /// All of them.
  static let all = names + removals + objects
}

extension LifetimeScenario {
  /// Attributes follow names.
  static let names = [
    LifetimeScenario(
      "remount",
      { c in
        c.file("f")
        c.mkdir("d")
        c.set("f", "user.one", "1")
        c.set("f", "user.two", "2")
        c.set("f", "user.one", "changed")
        c.remove("f", "user.two")
        c.set("f", "user.three", "")
        c.set("d", "user.d", Bytes([0, 0xff, 0x0a]))
        c.set("d", Bytes(Array("user.".utf8) + [0xff, 0x80, 1]), "name that is not text")
        c.set(".", "user.here", "1")
      },
      { c in
        for name in ["user.one", "user.two", "user.three"] { c.get("f", Bytes(name)) }
        c.list("f")
        c.list("d")
        c.get("d", "user.d")
        c.get("d", Bytes(Array("user.".utf8) + [0xff, 0x80, 1]))
        c.set("f", "user.one", "2", 1)
        c.set("f", "user.one", "2", 2)
        c.list(".")
      }, { c in c.get("f", "user.one") }),
    LifetimeScenario(
      "rename",
      { c in
        c.file("f")
        c.mkdir("d")
        c.mkdir("d/e")
        c.mkdir("other")
        for path in ["d/e/x", "d/e/y"] { c.file(Bytes(path)) }
        c.set("f", "user.f", "f")
        c.set("d/e", "user.e", "e")
        c.set("d/e/x", "user.x", "x")
        c.rename("f", "d/g")
        c.get("d/g", "user.f")
        c.rename("d/e", "other/moved")
        c.get("other/moved/x", "user.x")
        c.set("other/moved/y", "user.y", "y")
        c.rename("other", "d/other")
        c.list("d/other/moved")
      },
      { c in
        c.get("d/g", "user.f")
        for path in ["x", "y"] { c.list(.path("d/other/moved/" + Bytes(path))) }
        c.get("d/other/moved", "user.e")
        c.rename("d/other/moved/x", "x")
        c.list("x")
      }, { c in c.get("x", "user.x") }),
    LifetimeScenario(
      "hard links",
      { c in
        c.mkdir("a")
        c.mkdir("b")
        c.file("a/one")
        c.link("a/one", "b/two")
        c.set("a/one", "user.a", "1")
        c.get("b/two", "user.a")
        c.set("b/two", "user.b", "2")
        c.list("a/one")
        c.unlink("a/one")
        c.list("b/two")
        c.file("a/late")
        c.link("a/late", "b/late")
        c.rename("a/late", "a/later")
        c.unlink("a/later")
        c.rmdir("a")
        // The first attribute comes when the directory it was made in is gone.
        c.set("b/late", "user.late", "1")
        c.file("kept")
        c.set("kept", "user.k", "1")
        c.link("kept", "b/kept")
      },
      { c in
        c.list("b/two")
        c.get("b/late", "user.late")
        c.unlink("kept")
        c.get("b/kept", "user.k")
        c.link("b/kept", "again")
        c.unlink("b/kept")
      }, { c in c.get("again", "user.k") }),
    LifetimeScenario(
      "rename over",
      { c in
        c.file("source")
        c.file("target")
        c.set("source", "user.s", "s")
        c.set("target", "user.t", "t")
        let open = c.open("target", O_RDWR)
        c.rename("source", "target")
        c.list("target")
        c.get(.file(open), "user.t")
        c.set(.file(open), "user.more", "1")
        c.list(.file(open))
        c.close(open)
        c.file("bare")
        c.file("gone")
        c.set("gone", "user.g", "1")
        c.rename("bare", "gone")
        c.list("gone")
        c.file("linked")
        c.set("linked", "user.l", "1")
        c.link("linked", "name")
        c.file("over")
        c.rename("over", "linked")
        c.list("name")
        c.mkdir("d")
        c.mkdir("empty")
        c.set("d", "user.d", "1")
        c.set("empty", "user.e", "1")
        c.file("d/inside")
        c.set("d/inside", "user.i", "1")
        c.rename("d", "empty")
        c.list("empty")
        c.list("empty/inside")
      },
      { c in
        for path in ["target", "gone", "linked", "name", "empty", "empty/inside"] {
          c.list(.path(Bytes(path)))
        }
      }),
    LifetimeScenario(
      "exchange and refusals",
      { c in
        c.file("f")
        c.mkdir("d")
        c.file("d/g")
        c.set("f", "user.f", "1")
        c.set("d/g", "user.g", "1")
        c.set("d", "user.d", "1")
        c.rename("f", "d/g", 2)
        c.rename("f", "d/g", 1)
        c.rename("f", "d", 2)
        c.rename("missing", "f", 2)
        c.list("f")
        c.list("f/g")
        c.list("d")
        c.file("w")
        c.set("w", "user.w", "1")
      },
      { c in
        for path in ["f", "f/g", "d", "w"] { c.list(.path(Bytes(path))) }
        c.rename("d", "f/g", 1)
      }),
  ]
}
