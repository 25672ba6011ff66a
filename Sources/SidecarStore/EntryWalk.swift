/// A walk over the names that a store knows, from a directory down: a directory before what is in
/// it, names in the order of their bytes.
///
/// `Place` is whatever the walker knows of a directory, such as its path or an open file.
public struct EntryWalk<Place> {
  private struct Frame {
    let directory: Int64
    let place: Place
    /// What was read and not yet handed out, last first.
    var pending: [StoredEntry] = []
    var last: [UInt8]?
    var isAtEnd = false
  }

  private let store: StoreFile
  private var frames: [Frame] = []
  private var entered: Set<Int64> = []

  /// Begins in a directory.
  public init(_ store: StoreFile, from directory: Int64, at place: Place) {
    self.store = store
    descend(into: directory, at: place)
  }

  /// The next name, and the place of the directory that it is in; nil at the end.
  public mutating func next() throws(StoreError) -> (entry: StoredEntry, place: Place)? {
    while var frame = frames.popLast() {
      if frame.pending.isEmpty && !frame.isAtEnd {
        frame.pending = try store.entries(of: frame.directory, after: frame.last).reversed()
        frame.last = frame.pending.first?.name
        frame.isAtEnd = frame.pending.isEmpty
      }
      guard let entry = frame.pending.popLast() else { continue }
      frames.append(frame)
      return (entry, frame.place)
    }
    return nil
  }

  /// What is in a directory comes next. Once for each: a store that was tampered with may lead round
  /// in a circle.
  public mutating func descend(into directory: Int64, at place: Place) {
    guard entered.insert(directory).inserted else { return }
    frames.append(Frame(directory: directory, place: place))
  }
}
