import LinuxSystem

/// One of the two files of a ``Journal``: a header, and records whose numbers rise.
///
/// A file has its full size from the start and is written over again and again, so that syncing it is
/// writing data and nothing else. What older use has left in it is told by the salt, a random number in
/// the header that every checksum begins with. For the same reason no value that a user has set can be
/// taken for a record.
///
///     header: "SCFSJRN1", salt (8 bytes), boot (16), checksum of these (4), 4 zeros
///     record: length of the change (4), checksum (4), number (8), number on the disk (8), change
///
/// A record begins at a multiple of 8. Numbers have their high byte first. A record's checksum is over the salt, the number, the number
/// that was known to be on the disk, and the change.
final class JournalFile: Sendable {
  /// How long a file is, in bytes.
  static let size = 1 << 20
  static let headerSize = 40
  static let recordHeaderSize = 24
  private static let magic = Array("SCFSJRN1".utf8)

  private let name: String
  private let file: FileDescriptor

  /// Makes a file, or empties the one that is there.
  init(_ name: String, in directory: borrowing FileDescriptor) throws(Errno) {
    self.name = name
    file = try directory.open(
      FileName(name), [.readWrite, .create, .truncate, .noFollow], mode: 0o600)
    // Not allocated: a write to room that was never written to would change the inode as well.
    try file.write(at: 0, [UInt8](repeating: 0, count: Self.size))
    JournalRequest.tell(.create(name), of: directory)
  }

  /// Begins anew: what was in the file counts no longer.
  func begin(salt: UInt64, boot: [UInt8]) throws(Errno) {
    try write(Self.header(salt: salt, boot: boot), at: 0)
  }

  /// Writes a record.
  func write(_ record: [UInt8], at position: Int) throws(Errno) {
    try file.write(at: Int64(position), record)
    JournalRequest.tell(.write(name, at: position, record), below: file)
  }

  /// Waits until the disk has everything; the first time the size as well.
  func sync() throws(Errno) {
    try file.dataSync()
    JournalRequest.tell(.sync(name), below: file)
  }

  /// Where the next record begins after one that ends at `position`.
  static func aligned(_ position: Int) -> Int { (position + 7) & ~7 }

  static func header(salt: UInt64, boot: [UInt8]) -> [UInt8] {
    var header = magic
    header.append(number: salt)
    header.append(contentsOf: boot.prefix(16))
    header.append(contentsOf: [UInt8](repeating: 0, count: max(0, 16 - boot.count)))
    var checksum = CRC32()
    checksum.add(header)
    header.append(number: checksum.value)
    header.append(number: UInt32(0))
    return header
  }

  /// A change as a record.
  static func record(
    _ change: [UInt8], number: Int64, onDisk: Int64, salt: UInt64
  ) -> [UInt8] {
    var record: [UInt8] = []
    record.reserveCapacity(recordHeaderSize + change.count)
    record.append(number: UInt32(clamping: change.count))
    record.append(
      number: checksum(change, change.indices, number: number, onDisk: onDisk, salt: salt))
    record.append(number: UInt64(bitPattern: number))
    record.append(number: UInt64(bitPattern: onDisk))
    record.append(contentsOf: change)
    return record
  }

  private static func checksum(
    _ bytes: [UInt8], _ range: Range<Int>, number: Int64, onDisk: Int64, salt: UInt64
  ) -> UInt32 {
    var checksum = CRC32()
    checksum.add(salt)
    checksum.add(UInt64(bitPattern: number))
    checksum.add(UInt64(bitPattern: onDisk))
    checksum.add(bytes, range)
    return checksum.value
  }

  /// What is found in a file.
  struct Contents {
    /// The records from the start to the first that is not whole.
    var changes: [NumberedChange] = []
    /// The number of a record that is whole, behind one that is not.
    var later: Int64?
    /// The highest number that a whole record knows to be on the disk.
    var onDisk: Int64 = 0
    /// It was written since the machine was started: the power cannot have failed.
    var isOfThisBoot = false
    /// There is a header, and it is damaged.
    var isUnreadable = false
  }

  /// Reads a file; nothing where there is none, or an empty one.
  static func read(
    _ name: String, in directory: borrowing FileDescriptor, boot: [UInt8]
  ) throws(Errno) -> Contents {
    let bytes: [UInt8]
    do throws(Errno) {
      let file = try directory.open(FileName(name), [.readOnly, .noFollow, .nonBlocking])
      bytes = try file.readToEnd(limit: size)
    } catch .noEntry {
      return Contents()
    }
    var contents = Contents()
    guard bytes.count >= headerSize, bytes.prefix(headerSize).contains(where: { $0 != 0 }) else {
      return contents
    }
    var reader = ByteReader(bytes, at: magic.count)
    guard let salt = reader.number(UInt64.self) else { return contents }
    let foundBoot = Array(bytes[16..<32])
    guard header(salt: salt, boot: foundBoot) == Array(bytes[..<headerSize]) else {
      contents.isUnreadable = true
      return contents
    }
    contents.isOfThisBoot = !boot.isEmpty && foundBoot == Array(boot.prefix(16))
    var position = headerSize
    while let (number, onDisk, range) = record(in: bytes, at: position, salt),
      contents.changes.last.map({ number > $0.number }) ?? true
    {
      guard let change = AttributeChange(decoding: Array(bytes[range])) else {
        contents.isUnreadable = true
        return contents
      }
      contents.changes.append(NumberedChange(number, change))
      contents.onDisk = max(contents.onDisk, onDisk)
      position = aligned(range.upperBound)
    }
    contents.look(for: bytes, from: position, salt)
    return contents
  }

  /// The record at a position, if a whole one is there.
  fileprivate static func record(
    in bytes: [UInt8], at position: Int, _ salt: UInt64
  ) -> (number: Int64, onDisk: Int64, change: Range<Int>)? {
    var reader = ByteReader(bytes, at: position)
    guard let length = reader.number(UInt32.self), length > 0,
      Int(length) <= bytes.count - position - recordHeaderSize,
      let found = reader.number(UInt32.self), let number = reader.number(UInt64.self),
      let onDisk = reader.number(UInt64.self), number < 1 << 62, onDisk <= number
    else { return nil }
    let start = position + recordHeaderSize
    let range = start..<start + Int(length)
    let (signed, signedOnDisk) = (Int64(number), Int64(onDisk))
    guard
      checksum(bytes, range, number: signed, onDisk: signedOnDisk, salt: salt) == found
    else { return nil }
    return (signed, signedOnDisk, range)
  }
}

extension JournalFile.Contents {
  /// Looks for whole records behind the first that is not.
  fileprivate mutating func look(for bytes: [UInt8], from start: Int, _ salt: UInt64) {
    var position = start
    while position <= bytes.count - JournalFile.recordHeaderSize {
      if let (number, known, range) = JournalFile.record(in: bytes, at: position, salt) {
        later = max(later ?? 0, number)
        onDisk = max(onDisk, known)
        position = JournalFile.aligned(range.upperBound)
      } else {
        position += 8
      }
    }
  }
}
