import LinuxSystem
import Overlay
import SidecarStore

/// Takes away what a start that fails has made: a refused mount leaves nothing behind.
struct NewStore: ~Copyable {
  /// The last directory on the way to the store that was there.
  private let start: FileDescriptor
  /// The way from there: the last step leads to the store's directory.
  private let way: [FileName]
  private let hadDirectory: Bool
  private let hadStore: Bool

  /// Looks at a place before a store is made there; nil when nothing can be told, and then nothing
  /// will be taken away.
  static func look(at location: StoreLocation, in source: borrowing Source) -> NewStore? {
    do throws(Errno) {
      switch location {
      case .inSource:
        return NewStore(
          from: try source.directory.duplicate(), [FileName(StoreLocation.directoryName)])
      case .path(let path):
        var steps = try path.bytes.split(separator: UInt8(ascii: "/"))
          .map { (bytes) throws(Errno) in try FileName(bytes) }
        var start = try FileDescriptor.open(FileName("/"), [.path, .directory])
        while steps.count > 1 {
          do throws(Errno) { start = try start.open(steps[0], [.path, .directory]) } catch { break }
          steps.removeFirst()
        }
        return steps.isEmpty ? nil : NewStore(from: start, steps)
      }
    } catch {
      return nil
    }
  }

  private init(from start: consuming FileDescriptor, _ way: [FileName]) {
    let directory = Self.path(way)
    hadDirectory = (try? start.status(of: directory)) != nil
    hadStore = (try? start.status(of: directory.appending(FileName("store.db")))) != nil
    self.way = way
    self.start = start
  }

  /// Removes the store, closed and without a record, if it was not there before.
  func remove() {
    guard !hadStore, let directory = try? start.open(Self.path(way), [.path, .directory]) else {
      return
    }
    for file in [
      "store.db", "store.db-wal", "store.db-shm", "lock", "reserve", "journal-0", "journal-1",
    ] {
      try? directory.unlink(FileName(file))
    }
    if hadDirectory { return }
    for count in (1...way.count).reversed() {
      try? start.removeDirectory(Self.path(Array(way.prefix(count))))
    }
  }

  private static func path(_ way: [FileName]) -> FileName {
    way.dropFirst().reduce(way[0]) { $0.appending($1) }
  }
}
