import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// The daemon keeps attributes in memory that were read, and not all there are.
@Suite(.needsFuse, .serialized) struct AttributeMemory {
  /// More than twice as much as it may keep, read again and again.
  @Test func memoryStaysBounded() throws {
    let (count, size) = (1600, 60_000)
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    for number in 0..<count { try writeFile("\(source.path)/\(number)", []) }
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: ["--cache", "always"], in: scratch)
    func path(_ number: Int) -> String { "\(mount.mountPoint)/\(number)" }
    func value(_ number: Int) -> [UInt8] {
      [UInt8](repeating: UInt8(number & 0xff), count: size - number)
    }
    let before = try residentMemory(of: mount.pid)
    for number in 0..<count {
      let value = value(number)
      try call(setxattr(path(number), "user.large", value, value.count, 0))
      try call(setxattr(path(number), "user.small", "1", 1, 0))
    }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    for round in 0..<2 {
      for number in 0..<count {
        let length = try call(getxattr(path(number), "user.large", &bytes, bytes.count))
        #expect(bytes[..<length] == value(number)[...], "\(number) in round \(round)")
        #expect(try call(listxattr(path(number), nil, 0)) == 22)
      }
    }
    let grown = try residentMemory(of: mount.pid) - before
    #expect(grown < 72 << 20, "\(grown) bytes more, of \(count * size)")
    try mount.remount()
    for number in stride(from: 0, to: count, by: 7) {
      let length = try call(getxattr(path(number), "user.large", &bytes, bytes.count))
      #expect(bytes[..<length] == value(number)[...], "\(number) after a remount")
    }
    try mount.unmount()
    #expect(mount.printed == "")
  }
}
