import LinuxSystem
import SQLite

/// What a store says of itself, without a look at the source.
extension StoreFile {
  /// What is wrong with the database; nothing when it is sound. Takes as long as reading it all.
  public func damage() throws(StoreError) -> [String] {
    do throws(SQLiteError) {
      let version = try database.integer("PRAGMA user_version") ?? 0
      let expected = try opening.schema.prefix(version).expectedStatements()
      guard try Schema.statements(in: database) == expected else {
        return ["its tables are not those of version \(version)"]
      }
      if version >= Schema.checksumVersion, !database.hasRoomForChecksums {
        return ["its header says that pages have no checksums"]
      }
      let findings = try database.strings("PRAGMA integrity_check(100)")
      return findings == ["ok"] ? [] : findings
    } catch {
      if error.isDamage { return [error.description] }
      throw StoreError(.failed(error.errno), at: place)
    }
  }

  /// Rows that belong to nothing, and rows that cannot be: a line for each kind, with their number.
  public func looseEnds() throws(StoreError) -> [String] {
    try run { () throws(SQLiteError) in
      var found: [String] = []
      for (what, query) in Self.looseEnds {
        let count = try database.integer("SELECT COUNT(*) FROM \(query)") ?? 0
        if count > 0 { found.append("\(what): \(count)") }
      }
      return found
    }
  }

  private static let looseEnds = [
    (
      "attributes of no object",
      "attribute WHERE NOT EXISTS (SELECT 1 FROM object WHERE id = attribute.object)"
    ),
    ("names that lead from or to no object", "entry WHERE \(looseEntry)"),
    (
      "objects of no file system",
      "object WHERE NOT EXISTS (SELECT 1 FROM volume WHERE volume.id = object.volume)"
    ),
    (
      "objects without a key that are not set aside",
      """
      object WHERE object.key IS NULL
        AND NOT EXISTS (SELECT 1 FROM quarantine WHERE quarantine.object = object.id)
      """
    ),
    (
      "notes on quarantined records that are not there",
      "quarantine WHERE NOT EXISTS (SELECT 1 FROM object WHERE id = quarantine.object)"
    ),
    (
      "attributes that no file can have",
      """
      attribute WHERE typeof(name) <> 'blob' OR typeof(value) <> 'blob'
        OR length(name) NOT BETWEEN 1 AND 255 OR length(value) > 65536
      """
    ),
  ]

  private static let looseEntry = """
    NOT EXISTS (SELECT 1 FROM object WHERE id = entry.parent)
      OR NOT EXISTS (SELECT 1 FROM object WHERE id = entry.object)
    """

  /// Values that are not what was kept, by their checksums: the object's number and the name of each.
  /// Takes as long as reading them all; a version without checksums has none that can be told.
  public func damagedValues() throws(StoreError) -> [(object: Int64, name: [UInt8])] {
    try run { () throws(SQLiteError) in
      guard try database.integer("PRAGMA user_version") ?? 0 >= Schema.checksumVersion else {
        return []
      }
      return try DamagedValues.find(in: database).map { ($0.object, $0.name) }
    }
  }

  /// Sets aside what ``damagedValues()`` found, each value as a record of its own.
  public func setDamagedValuesAside() throws(StoreError) {
    try run { () throws(SQLiteError) in
      try DamagedValues.setAside(
        DamagedValues.find(in: database), in: database, at: Timestamp.now.seconds)
    }
  }

  /// Ties up what ``looseEnds()`` found: attributes are set aside, names and notes go.
  public func tieLooseEnds() throws(StoreError) {
    try run { () throws(SQLiteError) in
      for statement in [
        "DELETE FROM entry WHERE \(Self.looseEntry)",
        "DELETE FROM quarantine WHERE NOT EXISTS (SELECT 1 FROM object WHERE id = object)",
        """
        INSERT INTO volume (id, key, kind)
        SELECT DISTINCT volume, CAST('lost ' || volume AS BLOB), 'inode' FROM object
        WHERE volume NOT IN (SELECT id FROM volume)
        """,
        """
        INSERT OR IGNORE INTO volume (key, kind)
        SELECT CAST('lost' AS BLOB), 'inode' WHERE NOT EXISTS (SELECT 1 FROM volume)
        """,
        """
        INSERT INTO object (id, volume, key, type)
        SELECT DISTINCT object, (SELECT MIN(id) FROM volume), NULL, 0 FROM attribute
        WHERE NOT EXISTS (SELECT 1 FROM object WHERE id = attribute.object)
        """,
        """
        INSERT INTO quarantine (object, key, reason, seconds)
        SELECT id, x'', '\(QuarantineReason.noObject.rawValue)', CAST(strftime('%s') AS INTEGER)
        FROM object WHERE object.key IS NULL
          AND NOT EXISTS (SELECT 1 FROM quarantine WHERE quarantine.object = object.id)
        """,
      ] { try database.execute(statement) }
    }
  }
}
