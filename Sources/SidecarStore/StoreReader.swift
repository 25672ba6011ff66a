import AttributeModel
import LinuxSystem
import SQLite

/// A connection that only reads, with its statements. Each question is one statement, so that its
/// answer is of one moment.
final class StoreReader: Sendable {
  private let findRecord: Statement
  private let count: Statement
  private let findOrphans: Statement

  init(_ path: FileName) throws(SQLiteError) {
    let database = try Database(path, .readOnly)
    findRecord = try database.prepare(
      """
      SELECT object.type, changed_seconds, changed_nanoseconds, orphan,
        attribute.object, attribute.name, attribute.value
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
  }

  func record(of object: ObjectKey) throws(SQLiteError) -> ObjectRecord? {
    let volume = object.volume
    var record: ObjectRecord?
    try findRecord.rows(
      .blob(volume.bytes), .text(volume.kind.rawValue), .blob(object.bytes)
    ) { (row) throws(SQLiteError) in
      if record == nil { record = try ObjectRecord(row) }
      if row.isNull(4) { return }
      record?.attributes[try AttributeName(row, 5)] = try row.blob(6)
    }
    return record
  }

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
