import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Runs plans, and makes a run that failed short.
final class ModelRunner {
  private let scratch: Scratch
  private let source: Source
  private let native: Source

  init(_ plan: ModelPlan) throws {
    scratch = try Scratch()
    source = try Source(plan.source, in: scratch, named: "source")
    native = try Source(plan.native, in: scratch, named: "native")
  }

  /// Runs a plan to its end; throws a `ModelFailure`, made short, when the two sides differ.
  ///
  /// `limit` bounds every thousand steps; `progress` is called with the number of steps made.
  func run(
    _ plan: ModelPlan, within limit: Duration, progress: (Int) -> Void = { _ in }
  ) throws {
    var generator = ModelGenerator(seed: plan.seed, plan.powers)
    var made: [ModelAction] = []
    let failure = try failure(plan, within: limit) {
      guard made.count < plan.steps else { return nil }
      if made.count % 1000 == 0 { progress(made.count) }
      let action = generator.next()
      made.append(action)
      return action
    }
    guard let failure else { return }
    let script = shortened(made, plan, within: .seconds(60))
    throw ModelFailure(
      step: failure.step,
      what: """
        \(failure.what)
        \(plan)
        these \(script.count) of \(made.count) steps are enough:
        \(script.map { "  \($0)" }.joined(separator: "\n"))
        """)
  }

  /// Makes steps until there are no more, or the sides differ.
  private func failure(
    _ plan: ModelPlan, within limit: Duration, _ next: () -> ModelAction?
  ) throws -> ModelFailure? {
    let machine = try ModelMachine(plan, source, native: native, in: scratch)
    let watch = Watch(machine, limit)
    defer {
      watch.end()
      machine.clear()
    }
    do {
      while let action = next() {
        if machine.steps.count % 1000 == 0 { watch.begin() }
        try machine.make(action)
      }
      watch.begin()
      try machine.finish()
      return nil
    } catch let failure as ModelFailure {
      return failure
    } catch {
      return ModelFailure(step: machine.steps.count, what: "\(error)")
    }
  }

  /// Leaves out what is not needed for a failure: halves first, then smaller parts, each try in a
  /// fresh mount, until the time is up.
  private func shortened(
    _ steps: [ModelAction], _ plan: ModelPlan, within limit: Duration
  ) -> [ModelAction] {
    let deadline = ContinuousClock.now + limit
    var plan = plan
    // Differences are seen where they come about, as far as that is cheap.
    plan.interval = max(1, min(plan.interval, steps.count / 4))
    var steps = steps
    var part = steps.count / 2
    while part > 0 && ContinuousClock.now < deadline {
      var start = 0
      while start < steps.count && ContinuousClock.now < deadline {
        let candidate = Array(steps[..<start] + steps[min(start + part, steps.count)...])
        var rest = candidate[...]
        let found = try? failure(plan, within: .seconds(20)) { rest.popFirst() }
        if let found {
          steps = Array(candidate.prefix(max(found.step, 1)))
          plan.interval = max(1, min(plan.interval, steps.count / 4))
        } else {
          start += part
        }
      }
      part = min(part / 2, steps.count / 2)
    }
    return steps
  }
}

/// Ends a run that hangs, by killing its daemon.
private final class Watch: @unchecked Sendable {
  private struct State {
    var deadline: ContinuousClock.Instant?
    var isOver = false
  }
  private let state = Lock(State())
  private let limit: Duration

  init(_ machine: ModelMachine, _ limit: Duration) {
    self.limit = limit
    let state = state
    let giveUp = UnsafeSendable(machine.giveUp)
    detachedThread {
      while !state.withLock({ $0.isOver }) {
        usleep(100_000)
        let isLate = state.withLock { $0.deadline.map { $0 < .now } ?? false && !$0.isOver }
        if isLate { return giveUp.value() }
      }
    }
  }

  func begin() { state.withLock { $0.deadline = .now + limit } }
  func end() { state.withLock { $0.isOver = true } }
}

/// The machine's other thread only kills a process.
private struct UnsafeSendable: @unchecked Sendable {
  let value: () -> Void
  init(_ value: @escaping () -> Void) { self.value = value }
}
