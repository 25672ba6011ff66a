import CSQLite
import Glibc

/// A checksum in the last bytes of each page of a database: what the disk has changed is an error
/// (`SQLITE_IOERR_DATA`) and not read as if it were what was written.
///
/// SQLite checks its log only; a bit that flips in an index breaks no rule of its format, and what
/// the bit leads to is then not found. The pages' last ``size`` bytes are ours because SQLite is
/// told to keep them free ("reserved space" in sqlite.org/fileformat2.html): any SQLite can read the
/// file, but one without this layer that writes to it leaves pages whose checksums do not fit.
///
/// The layer stands in the methods of a main database's file: after its reading, before its writing.
enum PageChecksums {
  /// Bytes of each page.
  static let size = 8

  /// `SQLITE_IOERR_DATA`: its definition does not import.
  static let mismatch: Int32 = SQLITE_IOERR | 32 << 8

  /// A control of a file that answers with the address of its ``GuardedFile``; SQLite's own are below
  /// 100.
  static let question: Int32 = 0x5343_4653

  /// What the Unix layer takes of SQLite's memory for a file; behind it is what we take.
  static let fileSize = sqlite3_vfs_find("unix").map { Int($0.pointee.szOsFile) } ?? 0

  /// Puts the layer into a copy of the Unix layer.
  static func add(to layer: inout sqlite3_vfs) {
    layer.szOsFile += Int32(MemoryLayout<GuardedFile>.stride)
    layer.xOpen = { layer, path, file, flags, outFlags in
      guard let original = sqlite3_vfs_find("unix"), let file else { return SQLITE_CANTOPEN }
      let result = original.pointee.xOpen(layer, path, file, flags, outFlags)
      if result == SQLITE_OK, flags & SQLITE_OPEN_MAIN_DB != 0 {
        PageChecksums.guardPages(of: file)
      }
      return result
    }
  }

  private static func guardPages(of file: UnsafeMutablePointer<sqlite3_file>) {
    guard let original = file.pointee.pMethods else { return }
    var methods = original.pointee
    methods.xRead = { file, bytes, count, offset in
      guard let guarded = GuardedFile.of(file), let bytes else { return SQLITE_IOERR }
      let result = guarded.pointee.original.pointee.xRead(file, bytes, count, offset)
      guard result == SQLITE_OK else { return result }
      let page = UnsafeRawBufferPointer(start: bytes, count: Int(count))
      guarded.pointee.learn(from: page, at: offset)
      return guarded.pointee.fits(page, at: offset) ? SQLITE_OK : PageChecksums.mismatch
    }
    methods.xWrite = { file, bytes, count, offset in
      guard let guarded = GuardedFile.of(file), let bytes,
        let write = guarded.pointee.original.pointee.xWrite
      else { return SQLITE_IOERR }
      let page = UnsafeRawBufferPointer(start: bytes, count: Int(count))
      guarded.pointee.learn(from: page, at: offset)
      guard guarded.pointee.hasRoom, PageChecksums.isPage(page, at: offset) else {
        return write(file, bytes, count, offset)
      }
      return withUnsafeTemporaryAllocation(byteCount: Int(count), alignment: 8) { copy in
        copy.copyMemory(from: page)
        let checksum = PageChecksums.checksum(of: page, at: offset)
        copy.storeBytes(
          of: checksum.littleEndian, toByteOffset: copy.count - PageChecksums.size,
          as: UInt64.self)
        return write(file, copy.baseAddress, count, offset)
      }
    }
    methods.xFileControl = { file, question, answer in
      guard let guarded = GuardedFile.of(file) else { return SQLITE_ERROR }
      guard question == PageChecksums.question, let answer else {
        return guarded.pointee.original.pointee.xFileControl(file, question, answer)
      }
      answer.storeBytes(of: guarded, as: UnsafeMutablePointer<GuardedFile>?.self)
      return SQLITE_OK
    }
    GuardedFile.place(of: file).initialize(to: GuardedFile(original: original, methods: methods))
    file.pointee.pMethods = UnsafePointer(GuardedFile.methods(of: file))
  }

