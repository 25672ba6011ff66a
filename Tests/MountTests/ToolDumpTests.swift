import Glibc
import TestSupport
import Testing

/// `export` and `import`, with getfattr, setfattr and a native file system as oracles.
@Suite(.needsFuse, .serialized) struct ToolDumps {
  /// A source with attributes in its store, unmounted, and the same tree on a tmpfs that has them.
  private final class Pair {
    let scratch: Scratch
    let source: Source
    let native: Source
    let mount: Mount

    init(trailingNUL: Bool = true) throws {
      scratch = try Scratch()
      source = try Source(.ramfs, in: scratch)
      native = try Source(.tmpfs, in: scratch, named: "native")
      mount = try Mount(source.path, in: scratch)
      for place in [mount.mountPoint, native.path] {
        try Tool.makeTree(in: place)
        try Tool.setAttributes(in: place, trailingNUL: trailingNUL)
      }
    }
  }

  /// The blocks of a dump; their order is that of the directories.
  private func blocks(_ text: [UInt8]) -> Set<String> {
    var blocks: Set<String> = []
    var block: [UInt8] = []
    for line in text.split(separator: 10, omittingEmptySubsequences: false) {
      if line.isEmpty {
        // A character a byte.
        if !block.isEmpty {
          blocks.insert(String(String.UnicodeScalarView(block.map { Unicode.Scalar($0) })))
        }
        block = []
      } else {
        block += line + [10]
      }
    }
    return blocks
  }

