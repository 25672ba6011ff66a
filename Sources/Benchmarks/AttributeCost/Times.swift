import ExtendedAttributes
import Foundation

/// The lengths of values that are tried.
let lengths = [8, 100, 1000, 3000, 60_000]

/// One way to read an attribute.
struct Way {
  let title: String
  let read: () -> Int
}

/// Prints the median time of each way and its ratio to the bare calls.
///
/// The ways take turns in short rounds, so that whatever else the machine does meets them alike. The
/// bare calls run twice: the ratio of the second to the first shows what the numbers are worth.
func printTimes(_ path: String) throws {
  #if DEBUG
    print("a debug build: these numbers mean nothing")
  #endif
  let url = URL(fileURLWithPath: path)
  let view = url.extendedAttributes
  if !FileManager.default.fileExists(atPath: path) { try Data().write(to: url) }
  let name: ExtendedAttributeName = "cost.value"
  print("bytes  way                            ns   ratio")
  for length in lengths {
    do {
      try view.set(Data(repeating: UInt8(ascii: "x"), count: length), for: name)
    } catch {
      guard error.kind == .noSpace else { throw error }
      print("\(length): more than this file system takes")
      continue
    }
    let ways = [
      Way(title: "bare: measure, allocate, read") { bareRead(path, "user.cost.value") },
      Way(title: "bare again (control)") { bareRead(path, "user.cost.value") },
      Way(title: "view.data(for:)") { (try? view.data(for: name)?.count) ?? -1 },
      Way(title: "view.string(for:)") { (try? view.string(for: name)?.utf8.count) ?? -1 },
      Way(title: "url.extendedAttribute(for:)") {
        url.extendedAttribute(for: "cost.value")?.utf8.count ?? -1
      },
    ]
    let times = medians(ways, expecting: length)
    for (way, time) in zip(ways, times) {
      let ratio = String(format: "%.2f", time / times[0])
      print(
        String(length).padding(toLength: 6, withPad: " ", startingAt: 0),
        way.title.padding(toLength: 30, withPad: " ", startingAt: 0),
        String(Int(time)).padding(toLength: 6, withPad: " ", startingAt: 0), ratio)
    }
  }
  try view.remove(name)
}

/// Nanoseconds a read for each way: the median over the rounds.
private func medians(_ ways: [Way], expecting length: Int) -> [Double] {
  let clock = ContinuousClock()
  let reads = 200
  var rounds = ways.map { _ in [Double]() }
  for round in 0..<120 {
    for (index, way) in ways.enumerated() {
      let time = clock.measure {
        for _ in 0..<reads where way.read() != length { fatalError("\(way.title): wrong length") }
      }
      // The first rounds warm up caches and the clock of the processor.
      if round >= 20 { rounds[index].append(Double(time.attoseconds) / 1e9 / Double(reads)) }
    }
  }
  return rounds.map { $0.sorted()[$0.count / 2] }
}

extension Duration {
  fileprivate var attoseconds: Int64 { components.attoseconds + components.seconds * Int64(1e18) }
}
