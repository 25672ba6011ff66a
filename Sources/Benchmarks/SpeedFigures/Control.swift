/// The same thing measured twice: what the ratios of `NAME-again` to `NAME` differ from 1 by is
/// noise.
public struct Control: Sendable {
  /// What the name of the second one ends in.
  public static let suffix = "-again"

  /// The name of the first of the two.
  public let directory: String
  /// The ratios, and what each is of.
  public let ratios: [(what: String, ratio: Double)]

  /// The ratios of `NAME-again` to `directory`.
  public init(directory: String, ratios: [(what: String, ratio: Double)]) {
    self.directory = directory
    self.ratios = ratios
  }

  /// One line: the range, its middle half, and the worst of it.
  public var text: String {
    let values = ratios.map { $0.ratio }
    guard let median = median(values), let lower = quantile(0.25, of: values),
      let upper = quantile(0.75, of: values),
      let least = ratios.min(by: { $0.ratio < $1.ratio }),
      let most = ratios.max(by: { $0.ratio < $1.ratio })
    else { return "control \(directory): nothing measured\n" }
    return """
      control \(directory)\(Self.suffix) to \(directory): median \(short(median)), half of them \
      \(short(lower)) to \(short(upper)), all \(short(least.ratio)) (\(least.what)) to \
      \(short(most.ratio)) (\(most.what))

      """
  }
}
