import SpeedFigures
import Testing

/// Medians, ratios, and how numbers are written.
@Suite struct SpeedArithmetic {
  @Test(
    arguments: [
      ([3], 3), ([3, 1], 2), ([5, 1, 3], 3), ([4, 1, 3, 2], 2.5), ([1, 1, 1, 100, 1], 1),
    ] as [([Double], Double)])
  func theMedianIsTheMiddle(_ values: [Double], _ expected: Double) {
    #expect(median(values) == expected)
  }

  @Test func nothingHasNoMedian() { #expect(median([]) == nil) }

  /// The ratio of the medians would be 20 / 10.
  @Test func ratiosAreMadeWithinARound() throws {
    let ratio = try #require(Ratio(reference: [10, 20, 300], this: [40, 10, 10]))
    #expect(ratio.median == 2)
    #expect(ratio.lower == 1.125)
    #expect(ratio.upper == 16)
  }

  /// A disturbance that both meet is in neither's ratio.
  @Test func whatDisturbsARoundDisturbsBothSides() {
    let own: [Double] = [5, 50, 500, 5, 40]
    #expect(
      Ratio(reference: own.map { 2 * $0 }, this: own) == Ratio(median: 2, lower: 2, upper: 2))
  }

  @Test(
    arguments: [([], []), ([1], [1, 2]), ([1, 0], [1, 1]), ([1], [-1])] as [([Double], [Double])])
  func thereIsNoRatioOf(_ reference: [Double], _ this: [Double]) {
    #expect(Ratio(reference: reference, this: this) == nil)
  }

  @Test(
    arguments: [
      (0, 2, "0.00"), (1, 2, "1.00"), (0.005, 2, "0.01"), (12.345, 1, "12.3"), (99.96, 1, "100.0"),
      (7.5, 0, "8"), (-0.25, 2, "-0.25"), (-0.001, 2, "0.00"), (.nan, 2, "-"), (.infinity, 2, "-"),
      (1e300, 1, "-"),
    ] as [(Double, Int, String)])
  func decimalsAreRounded(_ value: Double, _ digits: Int, _ expected: String) {
    #expect(decimal(value, digits: digits) == expected)
  }

  @Test(
    arguments: [
      (0.0123, "0.01"), (9.99, "9.99"), (9.996, "10.0"), (12.34, "12.3"), (99.96, "100"),
      (12345.6, "12346"),
    ] as [(Double, String)])
  func threeDigitsCount(_ value: Double, _ expected: String) { #expect(short(value) == expected) }
}
