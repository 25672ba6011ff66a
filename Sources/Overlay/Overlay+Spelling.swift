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
      names += more.map(\.name).filter { !$0.isDot }
    }
  }

  /// What a directory has under a name, held, and the name under which the directory lists it; nil
  /// if that cannot be told, so that nothing can be kept of the object.
  ///
  /// Where spellings are many, the source is asked for the listed one whenever it can be: what
  /// serves it may remember an object for each spelling.
  func find(_ name: FileName, in parent: Inode) throws(Errno) -> (HeldFile, own: FileName?) {
    let directory = try parent.held()
    let volume = parent.volume
    guard volume.key?.kind == .path, volume.mayFold else {
      return (try open(name, in: directory), name)
    }
    if !volume.folds {
      let file = try open(name, in: directory)
      learnFolding(of: volume, by: name, in: directory)
      if !volume.folds { return (file, name) }
    }
    if let known = knownName(name, in: parent) {
      return (try open(known, in: directory), known)
    }
    guard let names = try namesToSee(in: directory) else {
      return (try open(name, in: directory), nil)
    }
    if names.contains(name) { return (try open(name, in: directory), name) }
    if let own = SpellingRule.ascii.only(name, among: names) {
      return (try open(own, in: directory), own)
    }
    // Of other letters, the source has to say whether they are the same.
    let file = try open(name, in: directory)
    return (file, try listedName(name, of: file.file.status(), among: names, in: directory))
  }

  /// The name of its own by which an inode is known that was asked for by this name.
  private func knownName(_ name: FileName, in parent: Inode) -> FileName? {
    let key = NodeKey.entry(parent: parent.serial, name: name)
    if nodes.find(key) != nil { return name }
    // The object may have been renamed since the kernel came to know it by this spelling.
    guard let known = spellings.find(key)?.inode.withState({ $0.entry }),
      known.parent === parent,
      SpellingRule.ascii.folded(known.name) == SpellingRule.ascii.folded(name)
    else { return nil }
    return known.name
  }

  /// The names in a directory; nil where we may not list it and may still know what is inside.
  private func namesToSee(in directory: HeldFile) throws(Errno) -> [FileName]? {
    do throws(Errno) {
      return try listing(of: directory)
    } catch {
      if error == .accessDenied { return nil }
      throw error
    }
  }

  private func listedName(
    _ name: FileName, of status: FileStatus, among names: [FileName], in directory: HeldFile
  ) -> FileName? {
    if names.contains(name) { return name }
    for rule in SpellingRule.allCases {
      if let own = rule.only(name, among: names) { return own }
    }
    // Such as a short name of FAT, which is like none.
    return same(as: status, among: names, in: directory)
  }

  /// The name under which a directory lists the object that it has under `name`; nil if it cannot
  /// be told from others by any name that is listed.
  func listedName(
    _ name: FileName, of status: FileStatus, in directory: HeldFile
  ) throws(Errno) -> FileName? {
    guard let names = try namesToSee(in: directory) else { return nil }
    return listedName(name, of: status, among: names, in: directory)
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

  /// The name under which a directory lists a new object; nil if that cannot be told.
  func listedName(
    ofNew name: FileName, _ status: FileStatus, _ volume: Volume, in parent: Inode
  ) throws(Errno) -> FileName? {
    guard volume.key?.kind == .path, parent.volume === volume, volume.mayFold else { return name }
    let directory = try parent.held()
    learnFolding(of: volume, by: name, in: directory)
    if !volume.folds || name.isListedAsSpelled { return name }
    return try listedName(name, of: status, in: directory)
  }

  /// What the kernel is given for an object that has been retained: the inode, or another node
  /// when it was asked for by another spelling.
  func node(for inode: Inode, spelled name: FileName, in parent: Inode) -> Node {
    guard inode.naming == .byName, inode.volume.folds,
      let own = inode.withState({ $0.entry }), own.parent === parent, own.name != name
    else { return inode }
    let made = Spelling(of: inode, under: .entry(parent: parent.serial, name: name))
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

  /// Whether the kernel may keep pages and listings from one opening to the next.
  func keepsPages(of inode: Inode) -> Bool {
    options.cache.keepsPages && !(inode.naming != .byNumber && inode.volume.folds)
  }

  /// How long the kernel may keep what it is told of an object. It would not notice that a change
  /// under one spelling concerns the others.
  func timeouts(for inode: Inode) -> Timeouts {
    inode.naming != .byNumber && inode.volume.folds
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
