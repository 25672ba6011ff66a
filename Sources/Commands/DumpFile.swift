import LinuxSystem

/// Where a dump is written to: a failure, such as a full disk, is one of the command.
final class DumpFile {
  private let file: FileDescriptor
  private let path: String
  private var buffer: [UInt8] = []

  /// A new file, or standard output.
  init(_ path: FileName?) throws(CommandFailure) {
    self.path = path?.description ?? "standard output"
    do throws(Errno) {
      if let path {
        file = try FileDescriptor.open(path, [.writeOnly, .create, .truncate], mode: 0o600)
      } else {
        file = try FileDescriptor.standardOutput()
      }
    } catch {
      throw CommandFailure(
        .system, "cannot write \(path?.description ?? "to standard output"): \(error)",
        remedy: "choose another file with --output")
    }
  }

  /// Adds bytes.
  func write(_ bytes: [UInt8]) throws(CommandFailure) {
    buffer += bytes
    if buffer.count > 1 << 16 { try finish() }
  }

  /// Writes what is left.
  func finish() throws(CommandFailure) {
    defer { buffer = [] }
    do throws(Errno) { try file.write(buffer) } catch {
      throw CommandFailure(
        .system, "writing \(path) failed: \(error)", remedy: "it is not complete")
    }
  }
}

extension ParsedArguments {
  /// The last value of an option.
  func value(_ name: String) -> FileName? { options.last { $0.name == name }?.value }

  /// The last value of an option that knows a few words.
  func choice<Choice: RawRepresentable & CaseIterable>(
    _ name: String, of command: String
  ) throws(CommandFailure) -> Choice? where Choice.RawValue == String {
    guard let text = value(name)?.description else { return nil }
    if let choice = Choice(rawValue: text) { return choice }
    let all = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    throw CommandFailure(
      .usage, "\(command): --\(name): there is no \(text)", remedy: "choose one of \(all)")
  }
}
