import Foundation
import LinuxSystem
import TestSupport
import Testing

/// The mount answers as a native file system does, call by call, value and errno.
///
/// Each line of a case's transcript must be what tmpfs answers, or what another native does where
/// they differ among themselves (`ParityCase.Oracle` says which count), or be in
/// `meantDifferences`.
@Suite(.needsFuse, .needsLoop, ParityScope()) struct Parity {
  @Test(arguments: ParityCase.all) func parity(_ parityCase: ParityCase) async throws {
    let fixture = try #require(ParityFixture.current)
    var answers: [SourceKind: [String]] = [:]
    for place in fixture.natives {
      answers[place.kind] = try await fixture.transcript(of: parityCase, in: place)
    }
    let natives = answers
    let reference = try #require(natives[.tmpfs])
    for (kind, lines) in natives {
      #expect(lines.count == reference.count, "\(kind) takes another way through the case")
    }
    let differing = nativeDifferences(natives, reference)
    fixture.count {
      $0.cases += 1
      $0.calls += reference.count
      $0.nativesDiffer += differing.count
      $0.report += differing.map { "natives differ: \(parityCase.name): \($0)" }
    }
    for place in fixture.mounts {
      guard let lines = try await fixture.transcript(of: parityCase, in: place) else { continue }
      let accepted = parityCase.oracle.kinds(source: place.kind).compactMap { kind in
        natives[kind].map { (kind: kind, lines: $0) }
      }
      compare(lines, with: accepted, in: place, of: parityCase, fixture)
    }
  }

  private func compare(
    _ lines: [String], with accepted: [(kind: SourceKind, lines: [String])], in place: Place,
    of parityCase: ParityCase, _ fixture: ParityFixture
  ) {
    #expect(lines.count == accepted[0].lines.count, "\(place.name): as many calls as natively")
    var faults: [String] = []
    var meant: [String] = []
    for (number, line) in lines.enumerated() {
      let right = accepted.filter { number < $0.lines.count }
      if right.contains(where: { $0.lines[number] == line }) { continue }
      if let difference = meantDifferences.first(where: { $0.covers(line, of: parityCase) }) {
        meant.append(difference.reason)
        continue
      }
      let answers = right.map { "  \($0.kind): \(answer($0.lines[number], beside: line))" }
      faults.append("line \(number + 1): \(line)\n" + answers.joined(separator: "\n"))
    }
    if !faults.isEmpty {
      Issue.record("\(parityCase.name): \(place.name)\n\(faults.joined(separator: "\n"))")
    }
    let found = (faults: faults, meant: meant)
    fixture.count {
      $0.compared += lines.count
      $0.faults += found.faults.count
      for reason in found.meant { $0.meant[reason, default: 0] += 1 }
      $0.report += found.faults.map { "wrong: \(parityCase.name): \(place.name): \($0)" }
    }
  }

  /// The lines in which native file systems do not agree, with who says what.
  private func nativeDifferences(
    _ natives: [SourceKind: [String]], _ reference: [String]
  ) -> [String] {
    let kinds: [SourceKind] = [.tmpfs, .ext4, .xfs, .btrfs]
    return reference.indices.compactMap { number in
      let answers = kinds.compactMap { kind -> (SourceKind, String)? in
        guard let lines = natives[kind], number < lines.count else { return nil }
        return (kind, lines[number])
      }
      if Set(answers.map(\.1)).count == 1 { return nil }
      let others = answers.map { "\($0.0): \(answer($0.1, beside: reference[number]))" }
      return "\(reference[number]) | " + others.dropFirst().joined(separator: " | ")
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

extension ParityCase {
  /// Every case there is.
  static let all =
    attributeNames + attributeValues + attributeObjects + attributeLife + attributeUsers
    + attributeSystem
}
