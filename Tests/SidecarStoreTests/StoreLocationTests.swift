import Foundation
import LinuxSystem
import SidecarStore
import Testing

@Suite struct StoreLocationTests {
  struct Case: Sendable {
    var option: String?
    var isLocal = true
    var isWritable = true
    var uid: UInt32 = 1000
    var stateHome: String?
    var home: String? = "/home/u"
    var expected: StoreLocation?
  }

  static let cases = [
    Case(expected: .inSource),
    Case(uid: 0, expected: .inSource),
    Case(option: "/x/y", expected: .path(FileName("/x/y"))),
    Case(option: "rel", isLocal: false, home: nil, expected: .path(FileName("rel"))),
    Case(isLocal: false, expected: .path(FileName("/home/u/.local/state/sidecarfs/00ff10"))),
    Case(isWritable: false, expected: .path(FileName("/home/u/.local/state/sidecarfs/00ff10"))),
    Case(
      isLocal: false, stateHome: "/state",
      expected: .path(FileName("/state/sidecarfs/00ff10"))),
    Case(
      isLocal: false, stateHome: "state/",
      expected: .path(FileName("/home/u/.local/state/sidecarfs/00ff10"))),
    Case(
      isLocal: false, uid: 0, stateHome: "/state",
      expected: .path(FileName("/var/lib/sidecarfs/00ff10"))),
    Case(isLocal: false, home: nil, expected: nil),
    Case(isLocal: false, home: "", expected: nil),
  ]

  @Test(arguments: cases) func choice(_ given: Case) throws {
    func choose() throws(StoreError) -> StoreLocation {
      try StoreLocation.choose(
        override: given.option.map { FileName($0) },
        source: .init(
          isLocal: given.isLocal, isWritable: given.isWritable, identity: [0, 255, 16]),
        user: .init(
          uid: given.uid, stateHome: given.stateHome.map { FileName($0) },
          home: given.home.map { FileName($0) }))
    }
    if let expected = given.expected {
      #expect(try choose() == expected)
    } else {
      #expect(throws: StoreError.self) { try choose() }
    }
  }

  @Test func missingDirectoriesAreMadeForTheirOwnerOnly() throws {
    let directory = try TemporaryDirectory()
    let source = try directory.open()
    for location in [
      StoreLocation.inSource, .path(FileName("\(directory.path)/a/b/c")),
      .path(FileName("\(directory.path)//d/")),
    ] {
      for _ in 0..<2 {
        let opened = try location.open(source: source, named: FileName(directory.path))
        #expect(try opened.status().mode & 0o7777 == 0o700)
      }
    }
    for name in [".sidecarfs", "a", "a/b", "a/b/c", "d"] {
      #expect(access("\(directory.path)/\(name)", F_OK) == 0, "\(name)")
    }
    #expect(
      StoreLocation.inSource.path(in: FileName("/src")).description == "/src/.sidecarfs")
  }

  @Test func aLinkInASourceIsNotFollowed() throws {
    let directory = try TemporaryDirectory()
    symlink("/tmp", "\(directory.path)/.sidecarfs")
    let error = #expect(throws: StoreError.self) {
      _ = try StoreLocation.inSource.open(source: directory.open(), named: FileName(directory.path))
    }
    #expect(error?.reason == .unreachable(.notDirectory))
  }
}
