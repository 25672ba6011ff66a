import LinuxSystem

/// The changes that a store may not have yet, in two files beside it: one is written while the
/// records of the other reach the store and its disk.
///
/// A value of whoever keeps it under a lock: see ``JournaledStore``.
struct Journal: Sendable {
  static let fileNames = ["journal-0", "journal-1"]
  /// A change that takes more than this is made in the store at once.
  static let longestChange = 1 << 18

  private struct Half {
    let file: JournalFile
    var salt: UInt64 = 0
    var end = JournalFile.size
    /// The number of its last record.
    var last: Int64 = 0
    /// The disk may not have it.
    var isDirty = false
  }

  private var halves: [Half] = []
  /// The one that is written; at first none has room, so that the other begins.
  private var current = 1
  private let boot = Self.boot()

  /// A record was written, or there is no room for one until the store's disk has what the journal
  /// holds.
  enum Outcome { case written, full }

  /// Writes a change; `onDisk` is up to where the disk has all changes, `stored` up to where the disk
  /// has them in the store.
  mutating func append(
    _ change: [UInt8], number: Int64, onDisk: Int64, stored: Int64,
    in directory: borrowing FileDescriptor
  ) throws(Errno) -> Outcome {
    let length = JournalFile.recordHeaderSize + change.count
    if halves.isEmpty {
      var made: [Half] = []
      for name in Self.fileNames { made.append(Half(file: try JournalFile(name, in: directory))) }
      halves = made
    }
    if JournalFile.size - halves[current].end < length {
      let next = 1 - current
      guard halves[next].last <= stored else { return .full }
      var random = SystemRandomNumberGenerator()
      let salt = random.next()
      try halves[next].file.begin(salt: salt, boot: boot)
      halves[next].salt = salt
      halves[next].end = JournalFile.headerSize
      current = next
    }
    let half = halves[current]
    try half.file.write(
      JournalFile.record(change, number: number, onDisk: onDisk, salt: half.salt), at: half.end)
    halves[current].end = JournalFile.aligned(half.end + length)
    halves[current].last = number
    halves[current].isDirty = true
    return .written
  }

  /// The files that the disk may not have in full.
  var dirty: [JournalFile] { halves.filter { $0.isDirty }.map(\.file) }

  /// The disk has everything up to a number.
  mutating func isOnDisk(_ number: Int64) {
    for index in halves.indices where halves[index].last <= number {
      halves[index].isDirty = false
    }
  }

  /// The disk refused to keep a file: the next record begins another.
  mutating func abandonCurrent() {
    if !halves.isEmpty { halves[current].end = JournalFile.size }
  }

  /// A file is full of what the store has and its disk may not: soon it will be wanted again.
  func isWaitingForStore(_ stored: Int64) -> Bool {
    halves.indices.contains { $0 != current && halves[$0].last > stored }
  }

  /// Removes the files, for good: the store's disk has everything.
  static func remove(from directory: borrowing FileDescriptor) throws(Errno) {
    var isChanged = false
    for name in fileNames {
      do throws(Errno) {
        try directory.unlink(FileName(name))
        JournalRequest.tell(.delete(name), of: directory)
        isChanged = true
      } catch {
        if error != .noEntry { throw error }
      }
    }
    guard isChanged else { return }
    // What a power failure brought back would be taken for the journal of what comes now: its last
    // changes may have been given up for want of one before them, and their numbers are given again.
    try syncNames(in: directory)
  }

  /// Waits until the disk has the names of the files.
  static func syncNames(in directory: borrowing FileDescriptor) throws(Errno) {
    do throws(Errno) {
      try directory.reopen([.readOnly, .directory]).sync()
    } catch .invalidArgument {
      // This file system has nothing to sync there.
    }
    JournalRequest.tell(.syncNames, of: directory)
  }

  /// What tells this start of the machine from others.
  private static func boot() -> [UInt8] {
    let text = try? FileDescriptor.open(FileName("/proc/sys/kernel/random/boot_id"), .readOnly)
      .readToEnd(limit: 64)
    let digits = (text ?? []).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map {
      UInt8(digits[$0] << 4 | digits[$0 + 1])
    }
  }

  /// What a journal has for a store.
  struct Contents {
    /// The changes that the store lacks, without a gap.
    var changes: [NumberedChange] = []
    /// What is wrong with the rest, if it is more than what a death or a power failure leaves.
    var damage: String?
  }

  /// Reads the journal of a store that has everything up to `applied`. There may be none.
  ///
  /// A record that is not whole ends the journal, as does a number that is missing: so far the changes
  /// came. That is damage, however, when something behind it knows it to have been on the disk, or when
  /// the power cannot have failed since and something is behind it: then what is lost was promised.
  static func read(
    in directory: borrowing FileDescriptor, after applied: Int64
  ) throws(Errno) -> Contents {
    let boot = boot()
    var files: [JournalFile.Contents] = []
    for name in fileNames { files.append(try JournalFile.read(name, in: directory, boot: boot)) }
    files.sort { $0.changes.first?.number ?? 0 < $1.changes.first?.number ?? 0 }
    var contents = Contents()
    var last = applied
    var behind: Int64?
    for change in files.flatMap(\.changes) where change.number > applied {
      guard change.number == last + 1 else {
        behind = change.number
        break
      }
      contents.changes.append(change)
      last = change.number
    }
    for later in files.compactMap(\.later) where later > last { behind = behind ?? later }
    let onDisk = files.map(\.onDisk).max() ?? 0
    let isOfThisBoot = files.contains { $0.isOfThisBoot }
    if files.contains(where: { $0.isUnreadable }) {
      contents.damage = "a header or a record makes no sense"
    } else if let behind, isOfThisBoot {
      contents.damage = "change \(last + 1) is missing before \(behind)"
    } else if onDisk > last {
      contents.damage = "change \(last + 1) is missing, and was kept on the disk"
    }
    return contents
  }
}
