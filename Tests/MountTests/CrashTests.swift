import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// The daemon is killed, and another takes its place: what was acknowledged is there, on the right
/// files, and nothing is half done.
@Suite(.needsFuse, .needsLoop, .serialized) struct Crash {
  static let runsAll = getenv("SIDECARFS_ALL") != nil

  /// SIGKILL at random moments, under three writers at once.
  @Test(arguments: [SourceKind.ext4, .tmpfs, .ramfs]) func atRandom(_ kind: SourceKind) throws {
    let rounds = Self.runsAll ? 150 : 15
    var random = ModelRandom(seed: 77)
    let stage = try CrashStage(kind, writers: 3, seed: 7)
    for round in 0..<rounds {
      let pause = UInt32(random.below(60_000))
      try stage.crash("round \(round)") { usleep(pause) }
    }
    try stage.finish(kills: rounds)
  }

  /// SIGKILL at every named step, for the first time and later.
  @Test(arguments: Rehearsal.Step.allCases.filter { ![.announced, .settled].contains($0) })
  func atStep(_ step: Rehearsal.Step) throws {
    try kill(at: step, CrashStage(.ext4, writers: 2, seed: UInt64(step.rawValue)))
  }

  /// The same where objects are known by name, and changes of names are announced.
  @Test(arguments: Rehearsal.Step.allCases, [SourceKind.tmpfs, .ramfs])
  func atStepByName(_ step: Rehearsal.Step, _ kind: SourceKind) throws {
    let seed = UInt64(step.rawValue + 100)
    try kill(at: step, CrashStage(kind, writers: 2, seed: seed, identity: "path"))
  }

  /// SIGKILL at random moments where objects are known by name.
  @Test func atRandomByName() throws {
    let rounds = Self.runsAll ? 150 : 15
    var random = ModelRandom(seed: 78)
    let stage = try CrashStage(.tmpfs, writers: 3, seed: 8, identity: "path")
    for round in 0..<rounds {
      let pause = UInt32(random.below(60_000))
      try stage.crash("round \(round)") { usleep(pause) }
    }
    try stage.finish(kills: rounds)
  }

  private func kill(at step: Rehearsal.Step, _ stage: CrashStage) throws {
    let times = Self.runsAll ? Array(1...30) : [1, 2, 7]
    for time in times {
      switch step {
      case .storeLocked, .storeOpened, .replayed: try stage.crashWhileMounting(step)
      case .storeClosing, .storeClosed, .journalFreed: try stage.crashWhileUnmounting(step)
      default: try stage.crash("\(step) \(time)", at: step, time: time)
      }
    }
    try stage.finish(kills: times.count)
  }

  /// SIGKILL at every n-th write to the store's files: in the log, in a checkpoint, when it opens.
  @Test(arguments: [Rehearsal.Site.storeWrite, .system])
  func atCall(_ site: Rehearsal.Site) throws {
    let stage = try CrashStage(.ext4, writers: 2, seed: 99)
    var kills = 0
    for call in stride(from: 1, to: Self.runsAll ? 400 : 120, by: Self.runsAll ? 1 : 9) {
      try stage.crash("\(site) \(call)") { stage.control.fail(site, call: call, with: -1) }
      kills += 1
    }
    try stage.finish(kills: kills)
  }
}

/// A mount with writers, and what is known of what they wrote.
private final class CrashStage {
  let control: RehearsalControl
  private let scratch: Scratch
  private let source: Source
  private let manifest: Source
  private let mount: Mount
  private let store: String
  private let identity: String
  private let writers: [CrashWriter]
  private let seed: UInt64
  private var kills = 0

