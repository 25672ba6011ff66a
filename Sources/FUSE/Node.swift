import LinuxSystem

/// One object that the kernel knows: what a node id of the protocol stands for.
///
/// A file system makes a subclass of it. The kernel's name for a node is its address, so that a
/// request finds its node without a table; the ``NodeTable`` that the node is in keeps it alive for
/// as long as the kernel may send that name, which the *lookup count* tells: every reply with an
/// entry adds one, FORGET takes away.
open class Node: @unchecked Sendable {
  /// How often the kernel was given this node. Guarded by the lock of its shard in the table.
  fileprivate var lookups: UInt64 = 0

  /// A node that the kernel does not know yet.
  public init() {}

  /// What the kernel calls it.
  var id: UInt64 { UInt64(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())) }
}

/// The nodes that the kernel knows, each once, by a key of the file system's choice.
///
/// Shards keep lookups of different objects from meeting at one lock. The lock of a shard is held
/// for a dictionary access only, and no other lock is taken under it.
public final class NodeTable<Key: Hashable & Sendable, Element: Node>: Sendable {
  private let shards: [Lock<[Key: Element]>]

  /// An empty table.
  public init() { shards = (0..<64).map { _ in Lock([:]) } }

  private func shard(_ key: Key) -> Lock<[Key: Element]> {
    shards[Int(UInt(bitPattern: key.hashValue) % UInt(shards.count))]
  }

  /// The node of that key, if the kernel knows it. Its lookup count stays.
  public func find(_ key: Key) -> Element? {
    shard(key).withLock { $0[key] }
  }

  /// The node of that key, with one lookup more, if the kernel knows it.
  public func retain(_ key: Key) -> Element? {
    shard(key).withLock { nodes in
      guard let node = nodes[key] else { return nil }
      node.lookups += 1
      return node
    }
  }

  /// Enters a node, or finds that another thread was faster; one lookup more for whichever it is.
  public func retain(_ key: Key, orInsert candidate: Element) -> Element {
    shard(key).withLock { nodes in
      let node = nodes[key] ?? candidate
      node.lookups += 1
      nodes[key] = node
      return node
    }
  }

  /// Takes lookups from a node; true when none is left and the node has left the table.
  public func release(_ key: Key, _ node: Element, lookups: UInt64) -> Bool {
    shard(key).withLock { nodes in
      node.lookups = node.lookups > lookups ? node.lookups - lookups : 0
      guard node.lookups == 0, nodes[key] === node else { return false }
      nodes[key] = nil
      return true
    }
  }

  /// Empties the table, after an unmount: the kernel sends no FORGET for what it then knows.
  public func drain() -> [Element] {
    shards.flatMap { shard in
      shard.withLock { nodes in
        let all = Array(nodes.values)
        nodes = [:]
        return all
      }
    }
  }

  /// How many nodes the kernel knows.
  public var count: Int { shards.reduce(0) { $0 + $1.withLock { $0.count } } }
}

/// An open file or directory: what the file handle of the protocol stands for.
///
/// The binding keeps it alive from the reply to OPEN, CREATE or OPENDIR until RELEASE or RELEASEDIR.
open class Handle: @unchecked Sendable {
  /// A handle that the kernel does not know yet.
  public init() {}
}
