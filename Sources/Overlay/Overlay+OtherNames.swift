import LinuxSystem
import SidecarStore

/// Keeping a name in the store for every object that has one: the way back after a restore.
///
/// Only of objects that are known by handle or number, for which a name is a hint. So nothing here
/// fails what is being done; an object that stays without a name is found by `check`.
extension Overlay {
  /// The store knows an object and no name of it; it was just found under one.
  func nameIfNameless(_ inode: Inode) {
    guard inode !== rootInode, inode.naming == .byNumber else { return }
    let isNameless = inode.withState { state in
      state.record.isStored && !state.record.isNamed && !state.isOrphan
    }
    if isNameless { try? enterName(of: inode) }
  }

  /// A name of an object is gone, in the store too: if that was the last one that the store knew, it is
  /// told another.
  func keepNamed(_ inode: Inode) throws(Errno) {
    guard inode.naming == .byNumber, try store.record(of: key(of: inode))?.isNamed == false else {
      return
    }
    inode.withState { $0.record.isNamed = false }
    if inode.withState({ $0.entry != nil }) { try enterName(of: inode) }
  }

  /// An object that the store has come to know under one name has others.
  func enterOtherNames(of inode: Inode) {
    if inode.withState({ $0.otherNames.isEmpty }) { return }
    do throws(Errno) {
      let held = try inode.held()
      for (parent, name) in inode.withState({ $0.otherNames }) {
        guard leads(name, in: parent, to: inode, held) else { continue }
        let above = try lineage(of: parent)
        guard !above.steps.isEmpty else { continue }
        let step = LineageStep(
          object: try key(of: inode), name: name.bytes, type: inode.type)
        try enter(inode, above.steps + [step])
        dropDead(above.ancestors)
      }
    } catch {
      report("the store did not take note of a name", error)
    }
  }

  /// Takes one of the other names for the one by which an object is known, if that is gone.
  func findAnotherName(of inode: Inode, _ held: HeldFile) {
    while let (parent, name) = inode.withState({ state in
      state.entry == nil && !state.isOrphan ? state.otherNames.popLast() : nil
    }) {
      // Underneath, it may be gone as well.
      guard leads(name, in: parent, to: inode, held) else { continue }
      inode.withState { state in
        if state.entry == nil { state.entry = (parent, name) }
      }
    }
  }

  private func enterName(of inode: Inode) throws(Errno) {
    let lineage = try lineage(of: inode)
    // Above it may be what has no key: then there is no name to be told, however often it is asked.
    inode.withState { $0.record.isNamed = true }
    guard lineage.steps.count > 1 else { return }
    try enter(inode, lineage.steps)
    dropDead(lineage.ancestors)
  }

  /// Under the lock, so that it comes before the note that the last name is gone.
  private func enter(_ inode: Inode, _ steps: [LineageStep]) throws(Errno) {
    let key = try key(of: inode)
    try inode.withState { (state) throws(Errno) in
      if !state.isOrphan { try store.link(key, at: steps) }
    }
  }

  private func leads(
    _ name: FileName, in parent: Inode, to inode: Inode, _ held: HeldFile
  ) -> Bool {
    // Held meanwhile, no other object can have its number.
    guard let status = try? parent.held().file.status(of: name) else { return false }
    return FileID(status) == inode.id
  }
}
