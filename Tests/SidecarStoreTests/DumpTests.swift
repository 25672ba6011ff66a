import AttributeModel
import Foundation
import LinuxSystem
import Testing

@testable import SidecarStore

/// Dumps: what is written comes back, and nonsense is an error with a line number.
@Suite struct DumpTests {
  private func read(_ bytes: [UInt8], pieces: Int = .max) throws -> [DumpRecord] {
    var reader = DumpReader()
    var records: [DumpRecord] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      records += try reader.take(Array(rest.prefix(pieces)))
      rest = rest.dropFirst(pieces)
    }
    return records + (try reader.finish())
  }

  private func random(_ generator: inout SeededGenerator, noNUL: Bool = true) -> [UInt8] {
    let length = Int.random(in: 1...40, using: &generator)
    // Signs of the formats more often than others.
    let signs = Array("\\\"=\n\r#/ 0sx{}:,".utf8)
    return (0..<length).map { _ in
      Bool.random(using: &generator)
        ? signs[Int.random(in: 0..<signs.count, using: &generator)]
        : .random(in: (noNUL ? 1 : 0)...255, using: &generator)
    }
  }

  @Test(arguments: DumpEncoding.allCases)
  func everyByteComesBack(_ encoding: DumpEncoding) throws {
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<300 {
      var record = DumpRecord(paths: [random(&generator)], attributes: [:])
      for _ in 0..<Int.random(in: 0...5, using: &generator) {
        let value =
          Int.random(in: 0..<5, using: &generator) == 0 ? [] : random(&generator, noNUL: false)
        record.attributes[try AttributeName(random(&generator))] = value
      }
      let pieces = Int.random(in: 1...100, using: &generator)
      // A line that begins with # is a comment to getfattr's own reader as well.
      record.attributes = record.attributes.filter { $0.key.bytes.first != UInt8(ascii: "#") }
      #expect(try read(GetfattrDump.text(record, encoding), pieces: pieces) == [record])
      record.paths.append(random(&generator))
      record.type = .fifo
      record.changed = Timestamp(seconds: -7, nanoseconds: 70)
      #expect(try read(JSONDump.text(record), pieces: pieces) == [record])
    }
  }

  @Test func linesAreJSON() throws {
    let record = DumpRecord(
      paths: [Array("a \"b\" \u{1F600}\t".utf8), [0xff]], type: .regular,
      changed: Timestamp(seconds: 5, nanoseconds: 6),
      attributes: [try AttributeName([0x75, 0xfe]): [0, 1], try name("user.ü"): []])
    let line = JSONDump.text(record)
    #expect(line.last == 10 && line.dropLast().allSatisfy { $0 != 10 })
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
    #expect(object["path"] as? String == "a \"b\" \u{1F600}\t")
    #expect((object["links"] as? [[String: String]])?.first?["base64"] == "/w==")
    let attributes = try #require(object["attributes"] as? [[String: Any]])
    #expect(attributes.map { $0["value"] as? String } == ["", "AAE="])
    // What Foundation writes, we read: with other spaces, escapes and order.
    let again = try JSONSerialization.data(
      withJSONObject: object, options: [.sortedKeys])
    #expect(try read(Array(again)) == [record])
  }

  @Test func base64IsFoundations() {
    var generator = SeededGenerator(seed: 8)
    for length in 0..<100 {
      let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let text = Data(bytes).base64EncodedString()
      #expect(Base64.encoded(bytes) == Array(text.utf8))
      #expect(Base64.decoded(text.utf8) == bytes)
    }
    for wrong in ["A", "AB=C", "A*BC", "AAAAA"] { #expect(Base64.decoded(wrong.utf8) == nil) }
  }

  @Test(arguments: [
    ("user.a=\"1\"\n", 1), ("# file: a\nuser.a=0xabc\n", 2), ("# file: a\nuser.a=0s*\n", 2),
    ("# file: a\nuser.a=\"open\n", 2), ("\n\n# file: \n", 3), ("# file: a\n=\"1\"\n", 2),
    ("{\"path\":\"a\"}\n{\"path\":\"b\"\n", 2), ("{\"path\":\"\"}", 1), ("{\"path\":1}", 1),
    ("{}", 1), ("{\"path\":\"a\"} x", 1), ("{\"path\":\"\\ud800\"}", 1),
    ("{\"path\":\"a\",\"attributes\":[{\"name\":\"user.a\"}]}", 1),
    ("{\"path\":\"a\",\"type\":\"door\"}", 1), ("{\"path\":\"a\",\"changed\":\"1\"}", 1),
  ])
  func nonsenseIsAnErrorWithALine(_ text: String, _ line: Int) throws {
    let error = #expect(throws: DumpError.self) { try read(Array(text.utf8)) }
    #expect(error?.line == line)
  }

  @Test func nestingHasAnEnd() throws {
    let line = "{\"path\":" + String(repeating: "[", count: 100_000)
    let error = #expect(throws: DumpError.self) { try read(Array(line.utf8)) }
    #expect(error?.problem == "nested too deep")
  }

  /// Nothing that comes in may end the process.
  @Test func noiseNeverTraps() throws {
    var generator = SeededGenerator(seed: 9)
    for number in 0..<3000 {
      var bytes = Array((number % 2 == 0 ? "{\"path\":\"" : "# file: a\nuser.").utf8)
      for _ in 0..<5 { bytes += random(&generator, noNUL: false) }
      _ = try? read(bytes)
    }
  }
}
