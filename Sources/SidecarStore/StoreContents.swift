import AttributeModel
import LinuxSystem
import SQLite

/// Everything in a store, for comparing two engines.
package struct StoreContents: Hashable, Sendable {
  /// The objects that are not set aside.
  package var records: [ObjectKey: ObjectRecord] = [:]
  /// What stands under each name, as long as neither side of it is set aside.
  package var entries: [Entry: ObjectKey] = [:]
  /// What was set aside, under the key that it had; a key can be there more than once.
  package var quarantined: [ObjectKey: [QuarantineReason]] = [:]
  /// What was announced and not settled; directories by themselves, without the way there.
  package var intents: [IntentID: Intent] = [:]

  package init() {}
}

extension StoreContents {
  init(of database: Database) throws(SQLiteError) {
    try database.execute("BEGIN")
    var keys: [Int64: ObjectKey] = [:]
    try database.prepare(
      """
      SELECT object.type, changed_seconds, changed_nanoseconds, orphan, object.id, object.key,
        volume.key, kind
      FROM object JOIN volume ON volume.id = volume WHERE object.key IS NOT NULL
      """
    ).rows { (row) throws(SQLiteError) in
      let key = ObjectKey(volume: try VolumeKey(row, 6, 7), bytes: try row.blob(5))
      keys[row.integer(4)] = key
      records[key] = try ObjectRecord(row)
    }
    try database.prepare("SELECT object, name, value, checksum FROM attribute").rows {
      (row) throws(SQLiteError) in
      guard let key = keys[row.integer(0)] else { return }
      let name = try AttributeName(row, 1)
      records[key]?.attributes[name] = try row.intactValue(
        2, of: row.integer(0), name, checksum: 3)
    }
    try database.prepare("SELECT parent, name, object FROM entry").rows {
      (row) throws(SQLiteError) in
      guard let parent = keys[row.integer(0)], let key = keys[row.integer(2)] else { return }
      entries[Entry(parent: parent, name: try row.blob(1))] = key
    }
    for pending in try StoreReader(database).intents() {
      intents[pending.id] = pending.intent.withoutWays
    }
    try database.prepare(
      """
      SELECT quarantine.key, reason, volume.key, kind FROM quarantine
        JOIN object ON object.id = quarantine.object JOIN volume ON volume.id = object.volume
      ORDER BY object.id
      """
    ).rows { (row) throws(SQLiteError) in
      let key = ObjectKey(volume: try VolumeKey(row, 2, 3), bytes: try row.blob(0))
      guard let reason = QuarantineReason(rawValue: row.text(1)) else {
        throw SQLiteError.unexpected
      }
      quarantined[key, default: []].append(reason)
    }
  }
}

extension VolumeKey {
  init(_ row: Row, _ key: Int32, _ kind: Int32) throws(SQLiteError) {
    guard let kind = IdentityKind(rawValue: row.text(kind)) else { throw SQLiteError.unexpected }
    self.init(bytes: try row.blob(key), kind: kind)
  }
}

extension Intent {
  /// The same with directories alone, without the way there.
  package var withoutWays: Intent {
    var intent = self
    intent.place = place.withoutWay
    intent.newPlace = newPlace?.withoutWay
    return intent
  }
}

extension Place {
  fileprivate var withoutWay: Place {
    let last = directory.last.map { LineageStep(object: $0.object, name: [], type: $0.type) }
    return Place(directory: last.map { [$0] } ?? [], name: name)
  }
}
