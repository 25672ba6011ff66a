import CLinux
import Glibc
import Synchronization

/// Where a debug build dies or fails because a test wants it to; a release build has none of it.
///
/// The test maps a page that it shares with the process, named by `SIDECARFS_REHEARSAL`, and writes
/// into it, at any time, what is to happen. So one process can be made to fail a thousand times
/// without being started anew.
package enum Rehearsal {
  /// A moment at which the process may be killed.
  package enum Step: Int, CaseIterable, Sendable {
    /// A file or directory is there, and the store has not been asked about its key.
    case made = 1
    /// A name of an object is gone, and the store does not know.
    case unlinked
    /// A name has moved, and the store does not know.
    case renamed
    /// An object has one more name, and the store does not know.
    case linked
    /// The statements of a transaction have run, and it is not committed.
    case inTransaction
    /// A transaction is committed, and nobody was told.
    case committed
    /// An attribute is kept, and the caller was not told.
    case kept
    /// The store holds the lock and has opened nothing.
    case storeLocked
    /// The store is open and marked as such.
    case storeOpened
    /// The last transaction is done, and the log still full.
    case storeClosing
    /// The store is closed and the process has not ended.
    case storeClosed
    /// A change of names is announced to the store, and not made.
    case announced
    /// What was announced is settled, and the caller was not told.
    case settled
    /// A change is in the journal, and nobody was told.
    case journaled
    /// The store has what is in the journal.
    case applied
    /// The store's disk has what is in the journal, which is about to be written over.
    case journalFreed
    /// What a journal had is in the store, and the journal is still there.
    case replayed
  }

  /// A kind of call that can be made to fail, or to be the last one.
  package enum Site: Int, CaseIterable, Sendable {
    /// A system call that goes through ``call(_:)``.
    case system = 1
    /// A write of SQLite to one of its files.
    case storeWrite
  }

  /// The words of the shared page, each 8 bytes long.
  package enum Word: Int, Sendable {
    /// Which ``Step`` kills; 0 for none.
    case step
    /// The how manieth time it is come to, counted down.
    case stepCountdown
    /// At which ``Site`` something happens; 0 for none.
    case site
    /// The how manieth call, counted down; the number of calls made is to be seen by it.
    case siteCountdown
    /// What it answers: a number of errno, or -1 to be killed instead.
    case outcome
    /// Whether all calls after it have the same fate.
    case isLasting
    /// How many calls were made to fail.
    case failures
  }

  /// The page's size in bytes.
  package static let size = 4096

  /// Kills the process when a test waits for it to come to `step`.
  package static func pass(_ step: Step) {
    #if DEBUG
      guard let page, page.load(.step) == step.rawValue else { return }
      if page.subtract(.stepCountdown) == 0 { die() }
    #endif
  }

  /// The errno with which the call that is about to be made has to fail; nil to make it.
  package static func failure(at site: Site) -> Int32? {
    #if DEBUG
      guard let page, page.load(.site) == site.rawValue else { return nil }
      let left = page.subtract(.siteCountdown)
      guard left == 0 || (left < 0 && page.load(.isLasting) != 0) else { return nil }
      let outcome = page.load(.outcome)
      if outcome < 0 { die() }
      _ = page.subtract(.failures, -1)
      return Int32(truncatingIfNeeded: outcome)
    #else
      return nil
    #endif
  }

  /// Whether a test has a say in this process.
  package static var isOn: Bool {
    #if DEBUG
      page != nil
    #else
      false
    #endif
  }

  #if DEBUG
    private static let page: Page? = Page.shared()

    private static func die() {
      kill(getpid(), SIGKILL)
      // The signal comes at once to a thread of the process, but not surely to this one.
      while true { pause() }
    }
  #endif
}

/// The page as atomic words.
package struct RehearsalPage: @unchecked Sendable {
  private let start: UnsafeMutablePointer<Atomic<Int>>

  /// Maps a file of ``Rehearsal/size`` bytes, by its path; nil when that cannot be done.
  package init?(mapping path: String) {
    let file = open(path, O_RDWR | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let memory = mmap(nil, Rehearsal.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
    guard let memory, memory != MAP_FAILED else { return nil }
    start = memory.bindMemory(to: Atomic<Int>.self, capacity: Rehearsal.size / 8)
  }

  #if DEBUG
    fileprivate static func shared() -> RehearsalPage? {
      guard let path = getenv("SIDECARFS_REHEARSAL") else { return nil }
      return RehearsalPage(mapping: String(cString: path))
    }
  #endif

  /// What a word says.
  package func load(_ word: Rehearsal.Word) -> Int {
    start[word.rawValue].load(ordering: .sequentiallyConsistent)
  }

  /// Writes a word.
  package func store(_ word: Rehearsal.Word, _ value: Int) {
    start[word.rawValue].store(value, ordering: .sequentiallyConsistent)
  }

  /// Writes a word and returns what was there.
  package func exchange(_ word: Rehearsal.Word, _ value: Int) -> Int {
    start[word.rawValue].exchange(value, ordering: .sequentiallyConsistent)
  }

  /// Takes `amount` from a word and returns what is left.
  package func subtract(_ word: Rehearsal.Word, _ amount: Int = 1) -> Int {
    start[word.rawValue].wrappingSubtract(amount, ordering: .sequentiallyConsistent).newValue
  }
}

#if DEBUG
  private typealias Page = RehearsalPage
#endif
