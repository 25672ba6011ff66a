public import AttributeModel
public import LinuxSystem

/// Where attributes are kept: the contract of every engine.
///
/// A store knows *objects* by their ``ObjectKey``, the *entries* (names) under which they were last
/// seen, and their *attributes*. What each verb promises:
///
/// - **Atomic.** A verb happens as a whole or, when it throws, not at all.
/// - **Kept.** When a change returns it outlives the death of this process. After the next
///   ``sync()`` it also outlives a power failure.
/// - **Seen at once.** What one thread changed, every thread reads next.
/// - **Nothing in silence.** A damaged or unreachable store throws `EIO`, a full one `ENOSPC`,
///   one over quota `EDQUOT`, a read-only one `EROFS`; never an empty answer in place of an error.
///
/// The store has no rules about names or sizes: those are `AttributeModel`'s, and whoever calls has
/// applied them, together with the conditions create and replace, under a lock of the object. Two
/// threads never change the same object at once; different objects, at any time.
public protocol AttributeStore: AnyObject, Sendable {
  /// Everything kept of an object, or nil when nothing is.
  func record(of object: ObjectKey) throws(Errno) -> ObjectRecord?

  /// Keeps `value` under `name`, in place of an older one, and `changed` as the object's ctime.
  ///
  /// `lineage` names an object that is not yet known: its entries from the source's root down, so
  /// that it can be found again after a restore. What is known of its ancestors stays. An empty
  /// lineage (a nameless file) records no entry, and the object starts as an orphan, so that a
  /// crash leaves nothing that cannot be collected. A known object needs none and it is not read.
  func set(
    _ name: AttributeName, to value: [UInt8], of object: ObjectKey, type: FileType,
    changed: Timestamp, lineage: [LineageStep]) throws(Errno)

  /// Removes one attribute and keeps `changed` as the object's ctime; the record stays, because
  /// the time has to. Nothing happens when the object or the name is not there.
  func remove(_ name: AttributeName, of object: ObjectKey, changed: Timestamp) throws(Errno)

  /// A known object has one more name; it is no orphan (any more). Nothing happens when the object
  /// is not known. Whatever stood under that entry before stands there no longer.
  func link(_ object: ObjectKey, at lineage: [LineageStep]) throws(Errno)

  /// A known object has lost a name. With `isLast` it becomes an orphan, whatever other entries it
  /// had are gone too: dead once nobody has it open. Nothing happens when the object is not known,
  /// and an entry stays under which another object stands by now.
  func unlink(_ object: ObjectKey, _ entry: Entry, isLast: Bool) throws(Errno)

  /// The object under `entry` is now found at the end of `lineage`; what was there before is not.
  /// Nothing happens when the object is not known.
  func move(_ object: ObjectKey, from entry: Entry, to lineage: [LineageStep]) throws(Errno)

  /// The object is no more, nor anything kept of it. Nothing happens when it is not known.
  func discard(_ object: ObjectKey) throws(Errno)

  /// Sets aside what is kept under a key that now means another object: never shown as that
  /// object's, never destroyed. Nothing happens when the object is not known.
  func quarantine(_ object: ObjectKey, because reason: QuarantineReason) throws(Errno)

  /// Everything changed so far outlives a power failure when this returns (as fsync(2) promises).
  func sync() throws(Errno)

  /// The objects whose last name is gone. After a mount that died they may be gone as well.
  func orphans() throws(Errno) -> [ObjectKey]

  /// How many objects, attributes, orphans and quarantined records there are.
  func counts() throws(Errno) -> StoreCounts
}

/// A file system as the store knows it: what an object's number is unique in.
public struct VolumeKey: Hashable, Sendable {
  /// What identifies the file system: its UUID, or the best that `statfs` and the kernel offer.
  public let bytes: [UInt8]
  /// How its objects are known again.
  public let kind: IdentityKind
  /// A volume.
  public init(bytes: [UInt8], kind: IdentityKind) {
    self.bytes = bytes
    self.kind = kind
  }
}

