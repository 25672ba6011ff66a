package import AttributeModel
package import LinuxSystem

/// A store whose n-th call fails: a test that lets n grow until its body completes has seen the
/// store fail at every point.
package final class FaultyStore: EntryStore {
  private let base: any EntryStore
  private let remaining: Lock<Int>
  private let errno: Errno

  /// Passes calls on to `base`, except that number `call`, counted from 1, throws `errno` and does
  /// nothing.
  package init(_ base: any EntryStore, failing call: Int, with errno: Errno) {
    self.base = base
    self.errno = errno
    remaining = Lock(call)
  }

  /// The call that was to fail has been made.
  package var hasFailed: Bool { remaining.withLock { $0 <= 0 } }

  private func count() throws(Errno) {
    let isTheOne = remaining.withLock { remaining in
      remaining -= 1
      return remaining == 0
    }
    if isTheOne { throw errno }
  }

  package func record(of object: ObjectKey) throws(Errno) -> ObjectRecord? {
    try count()
    return try base.record(of: object)
  }

  package func set(
    _ name: AttributeName, to value: [UInt8], of object: ObjectKey, type: FileType,
    changed: Timestamp, lineage: [LineageStep]
  ) throws(Errno) {
    try count()
    try base.set(name, to: value, of: object, type: type, changed: changed, lineage: lineage)
  }

  package func remove(
    _ name: AttributeName, of object: ObjectKey, changed: Timestamp
  ) throws(Errno) {
    try count()
    try base.remove(name, of: object, changed: changed)
  }

  package func link(_ object: ObjectKey, at lineage: [LineageStep]) throws(Errno) {
    try count()
    try base.link(object, at: lineage)
  }

  package func unlink(_ object: ObjectKey, _ entry: Entry, isLast: Bool) throws(Errno) {
    try count()
    try base.unlink(object, entry, isLast: isLast)
  }

  package func move(
    _ object: ObjectKey, from entry: Entry, to lineage: [LineageStep]
  ) throws(Errno) {
    try count()
    try base.move(object, from: entry, to: lineage)
  }

  package func discard(_ object: ObjectKey) throws(Errno) {
    try count()
    try base.discard(object)
  }

  package func quarantine(_ object: ObjectKey, because reason: QuarantineReason) throws(Errno) {
    try count()
    try base.quarantine(object, because: reason)
  }

  package func sync() throws(Errno) {
    try count()
    try base.sync()
  }

  package func orphans() throws(Errno) -> [ObjectKey] {
    try count()
    return try base.orphans()
  }

  package func counts() throws(Errno) -> StoreCounts {
    try count()
    return try base.counts()
  }

  package func object(at entry: Entry) throws(Errno) -> ObjectKey? {
    try count()
    return try base.object(at: entry)
  }

  package func enter(
    _ object: ObjectKey, type: FileType, at lineage: [LineageStep]
  ) throws(Errno) {
    try count()
    try base.enter(object, type: type, at: lineage)
  }

  package func vacate(_ entry: Entry, because reason: QuarantineReason) throws(Errno) {
    try count()
    try base.vacate(entry, because: reason)
  }

  package func intend(_ intent: Intent) throws(Errno) -> IntentID {
    try count()
    return try base.intend(intent)
  }

  package func settle(_ intent: IntentID) throws(Errno) -> Bool {
    try count()
    return try base.settle(intent)
  }

  package func withdraw(_ intent: IntentID) throws(Errno) {
    try count()
    try base.withdraw(intent)
  }

  package func intents() throws(Errno) -> [PendingIntent] {
    try count()
    return try base.intents()
  }
}
