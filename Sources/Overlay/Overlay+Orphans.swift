import LinuxSystem
import SidecarStore

/// What a mount that died has left behind.
extension Overlay {
  /// Looks for objects that had lost their last name and were still open when a mount died: those
  /// that are gone leave the store, and one that was given a name underneath is no orphan.
  ///
  /// Call it before the session starts. Where a file handle cannot be opened, for want of handles or
  /// of CAP_DAC_READ_SEARCH, the record stays as it is, and what comes under its key by a later
  /// name does not get it.
  public func collectOrphans(of source: borrowing Source) {
    do throws(Errno) {
      let identities = try Identities(source, options.identity)
      for key in try store.orphans() {
        switch identities.fate(of: key) {
        case .gone: try store.discard(key)
        case .alive(let links): if links > 0 { try store.link(key, at: []) }
        case .unknown: continue
        }
      }
    } catch {
      options.report("the store's orphans could not be collected: \(error)")
    }
  }
}
