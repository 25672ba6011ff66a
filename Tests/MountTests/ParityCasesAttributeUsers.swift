import Glibc
import TestSupport

extension ParityCase {
  /// Who may see and change attributes.
  static let attributeUsers: [ParityCase] = [
    .attributes("an ordinary user's own file and those of others") { c in
      c.chmod(".", 0o777)
      c.asUser(alice) { c.file("own", "", 0o600) }
      for mode: UInt32 in [0o644, 0o600, 0o666, 0o622, 0o000, 0o755] {
        let name = Bytes("root-\(String(mode, radix: 8))")
        c.file(name, "", mode)
        c.set(.path(name), "user.root", "1")
        c.set(.path(name), "trusted.root", "2")
        c.set(.path(name), "security.root", "3")
      }
      c.set("own", "trusted.root", "hidden")
      c.set("own", "security.root", "visible")
      c.asUser(alice) {
        c.fourCalls("own", "user.a")
        c.fourCalls("own", "trusted.a")
        c.get("own", "trusted.root")
        c.get("own", "trusted.root", room: 0)
        c.remove("own", "trusted.root")
        c.fourCalls("own", "security.a")
        c.get("own", "security.root")
        c.remove("own", "security.root")
        c.list("own")
        c.list("own", room: 0)
        c.chmod("own", 0o000)
        c.fourCalls("own", "user.a")
        for mode in ["644", "600", "666", "622", "0", "755"] {
          let name = Target.path(Bytes("root-" + mode))
          c.fourCalls(name, "user.alice")
          c.get(name, "user.root")
          c.get(name, "trusted.root")
          c.get(name, "security.root")
          c.remove(name, "user.root")
          c.set(name, "user.root", "changed", 2)
          c.list(name)
          c.list(name, room: 0)
        }
        c.fourCalls("own", "weird.a")
        c.fourCalls("root-644", "weird.a")
        c.fourCalls("own", "user.")
        c.fourCalls("own", "trusted.")
      }
      c.list("root-666")
      c.list("own")
    },
    .attributes("directories, also sticky ones, and users") { c in
      c.chmod(".", 0o777)
      for (name, mode): (Bytes, UInt32) in [
        ("open", 0o777), ("sticky", 0o1777), ("closed", 0o755), ("group", 0o775),
      ] {
        c.mkdir(name)
        c.chmod(name, mode)
      }
      c.chown("group", 0, 77)
      c.asUser(alice) {
        c.mkdir("own")
        c.chmod("own", 0o1777)
        for name in ["open", "sticky", "closed", "group", "own"] {
          c.fourCalls(.path(Bytes(name)), "user.a")
        }
      }
      c.asUser(User(4242, groups: [77])) { c.fourCalls("group", "user.a") }
      c.asUser(bob) { c.fourCalls("own", "user.a") }
    },
    .attributes("links and special files and users") { c in
      c.chmod(".", 0o777)
      c.asUser(alice) {
        c.file("f")
        c.symlink("f", "l")
        c.mknod("p", S_IFIFO | 0o666)
      }
      c.set(.link("l"), "trusted.a", "hidden")
      c.set("p", "trusted.a", "hidden")
      for user in [alice, bob] {
        c.asUser(user) {
          for space in ["user", "trusted", "security"] {
            c.fourCalls(.link("l"), Bytes(space + ".a"))
            c.fourCalls("p", Bytes(space + ".a"))
          }
        }
      }
    },
    .attributes("directories that may not be entered") { c in
      c.mkdir("d")
      c.file("d/f", "", 0o666)
      c.chmod("d", 0o700)
      c.set("d/f", "user.a", "1")
      let file = c.open("d/f", O_RDWR)
      c.asUser(alice) {
        c.fourCalls("d/f", "user.a")
        c.fourCalls(.file(file), "user.b")
        c.list("d")
        c.get("d", "user.a")
      }
      c.chmod("d", 0o711)
      c.asUser(alice) { c.fourCalls("d/f", "user.a") }
    },
    .attributes("a descriptor opened for reading does not let write") { c in
      c.file("f", "", 0o644)
      c.file("w", "", 0o666)
      c.asUser(alice) {
        let file = c.open("f", O_RDONLY)
        c.fourCalls(.file(file), "user.a")
        let writable = c.open("w", O_RDONLY)
        c.fourCalls(.file(writable), "user.a")
      }
    },
    .attributes("supplementary groups") { c in
      c.file("f", "", 0o660)
      c.chown("f", 0, 77)
      c.asUser(alice) { c.fourCalls("f", "user.a") }
      c.asUser(User(4242, groups: [76, 77, 78])) { c.fourCalls("f", "user.a") }
      c.asUser(User(4242, 77)) { c.fourCalls("f", "user.a") }
      c.chmod("f", 0o606)
      c.asUser(User(4242, groups: [77])) { c.fourCalls("f", "user.a") }
      c.asUser(alice) { c.fourCalls("f", "user.a") }
    },
  ]
}
