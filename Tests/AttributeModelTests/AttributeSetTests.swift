import AttributeModel
import Foundation
import LinuxSystem
import Testing

@Suite struct AttributeSetTests {
  @Test func aChangeShowsInValueAndList() throws {
    var set = AttributeSet()
    let a = try AttributeName("user.a".utf8)
    let b = try AttributeName("trusted.b".utf8)
    #expect(set.isEmpty && set.nameList(includingTrusted: true).isEmpty)
    set[a] = []
    set[b] = [1]
    #expect(try set.value(of: a) == [])
    #expect(set.count == 2)
    #expect(set.nameList(includingTrusted: true) == Array("trusted.b\0user.a\0".utf8))
    #expect(set.nameList(includingTrusted: false) == Array("user.a\0".utf8))
    set[a] = [2]
    #expect(try set.value(of: a) == [2])
    set[b] = nil
    set[b] = nil
    #expect(throws: Errno.noAttribute) { try set.value(of: b) }
    #expect(throws: Errno.noAttribute) { try set.admitRemoval(of: b) }
    try set.admitRemoval(of: a)
    #expect(set == AttributeSet([a: [2]]))
  }

  /// In which order the names were set must not show; a dictionary is the model.
  @Test(arguments: 0..<20) func anyOrderMakesTheSameSet(_ seed: Int) throws {
    var model: [AttributeName: [UInt8]] = [:]
    var set = AttributeSet()
    var state = UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 | 1
    for _ in 0..<400 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let prefix = state >> 40 & 1 == 0 ? "user." : "trusted."
      let name = try AttributeName(Array(prefix.utf8) + [UInt8(state >> 33 & 63) + 128])
      let value: [UInt8]? = state >> 50 & 3 == 0 ? nil : [UInt8(state >> 56)]
      set[name] = value
      model[name] = value
      #expect(set[name] == model[name])
    }
    #expect(set == AttributeSet(model))
    for trusted in [true, false] {
      let names = model.keys.filter { trusted || $0.namespace != .trusted }.sorted()
      let list = names.flatMap { name -> [UInt8] in name.bytes + [0] }
      #expect(set.nameList(includingTrusted: trusted) == list)
      #expect(set.listSize(includingTrusted: trusted) == list.count)
    }
  }

  @Test(.enabled(if: geteuid() == 0, "trusted.* is for root"))
  func aListHoldsWhatTmpfsLists() throws {
    let file = try NativeFile()
    var set = AttributeSet()
    for text in ["user.b", "user.a", "user.B", "trusted.z", "user.a.b", "user.\u{e9}", "user.a-"] {
      try #require(file.set(text, [], 0) == nil)
      set[try AttributeName(text.utf8)] = []
    }
    // The order is nobody's promise: Linux 6.18's tmpfs has it from the last to the first.
    let native = file.list().split(separator: 0).map(Array.init)
    #expect(set.names.map(\.bytes) == native.sorted { $0.lexicographicallyPrecedes($1) })
    #expect(set.nameList(includingTrusted: true).count == file.list().count)
  }

  @Test func aListNeverOutgrows64KiB() throws {
    var set = AttributeSet()
    // Names of 255 bytes and a NUL: 256 of them are 64 KiB exactly.
    func name(_ number: Int, length: Int = 255) throws -> AttributeName {
      var bytes = Array("user.\(number).".utf8)
      bytes += [UInt8](repeating: 0x61, count: length - bytes.count)
      return try AttributeName(bytes)
    }
    for number in 0..<256 {
      try set.admit(name(number), [])
      set[try name(number)] = []
    }
    #expect(set.listSize(includingTrusted: true) == 65_536)
    #expect(throws: Errno.noSpace) { try set.admit(name(256, length: 20), []) }
    try set.admit(name(7), [1])
    #expect(throws: Errno.exists) { try set.admit(name(7), [1], .create) }
    #expect(throws: Errno.noAttribute) { try set.admit(name(256), [1], .replace) }
    set[try name(7)] = nil
    try set.admit(name(256), [])
  }
}
