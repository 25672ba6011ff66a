public import LinuxSystem

/// The attributes of one object.
///
/// A change is made in three steps, so that what is in memory is never ahead of what is stored:
///
///     try set.admit(name, value, condition)   // may it be?
///     try store.set(name, to: value, ...)     // is it kept?
///     set[name] = value                       // then it is
///
/// There can be a set for each object that the kernel remembers, so names and values are packed into
/// one run of bytes: twenty allocations for ten attributes take four times their size. Its layout is
/// that of `PackedAttributes`. Long values stay outside, where a change of another does not copy them.
public struct AttributeSet: Hashable, Sendable {
  private var packed = PackedAttributes()
  /// The values that are too long to be packed, in the order of their names.
  private var long: [[UInt8]] = []

  /// Values of more bytes stay outside.
  package static let packedLimit = 1024

  /// No attributes.
  public init() {}

  /// Attributes as a store keeps them.
  public init(_ attributes: [AttributeName: [UInt8]]) {
    let sorted = attributes.sorted { $0.key < $1.key }
    packed = PackedAttributes(sorted.map { ($0.key.bytes, Self.packable($0.value)) })
    long = sorted.map(\.value).filter { $0.count > Self.packedLimit }
  }

  private static func packable(_ value: [UInt8]) -> [UInt8]? {
    value.count > packedLimit ? nil : value
  }

  /// There are none.
  public var isEmpty: Bool { packed.count == 0 }
  /// How many there are.
  public var count: Int { packed.count }
  /// The names, in the order of their bytes.
  public var names: [AttributeName] {
    nameList(includingTrusted: true).split(separator: 0).compactMap { try? AttributeName($0) }
  }

  /// How many bytes of memory they take, with what an allocation adds.
  public var memory: Int {
    isEmpty ? 0 : long.reduce(packed.memory) { $0 + PackedAttributes.memory(of: $1.count) }
  }

  /// The value under a name, or nil: a part of the memory that they are in.
  public func find(_ name: AttributeName) -> ArraySlice<UInt8>? {
    guard let found = packed.find(name.bytes) else { return nil }
    return found.isLong ? long[found.long][...] : packed.value(found)
  }

  /// The value under a name, or nil; unconditional, also when it is changed.
  public subscript(name: AttributeName) -> [UInt8]? {
    get { find(name).map { Array($0) } }
    set {
      let place = packed.place(of: name.bytes)
      if place.isFound && place.isLong { long.remove(at: place.long) }
      if let newValue {
        let packable = Self.packable(newValue)
        if packable == nil { long.insert(newValue, at: place.long) }
        packed.put(name.bytes, packable, at: place)
      } else if place.isFound {
        packed.remove(name.bytes, at: place)
      }
    }
  }

  /// The value under a name.
  ///
  /// - Throws: `ENODATA` when there is none; what ``AttributeRules/check(_:)`` throws.
  public func value(
    of name: AttributeName, rules: AttributeRules = .linux
  ) throws(Errno) -> ArraySlice<UInt8> {
    try rules.check(name)
    guard let value = find(name) else { throw .noAttribute }
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
    if packed.find(name.bytes) != nil {
      if condition.contains(.create) { throw .exists }
    } else {
      if condition.contains(.replace) { throw .noAttribute }
      let room = rules.maximumListSize - packed.namesSize
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
    guard packed.find(name.bytes) != nil else { throw .noAttribute }
  }

  /// Some are for callers with `CAP_SYS_ADMIN` alone.
  public var hasTrusted: Bool { !packed.names(startingWith: Self.trusted).isEmpty }

  /// The names as listxattr(2) hands them out, a NUL after each; in the order of their bytes,
  /// although no file system promises any. `trusted.*` is for callers with `CAP_SYS_ADMIN` alone.
  public func nameList(includingTrusted: Bool) -> ArraySlice<UInt8> {
    let all = packed.names
    if includingTrusted { return all }
    let hidden = packed.names(startingWith: Self.trusted)
    return hidden.isEmpty ? all : all[..<hidden.startIndex] + all[hidden.endIndex...]
  }

  private static let trusted = Array("trusted.".utf8)
}
