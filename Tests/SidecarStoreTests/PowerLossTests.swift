import AttributeModel
import Foundation
import LinuxSystem
import SQLite
import Testing

@testable import SidecarStore

/// The power fails at any moment: what was synced is there, of the rest a beginning of what was
/// done, and nothing torn.
@Suite(.serialized) struct PowerLoss {
  static let isLong = getenv("SIDECARFS_ALL") != nil

  @Test(arguments: [1, 2, 3] as [UInt64]) func everyMoment(_ seed: UInt64) throws {
    try everyMoment(seed, of: History(seed: seed, changes: Self.isLong ? 200 : 60))
  }

  /// The same with a journal, some of whose changes have not reached the database.
  @Test(arguments: [4, 5, 6] as [UInt64]) func everyMomentOfAJournal(_ seed: UInt64) throws {
    let changes = Self.isLong ? 400 : 120
    try everyMoment(seed, of: History(seed: seed, changes: changes, hasJournal: true))
  }

  private func everyMoment(_ seed: UInt64, of history: History) throws {
    var disk = PowerLossDisk()
    var random = SeededGenerator(seed: seed)
    let place = try TemporaryDirectory(tmpfsOf: 64 << 20)
    var cuts = 0
    for (moment, request) in history.requests.enumerated() {
      disk.apply(request)
      // The first moments make the store; later ones are much like each other.
      guard Self.isLong || moment < 60 || moment % 4 == 0 else { continue }
      for luck in PowerLossDisk.Luck.allCases {
        for _ in 0..<(luck == .some || luck == .torn ? Self.isLong || moment < 60 ? 8 : 1 : 1) {
          let files = disk.afterwards(luck, &random)
          try history.check(files, at: moment + 1, in: place, "seed \(seed), \(moment), \(luck)")
          cuts += 1
        }
      }
    }
    #expect(cuts > 500)
    // What is printed has been checked: a violation is an issue of its own.
    print("power loss: \(history.requests.count) requests, \(cuts) cuts, seed \(seed)")
  }
}

/// What was done to a store, what it asked of the disk meanwhile, and its state after each change.
private struct History {
  let requests: [DiskRequest]
  /// The states, and how many requests there were when each change began and had ended.
  private var states: [StoreContents] = [StoreContents()]
  private var began: [Int] = [0]
  /// After so many requests, a state is kept for certain.
  private var promises: [(moment: Int, state: Int)] = []

  init(seed: UInt64, changes: Int, hasJournal: Bool = false) throws {
    let directory = try TemporaryDirectory()
    var random = SeededGenerator(seed: seed &+ 1000)
    let model = MemoryStore()
    guard DiskRecorder.begin(directory.path) else { throw Errno.notSupported }
    defer { _ = DiskRecorder.end() }
    var store: PowerLossStore? = try PowerLossStore(in: directory, hasJournal: hasJournal)
    for _ in 0..<changes {
      let change = try StoreChange(&random)
      began.append(DiskRecorder.count + 1)
      if let open = store { try change.make(in: open.store) }
      try change.make(in: model)
      states.append(model.dump())
      // A source may have on its disk what comes after an announcement, so that has to be there.
      if change.isAnnouncement { promises.append((DiskRecorder.count + 1, states.count - 1)) }
      switch Int.random(in: 0..<40, using: &random) {
      case 0...5:
        try store?.store.sync()
        promises.append((DiskRecorder.count + 1, states.count - 1))
      case 6:
        try store?.close()
        store = nil
        promises.append((DiskRecorder.count + 1, states.count - 1))
        store = try PowerLossStore(in: directory, hasJournal: hasJournal)
      default: break
      }
    }
    try store?.close()
    store = nil
    promises.append((DiskRecorder.count + 1, states.count - 1))
    // The file is made before SQLite has it.
    requests = [.create("store.db")] + DiskRecorder.end()
  }

