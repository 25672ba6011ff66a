import AttributeModel
import LinuxSystem
import SidecarStore
import Testing

/// What a failing store says, and how often.
@Suite struct WatchedStoreTests {
  /// A store over one that fails as it is told.
  private final class Stage {
    let store: WatchedStore
    private let faults: Lock<Errno?>
    private let said: Lock<[String]>

    init() {
      let said = Lock<[String]>([])
      let faults = Lock<Errno?>(nil)
      self.said = said
      self.faults = faults
      store = WatchedStore(FailingAtWill(faults), called: "/place/store.db") { line in
        said.withLock { $0.append(line) }
      }
    }

    func fail(_ errno: Errno?) { faults.withLock { $0 = errno } }

    func lines() -> [String] {
      said.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }

    func set(_ number: Int, size: Int = 10) -> Errno? {
      do throws(Errno) {
        try store.set(
          AttributeName("user.a".utf8), to: [UInt8](repeating: 1, count: size), of: object(number),
          type: .regular, changed: time(1), lineage: lineage(number))
        return nil
      } catch {
        return error
      }
    }
  }

  @Test func eachChangeIsToldOnce() throws {
    let stage = Stage()
    #expect(stage.set(1) == nil && stage.lines() == [])
    stage.fail(.noSpace)
    for number in 0..<50 { #expect(stage.set(number) == .noSpace) }
    let first = stage.lines()
    #expect(first.count == 1, "\(first)")
    #expect(first[0].contains("/place/store.db") && first[0].contains("\(Errno.noSpace)"))
    #expect(first[0].contains("; make room") && !first[0].contains("\n"))
    stage.fail(.inputOutput)
    for number in 0..<50 { #expect(stage.set(number) == .inputOutput) }
    #expect(throws: Errno.inputOutput) { try stage.store.record(of: object(1)) }
    #expect(throws: Errno.inputOutput) { try stage.store.sync() }
    let second = stage.lines()
    #expect(second.count == 1 && second[0].contains("sidecarfs check"), "\(second)")
    stage.fail(nil)
    #expect(stage.set(0) == nil)
    #expect(stage.lines() == [] && stage.store.isFailing)
    _ = try stage.store.record(of: object(1))
    try stage.store.sync()
    #expect(stage.lines() == ["store /place/store.db: it works again"])
    #expect(!stage.store.isFailing)
    stage.fail(.noSpace)
    _ = stage.set(1)
    #expect(stage.lines() == first)
  }

  /// A short value that fits, and another object that is whole, are no sign of mending.
  @Test func halfFailingIsFailing() throws {
    let stage = Stage()
    for _ in 0..<20 {
      stage.fail(.noSpace)
      #expect(stage.set(1, size: 1000) == .noSpace)
      stage.fail(nil)
      #expect(stage.set(1, size: 10) == nil && stage.set(2, size: 5000) == nil)
      _ = try stage.store.record(of: object(1))
    }
    #expect(stage.lines().count == 1)
    #expect(stage.set(1, size: 1000) == nil)
    #expect(stage.lines().count == 1)
  }
}

/// Fails with what it is told to, at once.
private final class FailingAtWill: EntryStore {
  private let base = MemoryStore()
  private let fault: Lock<Errno?>

  init(_ fault: Lock<Errno?>) { self.fault = fault }

  private func passing<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
    if let errno = fault.withLock({ $0 }) { throw errno }
    return try body()
  }

  func record(of object: ObjectKey) throws(Errno) -> ObjectRecord? {
    try passing { () throws(Errno) in try base.record(of: object) }
  }
  func set(
    _ name: AttributeName, to value: [UInt8], of object: ObjectKey, type: FileType,
    changed: Timestamp, lineage: [LineageStep]
  ) throws(Errno) {
    try passing { () throws(Errno) in
      try base.set(name, to: value, of: object, type: type, changed: changed, lineage: lineage)
    }
  }
  func remove(_ name: AttributeName, of object: ObjectKey, changed: Timestamp) throws(Errno) {
    try passing { () throws(Errno) in try base.remove(name, of: object, changed: changed) }
  }
  func link(_ object: ObjectKey, at lineage: [LineageStep]) throws(Errno) {
    try base.link(object, at: lineage)
  }
  func unlink(_ object: ObjectKey, _ entry: Entry, isLast: Bool) throws(Errno) {
    try base.unlink(object, entry, isLast: isLast)
  }
  func move(_ object: ObjectKey, from entry: Entry, to lineage: [LineageStep]) throws(Errno) {
    try base.move(object, from: entry, to: lineage)
  }
  func discard(_ object: ObjectKey) throws(Errno) { try base.discard(object) }
  func quarantine(_ object: ObjectKey, because reason: QuarantineReason) throws(Errno) {
    try base.quarantine(object, because: reason)
  }
  func sync() throws(Errno) { try passing { () throws(Errno) in try base.sync() } }
  func orphans() throws(Errno) -> [ObjectKey] { try base.orphans() }
  func counts() throws(Errno) -> StoreCounts { try base.counts() }
  func object(at entry: Entry) throws(Errno) -> ObjectKey? { try base.object(at: entry) }
  func enter(_ object: ObjectKey, type: FileType, at lineage: [LineageStep]) throws(Errno) {
    try base.enter(object, type: type, at: lineage)
  }
  func vacate(_ entry: Entry, because reason: QuarantineReason) throws(Errno) {
    try base.vacate(entry, because: reason)
  }
  func intend(_ intent: Intent, isDurable: Bool) throws(Errno) -> IntentID {
    try base.intend(intent, isDurable: isDurable)
  }
  func settle(_ intent: IntentID) throws(Errno) -> Bool { try base.settle(intent) }
  func withdraw(_ intent: IntentID) throws(Errno) { try base.withdraw(intent) }
  func intents() throws(Errno) -> [PendingIntent] { try base.intents() }
}
