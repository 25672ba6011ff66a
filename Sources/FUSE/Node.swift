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

/// A node that can be in a ``NodeTable``.
public protocol KeyedNode: Node {
  /// What nodes are found by.
  associatedtype Key: Hashable & Sendable

  /// Under which key it is in the table, or would be. Only the table may touch it.
  var tableKey: Key { get set }
}

/// The nodes that the kernel knows, each once, by a key of the file system's choice.
///
/// Shards keep lookups of different objects from meeting at one lock. A node's key can change, so
/// who starts from a node first takes a lock that is chosen by its address: behind it the key stays.
/// Order of locks: an address's, then a shard's (two of them in their own order). They are held for
/// a dictionary access only, and no other lock is taken under them.
public final class NodeTable<Element: KeyedNode>: Sendable {
  /// What nodes are found by.
  public typealias Key = Element.Key

  private let shards: [Lock<[Key: Element]>]
  private let addresses: [Lock<UInt8>]

  /// An empty table.
  public init() {
    shards = (0..<64).map { _ in Lock([:]) }
    // With a value, though of no meaning: one of no size would have the address of the lock's own
    // header, where Thread Sanitizer takes it for a race with everybody who finds the lock.
    addresses = (0..<64).map { _ in Lock(0) }
  }

  private func index(_ key: Key) -> Int {
    Int(UInt(bitPattern: key.hashValue) % UInt(shards.count))
  }

  private func address(_ node: Element) -> Lock<UInt8> {
    // Objects begin at multiples of 16.
    addresses[Int((node.id >> 4) % UInt64(addresses.count))]
  }

  /// The node of that key, if the kernel knows it. Its lookup count stays.
  public func find(_ key: Key) -> Element? {
    shards[index(key)].withLock { $0[key] }
  }

  /// Whether the kernel knows the node.
  public func contains(_ node: Element) -> Bool {
    address(node).withLock { _ in
      shards[index(node.tableKey)].withLock { $0[node.tableKey] === node }
    }
  }

  /// The node of that key, with one lookup more, if the kernel knows it.
  public func retain(_ key: Key) -> Element? {
    shards[index(key)].withLock { nodes in
      guard let node = nodes[key] else { return nil }
      node.lookups += 1
      return node
    }
  }

  /// Enters a node under its key, or finds that another thread was faster; one lookup more for
  /// whichever it is.
  public func retain(orInsert candidate: Element) -> Element {
    address(candidate).withLock { _ in
      let key = candidate.tableKey
      return shards[index(key)].withLock { nodes in
        let node = nodes[key] ?? candidate
        node.lookups += 1
        nodes[key] = node
        return node
      }
    }
  }

  /// Takes lookups from a node; true when none is left and the node has left the table.
  public func release(_ node: Element, lookups: UInt64) -> Bool {
    address(node).withLock { _ in
      let key = node.tableKey
      return shards[index(key)].withLock { nodes in
        node.lookups = node.lookups > lookups ? node.lookups - lookups : 0
        guard node.lookups == 0, nodes[key] === node else { return false }
        nodes[key] = nil
        return true
      }
    }
  }

  /// Gives a node another key, whether it is in the table or not.
  ///
  /// Returns the node that has that key already, if one has: then nothing is changed.
  public func rekey(_ node: Element, to key: Key) -> Element? {
    address(node).withLock { _ in
      let old = node.tableKey
      if old == key { return nil }
      let (from, to) = (index(old), index(key))
      if from == to {
        return shards[from].withLock { Self.move(node, from: old, to: key, in: &$0) }
      }
      return shards[min(from, to)].withLock { first in
        shards[max(from, to)].withLock { second in
          from < to
            ? Self.move(node, from: old, in: &first, to: key, in: &second)
            : Self.move(node, from: old, in: &second, to: key, in: &first)
        }
      }
    }
  }

  private static func move(
    _ node: Element, from old: Key, to key: Key, in nodes: inout [Key: Element]
  ) -> Element? {
    if let other = nodes[key] { return other }
    if nodes[old] === node {
      nodes[old] = nil
      nodes[key] = node
    }
    node.tableKey = key
    return nil
  }

  private static func move(
    _ node: Element, from old: Key, in nodes: inout [Key: Element], to key: Key,
    in others: inout [Key: Element]
  ) -> Element? {
    if let other = others[key] { return other }
    if nodes[old] === node {
      nodes[old] = nil
      others[key] = node
    }
    node.tableKey = key
    return nil
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
