import Foundation

/// A bar that shows how much is done, on a terminal only.
package final class ProgressBar {
  private let isShown: Bool
  private var last = ContinuousClock.now - .seconds(1)
  private var width = 0

  /// A bar on the standard error output, if that is a terminal and `isWanted`.
  package init(isWanted: Bool = true) {
    isShown = isWanted && isatty(2) == 1
  }

  /// Shows the state, a few times a second at most.
  ///
  /// - Parameters:
  ///   - title: What is going on.
  ///   - done: How much is done.
  ///   - total: How much there is; `nil` if nobody knows.
  package func show(_ title: String, _ done: Int64, of total: Int64?) {
    let now = ContinuousClock.now
    guard isShown, now - last > .milliseconds(100) || done == total else { return }
    last = now
    var line = title + " "
    if let total, total > 0 {
      let part = min(max(Double(done) / Double(total), 0), 1)
      let filled = Int(part * 30)
      line += "[" + String(repeating: "#", count: filled)
      line += String(repeating: ".", count: 30 - filled) + "] \(Int(part * 100)) %"
    } else {
      line += "\(done)"
    }
    write(line)
  }

  /// Takes the bar away.
  package func clear() {
    guard isShown, width > 0 else { return }
    write("")
    FileHandle.standardError.write(Data("\r".utf8))
    width = 0
  }

  private func write(_ line: String) {
    let padding = String(repeating: " ", count: max(width - line.count, 0))
    FileHandle.standardError.write(Data(("\r" + line + padding).utf8))
    width = line.count
  }
}
