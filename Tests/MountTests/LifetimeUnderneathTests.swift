import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// What becomes of attributes when the source changes where the mount does not see it.
@Suite(.needsFuse, .needsLoop) struct LifetimeUnderneath {
  /// An inode number that comes back names another file, and it has no attributes; nor have those
  /// that the mount makes itself.
  @Test(arguments: ["handle", "inode"]) func reusedNumbers(_ identity: String) throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    let store = try scratch.directory("store")
    let mount = try Mount(
      source.path, store: store, options: ["--cache", "never", "--identity", identity],
      in: scratch)
    for (place, maker) in [("mount", mount.mountPoint), ("underneath", source.path)] {
      var reused = 0
      for round in 0..<200 where reused < 20 {
        let path = "\(maker)/\(place)"
        let shown = "\(mount.mountPoint)/\(place)"
        if round % 2 == 0 { try writeFile(path, []) } else { try call(mkdir(path, 0o755)) }
        #expect(try attributesOf(shown).isEmpty, "\(place), round \(round)")
        try call(setxattr(shown, "user.a", "\(round)", 2, 0))
        let number = try inode(shown)
        try call(round % 2 == 0 ? unlink(path) : rmdir(path))
        try forget(mount)
        let next = "\(source.path)/next"
        if round % 2 == 0 { try writeFile(next, []) } else { try call(mkdir(next, 0o755)) }
        if try inode(next) == number { reused += 1 }
        #expect(try attributesOf(mount.mountPoint + "/next").isEmpty, "\(place), round \(round)")
        try call(round % 2 == 0 ? unlink(next) : rmdir(next))
        try forget(mount)
      }
      #expect(reused >= 20, "\(place): numbers came back")
    }
    try mount.unmount()
    let left = try StoredState(store)
    #expect(left.orphans.isEmpty)
  }

  /// Whoever renames or links underneath takes the attributes along, and so does a remount.
  @Test(arguments: SourceKind.allCases) func renamed(_ kind: SourceKind) throws {
    let scratch = try Scratch()
    let source = try Source(kind, in: scratch)
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, options: ["--cache", "never"], in: scratch)
    let root = mount.mountPoint
    for name in ["f", "g", "h"] { try writeFile("\(root)/\(name)", []) }
    try call(mkdir(root + "/d", 0o755))
    try writeFile(root + "/d/x", [])
    for name in ["f", "g", "h", "d", "d/x"] {
      try call(setxattr("\(root)/\(name)", "user.name", name, name.utf8.count, 0))
    }
    func expect(_ name: String, _ value: String?) throws {
      let wanted: Set<String> =
        value.map {
          ["\(hex(Array("user.name".utf8)))=\(hex(Array($0.utf8)))"]
        } ?? []
      #expect(try attributesOf("\(root)/\(name)") == wanted, "\(kind), \(name)")
    }
    let below = source.path
    try Hidden.rename("\(below)/f", "\(below)/d/moved")
    try Hidden.rename("\(below)/d", "\(below)/e")
    try call(link("\(below)/g", "\(below)/e/linked"))
    try call(unlink("\(below)/h"))
    try writeFile("\(below)/h", [])
    for _ in 0..<2 {
      try expect("e/moved", "f")
      try expect("e", "d")
      try expect("e/x", "d/x")
      try expect("g", "g")
      try expect("e/linked", "g")
      try expect("h", nil)
      try mount.remount()
    }
    try Hidden.rename("\(below)/e/moved", "\(below)/g")
    try expect("g", "f")
    try expect("e/linked", "g")
    try mount.unmount()
  }

  /// Waits until the daemon has let go of everything that is removed: until then no number comes
  /// back.
  private func forget(_ mount: Mount) throws {
    try waiting(for: "the kernel to forget") { () throws -> Void? in
      try dropCaches()
      return holdsDeleted(mount) ? nil : ()
    }
  }

  /// Whether the daemon has something open that has no name any more.
  private func holdsDeleted(_ mount: Mount) -> Bool {
    targets(ofDaemon: mount).contains { $0.hasSuffix(" (deleted)") }
  }

  private func inode(_ path: String) throws -> UInt {
    var status = stat()
    try call(lstat(path, &status))
    return status.st_ino
  }
}

/// Changes that the mount is not asked for.
enum Hidden {
  static func rename(_ from: String, _ to: String) throws(Errno) {
    try call(Glibc.rename(from, to))
  }
}
