import FUSE
import LinuxSystem
import Synchronization

/// Which way the data of open files takes.
extension Overlay {
  /// The way for a file that is about to be opened, or was just made.
  ///
  /// The kernel is given a file once for all its open files: it wants one way for an inode. Not
  /// given is what has no name of its own to it (on file systems that make inode numbers up, where
  /// another file may be under the name tomorrow), and what is reached over a network, where the
  /// caller's rights count and the kernel would open it with ours.
  ///
  /// Writes that pass us by take no set-id bit away. So they come to us where there is one, and
  /// where one could be set while the file is open by somebody whose rights the writer would gain:
  /// from all but root and the owner.
  func passage(
    of inode: Inode, _ flags: FileDescriptor.OpenFlags, _ request: Request,
    _ known: FileStatus? = nil
  ) throws(Errno) -> Passage {
    guard inode.type == .regular, inode.naming != .byName,
      !FileSystemKind.isRemote(inode.volume.type), let backing = try backing(of: inode, request)
    else { return .served }
    // The kernel opens the file below in the same way. What cannot be opened so natively, neither is
    // it here while others have it open.
    if flags.contains(.direct), try !inode.volume.allowsDirect(inode.held()) {
      if backing.isInUse { throw .invalidArgument }
      return .uncached
    }
    if flags.intersection(.accessMode) == .readOnly { return .backed(backing) }
    // What fcntl(2) changes about appending does not reach the file below.
    if flags.contains(.append) { return .mapped(backing) }
    let status: FileStatus
    if let known { status = known } else { status = try inode.held().file.status() }
    let isSafe = !status.hasSetID && (request.uid == 0 || request.uid == status.uid)
    return isSafe ? .backed(backing) : .mapped(backing)
  }

  private func backing(of inode: Inode, _ request: Request) throws(Errno) -> BackingFile? {
    let held = try inode.held()
    return inode.withState { state in
      switch state.backing {
      case .file(let file): return file
      case .refused: return nil
      case .unasked:
        do throws(Errno) {
          let file = try request.give(held.file)
          state.backing = .file(file)
          return file
        } catch {
          // For as long as the kernel knows the inode: it wants one way for all its open files.
          state.backing = .refused
          return nil
        }
      }
    }
  }
}

/// What the kernel has of a file.
enum Backing {
  case unasked
  case refused
  case file(BackingFile)
}
