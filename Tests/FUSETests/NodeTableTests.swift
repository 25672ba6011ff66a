import FUSE
import LinuxSystem
import TestSupport
import Testing

/// The kernel's lookup counts: a node stays as long as the kernel may name it, and no longer.
@Suite struct NodeTableTests {
  private final class TestNode: Node, KeyedNode, @unchecked Sendable {
    let key: Int
    var tableKey: Int
    private let ended: Lock<Int>?

    init(_ key: Int, ended: Lock<Int>? = nil) {
      self.key = key
      tableKey = key
      self.ended = ended
      super.init()
    }

    deinit { ended?.withLock { $0 += 1 } }
  }

  @Test func counts() {
    let table = NodeTable<TestNode>()
    #expect(table.find(1) == nil && table.retain(1) == nil && table.count == 0)
    let node = table.retain(orInsert: TestNode(1))
    #expect(table.find(1) === node)
    #expect(table.retain(1) === node)
    let late = TestNode(1)
    #expect(table.retain(orInsert: late) === node, "the first one stays")
    #expect(table.count == 1)
    #expect(!table.release(node, lookups: 2))
    #expect(table.find(1) === node)
    #expect(table.release(node, lookups: 1))
    #expect(table.find(1) == nil && table.count == 0)
    // The same key may be another object by now.
    let next = table.retain(orInsert: late)
    #expect(next === late)
    #expect(!table.release(node, lookups: 1), "a stranger takes nothing with it")
    #expect(table.find(1) === late)
    // More than were given: the kernel never does, and it does no harm.
    #expect(table.release(late, lookups: 99))
    #expect(!table.release(late, lookups: 1))
    #expect(table.count == 0)
  }

  @Test func drained() {
    let table = NodeTable<TestNode>()
    for key in 0..<1000 { _ = table.retain(orInsert: TestNode(key)) }
    #expect(table.count == 1000)
    #expect(Set(table.drain().map(\.key)) == Set(0..<1000))
    #expect(table.count == 0 && table.drain().isEmpty)
  }

  @Test func otherKeys() {
    let table = NodeTable<TestNode>()
    let node = table.retain(orInsert: TestNode(1))
    let other = table.retain(orInsert: TestNode(2))
    for key in [2, 2 + 64] {
      let blocked = table.rekey(node, to: key)
      #expect(blocked === (key == 2 ? other : nil))
    }
    #expect(table.find(1) == nil && table.find(2) === other && table.find(66) === node)
    #expect(table.rekey(node, to: 66) == nil)
    // One that is not in the table keeps its key, and takes nobody's place.
    let outside = TestNode(7)
    #expect(table.rekey(outside, to: 2) === other)
    #expect(table.rekey(outside, to: 1) == nil && table.find(1) == nil)
    #expect(!table.contains(outside) && table.contains(node))
    #expect(table.retain(orInsert: outside) === outside && table.find(1) === outside)
    #expect(table.release(node, lookups: 1) && table.find(66) == nil)
    #expect(table.count == 2)
  }

  /// Threads that move nodes of their own to new keys while others forget lookups of them.
  @Test(.timeLimit(.minutes(1))) func movesRaceWithForgetting() throws {
    let table = NodeTable<TestNode>()
    let faults = Lock(0)
    let left = Lock(8)
    let nodes = (0..<4).map { table.retain(orInsert: TestNode($0)) }
    for thread in 0..<8 {
      detachedThread {
        let node = nodes[thread % 4]
        for round in 0..<20_000 {
          if thread < 4 {
            // Every key belongs to one node, so none is in the way.
            if table.rekey(node, to: thread + 4 * (round % 1000)) != nil {
              faults.withLock { $0 += 1 }
            }
          } else {
            if table.retain(orInsert: node) === node { _ = table.release(node, lookups: 1) }
          }
          if !table.contains(node) { faults.withLock { $0 += 1 } }
        }
        left.withLock { $0 -= 1 }
      }
    }
    try waiting(for: "threads", within: .seconds(50)) { left.withLock { $0 == 0 ? () : nil } }
    #expect(faults.withLock { $0 } == 0)
    #expect(table.count == 4)
    for node in nodes { #expect(table.release(node, lookups: 1)) }
    #expect(table.count == 0)
  }

  /// Threads that look up and forget at random: a node that anybody holds a lookup of is the one
  /// that everybody finds, and in the end all are gone.
  @Test(.timeLimit(.minutes(1))) func races() throws {
    let table = NodeTable<TestNode>()
    let ended = Lock(0)
    let made = Lock(0)
    let faults = Lock(0)
    let left = Lock(8)
    for _ in 0..<8 {
      detachedThread {
        var held: [Int: (node: TestNode, lookups: UInt64)] = [:]
        for _ in 0..<20_000 {
          let key = Int.random(in: 0..<16)
          if let own = held[key], Bool.random() {
            let given = UInt64.random(in: 1...own.lookups)
            held[key] = given == own.lookups ? nil : (own.node, own.lookups - given)
            _ = table.release(own.node, lookups: given)
          } else {
            let found =
              table.retain(key)
              ?? table.retain(
                orInsert: {
                  made.withLock { $0 += 1 }
                  return TestNode(key, ended: ended)
                }())
            let own = held[key]
            if found.key != key || own.map({ $0.node !== found }) == true {
              faults.withLock { $0 += 1 }
            }
            held[key] = (found, (own?.lookups ?? 0) + 1)
          }
          if let own = held[key], table.find(key) !== own.node { faults.withLock { $0 += 1 } }
        }
        for own in held.values { _ = table.release(own.node, lookups: own.lookups) }
        held = [:]
        left.withLock { $0 -= 1 }
      }
    }
    try waiting(for: "threads", within: .seconds(50)) { left.withLock { $0 == 0 ? () : nil } }
    #expect(faults.withLock { $0 } == 0)
    #expect(table.count == 0)
    try waiting(for: "the nodes' ends") {
      ended.withLock { $0 } == made.withLock { $0 } ? () : nil
    }
  }
}
