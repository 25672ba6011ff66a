import ExampleSupport
import ExtendedAttributes
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One download, from wherever an earlier one was to the end.
struct Download {
  /// The file on the server is not the one that was begun, and the part is to be kept.
  struct Changed: Error {}

  /// What is wrong with the answer of the server, or the part.
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  private let url: URL
  private let path: String
  private let keepsChanged: Bool
  private let isQuiet: Bool
  private let bar: ProgressBar
  private var part: String { path + ".part" }

  init(from url: URL, to path: String, keepsChanged: Bool, isQuiet: Bool) {
    self.url = url
    self.path = path
    self.keepsChanged = keepsChanged
    self.isQuiet = isQuiet
    bar = ProgressBar(isWanted: !isQuiet)
  }

  func run() throws {
    let descriptor = open(part, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw Problem(description: "\(part): \(reason())") }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    // Two at once would write over each other.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw Problem(description: "\(part): another download is writing it")
    }
    let attributes = handle.extendedAttributes
    do {
      // Before anything is transferred: does this file system remember at all?
      try attributes.set(url.absoluteString, for: .source)
    } catch {
      if try handle.seekToEnd() == 0 { unlink(part) }
      throw error
    }
    try transfer(handle, attributes, from: start(handle, attributes))
    bar.clear()
    try finish(handle, attributes)
  }

  /// How much of the part can be relied upon.
  ///
  /// Bytes are written before they are counted, so the count is never too high while the system
  /// runs; after a loss of power the file may be shorter, and then its length counts.
  private func start(_ handle: FileHandle, _ attributes: ExtendedAttributeView) throws -> Int64 {
    let length = Int64(try handle.seekToEnd())
    guard let received = try attributes[.received], received >= 0,
      try attributes.contains(ExtendedAttributeKey<String>.validator)
    else { return 0 }
    return min(received, length)
  }

  private func transfer(
    _ handle: FileHandle, _ attributes: ExtendedAttributeView, from start: Int64
  ) throws {
    let expected = try attributes[.expected]
    if start > 0, start == expected { return say("complete already, only to be renamed") }
    var request = URLRequest(url: url)
    let validator = try attributes[.validator]
    if start > 0, let validator {
      request.setValue("bytes=\(start)-", forHTTPHeaderField: "Range")
      // Whoever has another file by now sends all of it.
      request.setValue(validator, forHTTPHeaderField: "If-Range")
    }
    var position = start
    var total = expected
    var isRefused = false
    try Transfer.run(request) { head in
      switch head.status {
      case 206 where start > 0:
        try checkContinuation(head, start, expected)
        say("going on at byte \(start)")
      case 200:
        if start > 0 { try checkRestart(head, validator) }
        total = head["Content-Length"].flatMap { Int64($0) }
        try begin(handle, attributes, head, total)
        position = 0
      case 416:
        // The file is shorter than the part.
        isRefused = true
        return false
      default:
        throw Problem(description: "\(url.absoluteString): the server says \(head.status)")
      }
      return true
    } piece: { data in
      try handle.seek(toOffset: UInt64(position))
      try handle.write(contentsOf: data)
      position += Int64(data.count)
      try attributes.set(position, for: .received)
      bar.show(path, position, of: total)
    }
    if isRefused {
      if keepsChanged { throw Changed() }
      say("the file on the server has changed: starting anew")
      try attributes.remove(ExtendedAttributeKey<Int64>.received)
      return try transfer(handle, attributes, from: 0)
    }
    if let total, position != total {
      throw Problem(
        description: "\(url.absoluteString): the connection ended at byte \(position) of \(total)")
    }
  }

  /// Whether the piece that the server sends is the one that was asked for.
  private func checkContinuation(
    _ head: Transfer.Head, _ start: Int64, _ expected: Int64?
  ) throws {
    // Content-Range: bytes 100-199/200
    let range = (head["Content-Range"] ?? "").split(whereSeparator: { " -/".contains($0) })
    guard range.count == 4, range[0].lowercased() == "bytes", Int64(range[1]) == start,
      expected == nil || range[3] == "*" || Int64(range[3]) == expected
    else {
      throw Problem(
        description: "the server sent another range than asked for: \(head["Content-Range"] ?? "")")
    }
  }

  private func checkRestart(_ head: Transfer.Head, _ validator: String?) throws {
    if validator == Self.validator(of: head) {
      say("the server does not continue files: starting anew")
    } else {
      if keepsChanged { throw Changed() }
      say("the file on the server has changed: starting anew")
    }
  }

  /// Empties the part and notes what is to come. Killed in between, it has either no count or a
  /// count of nothing, and starts anew.
  private func begin(
    _ handle: FileHandle, _ attributes: ExtendedAttributeView, _ head: Transfer.Head,
    _ total: Int64?
  ) throws {
    try attributes.remove(ExtendedAttributeKey<Int64>.received)
    try handle.truncate(atOffset: 0)
    try attributes.set(total, for: .expected)
    try attributes.set(Self.validator(of: head), for: .validator)
    try attributes.set(0, for: .received)
  }

  /// A strong ETag, else the date: only these may stand in If-Range.
  private static func validator(of head: Transfer.Head) -> String? {
    if let tag = head["ETag"], !tag.hasPrefix("W/") { return tag }
    return head["Last-Modified"]
  }

  /// Gives the file its name; what concerned the part only is forgotten, where it came from is
  /// kept.
  private func finish(_ handle: FileHandle, _ attributes: ExtendedAttributeView) throws {
    let length = try handle.seekToEnd()
    try attributes.set([url.absoluteString], for: .whereFroms)
    try handle.synchronize()
    guard rename(part, path) == 0 else { throw Problem(description: "\(path): \(reason())") }
    for key in [ExtendedAttributeKey.received, .expected] { try attributes.remove(key) }
    for key in [ExtendedAttributeKey.validator, .source] { try attributes.remove(key) }
    say("\(path): \(length) bytes")
  }

  private func say(_ text: String) {
    guard !isQuiet else { return }
    bar.clear()
    print(text)
  }

  private func reason() -> String { String(cString: strerror(errno)) }
}
