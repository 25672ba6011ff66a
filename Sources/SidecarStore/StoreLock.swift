import Glibc
import LinuxSystem

/// A store's `lock` file: whoever holds its lock is the one mount that writes.
///
/// The kernel drops the lock with the last descriptor, so a killed daemon leaves none behind. The
/// text in the file is for people: the process, and where it is mounted.
enum StoreLock {
  /// Takes the lock for as long as the descriptor is open, or says who has it.
  static func take(
    in directory: borrowing FileDescriptor, at place: FileName, for mountpoint: FileName
  ) throws(StoreError) -> FileDescriptor {
    var holder: [UInt8]
    do throws(Errno) {
      let file = try directory.open(
        FileName("lock"), [.readWrite, .create, .noFollow], mode: 0o600)
      guard try isTaken(file) else {
        try file.truncate(to: 0)
        do throws(Errno) {
          try file.write(Array("\(getpid()) ".utf8) + mountpoint.bytes + [UInt8(ascii: "\n")])
        } catch {
          // Only for people to read; on a full disk the lock is held without.
          if error != .noSpace && error != .overQuota { throw error }
        }
        return file
      }
      holder = try file.read(at: 0, count: 8192)
    } catch {
      throw StoreError(error == .readOnly ? .readOnly : .unreachable(error), at: place)
    }
    if holder.last == UInt8(ascii: "\n") { holder.removeLast() }
    let text = String(decoding: holder, as: UTF8.self)
    throw StoreError(.inUse(by: describe(text)), at: place)
  }

  /// Whoever has the lock; takes it for as long as the descriptor is open if nobody does. Without a
  /// lock file, or where it cannot be opened, nobody has it and nothing is taken.
  static func look(
    in directory: borrowing FileDescriptor, at place: FileName, for purpose: FileName
  ) -> Hold {
    do throws(StoreError) {
      // Taking it would make the file where it is missing.
      guard (try? directory.status(of: FileName("lock"))) != nil else { return Hold() }
      return Hold(lock: try take(in: directory, at: place, for: purpose))
    } catch {
      if case .inUse(let holder) = error.reason { return Hold(holder: holder) }
      return Hold()
    }
  }

  /// Who has a store.
  struct Hold: ~Copyable {
    /// Another process.
    let holder: String?
    /// We have.
    var lock: FileDescriptor?

    init(holder: String? = nil, lock: consuming FileDescriptor? = nil) {
      self.holder = holder
      self.lock = lock
    }
  }

  private static func isTaken(_ file: borrowing FileDescriptor) throws(Errno) -> Bool {
    do throws(Errno) {
      try file.lockWhole(LOCK_EX | LOCK_NB)
      return false
    } catch .tryAgain {
      return true
    }
  }

  private static func describe(_ note: String) -> String {
    let parts = note.split(separator: " ", maxSplits: 1)
    guard parts.count == 2 else { return "another mount" }
    if !parts[1].hasPrefix("/") { return "\(parts[1]) (process \(parts[0]))" }
    return "the mount at \(parts[1]) (process \(parts[0]))"
  }
}
