public import AttributeModel
public import LinuxSystem

/// A store that is told of changed attributes in batches: each is kept at once in a small file
/// beside it, the journal, which costs one write, and reaches the store soon after.
///
/// See <doc:Journal> for what is promised and why it holds. In short: attribute changes have
/// numbers without a gap. The journal has those that the store may lack; the store remembers, with
/// them, how far it has come. Whatever else changes the store waits until it has them all, and the first
/// attribute change after that goes into the store at once.
///
/// Lock order: `applying`, then `state`; both before the locks of the store below.
public final class JournaledStore: EntryStore {
  let base: any NumberedStore
  let directory: FileDescriptor
  /// How long a change waits for others, in milliseconds.
  private let delay: Int
  let state: Lock<JournalState>
  /// Who makes waiting changes in the store holds it.
  private let applying = Lock(())
  /// There is something to do for the thread that applies.
  private let work = Condition()
  /// The mode has changed, a call of the store has ended, a file is on the disk, or the thread has ended.
  let progress = Condition()

  /// Puts a journal into `directory`, which the store `base` is in, and which has none: who opens the
  /// store has brought into it what one had.
  ///
  /// A thread is started; it ends with ``close()``. Throws what the store or the system says.
  public convenience init(
    _ base: any NumberedStore, in directory: consuming FileDescriptor
  ) throws(Errno) {
    try self.init(base, in: directory, delay: JournalState.delay)
  }

  package init(
    _ base: any NumberedStore, in directory: consuming FileDescriptor, delay: Int
  ) throws(Errno) {
    self.base = base
    self.delay = delay
    self.directory = directory
    state = Lock(JournalState(number: try base.applied()))
    try Threads.start(named: "journal") { [self] in applyInTurn() }
  }

  /// Ends the use in good order: the store has everything, on its disk, and the journal is gone. The
  /// store itself is to be closed next.
  public func close() throws(Errno) {
    abandon()
    try syncStore()
    try Journal.remove(from: directory)
    // Their room is free once nobody has them open.
    state.withLock { $0.journal = Journal() }
  }

  /// Ends the thread and leaves everything as a death would.
  package func abandon() {
    state.withLock { $0.isEnding = true }
    work.signal()
    state.wait(for: progress) { $0.hasEnded ? () : nil }
  }

  /// Keeps an attribute.
  public func set(
    _ name: AttributeName, to value: [UInt8], of object: ObjectKey, type: FileType,
    changed: Timestamp, lineage: [LineageStep]
  ) throws(Errno) {
    try make(
      AttributeChange(name, to: value, of: object, type: type, changed: changed, lineage: lineage))
  }

  /// Removes an attribute; the record stays.
  public func remove(
    _ name: AttributeName, of object: ObjectKey, changed: Timestamp
  ) throws(Errno) {
    try make(AttributeChange(removing: name, of: object, changed: changed))
  }

  private enum Way {
    case journaled(wakes: Bool)
    /// With a number, into the store, while nobody else changes anything.
    case atOnce
    /// Beside other changes of the store, without a number.
    case directly
  }

  private func make(_ change: AttributeChange) throws(Errno) {
    let way = state.wait(for: progress) { state -> Way? in
      switch state.mode {
      case .switching: return nil
      case .journaling:
        if let way = keep(change, in: &state) { return way }
      case .direct:
        if state.namings > 0 || !hasRoom(state) { return state.enter(.direct, .directly) }
        if state.calls > 0 { return nil }
      }
      state.mode = .switching
      return .atOnce
    }
    switch way {
    case .journaled(let wakes):
      Rehearsal.pass(.journaled)
      if wakes { work.signal() }
    case .atOnce: try makeAtOnce(change)
    case .directly:
      defer { endCall() }
      try apply()
      try change.make(in: base)
    }
  }

