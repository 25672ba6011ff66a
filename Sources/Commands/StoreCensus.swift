import LinuxSystem
import Overlay
import SidecarStore

/// What became of the objects of a store: looked for by their names, by their handles, and last by
/// a walk over the whole source.
struct StoreCensus {
  /// What stands under a gone object's name by now.
  enum Successor: Sendable {
    /// Nothing, or an object that has a record of its own.
    case none
    /// An object of the same type without a record: it may be the same one, restored.
    case alike
    /// An object of another type.
    case otherType
  }

  /// The root's record; nil when the store does not know the source's root.
  private(set) var root: StoredObject?
  /// Objects whose key no object has any more.
  private(set) var gone: [StoredObject] = []
  /// What is under the names of those.
  private(set) var successors: [Int64: Successor] = [:]
  /// Objects without a name that are gone, and those that are still open somewhere or may be.
  private(set) var deadOrphans: [StoredObject] = []
  private(set) var livingOrphans: [StoredObject] = []
  /// Names that do not lead to their object, of objects whose file system is there.
  private(set) var wrongNames: [StoredEntry] = []
  /// Objects that live under names that the store does not know; with the way there, if it was
  /// looked for.
  private(set) var misplaced: [(object: StoredObject, lineage: [LineageStep])] = []
  /// Objects whose record tells of another type.
  private(set) var otherTypes: [StoredObject] = []
  /// Objects of file systems that are not there now: nothing can be said of them.
  private(set) var absent = 0
  /// Objects of which nothing could be found out, because something could not be read.
  private(set) var undecided: [StoredObject] = []
  /// Why not.
  private(set) var failures: [String] = []

  private let store: StoreFile
  private let tree: SourceTree
  private let isMounted: Bool
  private var alive: Set<Int64> = []
  private var volumes: Set<VolumeKey> = []

  /// Looks at everything; `walks` also where names are all that is missing.
  init(_ store: StoreFile, _ tree: SourceTree, walks: Bool) throws(CommandFailure) {
    self.store = store
    self.tree = tree
    isMounted = store.holder != nil
    volumes = [tree.identities.volume]
    let key: ObjectKey
    do throws(Errno) {
      key = try tree.key(of: tree.root)
    } catch {
      throw CommandFailure(
        .system, "the source cannot be looked at: \(error)", remedy: "try as root")
    }
    root = try asking { () throws(StoreError) in try store.object(under: key) }
    guard let root else { return }
    alive.insert(root.id)
    try followNames(from: root)
    try followKeys(walks: walks)
  }

  private mutating func followNames(from root: StoredObject) throws(CommandFailure) {
    let bar = ProgressBar(
      "checking names",
      of: try asking { () throws(StoreError) in
        try store.countObjects()
      })
    var walk = EntryWalk<SourceNode?>(store, from: root.id, at: tree.root)
    while let (entry, directory) = try asking({ () throws(StoreError) in try walk.next() }) {
      try bar.advance()
      let object = entry.object
      let node = directory.flatMap { try? $0.open(entry.name) }
      if object.type == .directory { walk.descend(into: object.id, at: node) }
      guard let key = object.key else { continue }
      let found = node.flatMap { node in
        tree.identities.isByName(key) ? key : try? tree.key(of: node)
      }
      if let found { volumes.insert(found.volume) }
      if let node, found == key {
        alive.insert(object.id)
        if node.status.type != object.type { otherTypes.append(object) }
      } else {
        wrongNames.append(entry)
        try note(node, found, object)
      }
    }
  }

  private mutating func note(
    _ node: SourceNode?, _ key: ObjectKey?, _ object: StoredObject
  ) throws(CommandFailure) {
    guard let node, let key else { return }
    let hasRecord = try asking { () throws(StoreError) in try store.object(under: key) } != nil
    switch successors[object.id] {
    case .alike: return
    default: break
    }
    if node.status.type != object.type {
      successors[object.id] = .otherType
    } else if !hasRecord {
      successors[object.id] = .alike
    }
  }

  private mutating func followKeys(walks: Bool) throws(CommandFailure) {
    var open: [ObjectKey: StoredObject] = [:]
    var last: Int64 = 0
    let bar = ProgressBar(
      "checking objects",
      of: try asking { () throws(StoreError) in
        try store.countObjects()
      })
    while true {
      let after = last
      let some = try asking { () throws(StoreError) in try store.objects(after: after) }
      guard let end = some.last else { break }
      last = end.id
      try bar.advance(by: some.count)
      for object in some {
        guard let key = object.key, !alive.contains(object.id) else { continue }
        switch tree.identities.fate(of: key) {
        case .unknown: open[key] = object
        case .gone: bury(object)
        case .alive(let links):
          alive.insert(object.id)
          if object.isOrphan || links == 0 {
            livingOrphans.append(object)
          } else {
            misplaced.append((object, []))
            if walks { open[key] = object }
          }
        }
      }
    }
    // What is known by name was found by its name, or is not there.
    for (key, object) in open.sorted(by: { $0.value.id < $1.value.id })
    where tree.identities.isByName(key) {
      open[key] = nil
      if object.isOrphan && isMounted { livingOrphans.append(object) } else { bury(object) }
    }
    if !open.isEmpty { try searchSource(&open) }
    wrongNames.removeAll { entry in
      entry.object.key.map { !volumes.contains($0.volume) } ?? true
    }
  }

  private mutating func bury(_ object: StoredObject) {
    if object.isOrphan { deadOrphans.append(object) } else { gone.append(object) }
  }

  /// Looks for objects by their keys in the whole source.
  private mutating func searchSource(
    _ open: inout [ObjectKey: StoredObject]
  ) throws(CommandFailure) {
    let bar = ProgressBar("searching the source")
    var walk = SourceWalk(tree.root)
    while let nodes = walk.next() {
      try bar.advance()
      guard let key = try? tree.key(of: nodes[nodes.count - 1]) else { continue }
      volumes.insert(key.volume)
      guard let object = open.removeValue(forKey: key) else { continue }
      if alive.insert(object.id).inserted && object.isOrphan {
        livingOrphans.append(object)
        continue
      }
      misplaced.removeAll { $0.object.id == object.id }
      misplaced.append((object, (try? tree.lineage(nodes)) ?? []))
    }
    failures = walk.failures
    for object in open.values.sorted(by: { $0.id < $1.id }) where !alive.contains(object.id) {
      guard let key = object.key, volumes.contains(key.volume) else {
        absent += 1
        continue
      }
      if !failures.isEmpty {
        undecided.append(object)
      } else if object.isOrphan && isMounted {
        // Whoever has it open through the mount keeps it alive.
        livingOrphans.append(object)
      } else {
        bury(object)
      }
    }
  }
}
