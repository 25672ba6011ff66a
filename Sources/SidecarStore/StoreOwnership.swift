public import LinuxSystem

/// Decides whether what is in a store's directory can be trusted.
public typealias StoreAdmission =
  @Sendable (_ directory: borrowing FileDescriptor, _ place: FileName) throws(StoreError) -> Void

/// Who could write to a store besides us.
public enum StoreOwnership {
  /// The names of everything that an engine reads back from its directory.
  static let files =
    ["store.db", "store.db-wal", "store.db-shm", "lock", "reserve"] + Journal.fileNames

  /// What a mount by the user `uid` asks of a store: root is careful, others see for themselves.
  public static func admission(forUser uid: UInt32) -> StoreAdmission {
    if uid == 0 { return requireRoot }
    return anybody
  }

  /// Refuses a store whose directory or files anybody but root owns or may write, because whoever
  /// can write records can forge `trusted.*` and `security.*` of any file.
  ///
  /// The directories above do not matter: whoever can rename the store's directory can put another
  /// in its place, but none that passes here.
  public static func requireRoot(
    _ directory: borrowing FileDescriptor, at place: FileName
  ) throws(StoreError) {
    try require(status(of: directory, at: place), .directory, called: "the directory", at: place)
    for name in files {
      guard let status = try status(of: name, in: directory, at: place) else { continue }
      try require(status, .regular, called: name, at: place)
    }
  }

  /// Takes a store as it is.
  public static func anybody(
    _ directory: borrowing FileDescriptor, at place: FileName
  ) throws(StoreError) {}

  private static func require(
    _ status: FileStatus, _ type: FileType, called name: String, at place: FileName
  ) throws(StoreError) {
    let problem: String
    if status.type != type {
      problem = "is not a \(type == .directory ? "directory" : "regular file")"
    } else if status.uid != 0 {
      problem = "belongs to user \(status.uid), not to root"
    } else if status.mode & 0o022 != 0 {
      problem = "can be written by others (mode \(String(status.mode & 0o7777, radix: 8)))"
    } else {
      return
    }
    throw StoreError(.unsafe(file: name, problem: problem), at: place)
  }

  private static func status(
    of directory: borrowing FileDescriptor, at place: FileName
  ) throws(StoreError) -> FileStatus {
    do throws(Errno) {
      return try directory.status()
    } catch {
      throw StoreError(.unreachable(error), at: place)
    }
  }

  /// The status of a file; nil when there is none.
  static func status(
    of name: String, in directory: borrowing FileDescriptor, at place: FileName
  ) throws(StoreError) -> FileStatus? {
    do throws(Errno) {
      return try directory.status(of: FileName(name))
    } catch .noEntry {
      return nil
    } catch {
      throw StoreError(.unreachable(error), at: place)
    }
  }
}
