import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Files that the kernel reads and writes by itself: that it does, that it does so only where
/// nothing is lost by it, and that all goes on where it cannot.
@Suite(.needsFuse, .needsLoop) struct Passthrough {
  private static let owner = User(1001)
  /// fusermount3 wants a name in the system's list of users.
  private static let nobody = User(65534)
  private static let stranger = User(1002)

  /// Reads, writes and maps cost no request; on every kind of source, and on overlayfs, which is a
  /// stack already.
  @Test(arguments: ["ramfs", "tmpfs", "ext4", "xfs", "btrfs", "overlay"])
  func dataPassesBy(_ kind: String) throws {
    let scratch = try Scratch()
    let below: String
    let kept: Source
    if let native = SourceKind(rawValue: kind) {
      kept = try Source(native, in: scratch)
      below = kept.path
    } else {
      kept = try Source(.tmpfs, in: scratch)
      for name in ["upper", "work", "lower"] { try call(mkdir("\(kept.path)/\(name)", 0o755)) }
      below = try scratch.directory("merged")
      let places =
        "lowerdir=\(kept.path)/lower,upperdir=\(kept.path)/upper,workdir=\(kept.path)/work"
      try check(["mount", "-t", "overlay", "-o", places, "overlay", below])
    }
    let mount = try Mount(below, store: scratch.directory("store"), in: scratch)
    let path = mount.mountPoint + "/f"
    let asked = try requests(of: mount) {
      let file = try call(open(path, O_RDWR | O_CREAT, 0o644))
      defer { close(file) }
      #expect(pwrite(file, "hello", 5, 0) == 5)
      var bytes = [UInt8](repeating: 0, count: 5)
      #expect(pread(file, &bytes, 5, 0) == 5)
      #expect(bytes == Array("hello".utf8))
      // Past the mount, at once.
      #expect(try readFile(below + "/f") == Array("hello".utf8))
      let map = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
      try #require(map != MAP_FAILED)
      map?.storeBytes(of: UInt8(ascii: "j"), as: UInt8.self)
      munmap(map, 4096)
      #expect(try readFile(below + "/f") == Array("jello".utf8))
      #expect(fsync(file) == 0)
    }
    #expect(asked["read"] == nil && asked["write"] == nil, "\(asked)")
    #expect(asked["create"] == 1)
    try mount.unmount()
    withExtendedLifetime(kept) {}
  }

