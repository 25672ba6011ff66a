import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Few descriptors are enough for any number of files that the kernel remembers.
@Suite(.needsFuse, .needsLoop, .serialized) struct Descriptors {
  /// Where the objects are, and who serves them.
  enum Setting: String, CaseIterable, Sendable {
    /// Opened again by parent and name: there are no handles that could be.
    case ramfs
    /// Opened again by handle.
    case ext4
    /// Opened again by parent and name: handles are for the privileged.
    case user

    var kind: SourceKind { self == .ramfs ? .ramfs : .ext4 }
    var daemon: User? { self == .user ? User(65_534) : nil }
  }

  /// Everything is walked and listed with its attributes, stays in the kernel's cache, and answers
  /// from there as it should.
  @Test(arguments: Setting.allCases) func manyFiles(_ setting: Setting) throws {
    let isLarge = getenv("SIDECARFS_ALL") != nil
    let tree = try Tree(setting, count: isLarge && setting == .ramfs ? 2_000_000 : 30_000)
    // So that the kernel asks about objects rather than names.
    let mount = try tree.mount(cache: "always")
    try tree.asOwner { () throws in
      let before = try residentMemory(of: mount.pid)
      // Until the kernel remembers everything: other tests may make it forget.
      try waiting(for: "a cache that keeps all", within: .seconds(1200)) {
        #expect(try walked(mount.mountPoint) == walked(tree.path), "\(setting): the walk")
        return try statusNumber("known_objects", of: mount) >= tree.count ? () : nil
      }
      let held = openFiles(mount)
      // Half of what there may be, and what the store, the session and the requests need.
      #expect(held < 600, "\(setting): \(held) descriptors of 1024")
      let each = (try residentMemory(of: mount.pid) - before) / tree.count
      print("\(setting): \(tree.count) objects, \(held) descriptors, \(each) bytes each")
      #expect(each < 400, "\(setting): \(each) bytes of memory for each object")

      for number in stride(from: 0, to: tree.count, by: tree.count / 3000) {
        let path = "\(mount.mountPoint)/\(tree.name(number))"
        let value = Array("\(number)".utf8)
        try call(setxattr(path, "user.number", value, value.count, 0))
      }
      for number in stride(from: 0, to: tree.count, by: tree.count / 6000) {
        let path = "\(mount.mountPoint)/\(tree.name(number))"
        let isSet = number % (tree.count / 3000) == 0
        #expect(try value(path) == (isSet ? "\(number)" : nil), "\(setting): \(path)")
      }
      #expect(openFiles(mount) < 600)
    }
    try mount.remount()
    try tree.asOwner { () throws in
      #expect(try walked(mount.mountPoint) == walked(tree.path), "\(setting): after a remount")
      for number in stride(from: 0, to: tree.count, by: tree.count / 3000) {
        #expect(try value("\(mount.mountPoint)/\(tree.name(number))") == "\(number)")
      }
    }
    try mount.unmount()
    #expect(mount.printed == "", "\(setting)")
  }

