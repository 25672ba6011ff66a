import Glibc
import LinuxSystem
package import Testing

/// The kernel's switch for FUSE over io_uring, in the position that a test needs, until this goes.
///
/// The switch is the machine's, and several runs may need it at once. Whoever needs it on holds a
/// shared lock; the first notes how it was, the last puts that back. Whoever needs it off is alone.
package final class RingAllowance: Sendable {
  private static let parameter = "/sys/module/fuse/parameters/enable_uring"
  private static let note = "/tmp/sidecarfs-test-uring"

  private let users: Int32

  /// Whether this kernel has the switch (Linux 6.14), and we may turn it.
  package static var isPossible: Bool { geteuid() == 0 && access(parameter, W_OK) == 0 }

  /// Turns the switch; waits for runs that need the other position, a minute at the most.
  package init(_ isOn: Bool = true) throws {
    users = try call(open(Self.note + ".users", O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
    do {
      try waiting(for: "another run's use of io_uring", within: .seconds(60)) { [users] in
        try Self.alone { () throws -> Void? in
          guard flock(users, (isOn ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else { return nil }
          if try Self.noted.isEmpty { try writeFile(Self.note, readFile(Self.parameter)) }
          try Self.turn(isOn ? [UInt8(ascii: "Y")] : [UInt8(ascii: "N")])
          return ()
        }
      }
    } catch {
      close(users)
      throw error
    }
  }

  deinit {
    try? Self.alone {
      flock(users, LOCK_UN)
      guard flock(users, LOCK_EX | LOCK_NB) == 0 else { return }
      let before = try Self.noted
      if !before.isEmpty { try Self.turn(before) }
      unlink(Self.note)
    }
    close(users)
  }

  private static var noted: [UInt8] {
    get throws {
      access(note, F_OK) == 0 ? try readFile(note) : []
    }
  }

  private static func turn(_ position: [UInt8]) throws {
    let file = try call(open(parameter, O_WRONLY | O_CLOEXEC))
    defer { close(file) }
    try call(write(file, position, position.count))
  }

  /// Runs `body` while no other run changes the switch.
  private static func alone<Result>(_ body: () throws -> Result) throws -> Result {
    let lock = try call(open(note + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
    defer { close(lock) }
    try call(flock(lock, LOCK_EX))
    return try body()
  }
}

extension Trait where Self == ConditionTrait {
  /// For tests of requests that come by io_uring.
  package static var needsRing: Self {
    .enabled(
      if: RingAllowance.isPossible && access("/dev/fuse", R_OK | W_OK) == 0,
      "needs root, /dev/fuse and Linux 6.14 with FUSE over io_uring")
  }
}

/// Options of each way that requests can come, for tests that have to hold for all of them.
package let transports: [[String]] = [[]] + (RingAllowance.isPossible ? [["-o", "io_uring"]] : [])
