import AttributeModel
import Foundation
import LinuxSystem
import SQLite
import SidecarStore
import Testing

/// Values have checksums: a changed byte is an error, wherever it is.
@Suite struct ValueChecksumTests {
  private static let sizes = [0, 1, 7, 8, 9, 64, 500, 3000, 5000, 20_000, 65_536]

  private func value(_ size: Int) -> [UInt8] {
    var generator = SeededGenerator(seed: UInt64(size))
    return (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
  }

  private func fill(_ store: SQLiteStore) throws {
    for (number, size) in Self.sizes.enumerated() {
      for name in [try name("user.a"), try name("user.other-\(size)")] {
        try store.set(
          name, to: value(size), of: object(number), type: .regular, changed: time(1),
          lineage: lineage(number))
      }
    }
  }

  /// zlib says the same.
  @Test func checksumsAreThoseOfZlib() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    try fill(store)
    try store.close()
    let answer = try python(
      """
      import sqlite3, struct, sys, zlib
      rows = sqlite3.connect(sys.argv[1]).execute("SELECT object, name, value, checksum FROM attribute")
      good = [zlib.crc32(struct.pack(">q", o) + n + bytes([0]) + v) == c for o, n, v, c in rows]
      print(len(good), all(good))
      """, "\(directory.path)/store.db")
    #expect(answer == "\(Self.sizes.count * 2) True\n")
  }

  /// One byte in the middle of a value, changed on its way to a page.
  @Test(arguments: sizes.filter { $0 >= 64 }) func aChangedByteIsAnError(_ size: Int) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    try fill(store)
    try store.close()
    let value = value(size)
    do {
      let database = try Database(FileName("\(directory.path)/store.db"), .readWrite)
      var changed = value
      changed[size / 2] ^= 0x10
      let count = try database.prepare(
        "UPDATE attribute SET value = ?1 WHERE value = ?2 AND name = CAST('user.a' AS BLOB)"
      ).run(.blob(changed), .blob(value))
      #expect(count == 1)
    }

