import Glibc
public import LinuxSystem
import SQLite

/// What was saved of a damaged store.
public struct StoreSalvage: Hashable, Sendable {
  /// What is wrong with it.
  public let damage: String
  /// The name, in the store's directory, under which it is kept now; empty when it is sound and only its
  /// journal was damaged.
  public let kept: String
  /// Rows that were saved, by table.
  public internal(set) var rows: [String: Int] = [:]
  /// Parts of tables that could not be read.
  public internal(set) var gaps = 0
  /// Values that are not what was kept, and were set aside.
  public internal(set) var setAside = 0
  /// What became of a damaged journal.
  public internal(set) var journal: String?
  /// The number up to which the store had applied its journal; nil when that cannot be read.
  var applied: Int64?

  /// For people.
  public var lines: [String] {
    var lines: [String] = []
    if let journal { lines.append(journal) }
    guard !kept.isEmpty else { return lines }
    let saved = ["object", "attribute", "entry", "quarantine"].map { "\(rows[$0] ?? 0) \($0)" }
    lines += [
      "the store was damaged (\(damage)); it is kept as \(kept)",
      "saved rows: \(saved.joined(separator: ", ")); \(gaps) parts could not be read",
    ]
    if setAside > 0 {
      lines.append("\(setAside) damaged values were set aside; see sidecarfs check")
    }
    return lines
  }

  /// Moves a damaged store aside and puts into a new one what can be read of it; nil when it is
  /// sound, and then nothing is changed.
  ///
  /// A store that a mount has, one of a newer version and another program's database are refused.
  public static func run(
    _ directory: consuming FileDescriptor, at place: FileName, for purpose: FileName,
    admission: StoreAdmission
  ) throws(StoreError) -> StoreSalvage? {
    try admission(directory, place)
    let opening = StoreOpening(place: place, directory: directory.procPath, schema: .current)
    guard
      let status = try StoreOwnership.status(
        of: StoreOpening.fileName, in: directory, at: place)
    else { throw StoreError(.missing, at: place) }
    let lock = try StoreLock.take(in: directory, at: place, for: purpose)
    // A process that is being started may have the descriptor for a moment longer.
    defer { try? lock.lockWhole(LOCK_UN) }
    guard let damage = try damage(of: opening, status, in: directory) else {
      return try journalAlone(opening, in: directory)
    }
    var salvage = StoreSalvage(
      damage: damage, kept: "\(StoreOpening.fileName).damaged-\(Timestamp.now.seconds)")
    // Made beside, so that whoever comes after a crash finds the damaged store or the saved one.
    let workshop = try workshop(in: directory, at: place)
    try salvage.fill(workshop, from: opening.path)
    if salvage.applied == nil {
      try salvage.setJournalAside(in: directory, at: place, "what the store had of it is unknown")
    }
    try salvage.exchange(directory, workshop, at: place)
    return salvage
  }

  /// An empty directory in the store's.
  private static func workshop(
    in directory: borrowing FileDescriptor, at place: FileName
  ) throws(StoreError) -> FileDescriptor {
    do throws(Errno) {
      do throws(Errno) { try directory.makeDirectory(workshopName, mode: 0o700) } catch {
        if error != .exists { throw error }
      }
      let workshop = try directory.open(workshopName, [.path, .directory, .noFollow])
      for suffix in ["", "-wal", "-shm"] {
        do throws(Errno) { try workshop.unlink(FileName(StoreOpening.fileName + suffix)) } catch {
          if error != .noEntry { throw error }
        }
      }
      return workshop
    } catch {
      throw StoreError(error == .readOnly ? .readOnly : .failed(error), at: place)
    }
  }

  private static let workshopName = FileName("salvage")

  /// Puts a new store into a directory, with what can be read of a damaged one.
  private mutating func fill(
    _ workshop: borrowing FileDescriptor, from damaged: FileName
  ) throws(StoreError) {
    let opening = StoreOpening(
      place: Self.workshopName, directory: workshop.procPath, schema: .current)
    try opening.makeFile(in: workshop)
    let fresh = try opening.openDatabase(in: workshop)
    do throws(SQLiteError) {
      try fresh.execute("BEGIN IMMEDIATE")
      try copy(from: damaged, to: fresh)
      let values = try DamagedValues.find(in: fresh)
      try DamagedValues.setAside(values, in: fresh, at: Timestamp.now.seconds)
      setAside = values.count
      try fresh.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('clean', 1)")
      try fresh.execute("COMMIT")
      fresh.keepLogOnClose(false)
      try fresh.checkpoint()
    } catch {
      throw StoreError(.failed(error.errno), at: opening.place)
    }
  }

  /// The saved store takes the damaged one's place, which gets another name.
  private func exchange(
    _ directory: borrowing FileDescriptor, _ workshop: borrowing FileDescriptor,
    at place: FileName
  ) throws(StoreError) {
    let name = FileName(StoreOpening.fileName)
    let log = FileName(StoreOpening.fileName + "-wal")
    do throws(Errno) {
      // SQLite would put an old log into the new database.
      do throws(Errno) {
        try directory.rename(log, to: directory, FileName("\(kept)-wal"), .noReplace)
      } catch {
        if error != .noEntry { throw error }
      }
      try? directory.unlink(FileName(StoreOpening.fileName + "-shm"))
      do throws(Errno) {
        try workshop.rename(name, to: directory, name, .exchange)
        try workshop.rename(name, to: directory, FileName(kept), .noReplace)
      } catch .invalidArgument {
        // This file system cannot swap names.
        try directory.rename(name, to: directory, FileName(kept), .noReplace)
        try workshop.rename(name, to: directory, name, .noReplace)
      }
      try directory.reopen([.readOnly, .directory]).sync()
      try directory.removeDirectory(Self.workshopName)
    } catch {
      throw StoreError(error == .readOnly ? .readOnly : .failed(error), at: place)
    }
  }

  /// What is wrong; a header that is not SQLite's is damage too, as it is our name that it has.
  private static func damage(
    of opening: StoreOpening, _ status: FileStatus, in directory: borrowing FileDescriptor
  ) throws(StoreError) -> String? {
    do throws(StoreError) {
      try opening.checkHeader(in: directory)
      let database = try opening.openDatabase(in: directory)
      let findings = try opening.attempt { () throws(SQLiteError) in
        try database.strings("PRAGMA integrity_check(1)")
      }
      return findings == ["ok"] ? nil : findings.first ?? "no answer"
    } catch {
      switch error.reason {
      case .damaged(let detail): return detail
      case .notADatabase: return "no database"
      default: throw error
      }
    }
  }

  private mutating func copy(from path: FileName, to fresh: Database) throws(SQLiteError) {
    let old: DamagedStore
    do throws(SQLiteError) {
      old = try DamagedStore(path)
    } catch {
      // Nothing can be read without the list of tables.
      gaps += 1
      return
    }
    for table in ["volume", "object", "attribute", "quarantine", "intent", "entry"] {
      let copied = try old.copy(table, to: fresh)
      rows[table] = copied.rows
      gaps += copied.gaps
    }
    applied = old.applied
    if let applied {
      try fresh.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)").run(
        .text(Schema.appliedKey), .integer(applied))
    }
    // An older version has no checksums.
    if old.version < Schema.checksumVersion { try DamagedValues.addChecksums(in: fresh) }
  }
}
