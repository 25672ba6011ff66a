/// The CRC-32 of zlib and PNG: every change of up to 32 neighbouring bits is noticed.
struct CRC32 {
  private var state = ~UInt32(0)

  /// The checksum of what was added so far.
  var value: UInt32 { ~state }

  /// Takes a byte.
  mutating func add(_ byte: UInt8) {
    state = Self.tables[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ state >> 8
  }

  /// Takes eight bytes, the high one first.
  mutating func add(_ number: UInt64) {
    // As below, of bytes that are in a register.
    let low = state ^ UInt32(truncatingIfNeeded: number >> 32).byteSwapped
    let tables = Self.tables
    state = tables[1792 | Int(low & 0xff)] ^ tables[1536 | Int(low >> 8 & 0xff)]
    state ^= tables[1280 | Int(low >> 16 & 0xff)] ^ tables[1024 | Int(low >> 24)]
    state ^= tables[768 | Int(number >> 24 & 0xff)] ^ tables[512 | Int(number >> 16 & 0xff)]
    state ^= tables[256 | Int(number >> 8 & 0xff)] ^ tables[Int(number & 0xff)]
  }

  /// Takes all bytes.
  mutating func add(_ bytes: [UInt8]) { add(bytes, bytes.indices) }

  /// Takes the bytes of a range that `bytes` has, eight at a time: after a byte, so many zeros follow
  /// as its place in the eight has behind it.
  mutating func add(_ bytes: [UInt8], _ range: Range<Int>) {
    let tables = Self.tables
    var crc = state
    var index = range.lowerBound
    while range.upperBound &- index >= 8 {
      let low =
        crc
        ^ (UInt32(bytes[index]) | UInt32(bytes[index &+ 1]) << 8 | UInt32(bytes[index &+ 2]) << 16
          | UInt32(bytes[index &+ 3]) << 24)
      crc = tables[1792 | Int(low & 0xff)] ^ tables[1536 | Int(low >> 8 & 0xff)]
      crc ^= tables[1280 | Int(low >> 16 & 0xff)] ^ tables[1024 | Int(low >> 24)]
      crc ^= tables[768 | Int(bytes[index &+ 4])] ^ tables[512 | Int(bytes[index &+ 5])]
      crc ^= tables[256 | Int(bytes[index &+ 6])] ^ tables[Int(bytes[index &+ 7])]
      index &+= 8
    }
    state = crc
    while index < range.upperBound {
      add(bytes[index])
      index &+= 1
    }
  }

  /// Eight tables of 256.
  private static let tables: [UInt32] = {
    var tables: [UInt32] = (0..<256).map { byte in
      (0..<8).reduce(UInt32(byte)) { crc, _ in crc & 1 == 0 ? crc >> 1 : crc >> 1 ^ 0xedb8_8320 }
    }
    for index in 256..<2048 {
      let before = tables[index - 256]
      tables.append(tables[Int(before & 0xff)] ^ before >> 8)
    }
    return tables
  }()
}
