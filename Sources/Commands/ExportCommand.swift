import AttributeModel
import LinuxSystem
import Overlay
import SidecarStore

/// `sidecarfs export`.
enum ExportCommand {
  static let name = "export"
  static let summary = "write all attributes as text, or into the files themselves"
  static let usage = "sidecarfs export [OPTIONS] SOURCE|STORE"
  static let options =
    [
      Option(
        name: "format", value: "FORMAT",
        help: "getfattr: what setfattr --restore reads; json: an object a line, in which every byte"
          + " survives (default: getfattr)"),
      Option(
        name: "encoding", letter: "e", value: "HOW",
        help: "values of getfattr's format: auto, text, hex or base64 (default: auto)"),
      Option(
        name: "output", letter: "o", value: "FILE", help: "write there, not to standard output"),
      Option(
        name: "native",
        help: "write into SOURCE's own files, whose file system has attributes itself"),
      Option(name: "json", letter: "j", help: "tell what was done as an object, for programs"),
    ] + StoreTarget.options

  static let more = """

    Paths are those from SOURCE's root. Works while SOURCE is mounted. A value that
    ends in a NUL is written in base64: getfattr itself would leave the NUL out.

    examples:
      sidecarfs export /srv/data > attributes
      cd /restored && setfattr -h --restore=attributes
      sidecarfs export --format json -o attributes.jsonl /srv/data
      sidecarfs export --native /srv/data


    """ + ToolStatus.help

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> ToolStatus {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") {
      _ = Help.show(name, usage, summary, options, output, more: more)
      return .clean
    }
    let format: DumpFormat = try arguments.choice("format", of: name) ?? .getfattr
    let encoding: DumpEncoding = try arguments.choice("encoding", of: name) ?? .auto
    let target = try StoreTarget.find(
      StoreTarget.operand(of: arguments, name, usage: usage), arguments)
    Cancellation.watch(undoes: false)
    let store = try target.reading(for: name)
    var export = Export(store)
    if arguments.has("native") {
      try export.intoFiles(of: target, report: output.report)
    } else {
      let file = try DumpFile(arguments.value("output"))
      try export.intoFile(
        file, of: target, format == .getfattr ? { GetfattrDump.text($0, encoding) } : JSONDump.text,
        repeatingNames: format == .getfattr)
    }
    return try export.tell(output, isJSON: arguments.has("json"))
  }
}

/// One export, and what it has come to.
private struct Export {
  let store: StoreFile
  /// Objects and attributes that were written.
  var objects: Set<Int64> = []
  var attributes = 0
  /// Attributes that the files did not take.
  var refused = 0

  init(_ store: StoreFile) { self.store = store }

  /// A path and the names that lead there.
  struct Place {
    let path: [UInt8]
    func appending(_ name: [UInt8]) -> [UInt8] {
      path == Array(".".utf8) ? name : path + [UInt8(ascii: "/")] + name
    }
  }

  mutating func intoFile(
    _ file: DumpFile, of target: borrowing StoreTarget, _ text: (DumpRecord) -> [UInt8],
    repeatingNames: Bool
  ) throws(CommandFailure) {
    guard let root = try StoreRoot.find(in: store, target) else { return try file.finish() }
    let bar = ProgressBar(
      "exporting",
      of: try asking { () throws(StoreError) in
        try store.countObjects()
      })
    try write(root, Place(path: Array(".".utf8)).path, root.id, file, text, repeatingNames)
    var walk = EntryWalk(store, from: root.id, at: Place(path: Array(".".utf8)))
    while let (entry, place) = try asking({ () throws(StoreError) in try walk.next() }) {
      try bar.advance()
      let path = place.appending(entry.name)
      try write(entry.object, path, root.id, file, text, repeatingNames)
      if entry.object.type == .directory {
        walk.descend(into: entry.object.id, at: Place(path: path))
      }
    }
    bar.clear()
    var found: [StoredObject: [[UInt8]]] = [:]
    try search(target) { object, node in
      found[object, default: []].append(Array(node.path.joined(separator: [UInt8(ascii: "/")])))
    }
    for (object, paths) in found.sorted(by: { $0.key.id < $1.key.id }) {
      for path in repeatingNames ? paths : Array(paths.prefix(1)) {
        try write(object, path, root.id, file, text, repeatingNames, others: paths)
      }
    }
    try file.finish()
  }

