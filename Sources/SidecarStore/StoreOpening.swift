import LinuxSystem
import SQLite

/// The steps from a directory to a database that can be trusted.
struct StoreOpening {
  let place: FileName
  /// The directory by its descriptor, as a path.
  let directory: FileName
  let schema: Schema

  static let fileName = "store.db"
  var path: FileName { path(of: Self.fileName) }

  /// Turns away other people's files before SQLite touches them: it would leave its own beside.
  func checkHeader(in directory: borrowing FileDescriptor) throws(StoreError) {
    guard let status = try StoreOwnership.status(of: Self.fileName, in: directory, at: place),
      status.size > 0
    else { return }
    let header: [UInt8]
    do throws(Errno) {
      let file = try directory.open(FileName(Self.fileName), [.readOnly, .noFollow, .nonBlocking])
      header = try file.read(at: 0, count: 100)
    } catch {
      throw StoreError(.unreachable(error), at: place)
    }
    // The power failed while the first page was written: with the journal it becomes empty again.
    if status.size <= 4096, header.allSatisfy({ $0 == 0 }),
      try StoreOwnership.status(of: Self.fileName + "-journal", in: directory, at: place) != nil
    {
      return
    }
    // "The Database Header" of SQLite's file format; numbers have their high byte first.
    guard header.count == 100, header.starts(with: Array("SQLite format 3\0".utf8)) else {
      throw StoreError(.notADatabase, at: place)
    }
    func number(at offset: Int) -> Int64 {
      header[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) }
    }
    // With one page, there is nothing in it yet: the making of a store was cut short.
    let isEmpty = status.size <= 4096
    try check(applicationID: number(at: 68), version: number(at: 60), isEmpty: isEmpty)
  }

  /// Makes a file for its owner only; SQLite gives those that it puts beside it the same mode.
  func makeFile(
    _ name: String = fileName, in directory: borrowing FileDescriptor
  ) throws(StoreError) {
    do throws(Errno) {
      _ = try directory.open(FileName(name), [.readWrite, .create, .noFollow], mode: 0o600)
    } catch {
      throw StoreError(error == .readOnly ? .readOnly : .unreachable(error), at: place)
    }
  }

  /// Opens the database, checks it, and brings it to the present version.
  func openDatabase(in directory: borrowing FileDescriptor) throws(StoreError) -> Database {
    let database = try attempt { () throws(SQLiteError) in try Database.ofStore(path, .readWrite) }
    // Until it is known to be ours, closing it must not move the log into it; an empty log may go.
    let log = try StoreOwnership.status(of: Self.fileName + "-wal", in: directory, at: place)
    database.keepLogOnClose(log.map { $0.size > 0 } ?? false)
    let version = try checkOrigin(of: database)
    if database.isReadOnly { throw StoreError(.readOnly, at: place) }
    // Damage must be found before anything is built on it.
    if version > 0 { try checkSoundness(of: database) }
    if version == 0 { try markAsOurs(database) }
    if version >= Schema.checksumVersion, !database.hasRoomForChecksums {
      throw StoreError(.damaged("its header"), at: place)
    }
    try useLog(database)
    if version < schema.version {
      try upgrade(database, from: version, in: directory)
    }
    try attempt { () throws(SQLiteError) in
      try database.execute("PRAGMA synchronous = NORMAL")
      // A log that grew while a reader held on to it is cut again, to so many bytes.
      try database.execute("PRAGMA journal_size_limit = 16777216")
    }
    return database
  }

  /// Runs statements; what SQLite throws becomes what a person can do something about.
  func attempt<Result>(
    _ body: () throws(SQLiteError) -> Result
  ) throws(StoreError) -> Result {
    do throws(SQLiteError) {
      return try body()
    } catch {
      let reason: StoreError.Reason =
        if error.isNotADatabase {
          .notADatabase
        } else if error.isDamage {
          .damaged(error.description)
        } else if error.errno == .readOnly {
          .readOnly
        } else {
          .unreachable(error.errno)
        }
      throw StoreError(reason, at: place)
    }
  }

  func path(of name: String) -> FileName { FileName("\(directory)/\(name)") }

  private func check(applicationID: Int64, version: Int64, isEmpty: Bool) throws(StoreError) {
    let isNew = applicationID == 0 && version == 0 && isEmpty
    guard applicationID == Schema.applicationID || isNew else {
      throw StoreError(.foreign(applicationID: applicationID), at: place)
    }
    guard version <= schema.version else {
      throw StoreError(.newer(version: version, supported: schema.version), at: place)
    }
  }

  /// The version; once more, because the header in the log is newer than that in the file.
  private func checkOrigin(of database: Database) throws(StoreError) -> Int64 {
    let (identifier, version, isEmpty) = try attempt { () throws(SQLiteError) in
      (
        try database.integer("PRAGMA application_id") ?? 0,
        try database.integer("PRAGMA user_version") ?? 0,
        try database.integer("SELECT COUNT(*) FROM sqlite_schema") == 0
      )
    }
    try check(applicationID: identifier, version: version, isEmpty: isEmpty)
    return version
  }

  private func checkSoundness(of database: Database) throws(StoreError) {
    let problem = try attempt { () throws(SQLiteError) -> String? in
      let expected = try schema.prefix(try database.integer("PRAGMA user_version") ?? 0)
        .expectedStatements()
      guard try Schema.statements(in: database) == expected else { return "other tables" }
      if try database.integer("SELECT value FROM meta WHERE key = 'clean'") == 1 { return nil }
      let findings = try database.strings("PRAGMA quick_check(1)")
      return findings == ["ok"] ? nil : findings.first ?? "no answer"
    }
    if let problem { throw StoreError(.damaged(problem), at: place) }
  }

  /// Before there is a log: what is only there may reach the file after the pages behind the first,
  /// and a file that the power left so would not be known for ours.
  private func markAsOurs(_ database: Database) throws(StoreError) {
    try attempt { () throws(SQLiteError) in
      try database.makeRoomForChecksums()
      try database.execute("PRAGMA application_id = \(Schema.applicationID)")
    }
  }

  private func useLog(_ database: Database) throws(StoreError) {
    let mode = try attempt { () throws(SQLiteError) in
      try database.strings("PRAGMA journal_mode = WAL")
    }
    guard mode == ["wal"] else { throw StoreError(.noSharedMemory, at: place) }
  }

  private func upgrade(
    _ database: Database, from version: Int64, in directory: borrowing FileDescriptor
  ) throws(StoreError) {
    if version > 0 {
      let backup = "\(Self.fileName).version-\(version)"
      try makeFile(backup, in: directory)
      try attempt { () throws(SQLiteError) in
        try database.copy(to: path(of: backup))
        // Before the version says that all pages have one.
        if version < Schema.checksumVersion { try database.makeRoomForChecksums() }
      }
    }
    try attempt { () throws(SQLiteError) in
      try database.execute("BEGIN IMMEDIATE")
      // Left behind when a step fails: the connection is closed then, and with it the transaction.
      try schema.upgrade(database, from: version)
      try database.execute("COMMIT")
    }
  }
}

extension Database {
  /// Opens a store's database, whose pages have checksums.
  static func ofStore(_ path: FileName, _ access: Access) throws(SQLiteError) -> Database {
    try Database(path, access, checking: .fromVersion(Schema.checksumVersion))
  }
}
