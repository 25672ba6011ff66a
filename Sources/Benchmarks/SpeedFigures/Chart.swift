/// Figures as a chart of horizontal bars, plain SVG.
///
/// The scale is logarithmic: twice as fast reaches as far to the right of the line at 1 as half as
/// fast reaches to the left.
public struct Chart {
  private let figures: [Figure]
  private let directories: [String]
  private let clients: Int

  private static let colours = [
    "#4e79a7", "#a0cbe8", "#59a14f", "#f28e2b", "#ffbe7d", "#e15759", "#b07aa1", "#9c755f",
    "#76b7b2", "#edc948", "#bab0ac", "#79706e",
  ]
  private static let left = 190
  private static let plot = 560
  private static let bar = 12

  /// A chart of what so many clients have measured, the bars in the order of `directories`.
  public init(_ figures: [Figure], directories: [String], clients: Int) {
    self.figures = figures.filter { $0.clients == clients }
    self.directories = directories
    self.clients = clients
  }

  /// The whole file.
  public var svg: String {
    var body = ""
    var y = 46 + 18 * ((directories.count + 3) / 4)
    let top = y
    for operation in operations {
      let shown = figures.filter { $0.operation == operation }
      let reference = shown.first?.reference ?? ""
      y += 8
      let height = shown.count * Self.bar
      body += label(Self.left - 8, y + height / 2 + 1, operation, "end", "bold")
      body += label(Self.left - 8, y + height / 2 + 13, "to \(reference)", "end", "normal")
      for (index, directory) in directories.enumerated() {
        guard let figure = shown.first(where: { $0.directory == directory }) else { continue }
        let (start, end) = (position(1), position(figure.ratio.median))
        body += rectangle(min(start, end), y, max(1, abs(end - start)), Self.bar - 2, index)
        body += label(
          max(start, end) + 4, y + Self.bar - 3, short(figure.ratio.median), "start", "normal")
        y += Self.bar
      }
      y += 14
    }
    let width = Self.left + Self.plot + 60
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(y + 20)" \
      viewBox="0 0 \(width) \(y + 20)" font-family="sans-serif" font-size="10">
      <rect width="100%" height="100%" fill="white"/>
      \(label(12, 20, title, "start", "bold"))\(legend)\(grid(from: top, to: y))\(body)</svg>

      """
  }

  private var title: String {
    "Times as fast as the reference (right is faster), \(clients) client\(clients == 1 ? "" : "s")"
  }

  private var operations: [String] {
    var seen: [String] = []
    for figure in figures where !seen.contains(figure.operation) { seen.append(figure.operation) }
    return seen
  }

  /// The powers of ten that all bars lie between.
  private var decades: ClosedRange<Int> {
    let ratios = figures.map { $0.ratio.median }.filter { $0 > 0 } + [1]
    var (low, high) = (0, 0)
    while let least = ratios.min(), low > -6, least < power(low) { low -= 1 }
    while let most = ratios.max(), high < 6, most > power(high) { high += 1 }
    return low == high ? low - 1...high + 1 : low...high
  }

  private func power(_ exponent: Int) -> Double {
    (0..<exponent.magnitude).reduce(1) { value, _ in exponent < 0 ? value / 10 : value * 10 }
  }

  /// Where a ratio is: the decimal logarithm, by halving, for want of a mathematics library.
  private func position(_ ratio: Double) -> Int {
    let decades = decades
    let bounded = min(max(ratio, power(decades.lowerBound)), power(decades.upperBound))
    var (exponent, rest) = (decades.lowerBound, bounded / power(decades.lowerBound))
    while rest >= 10 { (exponent, rest) = (exponent + 1, rest / 10) }
    var (fraction, step) = (0.0, 1.0)
    for _ in 0..<20 {
      step /= 2
      rest *= rest
      if rest >= 10 { (fraction, rest) = (fraction + step, rest / 10) }
    }
    let share =
      (Double(exponent - decades.lowerBound) + fraction) / Double(max(1, decades.count - 1))
    return Self.left + Int(share * Double(Self.plot))
  }

  private var legend: String {
    directories.indices.map { index in
      let (x, y) = (12 + 190 * (index % 4), 32 + 18 * (index / 4))
      return rectangle(x, y, 10, 10, index)
        + label(x + 14, y + 9, directories[index], "start", "normal")
    }.joined()
  }

  private func grid(from top: Int, to bottom: Int) -> String {
    decades.map { exponent in
      let x = position(power(exponent))
      let text = decimal(power(exponent), digits: max(0, -exponent))
      return """
        <line x1="\(x)" y1="\(top)" x2="\(x)" y2="\(bottom)" \
        stroke="\(exponent == 0 ? "black" : "#cccccc")"/>
        \(label(x, bottom + 12, text, "middle", "normal"))
        """
    }.joined()
  }

  private func rectangle(_ x: Int, _ y: Int, _ width: Int, _ height: Int, _ index: Int) -> String {
    let colour = Self.colours[index % Self.colours.count]
    return """
      <rect x="\(x)" y="\(y)" width="\(width)" height="\(height)" fill="\(colour)"/>

      """
  }

  private func label(
    _ x: Int, _ y: Int, _ text: String, _ anchor: String, _ weight: String
  ) -> String {
    """
    <text x="\(x)" y="\(y)" text-anchor="\(anchor)" font-weight="\(weight)">\(escaped(text))</text>

    """
  }

  private func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      default: result.append(character)
      }
    }
  }
}