  private mutating func write(
    _ object: StoredObject, _ path: [UInt8], _ root: Int64, _ file: DumpFile,
    _ text: (DumpRecord) -> [UInt8], _ repeatingNames: Bool, others: [[UInt8]] = []
  ) throws(CommandFailure) {
    guard object.hasAttributes, object.key != nil else { return }
    let isFirst = objects.insert(object.id).inserted
    guard isFirst || repeatingNames else { return }
    let found = try asking { () throws(StoreError) in
      var paths = [path]
      if !repeatingNames { paths += others.filter { $0 != path } }
      if !repeatingNames {
        for name in try store.names(of: object.id) {
          guard let parent = try store.path(of: name.parent, below: root) else { continue }
          let other = Place(path: parent).appending(name.name)
          if other != path { paths.append(other) }
        }
      }
      return DumpRecord(
        paths: paths, type: object.type, changed: object.changed,
        attributes: try store.attributes(of: object.id))
    }
    if isFirst { attributes += found.attributes.count }
    try file.write(text(found))
  }

  /// Sets what is stored on the files themselves.
  mutating func intoFiles(
    of target: borrowing StoreTarget, report: (String) -> Void
  ) throws(CommandFailure) {
    let tree = try SourceTree(target)
    guard let root = try StoreRoot.find(in: store, target) else { return }
    let bar = ProgressBar(
      "exporting",
      of: try asking { () throws(StoreError) in
        try store.countObjects()
      })
    try set(root, on: tree.root, report)
    var walk = EntryWalk(store, from: root.id, at: tree.root)
    while let (entry, directory) = try asking({ () throws(StoreError) in try walk.next() }) {
      try bar.advance()
      guard let node = try? directory.open(entry.name) else { continue }
      // Only what is still the same object: nothing may get another's attributes.
      if let key = entry.object.key, (try? tree.key(of: node)) == key {
        try set(entry.object, on: node, report)
      }
      if entry.object.type == .directory { walk.descend(into: entry.object.id, at: node) }
    }
    bar.clear()
    let search = self
    try search.search(target) { (object, node) throws(CommandFailure) in
      try set(object, on: node, report)
    }
  }

  /// Calls `body` with each object to which no known name led, and what it is in the source: that is
  /// searched if there are any.
  private func search(
    _ target: borrowing StoreTarget,
    _ body: (StoredObject, SourceNode) throws(CommandFailure) -> Void
  ) throws(CommandFailure) {
    switch target.source {
    case .some: break
    case .none: return
    }
    var wanted: [ObjectKey: StoredObject] = [:]
    for object in try unwritten() {
      if let key = object.key, key.volume.kind != .path { wanted[key] = object }
    }
    if wanted.isEmpty { return }
    let tree = try SourceTree(target)
    let bar = ProgressBar("searching the source")
    var walk = SourceWalk(tree.root)
    while let nodes = walk.next() {
      try bar.advance()
      let node = nodes[nodes.count - 1]
      guard let key = try? tree.key(of: node), let object = wanted[key],
        object.type == node.status.type
      else { continue }
      try body(object, node)
    }
  }

  /// Objects with attributes to which the known names did not lead.
  private func unwritten() throws(CommandFailure) -> [StoredObject] {
    var found: [StoredObject] = []
    var last: Int64 = 0
    while true {
      let after = last
      let some = try asking { () throws(StoreError) in try store.objects(after: after) }
      guard let end = some.last else { return found }
      last = end.id
      found += some.filter { $0.hasAttributes && !$0.isOrphan && !objects.contains($0.id) }
    }
  }

  private mutating func set(
    _ object: StoredObject, on node: SourceNode, _ report: (String) -> Void
  ) throws(CommandFailure) {
    guard object.hasAttributes, objects.insert(object.id).inserted else { return }
    let found = try asking { () throws(StoreError) in try store.attributes(of: object.id) }
    for (name, value) in found.sorted(by: { $0.key < $1.key }) {
      do throws(Errno) {
        try node.file.setAttribute(FileName(name.bytes), to: value)
        attributes += 1
      } catch {
        refused += 1
        report("\(node.description): \(name): \(error)")
      }
    }
  }

  /// The summary; what has attributes and no name that leads there is not passed over in silence.
  func tell(_ output: Output, isJSON: Bool) throws(CommandFailure) -> ToolStatus {
    let unnamed = try unwritten().count
    if isJSON {
      let members: [(String, Int)] = [
        ("objects", objects.count), ("attributes", attributes), ("unnamed", unnamed),
        ("refused", refused),
      ]
      let summary = JSON.object(members.map { JSON.Member(name: $0.0, value: .number($0.1)) })
      output.complain(summary.text)
    }
    if unnamed > 0 {
      output.report(
        "\(unnamed) objects with attributes were left out, because no name leads to them;"
          + " sidecarfs check tells more")
    }
    return unnamed > 0 || refused > 0 ? .uncorrected : .clean
  }
}
