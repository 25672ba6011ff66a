import ExtendedAttributes
import Testing

/// Names without any file system.
@Suite struct NameTests {
  @Test(arguments: [
    ("com.example.key", "user.com.example.key", "com.example.key"),
    ("user.com.example.key", "user.com.example.key", "com.example.key"),
    ("key", "user.key", "key"), ("user", "user.user", "user"),
    ("trusted.key", "trusted.key", "trusted.key"),
    ("security.selinux", "security.selinux", "security.selinux"),
    ("system.posix_acl_access", "system.posix_acl_access", "system.posix_acl_access"),
    ("user.user.key", "user.user.key", "user.user.key"),
    ("user.trusted.key", "user.trusted.key", "user.trusted.key"),
    ("user.", "user.", "user."), ("User.key", "user.User.key", "User.key"),
    ("user.\u{301}x", "user.\u{301}x", "\u{301}x"), ("trusted", "user.trusted", "trusted"),
  ])
  func namesTravel(_ written: String, _ native: String, _ shown: String) {
    let name = ExtendedAttributeName(written)
    #expect(Array(name.native.utf8) == Array(native.utf8))
    #expect(Array(name.description.utf8) == Array(shown.utf8))
    // What a list shows leads back to the same attribute.
    let listed = ExtendedAttributeName(nativeBytes: Array(native.utf8))
    #expect(listed == name)
    #expect(listed.hashValue == name.hashValue)
    #expect(ExtendedAttributeName(listed.description) == name)
    #expect(ExtendedAttributeName.native(native) == name)
    #expect(name.isPortable == native.utf8.starts(with: "user.".utf8))
  }

  @Test func nativeNamesArePassedAsTheyAre() {
    let name = ExtendedAttributeName.native("com.example.key")
    #expect(name.native == "com.example.key")
    #expect(name != "com.example.key")
    #expect(!name.isPortable)
  }

  @Test func spellingsThatLookAlikeDiffer() {
    #expect("é" == "e\u{301}")
    #expect(ExtendedAttributeName("é") != ExtendedAttributeName("e\u{301}"))
    #expect(Set<ExtendedAttributeName>(["é", "e\u{301}"]).count == 2)
  }

  @Test func bytesThatAreNoTextMakeANameToo() {
    let name = ExtendedAttributeName(nativeBytes: Array("user.".utf8) + [0xff])
    #expect(name.string == nil)
    #expect(name.isPortable)
    #expect(name.nativeBytes == Array("user.".utf8) + [0xff])
    #expect(name.description == "\u{fffd}")
  }

  @Test func flagsAreLettersOfTheName() {
    let name = ExtendedAttributeName("com.example.key", flags: [.syncable, .contentDependent])
    #expect(name.native == "user.com.example.key#CS")
    #expect(name.flags == [.syncable, .contentDependent])
    #expect(name.withoutFlags == "com.example.key")
    #expect(ExtendedAttributeName("a", flags: []) == "a")
    for plain: ExtendedAttributeName in ["a", "a#b", "a#", "a#SX", "#"] {
      #expect(plain.flags == [])
      #expect(plain.withoutFlags == plain)
    }
    let all: ExtendedAttributeFlags = [
      .noExport, .contentDependent, .neverPreserve, .syncable, .onlyBackup,
    ]
    #expect(ExtendedAttributeName("a", flags: all) == "a#PCNSB")
  }
}
