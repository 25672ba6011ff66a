import Glibc

/// What a disk has of a directory after the power failed: everything that was synced, and of the
/// rest what chance decides, in pieces of 512 bytes.
struct PowerLossDisk {
  private struct Content {
    /// What a reader sees while the power is on, and what is on the disk for certain.
    var seen: [UInt8] = []
    var kept: [UInt8] = []
    /// What came after the last sync.
    var loose: [Change] = []
    var isNameKept = false
  }

  private enum Change {
    case write(at: Int, [UInt8])
    case cut(to: Int)
  }

  /// How much of what was not synced reaches the disk.
  enum Luck: CaseIterable {
    case nothing, everything, some, torn
  }

  private var files: [String: Content] = [:]
  /// Files that are gone and may come back.
  private var ghosts: [String: Content] = [:]

  /// Takes the next request.
  mutating func apply(_ request: DiskRequest) {
    switch request {
    case .create(let name):
      files[name] = Content()
    case .write(let name, let offset, let bytes):
      change(name, .write(at: offset, bytes))
    case .cut(let name, let size):
      change(name, .cut(to: size))
    case .sync(let name):
      guard var content = files[name] else { return }
      content.kept = content.seen
      content.loose = []
      files[name] = content
      // SQLite syncs the directory along with a new log or journal, hence all names in it.
      if name != "store.db" && !content.isNameKept {
        for name in files.keys { files[name]?.isNameKept = true }
        ghosts = [:]
      }
    case .syncContent(let name):
      guard var content = files[name] else { return }
      content.kept = content.seen
      content.loose = []
      files[name] = content
    case .syncNames:
      for name in files.keys { files[name]?.isNameKept = true }
      ghosts = [:]
    case .delete(let name):
      if let content = files.removeValue(forKey: name), content.isNameKept {
        ghosts[name] = content
      }
    }
  }

  private mutating func change(_ name: String, _ change: Change) {
    var content = files[name] ?? Content()
    Self.apply(change, to: &content.seen)
    content.loose.append(change)
    files[name] = content
  }

  private static func apply(_ change: Change, to bytes: inout [UInt8]) {
    switch change {
    case .write(let offset, let data):
      if bytes.count < offset + data.count {
        bytes += [UInt8](repeating: 0, count: offset + data.count - bytes.count)
      }
      bytes.replaceSubrange(offset..<offset + data.count, with: data)
    case .cut(let size):
      if size < bytes.count {
        bytes.removeLast(bytes.count - size)
      } else {
        bytes += [UInt8](repeating: 0, count: size - bytes.count)
      }
    }
  }

  /// The files that are found when the power is back.
  func afterwards(_ luck: Luck, _ random: inout SeededGenerator) -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    let all = ghosts.merging(files) { _, file in file }
    for name in all.keys.sorted() {
      guard let content = all[name] else { continue }
      let isGhost = files[name] == nil
      let hasChance = luck == .everything ? !isGhost : luck != .nothing && chance(&random)
      guard isGhost || !content.isNameKept ? hasChance : true else {
        // A deletion that has not reached the disk leaves the file.
        if isGhost && luck == .nothing { found[name] = content.kept }
        continue
      }
      var bytes = content.kept
      for change in content.loose {
        switch luck {
        case .nothing: break
        case .everything: Self.apply(change, to: &bytes)
        case .some: if chance(&random) { Self.apply(change, to: &bytes) }
        case .torn: for piece in pieces(of: change, &random) { Self.apply(piece, to: &bytes) }
        }
      }
      found[name] = bytes
    }
    return found
  }

  /// Some of the sectors that a write covers.
  private func pieces(of change: Change, _ random: inout SeededGenerator) -> [Change] {
    guard case .write(let offset, let data) = change else { return chance(&random) ? [change] : [] }
    var pieces: [Change] = []
    var start = offset
    while start < offset + data.count {
      let end = min((start / 512 + 1) * 512, offset + data.count)
      if chance(&random) {
        pieces.append(.write(at: start, Array(data[(start - offset)..<(end - offset)])))
      }
      start = end
    }
    return pieces
  }

  private func chance(_ random: inout SeededGenerator) -> Bool { random.next() & 1 == 0 }
}
