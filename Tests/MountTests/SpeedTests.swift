import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// The benchmark: that it measures what it can, and looks at what it gets. What the numbers are is
/// not tested.
@Suite(.needsFuse, .timeLimit(.minutes(5))) struct SpeedTests {
  @Test func everyOperationIsMeasuredWhereItCanBe() throws {
    let scratch = try Scratch()
    let native = try mountSource(.tmpfs, in: scratch)
    let bare = try mountSource(.ramfs, in: scratch)
    let source = try Source(.tmpfs, in: scratch, named: "source")
    defer { withExtendedLifetime(source) {} }
    let mount = try Mount(source.path, store: scratch.path("store"), in: scratch)
    let floor = try Floor(in: scratch)
    let (table, chart) = (scratch.path("table"), scratch.path("chart"))
    let outcome = try run(
      [
        try daemonBinary(named: "mount-speed"), "--repetitions", "2", "--calls", "20",
        "--clients", "1,2", "--tsv", table, "--svg", chart, "native=\(native.path)",
        "native-again=\(native.path)", "bare=\(bare.path)", "floor=\(floor.path)",
        "sidecarfs=\(mount.mountPoint)",
      ], timeout: .seconds(240))
    #expect(outcome.status == 0, "\(outcome.errorText)")

    let rows = String(decoding: try readFile(table), as: UTF8.self).split(separator: "\n")
      .dropFirst().map { $0.split(separator: "\t").map { String($0) } }
    let all = try operations()
    // A file that cannot be opened has its attributes and its status.
    let attributes = all.filter { $0.contains("xattr") && !$0.contains("walk") }
    let onOneFile =
      attributes.filter { $0 != "setxattr on new files" && $0 != "setxattr, fsync" } + ["stat hot"]
    let expected = [
      "native": all, "native-again": all, "sidecarfs": all, "floor": onOneFile,
      "bare": all.filter { !$0.contains("xattr") },
    ]
    for clients in ["1", "2"] {
      for (directory, operations) in expected {
        let measured = rows.filter { $0[1] == clients && $0[2] == directory }.map { $0[0] }
        #expect(measured.sorted() == operations.sorted(), "\(directory), \(clients) clients")
      }
    }
    for row in rows {
      #expect(Double(row[7]).map { $0 > 0 } == true && row[8] == "2", "\(row)")
      let toFloor = onOneFile.contains(row[0]) && row[0] != "stat hot"
      #expect(row[3] == (toFloor && row[2] != "bare" ? "floor" : "native"), "\(row)")
    }
    #expect(outcome.text.contains("control native-again to native: median"))
    // A reader that knows nothing of this takes the chart for what it is.
    try check(["python3", "-c", "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])", chart])
    // Nothing of it stays.
    for place in [native.path, bare.path] { #expect(entries(of: place).isEmpty, "\(place)") }
    #expect(entries(of: mount.mountPoint).isEmpty)
    try mount.unmount()
    try floor.end()
  }

  /// Of the operations whose answers are values, and of those that see by a value what they did.
  @Test(arguments: ["getxattr 64 B", "getxattr 60 KiB", "probe*", "setxattr replace"])
  func aWrongValueEndsIt(_ operation: String) throws {
    let scratch = try Scratch()
    let floor = try Floor(["--wrong"], in: scratch)
    let outcome = try run([
      try daemonBinary(named: "mount-speed"), "--repetitions", "2", "--calls", "5",
      "--operations", operation, "floor=\(floor.path)",
    ])
    #expect(outcome.status == 1, "\(outcome.text)")
    #expect(outcome.errorText.contains("floor: "), "\(outcome.errorText)")
    try floor.end()
  }

  @Test(arguments: [
    [], ["directory"], ["a=/tmp", "a=/tmp"], ["--clients", "0", "a=/tmp"], ["--calls"],
    ["--operations", "no such", "a=/tmp"], ["--reference", "b", "a=/tmp"], ["--no-such", "a=/tmp"],
  ]) func nonsenseIsRefused(_ words: [String]) throws {
    let outcome = try run([try daemonBinary(named: "mount-speed")] + words)
    #expect(outcome.status == 2, "\(outcome.errorText)")
  }

  private func operations() throws -> [String] {
    try check([try daemonBinary(named: "mount-speed"), "--list"]).split(separator: "\n")
      .map { String($0) }
  }
}

/// A running floor-server; unmounted with its owner.
private final class Floor {
  let path: String
  private let child: Child

  init(_ options: [String] = [], in scratch: Scratch) throws {
    let path = try scratch.directory("floor")
    let null = try call(open("/dev/null", O_RDWR | O_CLOEXEC))
    defer { close(null) }
    let child = try Child(
      [try daemonBinary(named: "floor-server")] + options + [path], files: [null, null, null])
    try waiting(for: "the floor") { () throws -> Void? in
      if child.poll() != nil { throw Errno.notConnected }
      return access("\(path)/file", F_OK) == 0 ? () : nil
    }
    self.path = path
    self.child = child
  }

  deinit { unmount(path) }

  /// Unmounts it; it has to end well.
  func end() throws {
    #expect(unmount(path))
    #expect(try child.wait(within: .seconds(10)) == 0)
  }
}
