public import LinuxSystem

/// The command line program.
public enum Sidecarfs {
  /// The version of this release.
  public static let version = "0.1.0"

  /// Runs the command that `words` (without the program's name) ask for; the exit status.
  public static func run(_ words: [FileName], _ output: Output) -> Int32 {
    do throws(CommandFailure) {
      return try dispatch(words, output)
    } catch {
      output.complain("sidecarfs: \(error.message)")
      return error.status.rawValue
    }
  }

  /// The commands that end with the numbers of fsck(8).
  private static func runTool(_ words: [FileName], _ output: Output) -> Int32 {
    let rest = Array(words.dropFirst())
    return ToolStatus.running(output) { () throws(CommandFailure) in
      switch words.first?.description {
      case "check": try CheckCommand.run(rest, output)
      case "prune": try PruneCommand.run(rest, output)
      case "rebind": try RebindCommand.run(rest, output)
      case "quarantine": try QuarantineCommand.run(rest, output)
      case "export": try ExportCommand.run(rest, output)
      default: try ImportCommand.run(rest, output)
      }
    }
  }

  private static func dispatch(
    _ words: [FileName], _ output: Output
  ) throws(CommandFailure) -> Int32 {
    let rest = Array(words.dropFirst())
    switch words.first?.description {
    case "mount": return try MountCommand.run(rest, output)
    case "unmount", "umount": return try UnmountCommand.run(rest, output)
    case "run": return try RunCommand.run(rest, output)
    case "status": return try StatusCommand.run(rest, output)
    case "check", "prune", "rebind", "quarantine", "export", "import": return runTool(words, output)
    case "help":
      guard let word = rest.first, rest.count == 1 else { fallthrough }
      return try dispatch([word, FileName("--help")], output)
    case "--help", "-h":
      output.write(Help.overview)
      return ExitStatus.success.rawValue
    case "--version", "-V":
      output.write("sidecarfs \(version)\n")
      return ExitStatus.success.rawValue
    case nil:
      throw CommandFailure(.usage, "nothing to do", remedy: "see sidecarfs --help")
    case .some(let word):
      // mount(8) passes SOURCE MOUNTPOINT -o OPTIONS. A name that is no path was meant as a command.
      let isPath = word.contains("/") || words.count > 1 && FileDescriptor.exists(words[0])
      if !isPath && !word.hasPrefix("-") {
        throw CommandFailure(
          .usage, "there is no command \(word)", remedy: "see sidecarfs --help")
      }
      return try MountCommand.run(words, output)
    }
  }
}

extension FileDescriptor {
  fileprivate static func exists(_ path: FileName) -> Bool { (try? open(path, .path)) != nil }
}
