import LinuxSystem

/// Room that a store keeps for removing: a file of nothing, beside the database.
///
/// To remove something SQLite has to write, first to its log, and to move the log into a database that
/// may have to grow. On a full disk there is no room for that, and nothing could ever be made smaller.
/// So a change that removes, and meets a full disk, gets the reserve's room. Until the reserve is
/// whole again the database may not grow: what was given for removing must not be used up by setting.
///
/// Whoever has the store's lock may use it, one thread at a time.
final class StoreReserve: @unchecked Sendable {
  static let fileName = "reserve"

  /// How much there is when it is whole: the log between two checkpoints, and something over.
  let size: Int64
  /// How much there is.
  private(set) var held: Int64
  private let file: FileDescriptor
  private var lastTry = Timestamp(seconds: 0, nanoseconds: 0)

  private static let largest: Int64 = 4_718_592
  private static let smallest: Int64 = 262_144
  private static let step: Int64 = 65_536

  /// The reserve in a store's directory, as it is; nil where there is none and none can be made, or the
  /// file system is too small for one or does not tell.
  init?(in directory: borrowing FileDescriptor) {
    do throws(Errno) {
      let system = try directory.fileSystemStatus()
      let (total, overflow) = system.blocks.multipliedReportingOverflow(by: system.fragmentSize)
      let space = overflow ? Int64.max : Int64(clamping: total)
      guard space / 4 >= Self.smallest else { return nil }
      size = min(Self.largest, max(Self.smallest, space / 32 / Self.step * Self.step))
      file = try directory.open(
        FileName(Self.fileName), [.readWrite, .create, .noFollow, .nonBlocking], mode: 0o600)
      let status = try file.status()
      guard status.type == .regular else { return nil }
      // A copy may have holes.
      held = min(status.size, status.blocks.multipliedReportingOverflow(by: 512).partialValue)
    } catch {
      return nil
    }
  }

  /// All of it is there.
  var isWhole: Bool { held >= size }

  /// After how many pages the log is to be moved into the database, so that there is room for them and
  /// for those of one more transaction: the largest value has 16.
  var logPages: Int64 { min(1000, max(16, size / 4120 - 32)) }

  /// Gives the room up; false when there was none.
  func give() -> Bool {
    guard held > 0 else { return false }
    do throws(Errno) { try file.truncate(to: 0) } catch { return false }
    held = 0
    return true
  }

  /// Takes as much of what is missing as there is; at most once a second with `isPatient`.
  func refill(isPatient: Bool = false) {
    if isWhole { return }
    let now = Timestamp.now
    if isPatient && now.seconds == lastTry.seconds { return }
    lastTry = now
    var wanted = size
    while wanted >= Self.step && wanted > held {
      do throws(Errno) {
        try allocate(wanted)
        held = wanted
        return
      } catch {
        // Some of it may have been had.
        try? file.truncate(to: held)
        guard error == .noSpace || error == .overQuota else { return }
        wanted = wanted / 2 / Self.step * Self.step
      }
    }
  }

  private func allocate(_ length: Int64) throws(Errno) {
    do throws(Errno) {
      try file.allocate(mode: 0, offset: 0, length: length)
    } catch .notSupported {
      let zeros = [UInt8](repeating: 0, count: Int(Self.step))
      _ = try file.seek(to: 0, whence: 0)
      for _ in 0..<(length / Self.step) { try file.write(zeros) }
    }
  }
}

extension StoreError {
  /// There is no room, so that the reserve may help.
  var isForWantOfRoom: Bool {
    reason == .unreachable(.noSpace) || reason == .unreachable(.overQuota)
  }
}
