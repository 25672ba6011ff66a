import SpeedFigures
import Testing

/// Figures as text with tabs, as a table and as a chart.
@Suite struct SpeedFigureTexts {
  private let figures = [
    figure("get", 1, "native", to: "floor", 5.25, 2.5),
    figure("get", 1, "floor", to: "floor", 1, 13),
    figure("get", 4, "floor", to: "floor", 1, 30),
    figure("stat", 1, "native", to: "native", 1, 1.75),
    figure("stat", 1, "a & <b>", to: "native", 0.125, 14),
  ]

  private static func figure(
    _ operation: String, _ clients: Int, _ directory: String, to reference: String,
    _ ratio: Double, _ time: Double
  ) -> Figure {
    Figure(
      operation: operation, clients: clients, directory: directory, reference: reference,
      ratio: Ratio(median: ratio, lower: ratio / 2, upper: ratio * 2), microseconds: time,
      repetitions: 25)
  }

  @Test func textGivesTheFiguresBack() throws {
    let text = TabSeparated.text(figures)
    #expect(try TabSeparated.figures(text) == figures)
    #expect(text.split(separator: "\n").count == figures.count + 1)
    #expect(try TabSeparated.figures(TabSeparated.text([])) == [])
  }

  @Test(arguments: [
    ("", 1), ("get\t1\n", 1), ("TITLES\nget\t1\n", 2),
    ("TITLES\nget\tone\ta\ta\t1\t1\t1\t1\t25\n", 2),
    ("TITLES\nget\t1\ta\ta\t1\t1\t1\t1\t25\nget\t1\ta\ta\tfast\t1\t1\t1\t25\n", 3),
    ("TITLES\nget\t1\ta\ta\tnan\t1\t1\t1\t25\n", 2), ("TITLES\nget\t1\ta\ta\t-1\t1\t1\t1\t25\n", 2),
    ("TITLES\nget\t1\ta\ta\t1\t1\t1\t1\t25\tmore\n", 2),
  ]) func otherTextIsRefusedWithItsLine(_ text: String, _ line: Int) {
    let titles = String(TabSeparated.text([]).dropLast())
    let error = #expect(throws: Unreadable.self) {
      try TabSeparated.figures(
        text.split(separator: "TITLES", omittingEmptySubsequences: false)
          .joined(separator: titles))
    }
    #expect(error?.line == line)
  }

  @Test func aTableHasALineForEachNumberOfClients() throws {
    let text = Table(figures, directories: ["native", "floor", "a & <b>"]).text
    let lines = text.split(separator: "\n").map { $0.split(separator: " ").map { String($0) } }
    #expect(lines.prefix(2) == [["A", "native"], ["B", "floor"]])
    #expect(
      lines.suffix(4) == [
        ["operation", "n", "to", "A", "B", "C"],
        ["get", "1", "B", "5.25", "2.50", "1.00", "13.0", "-", "-"],
        ["get", "4", "B", "-", "-", "1.00", "30.0", "-", "-"],
        ["stat", "1", "A", "1.00", "1.75", "-", "-", "0.13", "14.0"],
      ])
    let widths = Set(text.split(separator: "\n").suffix(4).map { $0.count })
    #expect(widths.count == 1)
  }

  @Test func aControlSaysWhatItsWorstIs() {
    let control = Control(directory: "native", ratios: [("get", 0.5), ("set", 1), ("stat", 2)])
    #expect(
      control.text == """
        control native-again to native: median 1.00, half of them 0.75 to 1.50, all 0.50 (get) to \
        2.00 (stat)

        """)
  }

  @Test func aBarIsAsLongAsItsLogarithm() throws {
    let figures = [0.1, 1, 10, 100].enumerated().map { index, ratio in
      Self.figure("get", 1, "d\(index)", to: "d1", ratio, 1)
    }
    let svg = Chart(figures, directories: ["d0", "d1", "d2", "d3"], clients: 1).svg
    let bars = svg.split(separator: "\n").filter {
      $0.hasPrefix("<rect x") && $0.contains("height=\"10\"")
    }
    .filter { !$0.contains("width=\"10\"") }
    let sides = bars.map { bar in
      bar.split(separator: "\"").enumerated().filter { [1, 5].contains($0.offset) }
        .compactMap { Int($0.element) }
    }
    // Three powers of ten on 560 points from 190 on; the one at 1 is a mark.
    #expect(sides == [[190, 186], [376, 1], [376, 187], [376, 374]])
    #expect(!svg.contains("width=\"-"))
  }

  @Test func aChartShowsWhatSoManyClientsDid() {
    let directories = ["native", "floor", "a & <b>"]
    let svg = Chart(figures, directories: directories, clients: 1).svg
    #expect(svg.hasPrefix("<svg ") && svg.hasSuffix("</svg>\n"))
    #expect(svg.contains(">a &amp; &lt;b&gt;<") && !svg.contains("<b>"))
    #expect(svg.contains(">stat<") && svg.contains(">5.25<"))
    #expect(!Chart(figures, directories: directories, clients: 4).svg.contains(">stat<"))
  }
}
