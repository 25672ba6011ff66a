import LinuxSystem
import SidecarStore

/// What a mount that died has left behind.
extension Overlay {
  /// Looks for objects that had lost their last name and were still open when a mount died: those
  /// that are gone leave the store, and one that was given a name underneath is no orphan. Those
  /// that somebody still has open are looked for once more by ``close()``.
  ///
  /// Call it before the session starts. Where a file handle cannot be opened, for want of handles or
  /// of CAP_DAC_READ_SEARCH, the record stays as it is, and what comes under its key by a later
  /// name does not get it.
  public func collectOrphans(of source: borrowing Source) {
    do throws(Errno) {
      let identities = try Identities(source, options.identity)
      let left = try collect(store.orphans(), identities)
      leftOrphans.withLock { $0 = left.isEmpty ? nil : LeftOrphans(left, identities) }
    } catch {
      report("the store's orphans could not be collected", error)
    }
  }

  /// Looks again for those that were still open.
  func collectLeftOrphans() throws(Errno) {
    guard let left = leftOrphans.withLock({ $0.take() }) else { return }
    _ = try collect(left.keys, left.identities)
  }

  /// Those that somebody has open.
  private func collect(
    _ orphans: [ObjectKey], _ identities: Identities
  ) throws(Errno) -> [ObjectKey] {
    var left = [ObjectKey]()
    for key in orphans {
      // Known by names, it has none left to come back by.
      if key.volume.kind == .path {
        try store.discard(key)
        continue
      }
      switch identities.fate(of: key) {
      case .gone: try store.discard(key)
      case .alive(let links):
        if links > 0 { try store.link(key, at: []) } else { left.append(key) }
      case .unknown: continue
      }
    }
    return left
  }
}

/// Orphans of a dead mount that somebody still had open.
struct LeftOrphans: Sendable {
  let keys: [ObjectKey]
  let identities: Identities

  init(_ keys: [ObjectKey], _ identities: Identities) {
    self.keys = keys
    self.identities = identities
  }
}