  /// Opens what the disk has and looks whether that is a state that it may have.
  func check(
    _ files: [String: [UInt8]], at moment: Int, in place: TemporaryDirectory, _ what: String
  ) throws {
    for name in try place.names() {
      try FileManager.default.removeItem(atPath: "\(place.path)/\(name)")
    }
    for (name, bytes) in files { try place.write(ofAnotherBoot(bytes), to: name) }
    let store: SQLiteStore
    do {
      store = try openStore(in: place)
    } catch {
      Issue.record("\(what): \(error)")
      return
    }
    let found = try store.dump()
    let first = promises.last { $0.moment <= moment }?.state ?? 0
    let last = began.lastIndex { $0 <= moment } ?? 0
    let isAllowed = (first...max(first, last)).contains { states[$0] == found }
    #expect(isAllowed, "\(what): not a state between \(first) and \(last)")
    try store.close()
    let database = try Database(FileName("\(place.path)/store.db"), .readOnly)
    #expect(try database.strings("PRAGMA integrity_check") == ["ok"], "\(what)")
  }
}

/// The bytes of a file as they are found when the machine was started anew: a journal knows when it was
/// written.
private func ofAnotherBoot(_ bytes: [UInt8]) -> [UInt8] {
  var reader = ByteReader(bytes, at: 8)
  guard bytes.count >= JournalFile.headerSize, bytes.starts(with: Array("SCFSJRN1".utf8)),
    let salt = reader.number(UInt64.self),
    JournalFile.header(salt: salt, boot: Array(bytes[16..<32]))
      == Array(bytes[..<JournalFile.headerSize])
  else { return bytes }
  let other = JournalFile.header(salt: salt, boot: [UInt8](repeating: 1, count: 16))
  return other + bytes[JournalFile.headerSize...]
}

/// A store, with a journal or without.
private final class PowerLossStore {
  let store: any EntryStore
  private let base: SQLiteStore
  private let journaled: JournaledStore?

  init(in directory: TemporaryDirectory, hasJournal: Bool) throws {
    base = try openStore(in: directory)
    // So slow that much is in the journal alone.
    journaled = hasJournal ? try JournaledStore(base, in: directory.open(), delay: 500) : nil
    store = journaled ?? base
  }

  func close() throws {
    try journaled?.close()
    try base.close()
  }
}

/// A change as a mount makes them.
private struct StoreChange {
  private let make: (any EntryStore) throws -> Void
  private(set) var isAnnouncement = false

  init(_ random: inout SeededGenerator) throws {
    let target = object(Int.random(in: 1..<12, using: &random))
    let key = try name("user.\(Int.random(in: 0..<5, using: &random))")
    let size = [0, 5, 200, 3000, 20_000].randomElement(using: &random) ?? 0
    let value = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: size)
    let stamp = time(Int64.random(in: 0...1000, using: &random))
    let parent = Int.random(in: 20..<24, using: &random)
    let leaf = "n\(Int.random(in: 0..<8, using: &random))"
    let steps =
      [LineageStep(object: object(0), name: [], type: .directory)]
      + [
        LineageStep(object: object(parent), name: Array("p\(parent)".utf8), type: .directory),
        LineageStep(object: target, name: Array(leaf.utf8), type: .regular),
      ]
    let entry = Entry(parent: object(parent), name: Array(leaf.utf8))
    let place = Place(directory: Array(steps.dropLast()), name: Array(leaf.utf8))
    let newPlace = Place(directory: place.directory, name: Array("m\(parent)".utf8))
    switch Int.random(in: 0..<12, using: &random) {
    case 10:
      isAnnouncement = true
      make = {
        _ = try $0.intend(
          Intent(
            .rename, target, at: place, to: newPlace,
            fingerprint: Fingerprint(type: .regular, size: 7, modified: stamp)),
          isDurable: true)
      }
    case 11:
      make = { store in _ = try store.intents().first.map { try store.settle($0.id) } }
    case 0: make = { try $0.remove(key, of: target, changed: stamp) }
    case 1: make = { try $0.move(target, from: entry, to: steps) }
    case 2: make = { try $0.discard(target) }
    case 3: make = { try $0.unlink(target, entry, isLast: false) }
    default:
      make = {
        try $0.set(key, to: value, of: target, type: .regular, changed: stamp, lineage: steps)
      }
    }
  }

  func make(in store: any EntryStore) throws { try make(store) }
}
