import CLinux
import Glibc
import LinuxSystem

/// What a command did.
package struct Outcome: Sendable {
  /// The exit status; 128 + n when signal n ended it, as a shell says it.
  package let status: Int32
  /// What it wrote to its standard output.
  package let output: [UInt8]
  /// What it wrote to its standard error.
  package let errors: [UInt8]

  /// The output as text.
  package var text: String { String(decoding: output, as: UTF8.self) }
  /// The standard error as text.
  package var errorText: String { String(decoding: errors, as: UTF8.self) }
}

/// A user as the kernel sees one: numbers, which need no account.
package struct User: Sendable, Hashable {
  /// The user id.
  package let uid: UInt32
  /// The group id.
  package let gid: UInt32
  /// The supplementary groups.
  package let groups: [UInt32]

  /// A user of these numbers; `gid` is `uid` unless told.
  package init(_ uid: UInt32, _ gid: UInt32? = nil, groups: [UInt32] = []) {
    self.uid = uid
    self.gid = gid ?? uid
    self.groups = groups
  }
}

/// Runs a command to its end and returns what it said.
///
/// The output goes to memory files rather than pipes: a daemon that the command leaves behind keeps
/// nobody waiting. At the deadline the whole process group is killed and `Overdue` thrown.
package func run(
  _ command: [String], in directory: String? = nil, environment: [String: String] = [:],
  as user: User? = nil, input: [UInt8] = [], timeout: Duration = .seconds(60)
) throws -> Outcome {
  let files = try (0..<3).map { _ in try call(memfd_create("output", UInt32(MFD_CLOEXEC))) }
  defer { for file in files { close(file) } }
  if !input.isEmpty { try call(pwrite(files[0], input, input.count, 0)) }
  let child = try Child(command, in: directory, environment: environment, as: user, files: files)
  let status = try child.wait(within: timeout)
  return Outcome(
    status: status, output: try contents(of: files[1]), errors: try contents(of: files[2]))
}

/// Runs a command that has to succeed; throws `Failure` with its words if it does not.
@discardableResult
package func check(
  _ command: [String], in directory: String? = nil, environment: [String: String] = [:],
  as user: User? = nil, timeout: Duration = .seconds(60)
) throws -> String {
  let outcome = try run(
    command, in: directory, environment: environment, as: user, timeout: timeout)
  if outcome.status != 0 { throw Failure(command: command, outcome: outcome) }
  return outcome.text
}

/// A command that should have succeeded.
package struct Failure: Error, CustomStringConvertible {
  /// The words of the command.
  package let command: [String]
  /// What became of it.
  package let outcome: Outcome

  /// The command, its status and what it wrote.
  package var description: String {
    """
    \(command.joined(separator: " ")): exit status \(outcome.status)
    \(outcome.text)\(outcome.errorText)
    """
  }
}

/// All bytes of an open file, whatever its position is.
private func contents(of file: Int32) throws(Errno) -> [UInt8] {
  var content: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = try call(pread(file, &chunk, chunk.count, off_t(content.count)))
    if count == 0 { return content }
    content += chunk[..<count]
  }
}
