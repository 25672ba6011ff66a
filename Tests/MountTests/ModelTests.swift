import Glibc
import TestSupport
import Testing

/// Random steps on the mount and on a native file system: every answer, every errno, and in the end
/// the whole tree and the store are as they have to be.
@Suite(.needsFuse, .needsLoop, .serialized) struct Model {
  static let plans: [ModelPlan] = [
    ModelPlan(source: .ramfs, seed: 1, steps: 2500),
    ModelPlan(source: .tmpfs, seed: 2, steps: 2500),
    ModelPlan(source: .ext4, seed: 3, steps: 2500, options: ["--cache", "always"]),
    ModelPlan(
      source: .ext4, seed: 4, steps: 1500, powers: .init(kill: 100), options: ["--cache", "never"]),
    ModelPlan(
      source: .tmpfs, seed: 5, steps: 1500, powers: .init(kill: 300, underneath: 20),
      options: ["--cache", "never"]),
    ModelPlan(source: .xfs, seed: 6, steps: 1000, powers: .init(kill: 200)),
  ]

  @Test(arguments: plans) func randomSteps(_ plan: ModelPlan) throws {
    try ModelRunner(plan).run(plan, within: .seconds(120))
    print("model: \(plan.steps) operations compared, \(plan)")
  }

  /// What `Scripts/soak` runs: as many steps as it is told, in runs of ten thousand.
  @Test(.enabled(if: getenv("SIDECARFS_SOAK") != nil, "run Scripts/soak"))
  func soak() throws {
    let seed = UInt64(setting("SEED") ?? "1") ?? 1
    let total = Int(setting("OPERATIONS") ?? "1000000") ?? 1_000_000
    let sources = setting("SOURCE").flatMap { SourceKind(rawValue: $0) }.map { [$0] }
    let kinds = sources ?? [.ramfs, .tmpfs, .ext4, .xfs]
    let caches = ["auto", "always", "never"]
    let started = ContinuousClock.now
    var done = 0
    var round: UInt64 = 0
    while done < total {
      let cache = caches[Int(round % 3)]
      var plan = ModelPlan(
        source: kinds[Int(round) % kinds.count], seed: seed &+ round,
        steps: min(10_000, total - done), options: ["--cache", cache])
      plan.powers.kill = round % 2 == 0 ? 0 : 400
      plan.powers.underneath = cache == "never" && round % 4 < 2 ? 30 : 0
      let base = done
      try ModelRunner(plan).run(plan, within: .seconds(120)) { steps in
        let rate = Double(base + steps) / max(0.001, (ContinuousClock.now - started) / .seconds(1))
        progress("\(base + steps) of \(total) operations, \(Int(rate)) a second, \(plan)")
      }
      done += plan.steps
      round += 1
    }
    progress("\(done) operations compared, 0 differences, \(ContinuousClock.now - started)\n")
  }

  private func setting(_ name: String) -> String? {
    getenv("SIDECARFS_SOAK_" + name).map { String(cString: $0) }
  }

  private func progress(_ line: String) {
    let text = isatty(2) == 1 ? "\r\u{1b}[K" + line : line + "\n"
    _ = Array(text.utf8).withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
  }
}
