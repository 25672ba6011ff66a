import FUSE
import LinuxSystem
import Overlay

/// What the options of `mount` and `run` decide.
struct MountSettings {
  var isForeground = false
  var isTraced = false
  var isReadOnly = false
  var salvages = false
  var allowsOthers: Bool?
  var store: FileName?
  var identity = IdentityChoice.auto
  var cache = CachePolicy.auto
  var threads = max(4, Processes.processorCount)
  /// What the kernel is asked to do, if it can.
  var features = KernelFeatures.usual
  /// What of it there is no use in mounting without.
  var demanded: KernelFeatures = []
  /// Options for the kernel, such as `nosuid`.
  var kernelOptions: [String] = []

  static let options = [
    Option(
      name: "store", value: "DIRECTORY",
      help: "keep the attributes there (default: SOURCE/.sidecarfs when it is local and writable)"),
    Option(
      name: "identity", value: "KIND",
      help: "how files are known again: auto, handle, inode or path (default: auto)"),
    Option(
      name: "cache", value: "POLICY",
      help: "what the kernel may remember: auto (a second), always (nobody else changes the"
        + " source), never (default: auto)"),
    Option(
      name: "threads", value: "NUMBER", help: "how many requests are served at once (1 to 256)"),
    Option(
      name: "without", value: "FEATURE",
      help: "do without something that the kernel can do: passthrough, privileges,"
        + " parallel-directories, io_uring (may be repeated)"),
    Option(
      name: "io-uring",
      help: "take requests by io_uring, which several programs at once gain by (Linux 6.14, where"
        + " root has allowed it)"),
    Option(name: "read-only", letter: "r", help: "refuse every change"),
    Option(
      name: "allow-other",
      help: "let other users in (root's mounts always do; others need user_allow_other in"
        + " /etc/fuse.conf)"),
    Option(
      name: "salvage",
      help: "a damaged store is moved away, and what can be read of it is kept in a new one"),
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
    case "salvage": salvages = true
    case "allow-other": allowsOthers = true
    case "store": store = try place(value)
    case "identity": identity = try choice(value, of: "identity")
    case "cache": cache = try choice(value, of: "cache")
    case "threads":
      guard let number = value.flatMap({ Int($0.description) }), (1...256).contains(number) else {
        throw CommandFailure(
          .usage, "threads: there is no \(value?.description ?? "")",
          remedy: "choose a number from 1 to 256")
      }
      threads = number
    case "io-uring":
      features.insert(.ring)
      demanded.insert(.ring)
    case "without":
      let feature = try feature(value)
      features.subtract(feature)
      demanded.subtract(feature)
    case "options": try takeList(value)
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

  private func feature(_ value: FileName?) throws(CommandFailure) -> KernelFeatures {
    let text = value?.description ?? ""
    guard let found = KernelFeatures.named.first(where: { $0.name == text }) else {
      throw CommandFailure(
        .usage, "without: there is no \(text)",
        remedy: "choose one of \(KernelFeatures.all.names.joined(separator: ", "))")
    }
    return found.feature
  }

  /// As a path that means the same from everywhere: a daemon leaves the working directory.
  private func place(_ value: FileName?) throws(CommandFailure) -> FileName {
    guard let value, value.count > 0 else {
      throw CommandFailure(
        .usage, "store: no directory is named", remedy: "name one: store=DIRECTORY")
    }
    if value.bytes.first == UInt8(ascii: "/") { return value }
    do throws(Errno) {
      return try Processes.workingDirectory().appending(value)
    } catch {
      throw CommandFailure(
        .system, "store \(value): the working directory: \(error)", remedy: "name an absolute path")
    }
  }

  /// What mount(2) and fusermount3 would refuse, which would say so only when there is a store
  /// already.
  func checkPermission() throws(CommandFailure) {
    if Processes.effectiveUser == 0 {
      let mayMount = try? ProcessPrivileges.has(
        capability: ProcessPrivileges.systemAdministration, pid: Processes.identifier)
      if mayMount == true { return }
      throw CommandFailure(
        .usage, "root may not mount here: it has no CAP_SYS_ADMIN",
        remedy: "let your container have it, as with --cap-add SYS_ADMIN --device /dev/fuse")
    }
    guard allowsOthers == true else { return }
    let configuration = try? FileDescriptor.open(FileName("/etc/fuse.conf"), .readOnly).readToEnd()
    let lines = (configuration ?? []).split(separator: UInt8(ascii: "\n"))
    let isAllowed = lines.contains { line in
      String(decoding: line, as: UTF8.self).split { $0 == " " || $0 == "\t" } == [
        "user_allow_other"
      ]
    }
    if !isAllowed {
      throw CommandFailure(
        .usage, "allow_other is not for ordinary users here",
        remedy: "have root put user_allow_other into /etc/fuse.conf")
    }
  }

  /// Sees that io_uring can be had when it is demanded, before anything is made.
  func checkRing() throws(CommandFailure) {
    guard demanded.contains(.ring) else { return }
    let parameter = FileName("/sys/module/fuse/parameters/enable_uring")
    let isAllowed = try? FileDescriptor.open(parameter, .readOnly).readToEnd().first
    guard isAllowed == UInt8(ascii: "Y") else {
      throw CommandFailure(
        .mount, "io_uring: the kernel does not offer it for FUSE",
        remedy: "on Linux 6.14 or newer, have root do: echo Y > \(parameter)")
    }
    do throws(Errno) { try Session.checkRing() } catch {
      throw CommandFailure(
        .mount, "io_uring: \(error)",
        remedy: error == .notImplemented
          ? "build with liburing, or mount without io_uring"
          : "let this process use io_uring (sysctl kernel.io_uring_disabled, seccomp)")
    }
  }

  /// The list after `-o`. A comma inside a value is written `\,`.
  private mutating func takeList(_ list: FileName?) throws(CommandFailure) {
    for item in Self.items(of: list?.bytes ?? []) {
      let equals = item.firstIndex(of: UInt8(ascii: "="))
      let name = String(decoding: item[..<(equals ?? item.endIndex)], as: UTF8.self)
      let value = equals.flatMap { try? FileName(item[($0 + 1)...]) }
      if try takesValue(name, value) { continue }
      guard value == nil else {
        throw CommandFailure(
          .usage, "mount option \(name) takes no value, or is unknown",
          remedy: "see sidecarfs mount --help")
      }
      switch name {
      case "ro": isReadOnly = true
      case "rw": isReadOnly = false
      case "allow_other": allowsOthers = true
      case "foreground", "debug", "salvage": _ = try take(name, nil)
      case "io_uring": _ = try take("io-uring", nil)
      case _ where Self.forKernel.contains(name): kernelOptions.append(name)
      case _ where Self.forOthers.contains(name): continue
      default:
        throw CommandFailure(
          .usage, "unknown mount option \(name)", remedy: "see sidecarfs mount --help")
      }
    }
  }

  /// Takes an option that has a value, or one of mount(8) that may have one.
  private mutating func takesValue(
    _ name: String, _ value: FileName?
  ) throws(CommandFailure) -> Bool {
    switch name {
    case "store", "identity", "cache", "threads", "without":
      guard let value else {
        throw CommandFailure(
          .usage, "mount option \(name) needs a value", remedy: "write \(name)=VALUE")
      }
      _ = try take(name, value)
    // What we set in any case, and words that mount(8) keeps for people and for systemd.
    case "", "fsname", "subtype", "comment", "user": break
    case _ where name.hasPrefix("x-") || name.hasPrefix("X-"): break
    default: return false
    }
    return true
  }

  private static let forKernel: Set = [
    "suid", "nosuid", "dev", "nodev", "exec", "noexec", "sync", "async", "dirsync", "atime",
    "noatime", "diratime", "nodiratime", "relatime", "norelatime", "strictatime", "nostrictatime",
  ]

  /// For mount(8) and systemd, or ours in any case.
  private static let forOthers: Set = [
    "defaults", "auto", "noauto", "nouser", "users", "owner", "group", "_netdev", "nofail",
    "default_permissions",
  ]

  private static func items(of list: [UInt8]) -> [[UInt8]] {
    var items: [[UInt8]] = [[]]
    var isEscaped = false
    for byte in list {
      if !isEscaped && byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if !isEscaped && byte == UInt8(ascii: ",") {
        items.append([])
      } else {
        items[items.count - 1].append(byte)
        isEscaped = false
      }
    }
    return items
  }
}
