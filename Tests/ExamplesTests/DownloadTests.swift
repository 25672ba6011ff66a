import ClientTestSupport
import ExtendedAttributes
import Foundation
import TestSupport
import Testing

/// resumable-download, the program itself, against a server of the test.
@Suite(.serialized, .needsFuse, .needsLoop, .timeLimit(.minutes(5))) struct DownloadTests {
  private func download(_ arguments: String...) throws -> Outcome {
    try run([try siblingBinary("resumable-download")] + arguments)
  }

  @Test func itExplainsItself() throws {
    let help = try download("--help")
    #expect(help.status == 0)
    #expect(help.text.hasPrefix("usage: resumable-download"))
    for wrong in [
      [], ["--nonsense", "http://a/b"], ["ftp://a/b"], ["http://a/"], ["a", "b", "c"],
    ] {
      let outcome = try run([try siblingBinary("resumable-download")] + wrong)
      #expect(outcome.status == 2, "\(wrong)")
      #expect(outcome.errorText.contains("usage: resumable-download"))
    }
  }

  @Test(arguments: PlaceKind.allCases)
  func aWholeFileArrivesAndKnowsWhereItCameFrom(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let server = try WebServer()
    for (name, size) in [("empty", 0), ("small", 10), ("large", 20 << 20)] {
      let content = noise(size, seed: 1)
      try server.file(name, content)
      let file = place.url(name)
      let outcome = try download(server.url + name, file.path)
      #expect(outcome.status == 0, "\(outcome.errorText)")
      #expect(try Data(contentsOf: file) == content)
      #expect(try file.extendedAttributes[.whereFroms] == [server.url + name])
      #expect(try file.extendedAttributes.names().count == 1)
      #expect(!FileManager.default.fileExists(atPath: file.path + ".part"))
      // Not a terminal: no bar.
      #expect(outcome.errorText == "")
      #expect(!outcome.text.contains("["))
    }
  }

  /// Killed again and again at moments that a seed chooses, and unmounted in between.
  @Test(arguments: PlaceKind.allCases, [UInt64(1), 2])
  func killedAtAnyPointItGoesOn(_ kind: PlaceKind, _ seed: UInt64) throws {
    let place = try Place(kind)
    let server = try WebServer()
    let content = noise(6 << 20, seed: seed)
    try server.file("file", content)
    try server.behave(.init(rate: 3 << 20))
    let file = place.url("file")
    let part = URL(fileURLWithPath: file.path + ".part")
    var random = Random(seed: seed)
    var kills = 0
    var isDone = false
    // Where each run had to begin, as a Range field; the first ones at the beginning, without one.
    var beginnings: [String?] = []
    let nothing = try FileHandle(forUpdating: URL(fileURLWithPath: "/dev/null"))
    let files = [Int32](repeating: nothing.fileDescriptor, count: 3)
    while !isDone, kills < 60 {
      let received = try? part.extendedAttributes.value(
        Int64.self, for: "download.received", as: .decimal)
      beginnings.append(received.flatMap { $0 > 0 ? "bytes=\($0)-" : nil })
      let child = try Child(
        [try siblingBinary("resumable-download"), server.url + "file", file.path], files: files)
      let moment = ContinuousClock.now + .milliseconds(Int.random(in: 1...600, using: &random))
      let status = try waiting(for: "the end or the moment") { () -> Int32?? in
        if let status = child.poll() { return .some(status) }
        return ContinuousClock.now > moment ? .some(nil) : nil
      }
      if status == nil {
        child.signal(SIGKILL)
        kills += 1
        try child.wait(within: .seconds(10))
      } else {
        #expect(status == .some(0))
        isDone = true
      }
      if kills % 3 == 2 { try place.remount() }
    }
    #expect(isDone, "\(kills) kills")
    #expect(kills >= 3)
    #expect(try Data(contentsOf: file) == content)
    // Each request was for just what was missing when its run began. A run killed early made none.
    var left = beginnings[...]
    for request in try server.requests() {
      let index = left.firstIndex(of: request.range)
      #expect(index != nil, "\(request) of \(beginnings)")
      if let index { left = left[(index + 1)...] }
    }
    // A killed download leaves in the sockets what was on its way; more would be a new beginning.
    let sent = server.sent()
    #expect(sent < content.count + kills << 20, "\(sent), \(kills) kills")
    try place.remount()
    #expect(try Data(contentsOf: file) == content)
    #expect(try file.extendedAttributes[.whereFroms] == [server.url + "file"])
  }

  @Test(arguments: PlaceKind.allCases, ["strong", "weak", "none"])
  func aCutConnectionIsAFailureThatGoesOn(_ kind: PlaceKind, _ tag: String) throws {
    let place = try Place(kind)
    let server = try WebServer()
    let content = noise(500_000, seed: 3)
    try server.file("file", content)
    let file = place.url("file")
    try server.behave(.init(cut: 200_000, etag: tag))
    let first = try download(server.url + "file", file.path)
    #expect(first.status == 1)
    #expect(first.errorText.hasPrefix("resumable-download: "))
    let attributes = URL(fileURLWithPath: file.path + ".part").extendedAttributes
    #expect(try attributes.string(for: "download.received") == "200000")
    #expect(try attributes.string(for: "download.expected") == "500000")
    try place.remount()
    _ = try server.requests()
    try server.behave(.init(etag: tag))
    let second = try download(server.url + "file", file.path)
    #expect(second.status == 0, "\(second.errorText)")
    #expect(second.text.contains("going on at byte 200000"))
    #expect(try server.requests().map(\.sent) == [300_000])
    #expect(try Data(contentsOf: file) == content)
  }

  @Test(arguments: PlaceKind.allCases)
  func aChangedFileIsNoticed(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let server = try WebServer()
    let file = place.url("file")
    let part = URL(fileURLWithPath: file.path + ".part")
    // Of the same length, longer, and shorter than what has arrived.
    for (length, seed) in [(500_000, 5), (600_000, 6), (100_000, 7)] {
      try server.file("file", noise(500_000, seed: 4))
      try server.behave(.init(cut: 200_000))
      #expect(try download(server.url + "file", file.path).status == 1)
      let content = noise(length, seed: UInt64(seed))
      try server.file("file", content)
      try server.behave()
      let kept = try download("--keep", server.url + "file", file.path)
      #expect(kept.status == 4)
      #expect(try Data(contentsOf: part) == noise(500_000, seed: 4).prefix(200_000))
      #expect(try part.extendedAttributes.string(for: "download.received") == "200000")
      let outcome = try download(server.url + "file", file.path)
      #expect(outcome.status == 0, "\(outcome.errorText)")
      #expect(outcome.text.contains("the file on the server has changed: starting anew"))
      #expect(try Data(contentsOf: file) == content)
    }
  }

  @Test func aServerThatCannotContinueIsStartedAnew() throws {
    let place = try Place(.tmpfs)
    let server = try WebServer()
    let content = noise(500_000, seed: 8)
    try server.file("file", content)
    let file = place.url("file")
    // Without ranges; without anything to know the file by.
    for control in [
      WebServer.Control(ranges: false), .init(etag: "none", date: false),
    ] {
      var cut = control
      cut.cut = 200_000
      try server.behave(cut)
      #expect(try download(server.url + "file", file.path).status == 1)
      try server.behave(control)
      _ = try server.requests()
      let outcome = try download(server.url + "file", file.path)
      #expect(outcome.status == 0, "\(outcome.errorText)")
      #expect(try server.requests().map(\.sent) == [500_000])
      #expect(try Data(contentsOf: file) == content)
    }
  }

  @Test func failuresAreTold() throws {
    let scratch = try Scratch()
    let place = try Place(.tmpfs)
    let server = try WebServer()
    try server.file("file", noise(1000, seed: 9))
    // A file system without attributes: nothing is transferred, nothing left.
    let ramfs = try Source(.ramfs, in: scratch)
    let unsupported = try download(server.url + "file", ramfs.path + "/file")
    #expect(unsupported.status == 3)
    #expect(unsupported.errorText.contains("extended attributes are not supported here"))
    #expect(unsupported.errorText.contains("sidecarfs"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: ramfs.path).isEmpty)
    #expect(try server.requests().isEmpty)
    let missing = try download(server.url + "none", place.path + "/none")
    #expect(missing.status == 1)
    #expect(missing.errorText.contains("the server says 404"))
    #expect(try download(server.url + "file", place.path + "/no/file").status == 1)
    try server.behave(.init(status: 503))
    #expect(try download(server.url + "file", place.path + "/file").status == 1)
  }

  /// A network that is faster than the disk does not fill the memory.
  @Test func aLargeFileTakesLittleMemory() throws {
    let place = try Place(.tmpfs)
    let server = try WebServer()
    let length = 200 << 20
    try server.file("file", Data())
    try #require(truncate(server.root + "/file", length) == 0)
    let program = """
      import resource, subprocess, sys
      subprocess.run(sys.argv[1:], check=True)
      print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
      """
    let printed = try python(
      program, try siblingBinary("resumable-download"), "--quiet", server.url + "file",
      place.path + "/file")
    let kilobytes = try #require(Int(printed.trimmingCharacters(in: .whitespacesAndNewlines)))
    #expect(kilobytes < 120_000)
    #expect(
      try FileManager.default.attributesOfItem(atPath: place.path + "/file")[.size] as? Int
        == length)
  }

  @Test func aTerminalShowsABar() throws {
    let place = try Place(.tmpfs)
    let server = try WebServer()
    try server.file("file", noise(1 << 20, seed: 10))
    let program = try siblingBinary("resumable-download")
    let words = [program, server.url + "file", place.path + "/file"].joined(separator: " ")
    let shown = try check(["script", "-qec", words, "/dev/null"])
    #expect(shown.contains("[###"))
    #expect(shown.contains("] 100 %"))
    let quiet = try check(["script", "-qec", words + " --quiet", "/dev/null"])
    #expect(quiet == "")
  }
}