/// How an object is known again, across renames and remounts.
public enum IdentityKind: String, Hashable, Sendable, CaseIterable {
  /// By its file handle: inode number and generation (name_to_handle_at(2)).
  case handle
  /// By its inode number and, where there is one, its birth time.
  case inode
  /// By its names alone; an ``EntryStore`` is needed.
  case path
}

/// An object as the store knows it.
public struct ObjectKey: Hashable, Sendable {
  /// The file system that it is on.
  public let volume: VolumeKey
  /// What distinguishes it there; its form is the identity kind's affair.
  public let bytes: [UInt8]
  /// An object of a volume.
  public init(volume: VolumeKey, bytes: [UInt8]) {
    self.volume = volume
    self.bytes = bytes
  }

  /// From its own bytes alone, eight at a time: there are few volumes, and it is asked for at every change.
  public func hash(into hasher: inout Hasher) {
    var word: UInt64 = 0
    for (index, byte) in bytes.enumerated() {
      word = word << 8 | UInt64(byte)
      if index & 7 == 7 { hasher.combine(word) }
    }
    hasher.combine(word)
    hasher.combine(bytes.count)
  }
}

/// One name of an object: a directory and the name in it.
public struct Entry: Hashable, Sendable {
  /// The directory.
  public let parent: ObjectKey
  /// The name's bytes, without a NUL.
  public let name: [UInt8]
  /// A name in a directory.
  public init(parent: ObjectKey, name: [UInt8]) {
    self.parent = parent
    self.name = name
  }
}

/// A step on the way from the source's root down to an object: the object there, and its name in
/// the step before. The first step is the root, whose name is empty.
public struct LineageStep: Hashable, Sendable {
  /// The object at this step.
  public let object: ObjectKey
  /// Its name in the directory of the step before.
  public let name: [UInt8]
  /// Its type.
  public let type: FileType
  /// A step.
  public init(object: ObjectKey, name: [UInt8], type: FileType) {
    self.object = object
    self.name = name
    self.type = type
  }
}

/// What is kept of one object.
public struct ObjectRecord: Hashable, Sendable {
  /// What the object was when the record was made.
  public var type: FileType
  /// When an attribute last changed, if one ever did.
  public var changed: Timestamp?
  /// It has no name: the last one is gone, or there never was one.
  public var isOrphan: Bool
  /// An entry leads to it. One that is no orphan and has none is to be told a name: ``AttributeStore/link(_:at:)``.
  public var isNamed: Bool
  /// Its attributes.
  public var attributes: [AttributeName: [UInt8]]
  /// A record.
  public init(
    type: FileType, changed: Timestamp?, isOrphan: Bool, isNamed: Bool = true,
    attributes: [AttributeName: [UInt8]]
  ) {
    self.type = type
    self.changed = changed
    self.isOrphan = isOrphan
    self.isNamed = isNamed
    self.attributes = attributes
  }
}

/// Why a record was set aside.
public enum QuarantineReason: String, Hashable, Sendable, CaseIterable {
  /// A new object came to life under the same key.
  case reusedKey = "reused key"
  /// The object under the key is of another type.
  case otherType = "other type"
  /// A change of names was cut off, and what is there does not tell whether it was made.
  case undecided = "undecided change of names"
  /// No object has the key any more.
  case gone = "gone"
  /// A value is not what was kept, by its checksum.
  case damagedValue = "damaged value"
  /// Whose attributes they are cannot be told: the part of the store that said so was damaged.
  case damagedRecord = "damaged record"
  /// Attributes were found that belong to no object.
  case noObject = "no object"
}

/// How much a store holds.
public struct StoreCounts: Hashable, Sendable {
  /// Objects with a record, quarantined ones not counted.
  public var objects: Int
  /// Attributes of those objects.
  public var attributes: Int
  /// Objects whose last name is gone.
  public var orphans: Int
  /// Records that were set aside.
  public var quarantined: Int
  /// Counts.
  public init(objects: Int, attributes: Int, orphans: Int, quarantined: Int) {
    self.objects = objects
    self.attributes = attributes
    self.orphans = orphans
    self.quarantined = quarantined
  }
}
