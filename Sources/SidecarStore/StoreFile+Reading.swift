public import AttributeModel
public import LinuxSystem
import SQLite

/// An object as a tool sees it.
public struct StoredObject: Hashable, Sendable {
  /// The store's own number of it.
  public let id: Int64
  /// How it is known again; nil when it was set aside, or its volume cannot be read.
  public let key: ObjectKey?
  /// What it was when the record was made.
  public let type: FileType
  /// When an attribute last changed, if one ever did.
  public let changed: Timestamp?
  /// It has no name.
  public let isOrphan: Bool
  /// It has attributes.
  public let hasAttributes: Bool
}

/// A name in a directory, and the object that was last seen under it.
public struct StoredEntry: Hashable, Sendable {
  /// The store's number of the directory.
  public let parent: Int64
  /// The name's bytes.
  public let name: [UInt8]
  /// The object there.
  public let object: StoredObject
}

/// A record that was set aside.
public struct QuarantinedRecord: Hashable, Sendable {
  /// The store's number of it.
  public let id: Int64
  /// Why.
  public let reason: String
  /// When, in seconds since 1970.
  public let seconds: Int64
  /// What the object was.
  public let type: FileType
  /// How many attributes it had.
  public let attributes: Int
  /// The last name that it had in its directory, if one is known.
  public let name: [UInt8]?
}

/// What a store holds, piece by piece: a piece is of one moment, and the mount may go on in between.
extension StoreFile {
  /// How many objects there are that were not set aside.
  public func countObjects() throws(StoreError) -> Int {
    try run { () throws(SQLiteError) in
      Int(
        clamping: try database.integer("SELECT COUNT(*) FROM object WHERE key IS NOT NULL") ?? 0)
    }
  }

  /// The objects that were not set aside whose numbers follow `id`, at most `limit` of them.
  public func objects(after id: Int64, limit: Int = 1000) throws(StoreError) -> [StoredObject] {
    try read { (reader) throws(SQLiteError) in
      var found: [StoredObject] = []
      try reader.objects.rows(.integer(id), .integer(Int64(limit))) { (row) throws(SQLiteError) in
        found.append(try StoredObject(row))
      }
      return found
    }
  }

  /// The object of a number.
  public func object(_ id: Int64) throws(StoreError) -> StoredObject? {
    try read { (reader) throws(SQLiteError) in
      try reader.object.first(.integer(id)) { (row) throws(SQLiteError) in try StoredObject(row) }
    }
  }

  /// The object under a key.
  public func object(under key: ObjectKey) throws(StoreError) -> StoredObject? {
    try read { (reader) throws(SQLiteError) in
      try reader.objectUnderKey.first(
        .blob(key.volume.bytes), .text(key.volume.kind.rawValue), .blob(key.bytes)
      ) { (row) throws(SQLiteError) in try StoredObject(row) }
    }
  }

  /// The attributes of an object.
  public func attributes(of id: Int64) throws(StoreError) -> [AttributeName: [UInt8]] {
    try read { (reader) throws(SQLiteError) in
      var found: [AttributeName: [UInt8]] = [:]
      try reader.attributes.rows(.integer(id)) { (row) throws(SQLiteError) in
        let name = try AttributeName(row, 0)
        found[name] =
          reader.hasChecksums
          ? try row.intactValue(1, of: id, name, checksum: 2) : try row.blob(1)
      }
      return found
    }
  }

  /// The attributes of a record that was set aside, also those whose values are not what was kept.
  public func quarantinedAttributes(
    of id: Int64
  ) throws(StoreError) -> [(name: AttributeName, value: [UInt8], isIntact: Bool)] {
    try read { (reader) throws(SQLiteError) in
      var found: [(name: AttributeName, value: [UInt8], isIntact: Bool)] = []
      try reader.attributes.rows(.integer(id)) { (row) throws(SQLiteError) in
        let name = try AttributeName(row, 0)
        let value = try row.blob(1)
        let checksum = row.isNull(2) ? nil : row.integer(2)
        let isIntact = checksum == ValueChecksum.of(id, name.bytes, value)
        found.append((name, value, isIntact || !reader.hasChecksums))
      }
      return found
    }
  }

  /// The names in a directory in the order of their bytes, from the one after `name` on.
  public func entries(
    of directory: Int64, after name: [UInt8]?, limit: Int = 1000
  ) throws(StoreError) -> [StoredEntry] {
    try read { (reader) throws(SQLiteError) in
      var found: [StoredEntry] = []
      let take: (Row) throws(SQLiteError) -> Void = { (row) throws(SQLiteError) in
        found.append(
          StoredEntry(
            parent: directory, name: try row.blob(9), object: try StoredObject(row)))
      }
      let limit = Value.integer(Int64(limit))
      if let name {
        try reader.nextEntries.rows(.integer(directory), .blob(name), limit, body: take)
      } else {
        try reader.firstEntries.rows(.integer(directory), limit, body: take)
      }
      return found
    }
  }

  /// The directories and names under which an object was last seen.
  public func names(of id: Int64) throws(StoreError) -> [(parent: Int64, name: [UInt8])] {
    try read { (reader) throws(SQLiteError) in
      var found: [(parent: Int64, name: [UInt8])] = []
      try reader.names.rows(.integer(id)) { (row) throws(SQLiteError) in
        found.append((row.integer(0), try row.blob(1)))
      }
      return found
    }
  }

  /// The directories that have no name, which is the source's root if all is well.
  public func roots() throws(StoreError) -> [StoredObject] {
    try read { (reader) throws(SQLiteError) in
      var found: [StoredObject] = []
      try reader.roots.rows { (row) throws(SQLiteError) in found.append(try StoredObject(row)) }
      return found
    }
  }

