import ClientTestSupport
import ExtendedAttributes
import Foundation
import TestSupport
import Testing

/// Setting, reading, listing and removing, on every file system.
@Suite(.needsFuse, .needsLoop, .timeLimit(.minutes(2))) struct ValueTests {
  @Test(arguments: PlaceKind.allCases)
  func theClassicCallsWork(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = try place.file("name with a space, é and %41")
    #expect(url.extendedAttribute(for: "com.example.key") == nil)
    #expect(url.setExtendedAttribute(value: "hello", for: "com.example.key"))
    #expect(url.extendedAttribute(for: "com.example.key") == "hello")
    // The same attribute by its native name, and as another program sees it.
    #expect(url.extendedAttribute(for: "user.com.example.key") == "hello")
    let seen = try python(
      "import os,sys; print(os.getxattr(sys.argv[1], 'user.com.example.key').decode(), end='')",
      url.path)
    #expect(seen == "hello")
    #expect(url.removeExtendedAttribute(for: "com.example.key"))
    #expect(!url.removeExtendedAttribute(for: "com.example.key"))
    #expect(url.extendedAttribute(for: "com.example.key") == nil)
    #expect(!place.url("missing").setExtendedAttribute(value: "x", for: "com.example.key"))
  }

  @Test(arguments: PlaceKind.allCases)
  func aMissingAttributeIsNilAndAnEmptyOneIsEmpty(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let attributes = try place.file().extendedAttributes
    #expect(try attributes.names() == [])
    #expect(try attributes.data(for: "empty") == nil)
    #expect(try attributes.string(for: "empty") == nil)
    #expect(try !attributes.contains("empty"))
    #expect(try !attributes.remove("empty"))
    try attributes.set(Data(), for: "empty")
    #expect(try attributes.data(for: "empty") == Data())
    #expect(try attributes["empty"] == Data())
    #expect(try attributes.string(for: "empty") == "")
    #expect(try attributes.size(of: "empty") == 0)
    #expect(try attributes.contains("empty"))
    #expect(try attributes.names() == ["empty"])
    #expect(try attributes.all().map(\.value) == [Data()])
    #expect(try attributes.remove("empty"))
    #expect(try attributes.names() == [])
  }

  /// Lengths around the buffer on the stack and at the limits, where the file system goes so far.
  @Test(arguments: PlaceKind.allCases)
  func valuesOfAnyLengthComeBack(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = try place.file()
    for length in [0, 1, 14, 15, 800, 1023, 1024, 1025, 3000, 4096, 65_535, 65_536, 65_537] {
      let value = Data((0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ length) })
      let code = try pythonErrno(
        "os.setxattr(p, 'user.value', b'x' * \(length)); os.removexattr(p, 'user.value')", url.path)
      let error = failure { try url.extendedAttributes.set(value, for: "value") }
      #expect((error?.errno ?? 0) == code, "\(length) bytes: \(error?.description ?? "fine")")
      if error == nil {
        #expect(try url.extendedAttributes.data(for: "value") == value)
        #expect(try url.extendedAttributes.size(of: "value") == length)
        try url.extendedAttributes.removeAll()
      }
      switch length {
      case ...800: #expect(error == nil)
      case 65_537: #expect(error?.kind == .tooLarge)
      default: #expect(error == nil || (kind == .ext4 && error?.kind == .noSpace))
      }
    }
  }

  @Test(arguments: PlaceKind.allCases)
  func createAndReplaceMeanIt(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let attributes = try place.file().extendedAttributes
    let missing = failure { try attributes.set(Data([1]), for: "a", options: .replace) }
    #expect(missing?.kind == .missing)
    try attributes.set(Data([1]), for: "a", options: .create)
    let exists = failure { try attributes.set(Data([2]), for: "a", options: .create) }
    #expect(exists?.kind == .exists)
    #expect(try attributes.data(for: "a") == Data([1]))
    try attributes.set(Data([3]), for: "a", options: .replace)
    #expect(try attributes.data(for: "a") == Data([3]))
  }

  @Test(arguments: PlaceKind.allCases)
  func namesOfAnyTextAreKeptApart(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = try place.file()
    let attributes = url.extendedAttributes
    // Two spellings that Swift's strings hold equal, scripts, a dot with a combining mark after
    // it, marks that tools use, and the longest there can be.
    let names =
      [
        "é", "e\u{301}", "данные", "データ", "🗂️", "a b=c\"d\\e\nf", "\u{301}mark", ".", "..",
        "x/y", "user", "user.user.x", "#S", String(repeating: "n", count: 250),
        String(repeating: "é", count: 125),
      ].map { ExtendedAttributeName($0) }
    for (index, name) in names.enumerated() {
      try attributes.set(string: "\(index)", for: name)
    }
    for (index, name) in names.enumerated() {
      let value = try attributes.string(for: name)
      #expect(value == "\(index)", "\(name)")
    }
    #expect(try Set(attributes.names()) == Set(names))
    #expect(try attributes.dictionary().count == names.count)
    let program = """
      import os, sys
      for name in sorted(os.fsencode(n) for n in os.listxattr(sys.argv[1])): print(name.hex())
      """
    let seen = try python(program, url.path).split(separator: "\n").map(String.init)
    let expected = names.sorted().map { name in
      name.nativeBytes.map { String(format: "%02x", $0) }.joined()
    }
    #expect(seen == expected)
    try attributes.removeAll()
    #expect(try attributes.names() == [])
  }

  @Test(arguments: PlaceKind.allCases)
  func aNameThatIsNotTextIsKept(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let attributes = try place.file().extendedAttributes
    let name = ExtendedAttributeName(nativeBytes: Array("user.".utf8) + [0xff, 0x80])
    try attributes.set(Data([1]), for: name)
    #expect(try attributes.names() == [name])
    #expect(try attributes.names().first?.string == nil)
    #expect(try attributes.all().first?.value == Data([1]))
    #expect(try attributes.remove(name))
  }

  @Test(arguments: PlaceKind.allCases)
  func copyingAndClearingLeaveTheRestAlone(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let first = try place.file("first").extendedAttributes
    let second = try place.file("second").extendedAttributes
    for index in 0..<20 { try first.set(string: "value \(index)", for: "a\(index)") }
    try first.set(Data([1]), for: "trusted.a")
    try second.set(Data([2]), for: "own")
    try second.set(string: "old", for: "a3")
    try first.copy(to: second)
    #expect(try second.names().count == 21)
    #expect(try second.string(for: "a3") == "value 3")
    #expect(try second.data(for: "own") == Data([2]))
    #expect(try !second.contains("trusted.a"))
    try first.copy(to: second, where: { $0 == "trusted.a" })
    #expect(try second.data(for: "trusted.a") == Data([1]))
    try second.removeAll(where: { $0 == "own" })
    #expect(try second.names().count == 21)
    try second.removeAll()
    #expect(try second.names() == ["trusted.a"])
    var count = 0
    try first.forEach { name, _ throws(ExtendedAttributeError) in
      count += 1
      if name.isPortable { try first.remove(name) }
    }
    #expect(count == 21)
    #expect(try first.names() == ["trusted.a"])
  }

  @Test(arguments: PlaceKind.allCases)
  func attributesOutliveAProcessAndARemount(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = try place.file()
    let long = String(repeating: "y", count: kind == .ext4 ? 700 : 2000)
    // Written by this process, read by another; and the reverse.
    try url.extendedAttributes.set(string: long, for: "ours")
    let program = "import os,sys; os.setxattr(sys.argv[1], 'user.theirs', b'theirs')"
    _ = try python(program, url.path)
    let probe = try siblingBinary("attribute-cost")
    let listed = try check([probe, "all", url.path])
    #expect(Set(listed.split(separator: "\n")) == ["ours \(long.count)", "theirs 6"])
    try place.remount()
    #expect(url.extendedAttribute(for: "ours") == long)
    #expect(url.extendedAttribute(for: "theirs") == "theirs")
    #expect(try check([probe, "all", url.path]) == listed)
  }
}
