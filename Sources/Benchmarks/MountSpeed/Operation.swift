/// Something whose time is taken.
struct Operation: Sendable {
  /// What it is compared with unless told.
  enum Kind {
    /// A call that a FUSE server has to be asked for: the floor.
    case attribute
    /// A call on a file or a directory: the native file system.
    case file
  }

  let name: String
  let kind: Kind
  /// How often each client makes it in a round.
  let calls: Int
  /// Makes ready what it needs, for so many clients and so many calls of each.
  let prepare: @Sendable (Place, _ clients: Int, _ calls: Int) throws(Trouble) -> Work

  /// All operations, in the order in which they are measured.
  static let all = attributes + files + data + trees
}

/// An operation made ready in one directory.
struct Work: Sendable {
  /// One round of one client: makes the calls, looks at the results, and returns the nanoseconds
  /// that the calls took.
  let round: @Sendable (_ client: Int, _ round: Int) throws(Trouble) -> UInt64
  /// How many operations that is.
  let count: Int
  /// Takes away what would be in the way of other operations.
  let finish: @Sendable () throws(Trouble) -> Void

  init(
    count: Int,
    round: @escaping @Sendable (_ client: Int, _ round: Int) throws(Trouble) -> UInt64,
    finish: @escaping @Sendable () throws(Trouble) -> Void = {}
  ) {
    self.count = count
    self.round = round
    self.finish = finish
  }
}
