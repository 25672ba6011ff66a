import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// File systems that are mounted inside the source belong to what the mount shows.
@Suite(.needsFuse, .needsLoop) struct Nested {
  /// A ramfs with other file systems inside, and the mount over it.
  private struct Setup {
    let scratch: Scratch
    let source: Source
    let store: String
    let mount: Mount
    let inner: [(kind: SourceKind, path: String)]

    init() throws {
      scratch = try Scratch()
      source = try Source(.ramfs, in: scratch)
      var inner: [(kind: SourceKind, path: String)] = []
      for kind in SourceKind.allCases {
        let made = try Source(kind, in: scratch, named: "image-\(kind)")
        try check(["mkdir", "\(source.path)/\(kind)"])
        try check(["mount", "--bind", made.path, "\(source.path)/\(kind)"])
        held.append(made)
        inner.append((kind, "\(source.path)/\(kind)"))
      }
      self.inner = inner
      store = try scratch.directory("store")
      mount = try Mount(source.path, store: store, options: ["--cache", "never"], in: scratch)
    }

    private var held: [Source] = []
  }

  @Test func followed() throws {
    let setup = try Setup()
    let root = setup.mount.mountPoint
    var numbers: Set<UInt> = []
    var count = 0
    try writeFile(root + "/outside", [])
    for (kind, below) in setup.inner {
      let path = "\(root)/\(kind)"
      try call(mkdir(path + "/d", 0o755))
      for name in ["f", "d/g"] { try writeFile("\(path)/\(name)", []) }
      try call(link(path + "/f", path + "/d/linked"))
      for name in ["", "/f", "/d", "/d/g"] {
        let status = try status(path + name)
        let native = try self.status(below + name)
        #expect(status.st_nlink == native.st_nlink, "\(kind)\(name)")
        #expect(status.st_mode == native.st_mode, "\(kind)\(name)")
        #expect(numbers.insert(status.st_ino).inserted, "\(kind)\(name): a number of its own")
        count += 1
        let value = "\(kind)\(name)"
        try call(setxattr(path + name, "user.where", value, value.utf8.count, 0))
      }
      #expect(try status(path + "/f").st_ino == status(path + "/d/linked").st_ino)
      #expect(try listed(path)["f"] == status(path + "/f").st_ino, "\(kind): in the list, too")
      for target in ["\(root)/outside2", "\(root)/\(kind == .ramfs ? .tmpfs : SourceKind.ramfs)/x"]
      {
        #expect(rename(path + "/f", target) == -1 && errno == EXDEV, "\(kind)")
        #expect(link(path + "/f", target) == -1 && errno == EXDEV, "\(kind)")
      }
      #expect(rename(root + "/outside", path + "/f") == -1 && errno == EXDEV, "\(kind)")
      #expect(rmdir(path) == -1 && errno == EBUSY, "\(kind)")
      #expect(rename(path, root + "/elsewhere") == -1 && errno == EBUSY, "\(kind)")
      #expect(try value(path + "/d/linked") == "\(kind)/f")
    }
    #expect(numbers.count == count)
    try setup.mount.remount()
    for (kind, _) in setup.inner {
      for name in ["", "/f", "/d", "/d/g"] {
        #expect(try value("\(root)/\(kind)\(name)") == "\(kind)\(name)")
      }
      try call(unlink("\(root)/\(kind)/d/g"))
      try call(unlink("\(root)/\(kind)/d/linked"))
      try call(rmdir("\(root)/\(kind)/d"))
    }
    try noOrphans(setup.mount)
    try setup.mount.unmount()
    let stored = try StoredState(setup.store)
    let attributes = stored.objects.values.reduce(0) { $0 + $1.count }
    #expect(attributes == setup.inner.count * 2, "the root and one file of each")
    #expect(stored.orphans.isEmpty && stored.quarantined == 0)
  }

