public import LinuxSystem

/// Why a store cannot be opened. Nothing was changed.
public struct StoreError: Error, Hashable, Sendable {
  /// What is wrong.
  public enum Reason: Hashable, Sendable {
    /// `store.db` is something else.
    case notADatabase
    /// `store.db` is another program's database.
    case foreign(applicationID: Int64)
    /// A later release wrote it.
    case newer(version: Int64, supported: Int64)
    /// Another mount has it: its process, and its mount point where that is known.
    case inUse(by: String)
    /// Others could forge what is in it: the file, and what is wrong with it.
    case unsafe(file: String, problem: String)
    /// It contradicts itself; what SQLite says.
    case damaged(String)
    /// Its journal lacks changes that were kept; what is missing.
    case damagedJournal(String)
    /// The mount that has it does not get the changes in its journal into the database.
    case lagging
    /// The file system refuses to be written to.
    case readOnly
    /// The file system cannot hold a shared write-ahead log.
    case noSharedMemory
    /// There is no default place: no home directory is known.
    case noPlace
    /// A system call failed.
    case unreachable(Errno)
    /// There is no store.
    case missing
    /// Reading or writing it failed.
    case failed(Errno)
  }

  /// What is wrong.
  public let reason: Reason
  /// The store's directory, or what there is of a path to it.
  public let place: String

  /// A reason, and where.
  public init(_ reason: Reason, at place: FileName) {
    self.reason = reason
    self.place = place.description
  }
}

extension StoreError: CustomStringConvertible {
  /// One line: what failed, on what, and what to do about it.
  public var description: String { "\(place): \(problem); \(remedy)" }

  private var problem: String {
    switch reason {
    case .notADatabase: "store.db is not a database"
    case .foreign(let identifier): "store.db belongs to another program (application \(identifier))"
    case .newer(let version, let supported):
      "the store has version \(version), this sidecarfs knows up to \(supported)"
    case .inUse(let holder): "the store is in use by \(holder)"
    case .unsafe(let file, let problem): "\(file) \(problem)"
    case .damaged(let detail): "the store is damaged (\(detail))"
    case .damagedJournal(let detail): "the store's journal is damaged (\(detail))"
    case .lagging: "changes wait in the store's journal, and its mount does not apply them"
    case .readOnly: "the store cannot be written: read-only file system"
    case .noSharedMemory: "this file system cannot hold the store (no shared memory for its log)"
    case .noPlace: "no place for the store: neither XDG_STATE_HOME nor HOME is set"
    case .unreachable(let errno): "cannot open the store: \(errno)"
    case .missing: "there is no store"
    case .failed(let errno): "the store: \(errno)"
    }
  }

  private var remedy: String {
    switch reason {
    case .notADatabase, .foreign: "move it away, or choose another place with --store"
    case .newer: "use a newer sidecarfs, or choose another place with --store"
    case .inUse: "unmount that first, or choose another place with --store"
    case .unsafe:
      "make it root's alone if you trust what is in it (chown root, chmod go-w), or choose another"
        + " place with --store"
    case .damaged: "put back a copy, or save what can be read with sidecarfs check --salvage"
    case .damagedJournal:
      "save what is before the damage with sidecarfs check --salvage; the rest is kept as it is"
    case .lagging: "look at the daemon's log: its disk may be full"
    case .missing: "name the source, or the store with --store"
    case .failed: "look at the disk that it is on; what was there before stays"
    case .unreachable(.noSpace), .unreachable(.overQuota):
      "make room on its file system, or choose another place with --store"
    case .readOnly, .noSharedMemory, .noPlace, .unreachable: "choose another place with --store"
    }
  }
}
