import LinuxSystem
import SQLite

/// Saving what can be of a damaged journal.
extension StoreSalvage {
  /// Brings into a sound store what is before the damage of its journal, and sets that aside; nil when
  /// the journal is sound too.
  static func journalAlone(
    _ opening: StoreOpening, in directory: borrowing FileDescriptor
  ) throws(StoreError) -> StoreSalvage? {
    let database = try opening.openDatabase(in: directory)
    let contents = try opening.journal(of: database, in: directory)
    guard let damage = contents.damage else { return nil }
    try opening.attempt { () throws(SQLiteError) in
      try database.execute("PRAGMA synchronous = FULL")
    }
    try opening.replay(contents.changes, into: database)
    var salvage = StoreSalvage(damage: damage, kept: "")
    try salvage.setJournalAside(in: directory, at: opening.place, damage, contents.changes.count)
    return salvage
  }

  /// Gives the files of a journal other names, under which nobody looks for them.
  mutating func setJournalAside(
    in directory: borrowing FileDescriptor, at place: FileName, _ damage: String, _ saved: Int = 0
  ) throws(StoreError) {
    var names: [String] = []
    for name in Journal.fileNames {
      let kept = "\(name).damaged-\(Timestamp.now.seconds)"
      do throws(Errno) {
        try directory.rename(FileName(name), to: directory, FileName(kept), .noReplace)
        names.append(kept)
      } catch {
        if error != .noEntry {
          throw StoreError(error == .readOnly ? .readOnly : .failed(error), at: place)
        }
      }
    }
    guard !names.isEmpty else { return }
    journal =
      "the journal was damaged (\(damage)); it is kept as \(names.joined(separator: ", ")),"
      + " \(saved) changes of it were saved"
  }
}
