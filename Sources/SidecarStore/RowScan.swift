import SQLite

/// Reads the rows of a damaged table: as many as can be.
struct RowScan {
  private let upwards: Statement
  private let downwards: Statement
  private let columns: Int32

  init(_ database: Database, _ table: String, _ columns: [String]) throws(SQLiteError) {
    let list = columns.joined(separator: ", ")
    let query = "SELECT rowid, \(list) FROM \(table) NOT INDEXED WHERE rowid BETWEEN ?1 AND ?2"
    upwards = try database.prepare("\(query) ORDER BY rowid")
    downwards = try database.prepare("\(query) ORDER BY rowid DESC")
    self.columns = Int32(clamping: columns.count)
  }

  /// Calls `body` with each row; how many parts could not be read.
  func run(tries: Int, _ body: (Int64, [Value]) -> Void) -> Int {
    var gaps = 0
    var tries = tries
    var pending: [(low: Int64, high: Int64)] = [(0, Int64.max - 1)]
    while let (low, high) = pending.popLast(), tries > 0 {
      tries -= 1
      var next = low
      var isWhole = read(upwards, low, high) { identifier, values in
        next = identifier + 1
        body(identifier, values)
      }
      if isWhole || next > high { continue }
      var last = high
      isWhole = read(downwards, next, high) { identifier, values in
        last = identifier - 1
        body(identifier, values)
      }
      if isWhole || last < next { continue }
      let middle = next + (last - next) / 2
      // What is left is a page that cannot be read, and what lies behind it.
      if last - next < 1 {
        gaps += 1
      } else {
        pending.append((next, middle))
        pending.append((middle + 1, last))
      }
    }
    return gaps + pending.count
  }

  private func read(
    _ statement: Statement, _ low: Int64, _ high: Int64, _ body: (Int64, [Value]) -> Void
  ) -> Bool {
    do throws(SQLiteError) {
      try statement.rows(.integer(low), .integer(high)) { (row) throws(SQLiteError) in
        var values: [Value] = []
        for column in 1...columns { values.append(try row.value(column)) }
        body(row.integer(0), values)
      }
      return true
    } catch {
      return false
    }
  }
}
