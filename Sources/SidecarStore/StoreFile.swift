import Glibc
public import LinuxSystem
import SQLite

/// A store in the hands of a tool: read also while a mount has it, changed only while none has.
///
/// One thread at a time may use it.
public final class StoreFile {
  /// The mount that has the store, if one has: then it can only be read.
  public let holder: String?
  /// The directory's path, for messages.
  public let place: FileName
  let database: Database
  let opening: StoreOpening
  private let directory: FileDescriptor
  private let lock: FileDescriptor?
  let tables: StoreTables?
  /// Given up where a tool finds little room, and made whole again when it is done.
  private let reserve: StoreReserve?
  lazy var reader = Result { () throws(SQLiteError) in try StoreFileReader(database) }
  lazy var changer = Result { () throws(SQLiteError) in try StoreFileChanger(database) }

  private init(
    _ database: Database, _ tables: StoreTables?, _ opening: StoreOpening,
    _ directory: consuming FileDescriptor, _ hold: consuming StoreLock.Hold,
    _ reserve: StoreReserve? = nil
  ) {
    self.reserve = reserve
    self.database = database
    self.tables = tables
    self.opening = opening
    self.directory = directory
    place = opening.place
    holder = hold.holder
    lock = hold.lock.take()
  }

  // A process that is being started may have the descriptor for a moment longer.
  deinit { unlock() }

  /// Opens a store to read it; nothing in its directory is changed.
  ///
  /// While no mount has the store none can take it: `purpose` is what it is told then.
  public static func reading(
    _ directory: consuming FileDescriptor, at place: FileName, for purpose: FileName,
    admission: StoreAdmission
  ) throws(StoreError) -> StoreFile {
    try admission(directory, place)
    let opening = StoreOpening(place: place, directory: directory.procPath, schema: .current)
    try requireFile(in: directory, at: place)
    try opening.checkHeader(in: directory)
    let hold = StoreLock.look(in: directory, at: place, for: purpose)
    let log = try StoreOwnership.status(
      of: StoreOpening.fileName + "-wal", in: directory, at: place)
    let isStill = hold.holder == nil && log.map { $0.size == 0 } ?? true
    let database = try opening.attempt { () throws(SQLiteError) in
      let database = try Database.ofStore(opening.path, isStill ? .unchanging : .readOnly)
      _ = try database.integer("SELECT COUNT(*) FROM sqlite_schema")
      return database
    }
    let whole = try opening.withJournal(
      database, in: directory, isMounted: hold.holder != nil)
    return StoreFile(whole, nil, opening, directory, hold)
  }

  /// Opens a store to change it, as a mount would; it has to be closed with ``close()``.
  ///
  /// Refused while a mount has it. `makes` says whether a store that is missing is made.
  public static func changing(
    _ directory: consuming FileDescriptor, at place: FileName, for purpose: FileName,
    admission: StoreAdmission, makes: Bool = false
  ) throws(StoreError) -> StoreFile {
    try admission(directory, place)
    let opening = StoreOpening(place: place, directory: directory.procPath, schema: .current)
    if !makes { try requireFile(in: directory, at: place) }
    try opening.checkHeader(in: directory)
    let lock = try StoreLock.take(in: directory, at: place, for: purpose)
    if makes { try opening.makeFile(in: directory) }
    let reserve = StoreReserve(in: directory)
    // A change of many steps cannot be begun anew when there is no room in the midst of it.
    if let reserve, let room = try? directory.fileSystemStatus(),
      room.availableBlocks < UInt64(clamping: reserve.size) / max(1, room.fragmentSize)
    {
      _ = reserve.give()
    }
    let database = try opening.openDatabase(in: directory)
    try opening.replayJournal(into: database, in: directory)
    let tables = try opening.attempt { () throws(SQLiteError) in
      try database.execute("PRAGMA synchronous = FULL")
      let tables = try StoreTables(of: database)
      try tables.setMeta("clean", to: 0)
      return tables
    }
    try opening.removeJournal(from: directory)
    database.keepLogOnClose(false)
    return StoreFile(
      database, tables, opening, directory, StoreLock.Hold(lock: lock), reserve)
  }

  private static func requireFile(
    in directory: borrowing FileDescriptor, at place: FileName
  ) throws(StoreError) {
    let file = try StoreOwnership.status(of: StoreOpening.fileName, in: directory, at: place)
    if file == nil { throw StoreError(.missing, at: place) }
  }

  /// Begins a change of many steps: all of them happen with ``commit()``, or none.
  public func begin() throws(StoreError) {
    try run { () throws(SQLiteError) in try database.execute("BEGIN IMMEDIATE") }
  }

  /// Makes everything since ``begin()`` last, on the disk.
  public func commit() throws(StoreError) {
    try run { () throws(SQLiteError) in try database.execute("COMMIT") }
  }

  /// Undoes everything since ``begin()``.
  public func rollBack() {
    if database.isInTransaction { try? database.execute("ROLLBACK") }
  }

  /// Ends a use that ``changing(_:at:for:admission:makes:)`` began: everything is in `store.db` alone.
  public func close() throws(StoreError) {
    guard let tables else { return }
    // Whoever waits for the store may have it, whatever becomes of the rest.
    defer { unlock() }
    rollBack()
    try run { () throws(SQLiteError) in
      try tables.setMeta("clean", to: 1)
      do throws(SQLiteError) {
        try database.checkpoint()
      } catch {
        // Another process still reads: the log stays, and is as durable as the database.
        if error.errno != .busy { throw error }
      }
    }
    reserve?.refill()
  }

  private func unlock() {
    switch lock {
    case .some(let lock): try? lock.lockWhole(LOCK_UN)
    case .none: break
    }
  }

  /// Lets a long statement be watched: `body` is called now and then, and ends it with `EINTR` when
  /// it answers false.
  public func whileRunning(_ body: (() -> Bool)?) {
    database.whileRunning(every: 100_000, body)
  }

  /// Runs statements; what SQLite throws becomes what a person can do something about.
  func run<Result>(_ body: () throws(SQLiteError) -> Result) throws(StoreError) -> Result {
    do throws(SQLiteError) {
      return try body()
    } catch {
      let reason: StoreError.Reason =
        error.isDamage || error.isNotADatabase
        ? .damaged(error.description) : .failed(error.errno)
      throw StoreError(reason, at: place)
    }
  }
}
