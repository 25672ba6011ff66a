import Glibc
import SpeedFigures

/// Says on standard error how far it is, once it has taken a second.
struct Progress {
  private let steps: Double
  private let start = now()
  private let isTerminal = isatty(2) == 1
  private var done = 0.0
  private var last: UInt64 = 0
  private var isShown = false

  /// Nothing of so many steps done.
  init(steps: Int) { self.steps = Double(max(1, steps)) }

  /// So much more has been done.
  mutating func advance(by amount: Double = 1) { done += amount }

  /// Says what is being done: a terminal hears it five times a second, a log every ten seconds.
  mutating func show(_ what: String) {
    let time = now()
    let pause: UInt64 = isTerminal ? 200_000_000 : 10_000_000_000
    guard time - start > 1_000_000_000, time - last > pause else { return }
    last = time
    isShown = true
    let share = min(1, done / steps)
    var line = "\(decimal(100 * share, digits: 0)) %  \(what)"
    if share > 0.02 {
      let left = Double(time - start) / 1e9 * (1 - share) / share
      line += ", about \(decimal(left, digits: 0)) s left"
    }
    complain(isTerminal ? "\r\u{1b}[K\(line)" : "\(line)\n")
  }

  /// Takes the line away.
  func end() { if isShown && isTerminal { complain("\r\u{1b}[K") } }
}

/// Writes to standard error.
func complain(_ text: String) { put(text, to: 2) }

/// Writes to a descriptor; false when that fails.
@discardableResult
func put(_ text: String, to file: Int32) -> Bool {
  let bytes = Array(text.utf8)
  var written = 0
  while written < bytes.count {
    let count = bytes.withUnsafeBytes {
      write(file, $0.baseAddress?.advanced(by: written), bytes.count - written)
    }
    if count <= 0 { return false }
    written += count
  }
  return true
}
