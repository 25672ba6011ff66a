import AttributeModel
import Foundation
import LinuxSystem
import SQLite
import SidecarStore
import Testing

/// Damaged stores: an error or the truth, never a crash, never an empty answer; and what can be read
/// is saved.
@Suite struct StoreSalvageTests {
  private static let objects = 400

  /// A store of some hundred objects, closed, and what is in it.
  private func filled() throws -> (TemporaryDirectory, StoreContents) {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    for number in 1...Self.objects {
      try store.set(
        name("user.number"), to: Array("\(number)".utf8), of: object(number), type: .regular,
        changed: time(Int64(number)), lineage: lineage(number, name: "file\(number)"))
      if number % 10 == 0 {
        try store.set(
          name("user.large"), to: [UInt8](repeating: UInt8(number % 251), count: 9000),
          of: object(number), type: .regular, changed: time(1), lineage: [])
      }
    }
    let contents = try store.dump()
    try store.close()
    return (directory, contents)
  }

  private func salvage(_ directory: TemporaryDirectory) throws -> StoreSalvage? {
    try StoreSalvage.run(
      directory.open(), at: FileName(directory.path), for: FileName("test"),
      admission: StoreOwnership.anybody)
  }

  /// Every attribute that is there is one that was there; how many of them.
  private func expectNothingWrong(
    _ directory: TemporaryDirectory, _ wanted: StoreContents
  ) throws -> Int {
    let saved = try openStore(in: directory).dump()
    for (key, record) in saved.records {
      for (name, value) in record.attributes {
        #expect(try #require(wanted.records[key]?.attributes[name]) == value)
      }
    }
    for (entry, key) in saved.entries { #expect(wanted.entries[entry] == key) }
    return saved.records.values.reduce(0) { $0 + $1.attributes.count }
  }

  /// What is answered about any object is the truth or an error.
  private func expectNoWrongAnswer(_ store: SQLiteStore, _ wanted: StoreContents) {
    for (key, record) in wanted.records {
      guard let found = try? store.record(of: key) else { continue }
      for (name, value) in found.attributes { #expect(record.attributes[name] == value) }
    }
  }

  /// Sets aside what is damaged in a store that is otherwise sound; how many values.
  private func repair(_ directory: TemporaryDirectory) throws -> Int {
    let file = try StoreFile.changing(
      directory.open(), at: FileName(directory.path), for: FileName("test"),
      admission: StoreOwnership.anybody)
    try file.tieLooseEnds()
    let count = try file.damagedValues().count
    try file.setDamagedValuesAside()
    #expect(try file.damagedValues().isEmpty)
    try file.close()
    return count
  }

  @Test func aSoundStoreStaysAsItIs() throws {
    let (directory, contents) = try filled()
    #expect(try salvage(directory) == nil)
    #expect(try openStore(in: directory).dump() == contents)
    #expect(try directory.names().contains { $0.contains("damaged") } == false)
  }

  @Test(arguments: [0.3, 0.6, 0.9, 0.99]) func truncated(_ part: Double) throws {
    let (directory, contents) = try filled()
    let path = "\(directory.path)/store.db"
    let size = try #require(try directory.snapshot()["store.db"]).count
    try #require(truncate(path, Int(Double(size) * part)) == 0)
    let before = try directory.snapshot()["store.db"]
    let saved = try #require(try salvage(directory))
    // The damaged one is kept as it was.
    #expect(try directory.snapshot()[saved.kept] == before)
    let count = try expectNothingWrong(directory, contents)
    #expect(count == saved.rows["attribute"] ?? 0 || count < saved.rows["attribute"] ?? 0)
    if part > 0.9 { #expect(count > Self.objects / 2) }
  }

  /// Each page in turn is overwritten: everything else is saved.
  @Test func onePageAtATime() throws {
    let (directory, contents) = try filled()
    let whole = try #require(try directory.snapshot()["store.db"])
    let pages = whole.count / 4096
    var generator = SeededGenerator(seed: 11)
    var found = 0
    for page in Set((0..<40).map { _ in Int.random(in: 1..<pages, using: &generator) } + [0]) {
      var bytes = whole
      for offset in 0..<4096 { bytes[page * 4096 + offset] = 0xee }
      let copy = try TemporaryDirectory()
      try copy.write(bytes, to: "store.db")
      guard try salvage(copy) != nil else {
        // What holds nothing that is in use, or a part of a value: that is an error, and set aside.
        expectNoWrongAnswer(try openStore(in: copy), contents)
        let values = try repair(copy)
        let all = Self.objects + Self.objects / 10
        #expect(try expectNothingWrong(copy, contents) == all - values)
        continue
      }
      found += 1
      let count = try expectNothingWrong(copy, contents)
      if page > 12 { #expect(count > Self.objects / 2, "page \(page)") }
    }
    #expect(found > 20)
  }

  /// Bits flip: opening, reading, checking and salvaging end with the truth or an error.
  @Test func flippedBits() throws {
    let (directory, contents) = try filled()
    let whole = try #require(try directory.snapshot()["store.db"])
    var generator = SeededGenerator(seed: 12)
    for _ in 0..<150 {
      var bytes = whole
      for _ in 0..<8 {
        let offset = Int.random(in: 0..<bytes.count, using: &generator)
        bytes[offset] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      }
      let copy = try TemporaryDirectory()
      try copy.write(bytes, to: "store.db")
      if let file = try? StoreFile.reading(
        copy.open(), at: FileName(copy.path), for: FileName("test"),
        admission: StoreOwnership.anybody)
      {
        _ = try? file.damage()
        _ = try? file.looseEnds()
        _ = try? file.objects(after: 0)
      }
      do {
        _ = try salvage(copy)
      } catch is StoreError {
        continue
      }
      let store = try openStore(in: copy)
      expectNoWrongAnswer(store, contents)
      try store.close()
      if (try? repair(copy)) != nil { expectNoWrongAnswer(try openStore(in: copy), contents) }
    }
  }

  @Test func aNewerStoreIsNotTouched() throws {
    let directory = try TemporaryDirectory()
    let newer = Schema(steps: Schema.current.steps + [["CREATE TABLE later (a)"]])
    try openStore(in: directory, schema: newer).close()
    let before = try directory.snapshot()
    let error = #expect(throws: StoreError.self) { try salvage(directory) }
    guard case .newer = error?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try directory.snapshot() == before)
  }

  /// Another store, a restored copy for one, takes the place of one that is in use.
  @Test(arguments: [true, false]) func replacedInUse(_ byAnother: Bool) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    try store.set(
      name("user.a"), to: [1], of: object(1), type: .regular, changed: time(1),
      lineage: lineage(1))
    if byAnother {
      let other = try TemporaryDirectory()
      try openStore(in: other).close()
      try directory.write(try #require(try other.snapshot()["store.db"]), to: "new")
      try #require(rename("\(directory.path)/new", "\(directory.path)/store.db") == 0)
    } else {
      try #require(unlink("\(directory.path)/store.db") == 0)
    }
    #expect(throws: Errno.inputOutput) {
      try store.set(
        name("user.b"), to: [2], of: object(1), type: .regular, changed: time(1), lineage: [])
    }
    #expect(throws: Errno.inputOutput) { try store.discard(object(1)) }
    // Whatever connection answers: the truth or an error.
    inThreads(20) { _ in
      for _ in 0..<50 {
        do {
          let record = try store.record(of: object(1))
          #expect(record?.attributes.count == 1)
        } catch {
          #expect(error as? Errno == .inputOutput)
        }
      }
    }
  }

  @Test func aMountedStoreIsNotTouched() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    #expect(throws: StoreError.self) { try salvage(directory) }
    try store.close()
  }

  @Test func nothingAtAllIsSavedOfNoise() throws {
    let directory = try TemporaryDirectory()
    try directory.write([UInt8](repeating: 7, count: 100_000), to: "store.db")
    let saved = try #require(try salvage(directory))
    #expect(saved.rows.values.allSatisfy { $0 == 0 } && saved.gaps > 0)
    #expect(try openStore(in: directory).dump() == StoreContents())
  }

  /// Attributes whose object is lost are set aside, not thrown away.
  @Test func looseEndsAreTiedUp() throws {
    let (directory, contents) = try filled()
    do {
      let database = try Database(FileName("\(directory.path)/store.db"), .readWrite)
      try database.execute("DELETE FROM object WHERE id IN (5, 6)")
      try database.execute("INSERT INTO entry (parent, name, object) VALUES (777, x'61', 5)")
    }
    let file = try StoreFile.changing(
      directory.open(), at: FileName(directory.path), for: FileName("test"),
      admission: StoreOwnership.anybody)
    #expect(try file.damage() == [])
    #expect(try file.looseEnds().count == 2)
    try file.begin()
    try file.tieLooseEnds()
    try file.commit()
    #expect(try file.looseEnds() == [])
    let set = try file.quarantined()
    #expect(set.map(\.id) == [5, 6])
    #expect(set.allSatisfy { $0.reason == "no object" && $0.attributes > 0 })
    try file.close()
    _ = contents
    #expect(try openStore(in: directory).counts().quarantined == 2)
  }
}