  @Test(arguments: [false, true]) func exportIsWhatGetfattrSays(_ isMounted: Bool) throws {
    let pair = try Pair(trailingNUL: false)
    if !isMounted { try pair.mount.unmount() }
    let ours = try Tool.run(["export", pair.source.path], ends: 0)
    #expect(ours.errorText == "")
    let theirs = try run(
      ["getfattr", "-R", "-P", "-h", "-d", "-m", "-", "."], in: pair.native.path)
    #expect(blocks(ours.output).symmetricDifference(blocks(theirs.output)) == [])
    for encoding in ["text", "hex", "base64"] {
      let ours = try Tool.run(["export", "-e", encoding, pair.source.path], ends: 0)
      let theirs = try run(
        ["getfattr", "-R", "-P", "-h", "-d", "-e", encoding, "-m", "-", "."], in: pair.native.path)
      #expect(
        blocks(ours.output).symmetricDifference(blocks(theirs.output)) == [], "\(encoding)")
    }
  }

  @Test func setfattrRestoresWhatIsExported() throws {
    let pair = try Pair()
    let wanted = try Tool.listing(of: pair.native.path)
    #expect(try Tool.listing(of: pair.mount.mountPoint) == wanted)
    let dump = pair.scratch.path("dump")
    try Tool.run(["export", "-o", dump, pair.source.path], ends: 0)
    let copy = try Source(.tmpfs, in: pair.scratch, named: "copy")
    try Tool.makeTree(in: copy.path, isWhole: true)
    let restored = try run(["setfattr", "-h", "--restore", dump], in: copy.path)
    #expect(restored.status == 0, "\(restored.errorText)")
    #expect(try Tool.listing(of: copy.path) == wanted)
  }

  @Test func importTakesWhatGetfattrSays() throws {
    let pair = try Pair(trailingNUL: false)
    let theirs = try run(
      ["getfattr", "-R", "-P", "-h", "-d", "-m", "-", "."], in: pair.native.path)
    let source = try Source(.ramfs, in: pair.scratch, named: "other")
    try Tool.makeTree(in: source.path, isWhole: true)
    let taken = try Tool.run(["import", "--json", source.path], ends: 0, input: theirs.output)
    #expect(taken.errorText == "")
    let mount = try Mount(source.path, in: pair.scratch)
    #expect(try Tool.listing(of: mount.mountPoint) == Tool.listing(of: pair.native.path))
    try mount.unmount()
    // Once more, with absolute names: nothing is there twice.
    let absolute = try run([
      "getfattr", "-R", "-P", "-h", "-d", "-m", "-", "--absolute-names", pair.native.path,
    ])
    try Tool.run(
      ["import", "--prefix", pair.native.path, source.path], ends: 0, input: absolute.output)
    try mount.remount()
    #expect(try Tool.listing(of: mount.mountPoint) == Tool.listing(of: pair.native.path))
  }

  @Test func everyByteSurvivesJSONLines() throws {
    let pair = try Pair()
    let wanted = try Tool.listing(of: pair.native.path)
    let dump = try Tool.run(["export", "--format", "json", pair.source.path], ends: 0)
    // One line for each object, of which one has two names.
    let lines = dump.text.split(separator: "\n").map(String.init)
    #expect(lines.filter { $0.contains("\"links\"") }.count == 1)
    try check(["python3", "-c", "import json, sys\nfor l in sys.argv[1:]: json.loads(l)"] + lines)
    let source = try Source(.ramfs, in: pair.scratch, named: "other")
    try Tool.makeTree(in: source.path, isWhole: true)
    try Tool.run(["import", source.path], ends: 0, input: dump.output)
    let again = try Tool.run(["export", "--format", "json", source.path], ends: 0)
    #expect(Set(again.text.split(separator: "\n")) == Set(dump.text.split(separator: "\n")))
    let mount = try Mount(source.path, in: pair.scratch)
    #expect(try Tool.listing(of: mount.mountPoint) == wanted)
  }

  @Test func nativeAttributesComeAndGo() throws {
    let pair = try Pair()
    let wanted = try Tool.listing(of: pair.native.path)
    try Tool.run(["import", "--native", pair.native.path], ends: 0)
    let mount = try Mount(pair.native.path, in: pair.scratch)
    #expect(try Tool.listing(of: mount.mountPoint) == wanted)
    // Out of the store again, into files that have none.
    for name in ["user.n", "user.text", "user.binary"] {
      try check(
        [
          "sh", "-c",
          "find . -path ./.sidecarfs -prune -o -exec setfattr -h -x \(name) {} + || true",
        ], in: pair.native.path)
    }
    #expect(try Tool.listing(of: pair.native.path) != wanted)
    try Tool.run(["export", "--native", pair.native.path], ends: 0)
    #expect(try Tool.listing(of: pair.native.path) == wanted)
    let refused = try Tool.run(["import", "--native", pair.source.path], ends: 8)
    #expect(refused.errorText.contains(pair.mount.mountPoint))
    try pair.mount.unmount()
    let none = try Tool.run(["import", "--native", pair.source.path], ends: 8)
    #expect(none.errorText.contains("no attributes of its own"))
  }

  @Test func aMountedStoreIsNotChanged() throws {
    let pair = try Pair()
    let refused = try Tool.run(
      ["import", pair.source.path], ends: 8, input: Array("# file: a\nuser.x=\"1\"\n".utf8))
    #expect(refused.errorText.contains(pair.mount.mountPoint))
    #expect(refused.errorText.contains("setfattr --restore"))
    // Over the mount setfattr does it.
    let dump = try pair.scratch.file("dump", "# file: plain\nuser.x=\"1\"\n")
    try check(["setfattr", "--restore", dump], in: pair.mount.mountPoint)
    #expect(
      try check(["getfattr", "-n", "user.x", "--only-values", "plain"], in: pair.mount.mountPoint)
        == "1")
  }

  @Test func nothingIsTakenOfABrokenDump() throws {
    let pair = try Pair()
    try pair.mount.unmount()
    let before = try Tool.run(["export", pair.source.path], ends: 0)
    for text in [
      "# file: a\nuser.x=\"1\"\n\n# file: plain\nuser.y=0xzz\n",
      "{\"path\":\"a\",\"attributes\":[{\"name\":\"user.x\",\"value\":\"MQ==\"}]}\n{\"path\":\n",
    ] {
      let outcome = try Tool.run(["import", pair.source.path], ends: 8, input: Array(text.utf8))
      #expect(outcome.errorText.contains("line "))
    }
    let after = try Tool.run(["export", pair.source.path], ends: 0)
    #expect(before.output == after.output)
  }

  @Test func aSignalUndoesAnImport() throws {
    let pair = try Pair()
    try pair.mount.unmount()
    let before = try Tool.run(["export", pair.source.path], ends: 0)
    let dump = pair.scratch.path("fifo")
    try call(mkfifo(dump, 0o600))
    let writing = try call(open(dump, O_RDWR | O_CLOEXEC))
    defer { close(writing) }
    let null = try call(open("/dev/null", O_RDWR | O_CLOEXEC))
    defer { close(null) }
    let text = Array("# file: a\nuser.x=\"1\"\n\n".utf8)
    try call(write(writing, text, text.count))
    let child = try Child(
      [try daemonBinary(), "import", pair.source.path, dump], files: [null, null, null])
    // It has read what there is.
    try waiting(for: "the import to begin") {
      var count: Int32 = 0
      return ioctl(writing, UInt(FIONREAD), &count) == 0 && count == 0 ? () : nil
    }
    let held = try Tool.run(["check", "--repair", pair.source.path], ends: 8)
    #expect(held.errorText.contains("sidecarfs import"))
    child.signal(SIGTERM)
    #expect(try child.wait(within: .seconds(20)) == 32)
    let after = try Tool.run(["export", pair.source.path], ends: 0)
    #expect(after.output == before.output)
  }

  @Test func whatDoesNotFitIsTold() throws {
    let pair = try Pair()
    try pair.mount.unmount()
    let text = """
      # file: missing
      user.x="1"

      # file: ../outside
      user.x="1"

      # file: link/inside
      user.x="1"

      # file: link
      user.x="1"

      # file: a
      system.posix_acl_access="1"
      user.x="kept"

      """
    let outcome = try Tool.run(
      ["import", "--json", pair.source.path], ends: 4, input: Array(text.utf8))
    for word in ["missing", "outside", "inside", "posix_acl"] {
      #expect(outcome.errorText.contains(word))
    }
    #expect(outcome.text == "{\"objects\":1,\"attributes\":1,\"missing\":3,\"refused\":2}\n")
  }
}
