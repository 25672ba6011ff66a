import AttributeModel
import LinuxSystem
import Overlay
import SidecarStore

/// `sidecarfs quarantine`.
enum QuarantineCommand {
  static let name = "quarantine"
  static let summary = "list what was set aside, and give it back to a file"
  static let usage = "sidecarfs quarantine [OPTIONS] SOURCE"
  static let options =
    [
      Option(
        name: "restore", value: "ID",
        help: "give the attributes of this record to the file under its last name, or to --to"),
      Option(name: "to", value: "PATH", help: "to this file, by its path from SOURCE's root"),
      Option(name: "overwrite", help: "in place of other values that the file has"),
      Option(name: "damaged", help: "also values that are not what was kept, by their checksum"),
      Option(name: "dry-run", letter: "n", help: "tell what would be done, and do nothing"),
      Option(name: "json", letter: "j", help: "tell it as an object, for programs"),
    ] + StoreTarget.options

  static let more = """

    A record is set aside when its key has come to mean another file, when its file
    is gone, or when it was found damaged; it is never shown and never destroyed,
    except by sidecarfs prune --quarantine. A record is given back as a whole or not
    at all. For that SOURCE must not be mounted, except with --dry-run.

    examples:
      sidecarfs quarantine /srv/data
      sidecarfs quarantine --restore 17 --to reports/2024 /srv/data


    """ + ToolStatus.help

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> ToolStatus {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") {
      _ = Help.show(name, usage, summary, options, output, more: more)
      return .clean
    }
    let identifier = try number(arguments.value("restore"))
    if identifier == nil,
      let option = ["to", "overwrite", "damaged", "dry-run"].first(where: { arguments.has($0) })
    {
      throw CommandFailure(
        .usage, "quarantine: --\(option) is for --restore", remedy: "name a record: --restore ID")
    }
    let target = try StoreTarget.find(
      StoreTarget.operand(of: arguments, name, usage: usage), arguments)
    guard let identifier else {
      let store = try target.reading(for: name)
      try Quarantine(store, StoreRoot.find(in: store, target)?.id ?? 0)
        .list(output, isJSON: arguments.has("json"))
      return .clean
    }
    let tree = try SourceTree(target)
    Cancellation.watch()
    let isTrial = arguments.has("dry-run")
    let store =
      isTrial
      ? try target.reading(for: name)
      : try target.changing(for: name, insteadOfMounted: "unmount it first, or use --dry-run")
    let quarantine = Quarantine(store, try StoreRoot.find(in: store, target)?.id ?? 0)
    let restoring = try Restoring(
      quarantine.record(identifier), quarantine, tree, to: arguments.value("to"))
    let refusals = try restoring.refusals(
      overwrites: arguments.has("overwrite"), takesDamaged: arguments.has("damaged"))
    for refusal in refusals { output.report(refusal) }
    if !isTrial {
      if refusals.isEmpty { try restoring.carryOut() }
      try asking { () throws(StoreError) in try store.close() }
    }
    restoring.tell(
      output, isJSON: arguments.has("json"), isDone: refusals.isEmpty && !isTrial,
      refusals: refusals)
    return refusals.isEmpty ? .clean : .uncorrected
  }

  private static func number(_ text: FileName?) throws(CommandFailure) -> Int64? {
    guard let text = text?.description else { return nil }
    guard let number = Int64(text), number > 0 else {
      throw CommandFailure(
        .usage, "quarantine: --restore: there is no \(text)",
        remedy: "see sidecarfs quarantine SOURCE")
    }
    return number
  }
}

/// The records of a store that were set aside.
private struct Quarantine {
  let store: StoreFile
  private let root: Int64

  init(_ store: StoreFile, _ root: Int64) {
    self.store = store
    self.root = root
  }

  func record(_ id: Int64) throws(CommandFailure) -> QuarantinedRecord {
    let records = try asking { () throws(StoreError) in try store.quarantined() }
    guard let record = records.first(where: { $0.id == id }) else {
      throw CommandFailure(
        .system, "quarantine: no record \(id) was set aside",
        remedy: "see sidecarfs quarantine SOURCE")
    }
    return record
  }

  /// The path by which a record's object was last known, as far as that is known.
  func path(of record: QuarantinedRecord) throws(CommandFailure) -> [UInt8]? {
    let path = try asking { () throws(StoreError) in try store.path(of: record.id, below: root) }
    return path ?? record.name
  }

  func list(_ output: Output, isJSON: Bool) throws(CommandFailure) {
    var list: [JSON] = []
    for record in try asking({ () throws(StoreError) in try store.quarantined() }) {
      let attributes = try asking { () throws(StoreError) in
        try store.quarantinedAttributes(of: record.id)
      }
      let path = try path(of: record).map { String(decoding: $0, as: UTF8.self) }
      let time = Timestamp(seconds: record.seconds, nanoseconds: 0).universalTime
      let names = attributes.map { String(decoding: $0.name.bytes, as: UTF8.self) }
      if isJSON {
        list.append(
          .object(
            [
              JSON.Member(name: "id", value: .number(Int(clamping: record.id))),
              JSON.Member(name: "reason", value: .string(record.reason)),
              JSON.Member(name: "time", value: .string(time)),
              JSON.Member(name: "attributes", value: .array(names.map { .string($0) })),
            ] + (path.map { [JSON.Member(name: "path", value: .string($0))] } ?? [])))
      } else {
        output.write(
          "\(record.id): \(path ?? "no name"), \(record.reason), \(time): "
            + (names.isEmpty ? "no attributes" : names.joined(separator: " ")) + "\n")
      }
    }
    if isJSON {
      let members = [JSON.Member(name: "quarantined", value: .array(list))]
      output.write(JSON.object(members).text + "\n")
    }
  }
}

