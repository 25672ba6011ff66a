import Foundation
import LinuxSystem
import Testing

@testable import SidecarStore

/// A store with a journal, whose daemon dies as often as a test wants.
final class JournalStage {
  let directory: TemporaryDirectory
  /// Nothing reaches the store before somebody asks for it.
  var holdsBack = false {
    didSet { if holdsBack != oldValue { reopenForDelay() } }
  }
  private let kind: StoreKind
  private var base: (any NumberedStore)?
  private var journaled: JournaledStore?

  var store: JournaledStore {
    guard let journaled else { fatalError("the store is closed") }
    return journaled
  }

  init(_ kind: StoreKind) throws {
    self.kind = kind
    directory = try TemporaryDirectory()
    try openAgain()
  }

  deinit { journaled?.abandon() }

  /// Opens as a mount does: what a journal has comes into the store first.
  func openAgain() throws {
    switch kind {
    case .sqlite: base = try openReleased()
    case .memory:
      let memory = base as? MemoryStore ?? MemoryStore()
      let contents = try Journal.read(in: directory.open(), after: memory.applied())
      #expect(contents.damage == nil)
      if let last = contents.changes.last {
        try memory.apply(contents.changes, upTo: last.number, isPromised: true)
      }
      try Journal.remove(from: directory.open())
      base = memory
    }
    guard let base else { return }
    journaled = try JournaledStore(
      base, in: directory.open(), delay: holdsBack ? 1_000_000 : JournalState.delay)
  }

  /// The thread that was told to end has the store for a moment longer.
  private func openReleased() throws -> SQLiteStore {
    let deadline = ContinuousClock.now + .seconds(20)
    while true {
      do {
        return try openStore(in: directory)
      } catch let error as StoreError {
        guard case .inUse = error.reason, ContinuousClock.now < deadline else { throw error }
        usleep(1000)
      }
    }
  }

  private func reopenForDelay() {
    do {
      try end()
    } catch {
      Issue.record("\(error)")
    }
  }

  /// The daemon dies.
  func kill() {
    journaled?.abandon()
    journaled = nil
    // SQLite's files stay as they are: what a closed connection would do is not of interest.
    if kind == .sqlite { base = nil }
  }

  /// The daemon dies, and another comes.
  func die() throws {
    kill()
    try openAgain()
  }

  /// The daemon ends in good order, and another comes.
  func end() throws {
    try store.close()
    if let sqlite = base as? SQLiteStore { try sqlite.close() }
    journaled = nil
    if kind == .sqlite { base = nil }
    try openAgain()
  }

  func dump() throws -> StoreContents {
    try store.apply()
    guard let base else { throw Errno.invalidArgument }
    return try SidecarStoreTests.dump(base)
  }

  func read() throws -> StoreFile {
    try StoreFile.reading(
      directory.open(), at: FileName(directory.path), for: FileName("check"),
      admission: StoreOwnership.anybody)
  }

  func change() throws -> StoreFile {
    try StoreFile.changing(
      directory.open(), at: FileName(directory.path), for: FileName("check"),
      admission: StoreOwnership.anybody)
  }

  func salvage() throws -> StoreSalvage? {
    try StoreSalvage.run(
      directory.open(), at: FileName(directory.path), for: FileName("check"),
      admission: StoreOwnership.anybody)
  }

  /// What is in the directory.
  func files() throws -> [String: Data] { try directory.snapshot() }

  /// Puts back what was in the directory.
  func restore(_ files: [String: Data]) throws {
    for name in try directory.names() {
      try FileManager.default.removeItem(atPath: "\(directory.path)/\(name)")
    }
    for (name, data) in files {
      try data.write(to: URL(fileURLWithPath: "\(directory.path)/\(name)"))
    }
  }
}
