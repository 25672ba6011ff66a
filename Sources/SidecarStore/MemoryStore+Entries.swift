public import LinuxSystem

/// Finding objects by name, and changes of names.
extension MemoryStore {
  /// The object under an entry.
  public func object(at entry: Entry) throws(Errno) -> ObjectKey? {
    contents.withLock { $0.entries[entry] }
  }

  /// Makes an object known under a name.
  public func enter(
    _ object: ObjectKey, type: FileType, at lineage: [LineageStep]
  ) throws(Errno) {
    contents.withLock { contents in
      contents.add(object, type)
      contents.records[object]?.isOrphan = false
      contents.place(object, at: lineage)
    }
  }

  /// Takes the name from an object, or sets the object aside.
  public func vacate(_ entry: Entry, because reason: QuarantineReason) throws(Errno) {
    contents.withLock { contents in
      guard let object = contents.entries[entry] else { return }
      if contents.names(of: object) > 1 {
        contents.entries[entry] = nil
      } else {
        contents.drop(object)
        contents.quarantined[object, default: []].append(reason)
      }
    }
  }

  /// Announces a change of names.
  public func intend(_ intent: Intent, isDurable: Bool) throws(Errno) -> IntentID {
    contents.withLock { contents in
      var intent = intent
      if let object = intent.object, contents.records[object] == nil { intent.object = nil }
      if let object = intent.other, contents.records[object] == nil { intent.other = nil }
      for place in [intent.place, intent.newPlace] {
        guard let place, let last = place.directory.last else { continue }
        contents.add(last.object, last.type)
        contents.place(last.object, at: place.directory)
      }
      let id = IntentID((contents.intents.keys.map(\.number).max() ?? 0) + 1)
      contents.intents[id] = intent
      return id
    }
  }

  /// Makes the change that was announced.
  public func settle(_ id: IntentID) throws(Errno) -> Bool {
    contents.withLock { contents in
      guard let intent = contents.intents.removeValue(forKey: id),
        let entry = intent.place.entry
      else { return false }
      func leave(_ object: ObjectKey?, _ entry: Entry) {
        if let object, contents.entries[entry] == object { contents.entries[entry] = nil }
      }
      if intent.kind == .link {
        if let object = intent.object, let newEntry = intent.newPlace?.entry {
          contents.entries[newEntry] = object
        }
        return false
      }
      leave(intent.object, entry)
      var loser = intent.object
      if intent.kind != .remove, let newEntry = intent.newPlace?.entry {
        leave(intent.other, newEntry)
        loser = intent.other
        if let object = intent.object { contents.entries[newEntry] = object }
        if intent.kind == .exchange, let other = intent.other { contents.entries[entry] = other }
      }
      guard let loser, contents.names(of: loser) == 0 else { return false }
      contents.records[loser]?.isOrphan = true
      return true
    }
  }

  /// Forgets what was announced.
  public func withdraw(_ intent: IntentID) throws(Errno) {
    contents.withLock { $0.intents[intent] = nil }
  }

  /// What was announced and not settled.
  public func intents() throws(Errno) -> [PendingIntent] {
    contents.withLock { contents in
      contents.intents.sorted { $0.key.number < $1.key.number }.map { id, intent in
        var intent = intent
        intent.place = contents.traced(intent.place)
        intent.newPlace = intent.newPlace.map { contents.traced($0) }
        return PendingIntent(id, intent)
      }
    }
  }
}

extension StoreContents {
  fileprivate func names(of object: ObjectKey) -> Int { entries.values.count { $0 == object } }

  /// A place with the way that leads there now.
  fileprivate func traced(_ place: Place) -> Place {
    guard let last = place.directory.last else { return place }
    var steps = [LineageStep]()
    var object: ObjectKey? = last.object
    var seen: Set<ObjectKey> = []
    while let current = object, seen.insert(current).inserted, let record = records[current] {
      let entry = entries.first { $0.value == current }?.key
      steps.append(LineageStep(object: current, name: entry?.name ?? [], type: record.type))
      object = entry?.parent
    }
    return Place(directory: steps.reversed(), name: place.name)
  }
}

extension Intent {
  /// Whether an object occurs in it.
  func names(_ key: ObjectKey) -> Bool {
    object == key || other == key || place.entry?.parent == key || newPlace?.entry?.parent == key
  }
}
