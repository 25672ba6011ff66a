import AttributeModel
import LinuxSystem
import Overlay
import SidecarStore

/// `sidecarfs import`.
enum ImportCommand {
  static let name = "import"
  static let summary = "take attributes from a dump, or from the files themselves"
  static let usage = "sidecarfs import [OPTIONS] SOURCE [FILE]"
  static let options =
    [
      Option(
        name: "native",
        help: "take the attributes that the file system below keeps itself, of every file (as root"
          + " all, else those of user.)"),
      Option(
        name: "prefix", value: "PATH",
        help: "in FILE, SOURCE is called PATH (as getfattr --absolute-names has it)"),
      Option(name: "dry-run", letter: "n", help: "tell what would be done, and do nothing"),
      Option(name: "json", letter: "j", help: "tell what was done as an object, for programs"),
    ] + StoreTarget.options

  static let more = """

    FILE, or standard input, is what export or getfattr --dump has written; its
    paths are those from SOURCE's root. Attributes that it does not name stay. All
    of it is done or nothing. SOURCE must not be mounted: over a mount use setfattr
    --restore.

    examples:
      sidecarfs import /srv/data attributes
      (cd /old && getfattr -R -h -d -m - .) | sidecarfs import /srv/data
      sidecarfs import --native /srv/data

    exit status: 0 all was taken, 4 something was not (it is told what), 8 the
    command failed, 16 usage, 32 cancelled

    """

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> ToolStatus {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") {
      _ = Help.show(name, usage, summary, options, output, more: more)
      return .clean
    }
    let operands = arguments.operands + (arguments.rest ?? [])
    let isNative = arguments.has("native")
    guard (1...(isNative ? 1 : 2)).contains(operands.count) else {
      throw CommandFailure(
        .usage, "import: a source\(isNative ? "" : ", and at most one file,") is needed",
        remedy: "usage: \(usage)")
    }
    let target = try StoreTarget.find(operands[0], arguments)
    let tree = try SourceTree(target)
    let isTrial = arguments.has("dry-run")
    Cancellation.watch()
    let store = try target.changing(
      for: name, makes: true,
      insteadOfMounted: "unmount it first, or restore over the mount with setfattr --restore")
    var work = Import(store: store, tree: tree, report: output.report)
    do throws(CommandFailure) {
      try asking { () throws(StoreError) in try store.begin() }
      if isNative {
        try work.takeNative()
      } else {
        try work.takeDump(operands.count > 1 ? operands[1] : nil, arguments.value("prefix"))
      }
      if isTrial {
        store.rollBack()
      } else {
        try asking { () throws(StoreError) in try store.commit() }
      }
      try asking { () throws(StoreError) in try store.close() }
    } catch {
      // Nothing of it is kept.
      try? store.close()
      throw error
    }
    if arguments.has("json") { output.write(work.summary.text + "\n") }
    return work.isComplete ? .clean : .uncorrected
  }
}

/// One import, and what it has come to.
private struct Import {
  let store: StoreFile
  let tree: SourceTree
  let report: (String) -> Void
  private var objects = 0
  private var attributes = 0
  private var missing = 0
  private var refused = 0

  init(store: StoreFile, tree: SourceTree, report: @escaping (String) -> Void) {
    self.store = store
    self.tree = tree
    self.report = report
  }

  var isComplete: Bool { missing == 0 && refused == 0 }

  var summary: JSON {
    let members: [(String, Int)] = [
      ("objects", objects), ("attributes", attributes), ("missing", missing),
      ("refused", refused),
    ]
    return .object(members.map { JSON.Member(name: $0.0, value: .number($0.1)) })
  }

  mutating func takeDump(_ path: FileName?, _ prefix: FileName?) throws(CommandFailure) {
    let what = path?.description ?? "standard input"
    let file: FileDescriptor
    do throws(Errno) {
      if let path {
        file = try FileDescriptor.open(path, .readOnly)
      } else {
        file = try FileDescriptor.standardInput()
      }
    } catch {
      throw CommandFailure(.system, "cannot read \(what): \(error)", remedy: "name a dump")
    }
    let size = (try? file.status().size) ?? 0
    let bar = ProgressBar("importing", of: size > 0 ? Int(clamping: size) : nil)
    var reader = DumpReader()
    while true {
      var bytes: [UInt8]?
      do throws(Errno) {
        // Who writes may have to be waited for; meanwhile a signal may come.
        if try file.waitUntilReadable(milliseconds: 200) {
          bytes = try file.readSome(count: 1 << 16)
        }
      } catch {
        throw CommandFailure(.system, "reading \(what) failed: \(error)", remedy: "try again")
      }
      try bar.advance(by: bytes?.count ?? 0)
      guard let bytes else { continue }
      let records: [DumpRecord]
      do throws(DumpError) {
        records = bytes.isEmpty ? try reader.finish() : try reader.take(bytes)
      } catch {
        throw CommandFailure(
          .system, "\(what), \(error)", remedy: "mend the line; nothing was changed")
      }
      for record in records { try take(record, below: prefix) }
      if bytes.isEmpty { return }
    }
  }