/// A record that is given back to an object of the source.
private struct Restoring {
  private let record: QuarantinedRecord
  private let store: StoreFile
  private let path: [UInt8]
  private let type: FileType
  private let lineage: [LineageStep]
  private let attributes: [(name: AttributeName, value: [UInt8], isIntact: Bool)]
  private let known: AttributeSet

  init(
    _ record: QuarantinedRecord, _ quarantine: Quarantine, _ tree: SourceTree, to path: FileName?
  ) throws(CommandFailure) {
    self.record = record
    let store = quarantine.store
    self.store = store
    var named = path?.bytes
    if named == nil { named = try quarantine.path(of: record) }
    guard let named else {
      throw CommandFailure(
        .usage, "quarantine: no name of record \(record.id) is known", remedy: "name one with --to")
    }
    self.path = named
    let text = String(decoding: named, as: UTF8.self)
    let isAbsolute = named.first == UInt8(ascii: "/")
    var nodes = [tree.root]
    do throws(Errno) {
      if isAbsolute { throw .noEntry }
      for step in named.split(separator: UInt8(ascii: "/")) where step != [UInt8(ascii: ".")] {
        nodes.append(try nodes[nodes.count - 1].open(Array(step)))
      }
      lineage = try tree.lineage(nodes)
    } catch {
      throw CommandFailure(
        .system, "\(text): \(error)",
        remedy: "name an existing file with --to, by its path from the source's root")
    }
    type = nodes[nodes.count - 1].status.type
    attributes = try asking { () throws(StoreError) in
      try store.quarantinedAttributes(of: record.id)
    }
    let key = lineage[lineage.count - 1].object
    known = try asking { () throws(StoreError) in
      guard let object = try store.object(under: key) else { return AttributeSet() }
      return AttributeSet(try store.attributes(of: object.id))
    }
  }

  private var pathText: String { String(decoding: path, as: UTF8.self) }

  /// What speaks against it, a line each.
  func refusals(overwrites: Bool, takesDamaged: Bool) throws(CommandFailure) -> [String] {
    // Where nothing is known of the object, its type is not either.
    if record.type.bits != 0 && record.type != type {
      return ["\(pathText) is of another type than what record \(record.id) is of"]
    }
    var refusals: [String] = []
    var future = known
    for (name, value, isIntact) in attributes {
      let text = "\(pathText): \(String(decoding: name.bytes, as: UTF8.self))"
      if !isIntact && !takesDamaged {
        refusals.append("\(text): the value is not what was kept; see --damaged")
      }
      if let old = known[name], old != value, !overwrites {
        refusals.append("\(text): there is another value; see --overwrite")
      }
      do throws(Errno) {
        try future.admit(name, value)
        future[name] = value
      } catch {
        refusals.append("\(text): \(error)")
      }
    }
    return refusals
  }

  /// Gives everything to the object, and forgets the record.
  func carryOut() throws(CommandFailure) {
    let key = lineage[lineage.count - 1].object
    try asking { () throws(StoreError) in
      try store.begin()
      for attribute in attributes {
        try store.set(
          attribute.name, to: attribute.value, of: key, type: type, changed: Timestamp.now,
          lineage: lineage)
      }
      try store.link(key, at: lineage)
      try store.dissolve(record.id, into: key)
      try store.commit()
    }
  }

  func tell(_ output: Output, isJSON: Bool, isDone: Bool, refusals: [String]) {
    if isJSON {
      output.write(
        JSON.object([
          JSON.Member(name: "id", value: .number(Int(clamping: record.id))),
          JSON.Member(name: "path", value: .string(pathText)),
          JSON.Member(name: "attributes", value: .number(attributes.count)),
          JSON.Member(name: "restored", value: .bool(isDone)),
          JSON.Member(name: "refusals", value: .array(refusals.map { .string($0) })),
        ]).text + "\n")
    } else if refusals.isEmpty {
      let verb = isDone ? "restored" : "would be restored"
      output.write("\(pathText): \(attributes.count) attributes \(verb)\n")
    }
  }
}

extension Timestamp {
  /// As ISO 8601 writes it, in UTC.
  fileprivate var universalTime: String {
    // Days since the first of March of year 0, in eras of 400 years.
    let (day, second) = (seconds / 86400, seconds % 86400)
    guard second >= 0, day < 1 << 31 else { return "\(seconds)" }
    let days = day + 719_468
    let dayOfEra = days % 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let march = (5 * dayOfYear + 2) / 153
    let month = march < 10 ? march + 3 : march - 9
    let year = yearOfEra + days / 146_097 * 400 + (month <= 2 ? 1 : 0)
    func padded(_ number: Int64, _ width: Int = 2) -> String {
      let text = "\(number)"
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    let date =
      "\(padded(year, 4))-\(padded(month))-\(padded(dayOfYear - (153 * march + 2) / 5 + 1))"
    return "\(date)T\(padded(second / 3600)):\(padded(second / 60 % 60)):\(padded(second % 60))Z"
  }
}
