public import AttributeModel
public import LinuxSystem
import SQLite

/// The default engine: one SQLite database, `store.db`, in a directory of its own.
///
/// Its format is described in <doc:StoreFormat>.
public final class SQLiteStore: AttributeStore {
  // What is below goes through the directory's descriptor, so it has to be closed last.
  private let directory: FileDescriptor
  private let lock: FileDescriptor
  private let readers: ReaderPool
  private let writer: GroupCommit

  init(
    directory: consuming FileDescriptor, lock: consuming FileDescriptor, readers: ReaderPool,
    writer: GroupCommit
  ) {
    self.directory = directory
    self.lock = lock
    self.readers = readers
    self.writer = writer
  }

  /// How much was written.
  public var statistics: Statistics { writer.statistics }

  /// How many changes wait for the writing connection.
  package var waitingChanges: Int { writer.waiting }

  public func record(of object: ObjectKey) throws(Errno) -> ObjectRecord? {
    try readers.read { (reader) throws(SQLiteError) in try reader.record(of: object) }
  }

  public func set(
    _ name: AttributeName, to value: [UInt8], of object: ObjectKey, type: FileType,
    changed: Timestamp, lineage: [LineageStep]
  ) throws(Errno) {
    try writer.perform { (tables) throws(SQLiteError) in
      try tables.set(name, to: value, of: object, type: type, changed: changed, lineage: lineage)
    }
  }

  public func remove(
    _ name: AttributeName, of object: ObjectKey, changed: Timestamp
  ) throws(Errno) {
    try writer.perform { (tables) throws(SQLiteError) in
      try tables.remove(name, of: object, changed: changed)
    }
  }

  public func link(_ object: ObjectKey, at lineage: [LineageStep]) throws(Errno) {
    try writer.perform { (tables) throws(SQLiteError) in
      try tables.link(object, at: lineage)
    }
  }

  public func unlink(_ object: ObjectKey, _ entry: Entry, isLast: Bool) throws(Errno) {
    try writer.perform { (tables) throws(SQLiteError) in
      try tables.unlink(object, entry, isLast: isLast)
    }
  }

  public func move(
    _ object: ObjectKey, from entry: Entry, to lineage: [LineageStep]
  ) throws(Errno) {
    try writer.perform { (tables) throws(SQLiteError) in
      try tables.move(object, from: entry, to: lineage)
    }
  }

  public func discard(_ object: ObjectKey) throws(Errno) {
    try writer.perform { (tables) throws(SQLiteError) in try tables.discard(object) }
  }

  public func quarantine(_ object: ObjectKey, because reason: QuarantineReason) throws(Errno) {
    try writer.perform { (tables) throws(SQLiteError) in
      try tables.quarantine(object, because: reason)
    }
  }

  public func sync() throws(Errno) { try writer.sync() }

  public func counts() throws(Errno) -> StoreCounts {
    try readers.read { (reader) throws(SQLiteError) in try reader.counts() }
  }

  /// Ends the store's use in good order: everything is on the disk, in `store.db` alone, and the
  /// next opening need not check it. Every verb fails with `EIO` from now on.
  public func close() throws(Errno) {
    readers.close()
    try writer.close { (tables) throws(SQLiteError) in try tables.setMeta("clean", to: 1) }
  }

  package func dump() throws(Errno) -> StoreContents {
    do throws(SQLiteError) {
      return try StoreContents(of: Database(readers.path, .readOnly))
    } catch {
      throw error.errno
    }
  }
}
