import LinuxSystem

/// `sidecarfs status`.
enum StatusCommand {
  static let name = "status"
  static let summary = "tell of the mounts of this user: source, store, identity, counters"
  static let usage = "sidecarfs status [--json] [MOUNTPOINT]"
  static let options = [
    Option(name: "json", letter: "j", help: "an array of objects, for programs")
  ]

  static let more = """

    examples:
      sidecarfs status
      sidecarfs status --json /mnt/view | python3 -m json.tool

    exit status: 0 success, 1 usage, 2 system error, 32 MOUNTPOINT is not a mount of
    yours, or dead

    """

  static func run(_ words: [FileName], _ output: Output) throws(CommandFailure) -> Int32 {
    let arguments = try ParsedArguments(words, options + [Help.option], command: name)
    if arguments.has("help") {
      return Help.show(name, usage, summary, options, output, more: more)
    }
    let operands = arguments.operands + (arguments.rest ?? [])
    guard operands.count <= 1 else {
      throw CommandFailure(
        .usage, "status: one mount point at the most", remedy: "usage: \(usage)")
    }
    let wanted = operands.first.map { MountPoint.canonical($0) }
    let isJSON = arguments.has("json")
    var mount: MountedFileSystem?
    if let wanted {
      mount = try MountPoint.mounted(at: wanted)
      if mount == nil {
        throw CommandFailure(
          .mount, "\(wanted) is not a mount of sidecarfs", remedy: "see sidecarfs status")
      }
    }
    let answers = ControlSocket.ask(isJSON ? "json" : "text", of: mount)
    if let wanted, answers.isEmpty {
      let isOurs = mount?.owner == Processes.effectiveUser
      throw CommandFailure(
        .mount,
        isOurs
          ? "\(wanted) is mounted, but its daemon does not answer"
          : "\(wanted) was mounted by user \(mount?.owner.map { "\($0)" } ?? "unknown")",
        remedy: isOurs
          ? "if it has died, clear the mount with sidecarfs unmount \(wanted)" : "ask as that user")
    }
    if isJSON {
      output.write("[" + answers.joined(separator: ",") + "]\n")
    } else {
      output.write(answers.isEmpty ? "no mounts of yours\n" : answers.joined(separator: "\n"))
    }
    return ExitStatus.success.rawValue
  }
}
