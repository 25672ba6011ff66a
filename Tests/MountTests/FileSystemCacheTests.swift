import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// How soon a change underneath is seen.
@Suite(.needsFuse, .serialized) struct FileSystemCache {
  @Test(arguments: ["auto", "never"]) func changesUnderneath(_ cache: String) throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: ["--cache", cache], in: scratch)
    let root = mount.mountPoint
    let below = source.path
    func first(_ what: String, _ isSo: () throws -> Bool) throws {
      if cache == "never" { return #expect(try isSo(), "\(what), at once") }
      let start = ContinuousClock.now
      try waiting(for: what, within: .seconds(5)) { try isSo() ? () : nil }
      #expect(ContinuousClock.now - start < .milliseconds(1500), "\(what), after a second")
    }
    try writeFile(below + "/f", Array("one".utf8))
    try call(mkdir(below + "/d", 0o755))
    #expect(try readFile(root + "/f") == Array("one".utf8))
    #expect(entries(of: root).sorted() == ["d", "f"])
    #expect(access(root + "/new", F_OK) == -1)

    try writeFile(below + "/f", Array("another".utf8))
    try first("content") { try readFile(root + "/f") == Array("another".utf8) }
    try writeFile(below + "/f", Array("changed".utf8))
    try first("content of the same size") { try readFile(root + "/f") == Array("changed".utf8) }
    try call(chmod(below + "/f", 0o600))
    try first("mode") { try status(root + "/f").st_mode & 0o777 == 0o600 }
    try call(truncate(below + "/f", 1 << 20))
    try first("size") { try status(root + "/f").st_size == 1 << 20 }
    try writeFile(below + "/new", [])
    try first("a new name") { access(root + "/new", F_OK) == 0 }
    try first("a new name in the list") { entries(of: root).contains("new") }
    try call(rename(below + "/new", below + "/d/moved"))
    try first("a name that is gone") { access(root + "/new", F_OK) == -1 }
    try first("a name elsewhere") { access(root + "/d/moved", F_OK) == 0 }
    try call(unlink(below + "/f"))
    try call(mkdir(below + "/f", 0o755))
    try first("another object") { try status(root + "/f").st_mode & S_IFMT == S_IFDIR }
    try mount.unmount()
  }

  /// For good means that nobody asks again, and that what is changed here is seen here.
  @Test func forGood() throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: ["--cache", "always"], in: scratch)
    let path = mount.mountPoint + "/f"
    try writeFile(path, Array("one".utf8))
    _ = try status(path)
    let asked = try statusNumber("known_objects", of: mount)
    try call(chmod(source.path + "/f", 0o600))
    #expect(try status(path).st_mode & 0o777 == 0o644)
    try call(chmod(path, 0o640))
    #expect(try status(path).st_mode & 0o777 == 0o640)
    try writeFile(path, Array("longer".utf8))
    #expect(try readFile(path) == Array("longer".utf8))
    try call(setxattr(path, "user.a", "1", 1, 0))
    let before = try status(path).st_ctim
    waitForTick()
    try call(setxattr(path, "user.a", "2", 1, 0))
    let after = try status(path).st_ctim
    #expect((after.tv_sec, after.tv_nsec) > (before.tv_sec, before.tv_nsec))
    try call(rename(path, path + "2"))
    #expect(access(path, F_OK) == -1)
    #expect(try attributesOf(path + "2").count == 1)
    #expect(try statusNumber("known_objects", of: mount) == asked)
    try mount.unmount()
  }

  private func status(_ path: String) throws -> stat {
    var status = stat()
    try call(lstat(path, &status))
    return status
  }
}