  init(
    _ kind: SourceKind, writers count: Int, seed: UInt64, identity: String = "auto"
  ) throws {
    scratch = try Scratch()
    self.identity = identity
    self.seed = seed
    source = try Source(kind, in: scratch)
    manifest = try Source(kind == .ramfs ? .tmpfs : kind, in: scratch, named: "manifest")
    let control = try RehearsalControl(in: scratch)
    self.control = control
    store = try scratch.directory("store")
    let mount = try Mount(
      source.path, store: store,
      options: ["--identity", identity, "--cache", identity == "path" ? "never" : "auto"],
      environment: control.environment, in: scratch)
    self.mount = mount
    let manifest = manifest.path
    writers = try (0..<count).map { number in
      try CrashWriter(
        "\(mount.mountPoint)/\(number)", manifest: "\(manifest)/\(number)",
        seed: seed &* 1000 &+ UInt64(number))
    }
  }

  /// Lets the writers write, kills the daemon, mounts again and compares.
  func crash(_ what: String, after cause: () -> Void) throws {
    for writer in writers { writer.start(limit: 20_000) }
    cause()
    // A cause that is a moment has passed; one that is a step comes by itself.
    if !waitsForStep { Glibc.kill(mount.pid, SIGKILL) }
    try ended(what)
  }

  func crash(_ what: String, at step: Rehearsal.Step, time: Int) throws {
    try crash(what) { control.kill(at: step, time: time) }
  }

  private var waitsForStep: Bool { control.isArmed }

  private func ended(_ what: String) throws {
    try waiting(for: "the daemon's death: \(what)", within: .seconds(60)) {
      mount.pid == 0 || writers.contains { $0.problem != nil } ? () : nil
    }
    // Only then may the dead mount go: what is below it is another directory.
    try waiting(for: "the writers: \(what)", within: .seconds(30)) {
      writers.allSatisfy(\.isOver) ? () : nil
    }
    try mount.kill()
    control.rest()
    kills += 1
    try mount.remount()
    try verify(what)
  }

  func crashWhileMounting(_ step: Rehearsal.Step) throws {
    try mount.kill()
    control.kill(at: step)
    #expect(throws: (any Error).self) { try mount.remount() }
    control.rest()
    kills += 1
    try mount.remount()
    try verify("\(step)")
    write(500)
  }

  func crashWhileUnmounting(_ step: Rehearsal.Step) throws {
    write(500)
    control.kill(at: step)
    #expect(throws: Ended.self) { try mount.unmount() }
    control.rest()
    kills += 1
    try mount.remount()
    try verify("\(step)")
  }

  private func write(_ count: Int) {
    for writer in writers { writer.start(limit: count) }
    _ = try? waiting(for: "the writers", within: .seconds(30)) {
      writers.allSatisfy(\.isOver) ? () : nil
    }
  }

  private func verify(_ what: String) throws {
    for (number, writer) in writers.enumerated() {
      let differences = writer.verify()
      if !differences.isEmpty {
        throw ModelFailure(
          step: kills,
          what: "seed \(seed), writer \(number), \(what):\n" + differences.joined(separator: "\n"))
      }
    }
  }

  /// A last look at what was promised: with nothing promised, nothing is proved.
  func finish(kills wanted: Int) throws {
    #expect(kills == wanted)
    #expect(writers.contains { $0.changes > 0 }, "nothing is in the manifest")
    try mount.unmount()
    if identity == "path" {
      let found = try Tool.run(
        ["check", "--identity", "path", "--store", store, source.path], ends: 0)
      #expect(found.text.hasSuffix(": clean\n"), "\(found.text)")
      // Nothing was undecided, hence nothing set aside.
      #expect(mount.printed == "")
      #expect(try StoredState(store).quarantined == 0)
    } else {
      // Between a file's end and the store's note of it, nobody tells the next daemon.
      let found = try Tool.putInOrder(store, of: source.path)
      let living = try ExpectedState(
        source: source.path, model: manifest.path, kind: source.kind)
      let problems = try StoredState(store).problems(living, maySetAside: true)
      #expect(problems.isEmpty, "\(problems)\n\(found)")
    }
    let changes = writers.reduce(0) { $0 + $1.changes }
    print("crash: \(kills) kills, \(changes) acknowledged changes, 0 lost (seed \(seed))")
  }
}
