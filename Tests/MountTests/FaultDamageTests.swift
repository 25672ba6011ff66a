import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// The store's disk is full, gone, or its file is cut, overwritten or replaced while it is mounted:
/// callers are told, nothing that was kept is answered as if it were not there, the daemon lives.
@Suite(.needsFuse, .needsLoop, .serialized) struct FaultDamage {
  @Test func aFullDisk() throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let store = try scratch.directory("store")
    try check(["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", store])
    let mount = try Mount(source.path, store: store, in: scratch)
    let side = ModelSide(mount.mountPoint)
    #expect(side.perform(.create("f")) == "0")
    var kept: [Int] = []
    var refusals: Set<String> = []
    for number in 0..<80 {
      let answer = side.perform(set("f", "user.\(number)", 40_000, number))
      if answer == "0" { kept.append(number) } else { refusals.insert(answer) }
    }
    #expect(refusals == ["ENOSPC"] && kept.count > 5, "\(kept.count) kept, \(refusals)")
    // Files are not on that disk, and what was kept can be read, by a new daemon too.
    #expect(side.perform(.create("g")) == "0")
    #expect(side.perform(.rename("g", "h", flags: 0)) == "0")
    for isAgain in [false, true] {
      if isAgain { try mount.remount() }
      let names = Set(side.perform(.list("f")).split(separator: " ").map(String.init))
      #expect(names == Set(kept.map { "user.\($0)" }))
    }
    // There is room left for removing.
    #expect(side.perform(.remove("f", "user.\(kept[0])")) == "0")
    #expect(side.perform(.get("f", "user.\(kept[0])")) == "ENODATA")
    try check(["mount", "-o", "remount,size=8m", store])
    for number in kept.dropFirst() {
      #expect(side.perform(.remove("f", "user.\(number)")) == "0")
    }
    #expect(side.perform(set("f", "user.large", 60_000, 1)) == "0")
    try mount.unmount()
  }

  @Test func aDiskThatIsGone() throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let disk = try Source(.xfs, in: scratch, named: "disk")
    let stage = try Kept(source, store: disk.path + "/store", in: scratch)
    // XFS_IOC_GOINGDOWN: nothing more is read from the disk, or written to it.
    let file = try call(open(disk.path, O_RDONLY | O_CLOEXEC))
    var flags: UInt32 = 2
    #expect(ioctl(file, 0x8004_587d, &flags) == 0, "\(Errno(errno))")
    close(file)
    #expect(stage.side.perform(set("seen", "user.a", 10, 1)) == "EIO")
    #expect(stage.side.perform(set("unseen", "user.a", 10, 1)) == "EIO")
    stage.expectKeptOrRefused("gone")
    #expect(stage.side.perform(.create("new")) == "0")
    #expect(stage.side.perform(.read("new")).hasPrefix("0 "))
    #expect(stage.mount.pid != 0)
    try stage.mount.kill()
  }

  @Test(arguments: [
    "half", "nothing", "zeros", "garbage", "flips", "values", "removed", "replaced",
  ])
  func aChangedFile(_ change: String) throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    let stage = try Kept(source, store: try scratch.directory("store"), in: scratch)
    let file = stage.store + "/store.db"
    let bytes = try readFile(file)
    switch change {
    case "half": truncate(file, bytes.count / 2)
    case "nothing": truncate(file, 0)
    case "zeros": try overwrite(file, Array(repeating: 0, count: bytes.count))
    case "garbage":
      var random = ModelRandom(seed: 1)
      try overwrite(file, bytes.map { _ in UInt8(random.below(256)) })
    case "flips":
      var random = ModelRandom(seed: 2)
      var flipped = bytes
      for _ in 0..<200 { flipped[random.below(bytes.count)] ^= UInt8(1 << random.below(8)) }
      try overwrite(file, flipped)
    case "values":
      // One byte of every value in the file, and nothing else: each counts up, every seven bytes.
      var flipped = bytes
      var run = 0
      for index in 7..<bytes.count {
        run = bytes[index] == bytes[index - 7] &+ 1 ? run + 1 : 0
        if run == 400 { flipped[index - 50] ^= 4 }
      }
      #expect(flipped != bytes)
      try overwrite(file, flipped)
    case "removed": unlink(file)
    default:
      // An older copy, as from a backup, comes in its place.
      try writeFile(file + ".new", stage.empty, mode: 0o600)
      rename(file + ".new", file)
    }
    stage.expectKeptOrRefused(change)
    let answer = stage.side.perform(set("seen", "user.late", 10, 1))
    if ["removed", "replaced"].contains(change) { #expect(answer == "EIO", "\(change)") }
    // An acknowledged one is to be seen.
    if answer == "0" { #expect(stage.side.perform(.get("seen", "user.late")).hasPrefix("10 ")) }
    #expect(stage.side.perform(.create("new")) == "0")
    stage.expectKeptOrRefused(change + ", later")
    #expect(stage.mount.pid != 0, "the daemon died: \(stage.mount.printed)")
    try stage.mount.kill()
  }

  private func overwrite(_ path: String, _ bytes: [UInt8]) throws {
    let file = try call(open(path, O_WRONLY | O_CLOEXEC))
    defer { close(file) }
    #expect(pwrite(file, bytes, bytes.count, 0) == bytes.count)
  }
}

private func set(_ path: String, _ name: String, _ size: Int, _ byte: Int) -> ModelAction {
  .set(path, name, size: size, byte: UInt8(truncatingIfNeeded: byte), flags: 0)
}

/// A mount over files with attributes, some of which its daemon has in memory.
private final class Kept {
  let mount: Mount
  let store: String
  let side: ModelSide
  /// The database before anything was kept in it.
  let empty: [UInt8]
  private let files = 300
  private var wanted: [String: String] = [:]

  init(_ source: Source, store: String, in scratch: Scratch) throws {
    mount = try Mount(source.path, store: store, options: ["--cache", "never"], in: scratch)
    self.store = store
    side = ModelSide(mount.mountPoint)
    try mount.unmount()
    empty = try readFile(store + "/store.db")
    try mount.remount()
    for number in 0..<files {
      let name = name(number)
      #expect(side.perform(.create(name)) == "0")
      #expect(side.perform(set(name, "user.a", 500, number)) == "0")
      wanted[name] = side.perform(.get(name, "user.a"))
    }
    // Into the database itself, and out of the daemon's memory.
    try mount.remount()
    #expect(side.perform(.get("seen", "user.a")) == wanted["seen"])
  }

  private func name(_ number: Int) -> String {
    number == 0 ? "seen" : number == 1 ? "unseen" : "file-\(number)"
  }

  /// Every attribute is as it was, or there is an error; none is missing in silence.
  func expectKeptOrRefused(_ what: String) {
    var wrong: [String] = []
    var refused = 0
    for (name, value) in wanted {
      let answer = side.perform(.get(name, "user.a"))
      if answer == "EIO" { refused += 1 }
      if answer != value && answer != "EIO" { wrong.append("\(name): \(answer)") }
    }
    #expect(wrong.isEmpty, "\(what): \(wrong.count) of \(wanted.count): \(wrong.prefix(5))")
    print("damage, \(what): \(refused) of \(wanted.count) refused, \(wrong.count) wrong")
  }
}
