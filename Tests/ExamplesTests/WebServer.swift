import ClientTestSupport
import Foundation
import TestSupport
import Testing

/// A web server of the test's own on a free port of the loopback address, ended with the value.
final class WebServer: Sendable {
  /// The directory that it serves.
  let root: String
  /// The URL of that directory, with a slash at its end.
  let url: String
  private let state: String
  private let scratch: Scratch
  private let child: Child

  /// A request.
  struct Request: Decodable {
    var path: String
    var status: Int
    /// Bytes of content that the answer announced.
    var sent: Int
    var range: String?
    var tag: String?
  }

  /// How the server is to behave; what is nil is as usual.
  struct Control: Encodable {
    var rate: Int?
    var cut: Int?
    var ranges: Bool?
    var etag: String?
    var date: Bool?
    var status: Int?
  }

  init() throws {
    scratch = try Scratch()
    root = try scratch.directory("root")
    state = try scratch.directory("state")
    try Data("{}".utf8).write(to: URL(fileURLWithPath: state + "/control"))
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/Server.py"
    let log = FileManager.default
    try #require(log.createFile(atPath: state + "/errors", contents: nil))
    let errors = try FileHandle(forWritingTo: URL(fileURLWithPath: state + "/errors"))
    let nothing = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/dev/null"))
    child = try Child(
      ["python3", script, root, state],
      files: [nothing.fileDescriptor, errors.fileDescriptor, errors.fileDescriptor])
    let path = state + "/port"
    let port = try waiting(for: "the web server") {
      try? String(contentsOfFile: path, encoding: .utf8)
    }
    url = "http://127.0.0.1:\(port)/"
  }

  /// Makes or replaces a file that is served.
  func file(_ name: String, _ content: Data) throws {
    let url = URL(fileURLWithPath: root + "/" + name)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try content.write(to: url)
  }

  func behave(_ control: Control = Control()) throws {
    try JSONEncoder().encode(control).write(
      to: URL(fileURLWithPath: state + "/control"), options: .atomic)
  }

  /// How many bytes of content went out in all, as far as answers have ended.
  func sent() -> Int {
    let text = (try? String(contentsOfFile: state + "/sent", encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { Int($0) }.reduce(0, +)
  }

  /// What was asked for since the last time.
  func requests() throws -> [Request] {
    let path = state + "/log"
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
    try FileManager.default.removeItem(atPath: path)
    return try text.split(separator: "\n").map {
      try JSONDecoder().decode(Request.self, from: Data($0.utf8))
    }
  }
}

/// Bytes that look random, the same for the same seed.
func noise(_ count: Int, seed: UInt64) -> Data {
  var random = Random(seed: seed)
  var data = Data(capacity: count)
  while data.count < count {
    withUnsafeBytes(of: random.next()) { data.append(contentsOf: $0) }
  }
  return data.prefix(count)
}

/// SplitMix64: a failure can be repeated with its seed.
struct Random: RandomNumberGenerator {
  var seed: UInt64

  mutating func next() -> UInt64 {
    seed &+= 0x9e37_79b9_7f4a_7c15
    var z = seed
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
