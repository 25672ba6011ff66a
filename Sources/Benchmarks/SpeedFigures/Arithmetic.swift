/// The middle of the values in order, of an even number the mean of the two in the middle; nil of
/// none.
public func median(_ values: [Double]) -> Double? { quantile(0.5, of: values) }

/// The value below which `fraction` of the values lie, between two of them in proportion.
func quantile(_ fraction: Double, of values: [Double]) -> Double? {
  guard !values.isEmpty else { return nil }
  let sorted = values.sorted()
  let place = fraction * Double(sorted.count - 1)
  let below = Int(place)
  let above = min(below + 1, sorted.count - 1)
  return sorted[below] + (sorted[above] - sorted[below]) * (place - Double(below))
}

/// How many times as fast as a reference something is: above 1 faster, below 1 slower.
public struct Ratio: Equatable, Sendable {
  /// The median over the rounds.
  public let median: Double
  /// A quarter of the rounds lies below.
  public let lower: Double
  /// A quarter of the rounds lies above.
  public let upper: Double

  /// Compares round by round, so that what disturbs one round disturbs both sides of its ratio.
  ///
  /// Nil unless there are as many times of one as of the other, at least one, and all above zero.
  public init?(reference: [Double], this: [Double]) {
    guard reference.count == this.count, (reference + this).allSatisfy({ $0 > 0 }) else {
      return nil
    }
    let ratios = zip(reference, this).map { $0 / $1 }
    guard let median = SpeedFigures.median(ratios), let lower = quantile(0.25, of: ratios),
      let upper = quantile(0.75, of: ratios)
    else { return nil }
    self.init(median: median, lower: lower, upper: upper)
  }

  /// A ratio that was made before.
  public init(median: Double, lower: Double, upper: Double) {
    self.median = median
    self.lower = lower
    self.upper = upper
  }
}

/// A number with so many digits behind the point; "-" for what is none or too large to be one.
public func decimal(_ value: Double, digits: Int) -> String {
  var scale = 1.0
  for _ in 0..<digits { scale *= 10 }
  guard let whole = Int(exactly: (value.magnitude * scale).rounded()) else { return "-" }
  let text = String(whole)
  let padded = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
  let sign = value < 0 && whole != 0 ? "-" : ""
  return sign + padded.dropLast(digits) + (digits > 0 ? "." : "") + padded.suffix(digits)
}

/// A number with about three digits that count.
public func short(_ value: Double) -> String {
  let large = value.magnitude
  return decimal(value, digits: large < 9.995 ? 2 : large < 99.95 ? 1 : 0)
}
