import AttributeModel
import LinuxSystem
import SQLite

/// A connection that only reads, with its statements. Each question is one statement, so that its
/// answer is of one moment.
final class StoreReader: Sendable {
  private let findRecord: Statement
  private let count: Statement
  private let findOrphans: Statement
  private let findEntry: Statement
  private let findIntents: Statement
  private let findStep: Statement
  private let findApplied: Statement

  convenience init(_ path: FileName) throws(SQLiteError) {
    try self.init(Database.ofStore(path, .readOnly))
  }

  init(_ database: Database) throws(SQLiteError) {
    findRecord = try database.prepare(
      """
      SELECT object.type, changed_seconds, changed_nanoseconds, orphan,
        attribute.object, attribute.name, attribute.value,
        EXISTS (SELECT 1 FROM entry JOIN object AS directory ON directory.id = parent
          WHERE entry.object = object.id AND directory.key IS NOT NULL),
        attribute.checksum
      FROM volume JOIN object ON object.volume = volume.id AND object.key = ?3
        LEFT JOIN attribute ON attribute.object = object.id
      WHERE volume.key = ?1 AND volume.kind = ?2
      """)
    findOrphans = try database.prepare(
      """
      SELECT volume.key, volume.kind, object.key FROM object JOIN volume ON volume.id = volume
      WHERE orphan <> 0 AND object.key IS NOT NULL
      """)
    count = try database.prepare(
      """
      SELECT (SELECT COUNT(*) FROM object WHERE key IS NOT NULL),
        (SELECT COUNT(*) FROM attribute)
          - (SELECT COUNT(*) FROM quarantine JOIN attribute USING (object)),
        (SELECT COUNT(*) FROM object WHERE key IS NOT NULL AND orphan <> 0),
        (SELECT COUNT(*) FROM quarantine)
      """)
    findEntry = try database.prepare(
      """
      SELECT object.key, of.key, of.kind
      FROM volume JOIN object AS directory ON directory.volume = volume.id AND directory.key = ?3
        JOIN entry ON parent = directory.id AND name = ?4
        JOIN object ON object.id = entry.object JOIN volume AS of ON of.id = object.volume
      WHERE volume.key = ?1 AND volume.kind = ?2 AND object.key IS NOT NULL
      """)
    findIntents = try database.prepare(
      """
      SELECT id, kind, object, parent, name, other, new_parent, new_name, type, size,
        modified_seconds, modified_nanoseconds
      FROM intent ORDER BY id
      """)
    findApplied = try database.prepare(
      "SELECT value FROM meta WHERE key = '\(Schema.appliedKey)'")
    findStep = try database.prepare(
      """
      SELECT object.key, volume.key, kind, type, parent, name
      FROM object JOIN volume ON volume.id = object.volume LEFT JOIN entry ON entry.object = object.id
      WHERE object.id = ?1 AND object.key IS NOT NULL ORDER BY parent, name LIMIT 1
      """)
  }

  func object(at entry: Entry) throws(SQLiteError) -> ObjectKey? {
    let volume = entry.parent.volume
    return try findEntry.first(
      .blob(volume.bytes), .text(volume.kind.rawValue), .blob(entry.parent.bytes),
      .blob(entry.name)
    ) { (row) throws(SQLiteError) in
      ObjectKey(volume: try VolumeKey(row, 1, 2), bytes: try row.blob(0))
    }
  }