  /// Whether it is a whole page, as SQLite reads and writes them but for a look at the header.
  static func isPage(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
    let count = bytes.count
    return count >= 512 && count & (count - 1) == 0 && offset % Int64(count) == 0
  }

  /// Two sums that lean on each other, as in SQLite's own log, over a page without its last bytes;
  /// they start with the page's place, so that a page in the place of another is noticed.
  static func checksum(of page: UnsafeRawBufferPointer, at offset: Int64) -> UInt64 {
    let place = UInt64(bitPattern: offset)
    var first = UInt32(truncatingIfNeeded: place >> 9) &+ 0x5343_4653
    var second = ~UInt32(truncatingIfNeeded: place >> 41)
    var index = 0
    while index < page.count - size {
      let word = UInt64(littleEndian: page.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      first = first &+ UInt32(truncatingIfNeeded: word) &+ second
      second = second &+ UInt32(truncatingIfNeeded: word >> 32) &+ first
      index += 8
    }
    return UInt64(first) << 32 | UInt64(second)
  }
}

/// What we know of a main database's file; in the memory that SQLite has for the file, behind what
/// is the Unix layer's.
struct GuardedFile {
  let original: UnsafePointer<sqlite3_io_methods>
  /// Where SQLite is told to find the file's methods.
  var methods: sqlite3_io_methods
  /// The pages have room for a checksum: each that is written gets one.
  private(set) var hasRoom = false
  /// What `user_version` says.
  private var version: Int64 = 0
  /// Which pages have to fit when they are read.
  var checking = Database.PageChecking.never

  init(original: UnsafePointer<sqlite3_io_methods>, methods: sqlite3_io_methods) {
    self.original = original
    self.methods = methods
  }

  /// What was put behind an open file.
  static func of(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<GuardedFile>?
  {
    file.map { place(of: $0) }
  }

  static func place(
    of file: UnsafeMutablePointer<sqlite3_file>
  ) -> UnsafeMutablePointer<GuardedFile> {
    (UnsafeMutableRawPointer(file) + PageChecksums.fileSize)
      .assumingMemoryBound(to: GuardedFile.self)
  }

  static func methods(
    of file: UnsafeMutablePointer<sqlite3_file>
  ) -> UnsafeMutablePointer<sqlite3_io_methods> {
    let offset = MemoryLayout<GuardedFile>.offset(of: \.methods) ?? 0
    return (UnsafeMutableRawPointer(place(of: file)) + offset)
      .assumingMemoryBound(to: sqlite3_io_methods.self)
  }

  /// Takes from the header ("The Database Header" in sqlite.org/fileformat2.html) what it says. What it
  /// has said once stays true, whatever becomes of the header.
  mutating func learn(from bytes: UnsafeRawBufferPointer, at offset: Int64) {
    guard offset == 0, bytes.count >= 100, bytes.starts(with: Array("SQLite format 3\0".utf8))
    else { return }
    hasRoom = hasRoom || Int(bytes[20]) == PageChecksums.size
    version = max(version, bytes[60..<64].reduce(0) { $0 << 8 | Int64($1) })
  }

  /// Whether bytes that were read are what was written.
  func fits(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
    let isChecked =
      switch checking {
      case .never: false
      case .fromVersion(let first): hasRoom && version >= first
      case .always: true
      }
    guard isChecked, PageChecksums.isPage(bytes, at: offset) else { return true }
    let found = UInt64(
      littleEndian: bytes.loadUnaligned(
        fromByteOffset: bytes.count - PageChecksums.size, as: UInt64.self))
    if found == PageChecksums.checksum(of: bytes, at: offset) { return true }
    // A page that was made and given up in one transaction was never written. As a part of anything,
    // SQLite does not take it, and our values have checksums of their own.
    return found == 0 && bytes.allSatisfy { $0 == 0 }
  }
}
