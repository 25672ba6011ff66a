import LinuxSystem

/// The text that `--help` prints.
enum Help {
  static let option = Option(name: "help", letter: "h", help: "show this")

  static let overview = """
    usage: sidecarfs SOURCE MOUNTPOINT [-o OPTIONS]
           sidecarfs COMMAND [OPTIONS] ...

    Shows the directory SOURCE at MOUNTPOINT with extended attributes, whatever file system
    SOURCE is on. File operations pass through; attributes are kept beside the files.

    commands:
      mount       \(MountCommand.summary)
      unmount     \(UnmountCommand.summary)
      run         \(RunCommand.summary)
      status      \(StatusCommand.summary)
      check       \(CheckCommand.summary)
      prune       \(PruneCommand.summary)
      rebind      \(RebindCommand.summary)
      quarantine  \(QuarantineCommand.summary)
      export      \(ExportCommand.summary)
      import      \(ImportCommand.summary)

    sidecarfs COMMAND --help tells more about each.

    examples:
      sidecarfs mount /srv/data /mnt/view
      sidecarfs run . -- make check
      sidecarfs unmount /mnt/view

    in /etc/fstab:
      /srv/data  /srv/view  fuse.sidecarfs  defaults,nofail  0  0

    exit status: 0 success, 1 usage or permission, 2 system error, 32 mount failure;
    run: the command's own, 125 sidecarfs failed, 126 not executable, 127 not found;
    check and those below it: 1 corrected, 4 errors left, 8 failed, 16 usage, 32 cancelled

    """

  static func show(
    _ name: String, _ usage: String, _ summary: String, _ options: [Option], _ output: Output,
    more: String = ""
  ) -> Int32 {
    let capital = summary.prefix(1).uppercased() + summary.dropFirst()
    var text = "usage: \(usage)\n\n\(capital).\n\noptions:\n"
    for option in options + [option] {
      let letter = option.letter.map { "-\($0), " } ?? "    "
      let left = "  \(letter)--\(option.name)\(option.value.map { " \($0)" } ?? "")"
      text += wrapped(option.help, after: left)
    }
    output.write(text + more)
    return ExitStatus.success.rawValue
  }

  /// Two columns, 80 characters wide.
  private static func wrapped(_ text: String, after left: String) -> String {
    let indent = 30
    var line = left.count < indent - 1 ? left : left + "\n"
    var width = line.hasSuffix("\n") ? 0 : left.count
    var result = ""
    line += String(repeating: " ", count: indent - width)
    width = indent
    for word in text.split(separator: " ") {
      if width + word.count > 79 {
        result += line + "\n"
        line = String(repeating: " ", count: indent)
        width = indent
      }
      line += (width == indent ? "" : " ") + word
      width += word.count + (width == indent ? 0 : 1)
    }
    return result + line + "\n"
  }
}
