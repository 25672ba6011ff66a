import LinuxSystem
import Overlay
import SidecarStore

/// Takes away what a start that fails has made: a refused mount leaves nothing behind.
struct NewStore: ~Copyable {
  private let parent: FileDescriptor
  private let name: FileName
  private let hadDirectory: Bool
  private let hadStore: Bool

  /// Looks at a place before a store is made there; nil when nothing can be told, and then nothing
  /// will be taken away.
  static func look(at location: StoreLocation, in source: borrowing Source) -> NewStore? {
    do throws(Errno) {
      switch location {
      case .inSource:
        return NewStore(
          try source.directory.duplicate(), FileName(StoreLocation.directoryName))
      case .path(let path):
        var steps = path.bytes.split(separator: UInt8(ascii: "/"))
        guard let last = steps.popLast() else { return nil }
        let above = try FileName(steps.flatMap { [UInt8(ascii: "/")] + $0 } + [UInt8(ascii: "/")])
        return NewStore(
          try FileDescriptor.open(above, [.path, .directory]), try FileName(last))
      }
    } catch {
      return nil
    }
  }

  private init(_ parent: consuming FileDescriptor, _ name: FileName) {
    hadDirectory = (try? parent.status(of: name)) != nil
    hadStore = (try? parent.status(of: name.appending(FileName("store.db")))) != nil
    self.name = name
    self.parent = parent
  }

  /// Removes the store, closed and without a record, if it was not there before.
  func remove() {
    guard !hadStore, let directory = try? parent.open(name, [.path, .directory]) else { return }
    for file in ["store.db", "store.db-wal", "store.db-shm", "lock"] {
      try? directory.unlink(FileName(file))
    }
    if !hadDirectory { try? parent.removeDirectory(name) }
  }
}
