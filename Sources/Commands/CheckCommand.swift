import LinuxSystem
import Overlay
import SidecarStore

/// `sidecarfs check`.
enum CheckCommand {
  static let name = "check"
  static let summary = "look whether a store and its source belong together"
  static let usage = "sidecarfs check [OPTIONS] SOURCE"
  static let options =
    [
      Option(
        name: "repair",
        help:
          "put right what can be: records of gone objects are set aside, names mended; SOURCE must"
          + " not be mounted"),
      Option(
        name: "salvage",
        help: "a damaged store is moved away, and what can be read of it is kept in a new one"),
      Option(name: "json", letter: "j", help: "tell it as an object, for programs"),
    ] + StoreTarget.options

  static let more = """

    Without --repair nothing is changed, and SOURCE may be mounted. Each line is a
    finding: damage, gone (no such object any more), replaced (another stands under
    its name: see sidecarfs rebind), orphan, wrong name, nameless, other type, other
    root (the store is that of another directory: see rebind), and, which are no
    errors, quarantined (see sidecarfs quarantine) and open orphan.

    examples:
      sidecarfs check /srv/data
      sidecarfs check --repair /srv/data


    """ + ToolStatus.help

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> ToolStatus {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") {
      _ = Help.show(name, usage, summary, options, output, more: more)
      return .clean
    }
    let target = try StoreTarget.find(
      StoreTarget.operand(of: arguments, name, usage: usage), arguments)
    let repairs = arguments.has("repair")
    if arguments.has("salvage") { try Salvaging.run(target, output) }
    Cancellation.watch(undoes: repairs)
    let store =
      repairs
      ? try target.changing(for: name, insteadOfMounted: "unmount it first, or leave --repair out")
      : try target.reading(for: name)
    let check = Check(store, Findings(output, isJSON: arguments.has("json")), repairs: repairs)
    if repairs { try asking { () throws(StoreError) in try store.begin() } }
    try check.run(target)
    if repairs {
      try asking { () throws(StoreError) in
        try store.commit()
        try store.close()
      }
    }
    return check.finish()
  }
}

/// One check.
private final class Check {
  private let store: StoreFile
  private var findings: Findings
  private let repairs: Bool
  private var objects = 0
  private var root: Int64?
  private var remedies: [String] = []

  init(_ store: StoreFile, _ findings: Findings, repairs: Bool) {
    self.store = store
    self.findings = findings
    self.repairs = repairs
  }

  func run(_ target: borrowing StoreTarget) throws(CommandFailure) {
    let bar = ProgressBar("checking the database")
    store.whileRunning {
      bar.show()
      return !Cancellation.isRequested
    }
    let damage = try asking { () throws(StoreError) in try store.damage() }
    for line in damage { findings.add(.damage, line) }
    // Whatever else could be said of a damaged store would be said of the damage.
    if !damage.isEmpty { return remedies = ["see sidecarfs check --salvage"] }
    let ends = try asking { () throws(StoreError) in
      let ends = try store.looseEnds()
      if repairs && !ends.isEmpty { try store.tieLooseEnds() }
      return ends
    }
    let values = try asking { () throws(StoreError) in
      let values = try store.damagedValues()
      if repairs && !values.isEmpty { try store.setDamagedValuesAside() }
      return values
    }
    store.whileRunning(nil)
    bar.clear()
    for (object, name) in values {
      findings.add(
        .damage,
        "object \(object), \(String(decoding: name, as: UTF8.self)): the value is not what was kept",
        correction: repairs ? "set aside" : nil)
    }
    for line in ends { findings.add(.looseEnd, line, correction: repairs ? "tied up" : nil) }
    objects = try asking { () throws(StoreError) in try store.countObjects() }
    for record in try asking({ () throws(StoreError) in try store.quarantined() }) {
      let name = record.name.map { String(decoding: $0, as: UTF8.self) } ?? "no name"
      findings.add(
        .quarantined,
        "object \(record.id) (\(name)), \(record.attributes) attributes,"
          + " \(record.reason), \(record.seconds)")
    }
    let hasSource: Bool
    switch target.source {
    case .some: hasSource = true
    case .none: hasSource = false
    }
    if hasSource && objects > 0 { try compare(try SourceTree(target)) }
  }

  private func compare(_ tree: SourceTree) throws(CommandFailure) {
    let census = try StoreCensus(store, tree, walks: true)
    guard let root = census.root else {
      findings.add(.otherRoot, "no record of the source's root")
      return remedies = ["if the source was copied or restored, see sidecarfs rebind"]
    }
    self.root = root.id
    for object in census.gone {
      let path = try path(of: object)
      if case .alike = census.successors[object.id] ?? .none {
        findings.add(.replaced, path)
        remedies = ["where files were restored, see sidecarfs rebind; else sidecarfs prune"]
      } else {
        try correct(.gone, path, "set aside") { () throws(StoreError) in
          try store.quarantine(object.id, because: .gone)
        }
      }
    }
    for object in census.deadOrphans {
      try correct(.orphan, "object \(object.id)", "removed") { () throws(StoreError) in
        try store.discard(object.id)
      }
    }
    for object in census.otherTypes {
      try correct(.otherType, try path(of: object), "set aside") { () throws(StoreError) in
        try store.quarantine(object.id, because: .otherType)
      }
    }
    try checkNames(census)
    for object in census.undecided { findings.add(.undecided, try path(of: object)) }
    for failure in census.failures { findings.add(.undecided, failure) }
    for object in census.livingOrphans { findings.add(.openOrphan, "object \(object.id)") }
  }

  private func checkNames(_ census: StoreCensus) throws(CommandFailure) {
    let dead = Set((census.gone + census.deadOrphans).map(\.id))
    for entry in census.wrongNames where !dead.contains(entry.object.id) {
      let directory = try asking { () throws(StoreError) in
        try store.path(of: entry.parent, below: root ?? 0)
      }
      let name = (directory.map { $0 + [UInt8(ascii: "/")] } ?? []) + entry.name
      try correct(.wrongName, String(decoding: name, as: UTF8.self), "removed") {
        () throws(StoreError) in try store.remove(entry)
      }
    }
    for (object, lineage) in census.misplaced {
      let what = "object \(object.id), \(object.hasAttributes ? "with" : "without") attributes"
      guard let last = lineage.last, lineage.count > 1 else {
        findings.add(.nameless, what)
        continue
      }
      let path = lineage.dropFirst().map { String(decoding: $0.name, as: UTF8.self) }
        .joined(separator: "/")
      try correct(.nameless, "\(what), is \(path)", "noted") { () throws(StoreError) in
        try store.link(last.object, at: lineage)
      }
    }
  }

  private func correct(
    _ kind: Findings.Kind, _ what: String, _ correction: String,
    _ body: () throws(StoreError) -> Void
  ) throws(CommandFailure) {
    if repairs { try asking(body) }
    findings.add(kind, what, correction: repairs ? correction : nil)
  }

  private func path(of object: StoredObject) throws(CommandFailure) -> String {
    let path = try asking { () throws(StoreError) in
      try store.path(of: object.id, below: root ?? 0)
    }
    return path.map { String(decoding: $0, as: UTF8.self) } ?? "object \(object.id)"
  }

  func finish() -> ToolStatus {
    findings.finish(
      [("objects", objects)], remedy: remedies.first ?? (repairs ? nil : "see --repair"))
    return findings.status
  }
}
