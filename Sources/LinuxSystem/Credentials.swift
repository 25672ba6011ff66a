import CLinux
import Glibc

/// Whom the kernel takes a thread for when it makes or opens something.
public struct Credentials: Hashable, Sendable {
  /// The user.
  public var uid: UInt32
  /// The group.
  public var gid: UInt32
  /// Supplementary groups; nil leaves the thread's own.
  public var groups: [UInt32]?
  /// Keeps the right to pass over mode bits and to make device nodes, for a caller that has it.
  public var overridesPermissions: Bool

  /// Somebody.
  public init(uid: UInt32, gid: UInt32, groups: [UInt32]?, overridesPermissions: Bool) {
    self.uid = uid
    self.gid = gid
    self.groups = groups
    self.overridesPermissions = overridesPermissions
  }
}

/// Runs `body` as somebody else, on this thread alone, and turns back.
///
/// Raw system calls: glibc's functions change every thread of the process. The saved user stays
/// root, which gives the way back and, for `overridesPermissions`, the capabilities that changing
/// the effective user takes from the effective set. Only for a process that is root.
///
/// Throws `EPERM` when the kernel refuses the change. A thread that cannot turn back would serve
/// the next request as the wrong user: the process ends.
public func withCredentials<Result: ~Copyable>(
  _ credentials: Credentials, _ body: () throws(Errno) -> Result
) throws(Errno) -> Result {
  let unchanged = UInt32.max
  let previousGroups = credentials.groups == nil ? nil : threadGroups()
  let previousGroup = UInt32(getegid())
  defer {
    if clinux_thread_setresuid(unchanged, 0, unchanged) != 0
      || clinux_thread_setresgid(unchanged, previousGroup, unchanged) != 0
      || previousGroups.map({ clinux_thread_setgroups($0.count, $0) != 0 }) ?? false
    {
      clinux_syslog(LOG_CRIT, "a thread could not become root again")
      abort()
    }
  }
  if let groups = credentials.groups, clinux_thread_setgroups(groups.count, groups) != 0 {
    throw .notPermitted
  }
  guard clinux_thread_setresgid(unchanged, credentials.gid, unchanged) == 0,
    clinux_thread_setresuid(unchanged, credentials.uid, unchanged) == 0
  else { throw .notPermitted }
  if credentials.overridesPermissions && credentials.uid != 0 { raisePermissionCapabilities() }
  return try body()
}

private func threadGroups() -> [UInt32] {
  let count = getgroups(0, nil)
  guard count > 0 else { return [] }
  var groups = [UInt32](repeating: 0, count: Int(count))
  let filled = getgroups(count, &groups)
  return Array(groups.prefix(max(0, Int(filled))))
}

/// CAP_DAC_OVERRIDE (1), CAP_DAC_READ_SEARCH (2) and CAP_MKNOD (27) of linux/capability.h.
private func raisePermissionCapabilities() {
  var sets = clinux_capabilities()
  guard clinux_thread_capabilities(&sets, 0) == 0 else { return }
  sets.effective.0 |= (1 << 1 | 1 << 2 | 1 << 27) & sets.permitted.0
  _ = clinux_thread_capabilities(&sets, 1)
}

/// Runs `body` with a umask of its own.
///
/// The umask belongs to all threads that share a `fs_struct`: a thread that serves calls
/// ``detachFileSystemState()`` first. The corresponding system call is `umask`.
public func withUmask<Result: ~Copyable>(
  _ mask: UInt32, _ body: () throws(Errno) -> Result
) throws(Errno) -> Result {
  let previous = umask(mask & 0o777)
  defer { umask(previous) }
  return try body()
}

/// Gives this thread a umask and a working directory of its own.
///
/// The corresponding system call is `unshare` with `CLONE_FS`.
public func detachFileSystemState() throws(Errno) {
  try call { unshare(CLONE_FS) }
}

/// What the kernel lets another process do.
public enum ProcessPrivileges {
  /// Whether the process has a capability (a number of linux/capability.h) in this process's user
  /// namespace; false for one that is not visible from here, or gone.
  ///
  /// Throws what keeps this process from looking, such as `EMFILE`: that tells nothing of the other.
  public static func has(capability: Int, pid: Int32) throws(Errno) -> Bool {
    guard pid > 0, (0..<64).contains(capability) else { return false }
    do throws(Errno) {
      let status = try FileDescriptor.open(FileName("/proc/\(pid)/status"), .readOnly)
      guard let effective = effectiveCapabilities(in: try status.readToEnd()),
        effective & (1 << UInt64(capability)) != 0
      else { return false }
      // In a user namespace of its own a process has all capabilities, and none of them here.
      let theirs = try FileDescriptor.open(FileName("/proc/\(pid)/ns/user"), .path).status()
      let ours = try FileDescriptor.open(FileName("/proc/self/ns/user"), .path).status()
      return theirs.device == ours.device && theirs.inode == ours.inode
    } catch {
      let hidden: [Errno] = [.noEntry, .noProcess, .accessDenied, .notPermitted]
      if hidden.contains(error) { return false }
      throw error
    }
  }

  /// CAP_SYS_ADMIN, which decides who sees `trusted.*`.
  public static let systemAdministration = 21
  /// CAP_DAC_OVERRIDE, which passes over mode bits.
  public static let permissionOverride = 1
  /// CAP_FSETID, which keeps set-id bits when a file changes.
  public static let setIDKeeping = 4

  static func effectiveCapabilities(in status: [UInt8]) -> UInt64? {
    for line in status.split(separator: UInt8(ascii: "\n")) {
      let text = String(decoding: line, as: UTF8.self)
      guard text.hasPrefix("CapEff:") else { continue }
      return UInt64(text.dropFirst(7).drop { $0 == "\t" || $0 == " " }, radix: 16)
    }
    return nil
  }
}
