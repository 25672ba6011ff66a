import Foundation
import LinuxSystem
import SQLite
import Testing

@Suite struct DatabaseTests {
  @Test(arguments: [
    Value.null, 0, .integer(.min), .integer(.max), .blob([]), .blob([0, 255]), .text(""),
    .text("a\u{e9}"), .blob([UInt8](repeating: 3, count: 100_000)),
  ])
  func valuesComeBackAsTheyWere(_ value: Value) throws {
    let database = try Database.inMemory()
    try database.execute("CREATE TABLE t (v)")
    #expect(try database.prepare("INSERT INTO t VALUES (?)").run(value) == 1)
    let select = try database.prepare("SELECT v, typeof(v) FROM t")
    for _ in 0..<2 {
      let back = try select.first { (row) throws(SQLiteError) -> Value in
        switch row.text(1) {
        case "null": .null
        case "integer": .integer(row.integer(0))
        case "blob": .blob(try row.blob(0))
        default: .text(row.text(0))
        }
      }
      #expect(back == value)
    }
  }

  @Test func aStatementThatFailedCanBeUsedAgain() throws {
    let database = try Database.inMemory()
    try database.execute("CREATE TABLE t (v UNIQUE)")
    let insert = try database.prepare("INSERT INTO t VALUES (?)")
    try insert.run(1)
    let error = #expect(throws: SQLiteError.self) { try insert.run(1) }
    #expect(error?.errno == .inputOutput)
    try insert.run(2)
    #expect(try database.integer("SELECT COUNT(*) FROM t") == 2)
    #expect(throws: SQLiteError.self) { try database.prepare("nonsense") }
    #expect(!database.isInTransaction)
  }

  /// SQLite's numbers are part of its interface (sqlite.org/rescode.html).
  static let codes: [(code: Int32, system: Int32, expected: Errno)] = [
    (13, 0, Errno.noSpace), (10, 0, .inputOutput), (10 | 3 << 8, ENOSPC, .noSpace),
    (10 | 3 << 8, EDQUOT, .overQuota), (10 | 3 << 8, EIO, .inputOutput),
    (10 | 4 << 8, ENOENT, .inputOutput), (11, 0, .inputOutput), (26, 0, .inputOutput),
    (8, 0, .readOnly), (14, 0, .inputOutput), (14, EMFILE, .tooManyOpenFiles), (5, 0, .busy),
    (6, 0, .busy), (7, 0, .noMemory), (19, 0, .inputOutput), (1, 0, .inputOutput),
  ]

  @Test(arguments: codes)
  func codesBecomeErrno(_ code: Int32, _ system: Int32, _ expected: Errno) {
    #expect(SQLiteError(code: code, systemCode: system).errno == expected)
  }

  @Test func everyStepCanBeMadeToFail() throws {
    let database = try Database.inMemory()
    try database.execute("CREATE TABLE t (v)")
    database.beforeStep = { () throws(SQLiteError) in throw SQLiteError(code: 13) }
    #expect(throws: SQLiteError.self) { try database.execute("INSERT INTO t VALUES (1)") }
    database.beforeStep = nil
    #expect(try database.integer("SELECT COUNT(*) FROM t") == 0)
  }

  @Test func theSchemaOfAStrangerRunsNothing() throws {
    let directory = try Scratch()
    let path = FileName("\(directory.path)/a.db")
    // Made by the sqlite3 library of another connection, which may make triggers but not run them.
    let maker = try Database(path, .readWrite)
    try maker.execute("CREATE TABLE t (v)")
    try maker.execute("CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO t VALUES (99); END")
    try Database(path, .readWrite).execute("INSERT INTO t VALUES (1)")
    #expect(try maker.integer("SELECT COUNT(*) FROM t") == 1)
  }

  /// The log, its index and the database all stay in the directory that the descriptor holds.
  @Test func aDatabaseIsReachedThroughItsDirectorysDescriptor() throws {
    let scratch = try Scratch()
    let manager = FileManager.default
    try manager.createDirectory(
      atPath: "\(scratch.path)/old/store", withIntermediateDirectories: true)
    let held = try FileDescriptor.open(
      FileName("\(scratch.path)/old/store"), [.path, .directory])
    let path = FileName("\(held.procPath)/a.db")
    let first = try Database(path, .readWrite)
    // Before anything is opened, the directory goes elsewhere and another takes its name.
    try manager.moveItem(atPath: "\(scratch.path)/old", toPath: "\(scratch.path)/new")
    try manager.createDirectory(
      atPath: "\(scratch.path)/old/store", withIntermediateDirectories: true)
    #expect(try first.strings("PRAGMA journal_mode = WAL") == ["wal"])
    try first.execute("CREATE TABLE t (v)")
    let second = try Database(path, .readOnly)
    try first.execute("INSERT INTO t VALUES (1)")
    #expect(try second.integer("SELECT COUNT(*) FROM t") == 1)
    let files = try manager.contentsOfDirectory(atPath: "\(scratch.path)/new/store").sorted()
    #expect(files == ["a.db", "a.db-shm", "a.db-wal"])
    #expect(try manager.contentsOfDirectory(atPath: "\(scratch.path)/old/store") == [])
    try first.checkpoint()
    try first.copy(to: FileName("\(held.procPath)/b.db"))
    let copy = try Database(FileName("\(scratch.path)/new/store/b.db"), .readOnly)
    #expect(try copy.integer("SELECT COUNT(*) FROM t") == 1)
  }
}

/// A directory that is removed with the test.
final class Scratch {
  let path: String

  init() throws {
    var template = Array("/tmp/sidecarfs-test-XXXXXX".utf8CString)
    try #require(mkdtemp(&template) != nil)
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
