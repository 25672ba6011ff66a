/// An answer of the mount that no native file system gives, and that is right all the same.
struct MeantDifference: Sendable {
  /// How the names of the cases begin.
  let cases: String
  /// What the lines contain, such as the call.
  let call: String
  /// How the lines end: the answer.
  let answer: String
  /// Why.
  let reason: String

  func covers(_ line: String, of parityCase: ParityCase) -> Bool {
    parityCase.name.hasPrefix(cases) && line.contains(call) && line.hasSuffix(answer)
  }
}

/// All of them.
let meantDifferences: [MeantDifference] = [
  MeantDifference(
    cases: "attributes: access control lists", call: "xattr(", answer: "= EOPNOTSUPP",
    reason: "access control lists are refused rather than stored and not enforced")
]