  /// All ways to open a file at once: the kernel wants one way for an inode, and each must do.
  @Test(arguments: [SourceKind.ramfs, .ext4]) func openedInEveryWay(_ kind: SourceKind) throws {
    let scratch = try Scratch()
    let source = try Source(kind, in: scratch)
    let mount = try Mount(source.path, store: scratch.directory("store"), in: scratch)
    let path = mount.mountPoint + "/f"
    try writeFile(path, [UInt8](repeating: UInt8(ascii: "."), count: 8192))
    try call(chmod(path, 0o666))
    let flags = [
      O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_APPEND, O_RDWR | O_DIRECT, O_RDONLY | O_DIRECT,
    ]
    // Every order of two, held open together with a map.
    for first in flags {
      for second in flags {
        // The source of ramfs is opened without O_DIRECT when nobody else has the file open: the
        // last close(2) is over before the daemon has heard of it.
        let one = try waiting(for: "the files before to be closed") {
          let file = open(path, first)
          return file < 0 && errno == EINVAL && first & O_DIRECT != 0 ? nil : try call(file)
        }
        let two = try asUser(Self.stranger) { open(path, second) }
        // What the source cannot open so, the mount refuses as the source does.
        let isRefused = kind == .ramfs && second & O_DIRECT != 0 && first & O_DIRECT == 0
        if isRefused { #expect(two == -1 && errno == EINVAL) }
        if two < 0 {
          #expect(isRefused, "\(first), then \(second) by another: \(errorName(errno))")
          // What is refused is not cut.
          let before = try readFile(source.path + "/f")
          #expect(open(path, second | O_TRUNC) == -1 && errno == EINVAL)
          #expect(try readFile(source.path + "/f") == before)
          close(one)
          continue
        }
        for (file, flags) in [(one, first), (two, second)] {
          var bytes = [UInt8](repeating: 0, count: 3)
          if flags & O_ACCMODE != O_WRONLY, flags & O_DIRECT == 0 {
            #expect(pread(file, &bytes, 3, 0) == 3)
          }
          if flags & O_ACCMODE == O_RDWR, flags & O_DIRECT == 0 {
            let map = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
            try #require(map != MAP_FAILED, "a map: \(errorName(errno))")
            map?.storeBytes(of: UInt8(ascii: "m"), toByteOffset: 9, as: UInt8.self)
            munmap(map, 4096)
          }
          if flags & O_ACCMODE != O_RDONLY, flags & O_DIRECT == 0 {
            #expect(pwrite(file, "abc", 3, 0) == 3)
          }
        }
        close(one)
        close(two)
        #expect(try readFile(path) == readFile(source.path + "/f"))
      }
    }
    try mount.unmount()
  }

  /// What a file loses when it is changed: as natively, whoever changes it how.
  @Test(arguments: [
    [], ["--without", "passthrough"], ["--without", "privileges"],
    ["--without", "passthrough", "-o", "without=privileges,without=parallel-directories"],
  ])
  func privilegesGo(_ options: [String]) throws {
    let scratch = try Scratch()
    let native = try Source(.ext4, in: scratch, named: "native")
    let source = try Source(.tmpfs, in: scratch, named: "source")
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: options + ["--cache", "always"],
      in: scratch)
    let wanted = try losses(in: native.path)
    let found = try losses(in: mount.mountPoint)
    for (found, wanted) in zip(found, wanted) where found != wanted {
      // A chown that changes nothing comes to us like the removal of a capability before a write,
      // which nobody may be refused. It is made, and the bits stay.
      let meant = wanted.replacing(": EPERM", with: ": done")
      #expect(
        found == meant && wanted.contains("stranger") && wanted.contains("chown"),
        "natively \(wanted)")
    }
    #expect(wanted.count > 100)
    try mount.unmount()
  }

  private static let changes: [(name: String, change: @Sendable (String, Int32) -> Int)] = [
    ("write", { _, file in pwrite(file, "x", 1, 0) }),
    ("truncate", { path, _ in Int(truncate(path, 1)) }),
    ("ftruncate", { _, file in Int(ftruncate(file, 1)) }),
    ("fallocate", { _, file in Int(fallocate(file, 0, 0, 4096)) }),
    ("punch a hole", { _, file in Int(fallocate(file, 3, 0, 4096)) }),
    (
      "copy a range",
      { path, file in
        let other = open(path + "-other", O_RDONLY)
        defer { close(other) }
        return copy_file_range(other, nil, file, nil, 2, 0)
      }
    ),
    (
      "append",
      { path, _ in
        let file = open(path, O_WRONLY | O_APPEND)
        defer { close(file) }
        return write(file, "x", 1)
      }
    ),
    (
      "cut by opening",
      { path, _ in
        let file = open(path, O_WRONLY | O_TRUNC)
        defer { close(file) }
        return Int(file < 0 ? -1 : 0)
      }
    ),
    ("chown to whom it is", { path, _ in Int(chown(path, UInt32.max, UInt32.max)) }),
  ]

  /// CAP_NET_RAW, permitted and effective, as `setcap cap_net_raw=ep` sets it.
  private static let capability: [UInt8] =
    [1, 0, 0, 2, 0, 32, 0, 0] + [UInt8](repeating: 0, count: 12)

  private func losses(in root: String) throws -> [String] {
    let lines = Lock<[String]>([])
    for (who, user) in [("root", nil), ("owner", Self.owner), ("stranger", Self.stranger)]
      as [(String, User?)]
    {
      for mode: UInt32 in [0o6777, 0o4666, 0o2666, 0o2777, 0o666] {
        for (name, change) in Self.changes {
          let path = "\(root)/\(who)-\(octal(mode))-\(name.replacing(" ", with: "-"))"
          try writeFile(path, Array("some text".utf8))
          try writeFile(path + "-other", Array("other".utf8))
          try call(chown(path, Self.owner.uid, 2000))
          try call(chmod(path, mode))
          // With both, a write by root looks to us like a chown: see `Overlay.setattr`.
          if mode & 0o6000 == 0 {
            try call(setxattr(path, "security.capability", Self.capability, 20, 0))
          }
          onThread {
            isolateThread()
            if let user { guard (try? become(user)) != nil else { return } }
            let file = open(path, O_RDWR)
            let result = change(path, file) < 0 ? errorName(errno) : "done"
            var status = stat()
            fstat(file, &status)
            close(file)
            let keeps = getxattr(path, "security.capability", nil, 0) >= 0
            lines.withLock {
              $0.append(
                "\(who) \(octal(mode)) \(name): \(result) \(octal(status.st_mode))"
                  + (keeps ? " capable" : ""))
            }
          }
        }
      }
    }
    return lines.withLock { $0 }
  }

  private func status(_ path: String) throws(Errno) -> stat {
    var status = stat()
    try call(stat(path, &status))
    return status
  }

  /// Without the right to give files to the kernel all goes on, through the daemon.
  @Test func anOrdinaryUsersMount() throws {
    let scratch = try Scratch()
    let source = try scratch.directory("source")
    try call(chown(source, Self.nobody.uid, Self.nobody.gid))
    let store = try scratch.directory("store")
    try call(chown(store, Self.nobody.uid, Self.nobody.gid))
    let mount = try Mount(source, store: store, as: Self.nobody, in: scratch)
    let text = try check(
      [
        "sh", "-c", "cd \"$1\" && echo text > f && echo more >> f && cat f", "sh", mount.mountPoint,
      ],
      as: Self.nobody)
    #expect(text == "text\nmore\n")
    #expect(try readFile(source + "/f") == Array(text.utf8))
    let status = try check([try daemonBinary(), "status", mount.mountPoint], as: Self.nobody)
    #expect(!status.contains("passthrough"), "\(status)")
    try mount.unmount()
  }

  /// What is asked of the kernel for each thing that a program does.
  @Test func requestsOfOperations() throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    for number in 0..<20 { try writeFile("\(source.path)/file\(number)", Array("text".utf8)) }
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: ["--cache", "always"], in: scratch)
    let root = mount.mountPoint
    let path = root + "/file1"
    try call(setxattr(path, "user.a", "1", 1, 0))
    _ = entries(of: root)
    func expect(_ what: String, _ wanted: [String: Int], _ body: () throws -> Void) throws {
      var found: [String: Int] = [:]
      // Another test may have all caches of the machine dropped in between.
      for _ in 0..<5 where found.isEmpty || found != wanted {
        // Once before, so that the kernel knows what it may know.
        try body()
        found = try requests(of: mount, body)
      }
      #expect(found == wanted, "\(what)")
    }
    var room = [UInt8](repeating: 0, count: 100)
    try expect("getxattr", ["getxattr": 1]) { _ = getxattr(path, "user.a", &room, 100) }
    try expect("a probe and getxattr", ["getxattr": 2]) {
      _ = getxattr(path, "user.a", nil, 0)
      _ = getxattr(path, "user.a", &room, 100)
    }
    try expect("listxattr", ["listxattr": 1]) { _ = listxattr(path, nil, 0) }
    try expect("setxattr", ["setxattr": 1]) { _ = setxattr(path, "user.a", "2", 1, 0) }
    try expect("removexattr", ["removexattr": 1]) { _ = removexattr(path, "user.b") }
    try expect("stat of a known file", [:]) { _ = try status(root + "/file2") }
    try expect("open and close", ["open": 1, "flush": 1]) { close(open(path, O_RDONLY)) }
    try expect(
      "create and unlink",
      ["lookup": 1, "create": 1, "flush": 1, "unlink": 1, "getattr": 2]
    ) {
      close(open(root + "/new", O_CREAT | O_EXCL | O_WRONLY, 0o644))
      unlink(root + "/new")
    }
    try expect("mkdir and rmdir", ["lookup": 1, "mkdir": 1, "rmdir": 1, "getattr": 2]) {
      mkdir(root + "/directory", 0o755)
      rmdir(root + "/directory")
    }
    // With a file open all the while, each look at the counters would be one more FLUSH, by a child
    // that closes it.
    func expectOpen(_ what: String, _ wanted: [String: Int], _ body: (Int32) -> Void) throws {
      try expect(what, wanted.merging(["open": 1, "flush": 1]) { $0 + $1 }) {
        let file = try call(open(root + "/file3", O_RDWR))
        body(file)
        close(file)
      }
    }
    try expectOpen("pwrite", [:]) { _ = pwrite($0, "x", 1, 0) }
    try expectOpen("a hundred of pwrite", [:]) { file in
      for _ in 0..<100 { _ = pwrite(file, "x", 1, 0) }
    }
    try expectOpen("pread", [:]) { _ = pread($0, &room, 1, 0) }
    try expectOpen("pwrite, then fstat", ["getxattr": 1, "getattr": 1]) {
      _ = pwrite($0, "x", 1, 0)
      var status = stat()
      fstat($0, &status)
    }
    try expectOpen("fsync", ["fsync": 1]) { fsync($0) }
    try expect("lstat of all", [:]) {
      for number in 0..<20 { _ = try status("\(root)/file\(number)") }
    }
    try mount.unmount()
  }
}
