import CSQLite
public import LinuxSystem

/// A connection to a database file, closed when its owner lets go of it.
///
/// One thread at a time may use a connection and its statements (SQLite's multi-thread mode); who
/// owns it sees to that.
public final class Database: @unchecked Sendable {
  let connection: OpaquePointer

  /// Called before every step of every statement: where tests let the n-th one fail.
  package var beforeStep: (() throws(SQLiteError) -> Void)?

  private var watcher: Watcher?

  /// How a file is opened.
  public enum Access: Sendable {
    /// Reading and writing; the file is made if it is missing.
    case readWrite
    /// Reading only.
    case readOnly
    /// Reading a file that nobody changes meanwhile: without its log, and without making anything
    /// beside it.
    case unchanging
  }

  /// Which pages have to be what was written, by the checksums that ``makeRoomForChecksums()`` is for.
  public enum PageChecking: Sendable {
    /// None: whatever is there is read.
    case never
    /// All, when `user_version` is at least that.
    case fromVersion(Int64)
    /// All, whatever the file's header says.
    case always
  }

  /// Opens a file by a path that is used as it is, links included.
  ///
  /// Nothing is read before the first statement. A database that other processes hold locked is
  /// waited for, a few seconds long.
  ///
  /// - Parameter checking: Which pages have to have a checksum that fits. One that does not is damage.
  public init(
    _ path: FileName, _ access: Access, checking: PageChecking = .never
  ) throws(SQLiteError) {
    guard let vfs = LiteralPathVFS.name else { throw SQLiteError(code: SQLITE_NOMEM) }
    let mode =
      switch access {
      case .readWrite: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .readOnly: SQLITE_OPEN_READONLY
      case .unchanging: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      }
    var opened: OpaquePointer?
    let result = SQLiteError.answering {
      sqlite3_open_v2(
        access == .unchanging ? path.unchangingURI : path.cString, &opened,
        mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, vfs)
    }
    guard result == SQLITE_OK, let opened else {
      let error = SQLiteError(answer: result)
      sqlite3_close_v2(opened)
      throw error
    }
    connection = opened
    guardedFile?.pointee.checking = checking
    sqlite3_extended_result_codes(opened, 1)
    sqlite3_busy_timeout(opened, 5000)
    // A database may come from somebody else, on a stick or a share: nothing in it may run.
    for (option, value) in [
      (SQLITE_DBCONFIG_ENABLE_TRIGGER, Int32(0)), (SQLITE_DBCONFIG_ENABLE_VIEW, 0),
      (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0), (SQLITE_DBCONFIG_DEFENSIVE, 1),
      (SQLITE_DBCONFIG_DQS_DML, 0), (SQLITE_DBCONFIG_DQS_DDL, 0),
    ] {
      _ = csqlite_db_config(opened, option, value)
    }
  }

  /// A database in memory, gone with its connection.
  public static func inMemory() throws(SQLiteError) -> Database {
    try Database(FileName(":memory:"), .readWrite)
  }

  deinit { sqlite3_close_v2(connection) }

  /// Compiles a statement.
  public func prepare(_ text: String) throws(SQLiteError) -> Statement {
    try Statement(text, of: self)
  }

  /// Runs a statement once, rows and all.
  public func execute(_ text: String) throws(SQLiteError) { try prepare(text).run() }

  /// The first column of a statement's first row as a number, if there is one.
  public func integer(_ text: String) throws(SQLiteError) -> Int64? {
    var result: Int64?
    try prepare(text).rows { row in if result == nil { result = row.integer(0) } }
    return result
  }

  /// The first column of each row of a statement, as text.
  public func strings(_ text: String) throws(SQLiteError) -> [String] {
    var result: [String] = []
    try prepare(text).rows { row in result.append(row.text(0)) }
    return result
  }

  /// A transaction is open.
  public var isInTransaction: Bool { sqlite3_get_autocommit(connection) == 0 }

  /// The file can only be read.
  public var isReadOnly: Bool { sqlite3_db_readonly(connection, "main") == 1 }

