import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Over file systems for which `file` and `FILE` are one name: what is set by one spelling is there
/// by every other, and names and errnos are those of the file system itself.
@Suite(.needsFuse, .needsLoop, .serialized) struct Folding {
  /// Everything that can be done with names, natively and through the mount, line by line.
  @Test(arguments: ForeignKind.folding) func asNatively(_ kind: ForeignKind) async throws {
    let natively = try Scratch()
    let scratch = try Scratch()
    let native = try ForeignSource(kind, in: natively)
    let source = try ForeignSource(kind, in: scratch)
    let mount = try Mount(source.path, store: scratch.directory("store"), in: scratch)
    var lines: [[String]] = []
    for place in [native.path, mount.mountPoint] {
      let calls = Calls()
      let inTime = await onIsolatedThread(in: place, within: .seconds(60)) { Self.names(calls) }
      #expect(inTime, "hangs after \(calls.lines.last ?? "nothing")")
      lines.append(calls.lines)
    }
    #expect(lines[0].count == lines[1].count && lines[0].count > 60)
    for (native, shown) in zip(lines[0], lines[1]) { #expect(shown == native, "\(kind)") }
    try mount.unmount()
    #expect(mount.printed == "")
  }

  private static func names(_ c: Calls) {
    c.file("file", "1")
    c.stat("FILE")
    c.mkdir("FiLe")
    _ = c.open("FILE", O_RDWR | O_CREAT | O_EXCL)
    c.close(c.open("FILE", O_RDWR | O_CREAT))
    c.names(in: ".")
    c.rename("file", "FILE")
    c.names(in: ".")
    c.rename("file", "FILE")
    c.rename("FILE", "file", 1)
    c.names(in: ".")
    c.mkdir("Dir")
    c.file("dir/inner", "2")
    c.rename("DIR/INNER", "dir/Outer")
    c.names(in: "dir")
    c.rmdir("DIR")
    c.rename("FILE", "dir/OUTER")
    c.names(in: "Dir")
    c.rename("dir", "DIR")
    c.names(in: ".")
    c.rename("dir", "dir/below")
    c.rename("DIR", "dir/below")
    c.unlink("dir/outer")
    c.unlink("dir/Outer")
    c.rmdir("dIR")
    c.names(in: ".")
    for name in ["a:b", "con?", "q\"", "p|", "tab\t", "end.", "end..", "blank ", "\u{e4}\u{f6}"] {
      c.mkdir(Bytes(name))
      _ = c.open(Bytes(name + "f"), O_RDWR | O_CREAT | O_EXCL)
      c.names(in: ".")
      c.rename("end.", Bytes("to" + name))
      c.rename(Bytes("to" + name), "end.")
      c.unlink(Bytes(name))
      c.rmdir(Bytes(name))
    }
    for length in [255, 256] {
      c.mkdir(Bytes("x", times: length))
      c.rmdir(Bytes("X", times: length))
    }
    c.mkdir(Bytes([0xff, 0xfe]))
    c.file("of")
    c.symlink("target", "link")
    c.mknod("fifo", S_IFIFO | 0o600)
    c.mknod("device", S_IFCHR | 0o600, (1, 3))
    c.link("of", "OF2")
    c.chmod("of", 0o640)
    c.chown("of", 77, 77)
    c.unlink("missing")
    c.rename("missing", "MISSING")
    c.names(in: ".")
  }

  /// Random changes by random spellings, made natively as well; what is kept of a file is in a table
  /// by what the names have in common.
  @Test(arguments: ForeignKind.folding, [1, 2, 3] as [UInt64])
  func anySpelling(_ kind: ForeignKind, _ seed: UInt64) throws {
    let run = try FoldingRun(kind, seed: seed)
    for _ in 0..<400 { try run.step() }
    try run.finish()
  }

  /// A mount tells how its source takes names, once a name has told.
  @Test(arguments: [ForeignKind.exfat, .bindfs, .sshfs]) func status(_ kind: ForeignKind) throws {
    let scratch = try Scratch()
    let source = try ForeignSource(kind, in: scratch)
    let mount = try Mount(source.path, store: scratch.directory("store"), in: scratch)
    func names() throws -> String {
      let text = try check([try daemonBinary(), "status", mount.mountPoint])
      return text.split(separator: "\n").first { $0.hasPrefix("  names ") }.map {
        $0.dropFirst(8).drop { $0 == " " }.description
      } ?? ""
    }
    #expect(try names() == "not known yet")
    try writeFile(mount.mountPoint + "/File", [])
    try call(setxattr(mount.mountPoint + "/File", "user.a", "1", 1, 0))
    let expected = kind == .exfat ? "any case" : "exact"
    #expect(try names() == expected)
    try mount.remount()
    #expect(try names() == expected, "from what is there")
    var status = stat()
    #expect((lstat(mount.mountPoint + "/fILE", &status) == 0) == (kind == .exfat))
    if kind != .exfat {
      try writeFile(mount.mountPoint + "/fILE", [])
      #expect(try attributesOf(mount.mountPoint + "/fILE").isEmpty)
    }
    #expect(try attributesOf(mount.mountPoint + "/File").count == 1)
    try mount.unmount()
  }

  /// An open file, a lock and a cached size are the file's, whichever spelling is used.
  @Test func oneFile() throws {
    let scratch = try Scratch()
    let source = try ForeignSource(.exfat, in: scratch)
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, options: ["--cache", "always"], in: scratch)
    let root = mount.mountPoint
    // How names are taken is found out by the first, of which the source's own kernel then remembers
    // another spelling for a second.
    try writeFile(root + "/first", [])
    try writeFile(root + "/file", Array("long content".utf8))
    let file = try call(open(root + "/FILE", O_RDWR | O_CLOEXEC))
    #expect(try readFile(root + "/file") == Array("long content".utf8))
    #expect(pwrite(file, "LONG", 4, 0) == 4)
    #expect(try readFile(root + "/file") == Array("LONG content".utf8))
    try call(ftruncate(file, 4))
    #expect(try readFile(root + "/File") == Array("LONG".utf8))
    try call(fsetxattr(file, "user.a", "1", 1, 0))
    #expect(try attributesOf(root + "/file") == ["757365722E61=31"])
    try call(mkdir(root + "/Dir", 0o755))
    try writeFile(root + "/dir/x", [])
    try call(setxattr(root + "/DIR/X", "user.x", "1", 1, 0))
    try call(rename(root + "/dIr", root + "/dIR"))
    #expect(try attributesOf(root + "/dir/x").count == 1)
    // Moved by one spelling, gone by all others that the kernel still has in use.
    try writeFile(root + "/old", Array("moved".utf8))
    try call(setxattr(root + "/old", "user.old", "1", 1, 0))
    let other = try call(open(root + "/OLD", O_PATH | O_CLOEXEC))
    try call(rename(root + "/old", root + "/new"))
    for name in ["old", "OLD", "oLD"] {
      #expect(getxattr("\(root)/\(name)", "user.old", nil, 0) == -1 && errno == ENOENT, "\(name)")
    }
    #expect(try attributesOf(root + "/NEW").count == 1)
    close(other)
    try call(unlink(root + "/new"))
    // Gone by one spelling, gone by all, however long the kernel may remember.
    try call(unlink(root + "/fILE"))
    var status = stat()
    for name in ["file", "FILE", "fILE", "File"] {
      #expect(lstat("\(root)/\(name)", &status) == -1 && errno == ENOENT, "\(name)")
    }
    try writeFile(root + "/File", [])
    for name in ["file", "FILE"] { #expect(try attributesOf("\(root)/\(name)").isEmpty) }
    var value = [UInt8](repeating: 0, count: 10)
    #expect(fgetxattr(file, "user.a", &value, 10) == 1, "it is open")
    close(file)
    // The store's own name, by any spelling.
    #expect(mkdir(root + "/.SideCarFS", 0o755) == -1 && errno == EPERM)
    try mount.remount()
    for name in ["file", "FILE"] { #expect(try attributesOf("\(root)/\(name)").isEmpty) }
    #expect(try attributesOf(root + "/DIR/x").count == 1)
    try mount.unmount()
    let left = try StoredState(store)
    #expect(left.orphans.isEmpty && left.quarantined == 0)
    #expect(left.objects.values.reduce(0) { $0 + $1.count } == 1)
    #expect(mount.printed == "")
  }
}

/// A mount and a native file system of the same kind, changed alike.
private final class FoldingRun {
  private let native: ForeignSource
  private let source: ForeignSource
  private let mount: Mount
  private let store: String
  private let scratches: [Scratch]
  private var random: ModelRandom
  private var done: [String] = []
  /// What each file has as its attribute, by its path in small letters.
  private var kept: [String: String] = [:]
  private var count = 0

  init(_ kind: ForeignKind, seed: UInt64) throws {
    scratches = try [Scratch(), Scratch()]
    native = try ForeignSource(kind, in: scratches[0])
    source = try ForeignSource(kind, in: scratches[1])
    store = try scratches[1].directory("store")
    mount = try Mount(
      source.path, store: store, options: seed == 1 ? ["--cache", "always"] : [],
      in: scratches[1])
    random = ModelRandom(seed: seed)
  }

  private func spelled(_ path: String) -> String {
    String(path.map { random.below(2) == 0 ? $0 : Character($0.uppercased()) })
  }

  private func anyPath() -> String {
    let names = ["alpha", "beta", "gamma", "d"]
    let name = names[random.below(names.count)]
    return random.below(3) == 0 ? "d/" + name : name
  }

  /// A path natively: as it is listed, if it is. What serves the file system remembers each spelling
  /// for a second, whatever becomes of the others.
  private func listed(_ path: String) -> String {
    var found = native.path
    for name in path.split(separator: "/") {
      let known = entries(of: found).first { $0.lowercased() == name.lowercased() }
      found += "/" + (known ?? String(name))
    }
    return found
  }

  /// Makes a change on both sides; whether it was done, which has to be the same.
  private func both(_ what: String, _ names: String..., body: ([String]) -> Int32) throws -> Bool {
    var answers: [Int32] = []
    var native = names.map { listed($0) }
    if names.count == 2, names[0] != names[1], let slash = native[1].lastIndex(of: "/") {
      let spelled = String(native[1][...slash]) + (names[1].split(separator: "/").last ?? "")
      if spelled != native[1] { try dropCaches() }
      native[1] = spelled
    }
    for paths in [native, names.map { "\(mount.mountPoint)/\($0)" }] {
      errno = 0
      answers.append(body(paths) == 0 ? 0 : errno)
    }
    if names.count == 2 { try dropCaches() }
    let answer = answers[0] == 0 ? "0" : errorName(answers[0])
    done.append("\(what) \(names.joined(separator: " ")) = \(answer)")
    // A directory into itself, or over itself, is refused for one reason or another.
    let isNested =
      names.count == 2 && names[0].contains("/") != names[1].contains("/")
      && ["D", "d"].contains(names[names[0].contains("/") ? 1 : 0])
    try #require(
      answers[1] == answers[0] || (isNested && answers.allSatisfy { $0 != 0 }), "\(history)")
    return answers[1] == 0
  }

  private var history: String { done.suffix(30).joined(separator: "\n") }

  func step() throws {
    let path = anyPath()
    let name = spelled(path)
    switch random.below(12) {
    case 0, 1:
      _ = try both("create", name) { paths in
        let file = open(paths[0], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        return file < 0 ? -1 : close(file)
      }
    case 2: _ = try both("mkdir", name) { mkdir($0[0], 0o755) }
    case 3: if try both("unlink", name, body: { unlink($0[0]) }) { kept[path] = nil }
    case 4: if try both("rmdir", name, body: { rmdir($0[0]) }) { kept[path] = nil }
    case 5, 6:
      let newPath = random.below(3) == 0 ? path : anyPath()
      let newName = spelled(newPath)
      if try both("rename", name, newName, body: { rename($0[0], $0[1]) }), newPath != path {
        let moved = kept.filter { $0.key == path || $0.key.hasPrefix(path + "/") }
        kept[newPath] = nil
        for (old, value) in moved {
          kept[old] = nil
          kept[newPath + old.dropFirst(path.count)] = value
        }
      }
    case 7, 8, 9:
      count += 1
      let value = "\(count)"
      let isThere = access(listed(name), F_OK) == 0
      let isSet = setxattr("\(mount.mountPoint)/\(name)", "user.is", value, value.utf8.count, 0)
      done.append("set \(name) \(value) = \(isSet)")
      #expect((isSet == 0) == isThere, "\(history)")
      if isSet == 0 { kept[path] = value }
    case 10: try dropCaches()
    default:
      if random.below(4) == 0 {
        done.append("remount")
        try mount.unmount()
        try source.remount()
        try mount.remount()
      }
    }
    try compare(name, path)
  }

  private func compare(_ name: String, _ path: String) throws {
    var value = [UInt8](repeating: 0, count: 20)
    let length = getxattr("\(mount.mountPoint)/\(name)", "user.is", &value, 20)
    let found = length < 0 ? nil : String(decoding: value.prefix(length), as: UTF8.self)
    try #require(found == kept[path], "\(name)\n\(history)")
    for directory in ["", "D"] {
      try #require(
        entries(of: "\(mount.mountPoint)/\(directory)").sorted()
          == entries(of: listed(directory)).sorted(), "\(history)")
    }
  }

  func finish() throws {
    #expect(count > 50)
    try noOrphans(mount)
    try mount.remount()
    for (path, value) in kept {
      let name = spelled(path)
      #expect(
        try attributesOf("\(mount.mountPoint)/\(name)")
          == ["\(hex(Array("user.is".utf8)))=\(hex(Array(value.utf8)))"], "\(name)\n\(history)")
    }
    try mount.unmount()
    #expect(mount.printed == "")
    let left = try StoredState(store)
    #expect(left.orphans.isEmpty && left.quarantined == 0, "\(history)")
    #expect(left.objects.values.reduce(0) { $0 + $1.count } == kept.count, "\(history)")
  }
}
