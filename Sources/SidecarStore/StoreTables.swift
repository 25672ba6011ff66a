import AttributeModel
import LinuxSystem
import SQLite

/// The changes that a store knows, as statements of one connection; each inside a transaction that
/// the caller began.
struct StoreTables: Sendable {
  private let findObject: Statement
  private let addVolume: Statement
  private let addObject: Statement
  let setChanged: Statement
  private let setOrphan: Statement
  let setAttribute: Statement
  let removeAttribute: Statement
  private let removeAttributes: Statement
  private let setEntry: Statement
  private let removeEntry: Statement
  private let removeNames: Statement
  private let removeEntries: Statement
  private let removeIntents: Statement
  private let removeObject: Statement
  private let addQuarantined: Statement
  private let removeKey: Statement
  private let setMeta: Statement
  private let readMeta: Statement
  let entries: EntryTables

  init(of database: Database) throws(SQLiteError) {
    findObject = try database.prepare(
      """
      SELECT object.id FROM volume JOIN object ON object.volume = volume.id AND object.key = ?3
      WHERE volume.key = ?1 AND volume.kind = ?2
      """)
    addVolume = try database.prepare("INSERT OR IGNORE INTO volume (key, kind) VALUES (?1, ?2)")
    addObject = try database.prepare(
      """
      INSERT INTO object (volume, key, type, orphan)
      SELECT id, ?3, ?4, ?5 FROM volume WHERE key = ?1 AND kind = ?2 RETURNING id
      """)
    setChanged = try database.prepare(
      "UPDATE object SET changed_seconds = ?2, changed_nanoseconds = ?3 WHERE id = ?1")
    setOrphan = try database.prepare("UPDATE object SET orphan = ?2 WHERE id = ?1")
    setAttribute = try database.prepare(
      """
      INSERT INTO attribute (object, name, value, checksum) VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT (object, name) DO UPDATE SET value = excluded.value, checksum = excluded.checksum
      """)
    removeAttribute = try database.prepare("DELETE FROM attribute WHERE object = ?1 AND name = ?2")
    removeAttributes = try database.prepare("DELETE FROM attribute WHERE object = ?1")
    setEntry = try database.prepare(
      """
      INSERT INTO entry (parent, name, object) VALUES (?1, ?2, ?3)
      ON CONFLICT (parent, name) DO UPDATE SET object = excluded.object
      """)
    removeEntry = try database.prepare(
      "DELETE FROM entry WHERE parent = ?1 AND name = ?2 AND object = ?3")
    removeNames = try database.prepare("DELETE FROM entry WHERE object = ?1")
    removeEntries = try database.prepare("DELETE FROM entry WHERE parent = ?1")
    removeIntents = try database.prepare(
      """
      DELETE FROM intent WHERE object = ?1 OR other = ?1 OR parent = ?1 OR new_parent = ?1
      """)
    removeObject = try database.prepare("DELETE FROM object WHERE id = ?1")
    addQuarantined = try database.prepare(
      """
      INSERT INTO quarantine (object, key, reason, seconds)
      SELECT id, key, ?2, ?3 FROM object WHERE id = ?1
      """)
    removeKey = try database.prepare("UPDATE object SET key = NULL WHERE id = ?1")
    setMeta = try database.prepare(
      """
      INSERT INTO meta (key, value) VALUES (?1, ?2)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value
      """)
    readMeta = try database.prepare("SELECT value FROM meta WHERE key = ?1")
    entries = try EntryTables(of: database)
  }

  func set(
    _ name: AttributeName, to value: [UInt8], of object: ObjectKey, type: FileType,
    changed: Timestamp, lineage: [LineageStep]
  ) throws(SQLiteError) {
    let identifier: Int64
    if let known = try find(object) {
      identifier = known
    } else {
      identifier = try add(object, type, isOrphan: lineage.isEmpty)
      try place(identifier, at: lineage)
    }
    try setAttribute.run(
      .integer(identifier), .blob(name.bytes), .blob(value),
      .integer(ValueChecksum.of(identifier, name.bytes, value)))
    try setChanged.run(
      .integer(identifier), .integer(changed.seconds), .integer(changed.nanoseconds))
  }

  func remove(
    _ name: AttributeName, of object: ObjectKey, changed: Timestamp
  ) throws(SQLiteError) {
    guard let identifier = try find(object),
      try removeAttribute.run(.integer(identifier), .blob(name.bytes)) > 0
    else { return }
    try setChanged.run(
      .integer(identifier), .integer(changed.seconds), .integer(changed.nanoseconds))
  }

