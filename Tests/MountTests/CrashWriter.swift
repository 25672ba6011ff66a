import CLinux
import Glibc
import LinuxSystem
import TestSupport

/// A thread that changes a directory of the mount until the daemon is dead, and keeps outside of it
/// what was acknowledged: a native directory that has all of it, and nothing else.
final class CrashWriter: @unchecked Sendable {
  private let here: ModelSide
  private let there: ModelSide
  private let generator: Lock<ModelGenerator>
  private let progress = Lock(Progress())

  private struct Progress {
    var acknowledged = 0
    var changes = 0
    /// What was asked for when the daemon died, and never answered.
    var pending: ModelAction?
    var isOver = false
    var problem: String?
  }

  init(_ mounted: String, manifest: String, seed: UInt64) throws {
    here = ModelSide(mounted)
    there = ModelSide(manifest)
    generator = Lock(
      ModelGenerator(seed: seed, ModelGenerator.Powers(remount: 0, isAtomic: true)))
    for root in [mounted, manifest] { try call(mkdir(root, 0o755)) }
  }

  /// How many changes were acknowledged.
  var changes: Int { progress.withLock { $0.changes } }
  /// Something that was answered wrongly.
  var problem: String? { progress.withLock { $0.problem } }
  var isOver: Bool { progress.withLock { $0.isOver } }

  /// Starts writing on a thread of its own; `ends` when the daemon does, or at the limit.
  func start(limit: Int) {
    progress.withLock { $0.isOver = false }
    detachedThread { [self] in
      for _ in 0..<limit where step() {}
      progress.withLock { $0.isOver = true }
    }
  }

  /// Makes a step on the mount and then in the manifest; false when the daemon is dead.
  private func step() -> Bool {
    let action = generator.withLock { $0.next() }
    if progress.withLock({ $0.problem != nil || $0.pending != nil }) { return false }
    let answer = here.perform(action)
    // The last is what the kernel says of a request that was on its way by io_uring.
    let isDead = ["ENOTCONN", "ECONNABORTED", "EINTR", "ECANCELED"].contains { answer.contains($0) }
    if isDead {
      progress.withLock { $0.pending = action }
      return false
    }
    let wanted = there.perform(action)
    progress.withLock { progress in
      if answer == wanted {
        progress.acknowledged += 1
        if answer == "0" || Int(answer) != nil { progress.changes += 1 }
      } else {
        progress.problem = "\(action): \(answer), natively \(wanted)"
      }
    }
    return true
  }

  /// Compares after a recovery: everything acknowledged is there, and of what was not answered
  /// either all or nothing. The differences; none when all is well.
  func verify() -> [String] {
    if let problem { return [problem] }
    let tree = ModelTree(here.root)
    let old = tree.differences(from: ModelTree(there.root))
    let pending = progress.withLock { progress in
      defer { progress.pending = nil }
      return progress.pending
    }
    guard !old.isEmpty, let pending else { return old }
    _ = there.perform(pending)
    let new = tree.differences(from: ModelTree(there.root))
    return new.isEmpty ? [] : ["neither before nor after \(pending):"] + old
  }
}