  /// Lets a damaged file be read as far as it goes, also one that is shorter than it says.
  public func readDespiteDamage() throws(SQLiteError) {
    _ = csqlite_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 0)
    try execute("PRAGMA writable_schema = ON")
  }

  /// Each page that is written from now on ends in a checksum. A database that has pages already is
  /// written anew, in one transaction.
  public func makeRoomForChecksums() throws(SQLiteError) {
    if hasRoomForChecksums { return }
    var size = Int32(PageChecksums.size)
    sqlite3_file_control(connection, "main", SQLITE_FCNTL_RESERVE_BYTES, &size)
    if try integer("PRAGMA page_count") ?? 0 > 0 { try execute("VACUUM") }
  }

  /// The file's header says that pages have room for checksums. What is in memory, or only for this
  /// connection, needs none.
  public var hasRoomForChecksums: Bool { guardedFile?.pointee.hasRoom ?? true }

  private var guardedFile: UnsafeMutablePointer<GuardedFile>? {
    var guarded: UnsafeMutablePointer<GuardedFile>?
    sqlite3_file_control(connection, "main", PageChecksums.question, &guarded)
    return guarded
  }

  /// Makes sure that the file is where it was opened: one that somebody has removed, or put another
  /// in the place of, would take changes that nobody can find again.
  public func checkPlace() throws(SQLiteError) {
    var hasMoved: Int32 = 0
    sqlite3_file_control(connection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
    if hasMoved != 0 { throw .moved }
  }

  /// Leaves the write-ahead log where it is when the last connection closes.
  public func keepLogOnClose(_ keep: Bool) {
    _ = csqlite_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0)
  }

  /// Moves the whole write-ahead log into the database, durably, and empties it.
  ///
  /// `SQLITE_BUSY` when a reader, also one of another process, does not let go in time.
  public func checkpoint() throws(SQLiteError) {
    try check {
      sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    }
  }

  /// Moves into the database what no reader needs, and waits for none. When that was everything,
  /// the next transaction writes over the log from its start and needs no more room.
  public func checkpointWithoutWaiting() throws(SQLiteError) {
    try check {
      sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    }
  }

  /// A database that may be too large for memory, gone with its connection: SQLite has a file without
  /// a name for it.
  public static func temporary() throws(SQLiteError) -> Database {
    try Database(FileName(""), .readWrite)
  }

  /// Copies the whole database, as it is at this moment, over the file at `path`, durably.
  public func copy(to path: FileName) throws(SQLiteError) {
    try copy(into: Database(path, .readWrite))
  }

  /// Copies the whole database over another one.
  public func copy(into target: Database) throws(SQLiteError) {
    guard let backup = sqlite3_backup_init(target.connection, "main", connection, "main") else {
      throw SQLiteError(code: sqlite3_extended_errcode(target.connection))
    }
    try target.check {
      sqlite3_backup_step(backup, -1)
      return sqlite3_backup_finish(backup)
    }
  }

  /// Calls `body` now and then while a statement runs, every so many steps of SQLite's machine; when
  /// it answers false the statement fails with `SQLITE_INTERRUPT`.
  public func whileRunning(every steps: Int32, _ body: (() -> Bool)?) {
    watcher = body.map { Watcher($0) }
    guard let watcher else {
      sqlite3_progress_handler(connection, 0, nil, nil)
      return
    }
    sqlite3_progress_handler(
      connection, steps,
      { context in
        guard let context else { return 0 }
        return Unmanaged<Watcher>.fromOpaque(context).takeUnretainedValue().body() ? 0 : 1
      }, Unmanaged.passUnretained(watcher).toOpaque())
  }

  func check(_ body: () -> Int32) throws(SQLiteError) {
    let result = SQLiteError.answering(body)
    guard result == SQLITE_OK else { throw SQLiteError(answer: result) }
  }
}

private final class Watcher {
  let body: () -> Bool
  init(_ body: @escaping () -> Bool) { self.body = body }
}

extension FileName {
  /// As SQLite takes a file that nobody changes (sqlite.org/uri.html).
  fileprivate var unchangingURI: [CChar] {
    let special = Array("%?#".utf8)
    let escaped = bytes.flatMap { byte in
      special.contains(byte) ? Array("%\(String(byte, radix: 16))".utf8) : [byte]
    }
    return (Array("file:".utf8) + escaped + Array("?immutable=1".utf8)).map {
      CChar(bitPattern: $0)
    } + [0]
  }
}
