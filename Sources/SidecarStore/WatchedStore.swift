public import AttributeModel
public import LinuxSystem
import Synchronization

/// A store that tells when it begins to fail, when it fails in another way, and when it works again:
/// one line each time, however often it is asked meanwhile.
public final class WatchedStore: EntryStore {
  private let base: any EntryStore
  private let report: @Sendable (String) -> Void
  private let failures: Lock<StoreFailures>
  /// Looked at by every call, so that one that succeeds as ever takes no lock.
  private let hasFailed = Atomic<Bool>(false)

  /// Passes calls on to `base`, which messages call `name`.
  public init(
    _ base: any EntryStore, called name: String, report: @escaping @Sendable (String) -> Void
  ) {
    self.base = base
    self.report = report
    failures = Lock(StoreFailures(of: name))
  }

  /// The store failed last time, and that was told.
  public var isFailing: Bool { hasFailed.load(ordering: .relaxed) }

  private func watching<Result>(
    _ kind: StoreFailures.Kind, _ object: ObjectKey? = nil, size: Int = 0,
    _ body: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    do throws(Errno) {
      let result = try body()
      if isFailing {
        let call = StoreFailures.Call(kind: kind, object: object, size: size)
        note { $0.succeeded(call) { Timestamp.now.seconds } }
      }
      return result
    } catch {
      let call = StoreFailures.Call(kind: kind, object: object, size: size)
      let errno = error
      note { $0.failed(call, with: errno, at: Timestamp.now.seconds) }
      throw error
    }
  }

  private func note(_ body: (inout StoreFailures) -> String?) {
    let line = failures.withLock { failures in
      let line = body(&failures)
      hasFailed.store(failures.isFailing, ordering: .relaxed)
      return line
    }
    if let line { report(line) }
  }

  /// Everything kept of an object.
  public func record(of object: ObjectKey) throws(Errno) -> ObjectRecord? {
    try watching(.reading, object) { () throws(Errno) in try base.record(of: object) }
  }

  /// Keeps an attribute.
  public func set(
    _ name: AttributeName, to value: [UInt8], of object: ObjectKey, type: FileType,
    changed: Timestamp, lineage: [LineageStep]
  ) throws(Errno) {
    try watching(.keeping, object, size: value.count) { () throws(Errno) in
      try base.set(name, to: value, of: object, type: type, changed: changed, lineage: lineage)
    }
  }

  /// Removes an attribute.
  public func remove(
    _ name: AttributeName, of object: ObjectKey, changed: Timestamp
  ) throws(Errno) {
    try watching(.removing, object) { () throws(Errno) in
      try base.remove(name, of: object, changed: changed)
    }
  }

  /// Gives a known object one more name.
  public func link(_ object: ObjectKey, at lineage: [LineageStep]) throws(Errno) {
    try watching(.keeping, object) { () throws(Errno) in try base.link(object, at: lineage) }
  }

  /// Takes a name from a known object.
  public func unlink(_ object: ObjectKey, _ entry: Entry, isLast: Bool) throws(Errno) {
    try watching(.removing, object) { () throws(Errno) in
      try base.unlink(object, entry, isLast: isLast)
    }
  }

  /// Puts a known object under another name.
  public func move(
    _ object: ObjectKey, from entry: Entry, to lineage: [LineageStep]
  ) throws(Errno) {
    try watching(.keeping, object) { () throws(Errno) in
      try base.move(object, from: entry, to: lineage)
    }
  }

  /// Forgets an object.
  public func discard(_ object: ObjectKey) throws(Errno) {
    try watching(.removing, object) { () throws(Errno) in try base.discard(object) }
  }

  /// Sets aside what is kept under a key.
  public func quarantine(_ object: ObjectKey, because reason: QuarantineReason) throws(Errno) {
    try watching(.keeping, object) { () throws(Errno) in
      try base.quarantine(object, because: reason)
    }
  }

  /// Waits until the disk has everything.
  public func sync() throws(Errno) {
    try watching(.syncing) { () throws(Errno) in try base.sync() }
  }

  /// The objects whose last name is gone.
  public func orphans() throws(Errno) -> [ObjectKey] {
    try watching(.reading) { () throws(Errno) in try base.orphans() }
  }

  /// How much there is.
  public func counts() throws(Errno) -> StoreCounts {
    try watching(.reading) { () throws(Errno) in try base.counts() }
  }

  /// The object under an entry.
  public func object(at entry: Entry) throws(Errno) -> ObjectKey? {
    try watching(.reading, entry.parent) { () throws(Errno) in try base.object(at: entry) }
  }

  /// Makes an object known under a name.
  public func enter(
    _ object: ObjectKey, type: FileType, at lineage: [LineageStep]
  ) throws(Errno) {
    try watching(.keeping, object) { () throws(Errno) in
      try base.enter(object, type: type, at: lineage)
    }
  }

  /// Takes the name from an object, or sets the object aside.
  public func vacate(_ entry: Entry, because reason: QuarantineReason) throws(Errno) {
    try watching(.keeping, entry.parent) { () throws(Errno) in
      try base.vacate(entry, because: reason)
    }
  }

  /// Announces a change of names.
  public func intend(_ intent: Intent, isDurable: Bool) throws(Errno) -> IntentID {
    try watching(.keeping, intent.object) { () throws(Errno) in
      try base.intend(intent, isDurable: isDurable)
    }
  }

  /// Makes the change that was announced.
  public func settle(_ intent: IntentID) throws(Errno) -> Bool {
    try watching(.removing) { () throws(Errno) in try base.settle(intent) }
  }

  /// Forgets what was announced.
  public func withdraw(_ intent: IntentID) throws(Errno) {
    try watching(.removing) { () throws(Errno) in try base.withdraw(intent) }
  }

  /// What was announced and not settled.
  public func intents() throws(Errno) -> [PendingIntent] {
    try watching(.reading) { () throws(Errno) in try base.intents() }
  }
}
