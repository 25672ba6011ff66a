import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import FUSE

/// Who reads when one takes long, and when all end.
@Suite struct ReadingTurnsTests {
  /// A device on which nothing arrives, and the watcher of its readers.
  private final class Scene: Sendable {
    let turns = ReadingTurns(limit: 2)
    let pipe: (Int32, Int32)
    let isWatched = Lock(true)

    init() throws {
      var ends: [Int32] = [0, 0]
      try call(Glibc.pipe(&ends))
      pipe = (ends[0], ends[1])
      try Threads.start(named: "watcher") { [turns, isWatched, pipe] in
        turns.watch(pipe.0)
        isWatched.withLock { $0 = false }
      }
    }

    func end() throws {
      turns.stop()
      try waiting(for: "the watcher's end") { isWatched.withLock { $0 } ? nil : () }
      close(pipe.0)
      close(pipe.1)
    }

    /// Whether another gets a turn; the answer comes when it does or when all is over.
    func another() throws -> Lock<Bool?> {
      let answer = Lock<Bool?>(nil)
      try Threads.start(named: "another") { [turns] in
        let taken = turns.take(ReadingTurns.Seat())
        answer.withLock { $0 = taken }
      }
      return answer
    }
  }

  @Test func whoTakesLongIsReplaced() throws {
    let scene = try Scene()
    let seat = ReadingTurns.Seat()
    #expect(scene.turns.take(seat))
    let another = try scene.another()
    scene.turns.begin(seat)
    let taken = try waiting(for: "another's turn") { another.withLock { $0 } }
    #expect(taken)
    #expect(!scene.turns.end(seat))
    try scene.end()
  }

  /// A request that began before the watcher would have slept is watched all the same.
  @Test func nobodySleepsOverARequest() {
    let turns = ReadingTurns(limit: 2)
    let seat = ReadingTurns.Seat()
    #expect(turns.take(seat))
    turns.begin(seat)
    #expect(!turns.liesDown())
    #expect(turns.end(seat))
    #expect(turns.liesDown())
  }

  @Test func whoPassesOnLetsAnotherIn() throws {
    let scene = try Scene()
    let seat = ReadingTurns.Seat()
    #expect(scene.turns.take(seat))
    let another = try scene.another()
    scene.turns.pass(seat)
    #expect(try waiting(for: "another's turn") { another.withLock { $0 } })
    try scene.end()
  }

  @Test func whoWaitsIsToldOfTheEnd() throws {
    let scene = try Scene()
    #expect(scene.turns.take(ReadingTurns.Seat()))
    let another = try scene.another()
    try scene.end()
    #expect(try !waiting(for: "the answer") { another.withLock { $0 } })
    #expect(!scene.turns.take(ReadingTurns.Seat()))
  }

  /// What waits although one reads is served by more.
  @Test func aBacklogLetsMoreIn() throws {
    let scene = try Scene()
    let seat = ReadingTurns.Seat()
    #expect(scene.turns.take(seat))
    let another = try scene.another()
    #expect(write(scene.pipe.1, "x", 1) == 1)
    scene.turns.begin(seat)
    _ = scene.turns.end(seat)
    #expect(try waiting(for: "another's turn") { another.withLock { $0 } })
    try scene.end()
  }
}
