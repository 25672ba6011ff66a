import LinuxSystem
import SQLite

/// What a journal has that was left beside a database.
extension StoreOpening {
  /// What the journal has for a database.
  func journal(
    of database: Database, in directory: borrowing FileDescriptor
  ) throws(StoreError) -> Journal.Contents {
    let applied = try attempt { () throws(SQLiteError) in try Self.applied(in: database) }
    do throws(Errno) {
      return try Journal.read(in: directory, after: applied)
    } catch {
      throw StoreError(.unreachable(error), at: place)
    }
  }

  /// Brings into a database what its journal has for it, for whoever has the store's lock. The journal
  /// has to stay until the disk has the database.
  ///
  /// A journal that lacks what it promised is refused: see ``StoreSalvage``.
  func replayJournal(
    into database: Database, in directory: borrowing FileDescriptor
  ) throws(StoreError) {
    let contents = try journal(of: database, in: directory)
    if let damage = contents.damage { throw StoreError(.damagedJournal(damage), at: place) }
    try replay(contents.changes, into: database)
  }

  func replay(_ changes: [NumberedChange], into database: Database) throws(StoreError) {
    guard let last = changes.last else { return }
    try attempt { () throws(SQLiteError) in
      // Left behind when it fails: the connection is closed then, and with it the transaction.
      try database.execute("BEGIN IMMEDIATE")
      try StoreTables(of: database).apply(changes, upTo: last.number)
      try database.execute("COMMIT")
    }
  }

  /// Removes the journal of a database that is on the disk with all that the journal had.
  func removeJournal(from directory: borrowing FileDescriptor) throws(StoreError) {
    do throws(Errno) {
      try Journal.remove(from: directory)
    } catch {
      throw StoreError(error == .readOnly ? .readOnly : .unreachable(error), at: place)
    }
  }

  /// A database to read with all that its journal had when this was called, without a change to
  /// either: that of a mount, which applies its journal, once it has come so far; else a copy.
  func withJournal(
    _ database: Database, in directory: borrowing FileDescriptor, isMounted: Bool
  ) throws(StoreError) -> Database {
    let contents: Journal.Contents
    do throws(StoreError) {
      contents = try journal(of: database, in: directory)
    } catch {
      // Whoever asks for more of a damaged database hears of it, or looks for the damage itself.
      if case .damaged = error.reason { return database }
      throw error
    }
    if isMounted {
      try wait(until: contents.changes.last?.number ?? 0, in: database)
      return database
    }
    if let damage = contents.damage { throw StoreError(.damagedJournal(damage), at: place) }
    if contents.changes.isEmpty { return database }
    let copy = try attempt { () throws(SQLiteError) in
      let copy = try Database.temporary()
      try database.copy(into: copy)
      return copy
    }
    try replay(contents.changes, into: copy)
    return copy
  }

  private func wait(until number: Int64, in database: Database) throws(StoreError) {
    let pause = Lock(())
    for _ in 0..<Self.patience {
      let applied = try attempt { () throws(SQLiteError) in try Self.applied(in: database) }
      if applied >= number { return }
      let _: Void? = pause.wait(for: Condition(), milliseconds: 5) { _ in nil }
    }
    throw StoreError(.lagging, at: place)
  }

  /// How often a mount's database is looked at, every five milliseconds, until it should have all.
  private static let patience = 2000

  private static func applied(in database: Database) throws(SQLiteError) -> Int64 {
    try database.integer("SELECT value FROM meta WHERE key = '\(Schema.appliedKey)'") ?? 0
  }
}
