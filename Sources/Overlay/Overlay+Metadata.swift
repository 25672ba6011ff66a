public import FUSE
public import LinuxSystem

/// What stat(2), chmod(2), chown(2), utimensat(2), truncate(2), statfs(2) and access(2) need.
extension Overlay {
  /// What the source says of the object, named or not.
  public func getattr(
    _ node: Node, _ handle: Handle?, _ request: Request
  ) throws(Errno) -> TimedStatus {
    try timedStatus(of: node)
  }

  /// Changes one field after the other. The kernel has checked who asks.
  public func setattr(
    _ node: Node, _ change: StatusChange, _ handle: Handle?, _ request: Request
  ) throws(Errno) -> TimedStatus {
    let inode = try inode(node)
    let held = try inode.held()
    // The owner first: chown(2) takes the set-id bits away, which the mode may be to set. It leaves
    // one of them to who, as we, may keep it.
    if change.uid != nil || change.gid != nil {
      try dropSetID(of: inode, request)
      try held.file.setOwner(uid: change.uid, gid: change.gid)
    } else if change.isEmpty {
      try touch(inode, request)
    }
    if let mode = change.mode { try held.file.setMode(mode) }
    // After the mode, which the kernel may have computed from what it knew.
    if let size = change.size {
      try dropPrivileges(of: inode, request)
      // An open file may be cut by who may no longer open it.
      if let open = handle as? OpenFile {
        try open.file.truncate(to: size)
      } else {
        try held.file.truncateHeld(to: size)
      }
    }
    if !change.accessed.isKept || !change.modified.isKept {
      try held.file.setTimes(accessed: change.accessed, modified: change.modified)
    }
    return try timedStatus(of: node)
  }

  /// Changes nothing but the ctime. This is what comes of chown(-1, -1), which takes set-id bits away,
  /// and of a write by whoever has no right to do that, when the kernel has removed a capability
  /// first.
  private func touch(_ inode: Inode, _ request: Request) throws(Errno) {
    let held = try inode.held()
    let status = try held.file.status()
    if !status.hasSetID || request.uid == 0 || request.uid == status.uid {
      try dropSetID(of: inode, request)
      try held.file.setOwner(uid: nil, gid: nil)
    } else {
      try held.file.setMode(status.mode)
    }
  }

  /// Where a symbolic link leads, byte by byte as the source has it.
  public func readlink(_ node: Node, _ request: Request) throws(Errno) -> FileName {
    try inode(node).held().file.readLink()
  }

  /// Space and limits of the file system that the object is on.
  public func statfs(
    _ node: Node, _ request: Request
  ) throws(Errno) -> FileDescriptor.FileSystemStatus {
    try inode(node).held().file.fileSystemStatus()
  }

  /// Asks the source, as the caller.
  public func access(_ node: Node, mask: Int32, _ request: Request) throws(Errno) {
    let inode = try inode(node)
    let held = try inode.held()
    try asCaller(request, opening: inode) { () throws(Errno) in
      try held.file.checkAccess(mask)
    }
  }

  private func timedStatus(of node: Node) throws(Errno) -> TimedStatus {
    let inode = try inode(node)
    return TimedStatus(
      status: shown(try inode.held().file.status(), of: node, inode),
      timeout: timeouts(for: inode).attributes)
  }
}
