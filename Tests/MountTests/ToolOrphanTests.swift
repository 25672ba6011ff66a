import CLinux
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
    // The kernel closes what a killed process had open a moment after it is gone.
    try mount.remount()
    try waiting(for: "the end of the orphan") { () throws -> Void? in
      try mount.remount()
      return try statusNumber("orphans", of: mount) == 0 ? () : nil
    }
    #expect(try statusNumber("stored_attributes", of: mount) == 0)
    #expect(try Tool.listing(of: mount.mountPoint) == [])
    try mount.unmount()
    #expect(try Tool.run(["check", source.path], ends: 0).text.hasSuffix(": clean\n"))
  }

  @Test func theLivingAreKept() throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    let mount = try Mount(source.path, in: scratch)
    var underneath: Int32 = -1
    try leaveOrphan(mount) {
      underneath = try call(open("\(source.path)/f", O_RDWR | O_CLOEXEC))
    }
    try mount.remount()
    #expect(try statusNumber("orphans", of: mount) == 1)
    #expect(try statusNumber("stored_attributes", of: mount) == 1)
    let found = try Tool.run(["check", source.path], ends: 0)
    #expect(found.text.contains("open orphan: "))
    close(underneath)
    try mount.remount()
    try mount.remount()
    #expect(try statusNumber("orphans", of: mount) == 0)
  }

  /// The daemon dies between giving a nameless file a name and telling the store.
  @Test func whatWasNamedIsNoOrphan() throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    let mount = try Mount(source.path, in: scratch)
    // O_TMPFILE, which the C library declares for GNU programs alone.
    let file = try call(
      open(mount.mountPoint, 0o20000000 | O_DIRECTORY | O_RDWR | O_CLOEXEC, 0o600))
    defer { close(file) }
    try call(fsetxattr(file, "user.kept", "1", 1, 0))
    #expect(try statusNumber("orphans", of: mount) == 1)
    let held = entries(of: "/proc/\(mount.pid)/fd").first { number in
      var status = stat()
      guard stat("/proc/\(mount.pid)/fd/\(number)", &status) == 0 else { return false }
      return status.st_nlink == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size == 0
    }
    let name = try #require(held)
    try call(
      linkat(
        AT_FDCWD, "/proc/\(mount.pid)/fd/\(name)", AT_FDCWD, "\(source.path)/named",
        AT_SYMLINK_FOLLOW))
    try mount.kill()
    try mount.remount()
    #expect(try statusNumber("orphans", of: mount) == 0)
    #expect(try Tool.listing(of: mount.mountPoint) == [#"(b'./named', b'user.kept', b'1')"#])
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
    // The kernel closes what a killed process had open a moment after it is gone.
    var made = 0
    try waiting(for: "the number to be given again") { () throws -> Void? in
      var new = stat()
      made += 1
      try writeFile("\(merged)/new\(made)", [])
      try call(stat("\(merged)/new\(made)", &new))
      return new.st_ino == old.st_ino ? () : nil
    }
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