    let number = try #require(Self.sizes.firstIndex(of: size))
    let damaged = try openStore(in: directory)
    #expect(throws: Errno.inputOutput) { try damaged.record(of: object(number)) }
    for (other, size) in Self.sizes.enumerated() where other != number {
      let found = try damaged.record(of: object(other))?.attributes[name("user.a")]
      #expect(found == self.value(size))
    }
    try damaged.close()
    let file = try StoreFile.changing(
      directory.open(), at: FileName(directory.path), for: FileName("test"),
      admission: StoreOwnership.anybody)
    #expect(try file.damage() == [])
    #expect(try file.damagedValues().count == 1)
    try file.begin()
    try file.setDamagedValuesAside()
    try file.commit()
    #expect(try file.damagedValues().isEmpty)
    #expect(try file.looseEnds().isEmpty)
    #expect(try file.quarantined().map(\.reason) == ["damaged value"])
    try file.close()
    // The other attribute of the object is there.
    let repaired = try openStore(in: directory)
    let left = try #require(try repaired.record(of: object(number)))
    #expect(left.attributes.count == 1)
    #expect(left.attributes.values.first == value)
  }

  /// A store of the version before: moved on, with everything in it, after a copy was made.
  @Test func theVersionBeforeIsMovedOn() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    try fill(store)
    let wanted = try store.dump()
    try store.close()
    _ = try python(
      """
      import os, sqlite3, sys
      new = sqlite3.connect(sys.argv[1])
      old = sqlite3.connect(sys.argv[1] + ".old")
      old.executescript(sys.argv[2])
      columns = {"attribute": "object, name, value"}
      for table in ["meta", "volume", "object", "entry", "attribute"]:
          for row in new.execute("SELECT %s FROM %s" % (columns.get(table, "*"), table)):
              old.execute("INSERT INTO %s VALUES (%s)" % (table, ",".join("?" * len(row))), row)
      old.commit()
      old.close()
      new.close()
      os.rename(sys.argv[1] + ".old", sys.argv[1])
      """, "\(directory.path)/store.db", Self.version1)

    // Tools read it as it is.
    try read(directory, wanted)
    let other = try openStore(in: directory)
    #expect(try other.dump() == wanted)
    for (key, record) in wanted.records where !record.attributes.isEmpty {
      #expect(try other.record(of: key)?.attributes == record.attributes)
    }
    try other.close()
    let backup = try Database(FileName("\(directory.path)/store.db.version-1"), .readOnly)
    #expect(try backup.integer("PRAGMA user_version") == 1)
    #expect(
      try backup.integer("SELECT COUNT(*) FROM attribute") == Int64(Self.sizes.count * 2))
    let database = try Database(FileName("\(directory.path)/store.db"), .readOnly)
    #expect(try database.integer("PRAGMA user_version") == Schema.current.version)
    #expect(database.hasRoomForChecksums && !backup.hasRoomForChecksums)
    #expect(
      try database.integer("SELECT COUNT(*) FROM attribute WHERE checksum IS NOT NULL")
        == Int64(Self.sizes.count * 2))
  }

  private func read(_ directory: TemporaryDirectory, _ wanted: StoreContents) throws {
    let file = try StoreFile.reading(
      directory.open(), at: FileName(directory.path), for: FileName("test"),
      admission: StoreOwnership.anybody)
    #expect(try file.damage() == [])
    #expect(try file.damagedValues().isEmpty)
    let third = try #require(try file.object(under: object(3)))
    #expect(try file.attributes(of: third.id) == wanted.records[object(3)]?.attributes)
  }

  /// Also when it is damaged.
  @Test func theVersionBeforeIsSalvaged() throws {
    let directory = try TemporaryDirectory()
    do {
      let database = try Database(FileName("\(directory.path)/store.db"), .readWrite)
      let tables = Self.version1.split(separator: ";").map(String.init).filter { $0.count > 2 }
      for statement in tables + [
        "INSERT INTO volume (id, key, kind) VALUES (1, x'010203', 'handle')",
        "INSERT INTO object (id, volume, key, type) VALUES (1, 1, x'0000000000000001', 32768)",
        "INSERT INTO attribute (object, name, value) VALUES (1, CAST('user.a' AS BLOB), x'07')",
        "CREATE TABLE foreign_to_us (a)",
      ] { try database.execute(statement) }
    }
    _ = try #require(
      try StoreSalvage.run(
        directory.open(), at: FileName(directory.path), for: FileName("test"),
        admission: StoreOwnership.anybody))
    let saved = try openStore(in: directory)
    #expect(try saved.record(of: object(1))?.attributes == [name("user.a"): [7]])
  }

  private static let version1 = """
    CREATE TABLE meta (
      key TEXT PRIMARY KEY,
      value NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE volume (
      id INTEGER PRIMARY KEY,
      key BLOB NOT NULL,
      kind TEXT NOT NULL,
      UNIQUE (key, kind)
    );
    CREATE TABLE object (
      id INTEGER PRIMARY KEY,
      volume INTEGER NOT NULL REFERENCES volume,
      key BLOB,
      type INTEGER NOT NULL,
      changed_seconds INTEGER,
      changed_nanoseconds INTEGER,
      orphan INTEGER NOT NULL DEFAULT 0,
      UNIQUE (volume, key)
    );
    CREATE TABLE entry (
      parent INTEGER NOT NULL REFERENCES object,
      name BLOB NOT NULL,
      object INTEGER NOT NULL REFERENCES object,
      PRIMARY KEY (parent, name)
    ) WITHOUT ROWID;
    CREATE INDEX entry_object ON entry (object);
    CREATE TABLE attribute (
      object INTEGER NOT NULL REFERENCES object,
      name BLOB NOT NULL,
      value BLOB NOT NULL,
      PRIMARY KEY (object, name)
    );
    CREATE TABLE quarantine (
      object INTEGER PRIMARY KEY REFERENCES object,
      key BLOB NOT NULL,
      reason TEXT NOT NULL,
      seconds INTEGER NOT NULL
    );
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
    );
    PRAGMA application_id = 1396917843;
    PRAGMA user_version = 1;
    """
}

/// What a program in Python prints.
func python(_ program: String, _ arguments: String...) throws -> String {
  let process = Process()
  let pipe = Pipe()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
  process.arguments = ["-c", program] + arguments
  process.standardOutput = pipe
  try process.run()
  let output = pipe.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  #expect(process.terminationStatus == 0)
  return String(decoding: output, as: UTF8.self)
}
