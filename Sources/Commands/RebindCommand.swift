import LinuxSystem
import Overlay
import SidecarStore

/// `sidecarfs rebind`.
enum RebindCommand {
  static let name = "rebind"
  static let summary = "after a copy or a restore: find each file again by its name"
  static let usage = "sidecarfs rebind [OPTIONS] SOURCE"
  static let options =
    [
      Option(name: "dry-run", letter: "n", help: "tell what would be done, and do nothing"),
      Option(name: "json", letter: "j", help: "tell what was done as an object, for programs"),
    ] + StoreTarget.options

  static let more = """

    A file that was copied or restored is another object, which the store does not
    know. Where it stands under the old one's name, is of the same type, and has no
    attributes of its own yet, it gets those of the old one, unless that is still
    somewhere in SOURCE. SOURCE must not be mounted, except with --dry-run.

    examples:
      cp -a /srv/data /mnt/new/data
      sidecarfs rebind /mnt/new/data


    """ + ToolStatus.help

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> ToolStatus {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") {
      _ = Help.show(name, usage, summary, options, output, more: more)
      return .clean
    }
    let target = try StoreTarget.find(
      StoreTarget.operand(of: arguments, name, usage: usage), arguments)
    let tree = try SourceTree(target)
    Cancellation.watch()
    let isTrial = arguments.has("dry-run")
    let store =
      isTrial
      ? try target.reading(for: name)
      : try target.changing(for: name, insteadOfMounted: "unmount it first, or use --dry-run")
    var rebinding = Rebinding(store, tree)
    try rebinding.plan()
    if !isTrial {
      try rebinding.carryOut()
      try asking { () throws(StoreError) in try store.close() }
    }
    return rebinding.tell(output, isJSON: arguments.has("json"), isTrial: isTrial)
  }
}

/// Which records go to which objects.
private struct Rebinding {
  private let store: StoreFile
  private let tree: SourceTree
  /// The new keys, and the paths where they were found.
  private var moves: [Int64: (key: ObjectKey, path: String)] = [:]
  private var order: [Int64] = []
  /// Who gets a key, so that no two do.
  private var takers: [ObjectKey: Int64] = [:]
  /// Directories that were only on the way to something, and who takes their place.
  private var merges: [(other: Int64, id: Int64)] = []
  /// Records that are where they belong.
  private var bound: Set<Int64> = []
  /// What was not done, and why.
  private var refusals: [Int64: String] = [:]
  private var splits: [String] = []
  private var missing: [String] = []
  /// The store knows the source's root: it is not that of another place.
  private var isAtHome = false

  init(_ store: StoreFile, _ tree: SourceTree) {
    self.store = store
    self.tree = tree
  }

  mutating func plan() throws(CommandFailure) {
    let rootKey: ObjectKey
    do throws(Errno) { rootKey = try tree.key(of: tree.root) } catch {
      throw CommandFailure(.system, "the source cannot be looked at: \(error)", remedy: "as root")
    }
    let known = try asking { () throws(StoreError) in try store.object(under: rootKey) }
    isAtHome = known != nil
    let old = try asking { () throws(StoreError) in try store.roots() }.first {
      $0.id != known?.id
    }
    let bar = ProgressBar(
      "looking for names",
      of: try asking { () throws(StoreError) in
        try store.countObjects()
      })
    for root in [known, old] {
      guard let root else { continue }
      try see(root, tree.root)
      var walk = EntryWalk(store, from: root.id, at: tree.root)
      while let (entry, directory) = try asking({ () throws(StoreError) in try walk.next() }) {
        try bar.advance()
        guard let node = try? directory.open(entry.name) else { continue }
        try see(entry.object, node)
        if entry.object.type == .directory, node.status.type == .directory {
          walk.descend(into: entry.object.id, at: node)
        }
      }
    }
    bar.clear()
    try settleHolders()
    try spareTheLiving()
    try listMissing()
  }

  /// An object of the store, and what stands under its name.
  private mutating func see(_ object: StoredObject, _ node: SourceNode) throws(CommandFailure) {
    guard let old = object.key, !object.isOrphan, !bound.contains(object.id),
      let key = try? tree.key(of: node)
    else { return }
    let path = node.description
    if key == old {
      bound.insert(object.id)
      moves[object.id] = nil
      refusals[object.id] = nil
    } else if node.status.type != object.type {
      if moves[object.id] == nil { refusals[object.id] = "\(path) is of another type now" }
    } else if isAtHome, old.volume != key.volume, old.volume != tree.identities.volume {
      refusals[object.id] = "\(path) was on a file system that is not mounted there now"
    } else if let move = moves[object.id] {
      if move.key != key { splits.append("\(path) was the same file as \(move.path)") }
    } else if let taker = takers[key], taker != object.id {
      refusals[object.id] = "\(path) gets what \(moves[taker]?.path ?? "another") had"
    } else {
      moves[object.id] = (key, path)
      takers[key] = object.id
      order.append(object.id)
      refusals[object.id] = nil
    }
  }

