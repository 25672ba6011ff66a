import LinuxSystem
import SQLite

/// The statements that are about names alone.
struct EntryTables: Sendable {
  fileprivate let findEntry: Statement
  fileprivate let countNames: Statement
  fileprivate let addIntent: Statement
  fileprivate let findIntent: Statement
  fileprivate let removeIntent: Statement

  init(of database: Database) throws(SQLiteError) {
    findEntry = try database.prepare(
      """
      SELECT object.id FROM entry JOIN object ON object.id = entry.object
      WHERE parent = ?1 AND name = ?2 AND object.key IS NOT NULL
      """)
    countNames = try database.prepare(
      """
      SELECT COUNT(*) FROM entry JOIN object AS directory ON directory.id = parent
      WHERE entry.object = ?1 AND directory.key IS NOT NULL
      """)
    addIntent = try database.prepare(
      """
      INSERT INTO intent (kind, object, parent, name, other, new_parent, new_name, type, size,
        modified_seconds, modified_nanoseconds)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) RETURNING id
      """)
    findIntent = try database.prepare(
      """
      SELECT kind, object, parent, name, other, new_parent, new_name FROM intent WHERE id = ?1
      """)
    removeIntent = try database.prepare("DELETE FROM intent WHERE id = ?1")
  }
}

extension StoreTables {
  func enter(
    _ object: ObjectKey, type: FileType, at lineage: [LineageStep]
  ) throws(SQLiteError) {
    let identifier = try known(object, type)
    try markOrphan(identifier, false)
    try place(identifier, at: lineage)
  }

  func vacate(_ entry: Entry, because reason: QuarantineReason) throws(SQLiteError) {
    guard let parent = try find(entry.parent),
      let object = try entries.findEntry.first(
        .integer(parent), .blob(entry.name), body: { $0.integer(0) })
    else { return }
    if try names(of: object) > 1 {
      try remove(entry.name, in: parent, of: object)
    } else {
      try quarantine(object, because: reason)
    }
  }

  func intend(_ intent: Intent) throws(SQLiteError) -> IntentID {
    let object = try intent.object.flatMap { (key) throws(SQLiteError) in try find(key) }
    let other = try intent.other.flatMap { (key) throws(SQLiteError) in try find(key) }
    guard let parent = try directory(of: intent.place) else { throw SQLiteError.unexpected }
    let newParent = try intent.newPlace.flatMap { (place) throws(SQLiteError) in
      try directory(of: place)
    }
    var identifier: Int64 = 0
    let fingerprint = intent.fingerprint
    try entries.addIntent.rows(
      .text(intent.kind.rawValue), Value(object), .integer(parent), .blob(intent.place.name),
      Value(other), Value(newParent), intent.newPlace.map { .blob($0.name) } ?? .null,
      .integer(Int64(fingerprint.type.bits)), .integer(fingerprint.size),
      .integer(fingerprint.modified.seconds), .integer(fingerprint.modified.nanoseconds)
    ) { row in identifier = row.integer(0) }
    return IntentID(identifier)
  }

  func settle(_ intent: IntentID) throws(SQLiteError) -> Bool {
    guard
      let found = try entries.findIntent.first(
        .integer(intent.number),
        body: { (row) throws(SQLiteError) in try Announced(row) })
    else { return false }
    try withdraw(intent)
    if found.kind == Intent.Kind.link.rawValue {
      if let object = found.object, let newParent = found.newParent {
        try put(object, under: found.newName, in: newParent)
      }
      return false
    }
    if let object = found.object { try remove(found.name, in: found.parent, of: object) }
    var loser = found.object
    if found.kind != Intent.Kind.remove.rawValue, let newParent = found.newParent {
      if let other = found.other { try remove(found.newName, in: newParent, of: other) }
      loser = found.other
      if let object = found.object { try put(object, under: found.newName, in: newParent) }
      if found.kind == Intent.Kind.exchange.rawValue, let other = found.other {
        try put(other, under: found.name, in: found.parent)
      }
    }
    guard let loser, try names(of: loser) == 0 else { return false }
    try markOrphan(loser, true)
    return true
  }

  func withdraw(_ intent: IntentID) throws(SQLiteError) {
    try entries.removeIntent.run(.integer(intent.number))
  }

  private func known(_ object: ObjectKey, _ type: FileType) throws(SQLiteError) -> Int64 {
    if let identifier = try find(object) { return identifier }
    return try add(object, type, isOrphan: false)
  }

  /// The directory of a place, made known with the way there.
  private func directory(of place: Place) throws(SQLiteError) -> Int64? {
    guard let last = place.directory.last else { return nil }
    let identifier = try known(last.object, last.type)
    try self.place(identifier, at: place.directory)
    return identifier
  }

  private func names(of object: Int64) throws(SQLiteError) -> Int64 {
    try entries.countNames.first(.integer(object)) { $0.integer(0) } ?? 0
  }
}

/// A row of the table of intents, without the fingerprint.
private struct Announced {
  let kind: String
  let object: Int64?
  let parent: Int64
  let name: [UInt8]
  let other: Int64?
  let newParent: Int64?
  let newName: [UInt8]

  init(_ row: Row) throws(SQLiteError) {
    kind = row.text(0)
    object = row.isNull(1) ? nil : row.integer(1)
    parent = row.integer(2)
    name = try row.blob(3)
    other = row.isNull(4) ? nil : row.integer(4)
    newParent = row.isNull(5) ? nil : row.integer(5)
    newName = row.isNull(6) ? [] : try row.blob(6)
  }
}

extension Value {
  fileprivate init(_ number: Int64?) { self = number.map { .integer($0) } ?? .null }
}
