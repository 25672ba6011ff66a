import LinuxSystem
import SQLite
import Synchronization

/// The one connection that writes, shared by all threads.
///
/// A thread puts its change into a queue and then waits for the connection. Whoever gets it runs
/// everything that is queued by then in one transaction, so that threads which waited together
/// share a commit, and find their own change done when their turn comes.
///
/// A change is reported as done only when the transaction that holds it was committed. When
/// anything in a transaction fails, it is rolled back and each of its changes is tried alone:
/// one that cannot be done takes no other with it. On a full disk the log is first moved into the
/// database, as far as there is room, because it may then be written over; and what removes something
/// gets the reserve's room (``StoreReserve``).
///
/// Lock order: `connection`, then `queue` or `progress`, never both.
final class GroupCommit: Sendable {
  /// How much was done; see ``SQLiteStore/statistics``.
  private let progress = Lock(Statistics())
  private let queue = Lock<[Job]>([])
  private let connection: Lock<Connection?>
  private let room: Atomic<Int>

  typealias Change = @Sendable (StoreTables) throws(SQLiteError) -> Void

  /// A change that waits; what became of it is written and read by whoever has the connection.
  private final class Job: @unchecked Sendable {
    let change: Change
    let isDurable: Bool
    /// It removes something, or what is removed depends on it.
    let mayUseReserve: Bool
    /// It was told to be done: the database may grow for it whatever comes.
    let isPromised: Bool
    /// Needless once this commit is on the disk.
    let goal: Int?
    var result: Result<Void, SQLiteError>?
    init(
      isDurable: Bool, mayUseReserve: Bool = false, isPromised: Bool = false, goal: Int? = nil,
      _ change: @escaping Change
    ) {
      self.change = change
      self.isDurable = isDurable
      self.mayUseReserve = mayUseReserve
      self.isPromised = isPromised
      self.goal = goal
    }
  }

  init(_ database: Database, _ reserve: StoreReserve? = nil) throws(SQLiteError) {
    connection = Lock(try Connection(database, reserve))
    room = Atomic(Int(clamping: reserve?.held ?? 0))
  }

  /// How many changes wait for the connection.
  var waiting: Int { queue.withLock { $0.count } }

  var statistics: Statistics { progress.withLock { $0 } }

  /// How many bytes the reserve has.
  var reserved: Int { room.load(ordering: .relaxed) }

  /// Makes a change; it is committed when this returns.
  func perform(_ change: @escaping Change) throws(Errno) {
    try run(Job(isDurable: false, change))
  }

  /// Makes a change that removes something: a full disk does not keep it from happening as long as the
  /// reserve lasts.
  func removing(_ change: @escaping Change) throws(Errno) {
    try run(Job(isDurable: false, mayUseReserve: true, change))
  }

  /// Makes a change of which somebody was told that it is made: as far as the reserve lasts there is
  /// room for it.
  func promised(_ change: @escaping Change) throws(Errno) {
    try run(Job(isDurable: false, mayUseReserve: true, isPromised: true, change))
  }

  /// Makes a change; it and all before it are on the disk when this returns.
  func performDurably(_ change: @escaping Change) throws(Errno) {
    try run(Job(isDurable: true, mayUseReserve: true, change))
  }

  /// Puts on the disk what was committed before the call, if anything was.
  func sync() throws(Errno) {
    let (last, durable) = progress.withLock { ($0.commits, $0.durableUpTo) }
    if durable == last { return }
    try run(Job(isDurable: true, mayUseReserve: true, goal: last) { (_) throws(SQLiteError) in })
  }

  /// Makes a last change, durably, empties the log and lets go of the connection.
  ///
  /// Everything after that fails with `EIO`.
  func close(_ change: @escaping Change) throws(Errno) {
    defer { abandon() }
    try performDurably(change)
    Rehearsal.pass(.storeClosing)
    do throws(SQLiteError) {
      try connection.withLock { (connection) throws(SQLiteError) in
        try connection?.database.checkpoint()
      }
    } catch {
      // Another process still reads, or there is no room to have everything twice: the log stays,
      // and it is as durable as the database.
      if ![.busy, .noSpace, .overQuota].contains(error.errno) { throw error.errno }
    }
  }

  /// Lets go of the connection.
  func abandon() { connection.withLock { $0 = nil } }

  private func run(_ job: Job) throws(Errno) {
    queue.withLock { $0.append(job) }
    let result = connection.withLock { (connection) -> Result<Void, SQLiteError> in
      if let result = job.result { return result }
      var batch = queue.withLock { (queue) -> [Job] in
        defer { queue = [] }
        return queue
      }
      // The commit before, while these waited, may have been durable.
      let durable = progress.withLock { $0.durableUpTo }
      for job in batch where job.goal.map({ $0 <= durable }) ?? false { job.result = .success(()) }
      batch.removeAll { $0.result != nil }
      if !batch.isEmpty {
        run(batch, on: &connection)
        room.store(connection?.reserved ?? 0, ordering: .relaxed)
      }
      return job.result ?? .failure(SQLiteError.closed)
    }
    if case .failure(let error) = result { throw error.errno }
  }

