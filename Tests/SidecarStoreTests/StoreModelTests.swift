import AttributeModel
import LinuxSystem
import SidecarStore
import Testing

/// Random changes, made to the reference as well.
@Suite struct StoreModelTests {
  @Test(arguments: [1, 2, 3] as [UInt64])
  func sqliteIsWhatMemoryIs(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let directory = try TemporaryDirectory()
    let memory = MemoryStore()
    var sqlite = try openStore(in: directory)
    for round in 1...10_000 {
      let change = try Change(&random)
      try change.make(in: memory)
      try change.make(in: sqlite)
      let read = object(Int.random(in: 0..<20, using: &random), on: change.volume)
      #expect(try memory.record(of: read) == sqlite.record(of: read), "seed \(seed), \(round)")
      #expect(
        try memory.object(at: change.from) == sqlite.object(at: change.from),
        "seed \(seed), \(round)")
      if round % 1000 == 0 {
        #expect(try memory.dump() == sqlite.dump(), "seed \(seed), round \(round)")
        #expect(try memory.counts() == sqlite.counts(), "seed \(seed), round \(round)")
      }
      if round % 2000 == 0 {
        // Once in good order, once dropped.
        if round % 4000 == 0 { try sqlite.close() }
        sqlite = try reopened(&sqlite, in: directory)
        #expect(try memory.dump() == sqlite.dump(), "seed \(seed), reopened at \(round)")
      }
    }
    #expect(try memory.counts().quarantined > 0)
    #expect(!memory.dump().entries.isEmpty)
  }

  private func reopened(
    _ store: inout SQLiteStore, in directory: TemporaryDirectory
  ) throws -> SQLiteStore {
    // The lock is free only when the old one is gone, so something else has to take its place.
    store = try openStore(in: TemporaryDirectory())
    return try openStore(in: directory)
  }
}

/// One random change.
struct Change {
  enum Verb: CaseIterable {
    case set, setAgain, setNameless, remove, link, unlink, unlinkLast, move, discard, quarantine
    case enter, vacate, intend, settle, settleAgain, withdraw
  }

  let verb: Verb
  let volume: VolumeKey
  let object: ObjectKey
  let name: AttributeName
  let value: [UInt8]
  let time: Timestamp
  let from: Entry
  let to: [LineageStep]
  let type: FileType
  let intent: Intent
  let number: Int64

  init(_ random: inout SeededGenerator) throws {
    // Most of what happens is setting; the destructive verbs are rarer.
    verb =
      Bool.random(using: &random)
      ? .set : Verb.allCases[Int.random(in: 0..<Verb.allCases.count, using: &random)]
    volume = Int.random(in: 0..<4, using: &random) == 0 ? otherVolume : SidecarStoreTests.volume
    let volume = self.volume
    func pick(_ random: inout SeededGenerator) -> ObjectKey {
      SidecarStoreTests.object(Int.random(in: 0..<20, using: &random), on: volume)
    }
    object = pick(&random)
    name = try AttributeName("user.\(Int.random(in: 0..<6, using: &random))".utf8)
    let size = [0, 1, 10, 300, 5000].randomElement(using: &random) ?? 0
    value = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: size)
    time = Timestamp(
      seconds: Int64.random(in: -5...5, using: &random),
      nanoseconds: Int64.random(in: 0..<1_000_000_000, using: &random))
    func entryName(_ random: inout SeededGenerator) -> [UInt8] {
      [UInt8.random(in: 0xf0...0xf7, using: &random)]
    }
    from = Entry(parent: pick(&random), name: entryName(&random))
    var steps = [LineageStep(object: pick(&random), name: [], type: .directory)]
    for _ in 0..<Int.random(in: 0..<3, using: &random) {
      steps.append(
        LineageStep(object: pick(&random), name: entryName(&random), type: .directory))
    }
    type = Bool.random(using: &random) ? .regular : .fifo
    steps.append(LineageStep(object: object, name: entryName(&random), type: type))
    to = steps
    let place = Place(directory: steps.dropLast(), name: entryName(&random))
    let kind = Intent.Kind.allCases[Int.random(in: 0..<3, using: &random)]
    let other = Bool.random(using: &random) ? pick(&random) : nil
    intent = Intent(
      kind, Int.random(in: 0..<4, using: &random) == 0 ? nil : pick(&random),
      at: Place(directory: [steps[0]], name: from.name), other: kind == .remove ? nil : other,
      to: kind == .remove ? nil : place,
      fingerprint: Fingerprint(type: type, size: Int64(size), modified: time))
    number = Int64.random(in: 1...4, using: &random)
  }

  func make(in store: any EntryStore) throws {
    switch verb {
    case .set, .setAgain:
      try store.set(name, to: value, of: object, type: type, changed: time, lineage: to)
    case .setNameless:
      try store.set(name, to: value, of: object, type: type, changed: time, lineage: [])
    case .remove: try store.remove(name, of: object, changed: time)
    case .link: try store.link(object, at: to)
    case .unlink: try store.unlink(object, from, isLast: false)
    case .unlinkLast: try store.unlink(object, from, isLast: true)
    case .move: try store.move(object, from: from, to: to)
    case .discard: try store.discard(object)
    case .quarantine: try store.quarantine(object, because: .reusedKey)
    case .enter: try store.enter(object, type: type, at: to)
    case .vacate: try store.vacate(from, because: .otherType)
    case .intend: _ = try store.intend(intent)
    case .settle, .settleAgain: _ = try store.settle(IntentID(number))
    case .withdraw: try store.withdraw(IntentID(number))
    }
  }
}
