/// Figures as a table for people: a line for each operation and number of clients, a column for
/// each directory.
public struct Table {
  private let figures: [Figure]
  private let directories: [String]

  /// A table of the figures, its columns in the order of `directories`.
  public init(_ figures: [Figure], directories: [String]) {
    self.figures = figures
    self.directories = directories
  }

  /// The names of a directory's columns: A, B, ... and on with numbers.
  public static func letter(_ index: Int) -> String {
    index < 26 ? String(UnicodeScalar(UInt8(65 + index))) : String(index + 1)
  }

  /// The table, with what its letters mean before it.
  public var text: String {
    var text = directories.indices.map { "\(Self.letter($0)) \(directories[$0])\n" }.joined()
    text += """

      In each column: how many times as fast as the reference (more is faster), and microseconds an
      operation. The reference is the directory named by the letter under "to". "-": not possible.


      """
    let width = (figures.map { $0.operation.count } + [9]).max() ?? 9
    text += "operation".padded(to: width) + "  n to"
    for index in directories.indices { text += Self.letter(index).padded(to: 15, left: true) }
    text += "\n"
    for row in rows {
      text += row.operation.padded(to: width) + String(row.clients).padded(to: 3, left: true)
      text += letter(of: row.reference).padded(to: 3, left: true)
      for directory in directories {
        guard let figure = row.figures.first(where: { $0.directory == directory }) else {
          text += "-".padded(to: 8, left: true) + "-".padded(to: 7, left: true)
          continue
        }
        text += short(figure.ratio.median).padded(to: 8, left: true)
        text += short(figure.microseconds).padded(to: 7, left: true)
      }
      text += "\n"
    }
    return text
  }

  private struct Row {
    let operation: String
    let clients: Int
    let reference: String
    var figures: [Figure]
  }

  /// In the order in which they were measured.
  private var rows: [Row] {
    var rows: [Row] = []
    for figure in figures {
      if let last = rows.last, last.operation == figure.operation, last.clients == figure.clients {
        rows[rows.count - 1].figures.append(figure)
      } else {
        rows.append(
          Row(
            operation: figure.operation, clients: figure.clients, reference: figure.reference,
            figures: [figure]))
      }
    }
    return rows
  }

  private func letter(of directory: String) -> String {
    directories.firstIndex(of: directory).map { Self.letter($0) } ?? "?"
  }
}

extension String {
  /// With spaces after it, or before it, so that it is at least `width` long.
  func padded(to width: Int, left: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - count))
    return left ? space + self : self + space
  }
}
