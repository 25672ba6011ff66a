import AttributeModel
import LinuxSystem
import SQLite
import SidecarStore
import Testing

/// Every n-th statement fails: what remains is the old state or the new one.
@Suite struct StoreFaultTests {
  enum Verb: CaseIterable {
    case setNew, setKnown, remove, link, unlink, unlinkLast, move, discard, quarantine, sync
    case enter, vacate, intend, settle, withdraw
  }

  @Test(arguments: Verb.allCases, [false, true])
  func oldOrNewState(_ verb: Verb, _ isPersistent: Bool) throws {
    var call = 0
    var isComplete = false
    while !isComplete {
      call += 1
      try #require(call < 100, "the verb does not come to an end")
      let directory = try TemporaryDirectory()
      let fault = Fault()
      let store = try openStore(in: directory) { $0.beforeStep = fault.step }
      let model = MemoryStore()
      for store in [store, model] as [any EntryStore] { try prepare(store) }
      let old = model.dump()
      try #require(try store.dump() == old)
      try make(verb, in: model)
      let new = model.dump()

      fault.arm(call, isPersistent: isPersistent)
      do {
        try make(verb, in: store)
        isComplete = fault.isPending
        #expect(try store.dump() == new, "\(verb) succeeded, call \(call)")
      } catch {
        #expect(error == .inputOutput)
        #expect(try store.dump() == old, "\(verb) failed, call \(call)")
      }
      fault.disarm()
      // The store goes on working, whatever happened.
      try make(verb, in: store)
      #expect(try store.dump() == new || [.quarantine, .intend].contains(verb))
      try store.close()
    }
    #expect(call > 3)
  }

  /// One change in a shared commit that cannot be made takes no other with it.
  @Test func aFailedChangeFailsAlone() throws {
    let directory = try TemporaryDirectory()
    let fault = Fault()
    let store = try openStore(in: directory) { $0.beforeStep = fault.step }
    let results = Lock<[Errno?]>([])
    fault.arm(40, isPersistent: false)
    inThreads(8) { thread in
      for round in 0..<50 {
        do throws(Errno) {
          try store.set(
            AttributeName("user.\(round)".utf8), to: [1], of: object(thread), type: .regular,
            changed: time(1), lineage: [])
          results.withLock { $0.append(nil) }
        } catch {
          results.withLock { $0.append(error) }
        }
      }
    }
    let results1 = results.withLock { $0 }
    let succeeded = results1.count { $0 == nil }
    #expect(results1.count == 400)
    #expect(succeeded >= 399)
    #expect(try store.counts().attributes == succeeded)
  }

  @Test func aReadOnlyDatabaseSaysSo() throws {
    let directory = try TemporaryDirectory()
    let held = Lock<Database?>(nil)
    let store = try openStore(in: directory) { database in held.withLock { $0 = database } }
    try held.withLock { try $0?.execute("PRAGMA query_only = 1") }
    #expect(throws: Errno.readOnly) { try make(.setKnown, in: store) }
    try held.withLock { try $0?.execute("PRAGMA query_only = 0") }
    try make(.setKnown, in: store)
  }

  @Test func aClosedStoreAnswersEIO() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    try store.close()
    #expect(throws: Errno.inputOutput) { try make(.setKnown, in: store) }
    #expect(throws: Errno.inputOutput) { try store.record(of: object(1)) }
  }

  private func prepare(_ store: any EntryStore) throws {
    try store.set(
      name("user.a"), to: [1], of: object(1), type: .regular, changed: time(1),
      lineage: lineage(5, 1, name: "a"))
    try store.link(object(1), at: lineage(5, 1, name: "b"))
    try store.set(
      name("user.a"), to: [1], of: object(2), type: .regular, changed: time(1),
      lineage: lineage(5, 2, name: "c"))
    _ = try store.intend(intent)
  }

  /// `c` takes the place of `a`, whose object has another name.
  private var intent: Intent {
    let directory = Array(lineage(5, 2).dropLast())
    return Intent(
      .rename, object(2), at: Place(directory: directory, name: Array("c".utf8)), other: object(1),
      to: Place(directory: directory, name: Array("a".utf8)),
      fingerprint: Fingerprint(type: .regular, size: 7, modified: time(3)))
  }

  private func make(_ verb: Verb, in store: any EntryStore) throws(Errno) {
    let a = Entry(parent: object(5), name: Array("a".utf8))
    let name = try AttributeName("user.a".utf8)
    switch verb {
    case .setNew:
      try store.set(
        name, to: [9], of: object(9), type: .regular, changed: time(2),
        lineage: lineage(7, 8, 9))
    case .setKnown:
      try store.set(
        name, to: [2], of: object(1), type: .regular, changed: time(2), lineage: [])
    case .remove: try store.remove(name, of: object(1), changed: time(2))
    case .link: try store.link(object(1), at: lineage(6, 1, name: "new"))
    case .unlink: try store.unlink(object(1), a, isLast: false)
    case .unlinkLast: try store.unlink(object(1), a, isLast: true)
    case .move: try store.move(object(1), from: a, to: lineage(5, 1, name: "c"))
    case .discard: try store.discard(object(1))
    case .quarantine: try store.quarantine(object(1), because: .reusedKey)
    case .sync: try store.sync()
    case .enter: try store.enter(object(9), type: .regular, at: lineage(7, 9))
    case .vacate: try store.vacate(a, because: .otherType)
    case .intend: _ = try store.intend(intent)
    case .settle: _ = try store.settle(IntentID(1))
    case .withdraw: try store.withdraw(IntentID(1))
    }
  }
}

/// Lets a step fail as if the disk did.
private final class Fault: Sendable {
  private struct State {
    var remaining = 0
    var isPersistent = false
    var isArmed = false
  }
  private let state = Lock(State())

  func arm(_ call: Int, isPersistent: Bool) {
    state.withLock { $0 = State(remaining: call, isPersistent: isPersistent, isArmed: true) }
  }
  func disarm() { state.withLock { $0.isArmed = false } }
  /// It has not come to that call.
  var isPending: Bool { state.withLock { $0.remaining > 0 } }

  @Sendable func step() throws(SQLiteError) {
    let fails = state.withLock { state in
      guard state.isArmed else { return false }
      state.remaining -= 1
      return state.remaining == 0 || (state.isPersistent && state.remaining < 0)
    }
    if fails { throw SQLiteError(code: 10) }
  }
}
