import CSQLite

/// A value to bind to a parameter.
public enum Value: Hashable, Sendable, ExpressibleByIntegerLiteral {
  /// Nothing.
  case null
  /// A number.
  case integer(Int64)
  /// Bytes.
  case blob([UInt8])
  /// Text.
  case text(String)

  /// A number, written as such.
  public init(integerLiteral value: Int64) { self = .integer(value) }
}

/// A compiled statement of a connection, used again and again.
///
/// It is reset after each use, whatever happened, so that it never keeps a transaction open.
public final class Statement: @unchecked Sendable {
  private let database: Database
  private let statement: OpaquePointer

  init(_ text: String, of database: Database) throws(SQLiteError) {
    var compiled: OpaquePointer?
    try database.check {
      sqlite3_prepare_v3(
        database.connection, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
    }
    guard let compiled else { throw SQLiteError(code: SQLITE_MISUSE) }
    self.database = database
    statement = compiled
  }

  deinit { sqlite3_finalize(statement) }

  /// Runs to the end and says how many rows were inserted, changed or deleted.
  @discardableResult
  public func run(_ values: Value...) throws(SQLiteError) -> Int { try run(values: values) }

  /// The same, of a list.
  @discardableResult
  public func run(values: [Value]) throws(SQLiteError) -> Int {
    defer { reset() }
    try bind(values)
    while try step() {}
    return Int(sqlite3_changes(database.connection))
  }

  /// Calls `body` with each row.
  public func rows(
    _ values: Value..., body: (Row) throws(SQLiteError) -> Void
  ) throws(SQLiteError) {
    defer { reset() }
    try bind(values)
    while try step() { try body(Row(statement: statement)) }
  }

  /// What `body` makes of the first row; nil when there is none.
  public func first<Result>(
    _ values: Value..., body: (Row) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result? {
    defer { reset() }
    try bind(values)
    return try step() ? try body(Row(statement: statement)) : nil
  }

  private func step() throws(SQLiteError) -> Bool {
    if let beforeStep = database.beforeStep { try beforeStep() }
    let result = SQLiteError.answering { sqlite3_step(statement) }
    switch result {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw SQLiteError(answer: result)
    }
  }

  private func bind(_ values: [Value]) throws(SQLiteError) {
    for (value, index) in zip(values, Int32(1)...) {
      try database.check { bind(value, at: index) }
    }
  }

  private func bind(_ value: Value, at index: Int32) -> Int32 {
    switch value {
    case .null: sqlite3_bind_null(statement, index)
    case .integer(let number): sqlite3_bind_int64(statement, index, number)
    // A null pointer would bind NULL: empty bytes are not nothing.
    case .blob(let bytes) where bytes.isEmpty: sqlite3_bind_zeroblob(statement, index, 0)
    case .blob(let bytes):
      csqlite_bind_blob_copy(statement, index, bytes, Int32(clamping: bytes.count))
    case .text(let text):
      csqlite_bind_text_copy(statement, index, text, Int32(clamping: text.utf8.count))
    }
  }

  private func reset() {
    sqlite3_reset(statement)
    sqlite3_clear_bindings(statement)
  }
}

/// The row at which a statement stands; valid inside the closure that was given it.
public struct Row {
  let statement: OpaquePointer

  /// The column is NULL.
  public func isNull(_ column: Int32) -> Bool {
    sqlite3_column_type(statement, column) == SQLITE_NULL
  }

  /// A column as a number; 0 when it is none.
  public func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

  /// A column's bytes, copied.
  public func blob(_ column: Int32) throws(SQLiteError) -> [UInt8] {
    guard let start = sqlite3_column_blob(statement, column) else {
      // Empty, NULL, or no memory was left for them.
      if sqlite3_errcode(sqlite3_db_handle(statement)) == SQLITE_NOMEM {
        throw SQLiteError(code: SQLITE_NOMEM)
      }
      return []
    }
    let count = Int(sqlite3_column_bytes(statement, column))
    return Array(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// A column as what it is; numbers with a fraction, which no table of ours has, as text.
  public func value(_ column: Int32) throws(SQLiteError) -> Value {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_NULL: .null
    case SQLITE_INTEGER: .integer(integer(column))
    case SQLITE_BLOB: .blob(try blob(column))
    default: .text(text(column))
    }
  }

  /// A column as text.
  public func text(_ column: Int32) -> String {
    sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
  }
}
