public import AttributeModel
public import LinuxSystem

/// A change of one attribute, as it can wait to be made: what ``AttributeStore/set(_:to:of:type:changed:lineage:)``
/// and ``AttributeStore/remove(_:of:changed:)`` are told.
public struct AttributeChange: Hashable, Sendable {
  /// The object that has the attribute.
  public let object: ObjectKey
  /// The attribute's name.
  public let name: AttributeName
  /// What it is set to; nil when it is removed.
  public let value: [UInt8]?
  /// The object's type; of no meaning for a removal.
  public let type: FileType
  /// The object's ctime from then on.
  public let changed: Timestamp
  /// The way to an object that is not known; empty for a removal.
  public let lineage: [LineageStep]

  /// A value that is kept.
  public init(
    _ name: AttributeName, to value: [UInt8], of object: ObjectKey, type: FileType,
    changed: Timestamp, lineage: [LineageStep]
  ) {
    (self.name, self.value, self.object) = (name, value, object)
    (self.type, self.changed, self.lineage) = (type, changed, lineage)
  }

  /// An attribute that goes.
  public init(removing name: AttributeName, of object: ObjectKey, changed: Timestamp) {
    (self.name, self.object, self.changed) = (name, object, changed)
    (value, type, lineage) = (nil, .regular, [])
  }

  /// Makes the change.
  func make(in store: some AttributeStore) throws(Errno) {
    guard let value else { return try store.remove(name, of: object, changed: changed) }
    try store.set(name, to: value, of: object, type: type, changed: changed, lineage: lineage)
  }
}

/// A change and its number.
public struct NumberedChange: Hashable, Sendable {
  /// One more than that of the change before.
  public let number: Int64
  /// What is changed.
  public let change: AttributeChange

  /// A change with a number.
  public init(_ number: Int64, _ change: AttributeChange) {
    self.number = number
    self.change = change
  }
}

/// A store that makes many changes at once and remembers, with them, how far it has come: what a
/// ``JournaledStore`` needs below it.
public protocol NumberedStore: EntryStore {
  /// How many bytes of changes there is room for whatever becomes of the disk: more are not to be
  /// promised at a time.
  var roomForPromises: Int { get }

  /// The number up to which changes were applied; 0 when none ever was.
  func applied() throws(Errno) -> Int64

  /// Makes changes in order, all or none, and keeps `number` as that of the last one. Those whose
  /// numbers are not above what was applied already are left out.
  ///
  /// Those that were promised before a full disk keeps out only when nothing can be given up for them.
  func apply(
    _ changes: [NumberedChange], upTo number: Int64, isPromised: Bool
  ) throws(Errno)
}

extension AttributeChange {
  /// As bytes; numbers have their high byte first.
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(160 + (value?.count ?? 0) + 64 * lineage.count)
    var volumes: [VolumeKey] = []
    bytes.append(value == nil ? 0 : 1)
    bytes.append(number: UInt32(type.bits))
    bytes.append(number: UInt64(bitPattern: changed.seconds))
    bytes.append(number: UInt64(bitPattern: changed.nanoseconds))
    bytes.append(object, &volumes)
    bytes.append(counted: name.bytes)
    bytes.append(counted: value ?? [])
    bytes.append(number: UInt32(clamping: lineage.count))
    for step in lineage {
      bytes.append(step.object, &volumes)
      bytes.append(counted: step.name)
      bytes.append(number: UInt32(step.type.bits))
    }
    return bytes
  }

  /// From bytes; nil when they are not those of a change.
  init?(decoding bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    var volumes: [VolumeKey] = []
    guard let kind = reader.byte(), kind <= 1, let type = reader.number(UInt32.self),
      let seconds = reader.number(UInt64.self), let nanoseconds = reader.number(UInt64.self),
      let object = reader.object(&volumes), let nameBytes = reader.counted(),
      let name = try? AttributeName(nameBytes), let value = reader.counted(),
      let count = reader.number(UInt32.self), Int(count) <= bytes.count
    else { return nil }
    var lineage: [LineageStep] = []
    for _ in 0..<count {
      guard let step = reader.object(&volumes), let name = reader.counted(),
        let type = reader.number(UInt32.self)
      else { return nil }
      lineage.append(LineageStep(object: step, name: name, type: FileType(mode: type)))
    }
    guard reader.isAtEnd else { return nil }
    let changed = Timestamp(
      seconds: Int64(bitPattern: seconds), nanoseconds: Int64(bitPattern: nanoseconds))
    if kind == 0 {
      self.init(removing: name, of: object, changed: changed)
    } else {
      self.init(
        name, to: value, of: object, type: FileType(mode: type), changed: changed, lineage: lineage)
    }
  }
}

extension [UInt8] {
  /// A number, the high byte first.
  mutating func append(number: some FixedWidthInteger & UnsignedInteger) {
    var shift = number.bitWidth
    while shift > 0 {
      shift -= 8
      append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }

  fileprivate mutating func append(counted bytes: [UInt8]) {
    append(number: UInt32(clamping: bytes.count))
    append(contentsOf: bytes)
  }

  /// An object; its volume only where it has not been told before.
  fileprivate mutating func append(_ object: ObjectKey, _ volumes: inout [VolumeKey]) {
    let known = volumes.firstIndex(of: object.volume)
    append(UInt8(clamping: known ?? volumes.count))
    if known == nil {
      append(counted: Array(object.volume.kind.rawValue.utf8))
      append(counted: object.volume.bytes)
      volumes.append(object.volume)
    }
    append(counted: object.bytes)
  }
}

/// Takes bytes apart; everything is nil that goes beyond their end.
struct ByteReader {
  private let bytes: [UInt8]
  private var position: Int

  init(_ bytes: [UInt8], at position: Int = 0) {
    self.bytes = bytes
    self.position = position
  }

  var isAtEnd: Bool { position == bytes.count }

  mutating func byte() -> UInt8? { number(UInt8.self) }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
    guard let range = take(Number.bitWidth / 8) else { return nil }
    var result: Number = 0
    for index in range { result = result << 8 | Number(truncatingIfNeeded: bytes[index]) }
    return result
  }

  mutating func counted() -> [UInt8]? {
    guard let count = number(UInt32.self), let range = take(Int(count)) else { return nil }
    return Array(bytes[range])
  }

  mutating func object(_ volumes: inout [VolumeKey]) -> ObjectKey? {
    guard let index = byte(), Int(index) <= volumes.count else { return nil }
    if Int(index) == volumes.count {
      guard let kind = counted(),
        let identity = IdentityKind(rawValue: String(decoding: kind, as: UTF8.self)),
        let key = counted()
      else { return nil }
      volumes.append(VolumeKey(bytes: key, kind: identity))
    }
    guard let key = counted() else { return nil }
    return ObjectKey(volume: volumes[Int(index)], bytes: key)
  }

  private mutating func take(_ count: Int) -> Range<Int>? {
    guard count >= 0, bytes.count - position >= count else { return nil }
    defer { position += count }
    return position..<position + count
  }
}
