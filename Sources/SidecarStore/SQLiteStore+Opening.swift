public import LinuxSystem
package import SQLite

extension SQLiteStore {
  /// Opens the store in `directory`, or makes one there.
  ///
  /// - Parameters:
  ///   - directory: The store's directory; an `O_PATH` descriptor will do.
  ///   - place: The directory's path, for messages only.
  ///   - mountpoint: What the lock file says of us.
  ///   - admission: Who else may have written to it: see ``StoreOwnership``.
  /// - Throws: a ``StoreError``, after which everything that was kept in the directory is as it was.
  public static func open(
    _ directory: consuming FileDescriptor, at place: FileName, for mountpoint: FileName,
    admission: StoreAdmission
  ) throws(StoreError) -> SQLiteStore {
    try open(directory, at: place, for: mountpoint, admission: admission, schema: .current)
  }

  package static func open(
    _ directory: consuming FileDescriptor, at place: FileName, for mountpoint: FileName,
    admission: StoreAdmission, schema: Schema,
    prepare: (Database) -> Void = { _ in }
  ) throws(StoreError) -> SQLiteStore {
    try admission(directory, place)
    let opening = StoreOpening(place: place, directory: directory.procPath, schema: schema)
    try opening.checkHeader(in: directory)
    let lock = try StoreLock.take(in: directory, at: place, for: mountpoint)
    Rehearsal.pass(.storeLocked)
    let reserve = StoreReserve(in: directory)
    let started: (writer: GroupCommit, wasLeftOpen: Bool)
    do throws(StoreError) {
      started = try start(opening, in: directory, reserve, prepare)
    } catch {
      // What cannot be opened for want of room could not be made smaller either.
      guard error.isForWantOfRoom, reserve?.give() == true else { throw error }
      started = try start(opening, in: directory, reserve, prepare)
    }
    Rehearsal.pass(.storeOpened)
    return SQLiteStore(
      directory: directory, lock: lock, readers: ReaderPool(opening.path, limit: 8),
      writer: started.writer, reserve: reserve, wasLeftOpen: started.wasLeftOpen)
  }

  private static func start(
    _ opening: StoreOpening, in directory: borrowing FileDescriptor, _ reserve: StoreReserve?,
    _ prepare: (Database) -> Void
  ) throws(StoreError) -> (writer: GroupCommit, wasLeftOpen: Bool) {
    try opening.makeFile(in: directory)
    let database = try opening.openDatabase(in: directory)
    prepare(database)
    let wasLeftOpen = try opening.attempt { () throws(SQLiteError) in
      try database.integer("SELECT value FROM meta WHERE key = 'clean'") == 0
    }
    try opening.replayJournal(into: database, in: directory)
    let writer = try opening.attempt { () throws(SQLiteError) in
      try GroupCommit(database, reserve)
    }
    do throws(Errno) {
      try writer.performDurably { (tables) throws(SQLiteError) in
        try tables.setMeta("clean", to: 0)
      }
    } catch {
      throw StoreError(error == .readOnly ? .readOnly : .unreachable(error), at: opening.place)
    }
    Rehearsal.pass(.replayed)
    try opening.removeJournal(from: directory)
    // From here on the last one to leave empties the log.
    database.keepLogOnClose(false)
    return (writer, wasLeftOpen)
  }
}
