import FUSE
import LinuxSystem
import SidecarStore
import Synchronization

/// Names on file systems for which `file` and `FILE` are one: what belongs to a name belongs to the
/// one that the directory lists.
extension Overlay {
  /// How names are taken, in a word or two: `exact` or `any case`, and `not known yet` where no name
  /// has told. Where names are not what objects are known by, each is what the source says: `exact`.
  public var names: String {
    guard rootInode.volume.key?.kind == .path else { return "exact" }
    return switch rootInode.volume.folding.load(ordering: .relaxed) {
    case .unknown: "not known yet"
    case .exact: "exact"
    case .folds: "any case"
    }
  }

  /// Looks at the names in the source's root until one tells how names are taken.
  func learnFolding() {
    guard rootInode.volume.key?.kind == .path, isUndecided(rootInode.volume) else { return }
    guard let held = try? rootInode.held(), let names = try? listing(of: held) else { return }
    for name in names.prefix(64) {
      learnFolding(of: rootInode.volume, by: name, in: held)
      if !isUndecided(rootInode.volume) { return }
    }
  }

  private func isUndecided(_ volume: Volume) -> Bool {
    volume.folding.load(ordering: .relaxed) == .unknown
  }

  /// Asks for a name that is there in the other case. Found, and not listed, it is the same name.
  func learnFolding(of volume: Volume, by name: FileName, in directory: HeldFile) {
    guard isUndecided(volume), let other = name.otherCase else { return }
    do throws(Errno) {
      _ = try directory.file.status(of: other)
      if try !listing(of: directory).contains(other) {
        volume.folding.store(.folds, ordering: .relaxed)
      }
    } catch .noEntry {
      volume.folding.store(.exact, ordering: .relaxed)
    } catch {}  // Then another name may tell.
  }

  /// The names in a directory; without "." and "..".
  func listing(of directory: HeldFile) throws(Errno) -> [FileName] {
    let open = try descriptors.makingRoom { () throws(Errno) in
      try directory.file.reopen([.readOnly, .directory])
    }
    var names: [FileName] = []
    while true {
      let more = try open.readDirectory()
      if more.isEmpty { return names }
      names += more.map(\.name).filter { $0 != FileName(".") && $0 != FileName("..") }
    }
  }

  /// The name under which a directory lists the object that it has under `name`; nil if it cannot
  /// be told from others by any name that is listed.
  func listedName(
    _ name: FileName, of status: FileStatus, in directory: HeldFile
  ) throws(Errno) -> FileName? {
    let names: [FileName]
    do throws(Errno) {
      names = try listing(of: directory)
    } catch .accessDenied {
      // Who may not list it may still know what is inside.
      return nil
    }
    if names.contains(name) { return name }
    for rule in SpellingRule.allCases {
      let wanted = rule.folded(name)
      let alike = names.filter { rule.folded($0) == wanted }
      if alike.count == 1 { return alike.first }
      if alike.count > 1 { return same(as: status, among: alike, in: directory) }
    }
    // Such as a short name of FAT, which is like none.
    return same(as: status, among: names, in: directory)
  }

  /// Numbers may be made up, but two that are held and have the same are one.
  private func same(
    as status: FileStatus, among names: [FileName], in directory: HeldFile
  ) -> FileName? {
    let found = names.filter { name in
      (try? directory.file.status(of: name)).map { FileID($0) == FileID(status) } ?? false
    }
    return found.count == 1 ? found.first : nil
  }

  /// By which name an object is known that was opened by `name`, on a file system where that may be
  /// another; nil when nothing can be kept of it.
  func ownName(
    _ name: FileName, _ status: FileStatus, _ volume: Volume, in parent: Inode
  ) throws(Errno) -> FileName? {
    guard isByName(volume, in: parent), volume.mayFold else { return name }
    let directory = try parent.held()
    learnFolding(of: volume, by: name, in: directory)
    guard volume.folds else { return name }
    let key = NodeKey.entry(parent: parent.serial, name: name)
    // What is known under a name of its own needs no second look.
    if nodes.find(key) != nil { return name }
    if let known = spellings.find(key)?.inode.state.withLock({ $0.entry }),
      known.parent === parent
    {
      return known.name
    }
    return try listedName(name, of: status, in: directory)
  }

  /// By which name a new object is known.
  func ownName(
    ofNew name: FileName, _ status: FileStatus, _ volume: Volume, in parent: Inode
  ) throws(Errno) -> FileName? {
    guard isByName(volume, in: parent), volume.mayFold else { return name }
    let directory = try parent.held()
    learnFolding(of: volume, by: name, in: directory)
    if !volume.folds || name.isListedAsSpelled { return name }
    return try listedName(name, of: status, in: directory)
  }

  private func isByName(_ volume: Volume, in parent: Inode) -> Bool {
    volume.key?.kind == .path && parent.volume === volume
  }

  /// What the kernel is given for an object that has been retained: the inode, or another node
  /// when it was asked for by another spelling.
  func node(for inode: Inode, _ status: FileStatus, spelled name: FileName, in parent: Inode)
    -> Node
  {
    guard inode.naming == .byName, inode.volume.folds,
      let own = inode.state.withLock({ $0.entry }), own.parent === parent, own.name != name
    else { return inode }
    let made = Spelling(
      of: inode, under: .entry(parent: parent.serial, name: name), FileID(status))
    while true {
      let spelling = spellings.retain(orInsert: made)
      if spelling === made { return spelling }
      if spelling.inode === inode {
        // It has a lookup of the inode already.
        forget(inode, lookups: 1)
        return spelling
      }
      // The spelling has come to mean another object.
      _ = spellings.rekey(spelling, to: .nameless(Inode.nextSerial()))
      forget(spelling, lookups: 1)
    }
  }

  /// How long the kernel may keep what it is told of an object. It would not notice that a change
  /// under one spelling concerns the others.
  func timeouts(for inode: Inode) -> Timeouts {
    inode.naming == .byName && inode.volume.folds
      ? CachePolicy.never.timeouts : options.cache.timeouts
  }

  /// Corrects the store where an object got another name from the source than was asked for.
  func correctName(of inode: Inode, asked name: FileName, in parent: Inode) {
    guard inode.volume.folds else { return }
    do throws(Errno) {
      let directory = try parent.held()
      guard let own = try listedName(name, of: directory.file.status(of: name), in: directory),
        own != name
      else { return }
      move(inode, to: own, in: parent)
      guard try isStored(inode), let directory = try storedKey(of: parent) else { return }
      try store.move(
        key(of: inode), from: Entry(parent: directory, name: name.bytes),
        to: lineage(of: inode).steps)
    } catch {
      options.report("the store did not take note of a name: \(error)")
    }
  }
}
