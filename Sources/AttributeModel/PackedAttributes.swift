/// Names and values in one run of bytes:
///
///     4 bytes      how many there are
///     4 bytes      how many bytes the names take
///     4 bytes each length of the name (8 bits) and of the value (24 bits; all set: it is outside)
///     ...          the names, a NUL after each, in the order of their bytes: a list as it is handed out
///     ...          the values, in the same order
///
/// Numbers are stored lowest byte first. Empty when there are none.
struct PackedAttributes: Hashable, Sendable {
  private var bytes: [UInt8] = []
  /// Where to begin looking, where there are many.
  private var marks = PackedMarks()

  /// Where an attribute is, or would have to go.
  struct Place {
    var index = 0
    var isFound = false
    /// Where its name begins.
    fileprivate var name = 0
    /// Where its value begins, and how long it is.
    fileprivate var value = 0
    fileprivate var size = 0
    /// Its value is outside.
    var isLong = false
    /// How many values are outside before it.
    var long = 0
  }

  private static let header = 8
  private static let outside = 0xff_ffff

  init() {}

  /// Names in the order of their bytes, each with its value, or nil if that is outside.
  init(_ attributes: [(name: [UInt8], value: [UInt8]?)]) {
    guard !attributes.isEmpty else { return }
    let namesSize = attributes.reduce(0) { $0 + $1.name.count + 1 }
    let valuesSize = attributes.reduce(0) { $0 + ($1.value?.count ?? 0) }
    bytes.reserveCapacity(Self.header + 4 * attributes.count + namesSize + valuesSize)
    Self.append(attributes.count, to: &bytes)
    Self.append(namesSize, to: &bytes)
    for (name, value) in attributes { Self.append(Self.lengths(name, value), to: &bytes) }
    for (name, _) in attributes {
      bytes += name
      bytes.append(0)
    }
    for (_, value) in attributes { if let value { bytes += value } }
    if count > PackedMarks.least { mark() }
  }

  static func == (one: PackedAttributes, other: PackedAttributes) -> Bool {
    one.bytes == other.bytes
  }

  func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

  var count: Int { bytes.isEmpty ? 0 : number(at: 0) }
  var namesSize: Int { bytes.isEmpty ? 0 : number(at: 4) }
  var memory: Int { Self.memory(of: bytes.count) + marks.memory }

  /// What an array of so many bytes takes: it has a header, and so has its allocation.
  static func memory(of size: Int) -> Int { size + 48 }

  /// Where the names begin.
  private var start: Int { bytes.isEmpty ? 0 : Self.header + 4 * number(at: 0) }

  /// The list of names.
  var names: ArraySlice<UInt8> { bytes[start..<(start + namesSize)] }

  /// The part of the list whose names start with some bytes: they are next to each other.
  func names(startingWith prefix: [UInt8]) -> ArraySlice<UInt8> {
    var place = start
    var first = place
    var isInside = false
    for index in 0..<count {
      let next = place + lengths(at: index).name + 1
      if Self.has(bytes, prefix, at: place, below: next) {
        if !isInside { first = place }
        isInside = true
      } else if isInside {
        return bytes[first..<place]
      }
      place = next
    }
    return isInside ? bytes[first..<place] : bytes[start..<start]
  }

  /// The attribute of a name. Most requests come by here.
  func find(_ name: [UInt8]) -> Place? {
    var (place, end) = part(with: name)
    while place.index < end {
      let lengths = lengths(at: place.index)
      if lengths.name == name.count, ends(at: place.name, with: name) {
        place.isFound = true
        place.isLong = lengths.value == Self.outside
        place.size = place.isLong ? 0 : lengths.value
        return place
      }
      pass(&place, lengths)
    }
    return nil
  }

  /// Where a name is, or would have to go.
  func place(of name: [UInt8]) -> Place {
    if let found = find(name) { return found }
    var (place, end) = part(with: name)
    while place.index < end {
      let lengths = lengths(at: place.index)
      if precedes(name, place.name, lengths.name) { break }
      pass(&place, lengths)
    }
    return place
  }

  private func pass(_ place: inout Place, _ lengths: (name: Int, value: Int)) {
    place.index += 1
    place.name += lengths.name + 1
    if lengths.value == Self.outside { place.long += 1 } else { place.value += lengths.value }
  }

  /// Where the part begins in which a name is if it is anywhere, and the index of what follows the
  /// part.
  private func part(with name: [UInt8]) -> (Place, end: Int) {
    let (names, values) = (start, start + namesSize)
    let (mark, end) = marks.part { mark in
      precedes(name, names + mark.name, lengths(at: mark.index).name)
    }
    var place = Place(index: mark.index, name: names + mark.name, long: mark.long)
    place.value = values + mark.value
    return (place, end ?? count)
  }

