import Glibc
import TestSupport
import Testing

/// Everyday programs, and the test suites of others, over a mount of a ramfs: each is a script of
/// `Tests/Programs`, which passes on a native tmpfs and fails on a bare ramfs.
@Suite(.needsFuse, .serialized) struct ProgramTests {
  @Test(arguments: scripts(.quick))
  func behavesAsOnNativeFileSystem(_ name: String) throws {
    try run(name, within: .seconds(600))
  }

  @Test(
    .enabled(if: getenv("SIDECARFS_ALL") != nil, "takes minutes: Scripts/test --all"),
    arguments: scripts(.slow))
  func behavesAsOnNativeFileSystemForMinutes(_ name: String) throws {
    try run(name, within: .seconds(3000))
  }

  private enum Length { case quick, slow }

  private static let directory =
    #filePath.split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" } + "/Programs"

  private static func scripts(_ length: Length) -> [String] {
    entries(of: directory).filter { $0.hasSuffix(".sh") }.sorted().filter { name in
      let text = (try? readFile("\(directory)/\(name)")).map { String(decoding: $0, as: UTF8.self) }
      let isSlow = text?.split(separator: "\n").prefix(20).contains("# minutes") ?? false
      return isSlow == (length == .slow)
    }
  }

  private func run(_ name: String, within limit: Duration) throws {
    let scratch = try Scratch()
    let ramfs = try Source(.ramfs, in: scratch)
    let other = try Source(.tmpfs, in: scratch)
    // As mount(8) would: with devices and set-id bits, which some of the suites make.
    let mount = try Mount(ramfs.path, options: ["-o", "suid,dev"], in: scratch)
    let outcome = try TestSupport.run(
      ["\(Self.directory)/\(name)", mount.mountPoint, other.path], timeout: limit)
    #expect(outcome.status == 0, "\(outcome.errorText)\(outcome.text.suffix(4000))")
    try mount.unmount()
    #expect(mount.printed == "", "the daemon complained")
  }
}
