import Glibc
import LinuxSystem
import TestSupport
import Testing

/// What the daemon says of a store that fails: once, on which file, what to do.
@Suite(.needsFuse, .needsLoop, .serialized) struct FaultReports {
  private func lines(_ mount: Mount) -> [String] {
    mount.printed.split(separator: "\n").map(String.init).filter { $0.contains("store.db") }
  }

  @Test func aFullDiskIsToldOnce() throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let store = try scratch.directory("store")
    try check(["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", store])
    defer { unmount(store) }
    let mount = try Mount(source.path, store: store, in: scratch)
    let side = ModelSide(mount.mountPoint)
    for name in ["f", "g"] { #expect(side.perform(.create(name)) == "0") }
    func set(_ number: Int) -> String {
      side.perform(.set("f", "user.\(number)", size: 40_000, byte: 1, flags: 0))
    }
    let answers = (0..<80).map(set)
    #expect(answers.filter { $0 == "ENOSPC" }.count > 10)
    for number in 0..<20 {
      _ = side.perform(.set("g", "user.\(number)", size: 60_000, byte: 1, flags: 0))
      _ = side.perform(.create("x"))
      _ = side.perform(.unlink("x"))
    }
    let told = lines(mount)
    #expect(told.count == 1, "\(told)")
    #expect(told.first?.contains("\(store)/store.db: ") == true)
    #expect(told.first?.contains("; make room") == true)
    try check(["mount", "-o", "remount,size=16m", store])
    // Whatever failed first works now.
    for (number, answer) in answers.enumerated() where answer != "0" { #expect(set(number) == "0") }
    #expect(lines(mount).count == 2 && lines(mount).last?.hasSuffix("it works again") == true)
    try mount.unmount()
  }

  @Test func aDiskThatIsGoneIsToldOnce() throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let disk = try Source(.xfs, in: scratch, named: "disk")
    let mount = try Mount(source.path, store: disk.path + "/store", in: scratch)
    let side = ModelSide(mount.mountPoint)
    for number in 0..<30 {
      #expect(side.perform(.create("f\(number)")) == "0")
      #expect(
        side.perform(.set("f\(number)", "user.a", size: 3000, byte: 1, flags: 0)) == "0")
    }
    // XFS_IOC_GOINGDOWN: nothing more is read from the disk, or written to it.
    let file = try call(open(disk.path, O_RDONLY | O_CLOEXEC))
    var flags: UInt32 = 2
    #expect(ioctl(file, 0x8004_587d, &flags) == 0, "\(Errno(errno))")
    close(file)
    for number in 0..<30 {
      #expect(
        side.perform(.set("f\(number)", "user.a", size: 30, byte: 1, flags: 0)) == "EIO")
      #expect(side.perform(.unlink("f\(number)")) == "0")
    }
    let told = mount.printed.split(separator: "\n")
    #expect(told.count == 1, "\(told)")
    #expect(told.first?.contains("sidecarfs check") == true)
    try mount.kill()
  }
}
