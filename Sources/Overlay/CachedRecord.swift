import AttributeModel
import LinuxSystem
import SidecarStore

/// What the store keeps of an object, while it is worked with.
struct InodeRecord {
  var attributes = AttributeSet()
  /// When one of them last changed.
  var changed: Timestamp?
  /// The store knows the object.
  var isStored = false
  /// The store knows a name of it, or shall not be told one.
  var isNamed = true
}

/// What is in memory of what the store keeps of an object. Of one that the store does not know that is
/// a flag; of one that it knows, attributes may be dropped and read again.
///
/// It belongs behind one lock: a copy would share what it refers to.
struct CachedRecord: Sendable {
  private var stored: Stored?
  /// The store was asked.
  private(set) var isKnown = false
  /// As ``InodeRecord/isNamed``.
  var isNamed = true

  /// Guarded by the lock of whoever has the record.
  private final class Stored: @unchecked Sendable {
    /// Nil when they were dropped.
    var attributes: AttributeSet?
    var changed: PackedTime

    init(_ attributes: AttributeSet, _ changed: PackedTime) {
      self.attributes = attributes
      self.changed = changed
    }
  }

  /// Nothing was asked yet.
  init() {}

  /// The store was asked.
  init(_ record: InodeRecord) { put(record) }

  var isStored: Bool { stored != nil }
  var changed: Timestamp? { stored?.changed.time }

  /// The attributes, if they are in memory.
  var attributes: AttributeSet? { isKnown && stored == nil ? AttributeSet() : stored?.attributes }

  /// The object has attributes, and they are not in memory.
  var isDropped: Bool { stored.map { $0.attributes == nil } ?? false }

  /// How many bytes the attributes take.
  var memory: Int { stored?.attributes?.memory ?? 0 }

  /// Drops the attributes from memory; how many bytes they took.
  mutating func drop() -> Int {
    defer { stored?.attributes = nil }
    return memory
  }

  /// Attributes that were dropped are back.
  mutating func restore(_ attributes: AttributeSet) { stored?.attributes = attributes }

  /// The store knows the object from now on, without attributes unless it did before.
  mutating func isStoredNow() {
    if isKnown, stored == nil { stored = Stored(AttributeSet(), PackedTime(nil)) }
  }

  /// Takes everything, to be changed and put back: so a change does not copy the whole set.
  mutating func take() -> InodeRecord {
    defer { stored?.attributes = nil }
    return InodeRecord(
      attributes: stored?.attributes ?? AttributeSet(), changed: changed, isStored: isStored,
      isNamed: isNamed)
  }

  mutating func put(_ record: InodeRecord) {
    isKnown = true
    isNamed = record.isNamed
    if !record.isStored {
      stored = nil
    } else if let stored {
      stored.attributes = record.attributes
      stored.changed = PackedTime(record.changed)
    } else {
      stored = Stored(record.attributes, PackedTime(record.changed))
    }
  }
}

/// A time in eight bytes: from 1970 to 2242, beyond which it is the end of that.
private struct PackedTime {
  /// A bit that there is one, 33 bits of seconds, 30 of nanoseconds.
  private let bits: UInt64

  init(_ time: Timestamp?) {
    guard let time else {
      bits = 0
      return
    }
    let seconds = UInt64(clamping: time.seconds)
    let nanoseconds = UInt64(clamping: time.nanoseconds)
    bits = 1 << 63 | min(seconds, 1 << 33 - 1) << 30 | min(nanoseconds, 999_999_999)
  }

  var time: Timestamp? {
    if bits == 0 { return nil }
    return Timestamp(
      seconds: Int64(bits >> 30 & (1 << 33 - 1)), nanoseconds: Int64(bits & (1 << 30 - 1)))
  }
}
