import Glibc
import TestSupport
import Testing

/// Objects of which a name goes away and another stays: the store keeps a way to each.
@Suite(.needsFuse, .needsLoop, .serialized) struct ToolNameless {
  private func linked(_ source: String, _ first: String, _ second: String) throws {
    try call(mkdir("\(source)/d", 0o755))
    try writeFile("\(source)/\(first)", [1])
    try call(link("\(source)/\(first)", "\(source)/\(second)"))
  }

  private func set(_ path: String) throws {
    try check(["setfattr", "-n", "user.a", "-v", "1", path])
  }

  /// All names were seen before the first attribute was set; the one by which it was set goes away.
  @Test func otherNamesAreRecorded() throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    let mount = try Mount(source.path, in: scratch)
    let view = mount.mountPoint
    try linked(view, "a", "d/b")
    _ = try readFile("\(view)/a")
    try set("\(view)/d/b")
    try call(unlink("\(view)/d/b"))
    try mount.unmount()
    #expect(try Tool.run(["check", source.path], ends: 0).text.hasSuffix(": clean\n"))
    #expect(
      try Tool.run(["export", source.path], ends: 0).text == "# file: a\nuser.a=\"1\"\n\n")
    let copy = try Source(.ext4, in: scratch, named: "copy")
    try check(["cp", "-a", "\(source.path)/.", copy.path])
    try Tool.run(["rebind", copy.path], ends: 1)
    let other = try Mount(copy.path, in: scratch)
    #expect(try Tool.listing(of: other.mountPoint) == ["(b'./a', b'user.a', b'1')"])
    try other.unmount()
  }

  /// The daemon that sees the name go has not seen the other: whoever looks it up later enters it.
  @Test func theNextLookupEntersTheName() throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    try linked(source.path, "a", "d/b")
    try call(link("\(source.path)/a", "\(source.path)/c"))
    let mount = try Mount(source.path, in: scratch)
    try set("\(mount.mountPoint)/d/b")
    try call(unlink("\(mount.mountPoint)/d/b"))
    // Nobody has looked: it is found in the source.
    for words in [["export"], ["export", "-o", scratch.path("dump")]] {
      let found = try Tool.run(words + [source.path], ends: 0)
      #expect(found.errorText == "")
    }
    let dump = String(decoding: try readFile(scratch.path("dump")), as: UTF8.self)
    #expect(dump.contains("# file: a\nuser.a=\"1\"\n") && dump.contains("# file: c\n"))
    let json = try Tool.run(["export", "--format", "json", source.path], ends: 0)
    #expect(json.text.contains("\"a\"") && json.text.contains("\"c\""))
    let found = try Tool.run(["check", source.path], ends: 4)
    #expect(
      found.text.hasPrefix("nameless: ")
        && (found.text.contains(", is a\n") || found.text.contains(", is c\n")), "\(found.text)")
    try mount.remount()
    _ = try readFile("\(mount.mountPoint)/a")
    #expect(try Tool.run(["check", source.path], ends: 0).text.hasSuffix(": clean\n"))
    // By now the name is known, and goes again; the last one that was seen takes its place at once.
    _ = try readFile("\(mount.mountPoint)/c")
    try call(unlink("\(mount.mountPoint)/a"))
    #expect(try Tool.run(["check", source.path], ends: 0).text.hasSuffix(": clean\n"))
    #expect(
      try Tool.run(["export", source.path], ends: 0).text == "# file: c\nuser.a=\"1\"\n\n")
    // With the last name the record goes.
    try call(unlink("\(mount.mountPoint)/c"))
    try mount.unmount()
    #expect(try Tool.run(["export", source.path], ends: 0).text == "")
  }

  /// A name that was changed underneath is not taken for one of the object.
  @Test func namesThatAreGoneAreNotRecorded() throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    try linked(source.path, "a", "d/b")
    try call(link("\(source.path)/a", "\(source.path)/c"))
    let mount = try Mount(source.path, options: ["--cache", "never"], in: scratch)
    for name in ["a", "c", "d/b"] { _ = try readFile("\(mount.mountPoint)/\(name)") }
    try call(unlink("\(source.path)/c"))
    try writeFile("\(source.path)/c", [2])
    try call(rename("\(source.path)/a", "\(source.path)/e"))
    try set("\(mount.mountPoint)/d/b")
    #expect(try Tool.run(["check", source.path], ends: 0).text.hasSuffix(": clean\n"))
    try call(rename("\(mount.mountPoint)/d/b", "\(mount.mountPoint)/d/f"))
    _ = try readFile("\(mount.mountPoint)/e")
    try call(unlink("\(mount.mountPoint)/d/f"))
    #expect(
      try Tool.run(["export", source.path], ends: 0).text == "# file: e\nuser.a=\"1\"\n\n")
    try mount.unmount()
    #expect(try Tool.run(["check", source.path], ends: 0).text.hasSuffix(": clean\n"))
  }
}
