import ClientTestSupport
import ExtendedAttributes
import Foundation
import TestSupport
import Testing

/// What reading costs: system calls and memory. The times are the benchmark's: `attribute-cost
/// time`.
@Suite(.needsFuse, .needsLoop, .timeLimit(.minutes(2))) struct CostTests {
  @Test(arguments: PlaceKind.allCases)
  func allAttributesTakeOneListAndOneGetEach(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = try place.file()
    // A small ext4 has one block of 1024 bytes for them.
    let count = kind == .ext4 ? 8 : 30
    for index in 0..<count {
      // Long values and, all together, a long list.
      let value = Data(repeating: 7, count: kind == .ext4 ? index : index * 100)
      let name = ExtendedAttributeName("\(index)-" + String(repeating: "n", count: 40))
      try url.extendedAttributes.set(value, for: name)
    }
    let scratch = try Scratch()
    let trace = scratch.path("trace")
    let listed = try check([
      "strace", "-f", "-o", trace, "-e", "trace=/.*xattr.*", try siblingBinary("attribute-cost"),
      "all", url.path,
    ])
    #expect(listed.split(separator: "\n").count == count)
    let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
      .filter { $0.contains(url.path) }
    #expect(lines.filter { $0.contains(" listxattr(") }.count == 1)
    #expect(lines.filter { $0.contains(" getxattr(") }.count == count)
    #expect(lines.count == count + 1)
  }

  /// The result alone is the measure: the same bytes, made into the same type.
  @Test(.enabled(if: optimizedBenchmark != nil, "needs an optimized attribute-cost: Scripts/test"))
  func readingAllocatesNoMoreThanItsResult() throws {
    let place = try Place(.tmpfs)
    let url = try place.file()
    let table = try check([try #require(optimizedBenchmark), "allocations", url.path])
    let rows = table.split(separator: "\n").dropFirst().map { $0.split(separator: " ") }
    #expect(rows.count == 15)
    for row in rows {
      let numbers = try row.suffix(4).map { try #require(Int($0)) }
      #expect(numbers[0] <= numbers[2], "\(row.joined(separator: " "))")
      // Room for what the allocator rounds: a string's storage is made a little larger.
      #expect(numbers[1] <= numbers[3] + 32, "\(row.joined(separator: " "))")
    }
    // The counter does count.
    #expect(rows.contains { $0.last != "0" })
  }
}

/// Allocations count in an optimized build, which `Scripts/test` makes beside the debug one.
private let optimizedBenchmark = ProcessInfo.processInfo.environment["SIDECARFS_ATTRIBUTE_COST"]
