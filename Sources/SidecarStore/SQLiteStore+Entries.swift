public import LinuxSystem
import SQLite

/// Finding objects by name, and changes of names.
extension SQLiteStore {
  /// The object under an entry.
  public func object(at entry: Entry) throws(Errno) -> ObjectKey? {
    try readers.read { (reader) throws(SQLiteError) in try reader.object(at: entry) }
  }

  /// Makes an object known under a name.
  public func enter(
    _ object: ObjectKey, type: FileType, at lineage: [LineageStep]
  ) throws(Errno) {
    try writer.perform { (tables) throws(SQLiteError) in
      try tables.enter(object, type: type, at: lineage)
    }
  }

  /// Takes the name from an object, or sets the object aside.
  public func vacate(_ entry: Entry, because reason: QuarantineReason) throws(Errno) {
    try writer.removing { (tables) throws(SQLiteError) in
      try tables.vacate(entry, because: reason)
    }
  }

  /// Announces a change of names.
  public func intend(_ intent: Intent, isDurable: Bool) throws(Errno) -> IntentID {
    let id = Lock<IntentID?>(nil)
    let announce: GroupCommit.Change = { (tables) throws(SQLiteError) in
      let made = try tables.intend(intent)
      id.withLock { $0 = made }
    }
    try isDurable ? writer.performDurably(announce) : writer.removing(announce)
    guard let id = id.withLock({ $0 }) else { throw .inputOutput }
    return id
  }

  /// Makes the change that was announced.
  public func settle(_ intent: IntentID) throws(Errno) -> Bool {
    let isLast = Lock(false)
    try writer.removing { (tables) throws(SQLiteError) in
      let result = try tables.settle(intent)
      isLast.withLock { $0 = result }
    }
    return isLast.withLock { $0 }
  }

  /// Forgets what was announced.
  public func withdraw(_ intent: IntentID) throws(Errno) {
    try writer.removing { (tables) throws(SQLiteError) in try tables.withdraw(intent) }
  }

  /// What was announced and not settled; nobody may change names meanwhile.
  public func intents() throws(Errno) -> [PendingIntent] {
    try readers.read { (reader) throws(SQLiteError) in try reader.intents() }
  }
}
