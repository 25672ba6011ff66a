import AttributeModel
import Foundation
import LinuxSystem
import SQLite
import SidecarStore
import Testing

@Suite(.serialized) struct StoreConcurrencyTests {
  @Test(arguments: StoreKind.allCases)
  func eachThreadFindsWhatItWrote(_ kind: StoreKind) throws {
    let fixture = try TestStore(kind)
    let store = fixture.store
    let problems = Lock<[String]>([])
    inThreads(8) { thread in
      do {
        for round in 0..<200 {
          let key = object(100 + thread * 10 + round % 5)
          let value = Array("\(thread) \(round)".utf8)
          try store.set(
            name("user.\(round % 7)"), to: value, of: key, type: .regular,
            changed: time(Int64(round)), lineage: lineage(1, 100 + thread * 10 + round % 5))
          let record = try store.record(of: key)
          if try record?.attributes[name("user.\(round % 7)")] != value {
            problems.withLock { $0.append("thread \(thread), round \(round)") }
          }
          if round % 20 == 0 { try store.sync() }
          if round % 50 == 49 { try store.discard(key) }
        }
      } catch {
        problems.withLock { $0.append("thread \(thread): \(error)") }
      }
    }
    #expect(problems.withLock { $0 } == [])
    for thread in 0..<8 {
      // What the last round of each object left, by the same arithmetic.
      for slot in 0..<5 {
        let rounds = (0..<200).filter { $0 % 5 == slot }
        var expected: [AttributeName: [UInt8]]?
        for round in rounds {
          expected = expected ?? [:]
          expected?[try name("user.\(round % 7)")] = Array("\(thread) \(round)".utf8)
          if round % 50 == 49 { expected = nil }
        }
        let record = try store.record(of: object(100 + thread * 10 + slot))
        #expect(record?.attributes == expected)
      }
    }
  }

  /// The first change is held up until all others wait: then these share one commit.
  @Test func waitingWritersShareACommit() throws {
    let directory = try TemporaryDirectory()
    let gate = StepGate()
    let store = try openStore(in: directory) { $0.beforeStep = { gate.pass() } }
    let before = store.statistics
    gate.close()
    let problems = Lock<[String]>([])
    let waited = Lock(false)
    inThreads(9) { thread in
      if thread == 8 {
        // Seven in the queue, and the first one at the gate.
        let deadline = Date(timeIntervalSinceNow: 30)
        while Date() < deadline, !(gate.isOccupied && store.waitingChanges == 7) {
          usleep(1000)
        }
        waited.withLock { $0 = store.waitingChanges == 7 }
        gate.open()
        return
      }
      // The first one alone, or it would take others along.
      let deadline = Date(timeIntervalSinceNow: 30)
      while thread > 0, Date() < deadline, !gate.isOccupied { usleep(1000) }
      do {
        try store.set(
          name("user.a"), to: [UInt8(thread)], of: object(thread), type: .regular,
          changed: time(1), lineage: [])
      } catch {
        problems.withLock { $0.append("\(error)") }
      }
    }
    #expect(problems.withLock { $0 } == [])
    #expect(waited.withLock { $0 })
    #expect(store.statistics.changes - before.changes == 8)
    #expect(store.statistics.commits - before.commits == 2)
  }

  @Test func syncIsFreeWhenNothingIsPending() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(in: directory)
    let before = store.statistics.durableCommits
    try store.sync()
    #expect(store.statistics.durableCommits == before)
    for round in 1...3 {
      try store.set(
        name("user.a"), to: [1], of: object(1), type: .regular, changed: time(1), lineage: [])
      #expect(store.statistics.durableCommits == before + round - 1)
      for _ in 0..<3 { try store.sync() }
      #expect(store.statistics.durableCommits == before + round)
    }
  }

  @Test func readersDoNotWaitForAWriter() throws {
    let directory = try TemporaryDirectory()
    let gate = StepGate()
    let store = try openStore(in: directory) { $0.beforeStep = { gate.pass() } }
    try store.set(
      name("user.a"), to: [1], of: object(1), type: .regular, changed: time(1), lineage: [])
    gate.close()
    let seen = Lock<[UInt8]?>(nil)
    inThreads(2) { thread in
      if thread == 0 {
        try? store.set(
          name("user.a"), to: [2], of: object(1), type: .regular, changed: time(2), lineage: [])
      } else {
        let deadline = Date(timeIntervalSinceNow: 30)
        while Date() < deadline, !gate.isOccupied { usleep(1000) }
        let record = try? store.record(of: object(1))
        seen.withLock { $0 = record?.attributes.values.first }
        gate.open()
      }
    }
    #expect(seen.withLock { $0 } == [1])
    #expect(try store.record(of: object(1))?.attributes == [name("user.a"): [2]])
  }
}

/// Holds up whoever passes while it is closed.
private final class StepGate: Sendable {
  private struct State {
    var isClosed = false
    var isOccupied = false
  }
  private let state = Lock(State())
  private let change = Condition()

  var isOccupied: Bool { state.withLock { $0.isOccupied } }
  func close() { state.withLock { $0.isClosed = true } }

  func open() {
    state.withLock { $0.isClosed = false }
    change.broadcast()
  }

  func pass() {
    _ = state.wait(for: change, milliseconds: 60_000) { state -> Void? in
      guard state.isClosed else { return () }
      state.isOccupied = true
      return nil
    }
  }
}