  /// Marks every so manieth attribute.
  private mutating func mark() {
    var place = Place(name: start)
    let values = start + namesSize
    place.value = values
    marks = PackedMarks()
    while place.index < count {
      if place.index % PackedMarks.gap == 0 {
        marks.append(
          PackedMarks.Mark(
            index: place.index, name: place.name - start, value: place.value - values,
            long: place.long))
      }
      pass(&place, lengths(at: place.index))
    }
  }

  /// Whether a name comes before the one that is at a place.
  private func precedes(_ name: [UInt8], _ place: Int, _ length: Int) -> Bool {
    var index = 0
    while index < name.count, index < length {
      let (mine, other) = (name[index], bytes[place + index])
      if mine != other { return mine < other }
      index += 1
    }
    return name.count < length
  }

  func value(_ place: Place) -> ArraySlice<UInt8> {
    bytes[place.value..<(place.value + place.size)]
  }

  /// Puts a value, or nil for one that is outside, where ``place(of:)`` says.
  mutating func put(_ name: [UInt8], _ value: [UInt8]?, at place: Place) {
    if place.isFound, !place.isLong, let value, value.count == place.size {
      bytes.replaceSubrange(place.value..<(place.value + place.size), with: value)
    } else {
      replace(place, name, by: (name, value))
    }
  }

  /// Removes what ``place(of:)`` has found.
  mutating func remove(_ name: [UInt8], at place: Place) { replace(place, name, by: nil) }

  private mutating func replace(
    _ place: Place, _ name: [UInt8], by new: (name: [UInt8], value: [UInt8]?)?
  ) {
    let (old, oldName) = place.isFound ? (1, name.count + 1) : (0, 0)
    let number = count - old + (new == nil ? 0 : 1)
    let namesSize = namesSize - oldName + (new.map { $0.name.count + 1 } ?? 0)
    let (first, names) = (min(Self.header, bytes.count), start)
    let values = names + self.namesSize
    guard number > 0 else {
      bytes = []
      return
    }
    var made: [UInt8] = []
    made.reserveCapacity(
      Self.header + 4 * number + namesSize + bytes.count - values - place.size
        + (new?.value?.count ?? 0))
    Self.append(number, to: &made)
    Self.append(namesSize, to: &made)
    made += bytes[first..<(first + 4 * place.index)]
    if let new { Self.append(Self.lengths(new.name, new.value), to: &made) }
    made += bytes[(first + 4 * (place.index + old))..<names]
    made += bytes[names..<place.name]
    if let new {
      made += new.name
      made.append(0)
    }
    made += bytes[(place.name + oldName)..<values]
    made += bytes[values..<place.value]
    if let value = new?.value { made += value }
    made += bytes[(place.value + place.size)...]
    bytes = made
    guard number > PackedMarks.least else {
      marks = PackedMarks()
      return
    }
    let isWide = marks.shift(
      at: place.index, removes: place.isFound, inserts: new != nil,
      by: PackedMarks.Mark(
        index: (new == nil ? 0 : 1) - old,
        name: (new.map { $0.name.count + 1 } ?? 0) - oldName,
        value: (new?.value?.count ?? 0) - place.size,
        long: (new.map { $0.value == nil ? 1 : 0 } ?? 0) - (place.isLong ? 1 : 0)),
      count: number)
    if isWide { mark() }
  }

  /// Names begin alike, so they are compared from their ends.
  private func ends(at place: Int, with name: [UInt8]) -> Bool {
    var index = name.count
    while index > 0 {
      index -= 1
      if bytes[place + index] != name[index] { return false }
    }
    return true
  }

  private static func has(
    _ bytes: [UInt8], _ prefix: [UInt8], at place: Int, below end: Int
  ) -> Bool {
    guard end - place > prefix.count else { return false }
    var index = 0
    while index < prefix.count {
      if bytes[place + index] != prefix[index] { return false }
      index += 1
    }
    return true
  }

  private func lengths(at index: Int) -> (name: Int, value: Int) {
    let both = number(at: Self.header + 4 * index)
    return (both & 0xff, both >> 8)
  }

  private static func lengths(_ name: [UInt8], _ value: [UInt8]?) -> Int {
    name.count & 0xff | (value?.count ?? outside) << 8
  }

  private func number(at place: Int) -> Int {
    Int(bytes[place]) | Int(bytes[place + 1]) << 8 | Int(bytes[place + 2]) << 16
      | Int(bytes[place + 3]) << 24
  }

  private static func append(_ number: Int, to bytes: inout [UInt8]) {
    for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }
}
