public import AttributeModel
public import LinuxSystem

/// A store that is gone with the process: the reference that other engines are compared with, and
/// what tests use that are about something else.
public final class MemoryStore: NumberedStore {
  let contents = Lock(StoreContents())
  private let lastApplied = Lock<Int64>(0)

  /// An empty store.
  public init() {}

  /// Everything kept of an object.
  public func record(of object: ObjectKey) throws(Errno) -> ObjectRecord? {
    contents.withLock { contents in
      var record = contents.records[object]
      record?.isNamed = contents.entries.values.contains(object)
      return record
    }
  }

  /// Keeps an attribute, and makes the object known if it is not.
  public func set(
    _ name: AttributeName, to value: [UInt8], of object: ObjectKey, type: FileType,
    changed: Timestamp, lineage: [LineageStep]
  ) throws(Errno) {
    contents.withLock { contents in
      if contents.records[object] == nil {
        contents.add(object, type)
        contents.records[object]?.isOrphan = lineage.isEmpty
        contents.place(object, at: lineage)
      }
      contents.records[object]?.attributes[name] = value
      contents.records[object]?.changed = changed
    }
  }

  /// Removes an attribute; the record stays.
  public func remove(
    _ name: AttributeName, of object: ObjectKey, changed: Timestamp
  ) throws(Errno) {
    contents.withLock { contents in
      guard contents.records[object]?.attributes.removeValue(forKey: name) != nil else { return }
      contents.records[object]?.changed = changed
    }
  }

  /// Gives a known object one more name.
  public func link(_ object: ObjectKey, at lineage: [LineageStep]) throws(Errno) {
    contents.withLock { contents in
      guard contents.records[object] != nil else { return }
      contents.records[object]?.isOrphan = false
      contents.place(object, at: lineage)
    }
  }

  /// Takes a name from a known object.
  public func unlink(_ object: ObjectKey, _ entry: Entry, isLast: Bool) throws(Errno) {
    contents.withLock { contents in
      guard contents.records[object] != nil else { return }
      if isLast {
        contents.records[object]?.isOrphan = true
        contents.entries = contents.entries.filter { $0.value != object }
      } else if contents.entries[entry] == object {
        contents.entries[entry] = nil
      }
    }
  }

  /// Puts a known object under another name.
  public func move(
    _ object: ObjectKey, from entry: Entry, to lineage: [LineageStep]
  ) throws(Errno) {
    contents.withLock { contents in
      guard contents.records[object] != nil else { return }
      if contents.entries[entry] == object { contents.entries[entry] = nil }
      contents.place(object, at: lineage)
    }
  }

  /// Forgets an object.
  public func discard(_ object: ObjectKey) throws(Errno) {
    contents.withLock { $0.drop(object) }
  }

  /// Sets aside what is kept under a key.
  public func quarantine(_ object: ObjectKey, because reason: QuarantineReason) throws(Errno) {
    contents.withLock { contents in
      guard contents.records[object] != nil else { return }
      contents.drop(object)
      contents.quarantined[object, default: []].append(reason)
    }
  }

  /// Does nothing: nothing here outlives the process.
  public func sync() throws(Errno) {}

  /// As many as may be.
  public var roomForPromises: Int { .max }

  /// The number up to which changes were applied.
  public func applied() throws(Errno) -> Int64 { lastApplied.withLock { $0 } }

  /// Makes changes, one by one: none can fail.
  public func apply(
    _ changes: [NumberedChange], upTo number: Int64, isPromised: Bool
  ) throws(Errno) {
    try lastApplied.withLock { (last) throws(Errno) in
      for change in changes where change.number > last { try change.change.make(in: self) }
      last = max(last, number)
    }
  }

  /// The objects whose last name is gone.
  public func orphans() throws(Errno) -> [ObjectKey] {
    contents.withLock { $0.records.filter { $0.value.isOrphan }.map(\.key) }
  }

  /// How much there is.
  public func counts() throws(Errno) -> StoreCounts {
    contents.withLock { contents in
      StoreCounts(
        objects: contents.records.count,
        attributes: contents.records.values.reduce(0) { $0 + $1.attributes.count },
        orphans: contents.records.values.count { $0.isOrphan },
        quarantined: contents.quarantined.values.reduce(0) { $0 + $1.count })
    }
  }

  package func dump() -> StoreContents {
    contents.withLock { contents in
      var dump = contents
      dump.intents = contents.intents.mapValues { intent in
        // A directory's type is what is kept of it.
        var intent = intent.withoutWays
        intent.place = contents.typed(intent.place)
        intent.newPlace = intent.newPlace.map { contents.typed($0) }
        return intent
      }
      return dump
    }
  }
}

extension StoreContents {
  mutating func add(_ object: ObjectKey, _ type: FileType) {
    guard records[object] == nil else { return }
    records[object] = ObjectRecord(type: type, changed: nil, isOrphan: false, attributes: [:])
  }

  fileprivate func typed(_ place: Place) -> Place {
    Place(
      directory: place.directory.map {
        LineageStep(object: $0.object, name: $0.name, type: records[$0.object]?.type ?? $0.type)
      }, name: place.name)
  }

  /// Makes the ancestors known, each under its entry, and puts the object under the last one.
  mutating func place(_ object: ObjectKey, at lineage: [LineageStep]) {
    for (index, step) in lineage.enumerated() {
      let isLast = index == lineage.count - 1
      if !isLast { add(step.object, step.type) }
      guard index > 0 else { continue }
      let entry = Entry(parent: lineage[index - 1].object, name: step.name)
      entries[entry] = isLast ? object : step.object
    }
  }

  mutating func drop(_ object: ObjectKey) {
    records[object] = nil
    entries = entries.filter { $0.value != object && $0.key.parent != object }
    intents = intents.filter { !$0.value.names(object) }
  }
}
