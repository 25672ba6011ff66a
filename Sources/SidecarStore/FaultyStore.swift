package import AttributeModel
package import LinuxSystem

/// A store whose n-th call fails: a test that lets n grow until its body completes has seen the
/// store fail at every point.
package final class FaultyStore: EntryStore {
  /// What becomes of the call, and of those after it.
  package enum Fault: CaseIterable, Sendable {
    /// It does nothing and throws; the next one works.
    case once
    /// It does nothing and throws, and so does every other: the store is gone.
    case lasting
    /// It is carried out and throws, and every other does nothing and throws: whoever called has
    /// died before the answer came.
    case answerLost
  }

  private let base: any EntryStore
  private let remaining: Lock<Int>
  private let errno: Errno
  private let fault: Fault

  /// Passes calls on to `base`, except that number `call`, counted from 1, throws `errno`.
  package init(
    _ base: any EntryStore, failing call: Int, with errno: Errno, _ fault: Fault = .once
  ) {
    self.base = base
    self.errno = errno
    self.fault = fault
    remaining = Lock(call)
  }

  /// The call that was to fail has been made.
  package var hasFailed: Bool { remaining.withLock { $0 <= 0 } }

  private func passing<Result>(
    _ call: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    let left = remaining.withLock { remaining in
      remaining -= 1
      return remaining
    }
    if left > 0 || (left < 0 && fault == .once) { return try call() }
    if left == 0 && fault == .answerLost { _ = try call() }
    throw errno
  }

  package func record(of object: ObjectKey) throws(Errno) -> ObjectRecord? {
    try passing { () throws(Errno) in try base.record(of: object) }
  }

  package func set(
    _ name: AttributeName, to value: [UInt8], of object: ObjectKey, type: FileType,
    changed: Timestamp, lineage: [LineageStep]
  ) throws(Errno) {
    try passing { () throws(Errno) in
      try base.set(name, to: value, of: object, type: type, changed: changed, lineage: lineage)
    }
  }

  package func remove(
    _ name: AttributeName, of object: ObjectKey, changed: Timestamp
  ) throws(Errno) {
    try passing { () throws(Errno) in
      try base.remove(name, of: object, changed: changed)
    }
  }

  package func link(_ object: ObjectKey, at lineage: [LineageStep]) throws(Errno) {
    try passing { () throws(Errno) in
      try base.link(object, at: lineage)
    }
  }

  package func unlink(_ object: ObjectKey, _ entry: Entry, isLast: Bool) throws(Errno) {
    try passing { () throws(Errno) in
      try base.unlink(object, entry, isLast: isLast)
    }
  }

  package func move(
    _ object: ObjectKey, from entry: Entry, to lineage: [LineageStep]
  ) throws(Errno) {
    try passing { () throws(Errno) in
      try base.move(object, from: entry, to: lineage)
    }
  }

  package func discard(_ object: ObjectKey) throws(Errno) {
    try passing { () throws(Errno) in
      try base.discard(object)
    }
  }

  package func quarantine(_ object: ObjectKey, because reason: QuarantineReason) throws(Errno) {
    try passing { () throws(Errno) in
      try base.quarantine(object, because: reason)
    }
  }

  package func sync() throws(Errno) {
    try passing { () throws(Errno) in
      try base.sync()
    }
  }

  package func orphans() throws(Errno) -> [ObjectKey] {
    try passing { () throws(Errno) in try base.orphans() }
  }

  package func counts() throws(Errno) -> StoreCounts {
    try passing { () throws(Errno) in try base.counts() }
  }

  package func object(at entry: Entry) throws(Errno) -> ObjectKey? {
    try passing { () throws(Errno) in try base.object(at: entry) }
  }

  package func enter(
    _ object: ObjectKey, type: FileType, at lineage: [LineageStep]
  ) throws(Errno) {
    try passing { () throws(Errno) in
      try base.enter(object, type: type, at: lineage)
    }
  }

  package func vacate(_ entry: Entry, because reason: QuarantineReason) throws(Errno) {
    try passing { () throws(Errno) in
      try base.vacate(entry, because: reason)
    }
  }

  package func intend(_ intent: Intent, isDurable: Bool) throws(Errno) -> IntentID {
    try passing { () throws(Errno) in try base.intend(intent, isDurable: isDurable) }
  }

  package func settle(_ intent: IntentID) throws(Errno) -> Bool {
    try passing { () throws(Errno) in try base.settle(intent) }
  }

  package func withdraw(_ intent: IntentID) throws(Errno) {
    try passing { () throws(Errno) in
      try base.withdraw(intent)
    }
  }

  package func intents() throws(Errno) -> [PendingIntent] {
    try passing { () throws(Errno) in try base.intents() }
  }
}
