package import SQLite

/// How a store's tables came to be: one list of statements for each version, and each version made
/// from the one before. A new store takes every step, an older one those that it lacks.
package struct Schema: Sendable {
  /// What makes a version.
  package struct Step: Sendable, ExpressibleByArrayLiteral {
    let statements: [String]
    /// What is done afterwards that SQL cannot say.
    let filling: @Sendable (Database) throws(SQLiteError) -> Void

    init(
      _ statements: [String],
      filling: @escaping @Sendable (Database) throws(SQLiteError) -> Void = {
        (_) throws(SQLiteError) in
      }
    ) {
      self.statements = statements
      self.filling = filling
    }

    package init(arrayLiteral statements: String...) { self.init(statements) }
  }

  package let steps: [Step]

  package init(steps: [Step]) { self.steps = steps }

  /// What `user_version` says when all steps are taken.
  package var version: Int64 { Int64(steps.count) }

  /// The schema as it was at an earlier version.
  func prefix(_ version: Int64) -> Schema {
    Schema(steps: Array(steps.prefix(Int(clamping: version))))
  }

  /// "SCFS", which file(1) and we know the database by.
  package static let applicationID: Int64 = 0x5343_4653

  /// The present one.
  package static let current = Schema(steps: [Step(version1), version2, version3])

  /// Takes the steps that follow `version`, inside a transaction of the caller's.
  package func upgrade(_ database: Database, from version: Int64) throws(SQLiteError) {
    for step in steps.dropFirst(Int(clamping: version)) {
      for statement in step.statements { try database.execute(statement) }
      try step.filling(database)
    }
    try database.execute("PRAGMA application_id = \(Self.applicationID)")
    try database.execute("PRAGMA user_version = \(self.version)")
  }

  /// The statements that SQLite remembers, of everything that can be made in a database; its own
  /// bookkeeping left out.
  package static func statements(in database: Database) throws(SQLiteError) -> [String] {
    try database.strings(
      "SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name")
  }

  /// What ``statements(in:)`` says when nobody has meddled.
  package func expectedStatements() throws(SQLiteError) -> [String] {
    let database = try Database.inMemory()
    try upgrade(database, from: 0)
    return try Self.statements(in: database)
  }

  /// Values have checksums. A column that is added would stand in a statement that differs between
  /// versions of SQLite, so the table is made anew.
  private static let version2 = Step(
    [
      "ALTER TABLE attribute RENAME TO attribute_1",
      """
      CREATE TABLE attribute (
        object INTEGER NOT NULL REFERENCES object,
        name BLOB NOT NULL,
        value BLOB NOT NULL,
        checksum INTEGER,
        PRIMARY KEY (object, name)
      )
      """,
    ]
  ) { (database) throws(SQLiteError) in
    try DamagedValues.copy(from: "attribute_1", in: database)
    try database.execute("DROP TABLE attribute_1")
  }

  /// There may be a journal beside the database, which an older release would not bring into it.
  private static let version3: Step = [
    "INSERT OR IGNORE INTO meta (key, value) VALUES ('applied', 0)"
  ]

  /// Under which key the number of the last change is kept that came by number.
  static let appliedKey = "applied"

  /// From which version on values have checksums.
  static let checksumVersion: Int64 = 2

  private static let version1 = [
    """
    CREATE TABLE meta (
      key TEXT PRIMARY KEY,
      value NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE volume (
      id INTEGER PRIMARY KEY,
      key BLOB NOT NULL,
      kind TEXT NOT NULL,
      UNIQUE (key, kind)
    )
    """,
    """
    CREATE TABLE object (
      id INTEGER PRIMARY KEY,
      volume INTEGER NOT NULL REFERENCES volume,
      key BLOB,
      type INTEGER NOT NULL,
      changed_seconds INTEGER,
      changed_nanoseconds INTEGER,
      orphan INTEGER NOT NULL DEFAULT 0,
      UNIQUE (volume, key)
    )
    """,
    """
    CREATE TABLE entry (
      parent INTEGER NOT NULL REFERENCES object,
      name BLOB NOT NULL,
      object INTEGER NOT NULL REFERENCES object,
      PRIMARY KEY (parent, name)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX entry_object ON entry (object)",
    // With rowid: in a table without, each comparison on the way to a row would read the whole row
    // that it is compared with, up to 64 KiB of value.
    """
    CREATE TABLE attribute (
      object INTEGER NOT NULL REFERENCES object,
      name BLOB NOT NULL,
      value BLOB NOT NULL,
      PRIMARY KEY (object, name)
    )
    """,
    """
    CREATE TABLE quarantine (
      object INTEGER PRIMARY KEY REFERENCES object,
      key BLOB NOT NULL,
      reason TEXT NOT NULL,
      seconds INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE intent (
      id INTEGER PRIMARY KEY,
      kind TEXT NOT NULL,
      object INTEGER REFERENCES object,
      parent INTEGER NOT NULL REFERENCES object,
      name BLOB NOT NULL,
      other INTEGER REFERENCES object,
      new_parent INTEGER REFERENCES object,
      new_name BLOB,
      type INTEGER NOT NULL,
      size INTEGER NOT NULL,
      modified_seconds INTEGER NOT NULL,
      modified_nanoseconds INTEGER NOT NULL
    )
    """,
  ]
}
