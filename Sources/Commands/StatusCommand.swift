import LinuxSystem

/// `sidecarfs status`.
enum StatusCommand {
  static let name = "status"
  static let summary = "tell of the mounts of this user: source, store, identity, counters"
  static let usage = "sidecarfs status [--json] [MOUNTPOINT]"
  static let options = [
    Option(name: "json", letter: "j", help: "an array of objects, for programs")
  ]

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> Int32 {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") { return Help.show(name, usage, summary, options, output) }
    guard arguments.operands.count <= 1 else {
      throw CommandFailure(
        .usage, "status: one mount point at the most", remedy: "usage: \(usage)")
    }
    let wanted = arguments.operands.first.map { MountPoint.canonical($0) }
    let isJSON = arguments.has("json")
    let answers = ControlSocket.ask(isJSON ? "json" : "text", of: wanted)
    if let wanted, answers.isEmpty {
      let isMounted = try MountPoint.mounted().contains { $0.mountPoint == wanted }
      throw CommandFailure(
        .mount,
        isMounted
          ? "\(wanted) is mounted, but its daemon does not answer"
          : "\(wanted) is not a mount of sidecarfs",
        remedy: isMounted
          ? "ask as the user who mounted it, or clear a dead mount with sidecarfs unmount \(wanted)"
          : "see sidecarfs status")
    }
    if isJSON {
      output.write("[" + answers.joined(separator: ",") + "]\n")
    } else {
      output.write(answers.isEmpty ? "nothing is mounted\n" : answers.joined(separator: "\n"))
    }
    return ExitStatus.success.rawValue
  }
}
