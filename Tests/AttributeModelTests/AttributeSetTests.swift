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
    #expect(set.nameList(includingTrusted: true) == Array("trusted.b\0user.a\0".utf8)[...])
    #expect(set.nameList(includingTrusted: false) == Array("user.a\0".utf8)[...])
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
      #expect(set.nameList(includingTrusted: trusted) == list[...])
    }
  }

  /// Values on both sides of the length from which they stay outside, replaced by shorter and longer
  /// ones, between others.
  @Test(arguments: 0..<20) func valuesOfAnyLength(_ seed: Int) throws {
    var random = Steps(seed)
    var model: [AttributeName: [UInt8]] = [:]
    var set = AttributeSet()
    let limit = AttributeSet.packedLimit
    for step in 0..<300 {
      let name = try AttributeName(
        Array("user.".utf8)
          + [UInt8](repeating: 0x61 + random.below(4), count: 1 + Int(random.below(40))))
      let lengths = [0, 1, 20, limit - 1, limit, limit + 1, 4096, 65_536]
      let length = lengths[Int(random.below(UInt8(lengths.count)))]
      let value = random.below(4) == 0 ? nil : [UInt8](repeating: UInt8(step & 0xff), count: length)
      set[name] = value
      model[name] = value
      #expect(set[name] == value && set.count == model.count)
    }
    #expect(set == AttributeSet(model), "the same set has one representation")
    #expect(set.names == model.keys.sorted())
    for (name, value) in model { #expect(set[name] == value) }
    for name in model.keys { set[name] = nil }
    #expect(set.isEmpty && set.memory == 0 && set == AttributeSet())
  }

  /// Thousands of attributes, which come in order or not, change their lengths, and go again.
  @Test(arguments: 0..<6) func manyAttributes(_ seed: Int) throws {
    var random = Steps(seed)
    var model: [AttributeName: [UInt8]] = [:]
    var set = AttributeSet()
    func check(_ name: AttributeName, _ value: [UInt8]?) {
      set[name] = value
      model[name] = value
    }
    for number in 0..<1200 {
      let order = seed % 3 == 0 ? number : seed % 3 == 1 ? 1200 - number : number * 7919 % 1200
      let size = random.below(50) == 0 ? AttributeSet.packedLimit + 1 : Int(random.below(9))
      check(
        try AttributeName("user.\(order + 10_000)".utf8), [UInt8](repeating: 1, count: size))
    }
    for step in 0..<3000 {
      let number = Int(random.below(200)) * 6 + Int(random.below(12)) + 10_000
      let name = try AttributeName("user.\(number)\(random.below(8) == 0 ? "x" : "")".utf8)
      let size = random.below(50) == 0 ? AttributeSet.packedLimit + 1 : Int(random.below(9))
      check(
        name,
        random.below(seed % 2 == 0 ? 2 : 3) == 0
          ? nil : [UInt8](repeating: UInt8(step & 0xff), count: size))
      if step % 100 == 0 { for (name, value) in model { try #require(set[name] == value) } }
      try #require(set.count == model.count)
    }
    #expect(set == AttributeSet(model))
    #expect(set.names == model.keys.sorted())
    for name in model.keys.sorted() {
      set[name] = nil
      #expect(set[name] == nil)
    }
    #expect(set.isEmpty && set.memory == 0)
  }

  /// What a set takes is a little more than what is in it.
  @Test func smallSetsAreSmall() throws {
    var set = AttributeSet()
    var bytes = 0
    for number in 0..<10 {
      let name = try AttributeName("user.attribute\(number)".utf8)
      set[name] = [UInt8](repeating: 7, count: 20)
      bytes += name.bytes.count + 20
    }
    #expect(set.memory < bytes + 120, "\(set.memory) bytes for \(bytes)")
  }

  /// A copy stays as it was.
  @Test func copiesAreApart() throws {
    let a = try AttributeName("user.a".utf8)
    var set = AttributeSet([a: [1, 2, 3]])
    let copy = set
    let slice = try set.value(of: a)
    set[a] = [4, 5, 6]
    #expect(copy[a] == [1, 2, 3] && slice == [1, 2, 3] && set[a] == [4, 5, 6])
  }

  private struct Steps {
    private var state: UInt64

    init(_ seed: Int) { state = UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 | 1 }

    mutating func below(_ limit: UInt8) -> UInt8 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8((state >> 33) % UInt64(limit))
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
    #expect(set.nameList(includingTrusted: true).count == 65_536)
    #expect(throws: Errno.noSpace) { try set.admit(name(256, length: 20), []) }
    try set.admit(name(7), [1])
    #expect(throws: Errno.exists) { try set.admit(name(7), [1], .create) }
    #expect(throws: Errno.noAttribute) { try set.admit(name(256), [1], .replace) }
    set[try name(7)] = nil
    try set.admit(name(256), [])
  }
}
