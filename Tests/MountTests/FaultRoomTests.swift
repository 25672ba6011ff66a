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

  /// What was answered and is in the journal alone when the disk becomes full has room all the same.
  @Test(arguments: [false, true]) func whatWasAnsweredHasRoom(_ isKilled: Bool) throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let place = try scratch.directory("disk")
    try check(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", place])
    defer { unmount(place) }
    let mount = try Mount(source.path, store: "\(place)/store", in: scratch)
    let side = ModelSide(mount.mountPoint)
    for round in 0..<10 {
      let name = "f\(round)"
      #expect(side.perform(.create(name)) == "0")
      var kept: [Int] = []
      for number in 0..<12 {
        let byte = UInt8(truncatingIfNeeded: round * 12 + number)
        let answer = side.perform(.set(name, "user.\(number)", size: 9000, byte: byte, flags: 0))
        if answer == "0" { kept.append(number) }
        // A little in the journal, or much.
        if number == round { try fill(place) }
      }
      if isKilled { try mount.kill() }
      try mount.remount()
      #expect(kept.count > round)
      for number in kept {
        let found = side.perform(.get(name, "user.\(number)"))
        #expect(found.hasPrefix("9000 "), "\(round), \(number): \(found)")
      }
      #expect(side.perform(.unlink(name)) == "0")
      unlink("\(place)/ballast")
    }
    try mount.unmount()
    try Tool.run(["check", "--store", "\(place)/store", source.path], ends: 0)
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
    // What waits in the journal would find room in its own time.
    #expect(try statusNumber("stored_attributes", of: mount) == 31)
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
    var old = side.perform(.get("f", "user.0"))
    #expect(old.hasPrefix("20000 "))
    for isAgain in [false, true] {
      if isAgain {
        if isKilled { try mount.kill() }
        try mount.remount()
        try fill(place)
      }
      #expect(side.perform(.get("f", "user.0")) == old)
      #expect(side.perform(.list("f")).split(separator: " ").count == wanted)
      // The journal of the last mount has left room, sometimes after the disk was filled.
      let answer = set("f", 0, 60_000)
      #expect(answer == "ENOSPC" || (answer == "0" && isAgain))
      old = answer == "0" ? side.perform(.get("f", "user.0")) : old
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
