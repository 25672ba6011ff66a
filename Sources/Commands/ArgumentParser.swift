import LinuxSystem

/// An option of the command line.
struct Option {
  /// Without the two hyphens.
  let name: String
  /// One letter, for use with one hyphen.
  var letter: Character?
  /// What the value is called in the help; nil for an option that has none.
  var value: String?
  /// For the help.
  let help: String
}

/// A command line, taken apart.
struct ParsedArguments {
  /// Options in the order in which they were given.
  private(set) var options: [(name: String, value: FileName?)] = []
  /// What is no option.
  private(set) var operands: [FileName] = []
  /// What stands after "--".
  private(set) var rest: [FileName]?

  /// Takes `words` apart: `--name value`, `--name=value`, `-l value`, `-lvalue`.
  init(_ words: [FileName], _ known: [Option], command: String) throws(CommandFailure) {
    var remaining = words[...]
    func failure(_ text: String) -> CommandFailure {
      CommandFailure(.usage, "\(command): \(text)", remedy: "see sidecarfs \(command) --help")
    }
    func fromName(_ bytes: ArraySlice<UInt8>) -> FileName? { try? FileName(bytes) }

    while let word = remaining.popFirst() {
      let text = word.description
      if text == "--" {
        rest = Array(remaining)
        return
      }
      guard text.hasPrefix("-"), text != "-" else {
        operands.append(word)
        continue
      }
      let isLong = text.hasPrefix("--")
      let name =
        isLong ? String(text.dropFirst(2).prefix { $0 != "=" }) : String(text.dropFirst().prefix(1))
      let option = known.first { isLong ? $0.name == name : $0.letter.map(String.init) == name }
      guard let option else { throw failure("unknown option \(text)") }
      let attached: FileName?
      if isLong {
        let equals = word.bytes.firstIndex(of: UInt8(ascii: "="))
        attached = equals.flatMap { fromName(word.bytes[($0 + 1)...]) }
      } else {
        attached = word.count > 2 ? fromName(word.bytes[2...]) : nil
      }
      if option.value == nil {
        guard attached == nil else { throw failure("option \(text) takes no value") }
        options.append((option.name, nil))
      } else if let value = attached ?? remaining.popFirst() {
        options.append((option.name, value))
      } else {
        throw failure("option \(text) needs a value")
      }
    }
  }

  /// Whether an option was given.
  func has(_ name: String) -> Bool { options.contains { $0.name == name } }
}
