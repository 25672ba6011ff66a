import SidecarStore

/// What a look at a store has found, told as it comes and summed up at the end.
struct Findings {
  /// What is wrong; the words are those of `--json` as well.
  enum Kind: String, CaseIterable {
    /// The database contradicts itself.
    case damage
    /// Rows that belong to nothing.
    case looseEnd = "loose end"
    /// The store is that of another directory.
    case otherRoot = "other root"
    /// A record whose object is gone.
    case gone
    /// A record whose object is gone, while one like it stands under its name.
    case replaced
    /// A record of an unlinked object that nobody has open any more.
    case orphan
    /// A name that does not lead to its object.
    case wrongName = "wrong name"
    /// An object that no known name leads to.
    case nameless
    /// A record of an object that is of another type now.
    case otherType = "other type"
    /// Something could not be looked at.
    case undecided
    /// A record that was set aside; no error, only to be known.
    case quarantined
    /// An unlinked object that somebody may have open; no error either.
    case openOrphan = "open orphan"

    var isNote: Bool { self == .quarantined || self == .openOrphan }
  }

  private let output: Output
  private let isJSON: Bool
  private var list: [JSON] = []
  private(set) var errors = 0
  private(set) var corrected = 0

  init(_ output: Output, isJSON: Bool) {
    self.output = output
    self.isJSON = isJSON
  }

  /// One finding, and whether it was put right.
  mutating func add(_ kind: Kind, _ what: String, correction: String? = nil) {
    if !kind.isNote {
      errors += 1
      if correction != nil { corrected += 1 }
    }
    if isJSON {
      list.append(
        .object(
          [
            JSON.Member(name: "kind", value: .string(kind.rawValue)),
            JSON.Member(name: "what", value: .string(what)),
          ] + (correction.map { [JSON.Member(name: "correction", value: .string($0))] } ?? [])))
    } else {
      output.write("\(kind.rawValue): \(what)\(correction.map { ": \($0)" } ?? "")\n")
    }
  }

  /// What the process says as it ends.
  var status: ToolStatus {
    errors == corrected ? (errors == 0 ? .clean : .corrected) : .uncorrected
  }

  /// The summary, with numbers of the command's own.
  func finish(_ numbers: [(String, Int)], remedy: String?) {
    if isJSON {
      let counts = [("errors", errors), ("corrected", corrected)] + numbers
      output.write(
        JSON.object(
          [JSON.Member(name: "findings", value: .array(list))]
            + counts.map { JSON.Member(name: $0.0, value: .number($0.1)) }
        ).text + "\n")
      return
    }
    let counts = numbers.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
    let end =
      errors == 0 ? "clean" : "\(errors) errors" + (corrected > 0 ? ", \(corrected) corrected" : "")
    output.write("\(counts.isEmpty ? "" : "\(counts): ")\(end)\n")
    if let remedy, errors > corrected { output.complain("sidecarfs: \(remedy)") }
  }
}
