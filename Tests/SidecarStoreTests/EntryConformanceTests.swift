import AttributeModel
import LinuxSystem
import SidecarStore
import Testing

/// What every store promises in which objects are found by name.
@Suite struct EntryConformanceTests {
  @Test(arguments: StoreKind.allCases)
  func objectsAreFoundByName(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    #expect(try store.object(at: entry(5, "a")) == nil)
    try store.enter(object(1), type: .regular, at: lineage(5, 1, name: "a"))
    #expect(try store.object(at: entry(5, "a")) == object(1))
    #expect(try store.object(at: entry(0, "d5")) == object(5))
    #expect(try store.object(at: entry(5, "A")) == nil)
    #expect(try store.object(at: entry(1, "a")) == nil)
    #expect(
      try store.record(of: object(1))
        == ObjectRecord(type: .regular, changed: nil, isOrphan: false, attributes: [:]))
    // A hard link: two entries of one object.
    try store.enter(object(1), type: .regular, at: lineage(6, 1, name: "b"))
    #expect(try store.object(at: entry(6, "b")) == object(1))
    #expect(try store.object(at: entry(5, "a")) == object(1))
    // Another takes the name.
    try store.enter(object(2), type: .fifo, at: lineage(5, 2, name: "a"))
    #expect(try store.object(at: entry(5, "a")) == object(2))
    try store.quarantine(object(2), because: .reusedKey)
    #expect(try store.object(at: entry(5, "a")) == nil)
    // The same bytes are another volume's object.
    #expect(
      try store.object(at: Entry(parent: object(6, on: otherVolume), name: Array("b".utf8))) == nil)
  }

  @Test(arguments: StoreKind.allCases)
  func enteringKeepsWhatThereIs(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    try store.set(
      name("user.a"), to: [1], of: object(1), type: .regular, changed: time(1), lineage: [])
    #expect(try store.record(of: object(1))?.isOrphan == true)
    try store.enter(object(1), type: .regular, at: lineage(5, 1, name: "a"))
    #expect(
      try store.record(of: object(1))
        == ObjectRecord(
          type: .regular, changed: time(1), isOrphan: false, attributes: [name("user.a"): [1]]))
  }

  @Test(arguments: StoreKind.allCases)
  func vacatingTakesANameOrAll(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    try store.vacate(entry(5, "a"), because: .reusedKey)
    #expect(try dump(store) == StoreContents())
    try prepare(store)
    try store.vacate(entry(5, "a"), because: .reusedKey)
    #expect(try store.object(at: entry(5, "a")) == nil)
    #expect(try store.record(of: object(1))?.attributes == [name("user.n"): [1]])
    try store.vacate(entry(5, "b"), because: .otherType)
    #expect(try store.record(of: object(1)) == nil)
    #expect(try dump(store).quarantined == [object(1): [.otherType]])
  }

  @Test(arguments: StoreKind.allCases)
  func renamesAreSettled(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    try prepare(store)
    let before = try dump(store)
    let intent = rename(2, "c", over: 1, "a")
    let withdrawn = try store.intend(intent)
    #expect(try store.intents().map(\.intent) == [intent])
    #expect(try store.object(at: entry(5, "c")) == object(2))
    try store.withdraw(withdrawn)
    #expect(try dump(store) == before)
    #expect(try !store.settle(withdrawn))
    #expect(try dump(store) == before)

    // The first name of an object is taken; the second one stays.
    #expect(try !store.settle(store.intend(intent)))
    #expect(
      try dump(store).entries == [
        entry(0, "d5"): object(5), entry(5, "a"): object(2), entry(5, "b"): object(1),
      ])
    #expect(try store.intents() == [])
    // The last one.
    #expect(try store.settle(store.intend(rename(2, "a", over: 1, "b"))))
    #expect(try store.record(of: object(1))?.isOrphan == true)
    #expect(try store.object(at: entry(5, "b")) == object(2))
    #expect(try store.object(at: entry(5, "a")) == nil)
    // What is not known takes a name from what is.
    #expect(try store.settle(store.intend(rename(nil, "x", over: 2, "b"))))
    #expect(try store.object(at: entry(5, "b")) == nil)
    #expect(try store.record(of: object(2))?.isOrphan == true)
  }

  @Test(arguments: StoreKind.allCases)
  func exchangesAndRemovalsAreSettled(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    try prepare(store)
    var exchange = rename(2, "c", over: 1, "a")
    exchange.kind = .exchange
    #expect(try !store.settle(store.intend(exchange)))
    #expect(try store.object(at: entry(5, "a")) == object(2))
    #expect(try store.object(at: entry(5, "c")) == object(1))
    // With what is not known.
    exchange.object = nil
    exchange.place = place("new")
    exchange.other = object(2)
    #expect(try !store.settle(store.intend(exchange)))
    #expect(try store.object(at: entry(5, "a")) == nil)
    #expect(try store.object(at: entry(5, "new")) == object(2))

    for (name, isLast) in [("b", false), ("c", true)] {
      let removal = Intent(.remove, object(1), at: place(name), fingerprint: fingerprint)
      #expect(try store.settle(store.intend(removal)) == isLast)
      #expect(try store.object(at: entry(5, name)) == nil)
      #expect(try store.record(of: object(1))?.isOrphan == isLast)
    }
  }

  @Test(arguments: StoreKind.allCases) func linksAreSettled(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    try prepare(store)
    let intent = Intent(
      .link, object(2), at: place("c"), to: place("new"), fingerprint: fingerprint)
    try store.withdraw(store.intend(intent))
    #expect(try store.object(at: entry(5, "new")) == nil)
    #expect(try !store.settle(store.intend(intent, isDurable: true)))
    for name in ["c", "new"] { #expect(try store.object(at: entry(5, name)) == object(2)) }
    #expect(try store.intents() == [])
  }

  @Test(arguments: StoreKind.allCases)
  func intentsFollowTheirDirectories(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    try prepare(store)
    let inside = try store.intend(rename(2, "c", over: nil, "e"))
    let root = [LineageStep(object: object(0), name: [], type: .directory)]
    let moved = try store.intend(
      Intent(
        .rename, object(5), at: Place(directory: root, name: Array("d5".utf8)), other: object(77),
        to: Place(directory: lineage(6, 5).dropLast(), name: Array("moved".utf8)),
        fingerprint: fingerprint))
    #expect(try store.intents().map(\.id) == [inside, moved])
    #expect(try store.intents()[1].intent.other == nil, "not known")
    #expect(try store.object(at: entry(0, "d6")) == object(6), "made known")
    _ = try store.settle(moved)
    let ways = try store.intents().map { $0.intent.place.directory.map(\.name) }
    #expect(ways == [[[], Array("d6".utf8), Array("moved".utf8)]])
    // An intent goes with what it names.
    try store.quarantine(object(2), because: .reusedKey)
    #expect(try store.intents() == [])
  }

  private func prepare(_ store: any EntryStore) throws {
    for (number, text) in [(1, "a"), (2, "c")] {
      try store.set(
        name("user.n"), to: [UInt8(number)], of: object(number), type: .regular, changed: time(1),
        lineage: lineage(5, number, name: text))
    }
    try store.enter(object(1), type: .regular, at: lineage(5, 1, name: "b"))
  }

  private let fingerprint = Fingerprint(type: .regular, size: 1 << 40, modified: time(-3))

  private func place(_ name: String) -> Place {
    Place(directory: lineage(5, 1).dropLast(), name: Array(name.utf8))
  }

  private func rename(
    _ object: Int?, _ name: String, over other: Int?, _ newName: String
  ) -> Intent {
    Intent(
      .rename, object.map { SidecarStoreTests.object($0) }, at: place(name),
      other: other.map { SidecarStoreTests.object($0) }, to: place(newName),
      fingerprint: fingerprint)
  }

  private func entry(_ directory: Int, _ name: String) -> Entry {
    Entry(parent: object(directory), name: Array(name.utf8))
  }
}
