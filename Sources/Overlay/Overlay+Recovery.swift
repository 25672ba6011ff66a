public import LinuxSystem
import SidecarStore

/// What became of changes of names that were announced when the last daemon died.
extension Overlay {
  private enum Verdict {
    case happened, didNot, unknown
    /// The way there is part of another change, which has to be looked at first.
    case later
  }

  /// What there is at a place.
  private enum Sight {
    case nothing, noWay
    case object(Fingerprint)
  }

  /// Looks at both names of each change and tells the store what happened. Where that cannot be
  /// told the objects are set aside, which is reported.
  ///
  /// Call it before anything is served. Throws what the store or the source says when they cannot be asked.
  public func recover() throws(Errno) {
    var pending = try store.intents()
    var isStuck = false
    while !pending.isEmpty {
      var hasProgress = false
      for change in pending {
        let verdict = try judge(change.intent)
        if verdict == .later && !isStuck { continue }
        try conclude(change, verdict)
        hasProgress = true
        // Ways may lead elsewhere now.
        break
      }
      isStuck = !hasProgress
      pending = try store.intents()
    }
  }

  private func conclude(_ change: PendingIntent, _ verdict: Verdict) throws(Errno) {
    switch verdict {
    case .happened:
      _ = try store.settle(change.id)
      if change.intent.kind == .rename, let object = change.intent.object,
        let place = change.intent.newPlace
      {
        try correct(place, of: object)
      }
    case .didNot:
      try store.withdraw(change.id)
    case .unknown, .later:
      let intent = change.intent
      for object in [intent.object, intent.kind == .remove ? nil : intent.other] {
        if let object { try store.quarantine(object, because: .undecided) }
      }
      try store.withdraw(change.id)
      options.report(
        "a change of names was cut off and cannot be told from others; attributes were set aside: "
          + FileName(lossy: intent.place.path).description)
    }
  }

  private func judge(_ intent: Intent) throws(Errno) -> Verdict {
    try learnFolding(by: [intent.place] + (intent.newPlace.map { [$0] } ?? []))
    let here = try look(at: intent.place, besides: intent.newPlace)
    let there = try intent.newPlace.map { (place) throws(Errno) in
      try look(at: place, besides: intent.place)
    }
    // Two names of one object: it has them both, whatever was done.
    if [.rename, .exchange].contains(intent.kind), intent.object != nil,
      intent.object == intent.other
    {
      return .didNot
    }
    switch (intent.kind, here, there) {
    case (_, .noWay, _), (_, _, .noWay): return .later
    case (.remove, .nothing, _): return .happened
    case (.remove, .object(let found), _):
      return found.fits(intent.fingerprint) == .not ? .unknown : .didNot
    case (.link, _, .object(let found)):
      return found.fits(intent.fingerprint) == .not ? .didNot : .happened
    case (.link, _, _): return .didNot
    case (.rename, .nothing, .object): return .happened
    case (.rename, .object, .nothing), (.rename, .object, nil): return .didNot
    case (.rename, .object(let old), .object(let new)),
      (.exchange, .object(let old), .object(let new)):
      return decide(old.fits(intent.fingerprint), new.fits(intent.fingerprint))
    default: return .unknown
    }
  }

  private func decide(_ old: Fingerprint.Fit, _ new: Fingerprint.Fit) -> Verdict {
    if old == new { return .unknown }
    return old > new ? .didNot : .happened
  }

  /// Asks the names that are there how the source takes names, before one is taken for two.
  private func learnFolding(by places: [Place]) throws(Errno) {
    for place in places where rootInode.volume.mayFold && !rootInode.volume.folds {
      guard let directory = try directory(of: place) else { continue }
      let name = try FileName(place.name)
      if (try? directory.file.status(of: name)) != nil {
        learnFolding(of: rootInode.volume, by: name, in: directory)
      }
    }
  }

  /// What is at a place that is not only another spelling of the other one.
  private func look(at place: Place, besides other: Place?) throws(Errno) -> Sight {
    guard let directory = try directory(of: place) else { return .noWay }
    do throws(Errno) {
      let name = try FileName(place.name)
      let status = try directory.file.status(of: name)
      if rootInode.volume.folds, let other,
        other.directory.last?.object == place.directory.last?.object, other.name != place.name,
        try listedName(name, of: status, in: directory)?.bytes == other.name
      {
        return .nothing
      }
      return .object(Fingerprint(status))
    } catch {
      if error == .noEntry { return .nothing }
      throw error
    }
  }

  private func directory(of place: Place) throws(Errno) -> HeldFile? {
    guard let first = place.directory.first, try first.object == key(of: rootInode) else {
      return nil
    }
    do throws(Errno) {
      var directory = try rootInode.held()
      for step in place.directory.dropFirst() {
        directory = try open(FileName(step.name), in: directory)
        guard try directory.file.status().type == .directory else { return nil }
      }
      return directory
    } catch {
      if error == .noEntry || error == .notDirectory { return nil }
      throw error
    }
  }

  /// The source may have given an object another spelling of the name than was asked for.
  private func correct(_ place: Place, of object: ObjectKey) throws(Errno) {
    guard rootInode.volume.folds, let entry = place.entry, let directory = try directory(of: place)
    else { return }
    let name = try FileName(place.name)
    let status = try directory.file.status(of: name)
    guard let own = try listedName(name, of: status, in: directory), own != name else { return }
    let step = LineageStep(object: object, name: own.bytes, type: status.type)
    try store.move(object, from: entry, to: place.directory + [step])
  }
}

extension Place {
  /// The names on the way, for people.
  fileprivate var path: [UInt8] {
    let names = directory.dropFirst().map(\.name) + [name]
    return Array(names.joined(separator: [UInt8(ascii: "/")]))
  }
}

extension FileName {
  fileprivate init(lossy bytes: [UInt8]) { self.init(String(decoding: bytes, as: UTF8.self)) }
}

extension Fingerprint {
  /// How well an object fits, from not at all.
  fileprivate enum Fit: Int, Comparable {
    case not, nearly, exactly
    static func < (one: Fit, other: Fit) -> Bool { one.rawValue < other.rawValue }
  }

  /// A file system may round time stamps, to two seconds at the most, when it is mounted anew.
  fileprivate func fits(_ other: Fingerprint) -> Fit {
    guard type == other.type, type == .directory || size == other.size else { return .not }
    if modified == other.modified { return .exactly }
    let (difference, overflow) = modified.seconds.subtractingReportingOverflow(
      other.modified.seconds)
    return !overflow && (-2...2).contains(difference) ? .nearly : .not
  }
}