  /// What is changed underneath while nothing holds it is found where it is now, or not at all.
  @Test(arguments: Setting.allCases) func changedUnderneath(_ setting: Setting) throws {
    let tree = try Tree(setting, count: 3000)
    let mount = try tree.mount(cache: "never")
    let watched = (0..<9).map { "\(mount.mountPoint)/\(tree.name($0))" }
    try tree.asOwner { () throws in
      for number in 0..<9 { try call(setxattr(watched[number], "user.number", "\(number)", 1, 0)) }
      let open = try call(open(watched[7], O_RDONLY | O_CLOEXEC))
      defer { close(open) }
      let pinned = try Pinned(watched)
      try letGo(tree, mount)

      let below = (0..<9).map { "\(tree.path)/\(tree.name($0))" }
      try Hidden.rename(below[1], below[1] + "-moved")
      try call(unlink(below[2]))
      try call(unlink(below[3]))
      try writeFile(below[3], Array("another".utf8))
      try Hidden.rename(below[4], below[5])
      try call(link(below[6], below[6] + "-linked"))
      try call(unlink(below[6]))
      try call(unlink(below[7]))

      #expect(try value(watched[0]) == "0")
      #expect(throws: Errno.noEntry) { try value(watched[1]) }
      #expect(try value(watched[1] + "-moved") == "1")
      #expect(throws: Errno.noEntry) { try value(watched[2]) }
      #expect(try value(watched[3]) == nil)
      #expect(try readFile(watched[3]) == Array("another".utf8))
      #expect(throws: Errno.noEntry) { try value(watched[4]) }
      #expect(try value(watched[5]) == "4")
      #expect(throws: Errno.noEntry) { try value(watched[6]) }
      #expect(try value(watched[6] + "-linked") == "6")
      // As long as a program has it open it is there.
      var bytes = [UInt8](repeating: 0, count: 16)
      #expect(fgetxattr(open, "user.number", &bytes, 16) == 1 && bytes[0] == UInt8(ascii: "7"))
      #expect(try value(watched[8]) == "8")
      try pinned.expectThemselves("\(setting)")

      // Through the mount, everything that is let go can be changed like anything else.
      try letGo(tree, mount)
      try call(rename(watched[8], watched[8] + "-moved"))
      try call(unlink(watched[5]))
      try writeFile(watched[5], [])
      #expect(try value(watched[8] + "-moved") == "8")
      #expect(try value(watched[5]) == nil)
    }
    try mount.remount()
    try tree.asOwner { () throws in
      #expect(try value(watched[8] + "-moved") == "8")
      #expect(try value(watched[5]) == nil)
      #expect(try value(watched[0]) == "0")
    }
    try mount.unmount()
    #expect(mount.printed == "", "\(setting)")
  }

  /// Numbers that come back while the daemon holds nothing and the kernel still knows the old object.
  @Test func reusedNumbers() throws {
    let tree = try Tree(.ext4, count: 3000)
    let mount = try tree.mount(cache: "never")
    let victims = (0..<200).map { tree.name($0) }
    for name in victims { try call(setxattr("\(mount.mountPoint)/\(name)", "user.old", "1", 1, 0)) }
    var pinned: Pinned? = try Pinned(victims.map { "\(mount.mountPoint)/\($0)" })
    try letGo(tree, mount)
    var old: Set<UInt> = []
    for name in victims {
      old.insert(try status("\(tree.path)/\(name)").st_ino)
      try call(unlink("\(tree.path)/\(name)"))
    }
    // With what remembers them gone, the source gives their numbers to others.
    try flush(tree.path)
    var reused = 0
    for number in 0..<400 {
      let name = "new-\(number)"
      try writeFile("\(tree.path)/\(name)", [])
      if try old.contains(status("\(tree.path)/\(name)").st_ino) { reused += 1 }
      #expect(try attributesOf("\(mount.mountPoint)/\(name)").isEmpty)
      #expect(try status("\(mount.mountPoint)/\(name)").st_size == 0)
    }
    #expect(reused > 100, "numbers came back: \(reused)")
    for name in victims {
      #expect(throws: Errno.noEntry) { try value("\(mount.mountPoint)/\(name)") }
    }
    try pinned?.expectThemselves("reused")
    pinned = nil
    try mount.unmount()
  }

  /// Objects that the kernel cannot forget.
  private final class Pinned {
    private let files: [Int32]
    private let numbers: [UInt]

    init(_ paths: [String]) throws(Errno) {
      files = try paths.map { (path) throws(Errno) in try call(open(path, O_PATH | O_CLOEXEC)) }
      numbers = try files.map { (file) throws(Errno) in
        var status = stat()
        try call(fstat(file, &status))
        return status.st_ino
      }
    }

    deinit { for file in files { close(file) } }

