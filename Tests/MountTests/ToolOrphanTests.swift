import Glibc
import TestSupport
import Testing

/// What becomes of unlinked files that were open when the daemon was killed.
@Suite(.needsFuse, .needsLoop, .serialized) struct ToolOrphans {
  /// Opens a file through the mount, gives it an attribute, unlinks it, and kills the daemon.
  private func leaveOrphan(_ mount: Mount, whileOpen body: () throws -> Void = {}) throws {
    let path = "\(mount.mountPoint)/f"
    try writeFile(path, Array("old".utf8))
    try check(["setfattr", "-n", "user.old", "-v", "1", path])
    let file = try call(open(path, O_RDWR | O_CLOEXEC))
    defer { close(file) }
    try body()
    try call(unlink(path))
    #expect(try statusNumber("orphans", of: mount) == 1)
    try mount.kill()
  }

  @Test func theDeadAreCollected() throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    let mount = try Mount(source.path, in: scratch)
    try leaveOrphan(mount)
    // ext4 gives the number to the next file.
    try writeFile("\(source.path)/f", [])
    try mount.remount()
    #expect(try statusNumber("orphans", of: mount) == 0)
    #expect(try statusNumber("stored_attributes", of: mount) == 0)
    #expect(try Tool.listing(of: mount.mountPoint) == [])
    try mount.unmount()
    #expect(try Tool.run(["check", source.path], ends: 0).text.hasSuffix(": clean\n"))
  }

  @Test func theLivingAreKeptAndMayComeBack() throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    let mount = try Mount(source.path, in: scratch)
    var underneath: Int32 = -1
    defer { close(underneath) }
    try leaveOrphan(mount) {
      underneath = try call(open("\(source.path)/f", O_RDWR | O_CLOEXEC))
    }
    try mount.remount()
    #expect(try statusNumber("orphans", of: mount) == 1)
    try mount.kill()
    // Given a name again underneath, it is the same file.
    try call(
      linkat(
        AT_FDCWD, "/proc/self/fd/\(underneath)", AT_FDCWD, "\(source.path)/again",
        AT_SYMLINK_FOLLOW))
    try mount.remount()
    #expect(try statusNumber("orphans", of: mount) == 0)
    #expect(try Tool.listing(of: mount.mountPoint) == [#"(b'./again', b'user.old', b'1')"#])
  }

  /// Where a number says nothing of its age: overlayfs has neither handles nor birth times.
  @Test func aReusedNumberBringsNothingBack() throws {
    let scratch = try Scratch()
    let disk = try Source(.ext4, in: scratch)
    for name in ["lower", "upper", "work"] { try call(mkdir("\(disk.path)/\(name)", 0o755)) }
    let merged = try scratch.directory("merged")
    try check([
      "mount", "-t", "overlay", "overlay", "-o",
      "lowerdir=\(disk.path)/lower,upperdir=\(disk.path)/upper,workdir=\(disk.path)/work", merged,
    ])
    let mount = try Mount(merged, in: scratch)
    var old = stat()
    try leaveOrphan(mount) { try call(stat("\(merged)/f", &old)) }
    var new = stat()
    for attempt in 0..<50 {
      try writeFile("\(merged)/new\(attempt)", [])
      try call(stat("\(merged)/new\(attempt)", &new))
      if new.st_ino == old.st_ino { break }
    }
    try #require(new.st_ino == old.st_ino, "the number was not given again")
    try mount.remount()
    #expect(try Tool.listing(of: mount.mountPoint) == [])
    #expect(try statusNumber("quarantined", of: mount) == 1)
    try mount.unmount()
    let found = try Tool.run(["check", merged], ends: 0)
    #expect(found.text.contains("quarantined: ") && found.text.contains("reused key"))
    let pruned = try Tool.run(["prune", "--quarantine", merged], ends: 0)
    #expect(pruned.text.contains("quarantined: "))
    #expect(try Tool.run(["check", merged], ends: 0).text.contains("quarantined") == false)
  }
}
