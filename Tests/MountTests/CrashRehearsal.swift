import LinuxSystem
import TestSupport

/// What a daemon is told to die or fail of, while it runs.
final class RehearsalControl: Sendable {
  private let page: RehearsalPage
  private let path: String

  init(in scratch: Scratch) throws {
    path = scratch.path("rehearsal")
    try writeFile(path, Array(repeating: 0, count: Rehearsal.size))
    guard let page = RehearsalPage(mapping: path) else { throw Errno.noEntry }
    self.page = page
  }

  /// What a daemon's environment has to say.
  var environment: [String: String] { ["SIDECARFS_REHEARSAL": path] }

  /// Kills the daemon when it comes to a step for the n-th time from now.
  func kill(at step: Rehearsal.Step, time: Int = 1) {
    page.store(.stepCountdown, time)
    page.store(.step, step.rawValue)
  }

  /// Lets the n-th call from now fail, and all after it if that is to last; -1 kills the daemon.
  func fail(_ site: Rehearsal.Site, call: Int, with outcome: Int, lasting: Bool = false) {
    page.store(.failures, 0)
    page.store(.outcome, outcome)
    page.store(.isLasting, lasting ? 1 : 0)
    page.store(.siteCountdown, call)
    page.store(.site, site.rawValue)
  }

  /// Lets everything go on; whether it was too late, because the daemon had come to where it dies. It
  /// may take a while to be dead then, and may have answered: some changes are made after the answer.
  @discardableResult func rest() -> Bool {
    let isStep = page.load(.step) != 0
    let isLastCall = page.load(.site) != 0 && page.load(.outcome) < 0
    page.store(.site, 0)
    page.store(.step, 0)
    // Who has read the above before it was 0 counts down from here, and dies of nothing.
    let stepsLeft = page.exchange(.stepCountdown, .max)
    let callsLeft = page.exchange(.siteCountdown, .max)
    return (isStep && stepsLeft <= 0) || (isLastCall && callsLeft <= 0)
  }

  /// Something is to happen.
  var isArmed: Bool { page.load(.site) != 0 || page.load(.step) != 0 }

  /// How many calls failed since the last `fail`.
  var failures: Int { page.load(.failures) }
}