  private func run(
    _ batch: [Job], on connection: inout Connection?, isLastTry: Bool = false
  ) {
    do throws(SQLiteError) {
      guard connection != nil else { throw SQLiteError.closed }
      let isDurable = batch.contains { $0.isDurable }
      try connection?.transaction(isDurable: isDurable) { (tables) throws(SQLiteError) in
        for job in batch { try job.change(tables) }
      }
      progress.withLock { $0.count(changes: batch.count, isDurable: isDurable) }
      for job in batch { job.result = .success(()) }
      connection?.refillReserve(isPatient: true)
    } catch {
      let isFull = error.errno == .noSpace || error.errno == .overQuota
      if isLastTry || (!isFull && batch.count == 1) {
        let mayUseReserve = batch.contains { $0.mayUseReserve }
        let mayGrow = batch.contains { $0.isPromised }
        if isFull, mayUseReserve, connection?.giveReserve(forGrowing: mayGrow) == true {
          // Once: it is empty by then.
          run(batch, on: &connection, isLastTry: true)
          connection?.refillReserve()
          if mayGrow { connection?.limitAgain() }
        } else {
          for job in batch { job.result = .failure(error) }
        }
        return
      }
      if isFull {
        // Whether this helps, the next try tells. Somebody else may have made room.
        try? connection?.database.checkpointWithoutWaiting()
        connection?.refillReserve()
      }
      for job in batch { run([job], on: &connection, isLastTry: true) }
    }
  }
}

/// How much a store has written since it was opened.
public struct Statistics: Hashable, Sendable {
  /// Changes that were committed.
  public private(set) var changes = 0
  /// Transactions that were committed.
  public private(set) var commits = 0
  /// Those of them that waited for the disk.
  public private(set) var durableCommits = 0
  /// The last commit that is on the disk, with all before it.
  fileprivate private(set) var durableUpTo = 0

  fileprivate mutating func count(changes: Int, isDurable: Bool) {
    self.changes += changes
    commits += 1
    if isDurable {
      durableCommits += 1
      durableUpTo = commits
    }
  }
}

/// A connection with its statements.
private struct Connection: Sendable {
  let database: Database
  private let tables: StoreTables
  private let begin: Statement
  private let commit: Statement
  private let rollback: Statement
  private let reserve: StoreReserve?
  /// The database may not grow.
  private var isLimited = false
  private var durableCommits: Int64
  /// The disk failed to keep a commit, and may claim next time that it has nothing left to write.
  private var isLogSuspect = false

  init(_ database: Database, _ reserve: StoreReserve?) throws(SQLiteError) {
    self.database = database
    self.reserve = reserve
    tables = try StoreTables(of: database)
    begin = try database.prepare("BEGIN IMMEDIATE")
    commit = try database.prepare("COMMIT")
    rollback = try database.prepare("ROLLBACK")
    durableCommits = try database.integer("SELECT value FROM meta WHERE key = 'synced'") ?? 0
    guard let reserve else { return }
    reserve.refill()
    try database.execute("PRAGMA wal_autocheckpoint = \(reserve.logPages)")
    if !reserve.isWhole { limit() }
  }

  /// How many bytes the reserve has.
  var reserved: Int { Int(clamping: reserve?.held ?? 0) }

  /// Makes room for a removal, or for growing; false when there is none to be had.
  mutating func giveReserve(forGrowing grows: Bool) -> Bool {
    guard let reserve else { return false }
    // A database that may not grow may for this.
    guard reserve.give() || (grows && isLimited) else { return false }
    if grows { unlimit() } else { limit() }
    try? database.checkpointWithoutWaiting()
    return true
  }

  /// Takes the room back, and lets the database grow when all of it is there.
  mutating func refillReserve(isPatient: Bool = false) {
    guard let reserve, isLimited || !reserve.isWhole else { return }
    reserve.refill(isPatient: isPatient)
    if reserve.isWhole, isLimited { unlimit() }
  }

  /// Sets the limit that the reserve asks for, after something has grown all the same.
  mutating func limitAgain() {
    if let reserve, !reserve.isWhole { limit() }
  }

  private mutating func unlimit() {
    // As many as SQLite can have.
    isLimited = (try? database.execute("PRAGMA max_page_count = 4294967294")) == nil
  }

  /// Only pages that are free in the database can be used from now on, and a few: when something is
  /// removed a tree may have to be put in order.
  private mutating func limit() {
    guard let pages = try? database.integer("PRAGMA page_count") else { return }
    isLimited = (try? database.execute("PRAGMA max_page_count = \(pages + 8)")) != nil
  }

  mutating func transaction(
    isDurable: Bool, _ body: (StoreTables) throws(SQLiteError) -> Void
  ) throws(SQLiteError) {
    if database.isInTransaction { try rollback.run() }
    guard isDurable else { return try committing(body) }
    do throws(SQLiteError) {
      // A checkpoint writes everything once more, to the database itself.
      if isLogSuspect { try database.checkpoint() }
      // Not prepared: SQLite obeys this one while it compiles it.
      try database.execute("PRAGMA synchronous = FULL")
      defer { try? database.execute("PRAGMA synchronous = NORMAL") }
      let count = durableCommits &+ 1
      try committing { (tables) throws(SQLiteError) in
        try body(tables)
        // Without a change there would be no commit to wait for.
        try tables.setMeta("synced", to: count)
      }
      durableCommits = count
      isLogSuspect = false
    } catch {
      if error.isInputOutput { isLogSuspect = true }
      throw error
    }
  }

  private func committing(
    _ body: (StoreTables) throws(SQLiteError) -> Void
  ) throws(SQLiteError) {
    try begin.run()
    do throws(SQLiteError) {
      try database.checkPlace()
      try body(tables)
      Rehearsal.pass(.inTransaction)
      try commit.run()
      Rehearsal.pass(.committed)
    } catch {
      // When this fails too, the next transaction tries it again first.
      if database.isInTransaction { _ = try? rollback.run() }
      throw error
    }
  }
}
