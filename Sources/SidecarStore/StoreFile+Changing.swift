public import AttributeModel
public import LinuxSystem
import SQLite

/// What a tool changes, inside ``begin()`` and ``commit()``.
extension StoreFile {
  /// Keeps an attribute; see ``AttributeStore/set(_:to:of:type:changed:lineage:)``.
  public func set(
    _ name: AttributeName, to value: [UInt8], of object: ObjectKey, type: FileType,
    changed: Timestamp, lineage: [LineageStep]
  ) throws(StoreError) {
    try change { (tables, _) throws(SQLiteError) in
      try tables.set(name, to: value, of: object, type: type, changed: changed, lineage: lineage)
    }
  }

  /// Gives a known object a name, and its ancestors theirs.
  public func link(_ object: ObjectKey, at lineage: [LineageStep]) throws(StoreError) {
    try change { (tables, _) throws(SQLiteError) in try tables.link(object, at: lineage) }
  }

  /// Forgets an object and whatever is kept of it.
  public func discard(_ id: Int64) throws(StoreError) {
    try change { (tables, changer) throws(SQLiteError) in
      try changer.forgetQuarantine.run(.integer(id))
      try tables.discard(id)
    }
  }

  /// Sets an object aside.
  public func quarantine(
    _ id: Int64, because reason: QuarantineReason
  ) throws(StoreError) {
    try change { (tables, _) throws(SQLiteError) in try tables.quarantine(id, because: reason) }
  }

  /// Takes a name away that leads to its object no longer.
  public func remove(_ entry: StoredEntry) throws(StoreError) {
    try change { (_, changer) throws(SQLiteError) in
      try changer.removeEntry.run(.integer(entry.parent), .blob(entry.name))
    }
  }

  /// Gives objects other keys, all at once: one may get what another had.
  ///
  /// What is known under a new key and is not moved itself has to be merged before.
  public func move(_ objects: [(id: Int64, key: ObjectKey)]) throws(StoreError) {
    try change { (_, changer) throws(SQLiteError) in
      for object in objects { try changer.dropKey.run(.integer(object.id)) }
      for object in objects {
        let volume = object.key.volume
        let key = Value.blob(volume.bytes)
        let kind = Value.text(volume.kind.rawValue)
        try changer.addVolume.run(key, kind)
        try changer.setKey.run(.integer(object.id), key, kind, .blob(object.key.bytes))
      }
      try changer.dropVolumes.run()
    }
  }

  /// Forgets a record that was set aside, after its attributes were given to another object, which gets
  /// what is known to be in it as well.
  public func dissolve(_ id: Int64, into object: ObjectKey) throws(StoreError) {
    try change { (tables, changer) throws(SQLiteError) in
      if let heir = try tables.find(object) {
        try changer.moveEntries.run(.integer(id), .integer(heir))
      }
      try changer.forgetQuarantine.run(.integer(id))
      try tables.discard(id)
    }
  }

  /// Lets `id` have the names of `other` and what is in it, and forgets `other`, which has no
  /// attributes: a directory that was only on the way to something.
  public func merge(_ other: Int64, into id: Int64) throws(StoreError) {
    try change { (tables, changer) throws(SQLiteError) in
      try changer.moveEntries.run(.integer(other), .integer(id))
      try changer.moveNames.run(.integer(other), .integer(id))
      try tables.discard(other)
    }
  }

  private func change(
    _ body: (StoreTables, StoreFileChanger) throws(SQLiteError) -> Void
  ) throws(StoreError) {
    guard let tables else { throw StoreError(.readOnly, at: place) }
    try run { () throws(SQLiteError) in try body(tables, changer.get()) }
  }
}

/// The statements of changes that only tools make.
struct StoreFileChanger {
  let forgetQuarantine: Statement
  let removeEntry: Statement
  let dropKey: Statement
  let setKey: Statement
  let addVolume: Statement
  let dropVolumes: Statement
  let moveEntries: Statement
  let moveNames: Statement

  init(_ database: Database) throws(SQLiteError) {
    forgetQuarantine = try database.prepare("DELETE FROM quarantine WHERE object = ?1")
    removeEntry = try database.prepare("DELETE FROM entry WHERE parent = ?1 AND name = ?2")
    dropKey = try database.prepare("UPDATE object SET key = NULL WHERE id = ?1")
    setKey = try database.prepare(
      """
      UPDATE object SET key = ?4,
        volume = (SELECT id FROM volume WHERE volume.key = ?2 AND kind = ?3) WHERE id = ?1
      """)
    addVolume = try database.prepare("INSERT OR IGNORE INTO volume (key, kind) VALUES (?1, ?2)")
    dropVolumes = try database.prepare(
      "DELETE FROM volume WHERE id NOT IN (SELECT volume FROM object)")
    moveEntries = try database.prepare("UPDATE OR IGNORE entry SET parent = ?2 WHERE parent = ?1")
    moveNames = try database.prepare("UPDATE entry SET object = ?2 WHERE object = ?1")
  }
}
