import AttributeModel
import Foundation
import LinuxSystem
import SQLite
import SidecarStore
import Testing

/// What keeps a store from being opened: each with a reason of its own, and nothing changed.
@Suite struct StoreOpeningTests {
  @Test func whatWasKeptIsThereTheNextTime() throws {
    let directory = try TemporaryDirectory()
    do {
      let store = try openStore(in: directory)
      try fill(store)
      try store.close()
    }
    // Closed in good order, everything is in one file.
    #expect(try Set(directory.snapshot().keys) == ["store.db"])
    let store = try openStore(in: directory)
    #expect(try store.record(of: object(1))?.attributes.count == 20)
  }

  /// What a killed daemon leaves: the files as they are in mid-use.
  @Test func whatWasKeptIsThereAfterAKill() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    try fill(store)
    let copy = try copyOfFiles(of: directory)
    let again = try openStore(in: copy)
    #expect(try again.dump() == store.dump())
  }

  @Test(arguments: [
    Array("not a database, but long enough to be the head of one".utf8)
      + Array(repeating: 32, count: 100),
    Array("short".utf8), Array("SQLite format 3\0".utf8),
  ])
  func otherFilesAreRefused(_ bytes: [UInt8]) throws {
    let directory = try TemporaryDirectory()
    try directory.write(bytes, to: "store.db")
    try expectRefusal(of: directory) { $0 == .notADatabase }
    #expect(try Set(directory.names()) == ["store.db"])
  }

  @Test(arguments: [0, 77])
  func otherProgramsDatabasesAreRefused(_ identifier: Int64) throws {
    let directory = try TemporaryDirectory()
    do {
      let database = try Database(FileName("\(directory.path)/store.db"), .readWrite)
      try database.execute("CREATE TABLE attribute (a)")
      try database.execute("PRAGMA application_id = \(identifier)")
    }
    try expectRefusal(of: directory) { $0 == .foreign(applicationID: identifier) }
    #expect(try Set(directory.names()) == ["store.db"])
  }

  @Test(arguments: [false, true])
  func newerVersionsAreRefused(_ isInLog: Bool) throws {
    let directory = try TemporaryDirectory()
    let newer = Schema(steps: Schema.current.steps + [["CREATE TABLE later (a)"]])
    let store = try openStore(in: directory, schema: newer)
    try fill(store)
    let copy = isInLog ? try copyOfFiles(of: directory) : directory
    try store.close()
    try expectRefusal(of: copy) {
      $0 == .newer(version: newer.version, supported: Schema.current.version)
    }
  }

  @Test func olderVersionsAreMovedOnAfterABackup() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    try fill(store)
    let old = try store.dump()
    try store.close()
    let newer = Schema(
      steps: Schema.current.steps + [["ALTER TABLE object ADD COLUMN later", "CREATE TABLE l (a)"]])
    let moved = try openStore(in: directory, schema: newer)
    #expect(try moved.dump() == old)
    let path = "\(directory.path)/store.db"
    #expect(try Database(FileName(path), .readOnly).integer("PRAGMA user_version") == newer.version)
    // The backup is a store of the old version.
    let backup = try TemporaryDirectory()
    try FileManager.default.copyItem(
      atPath: "\(path).version-\(Schema.current.version)", toPath: "\(backup.path)/store.db")
    #expect(try openStore(in: backup).dump() == old)
  }

  @Test func aFailedMoveChangesNothing() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    try fill(store)
    let old = try store.dump()
    try store.close()
    let broken = Schema(steps: Schema.current.steps + [["DROP TABLE intent", "nonsense"]])
    #expect(throws: StoreError.self) { try openStore(in: directory, schema: broken) }
    #expect(try openStore(in: directory).dump() == old)
  }

  @Test func oneMountAtATime() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    try fill(store)
    let before = try directory.snapshot()
    let error = #expect(throws: StoreError.self) { try openStore(in: directory) }
    #expect(error?.reason == .inUse(by: "the mount at /mnt/test (process \(getpid()))"))
    #expect(try directory.snapshot() == before)
    try fill(store)
    try store.close()
  }

  @Test func theLockGoesWithItsHolder() throws {
    let directory = try TemporaryDirectory()
    for _ in 0..<3 { _ = try openStore(in: directory) }
  }

  @Test func damageIsFoundAfterAKill() throws {
    let directory = try damaged(isClean: false)
    try expectRefusal(of: directory) { reason in
      if case .damaged = reason { true } else { false }
    }
  }

  /// After a clean end nobody checks, but what is damaged is never taken for empty.
  @Test func damageIsAnErrorNotAnAbsence() throws {
    let directory = try damaged(isClean: true)
    let store = try openStore(in: directory)
    #expect(throws: Errno.inputOutput) { try store.record(of: object(1)) }
    #expect(throws: Errno.inputOutput) { try store.counts() }
    #expect(throws: Errno.inputOutput) {
      try store.set(
        name("user.a"), to: [1], of: object(1), type: .regular, changed: time(1), lineage: [])
    }
  }

  @Test func otherTablesAreDamage() throws {
    let directory = try TemporaryDirectory()
    try openStore(in: directory).close()
    do {
      let database = try Database(FileName("\(directory.path)/store.db"), .readWrite)
      try database.execute(
        "CREATE TRIGGER t AFTER INSERT ON attribute BEGIN DELETE FROM object; END")
      try database.checkpoint()
    }
    try expectRefusal(of: directory) { $0 == .damaged("other tables") }
  }

  @Test(.enabled(if: geteuid() == 0, "mounts"))
  func aReadOnlyPlaceSaysSo() throws {
    let directory = try TemporaryDirectory(tmpfsOf: 1 << 24)
    do {
      let store = try openStore(in: directory)
      try fill(store)
      try store.close()
    }
    try directory.makeReadOnly()
    try expectRefusal(of: directory) { $0 == .readOnly }
  }

  @Test(
    .enabled(if: geteuid() == 0, "changes owners"),
    arguments: ["", "store.db", "store.db-wal", "store.db-shm", "lock", "reserve", "journal-0"])
  func rootTrustsOnlyRoot(_ name: String) throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + (name.isEmpty ? "" : "/\(name)")
    _ = try openStore(in: directory)
    if !name.isEmpty && access(path, F_OK) != 0 { try directory.write([], to: name) }
    let check = StoreOwnership.admission(forUser: 0)
    chmod(path, name.isEmpty ? 0o755 : 0o644)
    try check(directory.open(), FileName(directory.path))
    for mode in [0o722, 0o720, 0o702] as [UInt32] {
      chmod(path, mode)
      expectUnsafe(directory, check)
    }
    chmod(path, 0o700)
    chown(path, 1000, 0)
    expectUnsafe(directory, check)
    try StoreOwnership.admission(forUser: 1000)(directory.open(), FileName(directory.path))
    chown(path, 0, 0)
    if name.isEmpty { return }
    unlink(path)
    symlink("/etc/passwd", path)
    expectUnsafe(directory, check)
  }

  @Test func errorsAreOneLineWithARemedy() {
    let reasons: [StoreError.Reason] = [
      .notADatabase, .foreign(applicationID: 1), .newer(version: 2, supported: 1),
      .inUse(by: "x"), .unsafe(file: "store.db", problem: "belongs to user 7"), .damaged("x"),
      .readOnly, .noSharedMemory, .noPlace, .unreachable(.accessDenied),
    ]
    for reason in reasons {
      let text = StoreError(reason, at: FileName("/some/place")).description
      #expect(text.hasPrefix("/some/place: ") && text.contains("; ") && !text.contains("\n"))
    }
  }

  private func expectUnsafe(_ directory: TemporaryDirectory, _ check: StoreAdmission) {
    let error = #expect(throws: StoreError.self) {
      try check(directory.open(), FileName(directory.path))
    }
    if case .unsafe = error?.reason { return }
    Issue.record("not refused for its owner: \(String(describing: error))")
  }

  private func expectRefusal(
    of directory: TemporaryDirectory, _ isExpected: (StoreError.Reason) -> Bool
  ) throws {
    let before = try directory.snapshot()
    let error = try #require(throws: StoreError.self) { try openStore(in: directory) }
    #expect(isExpected(error.reason), "\(error)")
    #expect(try directory.snapshot() == before)
  }

  private func fill(_ store: SQLiteStore) throws {
    for number in 0..<20 {
      try store.set(
        name("user.\(number)"), to: [UInt8](repeating: 1, count: number * 100), of: object(1),
        type: .regular, changed: time(1), lineage: lineage(1))
    }
  }

  private func copyOfFiles(of directory: TemporaryDirectory) throws -> TemporaryDirectory {
    let copy = try TemporaryDirectory()
    for (name, data) in try directory.snapshot() { try copy.write(data, to: name) }
    return copy
  }

  /// A store whose table of objects is overwritten.
  private func damaged(isClean: Bool) throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    try fill(store)
    try store.close()
    let file = FileName("\(directory.path)/store.db")
    let pages: [Int64]
    do {
      let database = try Database(file, .readWrite)
      if !isClean { try database.execute("UPDATE meta SET value = 0 WHERE key = 'clean'") }
      pages = try database.strings(
        "SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'object'"
      ).compactMap { Int64($0) }
      try database.checkpoint()
    }
    try #require(pages.count == 2)
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file.description))
    for page in pages {
      try handle.seek(toOffset: UInt64((page - 1) * 4096))
      try handle.write(contentsOf: Data(repeating: 0xee, count: 4096))
    }
    try handle.close()
    return directory
  }
}
