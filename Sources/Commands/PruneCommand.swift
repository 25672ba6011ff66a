import LinuxSystem
import Overlay
import SidecarStore

/// `sidecarfs prune`.
enum PruneCommand {
  static let name = "prune"
  static let summary = "remove records whose objects are gone"
  static let usage = "sidecarfs prune [OPTIONS] SOURCE"
  static let options =
    [
      Option(
        name: "older-than", value: "DAYS",
        help: "only what changed last, or was set aside, so many days ago"),
      Option(name: "quarantine", help: "also the records that were set aside"),
      Option(
        name: "replaced",
        help: "also records under whose names others stand, which rebind could attach"),
      Option(name: "dry-run", letter: "n", help: "tell what would be done, and do nothing"),
      Option(name: "json", letter: "j", help: "tell what was done as an object, for programs"),
    ] + StoreTarget.options

  static let more = """

    What is removed is gone for good. SOURCE must not be mounted, except with
    --dry-run. Records of file systems that are not mounted inside SOURCE now stay.

    examples:
      sidecarfs prune --dry-run /srv/data
      sidecarfs prune --quarantine --older-than 90 /srv/data


    """ + ToolStatus.help

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> ToolStatus {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") {
      _ = Help.show(name, usage, summary, options, output, more: more)
      return .clean
    }
    var limit = Int64.max
    if let text = arguments.value("older-than")?.description {
      guard let days = Int64(text), (0...36500).contains(days) else {
        throw CommandFailure(
          .usage, "prune: --older-than: there is no \(text)", remedy: "name a number of days")
      }
      limit = Timestamp.now.seconds - days * 86400
    }
    let target = try StoreTarget.find(
      StoreTarget.operand(of: arguments, name, usage: usage), arguments)
    Cancellation.watch()
    let isTrial = arguments.has("dry-run")
    let store =
      isTrial
      ? try target.reading(for: name)
      : try target.changing(for: name, insteadOfMounted: "unmount it first, or use --dry-run")
    let tree = try SourceTree(target)
    let census = try StoreCensus(store, tree, walks: false)
    if census.root == nil, try asking({ () throws(StoreError) in try store.countObjects() }) > 0 {
      throw CommandFailure(
        .system, "the store does not know \(target.path): every record would seem gone",
        remedy: "if the source was copied or restored, see sidecarfs rebind")
    }
    var findings = Findings(output, isJSON: arguments.has("json"))
    var doomed: [(kind: Findings.Kind, id: Int64, what: String)] = []
    for object in census.gone where (object.changed?.seconds ?? 0) < limit {
      let path = try asking { () throws(StoreError) in
        try store.path(of: object.id, below: census.root?.id ?? 0)
      }
      let what = path.map { String(decoding: $0, as: UTF8.self) } ?? "object \(object.id)"
      if case .alike = census.successors[object.id] ?? .none, !arguments.has("replaced") {
        findings.add(.replaced, what)
        continue
      }
      doomed.append((.gone, object.id, what))
    }
    for object in census.deadOrphans where (object.changed?.seconds ?? 0) < limit {
      doomed.append((.orphan, object.id, "object \(object.id)"))
    }
    if arguments.has("quarantine") {
      for record in try asking({ () throws(StoreError) in try store.quarantined() })
      where record.seconds < limit {
        doomed.append((.quarantined, record.id, "object \(record.id), \(record.reason)"))
      }
    }
    if !isTrial { try asking { () throws(StoreError) in try store.begin() } }
    for one in doomed {
      if !isTrial { try asking { () throws(StoreError) in try store.discard(one.id) } }
      findings.add(one.kind, one.what, correction: isTrial ? nil : "removed")
    }
    if !isTrial {
      try asking { () throws(StoreError) in
        try store.commit()
        try store.close()
      }
    }
    findings.finish(
      [("records", doomed.count)],
      remedy: isTrial ? "nothing was removed: this was a trial" : "see --replaced, or rebind")
    return isTrial && doomed.isEmpty && findings.errors == 0 ? .clean : findings.status
  }
}
