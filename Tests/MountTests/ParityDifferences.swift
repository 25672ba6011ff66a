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
    reason: acls),
  MeantDifference(
    cases: "attributes: access control lists", call: "listxattr(", answer: "= 0 []", reason: acls),
  MeantDifference(
    cases: "attributes: access control lists", call: "lstat(\"d\") = directory 0755",
    answer: "owner 0:0", reason: acls),
  MeantDifference(
    cases: "files: locks of open files", call: "elsewhere: GETLK(", answer: "of process",
    reason: "the kernel does not tell a FUSE server that an open file owns a lock"),
]

private let acls = "access control lists are refused rather than stored and not enforced"
