import FUSE
import LinuxSystem

/// Acting as the caller, so that the source's own checks apply and new objects are the caller's.
extension Overlay {
  /// Runs `body` as the user who asks.
  ///
  /// The groups a process has besides its first cost a look into /proc. Making objects needs them
  /// at once, as they decide on the set-group-ID bit; so does whatever can refuse a group.
  func asCaller<Result: ~Copyable>(
    _ request: Request, groupsMatter: Bool, _ body: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    guard options.actsAsCaller, request.uid != 0 || request.gid != 0 else { return try body() }
    var caller = Credentials(
      uid: request.uid, gid: request.gid,
      groups: groupsMatter ? request.supplementaryGroups() : [], overridesPermissions: false)
    do throws(Errno) {
      return try withCredentials(caller, body)
    } catch {
      guard error == .accessDenied || error == .notPermitted else { throw error }
      if !groupsMatter {
        caller.groups = request.supplementaryGroups()
        if caller.groups?.isEmpty == false {
          do throws(Errno) {
            return try withCredentials(caller, body)
          } catch {
            guard error == .accessDenied || error == .notPermitted else { throw error }
          }
        }
      }
      // The kernel has let the caller pass: who may pass over mode bits without being root does so
      // here too.
      guard
        try ProcessPrivileges.has(
          capability: ProcessPrivileges.permissionOverride, pid: request.pid)
      else { throw error }
      caller.overridesPermissions = true
      return try withCredentials(caller, body)
    }
  }

  /// Runs `body`, which opens an object, as the user who asks.
  ///
  /// Mode bits alone the kernel has checked, with all groups: then more groups can only allow more,
  /// and it is tried without. But an access control list can forbid a group, and who checks at the
  /// other end of a network is not known.
  func asCaller<Result: ~Copyable>(
    _ request: Request, opening inode: Inode, _ body: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    guard options.actsAsCaller, request.uid != 0 || request.gid != 0 else { return try body() }
    let held = try inode.held()
    let groupsMatter =
      FileSystemKind.isRemote(inode.volume.type) || held.file.hasAccessControlList
    return try asCaller(request, groupsMatter: groupsMatter, body)
  }

  /// Runs `body`, which makes an object, as the user who asks and with that user's umask: the
  /// source's file system applies it, or does not where a directory has a default ACL.
  func making<Result: ~Copyable>(
    _ request: Request, _ body: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    try asCaller(request, groupsMatter: true) { () throws(Errno) in
      try withUmask(request.umask, body)
    }
  }
}
