/// Where some of many attributes are in a ``PackedAttributes``, so that looking for one begins near it.
struct PackedMarks: Sendable {
  /// So few attributes are looked through.
  static let least = 64
  /// So far lie the marks apart when they are made, and so far at most later.
  static let gap = 32
  static let widest = 128

  /// An attribute: which one it is, where its name and its value begin, behind the beginning of all names
  /// and of all values, and how many values are outside before it.
  struct Mark: Sendable {
    var index = 0
    var name = 0
    var value = 0
    var long = 0
  }

  private var marks: [Mark] = []

  var memory: Int { marks.isEmpty ? 0 : marks.count * MemoryLayout<Mark>.stride + 32 }

  mutating func append(_ mark: Mark) { marks.append(mark) }

  /// The last mark that does not lie behind what is looked for, and the index of the next; the
  /// beginning where there is none.
  func part(isBefore: (Mark) -> Bool) -> (Mark, next: Int?) {
    var (low, high) = (0, marks.count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(marks[middle]) { high = middle } else { low = middle + 1 }
    }
    return (low == 0 ? Mark() : marks[low - 1], low < marks.count ? marks[low].index : nil)
  }

  /// Follows a change of the attribute `index`: `shift` is by how much all behind it move. Whether marks
  /// lie too far apart now.
  mutating func shift(
    at index: Int, removes: Bool, inserts: Bool, by shift: Mark, count: Int
  ) -> Bool {
    var kept: [Mark] = []
    kept.reserveCapacity(marks.count)
    var widest = 0
    var last = 0
    for var mark in marks {
      // What is put in goes before the one that was there.
      if mark.index > index || (mark.index == index && inserts && !removes) {
        mark.index += shift.index
        mark.name += shift.name
        mark.value += shift.value
        mark.long += shift.long
      }
      // One that is removed leaves its mark to the next.
      if mark.index >= count || (!kept.isEmpty && mark.index == last) { continue }
      widest = max(widest, mark.index - last)
      last = mark.index
      kept.append(mark)
    }
    marks = kept
    return max(widest, count - last) > Self.widest
  }
}
