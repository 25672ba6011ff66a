import Glibc

/// What ran out of time, and how much it was given.
package struct Overdue: Error, CustomStringConvertible {
  /// What was waited for.
  package let what: String
  /// How long.
  package let limit: Duration

  /// One line that says both.
  package var description: String { "\(what): not within \(limit)" }
}

/// Asks every few milliseconds until the answer is not nil, or throws `Overdue`.
package func waiting<Answer>(
  for what: String, within limit: Duration = .seconds(20), _ answer: () throws -> Answer?
) throws -> Answer {
  let deadline = ContinuousClock.now + limit
  var pause: UInt32 = 500
  while true {
    if let answer = try answer() { return answer }
    if ContinuousClock.now >= deadline { throw Overdue(what: what, limit: limit) }
    usleep(pause)
    pause = min(pause * 2, 20_000)
  }
}
