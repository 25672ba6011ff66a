public import LinuxSystem

/// What is read, and what changes more than an attribute: from the store, once it has what it needs to
/// have.
extension JournaledStore {
  /// Everything kept of an object.
  ///
  /// ``ObjectRecord/isNamed`` may be true a moment longer than it is, of an object whose name a new one
  /// has got: it is a hint.
  public func record(of object: ObjectKey) throws(Errno) -> ObjectRecord? {
    if state.withLock({ $0.concerns(object) }) { try apply() }
    return try base.record(of: object)
  }

  /// The object under an entry.
  public func object(at entry: Entry) throws(Errno) -> ObjectKey? {
    if state.withLock({ $0.concerns(entry) }) { try apply() }
    return try base.object(at: entry)
  }

  /// The objects whose last name is gone.
  public func orphans() throws(Errno) -> [ObjectKey] {
    try apply()
    return try base.orphans()
  }

  /// How much there is.
  public func counts() throws(Errno) -> StoreCounts {
    try apply()
    return try base.counts()
  }

  /// What was announced and not settled.
  public func intents() throws(Errno) -> [PendingIntent] {
    try apply()
    return try base.intents()
  }

  /// Gives a known object one more name.
  public func link(_ object: ObjectKey, at lineage: [LineageStep]) throws(Errno) {
    try naming { () throws(Errno) in try base.link(object, at: lineage) }
  }

  /// Takes a name from a known object.
  public func unlink(_ object: ObjectKey, _ entry: Entry, isLast: Bool) throws(Errno) {
    try naming { () throws(Errno) in try base.unlink(object, entry, isLast: isLast) }
  }

  /// Puts a known object under another name.
  public func move(
    _ object: ObjectKey, from entry: Entry, to lineage: [LineageStep]
  ) throws(Errno) {
    try naming { () throws(Errno) in try base.move(object, from: entry, to: lineage) }
  }

  /// Forgets an object.
  public func discard(_ object: ObjectKey) throws(Errno) {
    try naming { () throws(Errno) in try base.discard(object) }
  }

  /// Sets aside what is kept under a key.
  public func quarantine(_ object: ObjectKey, because reason: QuarantineReason) throws(Errno) {
    try naming { () throws(Errno) in try base.quarantine(object, because: reason) }
  }

  /// Makes an object known under a name.
  public func enter(
    _ object: ObjectKey, type: FileType, at lineage: [LineageStep]
  ) throws(Errno) {
    try naming { () throws(Errno) in try base.enter(object, type: type, at: lineage) }
  }

  /// Takes the name from an object, or sets the object aside.
  public func vacate(_ entry: Entry, because reason: QuarantineReason) throws(Errno) {
    try naming { () throws(Errno) in try base.vacate(entry, because: reason) }
  }

  /// Announces a change of names; with `isDurable` the store has on its disk whatever came before.
  public func intend(_ intent: Intent, isDurable: Bool) throws(Errno) -> IntentID {
    try naming { () throws(Errno) in try base.intend(intent, isDurable: isDurable) }
  }

  /// Makes the change that was announced.
  public func settle(_ intent: IntentID) throws(Errno) -> Bool {
    try naming { () throws(Errno) in try base.settle(intent) }
  }

  /// Forgets what was announced.
  public func withdraw(_ intent: IntentID) throws(Errno) {
    try naming { () throws(Errno) in try base.withdraw(intent) }
  }
}
