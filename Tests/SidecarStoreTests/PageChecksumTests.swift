import Foundation
import LinuxSystem
import SQLite
import SidecarStore
import Testing

/// Every page of a store ends in a checksum: a page that the disk has changed is an error.
@Suite struct PageChecksumTests {
  private func filled() throws -> (directory: TemporaryDirectory, bytes: Data) {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    for number in 1...300 {
      try store.set(
        name("user.a"), to: [UInt8](repeating: UInt8(number % 251), count: number * 20),
        of: object(number), type: .regular, changed: time(1), lineage: lineage(number))
    }
    for number in stride(from: 1, through: 300, by: 3) { try store.discard(object(number)) }
    try store.close()
    return (directory, try #require(try directory.snapshot()["store.db"]))
  }

  private func read(_ directory: TemporaryDirectory) throws -> [String] {
    let database = try Database(
      FileName("\(directory.path)/store.db"), .readOnly, checking: .fromVersion(2))
    return try database.strings("PRAGMA integrity_check")
  }

  /// As the article says, by another program; a page that was never written is zeros.
  @Test func checksumsAreAsDescribed() throws {
    let (directory, bytes) = try filled()
    let answer = try python(
      """
      import struct, sys
      data = open(sys.argv[1], "rb").read()
      wrong = 0
      for offset in range(0, len(data), 4096):
          words = struct.unpack("<1024I", data[offset:offset + 4096])
          a, b = (offset // 512 + 0x53434653) & 0xffffffff, 0xffffffff
          for x, y in zip(words[0:1022:2], words[1:1022:2]):
              a = (a + x + b) & 0xffffffff
              b = (b + y + a) & 0xffffffff
          if words[1022:] != (b, a) and any(words): wrong += 1
      print(len(data) // 4096, wrong)
      """, "\(directory.path)/store.db")
    #expect(answer == "\(bytes.count / 4096) 0\n")
    #expect(bytes.count / 4096 > 100)
  }

  /// One bit of any page that is in use, wherever it is in the page.
  @Test func oneBitIsEnough() throws {
    let (directory, bytes) = try filled()
    #expect(try read(directory) == ["ok"])
    // What is free is not read.
    let free = try #require(
      try Database(FileName("\(directory.path)/store.db"), .readOnly)
        .integer("PRAGMA freelist_count"))
    var generator = SeededGenerator(seed: 5)
    var unnoticed = 0
    for page in 0..<(bytes.count / 4096) {
      var changed = bytes
      changed[page * 4096 + Int.random(in: 100..<4096, using: &generator)] ^=
        1 << UInt8.random(in: 0..<8, using: &generator)
      try directory.write(changed, to: "store.db")
      do {
        if try read(directory) == ["ok"] { unnoticed += 1 }
      } catch let error as SQLiteError {
        #expect(error.isDamage && error.errno == .inputOutput)
      }
    }
    #expect(Int64(unnoticed) <= free)
  }

  /// A page that is whole, and another's.
  @Test func placesAreChecked() throws {
    let (directory, bytes) = try filled()
    var changed = bytes
    let (one, other) = (20 * 4096, 21 * 4096)
    changed.replaceSubrange(one..<(one + 4096), with: bytes[other..<(other + 4096)])
    try directory.write(changed, to: "store.db")
    #expect(throws: SQLiteError.self) { try read(directory) }
  }
}
