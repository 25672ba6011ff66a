public import AttributeModel
import Glibc
public import LinuxSystem
import SQLite

/// The default engine: one SQLite database, `store.db`, in a directory of its own.
///
/// Its format is described in <doc:StoreFormat>.
public final class SQLiteStore: NumberedStore {
  /// The way to every file of the store, open for as long as any of them is.
  private let directory: FileDescriptor
  /// The last mount that had the store did not close it: it died.
  public let wasLeftOpen: Bool
  private let lock: FileDescriptor
  let readers: ReaderPool
  let writer: GroupCommit
  /// Used by the writer, and once more when that is closed.
  private let reserve: StoreReserve?

  init(
    directory: consuming FileDescriptor, lock: consuming FileDescriptor, readers: ReaderPool,
    writer: GroupCommit, reserve: StoreReserve?, wasLeftOpen: Bool
  ) {
    self.reserve = reserve
    self.wasLeftOpen = wasLeftOpen
    self.directory = directory
    self.lock = lock
    self.readers = readers
    self.writer = writer
  }

  deinit {
    // SQLite goes through the directory once more when the last connection closes.
    readers.close()
    writer.abandon()
  }

  /// How much was written.
  public var statistics: Statistics { writer.statistics }

  /// How many changes wait for the writing connection.
  package var waitingChanges: Int { writer.waiting }

  /// Everything kept of an object, from one statement, hence of one moment.
  public func record(of object: ObjectKey) throws(Errno) -> ObjectRecord? {
    try readers.read { (reader) throws(SQLiteError) in try reader.record(of: object) }
  }

  /// Keeps an attribute, and makes the object known if it is not.
  public func set(
    _ name: AttributeName, to value: [UInt8], of object: ObjectKey, type: FileType,
    changed: Timestamp, lineage: [LineageStep]
  ) throws(Errno) {
    try writer.perform { (tables) throws(SQLiteError) in
      try tables.set(name, to: value, of: object, type: type, changed: changed, lineage: lineage)
    }
  }

  /// Removes an attribute; the record stays.
  public func remove(
    _ name: AttributeName, of object: ObjectKey, changed: Timestamp
  ) throws(Errno) {
    try writer.removing { (tables) throws(SQLiteError) in
      try tables.remove(name, of: object, changed: changed)
    }
  }

  /// Gives a known object one more name.
  public func link(_ object: ObjectKey, at lineage: [LineageStep]) throws(Errno) {
    try writer.perform { (tables) throws(SQLiteError) in
      try tables.link(object, at: lineage)
    }
  }

  /// Takes a name from a known object.
  public func unlink(_ object: ObjectKey, _ entry: Entry, isLast: Bool) throws(Errno) {
    try writer.removing { (tables) throws(SQLiteError) in
      try tables.unlink(object, entry, isLast: isLast)
    }
  }

  /// Puts a known object under another name.
  public func move(
    _ object: ObjectKey, from entry: Entry, to lineage: [LineageStep]
  ) throws(Errno) {
    try writer.removing { (tables) throws(SQLiteError) in
      try tables.move(object, from: entry, to: lineage)
    }
  }

  /// Forgets an object.
  public func discard(_ object: ObjectKey) throws(Errno) {
    try writer.removing { (tables) throws(SQLiteError) in try tables.discard(object) }
  }

  /// Sets aside what is kept under a key.
  public func quarantine(_ object: ObjectKey, because reason: QuarantineReason) throws(Errno) {
    try writer.removing { (tables) throws(SQLiteError) in
      try tables.quarantine(object, because: reason)
    }
  }

  /// What the reserve has room for, in the log and once more in the database, and the pages around it.
  public var roomForPromises: Int { writer.reserved / 5 }

  /// The number up to which changes were applied.
  public func applied() throws(Errno) -> Int64 {
    try readers.read { (reader) throws(SQLiteError) in try reader.applied() }
  }

  /// Makes changes in one transaction.
  public func apply(
    _ changes: [NumberedChange], upTo number: Int64, isPromised: Bool
  ) throws(Errno) {
    let change: GroupCommit.Change = { (tables) throws(SQLiteError) in
      try tables.apply(changes, upTo: number)
    }
    if isPromised { return try writer.promised(change) }
    let removes = changes.allSatisfy { $0.change.value == nil }
    try removes ? writer.removing(change) : writer.perform(change)
  }

  /// Waits until the disk has everything; at once when it has.
  public func sync() throws(Errno) { try writer.sync() }

  /// The objects whose last name is gone.
  public func orphans() throws(Errno) -> [ObjectKey] {
    try readers.read { (reader) throws(SQLiteError) in try reader.orphans() }
  }

  /// How much there is.
  public func counts() throws(Errno) -> StoreCounts {
    try readers.read { (reader) throws(SQLiteError) in try reader.counts() }
  }

  /// Ends the store's use in good order: everything is on the disk, in `store.db` alone, and the
  /// next opening need not check it. Every verb fails with `EIO` from now on.
  public func close() throws(Errno) {
    // Only when nothing of ours is at work there any more may another have it.
    defer { try? lock.lockWhole(LOCK_UN) }
    readers.close()
    try writer.close { (tables) throws(SQLiteError) in try tables.setMeta("clean", to: 1) }
    // The log has left some.
    reserve?.refill()
    Rehearsal.pass(.storeClosed)
  }

  package func dump() throws(Errno) -> StoreContents {
    do throws(SQLiteError) {
      return try StoreContents(of: Database.ofStore(readers.path, .readOnly))
    } catch {
      throw error.errno
    }
  }
}
