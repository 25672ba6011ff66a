public import LinuxSystem

/// A store in which objects can be found by name: what a file system needs whose inode numbers mean
/// nothing, so that the name alone says which object it is.
///
/// In addition to what every ``AttributeStore`` promises:
///
/// - **One object an entry.** An entry leads to one known object at most; one that was set aside is
///   not led to.
/// - **A change of names is announced.** Who moves or removes a name in the source says so first
///   (``intend(_:)``), and afterwards whether it happened: ``settle(_:)`` or ``withdraw(_:)``. When
///   this process dies in between, the next one finds what was announced, and looks.
/// - **Directories are kept by themselves.** What stands in a directory refers to the directory, so
///   moving it is one change, however much is in it.
///
/// An intent lives as long as everything that it names: discarding or setting aside an object takes
/// back the intents in which it occurs.
public protocol EntryStore: AttributeStore {
  /// The object that was last seen under an entry, or nil when none is known.
  func object(at entry: Entry) throws(Errno) -> ObjectKey?

  /// Makes an object known that need not have attributes, or gives a known one a further name: it
  /// is found at the end of `lineage` from now on, and is no orphan. Whatever stood there before
  /// stands there no longer.
  func enter(_ object: ObjectKey, type: FileType, at lineage: [LineageStep]) throws(Errno)

  /// Something else than what is known stands under an entry now. An object that has other names
  /// only loses this one; one that has not is set aside. Nothing happens when none is known there.
  func vacate(_ entry: Entry, because reason: QuarantineReason) throws(Errno)

  /// Announces a change of names, and makes the directories known that it names. Objects that
  /// are named and not known are taken for nil.
  ///
  /// With `isDurable` it is on the disk when this returns, with all changes before it: for a source
  /// that may keep the change itself when the power fails.
  func intend(_ intent: Intent, isDurable: Bool) throws(Errno) -> IntentID

  /// What was announced has happened: the entries are as it says, and it is no longer pending.
  ///
  /// True when an object has lost its last name by that: it is an orphan now. Nothing happens when
  /// the intent is not known.
  func settle(_ intent: IntentID) throws(Errno) -> Bool

  /// What was announced has not happened, and is no longer pending.
  func withdraw(_ intent: IntentID) throws(Errno)

  /// Everything that was announced and neither settled nor withdrawn, in the order of announcing,
  /// each with the names that lead to its places by now.
  func intents() throws(Errno) -> [PendingIntent]
}

extension EntryStore {
  /// Announces a change of names that a power failure undoes if it undoes the announcement.
  public func intend(_ intent: Intent) throws(Errno) -> IntentID {
    try intend(intent, isDurable: false)
  }
}

/// A change of names that is about to be made in a source.
public struct Intent: Hashable, Sendable {
  /// What is to be done.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The object goes from its place to the new one, in place of another if one is there.
    case rename
    /// The object and the other change places.
    case exchange
    /// The object's name goes away.
    case remove
    /// The object gets one more name, at the new place, where nothing is.
    case link
  }

  /// What is to be done.
  public var kind: Kind
  /// The object at the place; nil when the store does not know it.
  public var object: ObjectKey?
  /// Where it is.
  public var place: Place
  /// The object at the new place; nil when the store knows none there.
  public var other: ObjectKey?
  /// Where it goes; nil for a removal.
  public var newPlace: Place?
  /// What the object at the place looks like, to know it by.
  public var fingerprint: Fingerprint

  /// An intent.
  public init(
    _ kind: Kind, _ object: ObjectKey?, at place: Place, other: ObjectKey? = nil,
    to newPlace: Place? = nil, fingerprint: Fingerprint
  ) {
    self.kind = kind
    self.object = object
    self.place = place
    self.other = other
    self.newPlace = newPlace
    self.fingerprint = fingerprint
  }
}

/// A name in a directory, and the way there.
public struct Place: Hashable, Sendable {
  /// From the source's root to the directory; never empty.
  public let directory: [LineageStep]
  /// The name's bytes.
  public let name: [UInt8]

  /// A name in the directory at the end of a way.
  public init(directory: [LineageStep], name: [UInt8]) {
    self.directory = directory
    self.name = name
  }

  /// The place as an entry; nil without a directory.
  public var entry: Entry? {
    directory.last.map { Entry(parent: $0.object, name: name) }
  }
}

/// What an object looks like from outside, and keeps when it is moved.
public struct Fingerprint: Hashable, Sendable {
  /// Its type.
  public var type: FileType
  /// Its length in bytes.
  public var size: Int64
  /// When its data last changed.
  public var modified: Timestamp

  /// What an object looks like.
  public init(type: FileType, size: Int64, modified: Timestamp) {
    self.type = type
    self.size = size
    self.modified = modified
  }
}

/// What the store calls an intent.
public struct IntentID: Hashable, Sendable {
  /// A number that no other pending intent of the store has.
  public let number: Int64
  /// A number that the store gave.
  public init(_ number: Int64) { self.number = number }
}

/// An intent of which nobody has said what became of it.
public struct PendingIntent: Hashable, Sendable {
  /// What the store calls it.
  public let id: IntentID
  /// What was announced.
  public let intent: Intent
  /// An intent.
  public init(_ id: IntentID, _ intent: Intent) {
    self.id = id
    self.intent = intent
  }
}
