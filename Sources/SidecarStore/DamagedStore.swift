import LinuxSystem
import SQLite

/// A damaged database, read in two ways: what its pages' checksums vouch for, and whatever is there.
///
/// In a version without such checksums nothing is vouched for.
struct DamagedStore {
  private let sound: Database?
  private let whole: Database
  /// The version that it says it is of.
  let version: Int64

  /// Which changes of the journal it has, by a page that is sound, or that is read as a sound one would
  /// be; nil when that cannot be told.
  var applied: Int64? {
    try? (sound ?? whole).integer("SELECT value FROM meta WHERE key = '\(Schema.appliedKey)'")
  }

  /// Throws when not even the list of tables can be read.
  init(_ path: FileName) throws(SQLiteError) {
    whole = try Database(path, .readOnly)
    try whole.readDespiteDamage()
    _ = try whole.integer("SELECT COUNT(*) FROM sqlite_schema")
    version = (try? whole.integer("PRAGMA user_version")) ?? 0
    sound = try? Self.openSound(path)
  }

  private static func openSound(_ path: FileName) throws(SQLiteError) -> Database {
    let database = try Database(path, .readOnly, checking: .always)
    try database.readDespiteDamage()
    _ = try database.integer("SELECT COUNT(*) FROM sqlite_schema")
    return database
  }

  /// Copies what can be read of a table and told to be right: first what is sound, then of the rest
  /// what something else vouches for. How many rows, and how many parts could not be read.
  func copy(_ table: String, to fresh: Database) throws(SQLiteError) -> (rows: Int, gaps: Int) {
    if table == "entry" { return try copyEntries(to: fresh) }
    var copied = (rows: 0, gaps: 1)
    if let sound {
      copied = try copy(table, from: sound, to: fresh) { _, _, values in values }
      if copied.gaps == 0 { return copied }
    }
    // Where a name went, a wrong one would be worse than none.
    if table == "intent" { return copied }
    let judge = try table == "object" ? DamagedObjects(whole, fresh) : nil
    let rest = try copy(table, from: whole, to: fresh) {
      (row, columns, values) throws(SQLiteError) in
      // Attributes have checksums of their own, which are looked at in the end.
      try judge?.judge(row, columns, values) ?? values
    }
    return (copied.rows + rest.rows, rest.gaps)
  }

  /// A table whose rows have numbers, from both ends towards what cannot be read, and then between.
  private func copy(
    _ table: String, from old: Database, to fresh: Database,
    _ judge: (Int64, [String], [Value]) throws(SQLiteError) -> [Value]
  ) throws(SQLiteError) -> (rows: Int, gaps: Int) {
    let known = (try? old.strings("SELECT name FROM pragma_table_info('\(table)')")) ?? []
    guard
      let columns = try? fresh.strings("SELECT name FROM pragma_table_info('\(table)')")
        .filter({ known.isEmpty || known.contains($0) }),
      let scan = try? RowScan(old, table, columns)
    else { return (0, 1) }
    let marks = columns.indices.map { "?\($0 + 2)" }.joined(separator: ", ")
    let insert = try fresh.prepare(
      """
      INSERT OR IGNORE INTO \(table) (rowid, \(columns.joined(separator: ", ")))
      VALUES (?1, \(marks))
      """)
    var count = 0
    var failure: SQLiteError?
    let gaps = scan.run(tries: old === whole ? 20_000 : 2000) { row, values in
      do throws(SQLiteError) {
        count += try insert.run(values: [.integer(row)] + judge(row, columns, values))
      } catch {
        // Not a row of ours: a constraint of the table forbids it.
        if !error.isConstraint { failure = error }
      }
    }
    if let failure { throw failure }
    return (count, gaps)
  }

  /// Names are there twice: in their table and in its index. One that is on a sound page of either is
  /// taken; of others, those that both have.
  private func copyEntries(to fresh: Database) throws(SQLiteError) -> (rows: Int, gaps: Int) {
    let objects = try fresh.strings("SELECT id FROM object").compactMap { Int64($0) }
    let insert = try fresh.prepare(
      "INSERT OR IGNORE INTO entry (parent, name, object) VALUES (?1, ?2, ?3)")
    var rows = 0
    func take(_ entry: EntryRow) throws(SQLiteError) {
      rows += try insert.run(.integer(entry.parent), .blob(entry.name), .integer(entry.object))
    }
    var gaps = sound == nil ? 1 : 0
    if let sound {
      for copy in EntryRow.Copy.allCases {
        gaps += try copy.read(sound, of: objects) { (entry) throws(SQLiteError) in try take(entry) }
      }
      if gaps == 0 { return (rows, 0) }
    }
    var inTable: Set<EntryRow> = []
    gaps = try EntryRow.Copy.table.read(whole, of: objects) { entry in inTable.insert(entry) }
    gaps += try EntryRow.Copy.index.read(whole, of: objects) { (entry) throws(SQLiteError) in
      if inTable.contains(entry) { try take(entry) }
    }
    return (rows, gaps)
  }
}

/// A name, as it stands in the table and in the index.
private struct EntryRow: Hashable {
  let parent: Int64
  let name: [UInt8]
  let object: Int64

  /// Where it stands.
  enum Copy: String, CaseIterable {
    case table = "entry WHERE parent = ?1"
    case index = "entry INDEXED BY entry_object WHERE object = ?1"

    /// Reads what there is of some objects; how many could not be read.
    func read(
      _ database: Database, of objects: [Int64], _ body: (EntryRow) throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Int {
      guard let query = try? database.prepare("SELECT parent, name, object FROM \(rawValue)") else {
        return 1
      }
      var gaps = 0
      for object in objects {
        var found: [EntryRow] = []
        do throws(SQLiteError) {
          try query.rows(.integer(object)) { (row) throws(SQLiteError) in
            found.append(
              EntryRow(parent: row.integer(0), name: try row.blob(1), object: row.integer(2)))
          }
        } catch {
          gaps += 1
        }
        for entry in found { try body(entry) }
      }
      return gaps
    }
  }
}

/// Records on pages that nobody vouches for.
private struct DamagedObjects {
  private let find: Statement?
  private let note: Statement
  private let seconds = Timestamp.now.seconds

  init(_ old: Database, _ fresh: Database) throws(SQLiteError) {
    // A table's first index of its own is that of its first UNIQUE.
    find = try? old.prepare(
      """
      SELECT 1 FROM object INDEXED BY sqlite_autoindex_object_1
      WHERE volume = ?1 AND key = ?2 AND id = ?3
      """)
    note = try fresh.prepare(
      "INSERT OR IGNORE INTO quarantine (object, key, reason, seconds) VALUES (?1, ?2, ?3, ?4)")
  }

  /// A record as it may be kept. Which object it is of, the table says and its index: when they do not
  /// agree, the record is set aside.
  func judge(
    _ row: Int64, _ columns: [String], _ values: [Value]
  ) throws(SQLiteError) -> [Value] {
    var values = values
    // An orphan would be dropped, and of one that is none nobody would know.
    if let orphan = columns.firstIndex(of: "orphan") { values[orphan] = 0 }
    guard let key = columns.firstIndex(of: "key"), case .blob = values[key] else { return values }
    var isSure = false
    if let volume = columns.firstIndex(of: "volume") {
      try? find?.rows(values[volume], values[key], .integer(row)) { _ in isSure = true }
    }
    if isSure { return values }
    try note.run(
      .integer(row), values[key], .text(QuarantineReason.damagedRecord.rawValue),
      .integer(seconds))
    values[key] = .null
    return values
  }
}
