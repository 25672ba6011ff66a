import AttributeModel
import SQLite

/// What tells a value that is as it was kept from one that the disk has changed: SQLite has checksums
/// for its log only, and a byte that flips inside a value breaks no rule of its format.
///
/// The CRC-32 of zlib and PNG, over the object's number (eight bytes, the high one first), the name, a
/// NUL and the value: so a value is also known for another object's, or for that of another name.
/// Every change of up to 32 neighbouring bits is noticed.
enum ValueChecksum {
  /// The checksum of an attribute.
  static func of(_ object: Int64, _ name: [UInt8], _ value: [UInt8]) -> Int64 {
    var checksum = CRC32()
    checksum.add(UInt64(bitPattern: object))
    checksum.add(name)
    checksum.add(UInt8(0))
    checksum.add(value)
    return Int64(checksum.value)
  }
}

extension Row {
  /// A value, if it is what was kept; damage otherwise.
  func intactValue(
    _ column: Int32, of object: Int64, _ name: AttributeName, checksum: Int32
  ) throws(SQLiteError) -> [UInt8] {
    let value = try blob(column)
    guard !isNull(checksum),
      integer(checksum) == ValueChecksum.of(object, name.bytes, value)
    else { throw .unexpected }
    return value
  }
}

/// Values that are not what was kept.
struct DamagedValues {
  /// One of them.
  struct Value {
    let row: Int64
    let object: Int64
    let name: [UInt8]
  }

  /// Reads all values there are.
  static func find(in database: Database) throws(SQLiteError) -> [Value] {
    var found: [Value] = []
    try database.prepare(
      """
      SELECT attribute.rowid, attribute.object, name, value, checksum, quarantine.object
      FROM attribute NOT INDEXED LEFT JOIN quarantine ON quarantine.object = attribute.object
      """
    ).rows { (row) throws(SQLiteError) in
      // What was set aside for its damage has no checksum any more.
      if row.isNull(4) && !row.isNull(5) { return }
      let name = try row.blob(2)
      let checksum = ValueChecksum.of(row.integer(1), name, try row.blob(3))
      if row.isNull(4) || row.integer(4) != checksum {
        found.append(Value(row: row.integer(0), object: row.integer(1), name: name))
      }
    }
    return found
  }

  /// Sets values aside, each as a record of its own, so that the rest of their objects can be read.
  static func setAside(
    _ values: [Value], in database: Database, at seconds: Int64
  ) throws(SQLiteError) {
    let add = try database.prepare(
      """
      INSERT INTO object (volume, key, type) SELECT volume, NULL, type FROM object
      WHERE id = ?1 AND object.key IS NOT NULL RETURNING id
      """)
    let note = try database.prepare(
      """
      INSERT INTO quarantine (object, key, reason, seconds)
      SELECT ?1, object.key, ?2, ?3 FROM object WHERE id = ?4
      """)
    let move = try database.prepare(
      "UPDATE attribute SET object = ?1, checksum = NULL WHERE rowid = ?2")
    for value in values {
      var record: Int64?
      try add.rows(.integer(value.object)) { row in record = row.integer(0) }
      if let record {
        try note.run(
          .integer(record), .text(QuarantineReason.damagedValue.rawValue), .integer(seconds),
          .integer(value.object))
      }
      // What belongs to nothing, or is set aside, stays where it is.
      try move.run(.integer(record ?? value.object), .integer(value.row))
    }
  }

  /// Copies values from a table without checksums.
  static func copy(from table: String, in database: Database) throws(SQLiteError) {
    let add = try database.prepare(
      """
      INSERT INTO attribute (rowid, object, name, value, checksum) VALUES (?1, ?2, ?3, ?4, ?5)
      """)
    try database.prepare("SELECT rowid, object, name, value FROM \(table) NOT INDEXED").rows {
      (row) throws(SQLiteError) in
      let object = row.integer(1)
      let name = try row.blob(2)
      let value = try row.blob(3)
      try add.run(
        .integer(row.integer(0)), .integer(object), .blob(name), .blob(value),
        .integer(ValueChecksum.of(object, name, value)))
    }
  }

  /// Gives a checksum to the values that have none: those that a version without them has kept.
  static func addChecksums(in database: Database) throws(SQLiteError) {
    let set = try database.prepare("UPDATE attribute SET checksum = ?1 WHERE rowid = ?2")
    let read = try database.prepare(
      """
      SELECT rowid, object, name, value FROM attribute
      WHERE rowid > ?1 AND checksum IS NULL ORDER BY rowid LIMIT 100
      """)
    var last = Int64.min
    while true {
      var some: [(row: Int64, checksum: Int64)] = []
      try read.rows(.integer(last)) { (row) throws(SQLiteError) in
        let checksum = ValueChecksum.of(row.integer(1), try row.blob(2), try row.blob(3))
        some.append((row.integer(0), checksum))
      }
      guard let end = some.last else { return }
      for (row, checksum) in some { try set.run(.integer(checksum), .integer(row)) }
      last = end.row
    }
  }
}
