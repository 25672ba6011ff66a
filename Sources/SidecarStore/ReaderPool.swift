import AttributeModel
import LinuxSystem
import SQLite

/// Connections that only read: each has its own view of the last commit, so that no reader ever
/// waits for the writer.
final class ReaderPool: Sendable {
  private struct State {
    var idle: [StoreReader] = []
    var count = 0
    var isClosed = false
  }

  private enum Place {
    case idle(StoreReader)
    case empty
  }

  let path: FileName
  private let limit: Int
  /// The file that is read: another may come in its place, and must not be read.
  private let file: (device: UInt64, inode: UInt64)?
  private let state = Lock(State())
  private let isFree = Condition()

  /// A pool that makes connections as they are needed, `limit` at most.
  init(_ path: FileName, limit: Int) {
    self.path = path
    self.limit = limit
    file = Self.file(at: path)
  }

  /// Runs `body` with a connection that no other thread uses meanwhile.
  func read<Result>(
    _ body: (StoreReader) throws(SQLiteError) -> Result
  ) throws(Errno) -> Result {
    do throws(SQLiteError) {
      let reader = try take()
      defer { giveBack(reader) }
      return try body(reader)
    } catch {
      throw error.errno
    }
  }

  /// Closes the connections; a reader that is at work is closed when it is done.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.idle = []
    }
    isFree.broadcast()
  }

  private func take() throws(SQLiteError) -> StoreReader {
    let place = try state.wait(for: isFree) { (state) throws(SQLiteError) -> Place? in
      if state.isClosed { throw SQLiteError.closed }
      if let reader = state.idle.popLast() { return .idle(reader) }
      guard state.count < limit else { return nil }
      state.count += 1
      return .empty
    }
    if case .idle(let reader) = place { return reader }
    do throws(SQLiteError) {
      let reader = try StoreReader(path)
      guard let file, let found = Self.file(at: path), found == file else { throw .moved }
      return reader
    } catch {
      state.withLock { $0.count -= 1 }
      isFree.signal()
      // Who asks for an attribute must not be told that the file is missing.
      throw error.errno == .noEntry ? .moved : error
    }
  }

  private static func file(at path: FileName) -> (device: UInt64, inode: UInt64)? {
    (try? FileDescriptor.open(path, [.path, .noFollow]).status()).map { ($0.device, $0.inode) }
  }

  private func giveBack(_ reader: StoreReader) {
    state.withLock { state in
      if state.isClosed { state.count -= 1 } else { state.idle.append(reader) }
    }
    isFree.signal()
  }
}
