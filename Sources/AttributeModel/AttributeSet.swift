public import LinuxSystem

/// The attributes of one object.
///
/// A change is made in three steps, so that what is in memory is never ahead of what is stored:
///
///     try set.admit(name, value, condition)   // may it be?
///     try store.set(name, to: value, ...)     // is it kept?
///     set[name] = value                       // then it is
public struct AttributeSet: Hashable, Sendable {
  private struct Attribute: Hashable, Sendable {
    let name: AttributeName
    var value: [UInt8]
  }

  /// In the order of their names, which is the order of a list.
  private var attributes: [Attribute] = []
  private var size = 0
  private var trustedSize = 0

  /// No attributes.
  public init() {}

  /// Attributes as a store keeps them.
  public init(_ attributes: [AttributeName: [UInt8]]) {
    for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
      count(name, +1)
      self.attributes.append(Attribute(name: name, value: value))
    }
  }

  /// There are none.
  public var isEmpty: Bool { attributes.isEmpty }
  /// How many there are.
  public var count: Int { attributes.count }
  /// The names, in the order of their bytes.
  public var names: [AttributeName] { attributes.map(\.name) }

  /// The value under a name, or nil; unconditional, also when it is changed.
  public subscript(name: AttributeName) -> [UInt8]? {
    get {
      let (index, isFound) = position(of: name)
      return isFound ? attributes[index].value : nil
    }
    set {
      let (index, isFound) = position(of: name)
      switch (newValue, isFound) {
      case (let value?, true): attributes[index].value = value
      case (let value?, false):
        attributes.insert(Attribute(name: name, value: value), at: index)
        count(name, +1)
      case (nil, true):
        attributes.remove(at: index)
        count(name, -1)
      case (nil, false): break
      }
    }
  }

  /// The value under a name.
  ///
  /// - Throws: `ENODATA` when there is none; what ``AttributeRules/check(_:)`` throws.
  public func value(
    of name: AttributeName, rules: AttributeRules = .linux
  ) throws(Errno) -> [UInt8] {
    try rules.check(name)
    guard let value = self[name] else { throw .noAttribute }
    return value
  }

  /// Whether `value` may be set under `name`.
  ///
  /// - Throws: what ``AttributeRules/check(_:)`` throws; `E2BIG` when the value is too long;
  ///   `EEXIST` and `ENODATA` as the condition has it; `ENOSPC` when the list of names would become
  ///   longer than anybody could read.
  public func admit(
    _ name: AttributeName, _ value: some Collection<UInt8>, _ condition: SetCondition = .any,
    rules: AttributeRules = .linux
  ) throws(Errno) {
    try rules.check(name)
    guard value.count <= rules.maximumValueSize else { throw .tooBig }
    if position(of: name).isFound {
      if condition.contains(.create) { throw .exists }
    } else {
      if condition.contains(.replace) { throw .noAttribute }
      let room = rules.maximumListSize - size
      guard name.bytes.count + 1 <= room else { throw .noSpace }
    }
  }

  /// Whether the attribute `name` may be removed.
  ///
  /// - Throws: `ENODATA` when it is not there; what ``AttributeRules/check(_:)`` throws.
  public func admitRemoval(
    of name: AttributeName, rules: AttributeRules = .linux
  ) throws(Errno) {
    try rules.check(name)
    guard position(of: name).isFound else { throw .noAttribute }
  }

  /// How many bytes ``nameList(includingTrusted:)`` has.
  public func listSize(includingTrusted: Bool) -> Int {
    includingTrusted ? size : size - trustedSize
  }

  /// The names as listxattr(2) hands them out, a NUL after each; in the order of their bytes,
  /// although no file system promises any. `trusted.*` is for callers with `CAP_SYS_ADMIN` alone.
  public func nameList(includingTrusted: Bool) -> [UInt8] {
    var list: [UInt8] = []
    list.reserveCapacity(listSize(includingTrusted: includingTrusted))
    for attribute in attributes where includingTrusted || attribute.name.namespace != .trusted {
      list += attribute.name.bytes
      list.append(0)
    }
    return list
  }

  /// Where a name is, or where it would have to go.
  private func position(of name: AttributeName) -> (index: Int, isFound: Bool) {
    var low = 0
    var high = attributes.count
    while low < high {
      let middle = (low + high) / 2
      if attributes[middle].name < name { low = middle + 1 } else { high = middle }
    }
    return (low, low < attributes.count && attributes[low].name == name)
  }

  private mutating func count(_ name: AttributeName, _ sign: Int) {
    let bytes = (name.bytes.count + 1) * sign
    size += bytes
    if name.namespace == .trusted { trustedSize += bytes }
  }
}
