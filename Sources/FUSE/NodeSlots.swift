/// Nodes by their keys: an array of references and no more, because each node knows its key.
///
/// A node stands at the place that its key's hash says, or as near behind it as was free. The array
/// grows by half, so between half and three quarters of it are in use.
@usableFromInline struct NodeSlots<Element: KeyedNode>: Sendable {
  @usableFromInline var slots: [Element?] = []
  @usableFromInline var count = 0

  @usableFromInline init() {}

  /// Where a key of that hash belongs. By the high bits: the low ones have chosen the shard.
  @inlinable func home(_ hash: UInt) -> Int {
    Int(hash.multipliedFullWidth(by: UInt(slots.count)).high)
  }

  @inlinable func after(_ place: Int) -> Int { place + 1 == slots.count ? 0 : place + 1 }

  @inlinable func find(_ key: Element.Key, _ hash: UInt) -> Element? {
    if slots.isEmpty { return nil }
    var place = home(hash)
    // One is always free.
    while let node = slots[place] {
      if node.tableKey == key { return node }
      place = after(place)
    }
    return nil
  }

  /// Adds a node whose key none has.
  @inlinable mutating func insert(_ node: Element, _ hash: UInt) {
    if (count + 1) * 4 > slots.count * 3 { resize(max(8, slots.count + slots.count / 2)) }
    place(node, hash)
    count += 1
  }

  /// Takes a node out; false if it is not there.
  @inlinable mutating func remove(_ node: Element, _ hash: UInt) -> Bool {
    if slots.isEmpty { return false }
    var hole = home(hash)
    while let other = slots[hole], other !== node { hole = after(hole) }
    if slots[hole] == nil { return false }
    slots[hole] = nil
    count -= 1
    // Who stands behind its home without a gap between must still be found from there.
    var next = after(hole)
    while let other = slots[next] {
      let home = home(UInt(bitPattern: other.tableKey.hashValue))
      let isReached = hole < next ? home > hole && home <= next : home > hole || home <= next
      if !isReached {
        slots[hole] = other
        slots[next] = nil
        hole = next
      }
      next = after(next)
    }
    if slots.count > 64, count * 4 < slots.count { resize(slots.count / 2) }
    return true
  }

  @usableFromInline mutating func removeAll() -> [Element] {
    defer { self = NodeSlots() }
    return slots.compactMap { $0 }
  }

  @inlinable mutating func place(_ node: Element, _ hash: UInt) {
    var place = home(hash)
    while slots[place] != nil { place = after(place) }
    slots[place] = node
  }

  @inlinable mutating func resize(_ size: Int) {
    let all = slots
    slots = Array(repeating: nil, count: size)
    for case let node? in all { place(node, UInt(bitPattern: node.tableKey.hashValue)) }
  }
}
