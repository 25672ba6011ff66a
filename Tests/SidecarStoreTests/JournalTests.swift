import AttributeModel
import Foundation
import LinuxSystem
import Testing

@testable import SidecarStore

/// The journal beside a store: nothing that was answered is lost, and nothing is made twice or out of
/// turn, wherever the daemon dies.
@Suite struct JournalTests {
  /// Random changes, and a death now and then: what was answered is there again.
  @Test(arguments: [StoreKind.memory, .sqlite], [1, 2, 3] as [UInt64])
  func nothingIsLost(_ kind: StoreKind, _ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let stage = try JournalStage(kind)
    let model = MemoryStore()
    var deaths = 0
    for round in 1...(kind == .memory ? 6000 : 2000) {
      let change = try Change(&random)
      try change.make(in: model)
      try change.make(in: stage.store)
      let read = object(Int.random(in: 0..<20, using: &random), on: change.volume)
      #expect(try known(model.record(of: read)) == known(stage.store.record(of: read)), "\(round)")
      #expect(try model.object(at: change.from) == stage.store.object(at: change.from), "\(round)")
      switch Int.random(in: 0..<200, using: &random) {
      case 0:
        deaths += 1
        try stage.die()
        #expect(try model.dump() == stage.dump(), "seed \(seed), a death at \(round)")
      case 1:
        try stage.end()
        #expect(try model.dump() == stage.dump(), "seed \(seed), the end at \(round)")
      case 2...4: try stage.store.sync()
      default: break
      }
    }
    #expect(deaths > 5)
    try stage.end()
    #expect(try model.dump() == stage.dump())
    #expect(try Journal.fileNames.filter { try stage.directory.names().contains($0) } == [])
  }

  /// A name may be thought to be there a moment longer than it is.
  private func known(_ record: ObjectRecord?) -> ObjectRecord? {
    var record = record
    record?.isNamed = true
    return record
  }

  /// More than both files hold, in values of all sizes.
  @Test func filesAreUsedInTurn() throws {
    let stage = try JournalStage(.sqlite)
    for round in 0..<400 {
      let value = [UInt8](repeating: UInt8(round % 251), count: round % 7 == 0 ? 60_000 : 40)
      try stage.store.set(
        name("user.\(round % 5)"), to: value, of: object(round % 11), type: .regular,
        changed: time(Int64(round)), lineage: lineage(round % 11, name: "f\(round % 11)"))
      if round % 100 == 99 { try stage.die() }
    }
    for round in 389..<400 {
      let value = [UInt8](repeating: UInt8(round % 251), count: round % 7 == 0 ? 60_000 : 40)
      let record = try stage.store.record(of: object(round % 11))
      #expect(try record?.attributes[name("user.\(round % 5)")] == value)
    }
    try stage.end()
  }

  /// Each prefix of the journal's bytes is a state from before: what is torn is as if it had never
  /// been.
  @Test func aTornEndIsDropped() throws {
    let stage = try JournalStage(.sqlite)
    try fill(stage, 5)
    let file = "\(stage.directory.path)/journal-0"
    let whole = try Data(contentsOf: URL(fileURLWithPath: file))
    let database = try stage.files()
    let end = try #require(whole.lastIndex { $0 != 0 }) + 1
    for cut in stride(from: end, through: JournalFile.headerSize, by: -7) {
      try stage.restore(database)
      try (whole.prefix(cut) + Data(count: whole.count - cut)).write(to: URL(fileURLWithPath: file))
      try stage.openAgain()
      let count = try stage.store.counts().attributes
      #expect(count <= 5 && count >= 1)
      for number in 1..<max(1, count) {
        let record = try stage.store.record(of: object(1))
        #expect(try record?.attributes[name("user.\(number)")] == [UInt8(number)])
      }
      stage.kill()
    }
  }

