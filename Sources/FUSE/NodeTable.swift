public import LinuxSystem

/// The nodes that the kernel knows, each once, by a key of the file system's choice.
///
/// Shards keep lookups of different objects from meeting at one lock. A node's key can change, so
/// who starts from a node first takes a lock that is chosen by its address: behind it the key stays.
/// Order of locks: an address's, then a shard's (two of them in their own order). They are held for
/// an access only, and no other lock is taken under them.
///
/// Inlinable, so that it is compiled for the file system's nodes and keys.
public final class NodeTable<Element: KeyedNode>: Sendable {
  /// What nodes are found by.
  public typealias Key = Element.Key

  @usableFromInline let shards: [Lock<NodeSlots<Element>>]
  @usableFromInline let addresses: [Lock<UInt8>]

  /// An empty table.
  public init() {
    shards = (0..<64).map { _ in Lock(NodeSlots()) }
    // With a value, though of no meaning: one of no size would have the address of the lock's own
    // header, where Thread Sanitizer takes it for a race with everybody who finds the lock.
    addresses = (0..<64).map { _ in Lock(0) }
  }

  @inlinable func shard(_ hash: UInt) -> Int { Int(hash % 64) }

  @inlinable func hash(_ key: Key) -> UInt { UInt(bitPattern: key.hashValue) }

  @inlinable func address(_ node: Element) -> Lock<UInt8> {
    // Objects begin at multiples of 16.
    addresses[Int((node.id >> 4) % 64)]
  }

  /// The node of that key, if the kernel knows it. Its lookup count stays.
  @inlinable public func find(_ key: Key) -> Element? {
    let hash = hash(key)
    return shards[shard(hash)].withLock { $0.find(key, hash) }
  }

  /// Whether the kernel knows the node.
  @inlinable public func contains(_ node: Element) -> Bool {
    address(node).withLock { _ in
      let key = node.tableKey
      let hash = hash(key)
      return shards[shard(hash)].withLock { $0.find(key, hash) === node }
    }
  }

  /// The node of that key, with one lookup more, if the kernel knows it.
  @inlinable public func retain(_ key: Key) -> Element? {
    let hash = hash(key)
    return shards[shard(hash)].withLock { nodes in
      guard let node = nodes.find(key, hash) else { return nil }
      node.lookups += 1
      return node
    }
  }

  /// One lookup more for a node; false if it is not in the table.
  @inlinable public func retain(_ node: Element) -> Bool {
    address(node).withLock { _ in
      let key = node.tableKey
      let hash = hash(key)
      return shards[shard(hash)].withLock { nodes in
        guard nodes.find(key, hash) === node else { return false }
        node.lookups += 1
        return true
      }
    }
  }

  /// Enters a node under its key, or finds that another thread was faster; one lookup more for
  /// whichever it is.
  @inlinable public func retain(orInsert candidate: Element) -> Element {
    address(candidate).withLock { _ in
      let key = candidate.tableKey
      let hash = hash(key)
      return shards[shard(hash)].withLock { nodes in
        if let node = nodes.find(key, hash) {
          node.lookups += 1
          return node
        }
        candidate.lookups += 1
        nodes.insert(candidate, hash)
        return candidate
      }
    }
  }

  /// Takes lookups from a node; true when none is left and the node has left the table.
  @inlinable public func release(_ node: Element, lookups: UInt64) -> Bool {
    address(node).withLock { _ in
      let hash = hash(node.tableKey)
      return shards[shard(hash)].withLock { nodes in
        node.lookups = node.lookups > lookups ? node.lookups - lookups : 0
        return node.lookups == 0 && nodes.remove(node, hash)
      }
    }
  }

  /// Gives a node another key, whether it is in the table or not.
  ///
  /// Returns the node that has that key already, if one has: then nothing is changed.
  @inlinable public func rekey(_ node: Element, to key: Key) -> Element? {
    address(node).withLock { _ in
      let old = node.tableKey
      if old == key { return nil }
      let (oldHash, newHash) = (hash(old), hash(key))
      let (from, to) = (shard(oldHash), shard(newHash))
      if from == to {
        return shards[from].withLock { nodes in
          if let other = nodes.find(key, newHash) { return other }
          let isThere = nodes.remove(node, oldHash)
          node.tableKey = key
          if isThere { nodes.insert(node, newHash) }
          return nil
        }
      }
      return shards[min(from, to)].withLock { first in
        shards[max(from, to)].withLock { second in
          from < to
            ? Self.move(node, from: &first, oldHash, to: &second, newHash, as: key)
            : Self.move(node, from: &second, oldHash, to: &first, newHash, as: key)
        }
      }
    }
  }

  @inlinable static func move(
    _ node: Element, from nodes: inout NodeSlots<Element>, _ oldHash: UInt,
    to others: inout NodeSlots<Element>, _ newHash: UInt, as key: Key
  ) -> Element? {
    if let other = others.find(key, newHash) { return other }
    let isThere = nodes.remove(node, oldHash)
    node.tableKey = key
    if isThere { others.insert(node, newHash) }
    return nil
  }

  /// Empties the table, after an unmount: the kernel sends no FORGET for what it then knows.
  public func drain() -> [Element] { shards.flatMap { shard in shard.withLock { $0.removeAll() } } }

  /// How many nodes the kernel knows.
  public var count: Int { shards.reduce(0) { $0 + $1.withLock { $0.count } } }
}