  func link(_ object: ObjectKey, at lineage: [LineageStep]) throws(SQLiteError) {
    guard let identifier = try find(object) else { return }
    try setOrphan.run(.integer(identifier), 0)
    try place(identifier, at: lineage)
  }

  func unlink(_ object: ObjectKey, _ entry: Entry, isLast: Bool) throws(SQLiteError) {
    guard let identifier = try find(object) else { return }
    if isLast {
      // Names that were lost underneath, where nobody saw it, are gone as well.
      try removeNames.run(.integer(identifier))
      try setOrphan.run(.integer(identifier), 1)
    } else {
      try remove(entry, of: identifier)
    }
  }

  func move(
    _ object: ObjectKey, from entry: Entry, to lineage: [LineageStep]
  ) throws(SQLiteError) {
    guard let identifier = try find(object) else { return }
    try remove(entry, of: identifier)
    try place(identifier, at: lineage)
  }

  func discard(_ object: ObjectKey) throws(SQLiteError) {
    if let identifier = try find(object) { try discard(identifier) }
  }

  /// Forgets the object of a number.
  func discard(_ identifier: Int64) throws(SQLiteError) {
    try removeAttributes.run(.integer(identifier))
    try removeNames.run(.integer(identifier))
    try removeEntries.run(.integer(identifier))
    try removeIntents.run(.integer(identifier))
    try removeObject.run(.integer(identifier))
  }

  func quarantine(_ object: ObjectKey, because reason: QuarantineReason) throws(SQLiteError) {
    if let identifier = try find(object) { try quarantine(identifier, because: reason) }
  }

  /// Sets the object of a number aside.
  func quarantine(
    _ identifier: Int64, because reason: QuarantineReason
  ) throws(SQLiteError) {
    try addQuarantined.run(
      .integer(identifier), .text(reason.rawValue), .integer(Timestamp.now.seconds))
    try removeKey.run(.integer(identifier))
    try removeIntents.run(.integer(identifier))
  }

  func markOrphan(_ identifier: Int64, _ isOrphan: Bool) throws(SQLiteError) {
    try setOrphan.run(.integer(identifier), isOrphan ? 1 : 0)
  }

  /// Keeps a value of the store's own.
  func setMeta(_ key: String, to value: Int64) throws(SQLiteError) {
    try setMeta.run(.text(key), .integer(value))
  }

  /// The number up to which changes were applied.
  func applied() throws(SQLiteError) -> Int64 {
    try readMeta.first(.text(Schema.appliedKey)) { $0.integer(0) } ?? 0
  }

  func find(_ object: ObjectKey) throws(SQLiteError) -> Int64? {
    let volume = object.volume
    return try findObject.first(
      .blob(volume.bytes), .text(volume.kind.rawValue), .blob(object.bytes)
    ) { row in row.integer(0) }
  }

  func add(
    _ object: ObjectKey, _ type: FileType, isOrphan: Bool
  ) throws(SQLiteError) -> Int64 {
    let volume = Value.blob(object.volume.bytes)
    let kind = Value.text(object.volume.kind.rawValue)
    try addVolume.run(volume, kind)
    var identifier: Int64 = 0
    try addObject.rows(
      volume, kind, .blob(object.bytes), .integer(Int64(type.bits)), isOrphan ? 1 : 0
    ) { row in identifier = row.integer(0) }
    return identifier
  }

  /// Makes the ancestors known, each under its entry, and puts the object under the last one.
  func place(_ identifier: Int64, at lineage: [LineageStep]) throws(SQLiteError) {
    var parent: Int64?
    for (index, step) in lineage.enumerated() {
      let current: Int64
      if index == lineage.count - 1 {
        current = identifier
      } else if let known = try find(step.object) {
        current = known
      } else {
        current = try add(step.object, step.type, isOrphan: false)
      }
      if let parent {
        try put(current, under: step.name, in: parent)
      }
      parent = current
    }
  }

  private func remove(_ entry: Entry, of identifier: Int64) throws(SQLiteError) {
    // Another object may stand there by now: what was moved over this one, or changed places.
    guard let parent = try find(entry.parent) else { return }
    try remove(entry.name, in: parent, of: identifier)
  }

  func remove(_ name: [UInt8], in parent: Int64, of identifier: Int64) throws(SQLiteError) {
    try removeEntry.run(.integer(parent), .blob(name), .integer(identifier))
  }

  func put(_ identifier: Int64, under name: [UInt8], in parent: Int64) throws(SQLiteError) {
    try setEntry.run(.integer(parent), .blob(name), .integer(identifier))
  }
}
