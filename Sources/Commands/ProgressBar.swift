import LinuxSystem

/// A line on the terminal that tells how far a long command is; nothing where no person looks, and
/// nothing before a second has passed.
final class ProgressBar {
  private let isOnTerminal: Bool
  private let what: String
  private let total: Int?
  private var done = 0
  private var shown: Timestamp
  private var isVisible = false

  /// For `total` steps, if their number is known.
  init(_ what: String, of total: Int? = nil) {
    isOnTerminal = (try? FileDescriptor.standardError().isTerminal) ?? false
    self.what = what
    self.total = total
    shown = Timestamp.now
  }

  deinit { clear() }

  /// So many steps more; throws when a signal came.
  func advance(by count: Int = 1) throws(CommandFailure) {
    done += count
    try Cancellation.check()
    show()
  }

  /// Draws, ten times a second at the most.
  func show() {
    let now = Timestamp.now
    let pause: Int64 = isVisible ? 100_000_000 : 1_000_000_000
    let passed =
      (now.seconds - shown.seconds) * 1_000_000_000 + now.nanoseconds - shown.nanoseconds
    guard isOnTerminal, passed >= pause else { return }
    shown = now
    isVisible = true
    write("\r\(line)\u{1B}[K")
  }

  /// Takes the line away.
  func clear() {
    if isVisible { write("\r\u{1B}[K") }
    isVisible = false
  }

  private var line: String {
    guard let total, total > 0 else { return done == 0 ? "\(what) ..." : "\(what): \(done)" }
    let width = 30
    let part = min(1, Double(done) / Double(total))
    let filled = Int(part * Double(width))
    let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
    return "\(what) [\(bar)] \(Int(part * 100))% of \(total)"
  }

  private func write(_ text: String) { try? FileDescriptor.standardError().write(text.utf8) }
}
