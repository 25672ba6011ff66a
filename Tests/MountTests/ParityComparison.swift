import Foundation
import TestSupport
import Testing

extension ParityFixture {
  /// Compares a mount's transcript with those of the file systems that count, line by line, and
  /// records an issue that lists every line which none of them has.
  func compare(
    _ lines: [String], with accepted: [(kind: SourceKind, lines: [String])], in place: Place,
    of parityCase: ParityCase
  ) {
    let native = accepted.map(\.lines.count).min() ?? 0
    #expect(lines.count == native, "\(parityCase.name): \(place.name): as many lines as natively")
    var faults: [String] = []
    var meant: [String] = []
    for (number, line) in lines.enumerated() where number < native {
      if accepted.contains(where: { $0.lines[number] == line }) { continue }
      if let difference = meantDifferences.first(where: { $0.covers(line, of: parityCase) }) {
        meant.append(difference.reason)
        continue
      }
      let answers = accepted.map { "  \($0.kind): \(answer($0.lines[number], beside: line))" }
      faults.append("line \(number + 1): \(line)\n" + answers.joined(separator: "\n"))
    }
    if !faults.isEmpty {
      Issue.record("\(parityCase.name): \(place.name)\n\(faults.joined(separator: "\n"))")
    }
    let found = (faults: faults, meant: meant)
    count {
      $0.compared += lines.count
      $0.faults += found.faults.count
      for reason in found.meant { $0.meant[reason, default: 0] += 1 }
      $0.report += found.faults.map { "wrong: \(parityCase.name): \(place.name): \($0)" }
    }
  }

  /// Counts a case, and the lines in which the natives do not agree, with who says what.
  func compareNatives(_ natives: [SourceKind: [String]], of parityCase: ParityCase) {
    let kinds = parityCase.oracle.kinds(source: nil).filter { natives[$0] != nil }
    guard let first = kinds.first, let reference = natives[first] else { return }
    for (kind, lines) in natives
    where kinds.contains(kind) || parityCase.oracle == .nativesAndSource {
      #expect(
        lines.count == reference.count, "\(parityCase.name): \(kind) takes another way through")
    }
    let differing = reference.indices.compactMap { number -> String? in
      let answers = kinds.compactMap { kind -> (kind: SourceKind, line: String)? in
        guard let lines = natives[kind], number < lines.count else { return nil }
        return (kind, lines[number])
      }
      if Set(answers.map(\.line)).count == 1 { return nil }
      let others = answers.dropFirst().map {
        "\($0.kind): \(answer($0.line, beside: reference[number]))"
      }
      return "natives differ: \(parityCase.name): \(first): \(reference[number]) | "
        + others.joined(separator: " | ")
    }
    count {
      $0.cases += 1
      $0.calls += reference.count
      $0.nativesDiffer += differing.count
      $0.report += differing
    }
  }

  /// What stands behind the "=" where the call is the same, else the whole line.
  private func answer(_ line: String, beside other: String) -> String {
    guard let range = line.range(of: " = ", options: .backwards),
      other.hasPrefix(line[..<range.upperBound])
    else { return line }
    return String(line[range.upperBound...])
  }
}
