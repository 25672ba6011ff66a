import CLinux
import Glibc
import LinuxSystem
import SQLite
import TestSupport
import Testing

/// `quarantine`: what was set aside is listed, and given back to a file.
@Suite(.needsFuse, .needsLoop, .serialized) struct ToolQuarantine {
  /// A source, unmounted, with the record of "d/a" set aside: "user.a" is 1, "user.b" is "two".
  private final class Stage {
    let scratch: Scratch
    let source: Source
    let mount: Mount
    private(set) var id = ""

    init() throws {
      scratch = try Scratch()
      source = try Source(.ext4, in: scratch)
      mount = try Mount(source.path, in: scratch)
      try call(mkdir("\(mount.mountPoint)/d", 0o755))
      try writeFile("\(mount.mountPoint)/d/a", [1])
      try writeFile("\(mount.mountPoint)/other", [1])
      try set("d/a", "user.a", "1")
      try set("d/a", "user.b", "two")
      try set("other", "user.a", "another")
      try mount.unmount()
      try call(unlink("\(source.path)/d/a"))
      try Tool.run(["check", "--repair", source.path], ends: 1)
      let list = try Tool.run(["quarantine", source.path], ends: 0).text
      id = String(list.prefix { $0 != ":" })
    }

    func set(_ path: String, _ name: String, _ value: String) throws {
      try check(["setfattr", "-n", name, "-v", value, "\(mount.mountPoint)/\(path)"])
    }

    func restore(_ words: String..., ends status: Int32) throws -> Outcome {
      try Tool.run(["quarantine", "--restore", id] + words + [source.path], ends: status)
    }

    func listing() throws -> [String] {
      try mount.remount()
      defer { try? mount.unmount() }
      return try Tool.listing(of: mount.mountPoint)
    }
  }

  private let whole = [
    "(b'./d/a', b'user.a', b'1')", "(b'./d/a', b'user.b', b'two')",
    "(b'./other', b'user.a', b'another')",
  ]

  @Test func itIsListed() throws {
    let stage = try Stage()
    let list = try Tool.run(["quarantine", stage.source.path], ends: 0).text
    let now = try check(["date", "-u", "+%FT%H:"])
    let day = String(now.prefix { $0 != "\n" })
    #expect(list.hasPrefix("\(stage.id): d/a, gone, \(day)"), "\(list)")
    #expect(list.hasSuffix("Z: user.a user.b\n") && list.split(separator: "\n").count == 1)
    let json = try check(
      [
        "python3", "-c",
        "import json, sys; r = json.loads(sys.argv[1])['quarantined']; print(len(r), r[0]['id'],"
          + " r[0]['path'], r[0]['reason'], r[0]['attributes'])",
        Tool.run(["quarantine", "--json", stage.source.path], ends: 0).text,
      ])
    #expect(json == "1 \(stage.id) d/a gone ['user.a', 'user.b']\n")
    // While it is mounted, too.
    try stage.mount.remount()
    #expect(try Tool.run(["quarantine", stage.source.path], ends: 0).text == list)
    let refused = try stage.restore("--to", "other", ends: 8)
    #expect(refused.errorText.contains("unmount it first"))
    try stage.mount.unmount()
  }

  @Test func itIsGivenBack() throws {
    let stage = try Stage()
    // Its file is not there.
    #expect(try stage.restore(ends: 8).errorText.contains("d/a: "))
    try writeFile("\(stage.source.path)/d/a", [2])
    #expect(try stage.restore("--dry-run", ends: 0).text == "d/a: 2 attributes would be restored\n")
    #expect(try stage.listing() == Array(whole.dropFirst(2)))
    #expect(try stage.restore(ends: 0).text == "d/a: 2 attributes restored\n")
    #expect(try stage.listing() == whole)
    #expect(try Tool.run(["quarantine", stage.source.path], ends: 0).text == "")
    #expect(try Tool.run(["check", stage.source.path], ends: 0).text.hasSuffix(": clean\n"))
    #expect(try stage.restore(ends: 8).errorText.contains("no record \(stage.id)"))
  }

  @Test func otherValuesStay() throws {
    let stage = try Stage()
    let refused = try stage.restore("--to", "other", "--json", ends: 4)
    #expect(refused.errorText.contains("other: user.a: there is another value; see --overwrite"))
    #expect(refused.text.contains("\"restored\":false"))
    #expect(try stage.restore("--to", "d", ends: 4).errorText.contains("another type"))
    #expect(try stage.restore("--to", "/etc/passwd", ends: 8).errorText.contains("--to"))
    #expect(try stage.restore("--to", "../x", ends: 8).errorText.contains("--to"))
    #expect(try stage.listing() == Array(whole.dropFirst(2)))
    #expect(
      try stage.restore("--to", "./other", "--overwrite", "--json", ends: 0).text.contains(
        "\"restored\":true"))
    #expect(
      try stage.listing() == [
        "(b'./other', b'user.a', b'1')", "(b'./other', b'user.b', b'two')",
      ])
  }

  /// A value that is not what was kept is found, set aside, and given back only on demand.
  @Test func damagedValuesAreGivenBackOnDemand() throws {
    let stage = try Stage()
    let store = "\(stage.source.path)/.sidecarfs/store.db"
    do {
      let database = try Database(FileName(store), .readWrite)
      let count = try database.prepare(
        "UPDATE attribute SET value = CAST('onother' AS BLOB) WHERE value = CAST('another' AS BLOB)"
      ).run()
      #expect(count == 1)
    }
    try stage.mount.remount()
    let other = "\(stage.mount.mountPoint)/other"
    #expect(getxattr(other, "user.a", nil, 0) == -1 && errno == EIO)
    try stage.mount.unmount()
    let found = try Tool.run(["check", stage.source.path], ends: 4)
    #expect(found.text.contains("damage: ") && found.text.contains("user.a"))
    try Tool.run(["check", "--repair", stage.source.path], ends: 1)
    #expect(try stage.listing() == [])
    let list = try Tool.run(["quarantine", stage.source.path], ends: 0).text
    let line = try #require(list.split(separator: "\n").first { $0.contains("damaged value") })
    let id = String(line.prefix { $0 != ":" })
    let words = ["quarantine", "--restore", id, "--to", "other"]
    try Tool.run(words + [stage.source.path], ends: 4)
    try Tool.run(words + ["--damaged", stage.source.path], ends: 0)
    #expect(try stage.listing() == ["(b'./other', b'user.a', b'onother')"])
    #expect(try Tool.run(["check", stage.source.path], ends: 0).text.hasSuffix(": clean\n"))
  }
}
