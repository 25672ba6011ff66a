import AttributeModel
import LinuxSystem
import SQLite

extension StoreTables {
  /// Makes those changes that were not made before, and keeps the number of the last.
  func apply(_ changes: [NumberedChange], upTo number: Int64) throws(SQLiteError) {
    let applied = try applied()
    var batch = ChangeBatch(self)
    for change in changes where change.number > applied { try batch.take(change.change) }
    try batch.finish()
    try setMeta(Schema.appliedKey, to: max(number, applied))
  }
}

/// Many changes of attributes in one transaction: what comes to the same as making one after the other,
/// with what they have in common done once.
private struct ChangeBatch {
  private struct Slot: Hashable {
    let object: Int64
    let name: AttributeName
  }

  private struct Name: Hashable {
    let parent: Int64
    let name: [UInt8]
  }

  private let tables: StoreTables
  /// The objects that were met; nothing in a batch makes an object go.
  private var identifiers: [ObjectKey: Int64] = [:]
  /// What was put under a name last.
  private var names: [Name: Int64] = [:]
  /// The values that are not written yet.
  private var values: [Slot: [UInt8]] = [:]
  private var times: [Int64: Timestamp] = [:]

  init(_ tables: StoreTables) { self.tables = tables }

  mutating func take(_ change: AttributeChange) throws(SQLiteError) {
    guard let value = change.value else { return try remove(change) }
    let identifier: Int64
    if let known = try find(change.object) {
      identifier = known
    } else {
      identifier = try tables.add(change.object, change.type, isOrphan: change.lineage.isEmpty)
      identifiers[change.object] = identifier
      try place(identifier, at: change.lineage)
    }
    values[Slot(object: identifier, name: change.name)] = value
    times[identifier] = change.changed
  }

  private mutating func remove(_ change: AttributeChange) throws(SQLiteError) {
    guard let identifier = try find(change.object) else { return }
    let waited = values.removeValue(forKey: Slot(object: identifier, name: change.name)) != nil
    let removed = try tables.removeAttribute.run(.integer(identifier), .blob(change.name.bytes))
    if waited || removed > 0 { times[identifier] = change.changed }
  }

  /// Writes what waits, in an order that depends on nothing else.
  mutating func finish() throws(SQLiteError) {
    let slots = values.keys.sorted {
      ($0.object, $0.name.bytes.count) != ($1.object, $1.name.bytes.count)
        ? ($0.object, $0.name.bytes.count) < ($1.object, $1.name.bytes.count)
        : $0.name.bytes.lexicographicallyPrecedes($1.name.bytes)
    }
    for slot in slots {
      guard let value = values[slot] else { continue }
      try tables.setAttribute.run(
        .integer(slot.object), .blob(slot.name.bytes), .blob(value),
        .integer(ValueChecksum.of(slot.object, slot.name.bytes, value)))
    }
    for (identifier, changed) in times.sorted(by: { $0.key < $1.key }) {
      try tables.setChanged.run(
        .integer(identifier), .integer(changed.seconds), .integer(changed.nanoseconds))
    }
  }

  private mutating func find(_ object: ObjectKey) throws(SQLiteError) -> Int64? {
    if let known = identifiers[object] { return known }
    let found = try tables.find(object)
    if let found { identifiers[object] = found }
    return found
  }

  /// As ``StoreTables/place(_:at:)``, with what was done for an object before left out.
  private mutating func place(
    _ identifier: Int64, at lineage: [LineageStep]
  ) throws(SQLiteError) {
    var parent: Int64?
    for (index, step) in lineage.enumerated() {
      let current: Int64
      if index == lineage.count - 1 {
        current = identifier
      } else if let known = try find(step.object) {
        current = known
      } else {
        current = try tables.add(step.object, step.type, isOrphan: false)
        identifiers[step.object] = current
      }
      if let parent {
        let name = Name(parent: parent, name: step.name)
        if names[name] != current {
          try tables.put(current, under: step.name, in: parent)
          names[name] = current
        }
      }
      parent = current
    }
  }
}
