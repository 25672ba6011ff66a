import Glibc

extension ParityCase {
  /// What may be stored, and how much of it.
  static let attributeValues: [ParityCase] = [
    .attributes("values of small sizes") { c in
      c.file("f")
      c.set("f", "user.empty", "")
      c.attributes("f", "user.empty")
      c.get("f", "user.empty", room: 1)
      c.set("f", "user.empty", "", 1)
      c.set("f", "user.empty", "", 2)
      c.set("f", "user.one", "x")
      c.attributes("f", "user.one")
      c.set("f", "user.one", "")
      c.attributes("f", "user.one")
      c.set("f", "user.nul", Bytes([0]))
      c.attributes("f", "user.nul")
      c.set("f", "user.bytes", Bytes(Array(0...255)))
      c.attributes("f", "user.bytes")
      for size in [2, 100, 255, 256, 257, 1000, 2000] {
        c.set("f", "user.grows", Bytes("v", times: size))
        c.attributes("f", "user.grows")
      }
      for size in [1000, 10, 0, 3000] {
        c.set("f", "user.grows", Bytes("w", times: size))
        c.get("f", "user.grows")
      }
    },
    .attributes("values of large sizes", .roomyNatives) { c in
      c.file("f")
      for size in [4095, 4096, 4097, 65535, 65536, 65537, 131072] {
        c.set("f", "user.large", Bytes("v", times: size))
        c.get("f", "user.large", room: 0)
        c.get("f", "user.large")
      }
      c.get("f", "user.large", room: 65535)
      c.get("f", "user.large", room: 65536)
      c.set("f", "user.large", "small")
      c.get("f", "user.large")
      for space in ["user", "trusted", "security"] {
        c.set("f", Bytes(space + ".second"), Bytes("w", times: 65536))
        c.get("f", Bytes(space + ".second"))
        c.set("f", Bytes(space + ".second"), Bytes("w", times: 65537))
      }
      c.list("f")
      c.remove("f", "user.second")
      c.get("f", "user.second")
      c.list("f")
    },
    .attributes("the size is checked before flags and names", .roomyNatives) { c in
      c.file("f")
      let large = Bytes("v", times: 65537)
      c.set("f", "user.a", large, 2)
      c.set("f", "user.a", large, 8)
      c.set("f", "weird.a", large)
      c.set("f", "user.", large)
      c.set("f", "", large)
      c.set("missing", "user.a", large)
    },
    .attributes("hundreds of attributes", .roomyNatives) { c in
      c.file("f")
      for number in 0..<300 {
        c.set("f", Bytes("user.number-\(number)"), Bytes("value \(number)"))
      }
      c.list("f")
      for number in stride(from: 0, to: 300, by: 7) { c.get("f", Bytes("user.number-\(number)")) }
      for number in stride(from: 0, to: 300, by: 2) {
        c.remove("f", Bytes("user.number-\(number)"))
      }
      c.list("f")
      c.get("f", "user.number-0")
      c.get("f", "user.number-1")
      c.unlink("f")
      c.file("f")
      c.list("f")
    },
    .attributes("a list just below 64 KiB", .roomyNatives) { c in
      c.file("f")
      // 255 names of 256 bytes with their NUL: 65,280 bytes, and one of 200.
      for number in 0..<255 { c.set("f", listName(number, length: 255), "v") }
      c.set("f", listName(999, length: 200), "v")
      c.list("f", room: 0)
      c.list("f")
      c.list("f", room: 65480)
      c.list("f", room: 65481)
    },
  ]

  private static func listName(_ number: Int, length: Int) -> Bytes {
    let start = "user.\(number)-"
    return Bytes(start) + Bytes("n", times: length - start.count)
  }
}
