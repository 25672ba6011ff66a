import Glibc

/// One step of the model test: made on the mount and on a native file system, with everything it
/// needs in it, so that steps can be left out of a run and the rest still means the same.
indirect enum ModelAction: Hashable, Sendable {
  case create(String)
  case write(String, at: Int, count: Int, byte: UInt8)
  case truncate(String, size: Int)
  case read(String)
  case mkdir(String)
  case rmdir(String)
  case unlink(String)
  case rename(String, String, flags: UInt32)
  case link(String, String)
  case symlink(String, String)
  case fifo(String)
  case chmod(String, UInt32)
  case names(String)
  case set(String, String, size: Int, byte: UInt8, flags: Int32)
  case get(String, String)
  case list(String)
  case remove(String, String)
  /// Opens a file in a slot, or a nameless one in a directory, until it is closed.
  case open(Int, String)
  case temporary(Int, String)
  case close(Int)
  case writeOpen(Int, at: Int, count: Int, byte: UInt8)
  case setOpen(Int, String, size: Int, byte: UInt8)
  case listOpen(Int)
  case linkOpen(Int, String)
  case sync(Int)
  /// The daemon ends in good order, or by SIGKILL, and another takes its place.
  case remount
  case kill
  /// Made on the source and not on the mount.
  case underneath(ModelAction)
}

extension ModelAction: CustomStringConvertible {
  var description: String {
    switch self {
    case .create(let path): "create \(path)"
    case .write(let path, let offset, let count, let byte):
      "write \(path) at \(offset): \(count) times \(byte)"
    case .truncate(let path, let size): "truncate \(path) to \(size)"
    case .read(let path): "read \(path)"
    case .mkdir(let path): "mkdir \(path)"
    case .rmdir(let path): "rmdir \(path)"
    case .unlink(let path): "unlink \(path)"
    case .rename(let from, let to, let flags):
      "rename \(from) \(to) "
        + flagNames(Int32(bitPattern: flags), ["NOREPLACE": 1, "EXCHANGE": 2])
    case .link(let from, let to): "link \(from) \(to)"
    case .symlink(let content, let path): "symlink \(content) \(path)"
    case .fifo(let path): "mkfifo \(path)"
    case .chmod(let path, let mode): "chmod \(octal(mode)) \(path)"
    case .names(let path): "names in \(path)"
    case .set(let path, let name, let size, let byte, let flags):
      "set \(path) \(name) \(size) times \(byte) "
        + flagNames(flags, ["CREATE": 1, "REPLACE": 2])
    case .get(let path, let name): "get \(path) \(name)"
    case .list(let path): "list \(path)"
    case .remove(let path, let name): "remove \(path) \(name)"
    case .open(let slot, let path): "slot \(slot): open \(path)"
    case .temporary(let slot, let path): "slot \(slot): open O_TMPFILE \(path)"
    case .close(let slot): "slot \(slot): close"
    case .writeOpen(let slot, let offset, let count, let byte):
      "slot \(slot): write at \(offset): \(count) times \(byte)"
    case .setOpen(let slot, let name, let size, let byte):
      "slot \(slot): set \(name) \(size) times \(byte)"
    case .listOpen(let slot): "slot \(slot): list"
    case .linkOpen(let slot, let path): "slot \(slot): link to \(path)"
    case .sync(let slot): "slot \(slot): fsync"
    case .remount: "remount"
    case .kill: "kill -9, mount again"
    case .underneath(let action): "underneath: \(action)"
    }
  }
}