  /// The way from a root to an object, the newest-known first name of each step; nil when there is
  /// none, or it goes round in a circle.
  public func path(of id: Int64, below root: Int64) throws(StoreError) -> [UInt8]? {
    var steps: [[UInt8]] = []
    var current = id
    while current != root {
      guard steps.count < 2048, let step = try names(of: current).first else { return nil }
      steps.append(step.name)
      current = step.parent
    }
    return steps.isEmpty ? Array(".".utf8) : Array(steps.reversed().joined(separator: [0x2f]))
  }

  /// The records that were set aside.
  public func quarantined() throws(StoreError) -> [QuarantinedRecord] {
    try run { () throws(SQLiteError) in
      var found: [QuarantinedRecord] = []
      try database.prepare(
        """
        SELECT quarantine.object, reason, seconds, type,
          (SELECT COUNT(*) FROM attribute WHERE attribute.object = quarantine.object),
          (SELECT name FROM entry WHERE entry.object = quarantine.object LIMIT 1)
        FROM quarantine LEFT JOIN object ON object.id = quarantine.object
        ORDER BY quarantine.object
        """
      ).rows { (row) throws(SQLiteError) in
        found.append(
          QuarantinedRecord(
            id: row.integer(0), reason: row.text(1), seconds: row.integer(2),
            type: FileType(mode: UInt32(truncatingIfNeeded: row.integer(3))),
            attributes: Int(clamping: row.integer(4)),
            name: row.isNull(5) ? nil : try row.blob(5)))
      }
      return found
    }
  }

  /// The file systems that objects are on.
  public func volumes() throws(StoreError) -> [VolumeKey] {
    try run { () throws(SQLiteError) in
      var found: [VolumeKey] = []
      try database.prepare(
        """
        SELECT key, kind FROM volume
        WHERE id IN (SELECT volume FROM object WHERE object.key IS NOT NULL)
        """
      ).rows { (row) throws(SQLiteError) in
        if let kind = IdentityKind(rawValue: row.text(1)) {
          found.append(VolumeKey(bytes: try row.blob(0), kind: kind))
        }
      }
      return found
    }
  }

  private func read<Result>(
    _ body: (StoreFileReader) throws(SQLiteError) -> Result
  ) throws(StoreError) -> Result {
    try run { () throws(SQLiteError) in try body(reader.get()) }
  }
}

/// The statements that read.
struct StoreFileReader {
  let objects: Statement
  let object: Statement
  let objectUnderKey: Statement
  let attributes: Statement
  /// A version without them is read as it is.
  let hasChecksums: Bool
  let firstEntries: Statement
  let nextEntries: Statement
  let names: Statement
  let roots: Statement

  private static let columns = """
    object.id, object.key, object.type, changed_seconds, changed_nanoseconds, orphan,
      volume.key, volume.kind,
      EXISTS (SELECT 1 FROM attribute WHERE attribute.object = object.id)
    """

  init(_ database: Database) throws(SQLiteError) {
    let columns = Self.columns
    objects = try database.prepare(
      """
      SELECT \(columns) FROM object LEFT JOIN volume ON volume.id = object.volume
      WHERE object.id > ?1 AND object.key IS NOT NULL ORDER BY object.id LIMIT ?2
      """)
    object = try database.prepare(
      """
      SELECT \(columns) FROM object LEFT JOIN volume ON volume.id = object.volume
      WHERE object.id = ?1
      """)
    objectUnderKey = try database.prepare(
      """
      SELECT \(columns) FROM volume JOIN object ON object.volume = volume.id AND object.key = ?3
      WHERE volume.key = ?1 AND volume.kind = ?2
      """)
    hasChecksums = try database.integer("PRAGMA user_version") ?? 0 >= Schema.checksumVersion
    attributes = try database.prepare(
      """
      SELECT name, value, \(hasChecksums ? "checksum" : "NULL") FROM attribute
      WHERE object = ?1 ORDER BY name
      """)
    let entries = """
      SELECT \(columns), entry.name FROM entry JOIN object ON object.id = entry.object
        LEFT JOIN volume ON volume.id = object.volume
      WHERE parent = ?1
      """
    firstEntries = try database.prepare("\(entries) ORDER BY entry.name LIMIT ?2")
    nextEntries = try database.prepare(
      "\(entries) AND entry.name > ?2 ORDER BY entry.name LIMIT ?3")
    names = try database.prepare(
      "SELECT parent, name FROM entry WHERE object = ?1 ORDER BY parent, name")
    roots = try database.prepare(
      """
      SELECT \(columns) FROM object LEFT JOIN volume ON volume.id = object.volume
      WHERE object.type = \(FileType.directory.bits) AND orphan = 0 AND object.key IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM entry WHERE entry.object = object.id)
      ORDER BY object.id
      """)
  }
}

extension StoredObject {
  /// From the columns of `StoreFileReader`.
  fileprivate init(_ row: Row) throws(SQLiteError) {
    var key: ObjectKey?
    if !row.isNull(1), let kind = IdentityKind(rawValue: row.text(7)) {
      key = ObjectKey(
        volume: VolumeKey(bytes: try row.blob(6), kind: kind), bytes: try row.blob(1))
    }
    self.init(
      id: row.integer(0), key: key,
      type: FileType(mode: UInt32(truncatingIfNeeded: row.integer(2))),
      changed: row.isNull(3)
        ? nil : Timestamp(seconds: row.integer(3), nanoseconds: row.integer(4)),
      isOrphan: row.integer(5) != 0, hasAttributes: row.integer(8) != 0)
  }
}
