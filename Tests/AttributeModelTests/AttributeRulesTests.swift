import AttributeModel
import CLinux
import Foundation
import LinuxSystem
import Testing

/// The oracle is a native file system: the same call, on a file in memory or on the disk.
@Suite(.serialized) struct AttributeRulesTests {
  static let names = [
    "user.a", "user..", "user.a.b", "trusted.a", "security.sidecar", "user.", "trusted.",
    "security.", "user", "trusted", "system", "system.", "system.a", "system.posix_acl", "weird",
    "weird.a", "com.example.x", ".", ".a", "User.a", "users.a", "user.\u{e9}",
  ]

  @Test(.enabled(if: geteuid() == 0, "trusted.* is for root"), arguments: names)
  func namesAreAdmittedAsNatively(_ text: String) throws {
    let file = try NativeFile()
    let expected = file.set(text, [1], 0)
    let name = try AttributeName(text.utf8)
    #expect(result { () throws(Errno) in try AttributeSet().admit(name, [1]) } == expected, "set")
    // What can be set can also be missing; what cannot be set is answered alike.
    let absent = try NativeFile()
    #expect(
      result { () throws(Errno) in _ = try AttributeSet().value(of: name) } == absent.get(text),
      "get")
    #expect(
      result { () throws(Errno) in try AttributeSet().admitRemoval(of: name) }
        == absent.remove(text), "remove")
  }

  @Test(arguments: [0, 1, 2, 3] as [Int32], [false, true])
  func conditionsAreThoseOfTheFlags(_ flags: Int32, _ isThere: Bool) throws {
    let file = try NativeFile()
    var set = AttributeSet()
    let name = try AttributeName("user.a".utf8)
    if isThere {
      try #require(file.set("user.a", [1], 0) == nil)
      set[name] = [1]
    }
    let expected = file.set("user.a", [2], flags)
    let answer = result { () throws(Errno) in
      try set.admit(name, [2], SetCondition(flags: flags))
    }
    #expect(answer == expected)
  }

  @Test(arguments: [4, 8, -1, 5] as [Int32])
  func unknownFlagsAreRefused(_ flags: Int32) throws {
    let file = try NativeFile()
    let answer = result { () throws(Errno) in _ = try SetCondition(flags: flags) }
    #expect(answer == file.set("user.a", [1], flags))
  }

  @Test(arguments: [0, 1, 65_535, 65_536, 65_537])
  func valuesMayHave64KiB(_ size: Int) throws {
    let file = try NativeFile()
    let value = [UInt8](repeating: 7, count: size)
    let answer = result { () throws(Errno) in
      try AttributeSet().admit(AttributeName("user.a".utf8), value)
    }
    #expect(answer == file.set("user.a", value, 0))
  }

  private func result(_ body: () throws(Errno) -> Void) -> Errno? {
    do throws(Errno) {
      try body()
      return nil
    } catch {
      return error
    }
  }
}

/// A file on /dev/shm, a tmpfs.
final class NativeFile {
  let path: String

  init() throws {
    var template = Array("/dev/shm/sidecarfs-test-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    try #require(descriptor >= 0)
    close(descriptor)
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { unlink(path) }

  func set(_ name: String, _ value: [UInt8], _ flags: Int32) -> Errno? {
    setxattr(path, name, value, value.count, flags) == 0 ? nil : Errno(errno)
  }

  func get(_ name: String) -> Errno? {
    getxattr(path, name, nil, 0) >= 0 ? nil : Errno(errno)
  }

  func remove(_ name: String) -> Errno? {
    removexattr(path, name) == 0 ? nil : Errno(errno)
  }

  func list() -> [UInt8] {
    var buffer = [CChar](repeating: 0, count: 65_536)
    let length = listxattr(path, &buffer, buffer.count)
    return buffer.prefix(max(0, length)).map { UInt8(bitPattern: $0) }
  }
}
