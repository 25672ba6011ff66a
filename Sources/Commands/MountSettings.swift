import LinuxSystem
import Overlay

/// What the options of `mount` and `run` decide.
struct MountSettings {
  var isForeground = false
  var isTraced = false
  var isReadOnly = false
  var allowsOthers: Bool?
  var store: FileName?
  var identity = IdentityChoice.auto
  var cache = CachePolicy.auto
  var threads = max(4, Processes.processorCount)
  /// Options for the kernel, such as `nosuid`.
  var kernelOptions: [String] = []

  static let options = [
    Option(
      name: "store", value: "DIRECTORY",
      help: "keep the attributes there (default: SOURCE/.sidecarfs when it is local and writable)"),
    Option(
      name: "identity", value: "KIND",
      help: "how files are known again: auto, handle or inode (default: auto)"),
    Option(
      name: "cache", value: "POLICY",
      help: "what the kernel may remember: auto (a second), always (nobody else changes the"
        + " source), never (default: auto)"),
    Option(
      name: "threads", value: "NUMBER", help: "how many requests are served at once (1 to 256)"),
    Option(name: "read-only", letter: "r", help: "refuse every change"),
    Option(
      name: "allow-other",
      help: "let other users in (root's mounts always do; others need user_allow_other in"
        + " /etc/fuse.conf)"),
    Option(name: "foreground", letter: "f", help: "stay in front and log to standard error"),
    Option(name: "debug", letter: "d", help: "print a line a request; implies --foreground"),
    Option(
      name: "options", letter: "o", value: "LIST",
      help: "the same by commas, as mount(8) passes them: store=..., ro, allow_other, nosuid, ..."),
  ]

  /// Takes an option of the command line; false for one that is not about mounting.
  mutating func take(_ name: String, _ value: FileName?) throws(CommandFailure) -> Bool {
    switch name {
    case "foreground": isForeground = true
    case "debug":
      isTraced = true
      isForeground = true
    case "read-only": isReadOnly = true
    case "allow-other": allowsOthers = true
    case "store": store = value
    case "identity": identity = try choice(value, of: "identity")
    case "cache": cache = try choice(value, of: "cache")
    case "threads":
      guard let number = value.flatMap({ Int($0.description) }), (1...256).contains(number) else {
        throw CommandFailure(
          .usage, "threads: \(value?.description ?? "") is not a number from 1 to 256")
      }
      threads = number
    case "options": try takeList(value?.description ?? "")
    default: return false
    }
    return true
  }

  private func choice<Choice: RawRepresentable & CaseIterable>(
    _ value: FileName?, of name: String
  ) throws(CommandFailure) -> Choice where Choice.RawValue == String {
    let text = value?.description ?? ""
    guard let choice = Choice(rawValue: text) else {
      let all = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw CommandFailure(.usage, "\(name): there is no \(text)", remedy: "choose one of \(all)")
    }
    return choice
  }

  /// The list after `-o`. A comma inside a value is written `\,`.
  private mutating func takeList(_ list: String) throws(CommandFailure) {
    for item in Self.items(of: list) {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = parts.first.map(String.init) ?? ""
      let value = parts.count > 1 ? FileName(String(parts[1])) : nil
      switch name {
      case "": continue
      case "ro": isReadOnly = true
      case "rw": isReadOnly = false
      case "allow_other": allowsOthers = true
      case "suid", "nosuid", "dev", "nodev", "exec", "noexec", "sync", "async", "dirsync",
        "atime", "noatime", "diratime", "nodiratime", "relatime", "norelatime", "strictatime",
        "nostrictatime":
        kernelOptions.append(name)
      // For mount(8), systemd and libfuse themselves; and what we set in any case.
      case "defaults", "auto", "noauto", "user", "nouser", "users", "owner", "group", "_netdev",
        "nofail", "default_permissions", "fsname", "subtype", "comment":
        continue
      case _ where name.hasPrefix("x-") || name.hasPrefix("X-"): continue
      case "store", "identity", "cache", "threads":
        guard value != nil else { throw CommandFailure(.usage, "option \(name) needs a value") }
        _ = try take(name, value)
      case "foreground", "debug": _ = try take(name, nil)
      default:
        throw CommandFailure(
          .usage, "unknown mount option \(item)", remedy: "see sidecarfs mount --help")
      }
    }
  }

  private static func items(of list: String) -> [String] {
    var items = [""]
    var isEscaped = false
    for character in list {
      if isEscaped {
        items[items.count - 1].append(character)
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if character == "," {
        items.append("")
      } else {
        items[items.count - 1].append(character)
      }
    }
    return items
  }
}