    /// What is not to be found any more says so; nothing is taken for another.
    func expectThemselves(_ what: String) throws(Errno) {
      for (file, number) in zip(files, numbers) {
        var status = stat()
        if fstat(file, &status) == 0 {
          #expect(status.st_ino == number, "\(what)")
        } else {
          #expect(errno == ESTALE, "\(what): \(Errno(errno))")
        }
      }
    }
  }

  /// Asks for so much else that the daemon lets the first objects go.
  private func letGo(_ tree: Tree, _ mount: Mount) throws {
    for _ in 0..<3 {
      for number in 1000..<tree.count { _ = try value("\(mount.mountPoint)/\(tree.name(number))") }
    }
    #expect(openFiles(mount) < 600)
    let links = entries(of: "/proc/\(mount.pid)/fd").map { target("/proc/\(mount.pid)/fd/\($0)") }
    #expect(!links.contains("\(tree.path)/\(tree.name(2))"))
  }

  private func openFiles(_ mount: Mount) -> Int { entries(of: "/proc/\(mount.pid)/fd").count }

  /// What `find` says of everything below a directory, in one number and the count.
  private func walked(_ path: String) throws -> String {
    let script = """
      cd "$1" && find . -name .sidecarfs -prune -o -name lost+found -prune -o \
        -printf '%P %i %s %m %y\\n' | sort | tee >(wc -l >&2) | sha256sum
      """
    let outcome = try run(["bash", "-c", script, "walk", path], timeout: .seconds(1200))
    return outcome.text + outcome.errorText
  }

  private func value(_ path: String) throws(Errno) -> String? {
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = getxattr(path, "user.number", &bytes, 64)
    if count < 0 {
      if errno == ENODATA { return nil }
      throw Errno(errno)
    }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  private func status(_ path: String) throws(Errno) -> stat {
    var status = stat()
    try call(lstat(path, &status))
    return status
  }

  private func target(_ path: String) -> String {
    var target = [CChar](repeating: 0, count: 4096)
    let count = readlink(path, &target, target.count)
    return String(
      decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private func flush(_ path: String) throws(Errno) {
    let file = try call(open(path, O_RDONLY | O_CLOEXEC))
    defer { close(file) }
    try call(syncfs(file))
  }

  /// So many files, a thousand a directory.
  private struct Tree: Sendable {
    let setting: Setting
    let scratch: Scratch
    let source: Source
    let count: Int
    var path: String { source.path + "/tree" }

    init(_ setting: Setting, count: Int) throws {
      self.setting = setting
      self.count = count
      scratch = try Scratch()
      source = try Source(setting.kind, in: scratch)
      try call(mkdir(path, 0o755))
      for number in 0..<count {
        if number % 1000 == 0 { try call(mkdir("\(path)/d\(number / 1000)", 0o755)) }
        let file = try call(Glibc.open("\(path)/\(name(number))", O_CREAT | O_WRONLY, 0o644))
        if number % 100 == 0 { try call(ftruncate(file, off_t(number))) }
        close(file)
      }
      if let user = setting.daemon { try check(["chown", "-R", "\(user.uid)", path]) }
    }

    /// An ordinary user's mount lets nobody else in, not even by another of his ids.
    func asOwner(_ body: @escaping @Sendable () throws -> Void) throws {
      guard let user = setting.daemon else { return try body() }
      try onThread { () -> Result<Void, any Error> in
        Result {
          try become(user, forGood: true)
          try body()
        }
      }.get()
    }

    func name(_ number: Int) -> String { "d\(number / 1000)/file-\(number)" }

    func mount(cache: String) throws -> Mount {
      let store = try scratch.directory("store")
      if let user = setting.daemon { try call(chown(store, user.uid, user.gid)) }
      let options = ["--cache", cache]
      return try Mount(
        path, store: store, options: options, as: setting.daemon, openFiles: 1024, in: scratch)
    }
  }
}
