import Foundation

/// The words of a command line, taken apart: `--flag`, `--name VALUE`, `--name=VALUE`, the rest.
package struct Options: Sendable {
  /// What is no option, in order.
  package let words: [String]
  private let flags: Set<String>
  private let values: [String: String]

  /// What is wrong with a command line.
  package struct Mistake: Error, CustomStringConvertible {
    package let description: String
  }

  /// Takes a command line apart.
  ///
  /// - Parameters:
  ///   - arguments: The words after the name of the program.
  ///   - flags: The options that stand alone, with their dashes.
  ///   - values: The options that are followed by a value, with their dashes.
  package init(
    _ arguments: some Collection<String>, flags: Set<String>, values: Set<String> = []
  ) throws(Mistake) {
    var words: [String] = []
    var found: Set<String> = []
    var given: [String: String] = [:]
    var rest = Array(arguments)[...]
    while let word = rest.popFirst() {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let option = String(parts.first ?? "")
      if word == "--" {
        words += rest
        break
      } else if flags.contains(word) {
        found.insert(word)
      } else if values.contains(option) {
        guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
          throw Mistake(description: "\(option) needs a value")
        }
        given[option] = value
      } else if word.hasPrefix("-"), word != "-" {
        throw Mistake(description: "unknown option \(word)")
      } else {
        words.append(word)
      }
    }
    self.words = words
    self.flags = found
    self.values = given
  }

  /// Whether an option stands there.
  package func has(_ flag: String) -> Bool { flags.contains(flag) }

  /// The value of an option.
  package subscript(_ option: String) -> String? { values[option] }
}

/// How the example programs end. The numbers are not changed from one version to the next.
package enum Exit: Int32, Sendable {
  /// All is done.
  case success = 0
  /// The network, the server or a file failed; running the program again goes on from there.
  case failure = 1
  /// The command line is wrong.
  case usage = 2
  /// The file system keeps no extended attributes.
  case unsupported = 3
  /// The file on the server has changed, and `--keep` was given.
  case changed = 4
}

/// Writes a line to the standard error output.
package func complain(_ text: String) {
  FileHandle.standardError.write(Data((text + "\n").utf8))
}
