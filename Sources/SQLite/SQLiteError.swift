import CSQLite
import Glibc
public import LinuxSystem

/// What SQLite answered instead of doing what it was asked.
public struct SQLiteError: Error, Hashable, Sendable {
  /// SQLite's extended result code (`SQLITE_IOERR_FSYNC`, ...).
  public let code: Int32
  /// What `errno` said after the call; 0 when that is not known.
  public let systemCode: Int32

  /// An answer of SQLite.
  public init(code: Int32, systemCode: Int32 = 0) {
    self.code = code
    self.systemCode = systemCode
  }

  /// The answer to a call just made by ``answering(_:)``.
  ///
  /// From the thread's `errno`: what `sqlite3_system_errno` says is, when a commit fails, of an
  /// earlier failure.
  init(answer code: Int32) {
    self.code = code
    systemCode = Glibc.errno
  }

  /// Makes a call of SQLite that may fail, so that `errno` afterwards is of this call.
  static func answering(_ body: () -> Int32) -> Int32 {
    Glibc.errno = 0
    return body()
  }

  /// The file is damaged, or no database at all.
  public var isDamage: Bool {
    primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || code == PageChecksums.mismatch
  }
  /// The file is no database, or an encrypted one.
  public var isNotADatabase: Bool { primary == SQLITE_NOTADB }
  /// A file could not be opened.
  public var isCannotOpen: Bool { primary == SQLITE_CANTOPEN }
  /// A row would break a rule of its table.
  public var isConstraint: Bool { primary == SQLITE_CONSTRAINT }
  /// The disk failed to read, write or sync.
  public var isInputOutput: Bool { primary == SQLITE_IOERR }

  /// A row that cannot be: the database is damaged.
  public static let unexpected = SQLiteError(code: SQLITE_CORRUPT)
  /// The file is not where it was opened (`SQLITE_READONLY_DBMOVED`).
  public static let moved = SQLiteError(code: SQLITE_READONLY | 4 << 8)
  /// The connection is closed.
  public static let closed = SQLiteError(code: SQLITE_MISUSE)

  private var primary: Int32 { code & 0xff }

  /// What a system call would have said: the one table between SQLite's codes and the kernel's.
  ///
  /// What SQLite does to clean up may fail, too, and leave its own number, so that only those values
  /// are believed that cannot come from anything harmless.
  public var errno: Errno {
    switch primary {
    case SQLITE_FULL: .noSpace
    case SQLITE_IOERR: believed([.noSpace, .overQuota, .readOnly]) ?? .inputOutput
    case SQLITE_CANTOPEN:
      believed([
        .noSpace, .overQuota, .readOnly, .tooManyOpenFiles, .accessDenied, .notPermitted, .noEntry,
        .loop,
      ]) ?? .inputOutput
    case SQLITE_READONLY: self == .moved ? .inputOutput : .readOnly
    case SQLITE_PERM, SQLITE_AUTH: .accessDenied
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_NOMEM: .noMemory
    case SQLITE_INTERRUPT: .interrupted
    case SQLITE_TOOBIG: .tooBig
    // CORRUPT and NOTADB: damage. CONSTRAINT, MISUSE, ERROR and the rest: the schema is not what
    // our statements expect, which is damage as well.
    default: .inputOutput
    }
  }

  private func believed(_ candidates: [Errno]) -> Errno? {
    candidates.first { $0.code == systemCode }
  }
}

extension SQLiteError: CustomStringConvertible {
  /// SQLite's sentence for the code, such as "database disk image is malformed".
  public var description: String {
    code == PageChecksums.mismatch
      ? "a page is not what was written" : String(cString: sqlite3_errstr(code))
  }
}
