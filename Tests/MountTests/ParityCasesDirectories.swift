import Glibc
import TestSupport

extension ParityCase {
  /// Making, removing and reading directories.
  static let directories: [ParityCase] = [
    .files("mkdir and rmdir") { c in
      c.file("f")
      c.mkdir("d")
      for path: Bytes in ["d", "f", "f/x", "missing/x", "", ".", "..", "d/", "new/", "d/."] {
        c.mkdir(path)
      }
      c.symlink("nowhere", "dangling")
      c.mkdir("dangling")
      c.symlink("d", "l")
      c.mkdir("l")
      c.mkdir("l/inside")
      c.stat("d")
      c.stat("d/inside")
      for path: Bytes in [
        "d", "f", "missing", "f/x", "l", "l/", "", ".", "d/.", "d/inside/..", "..", "d/inside/",
        "d", "new",
      ] {
        c.rmdir(path)
      }
      c.names(in: ".")
      for mode: UInt32 in [0o777, 0o000, 0o1777, 0o2755, 0o7777] {
        c.mkdir("m", mode)
        c.stat("m")
        c.rmdir("m")
      }
    },
    .files("links of directories") { c in
      c.mkdir("d")
      c.stat("d")
      for name: Bytes in ["d/a", "d/b", "d/c"] { c.mkdir(name) }
      c.file("d/f")
      c.stat("d")
      c.rename("d/a", "a")
      c.stat("d")
      c.rename("a", "d/b")
      c.stat("d")
      c.rmdir("d/c")
      c.unlink("d/f")
      c.stat("d")
      c.rename("d/b", "e")
      c.stat("d")
      let open = c.open("d", O_RDONLY | O_DIRECTORY)
      c.rmdir("d")
      c.stat(open)
      c.mkdir("d")
      c.same("d", "e")
    },
    .files("a removed directory") { c in
      c.mkdir("d")
      let open = c.open("d", O_RDONLY | O_DIRECTORY)
      c.rmdir("d")
      c.call("openat in it") { openat(open.raw, "x", O_RDWR | O_CREAT, 0o644) }
      c.call("mkdirat in it") { mkdirat(open.raw, "x", 0o755) }
      c.call("openat dot") { openat(open.raw, ".", O_RDONLY) }
      c.fchmod(open, 0o700)
      c.stat(open)
    },
    .files("reading many entries") { c in
      c.mkdir("d")
      c.names(in: "d")
      for number in 0..<1000 { c.file(Bytes("d/entry-\(number)")) }
      c.names(in: "d")
      for number in stride(from: 0, to: 1000, by: 2) { c.unlink(Bytes("d/entry-\(number)")) }
      c.names(in: "d")
      c.names(in: "missing")
      c.file("f")
      c.names(in: "f")
      c.chmod("d", 0o711)
      c.asUser(alice) {
        c.names(in: "d")
        c.stat("d/entry-1")
      }
      c.chmod("d", 0o744)
      c.asUser(alice) {
        c.names(in: "d")
        c.stat("d/entry-1")
      }
    },
    .files("kinds in a directory") { c in
      everyKind(c)
      c.names(in: ".")
      for name in ["file", "directory", "link", "fifo", "socket", "character", "block"] {
        c.stat(Bytes(name))
      }
    },
    .files("seekdir and rewinddir") { c in
      for number in 0..<200 { c.file(Bytes("entry-\(number)")) }
      guard let stream = opendir(".") else { return c.note("opendir fails") }
      defer { closedir(stream) }
      var seen: [(position: Int, name: String)] = []
      while true {
        let position = telldir(stream)
        guard let entry = readdir(stream) else { break }
        seen.append((position, describe(entry)))
      }
      c.note("read \(seen.count), different \(Set(seen.map(\.name)).count)")
      // Each position leads back to the same entry, in any order.
      var wrong = 0
      for index in stride(from: 0, to: seen.count, by: 13).reversed() {
        seekdir(stream, seen[index].position)
        let found = readdir(stream).map(describe)
        if found != seen[index].name { wrong += 1 }
      }
      c.note("positions that lead elsewhere: \(wrong)")
      rewinddir(stream)
      c.note("first again: \(readdir(stream).map(describe) == seen.first?.name)")
    },
    .files("reading while entries go and come") { c in
      for number in 0..<300 { c.file(Bytes("entry-\(number)")) }
      guard let stream = opendir(".") else { return c.note("opendir fails") }
      defer { closedir(stream) }
      var seen: [String] = []
      for _ in 0..<50 {
        if let entry = readdir(stream) { seen.append(describe(entry)) }
      }
      for number in 0..<100 { unlink("entry-\(number)") }
      for number in 0..<50 { c.file(Bytes("later-\(number)")) }
      while let entry = readdir(stream) { seen.append(describe(entry)) }
      // Those that stayed all along have to be there exactly once.
      let stayed = (100..<300).map { "\"entry-\($0)\"" }
      c.note("twice: \(seen.count - Set(seen).count)")
      c.note("missing: \(stayed.filter { !seen.contains($0) }.count)")
      rewinddir(stream)
      var again: [String] = []
      while let entry = readdir(stream) { again.append(describe(entry)) }
      c.note("again: \(again.count) \(checksum(again.sorted().joined().utf8))")
    },
    .files("an entry in many directories") { c in
      c.mkdir("a")
      var path: Bytes = "a"
      for _ in 0..<40 {
        path = path + "/a"
        c.mkdir(path)
      }
      c.file(path + "/f", "deep")
      c.content(path + "/f")
      c.rename("a/a/a", "b")
      c.stat("a/a/a")
      c.stat("b")
      c.mkdir("a/a/a")
      c.stat("a/a/a")
    },
  ]
}