  /// A bit that flips in what was answered, with something behind it: an error, and with salvage what
  /// is before it.
  @Test(arguments: [2, 3]) func damageIsTold(_ number: Int) throws {
    let stage = try JournalStage(.sqlite)
    try fill(stage, 5)
    let url = URL(fileURLWithPath: "\(stage.directory.path)/journal-0")
    var bytes = try Data(contentsOf: url)
    // The first change went into the store at once.
    let marks = (1...5).map { bytes.range(of: Data("user.\($0)".utf8))?.lowerBound }
    #expect(marks[0] == nil)
    bytes[try #require(marks[number - 1])] ^= 4
    try bytes.write(to: url)
    let before = try stage.files()
    #expect {
      try stage.openAgain()
    } throws: { error in
      if case .damagedJournal = (error as? StoreError)?.reason { true } else { false }
    }
    #expect {
      _ = try stage.read()
    } throws: { error in
      if case .damagedJournal = (error as? StoreError)?.reason { true } else { false }
    }
    #expect(try stage.files()["journal-0"] == before["journal-0"])
    let salvage = try #require(try stage.salvage())
    #expect(salvage.lines.contains { $0.contains("journal") }, "\(salvage.lines)")
    try stage.openAgain()
    #expect(try stage.store.counts().attributes == number - 1)
    try stage.end()
    let kept = try stage.directory.names().filter { $0.hasPrefix("journal-0.damaged-") }
    #expect(kept.count == 1)
  }

  /// Who only reads sees what is in the journal of a dead mount, and changes nothing; who changes
  /// brings it into the store.
  @Test func readersSeeTheJournal() throws {
    let stage = try JournalStage(.sqlite)
    try fill(stage, 5)
    let before = try stage.files()
    try #require(before["journal-0"] != nil)
    for _ in 1...2 {
      let file = try stage.read()
      let object = try #require(try file.object(under: object(1)))
      #expect(try file.attributes(of: object.id).count == 5)
      #expect(try file.damage() == [])
    }
    let after = try stage.files()
    #expect(after["journal-0"] == before["journal-0"] && after["store.db"] == before["store.db"])
    let changing = try stage.change()
    let object = try #require(try changing.object(under: object(1)))
    #expect(try changing.attributes(of: object.id).count == 5)
    try changing.close()
    #expect(try stage.files()["journal-0"] == nil)
  }

  /// Who reads a store that a mount has waits for what was there before.
  @Test func readersOfAMountSeeTheJournal() throws {
    let stage = try JournalStage(.sqlite)
    for number in 1...50 {
      try stage.store.set(
        name("user.\(number)"), to: [1], of: object(1), type: .regular, changed: time(1),
        lineage: lineage(1))
      let file = try stage.read()
      #expect(file.holder != nil)
      let object = try #require(try file.object(under: object(1)))
      #expect(try file.attributes(of: object.id).count == number)
    }
    try stage.end()
  }

  /// A record of an older use of the file, or one that a user made up, is none.
  @Test func oldRecordsAreNone() throws {
    let directory = try TemporaryDirectory()
    let file = try JournalFile("journal-0", in: directory.open())
    let change = AttributeChange(removing: try name("user.a"), of: object(1), changed: time(1))
    let bytes = change.encoded
    try file.begin(salt: 7, boot: [])
    try file.write(
      JournalFile.record(bytes, number: 1, onDisk: 0, salt: 7), at: JournalFile.headerSize)
    func found() throws -> [NumberedChange] {
      try JournalFile.read("journal-0", in: directory.open(), boot: []).changes
    }
    #expect(try found() == [NumberedChange(1, change)])
    try file.begin(salt: 8, boot: [])
    #expect(try found() == [])
    let contents = try JournalFile.read("journal-0", in: directory.open(), boot: [])
    #expect(contents.later == nil && !contents.isUnreadable)
  }

  /// Every change is the same after it was bytes, and bytes that are not those of one are refused.
  @Test func bytesAndBack() throws {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<500 {
      let change = try Change(&random)
      let set = AttributeChange(
        change.name, to: change.value, of: change.object, type: change.type, changed: change.time,
        lineage: change.to)
      let remove = AttributeChange(removing: change.name, of: change.object, changed: change.time)
      for one in [set, remove] {
        #expect(AttributeChange(decoding: one.encoded) == one)
        #expect(AttributeChange(decoding: Array(one.encoded.dropLast())) == nil)
        #expect(AttributeChange(decoding: one.encoded + [0]) == nil)
      }
      var garbage = set.encoded
      for _ in 0..<4 {
        garbage[Int.random(in: 0..<garbage.count, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      _ = AttributeChange(decoding: garbage)
    }
  }

  private func fill(_ stage: JournalStage, _ count: Int) throws {
    stage.holdsBack = true
    for number in 1...count {
      try stage.store.set(
        name("user.\(number)"), to: [UInt8(number)], of: object(1), type: .regular,
        changed: time(Int64(number)), lineage: lineage(1))
    }
    stage.kill()
  }
}