  /// Many statements, so other changes may come between: only for when nobody makes any.
  func intents() throws(SQLiteError) -> [PendingIntent] {
    var found: [PendingIntent] = []
    try findIntents.rows { (row) throws(SQLiteError) in
      guard let kind = Intent.Kind(rawValue: row.text(1)),
        let mode = UInt32(exactly: row.integer(8))
      else { throw SQLiteError.unexpected }
      func object(_ column: Int32) throws(SQLiteError) -> ObjectKey? {
        row.isNull(column) ? nil : try way(to: row.integer(column)).last?.object
      }
      let intent = Intent(
        kind, try object(2),
        at: Place(directory: try way(to: row.integer(3)), name: try row.blob(4)),
        other: try object(5),
        to: row.isNull(6)
          ? nil : Place(directory: try way(to: row.integer(6)), name: try row.blob(7)),
        fingerprint: Fingerprint(
          type: FileType(mode: mode), size: row.integer(9),
          modified: Timestamp(seconds: row.integer(10), nanoseconds: row.integer(11))))
      found.append(PendingIntent(IntentID(row.integer(0)), intent))
    }
    return found
  }

  private func way(to object: Int64) throws(SQLiteError) -> [LineageStep] {
    var steps: [LineageStep] = []
    var next: Int64? = object
    // Only damage makes a circle of directories.
    var seen: Set<Int64> = []
    while let current = next, seen.insert(current).inserted {
      next = nil
      try findStep.rows(.integer(current)) { (row) throws(SQLiteError) in
        guard let mode = UInt32(exactly: row.integer(3)) else { throw SQLiteError.unexpected }
        let key = ObjectKey(volume: try VolumeKey(row, 1, 2), bytes: try row.blob(0))
        let name = row.isNull(5) ? [] : try row.blob(5)
        steps.append(LineageStep(object: key, name: name, type: FileType(mode: mode)))
        if !row.isNull(4) { next = row.integer(4) }
      }
    }
    return steps.reversed()
  }

  func record(of object: ObjectKey) throws(SQLiteError) -> ObjectRecord? {
    let volume = object.volume
    var record: ObjectRecord?
    try findRecord.rows(
      .blob(volume.bytes), .text(volume.kind.rawValue), .blob(object.bytes)
    ) { (row) throws(SQLiteError) in
      if record == nil {
        record = try ObjectRecord(row)
        record?.isNamed = row.integer(7) != 0
      }
      if row.isNull(4) { return }
      let name = try AttributeName(row, 5)
      record?.attributes[name] = try row.intactValue(6, of: row.integer(4), name, checksum: 8)
    }
    return record
  }

  func applied() throws(SQLiteError) -> Int64 { try findApplied.first { $0.integer(0) } ?? 0 }

  func orphans() throws(SQLiteError) -> [ObjectKey] {
    var found: [ObjectKey] = []
    try findOrphans.rows { (row) throws(SQLiteError) in
      guard let kind = IdentityKind(rawValue: row.text(1)) else { throw SQLiteError.unexpected }
      found.append(
        ObjectKey(
          volume: VolumeKey(bytes: try row.blob(0), kind: kind), bytes: try row.blob(2)))
    }
    return found
  }

  func counts() throws(SQLiteError) -> StoreCounts {
    let counts = try count.first { row in
      StoreCounts(
        objects: Int(clamping: row.integer(0)), attributes: Int(clamping: row.integer(1)),
        orphans: Int(clamping: row.integer(2)), quarantined: Int(clamping: row.integer(3)))
    }
    guard let counts else { throw SQLiteError.unexpected }
    return counts
  }
}

extension ObjectRecord {
  /// From columns 0 to 3: type, seconds, nanoseconds, orphan.
  init(_ row: Row) throws(SQLiteError) {
    guard let mode = UInt32(exactly: row.integer(0)) else { throw SQLiteError.unexpected }
    let changed =
      row.isNull(1)
      ? nil : Timestamp(seconds: row.integer(1), nanoseconds: row.integer(2))
    self.init(
      type: FileType(mode: mode), changed: changed, isOrphan: row.integer(3) != 0, attributes: [:])
  }
}

extension AttributeName {
  /// From a column; what cannot be a name is damage.
  init(_ row: Row, _ column: Int32) throws(SQLiteError) {
    let bytes = try row.blob(column)
    guard let name = try? AttributeName(bytes) else { throw SQLiteError.unexpected }
    self = name
  }
}
