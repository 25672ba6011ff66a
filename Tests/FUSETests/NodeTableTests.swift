import FUSE
import LinuxSystem
import TestSupport
import Testing

/// The kernel's lookup counts: a node stays as long as the kernel may name it, and no longer.
@Suite struct NodeTableTests {
  private final class TestNode: Node, @unchecked Sendable {
    let key: Int
    private let ended: Lock<Int>?

    init(_ key: Int, ended: Lock<Int>? = nil) {
      self.key = key
      self.ended = ended
      super.init()
    }

    deinit { ended?.withLock { $0 += 1 } }
  }

  @Test func counts() {
    let table = NodeTable<Int, TestNode>()
    #expect(table.find(1) == nil && table.retain(1) == nil && table.count == 0)
    let node = table.retain(1, orInsert: TestNode(1))
    #expect(table.find(1) === node)
    #expect(table.retain(1) === node)
    let late = TestNode(1)
    #expect(table.retain(1, orInsert: late) === node, "the first one stays")
    #expect(table.count == 1)
    #expect(!table.release(1, node, lookups: 2))
    #expect(table.find(1) === node)
    #expect(table.release(1, node, lookups: 1))
    #expect(table.find(1) == nil && table.count == 0)
    // The same key may be another object by now.
    let next = table.retain(1, orInsert: late)
    #expect(next === late)
    #expect(!table.release(1, node, lookups: 1), "a stranger takes nothing with it")
    #expect(table.find(1) === late)
    // More than were given: the kernel never does, and it does no harm.
    #expect(table.release(1, late, lookups: 99))
    #expect(!table.release(1, late, lookups: 1))
    #expect(table.count == 0)
  }

  @Test func drained() {
    let table = NodeTable<Int, TestNode>()
    for key in 0..<1000 { _ = table.retain(key, orInsert: TestNode(key)) }
    #expect(table.count == 1000)
    #expect(Set(table.drain().map(\.key)) == Set(0..<1000))
    #expect(table.count == 0 && table.drain().isEmpty)
  }

  /// Threads that look up and forget at random: a node that anybody holds a lookup of is the one
  /// that everybody finds, and in the end all are gone.
  @Test(.timeLimit(.minutes(1))) func races() throws {
    let table = NodeTable<Int, TestNode>()
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
            _ = table.release(key, own.node, lookups: given)
          } else {
            let found =
              table.retain(key)
              ?? table.retain(
                key,
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
        for (key, own) in held { _ = table.release(key, own.node, lookups: own.lookups) }
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
