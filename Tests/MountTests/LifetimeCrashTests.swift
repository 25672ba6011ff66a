import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// A daemon that dies loses nothing that it has answered, and its mount can be cleared away.
@Suite(.needsFuse) struct LifetimeCrash {
  @Test(arguments: [SourceKind.ramfs, .tmpfs]) func killed(_ kind: SourceKind) throws {
    let scratch = try Scratch()
    let source = try Source(kind, in: scratch)
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, in: scratch)
    let root = mount.mountPoint
    // Somebody changes attributes until the daemon dies, and remembers what was answered.
    let answered = Lock<[String: [UInt8]]>([:])
    let finished = Lock(false)
    for number in 0..<4 { try writeFile("\(root)/\(number)", []) }
    detachedThread {
      for round in 0..<1_000_000 {
        let value = Array("\(round)".utf8)
        let name = "\(round % 4) user.a\(round % 7)"
        let words = name.split(separator: " ")
        guard setxattr("\(root)/\(words[0])", String(words[1]), value, value.count, 0) == 0 else {
          break
        }
        answered.withLock { $0[name] = value }
      }
      finished.withLock { $0 = true }
    }
    try waiting(for: "changes") { answered.withLock { $0.count == 28 } ? () : nil }
    try mount.crash()
    try waiting(for: "the writer's end") { finished.withLock { $0 } ? () : nil }

    #expect(open(root, O_RDONLY) == -1 && errno == ENOTCONN, "a dead mount says so")
    #expect(getxattr(root + "/0", "user.a0", nil, 0) == -1 && errno == ENOTCONN)
    try check([try daemonBinary(), "unmount", root], timeout: .seconds(20))
    #expect(!mount.isMounted)

    try mount.remount()
    for (name, value) in answered.withLock({ $0 }) {
      let words = name.split(separator: " ")
      var found = [UInt8](repeating: 0, count: 100)
      let count = getxattr("\(root)/\(words[0])", String(words[1]), &found, found.count)
      // The last one may have been done without its answer getting through.
      let number = Int(String(decoding: found.prefix(max(0, count)), as: UTF8.self)) ?? -1
      let last = Int(String(decoding: value, as: UTF8.self)) ?? 0
      #expect(number == last || number == last + 28, "\(kind), \(name)")
    }
    try mount.unmount()
    let stored = try StoredState(store)
    #expect(stored.objects.values.reduce(0) { $0 + $1.count } == 28)
    #expect(stored.orphans.isEmpty && stored.quarantined == 0)
  }

  /// What was unlinked and open when the daemon died is an orphan, which no file inherits.
  @Test func killedWithOrphan() throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, in: scratch)
    let path = mount.mountPoint + "/f"
    try writeFile(path, [])
    try call(setxattr(path, "user.a", "1", 1, 0))
    let file = try call(open(path, O_RDWR | O_CLOEXEC))
    try call(unlink(path))
    try call(fsetxattr(file, "user.b", "1", 1, 0))
    try mount.crash()
    close(file)
    try check([try daemonBinary(), "unmount", mount.mountPoint])
    try mount.remount()
    try writeFile(path, [])
    #expect(try attributesOf(path).isEmpty)
    try mount.unmount()
    let stored = try StoredState(store)
    #expect(stored.orphans.count <= 1)
    #expect(stored.objects.values.reduce(0) { $0 + $1.count } == stored.orphans.count * 2)
  }
}
