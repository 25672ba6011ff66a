import CLinux
import Glibc
import TestSupport
import Testing

@testable import LinuxSystem

/// Lines of /proc/self/mountinfo, from proc(5) and from the kernel.
@Suite struct MountTable {
  private func parse(_ line: String) -> MountedFileSystem? { Mounts.parse(Array(line.utf8)) }

  @Test func fieldsAreFound() throws {
    let entry = try #require(
      parse("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"))
    #expect(entry.device == "98:0")
    #expect(entry.mountPoint == FileName("/mnt2"))
    #expect(entry.type == "ext3")
    #expect(entry.source == FileName("/dev/root"))
    #expect(entry.options == ["rw", "noatime", "rw", "errors=continue"])
    #expect(entry.owner == nil)
  }

  @Test func optionalFieldsMayBeManyOrNone() throws {
    for fields in ["", "shared:7 ", "shared:7 master:1 propagate_from:2 unbindable "] {
      let entry = try #require(parse("1 2 0:52 / /m rw \(fields)- fuse.x src rw,user_id=1000"))
      #expect(entry.type == "fuse.x" && entry.source == FileName("src") && entry.owner == 1000)
    }
  }

  @Test func escapesAreUndone() throws {
    let entry = try #require(
      parse("1 2 0:52 / /a\\040b\\011c\\012d\\134e\\043 rw - fuse.x s\\0401 rw"))
    #expect(entry.mountPoint == FileName("/a b\tc\nd\\e#"))
    #expect(entry.source == FileName("s 1"))
  }

  @Test func anEmptySourceIsOne() {
    #expect(parse("1 2 0:52 / /m rw - tmpfs  rw")?.source == FileName(""))
  }

  @Test(arguments: [
    "", "1", "1 2 0:52 / /m rw", "1 2 0:52 / /m rw shared:1 tmpfs none rw", "1 2 0:52 / /m rw -",
    "1 2 0:52 / /m rw - tmpfs", "1 2 0:52 / /m rw - tmpfs none",
  ]) func whatIsNoLineIsNone(_ line: String) { #expect(parse(line) == nil) }

  /// The root's device as stat tells it, so that a device number can name a mount.
  @Test func theKernelsOwnTableIsRead() throws {
    let all = try Mounts.all()
    let root = try #require(all.last { $0.mountPoint == FileName("/") })
    var status = stat()
    try #require(stat("/", &status) == 0)
    #expect(root.device == "\(status.st_dev >> 8 & 0xfff):\(status.st_dev & 0xff)")
  }

  @Test(.needsRoot) func namesThatNeedEscapesComeBack() throws {
    let scratch = try Scratch()
    for name in ["a b", "tab\there", "line\nend", "back\\slash", "\\040", "a#b", "comma,"] {
      let path = try scratch.directory(name)
      try check(["mount", "-t", "ramfs", "of \(name)", path])
      defer { unmount(path) }
      let entry = try #require(try Mounts.all().last { $0.mountPoint == FileName(path) })
      #expect(entry.type == "ramfs")
      #expect(entry.source == FileName("of \(name)"))
    }
  }
}