  /// A key that is to be given may be in use: by a record that goes elsewhere itself, by a directory
  /// without attributes, which gives way, or by one that keeps it.
  private mutating func settleHolders() throws(CommandFailure) {
    var hasChanged = true
    while hasChanged {
      hasChanged = false
      merges = []
      for id in order {
        guard let move = moves[id],
          let holder = try asking({ () throws(StoreError) in try store.object(under: move.key) }),
          holder.id != id, moves[holder.id] == nil
        else { continue }
        if holder.type == .directory, !holder.hasAttributes, holder.changed == nil {
          merges.append((holder.id, id))
        } else {
          moves[id] = nil
          refusals[id] = "\(move.path) has attributes of its own"
          hasChanged = true
        }
      }
    }
  }

  /// An object that is still somewhere in the source keeps its record, whatever now has its name.
  private mutating func spareTheLiving() throws(CommandFailure) {
    var old: [ObjectKey: Int64] = [:]
    for id in order where moves[id] != nil {
      if let key = try asking({ () throws(StoreError) in try store.object(id) })?.key,
        tree.identities.fate(of: key) != .gone
      {
        old[key] = id
      }
    }
    // Of another file system, nothing can be here.
    guard old.keys.contains(where: { $0.volume == tree.identities.volume }) else { return }
    let bar = ProgressBar("searching the source")
    var walk = SourceWalk(tree.root)
    while let nodes = walk.next() {
      try bar.advance()
      guard let key = try? tree.key(of: nodes[nodes.count - 1]), let id = old[key],
        let move = moves[id]
      else { continue }
      moves[id] = nil
      refusals[id] =
        "the file that was \(move.path) is \(nodes[nodes.count - 1].description) now"
    }
    if let failure = walk.failures.first {
      throw CommandFailure(
        .system, "not everything could be searched: \(failure)", remedy: "try as root")
    }
    try settleHolders()
  }

  private mutating func listMissing() throws(CommandFailure) {
    let roots = try asking { () throws(StoreError) in try store.roots() }
    var last: Int64 = 0
    while true {
      let after = last
      let some = try asking { () throws(StoreError) in try store.objects(after: after) }
      guard let end = some.last else { return }
      last = end.id
      for object in some {
        guard !object.isOrphan, !bound.contains(object.id), moves[object.id] == nil,
          refusals[object.id] == nil, !merges.contains(where: { $0.other == object.id }),
          let key = object.key
        else { continue }
        if isAtHome, case .alive = tree.identities.fate(of: key) {
          continue
        }
        var path: [UInt8]?
        for root in roots where path == nil {
          path = try asking { () throws(StoreError) in try store.path(of: object.id, below: root.id)
          }
        }
        missing.append(
          path.map { String(decoding: $0, as: UTF8.self) } ?? "object \(object.id), no name")
      }
    }
  }

  func carryOut() throws(CommandFailure) {
    let moved = order.compactMap { id in moves[id].map { (id: id, key: $0.key) } }
    try asking { () throws(StoreError) in
      try store.begin()
      for merge in merges { try store.merge(merge.other, into: merge.id) }
      try store.move(moved)
      try store.commit()
    }
  }

  func tell(_ output: Output, isJSON: Bool, isTrial: Bool) -> ToolStatus {
    let left = refusals.sorted { $0.key < $1.key }.map(\.value) + splits
    if isJSON {
      let lists: [(String, [String])] = [("refused", left), ("missing", missing)]
      let counts = [("moved", moves.count), ("in_place", bound.count)]
      output.write(
        JSON.object(
          counts.map { JSON.Member(name: $0.0, value: .number($0.1)) }
            + lists.map { JSON.Member(name: $0.0, value: .array($0.1.map { .string($0) })) }
        ).text + "\n")
    } else {
      for line in left { output.write("refused: \(line)\n") }
      for line in missing { output.write("not found: \(line)\n") }
      output.write(
        "\(moves.count) \(isTrial ? "to be " : "")moved, \(bound.count) in place,"
          + " \(left.count) refused, \(missing.count) not found\n")
    }
    if !left.isEmpty || !missing.isEmpty { return .uncorrected }
    if moves.isEmpty { return .clean }
    return isTrial ? .uncorrected : .corrected
  }
}
