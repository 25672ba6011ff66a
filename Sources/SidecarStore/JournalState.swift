/// What a ``JournaledStore`` knows, under its lock.
struct JournalState: Sendable {
  /// Where a change of an attribute goes.
  enum Mode {
    /// Into the journal.
    case journaling
    /// Into the store: it has changes since that have no number.
    case direct
    /// One is being made in the store, with a number; then the journal has the next.
    case switching
  }

  /// So many changes, or bytes of them, are applied at once.
  static let batch = 256
  static let batchBytes = 1 << 19
  /// How long a change waits for others, in milliseconds.
  static let delay = 50
  /// What has to be free, in bytes, before a change is promised: several times what a batch can take.
  static let roomWanted: UInt64 = 16 << 20

  var mode = Mode.direct
  var journal = Journal()
  /// What the store has to be told, in order.
  private(set) var pending: [NumberedChange] = []
  private(set) var pendingBytes = 0
  private var sizes: [Int] = []
  private var objects: Set<ObjectKey> = []
  private var entries: Set<Entry> = []
  /// The last number that was given.
  var number: Int64
  /// Up to where the store has the changes.
  private(set) var applied: Int64
  /// Up to where the store's disk has them.
  var stored: Int64
  /// Up to where a disk has them, the store's or the journal's.
  private(set) var onDisk: Int64
  /// Changes of the store that the journal has not: how many were made, and how many of them are on
  /// the disk.
  var storeChanges = 1
  var storeChangesOnDisk = 0
  /// Calls that are in the store at present without a number, and those of them that change more than
  /// an attribute.
  var calls = 0
  var namings = 0
  var isSyncing = false
  var areNamesOnDisk = false
  var isEnding = false
  var hasEnded = false

  init(number: Int64) {
    (self.number, applied, stored, onDisk) = (number, number, 0, 0)
  }

  /// There is no use in waiting for more.
  var isEnough: Bool { pending.count >= Self.batch || pendingBytes >= Self.batchBytes }

  /// Whether so many bytes more would be more than is to wait, where there is room for so many.
  func isTooMuch(_ size: Int, room: Int) -> Bool {
    let (sum, overflow) = pendingBytes.addingReportingOverflow(size)
    return overflow || sum > min(room, Self.batchBytes * 4) || pending.count >= Self.batch * 4
  }

  /// A call of the store without a number begins.
  mutating func enter<Way>(_ mode: Mode, _ way: Way) -> Way {
    self.mode = mode
    calls += 1
    return way
  }

  /// A change was made in the store at once, or could not be.
  mutating func isDone(_ mode: Mode) {
    self.mode = mode
    storeChanges += 1
  }

  /// The file of the journal that is not written cannot be used again before the store's disk has it.
  var wantsFile: Bool { journal.isWaitingForStore(stored) }

  /// Gives a change its number; it waits from now on.
  mutating func take(_ change: AttributeChange, _ size: Int) {
    number += 1
    pending.append(NumberedChange(number, change))
    sizes.append(size)
    pendingBytes += size
    note(change)
  }

  private mutating func note(_ change: AttributeChange) {
    objects.insert(change.object)
    for (index, step) in change.lineage.enumerated() {
      objects.insert(step.object)
      guard index > 0 else { continue }
      entries.insert(Entry(parent: change.lineage[index - 1].object, name: step.name))
    }
  }

  /// The store has everything up to a number.
  mutating func hasApplied(upTo number: Int64) {
    let count = pending.prefix { $0.number <= number }.count
    pending.removeFirst(count)
    pendingBytes -= sizes.prefix(count).reduce(0, +)
    sizes.removeFirst(count)
    applied = number
    objects.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
    for waiting in pending { note(waiting.change) }
  }

  /// A disk has everything up to a number.
  mutating func isOnDisk(_ number: Int64) {
    onDisk = max(onDisk, number)
    journal.isOnDisk(number)
  }

  /// Whether a change that waits has to do with an object.
  func concerns(_ object: ObjectKey) -> Bool { objects.contains(object) }

  /// Whether a change that waits may put an object under an entry.
  func concerns(_ entry: Entry) -> Bool { entries.contains(entry) }
}
