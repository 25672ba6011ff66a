import Foundation
import LinuxSystem
import SQLite
import SidecarStore
import Testing

@Suite struct SchemaArticleTests {
  /// The article shows the tables that are made.
  @Test func theArticleTellsTheTruth() throws {
    let article = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Sources/SidecarStore/SidecarStore.docc/StoreFormat.md")
    let text = try String(contentsOf: article, encoding: .utf8)
    let blocks = text.components(separatedBy: "```")
    let block = try #require(blocks.first { $0.hasPrefix("sql\nCREATE") })
    let shown = block.dropFirst(4).components(separatedBy: ";\n").map {
      $0.trimmingCharacters(in: .whitespacesAndNewlines)
    }.filter { !$0.isEmpty }

    let directory = try TemporaryDirectory()
    try openStore(in: directory).close()
    let database = try Database(FileName("\(directory.path)/store.db"), .readOnly)
    #expect(try shown.sorted() == Schema.statements(in: database).sorted())
    let version = try database.integer("PRAGMA user_version") ?? 0
    let identifier = try database.integer("PRAGMA application_id") ?? 0
    #expect(text.contains("`user_version` is \(version)"))
    #expect(text.contains("`application_id` is \(identifier)"))
  }

  /// What others rely on who read the file: references lead somewhere.
  @Test func referencesHold() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    for number in 1...4 {
      try store.set(
        name("user.a"), to: [1], of: object(number), type: .regular, changed: time(1),
        lineage: lineage(9, number, name: "f\(number)"))
    }
    try store.discard(object(1))
    try store.quarantine(object(2), because: .otherType)
    try store.discard(object(9))
    try store.unlink(
      object(3), Entry(parent: object(9), name: Array("f3".utf8)), isLast: true)
    try store.close()
    let database = try Database(FileName("\(directory.path)/store.db"), .readOnly)
    #expect(try database.strings("PRAGMA foreign_key_check") == [])
    #expect(try database.strings("PRAGMA integrity_check") == ["ok"])
  }
}
