import Glibc
import LinuxSystem
import TestSupport
import Testing

/// A directory to make calls in: of a native file system, or of a mount over one.
struct Place: Sendable {
  let kind: SourceKind
  let isMount: Bool
  let path: String

  var name: String { isMount ? "mount over \(kind)" : "native \(kind)" }
}

/// The file systems that are compared, shared by all cases of a run.
final class ParityFixture: Sendable {
  /// Every native file system that some mount may be measured by, and the sources' kinds.
  let natives: [Place]
  let mounts: [Place]

  private let held: [any Sendable]
  private let tally = Lock(Tally())

  /// What a run has seen.
  struct Tally: Sendable {
    var cases = 0
    var calls = 0
    var compared = 0
    var nativesDiffer = 0
    var faults = 0
    var meant: [String: Int] = [:]
    var report: [String] = []
  }

  /// The fixture of the suite that runs.
  @TaskLocal static var current: ParityFixture?

  /// A mount takes no notice of devices and set-id bits unless told; the natives here do.
  /// `SIDECARFS_PARITY_OPTIONS` adds options, such as "--cache never".
  static let options =
    ["-o", "dev,suid"]
    + (getenv("SIDECARFS_PARITY_OPTIONS").map { String(cString: $0) } ?? "")
    .split(separator: " ").map(String.init)

  /// Mounts over every kind; `SIDECARFS_PARITY_MOUNTS` names fewer, such as "xfs", or "" for none.
  init() throws {
    var mounted = SourceKind.allCases
    if let names = getenv("SIDECARFS_PARITY_MOUNTS") {
      mounted = String(cString: names).split(separator: ",").compactMap {
        SourceKind(rawValue: String($0))
      }
    }
    // Declared before what is mounted in it: the last to go.
    let scratch = try Scratch()
    let oracles = SourceKind.allCases.filter { kind in
      [.tmpfs, .ext4, .xfs].contains(kind) || mounted.contains(kind)
    }
    let sources = try oracles.map { try Source($0, in: scratch, named: "native-\($0)") }
    let below = try mounted.map { try Source($0, in: scratch, named: "source-\($0)") }
    let daemons = try below.map {
      try Mount(
        $0.path, store: scratch.directory("store-\($0.kind)"), options: Self.options, in: scratch)
    }
    natives = sources.map { Place(kind: $0.kind, isMount: false, path: $0.path) }
    mounts = zip(below, daemons).map {
      Place(kind: $0.kind, isMount: true, path: $1.mountPoint)
    }
    held = [daemons, below, sources, scratch]
  }

  /// Makes the calls of a case in a directory of a place, fresh unless an earlier case of the name
  /// has said to `keep` it.
  ///
  /// Nil, with an issue recorded, when they do not come to an end.
  func transcript(
    of parityCase: ParityCase, in place: Place, keep: Bool = false
  ) async throws -> [String]? {
    let directory = "\(place.path)/\(parityCase.directory)"
    try check(["mkdir", "-p", "-m", "755", directory], timeout: .seconds(20))
    let calls = Calls()
    let inTime = await onIsolatedThread(in: directory, within: .seconds(60)) {
      parityCase.body(calls)
    }
    if !inTime {
      let last = calls.lines.last ?? "(none)"
      Issue.record("\(parityCase.name) hangs in \(place.name) after \(last)")
      return nil
    }
    if !keep { removeTree(directory) }
    return calls.lines
  }

  /// Changes the counts.
  func count(_ change: @Sendable (inout Tally) -> Void) { tally.withLock { change(&$0) } }

  /// Prints the counts; writes the differences to the file that `SIDECARFS_PARITY_REPORT` names.
  func finish() throws {
    let tally = tally.withLock { $0 }
    let meant = tally.meant.values.reduce(0, +)
    print(
      """
      parity: \(tally.cases) cases, \(tally.calls) calls on each of \(natives.count) native file \
      systems and \(mounts.count) mounts; \(tally.compared) answers of mounts compared, \
      \(tally.faults) wrong, \(meant) differ as meant; natives differ in \(tally.nativesDiffer) calls
      """)
    // A difference that is no more should leave the list; only a whole run can tell.
    if !mounts.isEmpty && tally.cases == ParityCase.all.count + 1 {
      for difference in meantDifferences where tally.meant[difference.reason] == nil {
        Issue.record("no answer differs any more because \(difference.reason)")
      }
    }
    if let path = getenv("SIDECARFS_PARITY_REPORT") {
      let text = tally.report.sorted().joined(separator: "\n") + "\n"
      try writeFile(String(cString: path), Array(text.utf8))
    }
  }
}

extension ParityCase {
  /// A name of letters and dashes.
  var directory: String {
    String(name.map { $0.isLetter || $0.isNumber ? $0 : "-" })
  }
}

/// Sets the fixture up around the suite and takes it down after the last case.
struct ParityScope: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    let fixture = try ParityFixture()
    try await ParityFixture.$current.withValue(fixture) { try await body() }
    try fixture.finish()
  }
}