  private mutating func take(
    _ record: DumpRecord, below prefix: FileName?
  ) throws(CommandFailure) {
    var isFound = false
    for path in record.paths {
      guard let nodes = resolve(path, below: prefix) else { continue }
      let node = nodes[nodes.count - 1]
      if let type = record.type, type != node.status.type {
        refused += 1
        report("\(node.description) is of another type than in the dump")
        return
      }
      isFound = true
      try set(record.attributes, on: nodes, changed: record.changed)
      // The other names are this object's too, unless they came apart.
    }
    if !isFound {
      missing += 1
      report("\(String(decoding: record.paths[0], as: UTF8.self)): there is no such file")
    }
  }

  /// What leads to a path, from the root on; nil when nothing does.
  private func resolve(_ path: [UInt8], below prefix: FileName?) -> [SourceNode]? {
    var path = path[...]
    if let prefix {
      guard path.starts(with: prefix.bytes) else { return nil }
      path = path.dropFirst(prefix.count)
      guard
        path.isEmpty || path.first == UInt8(ascii: "/") || prefix.bytes.last == UInt8(ascii: "/")
      else { return nil }
    } else if path.first == UInt8(ascii: "/") {
      return nil
    }
    var nodes = [tree.root]
    for step in path.split(separator: UInt8(ascii: "/")) where step != [UInt8(ascii: ".")] {
      guard let node = try? nodes[nodes.count - 1].open(Array(step)) else { return nil }
      nodes.append(node)
    }
    return nodes
  }

  private mutating func set(
    _ wanted: [AttributeName: [UInt8]], on nodes: [SourceNode], changed: Timestamp?
  ) throws(CommandFailure) {
    let node = nodes[nodes.count - 1]
    var lineage: [LineageStep] = []
    var known = AttributeSet()
    do throws(Errno) { lineage = try tree.lineage(nodes) } catch {
      refused += wanted.count
      report("\(node.description): it could not be known again: \(error)")
      return
    }
    let key = lineage[lineage.count - 1].object
    if let object = try asking({ () throws(StoreError) in try store.object(under: key) }) {
      known = AttributeSet(
        try asking { () throws(StoreError) in try store.attributes(of: object.id) })
      // Here it has a name, whatever the store thinks.
      try asking { () throws(StoreError) in try store.link(key, at: lineage) }
    }
    var taken = 0
    for (name, value) in wanted.sorted(by: { $0.key < $1.key }) {
      do throws(Errno) {
        try admit(name, value, on: node, known)
      } catch {
        refused += 1
        report("\(node.description): \(name): \(error)")
        continue
      }
      try asking { () throws(StoreError) in
        try store.set(
          name, to: value, of: key, type: node.status.type, changed: changed ?? Timestamp.now,
          lineage: lineage)
      }
      known[name] = value
      taken += 1
    }
    attributes += taken
    if taken > 0 { objects += 1 }
  }

  /// What a mount would say to it.
  private func admit(
    _ name: AttributeName, _ value: [UInt8], on node: SourceNode, _ known: AttributeSet
  ) throws(Errno) {
    try known.admit(name, value)
    let holdsUser = node.status.type == .regular || node.status.type == .directory
    if name.namespace == .user && !holdsUser { throw .notPermitted }
  }

  /// Takes what the files have, from the root down.
  mutating func takeNative() throws(CommandFailure) {
    let bar = ProgressBar("importing")
    var seen: Set<FileIdentity> = []
    do throws(Errno) {
      _ = try tree.root.file.attribute(FileName("user.sidecarfs"))
    } catch {
      // A list would be empty either way.
      if error == .notSupported {
        throw CommandFailure(
          .system, "the source's file system has no attributes of its own",
          remedy: "name a dump instead of --native")
      }
    }
    try takeNative(of: [tree.root])
    var walk = SourceWalk(tree.root)
    while let nodes = walk.next() {
      try bar.advance()
      let status = nodes[nodes.count - 1].status
      let isFirst =
        status.links < 2 || status.type == .directory
        || seen.insert(FileIdentity(status)).inserted
      if isFirst { try takeNative(of: nodes) }
    }
    refused += walk.failures.count
    for failure in walk.failures { report(failure) }
  }

  private mutating func takeNative(of nodes: [SourceNode]) throws(CommandFailure) {
    let node = nodes[nodes.count - 1]
    var found: [AttributeName: [UInt8]] = [:]
    do throws(Errno) {
      for bytes in try node.file.attributeNames().split(separator: 0) {
        let name = try AttributeName(bytes)
        // The kernel's own are another matter: access control lists, for one.
        if name.namespace == .system { continue }
        do throws(Errno) {
          found[name] = try node.file.attribute(FileName(bytes))
        } catch {
          if error != .noAttribute { throw error }
        }
      }
    } catch {
      if error != .notSupported {
        refused += 1
        report("\(node.description): \(error)")
      }
    }
    if !found.isEmpty { try set(found, on: nodes, changed: nil) }
  }
}
