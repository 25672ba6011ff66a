public import AttributeModel
public import LinuxSystem

/// One object of a dump: attributes outside a store, for other programs and other places.
public struct DumpRecord: Hashable, Sendable {
  /// Its names from the source's root, bytes with slashes between; "." is the root. At least one.
  public var paths: [[UInt8]]
  /// What it is, where the format tells.
  public var type: FileType?
  /// When an attribute last changed, where the format tells.
  public var changed: Timestamp?
  /// Its attributes.
  public var attributes: [AttributeName: [UInt8]]

  /// An object.
  public init(
    paths: [[UInt8]], type: FileType? = nil, changed: Timestamp? = nil,
    attributes: [AttributeName: [UInt8]]
  ) {
    self.paths = paths
    self.type = type
    self.changed = changed
    self.attributes = attributes
  }
}

/// How attributes are written down.
public enum DumpFormat: String, Sendable, CaseIterable {
  /// As `getfattr --dump` writes and `setfattr --restore` reads.
  case getfattr
  /// JSON Lines: one object a line.
  case json
}

/// How `getfattr` writes values.
public enum DumpEncoding: String, Sendable, CaseIterable {
  /// Text where most of it can be printed, else base64.
  case auto
  /// Always text, with octal numbers for what would break the line.
  case text
  /// `0x` and two digits a byte.
  case hex
  /// `0s` and base64.
  case base64
}

/// What is wrong with a dump, and where.
public struct DumpError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Counted from 1.
  public let line: Int
  /// What is wrong there.
  public let problem: String

  /// One line.
  public var description: String { "line \(line): \(problem)" }
}

/// Takes a dump apart as it comes; the format is told by its first line.
public struct DumpReader: Sendable {
  private var rest: [UInt8] = []
  private var line = 0
  private var format: DumpFormat?
  private var block: DumpRecord?

  /// A reader at the beginning of a dump.
  public init() {}

  /// The objects that are complete with these bytes.
  public mutating func take(_ bytes: [UInt8]) throws(DumpError) -> [DumpRecord] {
    var records: [DumpRecord] = []
    var start = bytes.startIndex
    while let end = bytes[start...].firstIndex(of: newline) {
      rest += bytes[start..<end]
      start = end + 1
      let complete = rest
      rest = []
      try takeLine(complete, &records)
    }
    rest += bytes[start...]
    return records
  }

  /// The last object, at the end of the dump.
  public mutating func finish() throws(DumpError) -> [DumpRecord] {
    var records: [DumpRecord] = []
    if !rest.isEmpty {
      let last = rest
      rest = []
      try takeLine(last, &records)
    }
    end(&records)
    return records
  }

  private mutating func takeLine(
    _ text: [UInt8], _ records: inout [DumpRecord]
  ) throws(DumpError) {
    line += 1
    let isBlank = text.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }
    if format == nil && !isBlank { format = text.first == UInt8(ascii: "{") ? .json : .getfattr }
    switch format {
    case .json:
      if isBlank { return }
      do throws(JSONError) {
        records.append(try JSONDump.record(text))
      } catch {
        throw DumpError(line: line, problem: error.problem)
      }
    case .getfattr: try takeGetfattr(text, &records)
    case nil: return
    }
  }

  private mutating func takeGetfattr(
    _ text: [UInt8], _ records: inout [DumpRecord]
  ) throws(DumpError) {
    if text.isEmpty { return end(&records) }
    if let path = GetfattrDump.path(text) {
      end(&records)
      guard !path.isEmpty, !path.contains(0) else { throw failure("no path after \"# file:\"") }
      block = DumpRecord(paths: [path], attributes: [:])
    } else if text.first != UInt8(ascii: "#") {
      guard block != nil else { throw failure("expected \"# file: PATH\"") }
      guard let (name, value) = GetfattrDump.attribute(text) else {
        throw failure("no attribute that could be read")
      }
      block?.attributes[name] = value
    }
  }

  private mutating func end(_ records: inout [DumpRecord]) {
    if let block { records.append(block) }
    block = nil
  }

  private func failure(_ problem: String) -> DumpError { DumpError(line: line, problem: problem) }
}

let newline = UInt8(ascii: "\n")
