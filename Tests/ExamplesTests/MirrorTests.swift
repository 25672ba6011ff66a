import ClientTestSupport
import ExtendedAttributes
import Foundation
import TestSupport
import Testing

/// mirror, the program itself, against a server of the test.
@Suite(.serialized, .needsFuse, .needsLoop, .timeLimit(.minutes(5))) struct MirrorTests {
  private func mirror(_ arguments: String...) throws -> Outcome {
    try run([try siblingBinary("mirror")] + arguments)
  }

  /// All files below a directory with their contents.
  private func tree(_ path: String) throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
      var isDirectory: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: path + "/" + name, isDirectory: &isDirectory)
      files[name] =
        isDirectory.boolValue ? Data() : FileManager.default.contents(atPath: path + "/" + name)
    }
    return files
  }

  @Test func itExplainsItself() throws {
    let help = try mirror("--help")
    #expect(help.status == 0)
    #expect(help.text.hasPrefix("usage: mirror"))
    for wrong in [[], ["http://a/"], ["--nonsense", "http://a/", "b"], ["ftp://a/", "b"]] {
      let outcome = try run([try siblingBinary("mirror")] + wrong)
      #expect(outcome.status == 2, "\(wrong)")
      #expect(outcome.errorText.contains("usage: mirror"))
    }
  }

  @Test(arguments: PlaceKind.allCases)
  func onlyWhatChangedIsTransferred(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let server = try WebServer()
    let names = ["a.txt", "b & c.txt", "é%41.bin", "sub/d", "sub/deep/e", "sub/empty"]
    for (index, name) in names.enumerated() {
      let size = name.hasSuffix("empty") ? 0 : 10_000 * index + 1
      try server.file(name, noise(size, seed: UInt64(index)))
    }
    let copy = place.path + "/copy"
    let first = try mirror(server.url, copy)
    #expect(first.status == 0, "\(first.errorText)")
    #expect(first.text == "6 transferred, 0 unchanged, 0 removed\n")
    #expect(first.errorText == "")
    #expect(try tree(copy) == tree(server.root))
    let file = URL(fileURLWithPath: copy + "/a.txt")
    let kept = try file.extendedAttributes.names().map(\.description).sorted()
    #expect(kept == ["mirror.etag", "mirror.last-modified", "mirror.stamp"])

    // After a remount: not a byte of content.
    try place.remount()
    _ = try server.requests()
    let second = try mirror(server.url, copy)
    #expect(second.text == "0 transferred, 6 unchanged, 0 removed\n", "\(second.errorText)")
    let requests = try server.requests().filter { !$0.path.hasSuffix("/") }
    #expect(requests.map(\.status) == [Int](repeating: 304, count: 6))

    // Changed there; changed here; removed here; new.
    try server.file("a.txt", noise(77, seed: 20))
    try Data("mine".utf8).write(to: URL(fileURLWithPath: copy + "/sub/d"))
    try FileManager.default.removeItem(atPath: copy + "/sub/deep/e")
    try server.file("new", noise(5, seed: 21))
    let third = try mirror(server.url, copy)
    #expect(third.text == "4 transferred, 3 unchanged, 0 removed\n", "\(third.errorText)")
    #expect(try tree(copy) == tree(server.root))

    // Gone there; a file of one's own stays.
    try FileManager.default.removeItem(atPath: server.root + "/sub")
    try FileManager.default.removeItem(atPath: server.root + "/new")
    try Data("own".utf8).write(to: URL(fileURLWithPath: copy + "/own"))
    #expect(try mirror(server.url, copy).text == "0 transferred, 3 unchanged, 0 removed\n")
    let last = try mirror("--delete", server.url, copy)
    #expect(last.text == "0 transferred, 3 unchanged, 4 removed\n", "\(last.errorText)")
    var expected = try tree(server.root)
    expected["own"] = Data("own".utf8)
    #expect(try tree(copy) == expected)
  }

  @Test(arguments: ["strong", "weak", "none"])
  func whateverTheServerKnowsFilesBy(_ tag: String) throws {
    let place = try Place(.tmpfs)
    let server = try WebServer()
    try server.file("a", noise(1000, seed: 1))
    try server.behave(.init(etag: tag))
    #expect(try mirror(server.url, place.path).text == "1 transferred, 0 unchanged, 0 removed\n")
    #expect(try mirror(server.url, place.path).text == "0 transferred, 1 unchanged, 0 removed\n")
  }

  @Test func aListingLeadsNowhereElse() throws {
    let place = try Place(.tmpfs)
    let server = try WebServer()
    try server.file("sub/fine", noise(10, seed: 1))
    try server.file("outside", noise(10, seed: 2))
    let page = """
      <a href="../outside">up</a> <a href='/outside'>root</a> <a href="%2e%2e%2foutside">hidden</a>
      <a href="http://example.invalid/x">far</a> <a href="?C=M;O=A">sort</a> <a href="fine">fine</a>
      <a href="a%00b">nul</a> <a href="..">up</a> <A HREF="./fine">again</A> <a href="%2e%2e/">up</a>
      """
    try server.file("sub/index.html", Data(page.utf8))
    let copy = place.path + "/copy"
    let outcome = try mirror(server.url + "sub/", copy)
    #expect(outcome.text == "1 transferred, 0 unchanged, 0 removed\n", "\(outcome.errorText)")
    #expect(try tree(place.path).keys.sorted() == ["copy", "copy/fine"])
  }

  /// Killed in the middle, the copies that have a name are whole, and the next run clears up.
  @Test(arguments: PlaceKind.allCases)
  func killedItLeavesWholeFilesOnly(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let server = try WebServer()
    for index in 0..<8 { try server.file("f\(index)", noise(200_000, seed: UInt64(index))) }
    try server.behave(.init(rate: 4 << 20))
    let nothing = try FileHandle(forUpdating: URL(fileURLWithPath: "/dev/null"))
    let files = [Int32](repeating: nothing.fileDescriptor, count: 3)
    var random = Random(seed: 11)
    let copy = place.path + "/copy"
    for _ in 0..<5 {
      let child = try Child([try siblingBinary("mirror"), server.url, copy], files: files)
      let moment = ContinuousClock.now + .milliseconds(Int.random(in: 1...400, using: &random))
      try waiting(for: "the moment") {
        child.poll() != nil || ContinuousClock.now > moment ? () : nil
      }
      child.signal(SIGKILL)
      try child.wait(within: .seconds(10))
      for (name, content) in (try? tree(copy)) ?? [:] where !name.hasPrefix(".") {
        #expect(try content == Data(contentsOf: URL(fileURLWithPath: server.root + "/" + name)))
      }
    }
    try server.behave()
    let outcome = try mirror(server.url, copy)
    #expect(outcome.status == 0, "\(outcome.errorText)")
    #expect(try tree(copy) == tree(server.root))
  }

  @Test func failuresAreTold() throws {
    let scratch = try Scratch()
    let place = try Place(.tmpfs)
    let server = try WebServer()
    try server.file("a", noise(100_000, seed: 1))
    try server.file("b", noise(10, seed: 2))
    let ramfs = try Source(.ramfs, in: scratch)
    let unsupported = try mirror(server.url, ramfs.path)
    #expect(unsupported.status == 3)
    #expect(unsupported.errorText.contains("extended attributes are not supported here"))
    #expect(try server.requests().isEmpty)
    // One file that fails does not keep the other.
    try server.behave(.init(cut: 50_000))
    let partial = try mirror(server.url, place.path)
    #expect(partial.status == 1)
    #expect(partial.text == "1 transferred, 0 unchanged, 0 removed, 1 failed\n")
    #expect(try tree(place.path).keys.sorted() == ["b"])
    try server.behave(.init(status: 500))
    #expect(try mirror(server.url, place.path).status == 1)
  }

  @Test func aTerminalShowsABar() throws {
    let place = try Place(.tmpfs)
    let server = try WebServer()
    try server.file("a", noise(1000, seed: 1))
    let words = [try siblingBinary("mirror"), server.url, place.path].joined(separator: " ")
    #expect(try check(["script", "-qec", words, "/dev/null"]).contains("] 100 %"))
    #expect(try check(["script", "-qec", words + " --quiet", "/dev/null"]) == "")
  }
}
