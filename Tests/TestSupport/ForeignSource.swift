import CLinux
import Glibc
import LinuxSystem

/// File systems of other programs, whose inode numbers are made up as objects are seen.
///
/// FAT and exFAT of the kernel are among `allCases` where the kernel has them and their `mkfs` is
/// installed; a kernel without is tested with exFAT by FUSE alone.
package enum ForeignKind: String, Sendable {
  /// sshfs that talks to an sftp-server which it starts itself.
  case sshfs
  /// sshfs over a connection to an sshd on the loopback interface.
  case sshd
  /// An image with exFAT.
  case exfat
  /// Another directory.
  case bindfs
  /// Images with FAT and exFAT, served by the kernel.
  case vfat, kernelExfat

  /// Whether an object can have a second name.
  package var hasLinks: Bool { !folds }
  /// Whether modes, owners and special files are kept.
  package var isUnix: Bool { !folds }
  /// Whether names that differ in case are one.
  package var folds: Bool { [.exfat, .vfat, .kernelExfat].contains(self) }

  /// Those of them that are here.
  package static let folding = allCases.filter(\.folds)

  fileprivate var mkfs: [String] { self == .vfat ? ["mkfs.vfat"] : ["mkfs.exfat"] }

  /// What mounts an image, with the device and the directory to come.
  fileprivate var mountImage: [String] {
    switch self {
    case .vfat: ["mount", "-t", "vfat", "-o", "utf8"]
    case .kernelExfat: ["mount", "-i", "-t", "exfat"]
    default: ["mount.exfat-fuse", "-o", "allow_other"]
    }
  }
}

extension ForeignKind: CaseIterable {
  package static let allCases: [ForeignKind] =
    [.sshfs, .sshd, .exfat, .bindfs]
    + [.vfat, .kernelExfat].filter { kind in
      let kinds = (try? readFile("/proc/filesystems")).map { String(decoding: $0, as: UTF8.self) }
      let name = kind == .vfat ? "vfat" : "exfat"
      return (kinds ?? "").split(whereSeparator: \.isWhitespace).contains { $0 == name }
        && ["/sbin", "/usr/sbin"].contains { access("\($0)/\(kind.mkfs[0])", X_OK) == 0 }
    }
}

/// A directory that another program serves, mounted for as long as the value lives.
package final class ForeignSource: Sendable {
  /// What it is.
  package let kind: ForeignKind
  /// Where it is mounted.
  package let path: String
  private let scratch: Scratch
  private let server: Child?
  private let command: [String]
  private let device = Lock<String?>(nil)

  /// Mounts one in `scratch`.
  package init(_ kind: ForeignKind, in scratch: Scratch) throws {
    self.kind = kind
    self.scratch = scratch
    path = try scratch.directory("foreign-\(kind)")
    let behind = try scratch.directory("behind-\(kind)")
    var server: Child?
    switch kind {
    case .sshfs:
      let script = try scratch.file(
        "sftp", "#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n", mode: 0o755)
      command = [
        "sshfs", "-o", "allow_other,default_permissions,ssh_command=\(script)", "x:\(behind)", path,
      ]
    case .sshd:
      let port = try Self.freePort()
      server = try Self.startServer(on: port, in: scratch)
      command = [
        "sshfs", "-p", "\(port)", "-o",
        "allow_other,default_permissions,IdentityFile=\(scratch.path("key")),"
          + "UserKnownHostsFile=\(scratch.path("known")),StrictHostKeyChecking=no",
        "root@127.0.0.1:\(behind)", path,
      ]
    case .exfat, .vfat, .kernelExfat:
      let image = try scratch.file("\(kind).image")
      try call(truncate(image, 64 << 20))
      try check(kind.mkfs + [image])
      command = kind.mountImage
    case .bindfs:
      command = ["bindfs", behind, path]
    }
    self.server = server
    try mount()
  }

  deinit { unmountAll() }

  /// Takes it away and mounts it again: whatever it has made up, it makes up anew.
  package func remount() throws {
    unmountAll()
    try mount()
  }

  private func mount() throws {
    if kind.folds {
      let device = try check(["losetup", "--find", "--show", scratch.path("\(kind).image")])
        .filter { $0 != "\n" }
      self.device.withLock { $0 = device }
      try check(command + [device, path])
    } else if kind == .sshd {
      // Until the server listens.
      try waiting(for: "sshd", within: .seconds(20)) {
        try run(command, timeout: .seconds(20)).status == 0 ? () : nil
      }
    } else {
      try check(command)
    }
    try waiting(for: "a mount on \(path)") {
      try mounts().contains { $0.path == path } ? () : nil
    }
  }

  private func unmountAll() {
    unmount(path)
    guard let device = device.withLock({ $0.take() }) else { return }
    _ = try? run(["losetup", "-d", device])
    // The device goes when what served the mount has written all that it still held: not before may
    // the image be mounted again.
    let image = scratch.path("\(kind).image")
    _ = try? waiting(for: "the end of the image's server", within: .seconds(60)) {
      try check(["losetup", "--associated", image]).isEmpty ? () : nil
    }
  }

  private static func startServer(on port: Int, in scratch: Scratch) throws -> Child {
    for name in ["host", "key"] {
      try check(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", scratch.path(name)])
    }
    try check(["cp", scratch.path("key.pub"), scratch.path("authorized")])
    // Where sshd drops its privileges; the service makes it, when it runs.
    try check(["mkdir", "-p", "/run/sshd"])
    let configuration = try scratch.file(
      "sshd_config",
      """
      ListenAddress 127.0.0.1
      Port \(port)
      HostKey \(scratch.path("host"))
      AuthorizedKeysFile \(scratch.path("authorized"))
      PidFile none
      StrictModes no
      UsePAM no
      PasswordAuthentication no
      PermitRootLogin prohibit-password
      Subsystem sftp internal-sftp

      """)
    let log = try call(
      open(scratch.path("sshd.log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600))
    defer { close(log) }
    return try Child(
      ["/usr/sbin/sshd", "-D", "-e", "-f", configuration], files: [log, log, log])
  }

  /// A port of the loopback interface that was free a moment ago.
  private static func freePort() throws -> Int {
    let script = """
      import socket
      s = socket.socket()
      s.bind(("127.0.0.1", 0))
      print(s.getsockname()[1], end="")
      """
    let text = try check(["python3", "-c", script])
    guard let port = Int(text) else { throw Overdue(what: "a free port", limit: .zero) }
    return port
  }
}
