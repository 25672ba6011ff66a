/// What was measured of one operation in one directory.
public struct Figure: Equatable, Sendable {
  /// The operation, such as "getxattr 64 B".
  public var operation: String
  /// How many clients made it at the same time.
  public var clients: Int
  /// The name of the directory.
  public var directory: String
  /// The name of the directory that it is compared with.
  public var reference: String
  /// The times of the reference divided by those of this directory, round by round.
  public var ratio: Ratio
  /// The median time of one operation as a client sees it.
  public var microseconds: Double
  /// The number of rounds.
  public var repetitions: Int

  /// All of it.
  public init(
    operation: String, clients: Int, directory: String, reference: String, ratio: Ratio,
    microseconds: Double, repetitions: Int
  ) {
    self.operation = operation
    self.clients = clients
    self.directory = directory
    self.reference = reference
    self.ratio = ratio
    self.microseconds = microseconds
    self.repetitions = repetitions
  }
}

/// Why a text is no table of figures.
public struct Unreadable: Error, Equatable, Sendable {
  /// The number of the line, from 1.
  public let line: Int
  /// What is wrong with it.
  public let reason: String
}

/// Figures as text: a line of titles, then a line each, its fields with tabs between.
public enum TabSeparated {
  static let titles = [
    "operation", "clients", "directory", "reference", "ratio", "lower quartile", "upper quartile",
    "microseconds", "repetitions",
  ]

  /// The figures as text.
  public static func text(_ figures: [Figure]) -> String {
    var lines = [titles]
    for figure in figures {
      let ratio = figure.ratio
      lines.append(
        [figure.operation, String(figure.clients), figure.directory, figure.reference]
          + [ratio.median, ratio.lower, ratio.upper].map { decimal($0, digits: 6) }
          + [decimal(figure.microseconds, digits: 4), String(figure.repetitions)])
    }
    return lines.map { $0.joined(separator: "\t") + "\n" }.joined()
  }

  /// The figures that `text` has made.
  public static func figures(_ text: String) throws(Unreadable) -> [Figure] {
    var figures: [Figure] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map { String($0) }
      if index == 0 {
        guard fields == titles else { throw Unreadable(line: 1, reason: "no line of titles") }
      } else if !line.isEmpty {
        figures.append(try figure(fields, line: index + 1))
      }
    }
    guard !text.isEmpty else { throw Unreadable(line: 1, reason: "no line of titles") }
    return figures
  }

  private static func figure(_ fields: [String], line: Int) throws(Unreadable) -> Figure {
    guard fields.count == titles.count else {
      throw Unreadable(line: line, reason: "\(fields.count) fields, not \(titles.count)")
    }
    guard let clients = Int(fields[1]), let repetitions = Int(fields[8]) else {
      throw Unreadable(line: line, reason: "a count is no whole number")
    }
    let numbers = fields[4...7].compactMap { Double($0) }.filter { $0.isFinite && $0 >= 0 }
    guard numbers.count == 4 else {
      throw Unreadable(line: line, reason: "a ratio or a time is no number")
    }
    return Figure(
      operation: fields[0], clients: clients, directory: fields[2], reference: fields[3],
      ratio: Ratio(median: numbers[0], lower: numbers[1], upper: numbers[2]),
      microseconds: numbers[3], repetitions: repetitions)
  }
}
