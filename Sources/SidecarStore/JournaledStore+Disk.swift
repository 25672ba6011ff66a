public import LinuxSystem

/// What outlives a power failure.
extension JournaledStore {
  /// Everything changed so far outlives a power failure: one sync of the journal for all who wait, or
  /// of the store when other changes were made there.
  public func sync() throws(Errno) {
    let wanted = state.withLock { $0.number }
    while true {
      let turn = state.wait(for: progress) { state -> Turn? in
        if state.storeChanges != state.storeChangesOnDisk { return .store }
        // A change that is being made in the store has its number already.
        if state.mode == .switching { return nil }
        if state.onDisk >= wanted { return .done }
        if state.isSyncing { return nil }
        state.isSyncing = true
        return .journal(state.journal.dirty, state.number)
      }
      switch turn {
      case .done: return
      case .store: return try syncStore()
      case .journal(let files, let number): sync(files, number)
      }
    }
  }

  private enum Turn {
    case done, store
    case journal([JournalFile], Int64)
  }

  private func sync(_ files: [JournalFile], _ number: Int64) {
    var isKept = true
    do throws(Errno) {
      for file in files { try file.sync() }
      if !state.withLock({ $0.areNamesOnDisk }) {
        try Journal.syncNames(in: directory)
      }
    } catch {
      isKept = false
    }
    state.withLock { state in
      state.isSyncing = false
      if isKept {
        state.areNamesOnDisk = true
        state.isOnDisk(number)
      } else {
        // The kernel may claim next time that nothing is left to write: the store takes over.
        state.journal.abandonCurrent()
        state.storeChanges += 1
      }
    }
    progress.broadcast()
  }

  func syncStore() throws(Errno) {
    let changes = state.withLock { $0.storeChanges }
    try apply()
    let applied = state.withLock { $0.applied }
    try base.sync()
    state.withLock { state in
      state.storeChangesOnDisk = max(state.storeChangesOnDisk, changes)
      state.stored = max(state.stored, applied)
      state.isOnDisk(applied)
    }
    Rehearsal.pass(.journalFreed)
    progress.broadcast()
  }
}
