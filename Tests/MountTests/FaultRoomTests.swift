import Glibc
import TestSupport
import Testing

/// The store's disk has not a byte left, and the mount comes and goes meanwhile.
@Suite(.needsFuse, .needsLoop, .serialized) struct FaultRoom {
  /// Writes until nothing more fits.
  private func fill(_ directory: String) throws {
    let file = try call(
      open("\(directory)/ballast", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600))
    defer { close(file) }
    for size in [1 << 20, 4096, 1] {
      let bytes = [UInt8](repeating: 1, count: size)
      while write(file, bytes, size) > 0 {}
      #expect(errno == ENOSPC)
      // Only now ext4 knows how much it has.
      fsync(file)
    }
  }

  @Test(arguments: [SourceKind.tmpfs, .ext4, .xfs], [false, true])
  func removingMakesRoom(_ kind: SourceKind, _ isKilled: Bool) throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    var place = scratch.path("disk")
    var disk: Source?
    if kind == .tmpfs {
      place = try scratch.directory("disk")
      try check(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", place])
    } else {
      disk = try Source(kind, in: scratch, named: "disk")
      place = disk?.path ?? place
    }
    defer { if kind == .tmpfs { unmount(place) } }
    let mount = try Mount(source.path, store: "\(place)/store", in: scratch)
    let side = ModelSide(mount.mountPoint)
    func set(_ name: String, _ number: Int, _ size: Int) -> String {
      side.perform(
        .set(name, "user.\(number)", size: size, byte: UInt8(truncatingIfNeeded: number), flags: 0))
    }
    for name in ["f", "g"] { #expect(side.perform(.create(name)) == "0") }
    for number in 0..<30 { #expect(set("f", number, 20_000) == "0") }
    #expect(set("g", 1, 100) == "0")
    try fill(place)
    var wanted = 30
    while wanted < 2000 {
      let answer = set("f", wanted, 20_000)
      if answer != "0" {
        #expect(answer == "ENOSPC")
        break
      }
      wanted += 1
    }
    #expect(set("f", 0, 60_000) == "ENOSPC")
    let old = side.perform(.get("f", "user.0"))
    #expect(old.hasPrefix("20000 "))
    for isAgain in [false, true] {
      if isAgain {
        if isKilled { try mount.kill() }
        try mount.remount()
        try fill(place)
      }
      #expect(side.perform(.get("f", "user.0")) == old)
      #expect(side.perform(.list("f")).split(separator: " ").count == wanted)
      #expect(set("f", 0, 60_000) == "ENOSPC")
    }
    #expect(side.perform(.remove("g", "user.1")) == "0")
    #expect(side.perform(.get("g", "user.1")) == "ENODATA")
    for number in 1..<20 { #expect(side.perform(.remove("f", "user.\(number)")) == "0") }
    #expect(set("f", 1, 20_000) == "0")
    #expect(side.perform(.unlink("f")) == "0")
    #expect(set("g", 1, 60_000) == "0")
    try mount.remount()
    #expect(side.perform(.get("g", "user.1")).hasPrefix("60000 "))
    #expect(try statusNumber("stored_attributes", of: mount) == 1)
    try mount.unmount()
    try Tool.run(["check", "--store", "\(place)/store", source.path], ends: 0)
  }
}