  /// Where another file system takes the place of one, nothing is inherited.
  @Test(arguments: [SourceKind.tmpfs, .ramfs]) func replaced(_ kind: SourceKind) throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: ["--cache", "never"], in: scratch)
    let place = source.path + "/place"
    let shown = mount.mountPoint + "/place"
    try call(mkdir(place, 0o755))
    try call(setxattr(shown, "user.under", "1", 1, 0))
    for round in 0..<5 {
      try check(["mount", "-t", kind.rawValue, kind.rawValue, place])
      #expect(try attributesOf(shown).isEmpty, "\(kind), round \(round)")
      for name in ["a", "b"] {
        let maker = name == "a" ? place : shown
        try writeFile("\(maker)/\(name)", [])
        #expect(try attributesOf("\(shown)/\(name)").isEmpty, "\(kind), round \(round)")
        try call(setxattr("\(shown)/\(name)", "user.round", "\(round)", 1, 0))
      }
      try call(setxattr(shown, "user.root", "\(round)", 1, 0))
      if round % 2 == 0 { try mount.remount() }
      #expect(try attributesOf(shown + "/a").count == 1)
      // What the daemon holds keeps the file system busy.
      try waiting(for: "the daemon to let go") { () throws -> Void? in
        try dropCaches()
        return umount2(place, 0) == 0 ? () : nil
      }
      #expect(try attributesOf(shown).count == 1, "what is below comes to light")
    }
    try mount.unmount()
  }

  /// A FUSE file system invents its numbers: what is in it is known by name.
  @Test func fuseInside() throws {
    let scratch = try Scratch()
    let source = try Source(.ramfs, in: scratch)
    let inner = try Source(.tmpfs, in: scratch, named: "inner")
    try call(mkdir(source.path + "/fuse", 0o755))
    let nested = try Mount(
      inner.path, at: source.path + "/fuse", store: scratch.directory("inner-store"),
      in: scratch)
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, in: scratch)
    let path = mount.mountPoint + "/fuse/f"
    try writeFile(path, Array("content".utf8))
    #expect(try readFile(inner.path + "/f") == Array("content".utf8))
    for path in [path, mount.mountPoint + "/fuse"] {
      try call(setxattr(path, "user.where", path, path.utf8.count, 0))
    }
    try call(rename(path, mount.mountPoint + "/fuse/g"))
    try call(mkdir(mount.mountPoint + "/fuse/d", 0o755))
    try call(rmdir(mount.mountPoint + "/fuse/d"))
    try mount.remount()
    #expect(try value(mount.mountPoint + "/fuse/g") == path)
    #expect(try value(mount.mountPoint + "/fuse") == mount.mountPoint + "/fuse")
    try call(unlink(mount.mountPoint + "/fuse/g"))
    try writeFile(mount.mountPoint + "/fuse/g", [])
    #expect(try attributesOf(mount.mountPoint + "/fuse/g").isEmpty)
    try call(setxattr(mount.mountPoint, "user.a", "1", 1, 0))
    #expect(try status(mount.mountPoint + "/fuse").st_ino != status(mount.mountPoint).st_ino)
    try mount.unmount()
    try nested.unmount()
    #expect(mount.printed.isEmpty, "\(mount.printed)")
  }

  /// A mount point inside its own source is listed, but leads nowhere, and stops nobody.
  @Test func mountPointInside() throws {
    let scratch = try Scratch()
    let source = try Source(.ramfs, in: scratch)
    try call(mkdir(source.path + "/here", 0o755))
    let mount = try Mount(
      source.path, at: source.path + "/here", store: scratch.directory("store"),
      options: ["--threads", "1"], in: scratch)
    try writeFile(source.path + "/f", [])
    let list = try check(["ls", mount.mountPoint], timeout: .seconds(20))
    #expect(list == "f\nhere\n")
    for path in ["here", "here/here", "here/f"] {
      let outcome = try run(["stat", "\(mount.mountPoint)/\(path)"], timeout: .seconds(20))
      #expect(outcome.errorText.contains("Too many levels of symbolic links"), "\(path)")
    }
    #expect(try run(["rmdir", mount.mountPoint + "/here"], timeout: .seconds(20)).status == 1)
    let find = try run(["find", mount.mountPoint], timeout: .seconds(20))
    #expect(find.text.split(separator: "\n").count == 2)
    try check(
      ["setfattr", "-n", "user.a", "-v", "1", mount.mountPoint + "/f"], timeout: .seconds(9))
    try mount.unmount()
  }

  /// The same directory at two places is one object with one set of attributes.
  @Test func boundTwice() throws {
    let scratch = try Scratch()
    let source = try Source(.ramfs, in: scratch)
    for name in ["a", "b", "whole"] { try call(mkdir("\(source.path)/\(name)", 0o755)) }
    try writeFile(source.path + "/a/f", [])
    try check(["mount", "--bind", source.path + "/a", source.path + "/b"])
    try check(["mount", "--bind", source.path, source.path + "/whole"])
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: ["--cache", "never"], in: scratch)
    let root = mount.mountPoint
    try call(setxattr(root, "user.r", "1", 1, 0))
    #expect(try attributesOf(root + "/whole").count == 1)
    try call(setxattr(root + "/whole", "user.s", "1", 1, 0))
    #expect(try attributesOf(root).count == 2)
    try call(setxattr(root + "/a/f", "user.f", "1", 1, 0))
    #expect(try attributesOf(root + "/b/f").count == 1)
    #expect(try attributesOf(root + "/whole/a/f").count == 1)
    try mount.unmount()
  }

  private func status(_ path: String) throws -> stat {
    var status = stat()
    try call(lstat(path, &status))
    return status
  }

  private func value(_ path: String) throws -> String {
    var bytes = [UInt8](repeating: 0, count: 100)
    let count = try call(getxattr(path, "user.where", &bytes, bytes.count))
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  /// The numbers that a directory lists.
  private func listed(_ directory: String) throws -> [String: UInt] {
    guard let stream = opendir(directory) else { throw Errno(errno) }
    defer { closedir(stream) }
    var found: [String: UInt] = [:]
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      found[name] = entry.pointee.d_ino
    }
    return found
  }
}
