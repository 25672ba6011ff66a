import AttributeModel
import FUSE
import LinuxSystem
import Synchronization

/// Set-id bits and `security.capability`, which a file loses when it is changed.
///
/// A file system of the kernel does so itself (`file_remove_privs`); the kernel leaves it to a FUSE
/// server with `FUSE_HANDLE_KILLPRIV_V2`, and where the group may not execute a file in any case.
/// The capability it removes by a request of its own where it writes past us or keeps pages, not
/// where writes come to us (`FOPEN_DIRECT_IO`).
extension Overlay {
  /// Takes from a file that is about to be changed what it may not keep.
  func dropPrivileges(of inode: Inode, _ request: Request) throws(Errno) {
    try dropSetID(of: inode, request)
    try dropCapability(of: inode)
  }

  /// Whoever changes the file: CAP_FSETID does not keep it.
  private func dropCapability(of inode: Inode) throws(Errno) {
    // When the store cannot be read, files go on, as they do when the kernel asks for the attribute
    // and hears an error.
    guard inode.volume.key != nil, let attributes = try? attributes(of: inode),
      attributes.find(.capability) != nil
    else { return }
    do throws(Errno) {
      try remove(.capability, from: inode)
    } catch .noAttribute {
      // Another was faster.
    }
  }

  /// Takes set-id bits from a file that is about to be changed, by the rules of
  /// `setattr_should_drop_suidgid` (fs/attr.c): the set-user-ID bit goes, and the set-group-ID bit
  /// where the group may execute the file or the caller is not of the group. Nothing happens when
  /// the caller has CAP_FSETID.
  func dropSetID(of inode: Inode, _ request: Request) throws(Errno) {
    guard inode.hasSetID.load(ordering: .relaxed) else { return }
    let held = try inode.held()
    let status = try held.file.status()
    guard status.hasSetID else { return }
    var lost = status.mode & FileStatus.setUserBit
    if status.mode & FileStatus.setGroupBit != 0,
      status.mode & FileStatus.groupExecution != 0 || !isMember(request, of: status.gid)
    {
      lost |= FileStatus.setGroupBit
    }
    guard lost != 0,
      try !ProcessPrivileges.has(capability: ProcessPrivileges.setIDKeeping, pid: request.pid)
    else { return }
    try held.file.setMode(status.mode & ~lost)
    // The kernel may run the file by the mode that it remembers.
    request.forgetStatus(of: inode)
  }

  private func isMember(_ request: Request, of group: UInt32) -> Bool {
    request.gid == group || request.supplementaryGroups().contains(group)
  }
}