  /// Writes a change to the journal; nil when that cannot be done now, and the change is to be made in
  /// the store at once.
  private func keep(_ change: AttributeChange, in state: inout JournalState) -> Way? {
    guard hasRoom(state) else { return state.enter(.direct, .directly) }
    let bytes = change.encoded
    guard bytes.count <= Journal.longestChange, change.lineage.count < 200,
      !state.isTooMuch(bytes.count, room: base.roomForPromises)
    else { return nil }
    do throws(Errno) {
      let outcome = try state.journal.append(
        bytes, number: state.number + 1, onDisk: state.onDisk, stored: state.stored, in: directory)
      guard outcome == .written else { return nil }
    } catch {
      // Some of it may be there: the number is used up, and the store will be told so.
      state.number += 1
      return nil
    }
    let (wasEmpty, wasEnough) = (state.pending.isEmpty, state.isEnough)
    state.take(change, bytes.count)
    return .journaled(wakes: wasEmpty || state.isEnough != wasEnough)
  }

  /// Room for what the journal promises, in the store's log and its file, as far as can be known.
  private func hasRoom(_ state: JournalState) -> Bool {
    guard state.pending.isEmpty || state.number & 15 == 0 else { return true }
    guard let system = try? directory.fileSystemStatus() else { return false }
    let (free, overflow) = system.availableBlocks.multipliedReportingOverflow(
      by: system.fragmentSize)
    return overflow || free >= JournalState.roomWanted
  }

  private func makeAtOnce(_ change: AttributeChange) throws(Errno) {
    defer { progress.broadcast() }
    do throws(Errno) {
      try applying.withLock { _ throws(Errno) in
        try applyWaiting()
        let number = state.withLock { state in
          // Used up, whatever becomes of it: a commit that fails may have been made.
          state.number += 1
          return state.number
        }
        try base.apply([NumberedChange(number, change)], upTo: number, isPromised: false)
        state.withLock { $0.hasApplied(upTo: number) }
      }
      state.withLock { $0.isDone(.journaling) }
    } catch {
      state.withLock { $0.isDone(.direct) }
      throw error
    }
  }

  /// Runs a change that has no number, after all that have one.
  func naming<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
    state.wait(for: progress) { state -> Void? in
      if state.mode == .switching { return nil }
      state.mode = .direct
      state.calls += 1
      state.namings += 1
      return ()
    }
    defer {
      state.withLock { $0.namings -= 1 }
      endCall()
    }
    try apply()
    return try body()
  }

  private func endCall() {
    state.withLock { state in
      state.calls -= 1
      state.storeChanges += 1
    }
    progress.broadcast()
  }

  /// Makes in the store whatever waits by now.
  func apply() throws(Errno) {
    if state.withLock({ $0.applied == $0.number }) { return }
    try applying.withLock { _ throws(Errno) in try applyWaiting() }
  }

  /// The same for whoever holds `applying`.
  private func applyWaiting() throws(Errno) {
    let (changes, number, applied) = state.withLock { ($0.pending, $0.number, $0.applied) }
    if applied == number { return }
    do throws(Errno) {
      try base.apply(changes, upTo: number, isPromised: true)
    } catch {
      // What comes next shall hear of it.
      state.withLock { if $0.mode == .journaling { $0.mode = .direct } }
      throw error
    }
    Rehearsal.pass(.applied)
    state.withLock { $0.hasApplied(upTo: number) }
  }

  /// What the thread does: applies a while after a change came, or when there are enough.
  private func applyInTurn() {
    while state.wait(
      for: work,
      until: { state -> Bool? in
        state.isEnding ? false : state.applied < state.number || state.wantsFile ? true : nil
      })
    {
      _ = state.wait(for: work, milliseconds: delay) { state in
        state.isEnding || state.isEnough || state.wantsFile ? () : nil
      }
      if state.withLock({ $0.isEnding }) { break }
      do throws(Errno) {
        try apply()
        if state.withLock({ $0.wantsFile }) { try syncStore() }
      } catch {
        _ = state.wait(for: work, milliseconds: 1000) { $0.isEnding ? () : nil }
      }
    }
    state.withLock { $0.hasEnded = true }
    progress.broadcast()
  }
}
