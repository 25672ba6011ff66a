import Glibc

extension ParityCase {
  /// Which names may be set, and what the flags mean.
  static let attributeNames: [ParityCase] = [
    .attributes("get, set, list and remove") { c in
      c.file("f")
      c.list("f")
      c.list("f", room: 0)
      c.fourCalls("f", "user.a")
      c.set("f", "user.a", "1")
      c.set("f", "user.b", "22")
      c.set("f", "user.c", "333")
      c.set("f", "user.b", "two")
      c.list("f", room: 0)
      c.list("f")
      c.remove("f", "user.a")
      c.remove("f", "user.a")
      c.list("f")
      c.get("missing", "user.a")
      c.set("missing", "user.a", "1")
      c.list("missing")
      c.remove("missing", "user.a")
      c.get("f/x", "user.a")
      c.get("", "user.a")
    },
    .attributes("flags") { c in
      c.file("f")
      c.set("f", "user.a", "1", 2)
      c.set("f", "user.a", "1", 3)
      c.set("f", "user.a", "1", 1)
      c.set("f", "user.a", "2", 1)
      c.set("f", "user.a", "3", 3)
      c.get("f", "user.a")
      c.set("f", "user.a", "4", 2)
      c.get("f", "user.a")
      for flags: Int32 in [4, 8, 5, 0x100, -1] { c.set("f", "user.a", "5", flags) }
      c.get("f", "user.a")
      c.set("f", "trusted.a", "1", 2)
      c.set("f", "trusted.a", "1", 1)
      c.set("f", "trusted.a", "1", 1)
      c.set("f", "security.a", "1", 2)
      c.set("f", "security.a", "1", 1)
      c.set("f", "security.a", "2", 1)
      c.list("f")
    },
    .attributes("short buffers and probes") { c in
      c.file("f")
      c.set("f", "user.a", "0123456789")
      c.set("f", "user.bb", "x")
      for room in [0, 1, 9, 10, 11, 4096] { c.get("f", "user.a", room: room) }
      for room in [0, 1, 14, 15, 16, 17, 4096] { c.list("f", room: room) }
      c.get("f", "user.none", room: 0)
      c.get("f", "user.none", room: 1)
      let file = c.open("f", O_RDONLY)
      for room in [0, 9, 10] { c.get(.file(file), "user.a", room: room) }
      for room in [0, 15, 16] { c.list(.file(file), room: room) }
    },
    .attributes("names of every length") { c in
      c.file("f")
      c.fourCalls("f", "")
      for count in [1, 2, 5, 100, 200, 249, 250] {
        c.fourCalls("f", "user." + Bytes("n", times: count))
      }
      for count in [251, 252, 1000] { c.fourCalls("f", "user." + Bytes("n", times: count)) }
      for count in [1, 4, 254, 255, 256] { c.fourCalls("f", Bytes("n", times: count)) }
      c.set("f", "user." + Bytes("n", times: 250), "v")
      c.set("f", "user." + Bytes("n", times: 249), "w")
      c.set("f", "trusted." + Bytes("n", times: 247), "x")
      c.set("f", "security." + Bytes("n", times: 246), "x")
      c.list("f")
    },
    .attributes("namespaces") { c in
      c.file("f")
      for space in ["user", "trusted", "security", "system"] {
        c.fourCalls("f", Bytes(space))
        c.fourCalls("f", Bytes(space + "."))
        c.fourCalls("f", Bytes(space + ".."))
        c.fourCalls("f", Bytes(space + ".name"))
        c.fourCalls("f", Bytes(space.uppercased() + ".name"))
        c.fourCalls("f", Bytes(" " + space + ".name"))
        c.fourCalls("f", Bytes(space + "x.name"))
      }
      for name in [
        "foo", "foo.bar", ".", ".a", "a.", "com.apple.FinderInfo", "os2.a", "btrfs.x",
        "system.posix_acl_accessx", "system.advise", "system.nfs4_acl", "xattr.user.a",
      ] {
        c.fourCalls("f", Bytes(name))
      }
      c.list("f")
    },
    .attributes("names are bytes") { c in
      c.file("f")
      let names: [[UInt8]] = [
        [0xff], [0xc3, 0x28], [0xf0, 0x9f, 0x98, 0x80], [0x01], [0x0a], [0x7f], [0x80],
        Array("a=b".utf8), Array("a b".utf8), Array("a\nb".utf8), Array("a/b".utf8),
        Array("..".utf8), Array("%00".utf8), Array("A".utf8), Array("a".utf8),
        [0x65, 0xcc, 0x81], [0xc3, 0xa9],
      ]
      for name in names { c.set("f", "user." + Bytes(name), Bytes(name)) }
      for name in names { c.get("f", "user." + Bytes(name)) }
      c.list("f")
      for name in names.dropLast(3) { c.remove("f", "user." + Bytes(name)) }
      c.list("f")
      c.set("f", "trusted." + Bytes([0xff, 0xfe]), "t")
      c.set("f", "security." + Bytes([0xff, 0xfe]), "s")
      c.list("f")
    },
    .attributes("unknown namespaces stay unknown after others were set") { c in
      c.file("f")
      c.set("f", "user.a", "1")
      c.set("f", "weird.a", "1")
      c.get("f", "weird.a", room: 0)
      c.remove("f", "weird.a")
      c.list("f")
      c.set("f", "weird.a", "1", 1)
      c.set("f", "weird.a", "1", 2)
      c.set("f", "weird.a", "1", 3)
      c.set("f", "user.", "1", 1)
      c.set("f", "user.", "1", 2)
    },
  ]
}
