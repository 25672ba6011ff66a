import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Every call that the daemon makes fails, once or for good: the caller is told, the old or the new
/// state stands, and the mount lives on.
@Suite(.needsFuse, .needsLoop, .serialized) struct Fault {
  static let runsAll = getenv("SIDECARFS_ALL") != nil
  static let errnos = [ENOSPC, EIO, EDQUOT, EMFILE, ENOMEM]

  @Test(arguments: Rehearsal.Site.allCases, [false, true])
  func everyCall(_ site: Rehearsal.Site, _ isLasting: Bool) throws {
    let stage = try FaultStage(cache: "never")
    // Every call with SIDECARFS_ALL, which takes minutes; otherwise some of all.
    let stride = Self.runsAll ? 1 : isLasting ? 29 : 5
    var call = 1
    var faults = 0
    var isComplete = false
    while !isComplete {
      try #require(call < 5000, "the scenario does not come to an end")
      let errnos = Self.runsAll ? Self.errnos : [Self.errnos[call % Self.errnos.count]]
      for code in errnos {
        let failures = try stage.run(site, call, code, isLasting)
        isComplete = failures == 0
        faults += failures
      }
      call += stride
      if call % 50 < stride { try stage.remount() }
    }
    try stage.finish()
    let manner = isLasting ? "for good" : "once"
    print("faults: \(site), \(manner): \(call - 1) calls, \(faults) faults")
    #expect(faults > 5)
  }
}

/// A mount whose daemon does as it is told, beside a native file system.
private final class FaultStage {
  private let scratch: Scratch
  private let control: RehearsalControl
  private let source: Source
  private let native: Source
  private let store: String
  private let mount: Mount
  private var runs = 0

  init(cache: String) throws {
    scratch = try Scratch()
    control = try RehearsalControl(in: scratch)
    source = try Source(.ext4, in: scratch)
    native = try Source(.ext4, in: scratch, named: "native")
    store = try scratch.directory("store")
    mount = try Mount(
      source.path, store: store, options: ["--cache", cache], environment: control.environment,
      in: scratch)
  }

  /// Runs the scenario with a call failing; how many did.
  func run(
    _ site: Rehearsal.Site, _ call: Int, _ code: Int32, _ isLasting: Bool
  ) throws -> Int {
    runs += 1
    let here = ModelSide("\(mount.mountPoint)/\(runs)")
    let there = ModelSide("\(native.path)/\(runs)")
    for side in [here, there] { try TestSupport.call(Glibc.mkdir(side.root, 0o755)) }
    defer {
      control.rest()
      for side in [here, there] {
        side.closeAll()
        removeTree(side.root)
      }
    }
    control.fail(site, call: call, with: Int(code), lasting: isLasting)
    var hasFailed = false
    var failures = 0
    for (number, action) in FaultScenario.steps.enumerated() {
      // After the first failure of those that last, every step meets one at its first call.
      if hasFailed && isLasting { control.fail(site, call: 1, with: Int(code), lasting: true) }
      let answer = here.perform(action)
      let failed = control.failures
      hasFailed = hasFailed || failed > 0
      if isLasting && hasFailed { control.rest() }
      failures += isLasting ? failed : 0
      let manner = isLasting ? "for good" : "once"
      let what = "\(site) \(call) \(errorName(code)) \(manner), step \(number)"
      try settle(answer, action, failed > 0, code, here, there, what)
      if mount.pid == 0 { throw ModelFailure(step: number, what: "the daemon died: \(what)") }
    }
    return isLasting ? failures : control.failures
  }

  /// Compares an answer, and the trees after a failure.
  private func settle(
    _ answer: String, _ action: ModelAction, _ mayFail: Bool, _ code: Int32, _ here: ModelSide,
    _ there: ModelSide, _ what: String
  ) throws {
    // SQLite does not tell more of its files' failures than that.
    let isKnown = what.hasPrefix("system") || code == ENOSPC || code == EDQUOT
    let told = [isKnown ? errorName(code) : "EIO"]
    let isTold = mayFail && told.contains { answer.contains($0) }
    if !isTold || action.isClose {
      let wanted = there.perform(action)
      if answer != wanted && !isTold {
        throw ModelFailure(step: runs, what: "\(what), \(action): \(answer), natively \(wanted)")
      }
    }
    guard mayFail else { return }
    let tree = ModelTree(here.root)
    let old = tree.differences(from: ModelTree(there.root))
    guard !old.isEmpty else { return }
    if isTold && !action.isClose {
      _ = there.perform(action)
      if tree.differences(from: ModelTree(there.root)).isEmpty { return }
    }
    throw ModelFailure(
      step: runs,
      what: "\(what), \(action): \(answer), neither old nor new:\n\(old.joined(separator: "\n"))")
  }

  func remount() throws { try mount.remount() }

  func finish() throws {
    try mount.remount()
    try mount.unmount()
    // Of names that went while the store failed, it could not be told.
    let found = try Tool.putInOrder(store, of: source.path)
    let wanted = try ExpectedState(source: source.path, model: native.path, kind: .ext4)
    let problems = try StoredState(store).problems(wanted, maySetAside: true)
    #expect(problems.isEmpty, "\(problems)\n\(found)")
  }
}

extension ModelAction {
  /// The descriptor is gone, whatever is answered.
  fileprivate var isClose: Bool {
    if case .close = self { true } else { false }
  }
}
