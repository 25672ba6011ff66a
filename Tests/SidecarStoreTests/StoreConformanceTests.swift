import AttributeModel
import LinuxSystem
import SidecarStore
import Testing

/// What every store promises, whatever it is made of.
@Suite struct StoreConformanceTests {
  @Test(arguments: StoreKind.allCases)
  func nothingIsKeptOfAnUnknownObject(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    #expect(try store.record(of: object(1)) == nil)
    try store.remove(name("user.a"), of: object(1), changed: time(1))
    try store.link(object(1), at: lineage(1))
    try store.unlink(object(1), lastEntry(lineage(1)), isLast: true)
    try store.move(object(1), from: lastEntry(lineage(1)), to: lineage(2, 1))
    try store.discard(object(1))
    try store.quarantine(object(1), because: .reusedKey)
    try store.sync()
    #expect(try dump(store) == StoreContents())
    #expect(
      try store.counts() == StoreCounts(objects: 0, attributes: 0, orphans: 0, quarantined: 0))
  }

  @Test(arguments: StoreKind.allCases)
  func setKeepsValueTimeTypeAndLineage(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    try store.set(
      name("user.a"), to: [1, 0, 2], of: object(3), type: .regular, changed: time(5),
      lineage: lineage(1, 2, 3))
    #expect(
      try store.record(of: object(3))
        == ObjectRecord(
          type: .regular, changed: time(5), isOrphan: false,
          attributes: [name("user.a"): [1, 0, 2]]))
    for ancestor in 0...2 {
      #expect(
        try store.record(of: object(ancestor))
          == ObjectRecord(
            type: .directory, changed: nil, isOrphan: false, isNamed: ancestor != 0,
            attributes: [:]))
    }
    #expect(
      try dump(store).entries == [
        Entry(parent: object(0), name: Array("d1".utf8)): object(1),
        Entry(parent: object(1), name: Array("d2".utf8)): object(2),
        Entry(parent: object(2), name: Array("file".utf8)): object(3),
      ])
    #expect(
      try store.counts() == StoreCounts(objects: 4, attributes: 1, orphans: 0, quarantined: 0))
  }

  @Test(arguments: StoreKind.allCases)
  func knownAncestorsKeepWhatTheyHave(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    try store.set(
      name("user.a"), to: [1], of: object(1), type: .directory, changed: time(5),
      lineage: lineage(1, name: "d1"))
    let before = try store.record(of: object(1))
    try store.set(
      name("user.a"), to: [1], of: object(2), type: .regular, changed: time(6),
      lineage: lineage(1, 2))
    #expect(try store.record(of: object(1)) == before)
    // An ancestor that gets an attribute later needs no lineage.
    try store.set(
      name("user.r"), to: [], of: object(0), type: .directory, changed: time(7), lineage: [])
    #expect(try store.record(of: object(0))?.attributes == [name("user.r"): []])
    #expect(try store.record(of: object(0))?.isOrphan == false)
  }

  @Test(arguments: StoreKind.allCases)
  func valuesAndNamesAreBytes(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    var expected: [AttributeName: [UInt8]] = [:]
    let large = [UInt8](repeating: 0xa5, count: 65_536)
    let names: [[UInt8]] = [
      Array("user.empty".utf8), Array("user.large".utf8), [0x75, 0x73, 0x65, 0x72, 0x2e, 0xff],
      [0x75, 0x73, 0x65, 0x72, 0x2e, 0xc3, 0x28], Array("user.it's \"; --".utf8),
      Array("user.".utf8) + [UInt8](repeating: 0x41, count: 250),
    ]
    let values: [[UInt8]] = [[], large, [0], [0xff, 0xfe], Array("'".utf8), [1]]
    for (bytes, value) in zip(names, values) {
      expected[try AttributeName(bytes)] = value
      try store.set(
        AttributeName(bytes), to: value, of: object(1), type: .regular, changed: time(1),
        lineage: lineage(1))
    }
    for number in 0..<500 {
      expected[try name("user.number\(number)")] = [UInt8(number % 256)]
      try store.set(
        name("user.number\(number)"), to: [UInt8(number % 256)], of: object(1), type: .regular,
        changed: time(1), lineage: [])
    }
    #expect(try store.record(of: object(1))?.attributes == expected)
  }

  @Test(arguments: StoreKind.allCases)
  func replacingAndRemoving(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    for value in [[1], [], [2, 3]] as [[UInt8]] {
      try store.set(
        name("user.a"), to: value, of: object(1), type: .regular, changed: time(1),
        lineage: lineage(1))
      #expect(try store.record(of: object(1))?.attributes == [name("user.a"): value])
    }
    try store.remove(name("user.other"), of: object(1), changed: time(8))
    #expect(try store.record(of: object(1))?.changed == time(1))
    try store.remove(name("user.a"), of: object(1), changed: time(9))
    #expect(
      try store.record(of: object(1))
        == ObjectRecord(type: .regular, changed: time(9), isOrphan: false, attributes: [:]))
  }

  @Test(arguments: StoreKind.allCases)
  func volumesAndKindsAreApart(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    let third = VolumeKey(bytes: [1, 2], kind: .handle)
    for (value, volume) in [(UInt8(1), volume), (2, otherVolume), (3, third)] {
      try store.set(
        name("user.a"), to: [value], of: object(1, on: volume), type: .regular, changed: time(1),
        lineage: [])
    }
    for (value, volume) in [(UInt8(1), volume), (2, otherVolume), (3, third)] {
      #expect(
        try store.record(of: object(1, on: volume))?.attributes == [name("user.a"): [value]])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aNamelessObjectIsAnOrphanUntilItIsLinked(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    try store.set(
      name("user.a"), to: [1], of: object(1), type: .regular, changed: time(1), lineage: [])
    #expect(try store.record(of: object(1))?.isOrphan == true)
    #expect(try store.counts().orphans == 1)
    #expect(try store.orphans() == [object(1)])
    try store.link(object(1), at: lineage(1))
    #expect(try store.orphans() == [])
    #expect(try store.record(of: object(1))?.isOrphan == false)
    #expect(try dump(store).entries == [lastEntry(lineage(1)): object(1)])
  }

  @Test(arguments: StoreKind.allCases)
  func namesComeAndGo(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    let first = lineage(1, name: "first")
    let second = lineage(5, 1, name: "second")
    try store.set(
      name("user.a"), to: [1], of: object(1), type: .regular, changed: time(1), lineage: first)
    try store.link(object(1), at: second)
    #expect(try dump(store).entries.values.count { $0 == object(1) } == 2)
    try store.unlink(object(1), lastEntry(first), isLast: false)
    #expect(try store.record(of: object(1))?.isOrphan == false)
    #expect(try dump(store).entries[lastEntry(first)] == nil)
    #expect(try dump(store).entries[lastEntry(second)] == object(1))
    try store.unlink(object(1), lastEntry(second), isLast: true)
    #expect(try store.record(of: object(1))?.isOrphan == true)
    #expect(try store.record(of: object(1))?.attributes == [name("user.a"): [1]])
    try store.discard(object(1))
    #expect(try store.record(of: object(1)) == nil)
    #expect(try store.counts().attributes == 0)
  }

  @Test(arguments: StoreKind.allCases)
  func movingReplacesAndExchanges(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    let a = lineage(1, name: "a")
    let b = lineage(2, name: "b")
    try store.set(
      name("user.n"), to: [1], of: object(1), type: .regular, changed: time(1), lineage: a)
    try store.set(
      name("user.n"), to: [2], of: object(2), type: .regular, changed: time(1), lineage: b)
    // Exchange: two moves.
    try store.move(object(1), from: lastEntry(a), to: b)
    try store.move(object(2), from: lastEntry(b), to: a)
    #expect(try dump(store).entries == [lastEntry(a): object(2), lastEntry(b): object(1)])
    // Rename over: the entry belongs to the one that moved, also when the other hears of it later.
    try store.move(object(2), from: lastEntry(a), to: b)
    try store.unlink(object(1), lastEntry(b), isLast: true)
    #expect(try dump(store).entries == [lastEntry(b): object(2)])
    #expect(try store.record(of: object(1))?.isOrphan == true)
    #expect(try store.record(of: object(2))?.attributes == [name("user.n"): [2]])
    // Onto itself.
    try store.move(object(2), from: lastEntry(b), to: b)
    #expect(try dump(store).entries == [lastEntry(b): object(2)])
  }

  @Test(arguments: StoreKind.allCases)
  func aDiscardedDirectoryTakesItsEntriesWithIt(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    try store.set(
      name("user.a"), to: [1], of: object(2), type: .regular, changed: time(1),
      lineage: lineage(1, 2))
    try store.discard(object(1))
    #expect(try store.record(of: object(1)) == nil)
    #expect(try store.record(of: object(2))?.attributes == [name("user.a"): [1]])
    #expect(try dump(store).entries == [:])
  }

  @Test(arguments: StoreKind.allCases)
  func quarantineHidesAndKeeps(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    for (value, reason) in [(UInt8(1), QuarantineReason.reusedKey), (2, .otherType)] {
      try store.set(
        name("user.a"), to: [value], of: object(1), type: .regular, changed: time(1),
        lineage: lineage(1))
      try store.quarantine(object(1), because: reason)
      #expect(try store.record(of: object(1)) == nil)
    }
    #expect(try dump(store).quarantined == [object(1): [.reusedKey, .otherType]])
    #expect(
      try store.counts() == StoreCounts(objects: 1, attributes: 0, orphans: 0, quarantined: 2))
    try store.discard(object(1))
    #expect(try store.counts().quarantined == 2)
  }

  private func lastEntry(_ lineage: [LineageStep]) -> Entry {
    Entry(parent: lineage[lineage.count - 2].object, name: lineage[lineage.count - 1].name)
  }
}
