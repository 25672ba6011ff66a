import Glibc
import LinuxSystem
import TestSupport
import Testing

/// What a run of the model test is made of, besides its seed.
struct ModelPlan: Sendable, CustomStringConvertible {
  var source: SourceKind
  var seed: UInt64
  var steps: Int
  var powers = ModelGenerator.Powers()
  var options: [String] = []
  /// The trees are compared after so many steps.
  var interval = 500

  var description: String { "\(source), seed \(seed), \(options.joined(separator: " "))" }

  /// Kinds of file systems with attributes of their own whose other answers are those of the source.
  var native: SourceKind { source == .ramfs || source == .tmpfs ? .tmpfs : .xfs }
}

/// The first step after which the mount was not what the native file system was.
struct ModelFailure: Error, CustomStringConvertible {
  let step: Int
  let what: String
  var description: String { "step \(step): \(what)" }
}

/// The mount, the native file system, and what was done to both.
final class ModelMachine {
  let plan: ModelPlan
  private(set) var steps: [ModelAction] = []
  private let mount: Mount
  private let source: Source
  private let store: String
  private let here: ModelSide
  private let there: ModelSide
  private let below: ModelSide
  private let native: String
  private var isChangedUnderneath = false
  private(set) var kills = 0

  /// Fresh directories, a fresh store and a mount, on file systems that runs share.
  init(
    _ plan: ModelPlan, _ source: Source, native: Source, in scratch: Scratch
  ) throws {
    self.plan = plan
    self.source = source
    let number = Self.count.withLock { count in
      count += 1
      return count
    }
    let place = "run-\(number)"
    let shown = source.path + "/" + place
    self.native = native.path + "/" + place
    for directory in [shown, self.native] { try call(mkdir(directory, 0o755)) }
    store = try scratch.directory("store-" + place)
    mount = try Mount(shown, store: store, options: plan.options, in: scratch)
    here = ModelSide(mount.mountPoint)
    there = ModelSide(self.native)
    below = ModelSide(shown)
  }

  private static let count = Lock(0)

  /// Makes a step on both sides; throws a `ModelFailure` when they differ.
  func make(_ action: ModelAction) throws {
    steps.append(action)
    switch action {
    case .remount, .kill:
      // A file without a name would outlive the daemon natively.
      for slot in here.nameless + there.nameless {
        try same(here.perform(.close(slot)), there.perform(.close(slot)), action)
      }
      if action == .kill {
        try mount.kill()
        kills += 1
      }
      here.closeAll()
      there.closeAll()
      try mount.remount()
      try compareTrees()
    case .underneath:
      isChangedUnderneath = true
      try same(below.perform(action), there.perform(action), action)
    default:
      try same(performHere(action), there.perform(action), action)
    }
    if steps.count % plan.interval == 0 { try compareTrees() }
  }

  /// A directory that was moved underneath, and that rename(2) is the first to meet under its new name,
  /// the kernel cannot move while it holds the locks of a rename: `ESTALE`, until it is met otherwise
  /// (`d_splice_alias` in fs/dcache.c; NFS has the same).
  private func performHere(_ action: ModelAction) -> String {
    let answer = here.perform(action)
    guard answer == "ESTALE", isChangedUnderneath, case .rename(let old, let new, _) = action else {
      return answer
    }
    for path in [old, new] { _ = here.perform(.names(path)) }
    return here.perform(action)
  }

  private func same(_ mine: String, _ natively: String, _ action: ModelAction) throws {
    guard mine != natively else { return }
    throw ModelFailure(
      step: steps.count, what: "\(action): \(mine), natively \(natively)\(lastWords)")
  }

  private var lastWords: String { mount.pid == 0 ? "\n\(mount.printed)" : "" }

  func compareTrees() throws {
    let differences = ModelTree(here.root).differences(from: ModelTree(there.root))
    guard differences.isEmpty else {
      throw ModelFailure(
        step: steps.count, what: differences.joined(separator: "\n") + lastWords)
    }
  }

  /// Compares once more, ends the daemon in good order, and looks into the store: it has to hold
  /// the attributes of what lives, and of nothing else.
  func finish() throws {
    try compareTrees()
    here.closeAll()
    there.closeAll()
    try mount.unmount()
    if !mount.printed.isEmpty {
      throw ModelFailure(step: steps.count, what: "the daemon says: \(mount.printed)")
    }
    // What was changed underneath, nobody has told the store, and a check has to put in order.
    if isChangedUnderneath { _ = try Tool.putInOrder(store, of: below.root) }
    let wanted = try ExpectedState(source: below.root, model: native, kind: source.kind)
    let problems = try StoredState(store).problems(wanted, maySetAside: isChangedUnderneath)
    guard problems.isEmpty else {
      throw ModelFailure(step: steps.count, what: problems.joined(separator: "\n"))
    }
  }

  /// Kills the daemon, so that a call that hangs returns.
  func giveUp() { try? mount.kill() }

  /// Takes everything away.
  func clear() {
    here.closeAll()
    there.closeAll()
    if mount.isMounted { try? mount.kill() }
    removeTree(below.root)
    removeTree(native)
    removeTree(store)
  }
}

extension StoredState {
  /// What is missing, wrong, or too much. Records of dead objects may have been set aside where the
  /// store could not be told of their end.
  func problems(_ wanted: ExpectedState, maySetAside: Bool = false) -> [String] {
    var found: [String] = []
    for (key, attributes) in wanted.attributes where objects[key] != attributes {
      found.append("the store has not the attributes of \(wanted.living[key] ?? "?")")
    }
    for (key, attributes) in objects where wanted.attributes[key] == nil {
      if let path = wanted.living[key] {
        if !attributes.isEmpty { found.append("the store has attributes of \(path)") }
      } else {
        found.append("the store knows a dead object \(key)")
      }
    }
    let wrong = entries.subtracting(wanted.entries)
    if !wrong.isEmpty { found.append("the store has \(wrong.count) names that are not so") }
    if !orphans.isEmpty { found.append("the store has \(orphans.count) orphans") }
    if quarantined != 0, !maySetAside { found.append("\(quarantined) records are set aside") }
    return found
  }
}
