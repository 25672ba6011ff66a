import CLinux
import Glibc

extension Calls {
  func open(_ path: Bytes, _ flags: Int32, _ mode: UInt32 = 0o644) -> Descriptor {
    var raw: Int32 = -1
    let words = openFlags(flags) + (flags & (O_CREAT | temporary) != 0 ? ", \(octal(mode))" : "")
    call("open(\(path), \(words))", shows: { _ in "open" }) {
      raw = clinux_openat(AT_FDCWD, path.cString, flags, mode)
      return raw
    }
    return Descriptor(raw: raw, label: "fd \(path)")
  }

  /// A file with this content, made without a line.
  func file(_ path: Bytes, _ content: Bytes = "", _ mode: UInt32 = 0o644) {
    let raw = clinux_openat(AT_FDCWD, path.cString, O_WRONLY | O_CREAT | O_TRUNC, mode)
    defer { Glibc.close(raw) }
    guard Glibc.write(raw, content.bytes, content.bytes.count) == content.bytes.count,
      Glibc.fchmod(raw, mode) == 0
    else { return note("cannot make \(path): \(errorName(errno))") }
  }

  func close(_ file: Descriptor) { call("close(\(file.label))") { Glibc.close(file.raw) } }

  func write(_ file: Descriptor, _ content: Bytes) {
    call("write(\(file.label), \(content))") {
      Glibc.write(file.raw, content.bytes, content.bytes.count)
    }
  }

  func pwrite(_ file: Descriptor, _ content: Bytes, at offset: Int) {
    call("pwrite(\(file.label), \(content), at \(offset))") {
      Glibc.pwrite(file.raw, content.bytes, content.bytes.count, offset)
    }
  }

  func read(_ file: Descriptor, _ count: Int) {
    reading("read(\(file.label), \(count))", count) { Glibc.read(file.raw, $0, count) }
  }

  func pread(_ file: Descriptor, _ count: Int, at offset: Int) {
    reading("pread(\(file.label), \(count), at \(offset))", count) {
      Glibc.pread(file.raw, $0, count, offset)
    }
  }

  /// In pieces of the given sizes.
  func readv(_ file: Descriptor, _ sizes: [Int]) {
    reading("readv(\(file.label), \(sizes))", sizes.reduce(0, +)) { start in
      var offset = 0
      let pieces = sizes.map { size in
        defer { offset += size }
        return iovec(iov_base: start.map { $0 + offset }, iov_len: size)
      }
      return Glibc.readv(file.raw, pieces, Int32(pieces.count))
    }
  }

  func writev(_ file: Descriptor, _ pieces: [Bytes]) {
    var all = pieces.flatMap(\.bytes)
    call("writev(\(file.label), \(pieces))") {
      all.withUnsafeMutableBytes { bytes in
        var offset = 0
        let vectors = pieces.map { piece in
          defer { offset += piece.bytes.count }
          return iovec(iov_base: bytes.baseAddress.map { $0 + offset }, iov_len: piece.bytes.count)
        }
        return Glibc.writev(file.raw, vectors, Int32(vectors.count))
      }
    }
  }

  /// The whole content of a file, opened and closed without lines.
  func content(_ path: Bytes) {
    let raw = clinux_openat(AT_FDCWD, path.cString, O_RDONLY, 0)
    defer { if raw >= 0 { Glibc.close(raw) } }
    reading("content(\(path))", 1 << 21) { Glibc.read(raw, $0, 1 << 21) }
  }

  func seek(_ file: Descriptor, _ offset: Int, _ whence: Int32) {
    let words = [0: "SET", 1: "CUR", 2: "END", 3: "DATA", 4: "HOLE"]
    call("lseek(\(file.label), \(offset), \(words[Int(whence)] ?? String(whence)))") {
      lseek(file.raw, offset, whence)
    }
  }

  func truncate(_ path: Bytes, _ size: Int) {
    call("truncate(\(path), \(size))") { Glibc.truncate(path.cString, size) }
  }

  func ftruncate(_ file: Descriptor, _ size: Int) {
    call("ftruncate(\(file.label), \(size))") { Glibc.ftruncate(file.raw, size) }
  }

  func fallocate(_ file: Descriptor, _ mode: Int32, _ offset: Int, _ size: Int) {
    let words = flagNames(
      mode,
      [
        "KEEP_SIZE": 1, "PUNCH_HOLE": 2, "COLLAPSE": 8, "ZERO": 16, "INSERT": 32, "UNSHARE": 64,
      ])
    call("fallocate(\(file.label), \(words), \(offset), \(size))") {
      Glibc.fallocate(file.raw, mode, offset, size)
    }
  }

  func copyRange(
    _ from: Descriptor, _ start: Int, _ to: Descriptor, _ target: Int, _ count: Int,
    flags: UInt32 = 0
  ) {
    var start = start
    var target = target
    let text = "copy_file_range(\(from.label) \(start), \(to.label) \(target), \(count), \(flags))"
    call(text) { copy_file_range(from.raw, &start, to.raw, &target, count, flags) }
  }

  func send(_ from: Descriptor, _ to: Descriptor, _ count: Int) {
    call("sendfile(\(to.label), \(from.label), \(count))") {
      sendfile(to.raw, from.raw, nil, count)
    }
  }

  func sync(_ file: Descriptor) {
    call("fsync(\(file.label))") { fsync(file.raw) }
    call("fdatasync(\(file.label))") { fdatasync(file.raw) }
    call("syncfs(\(file.label))") { syncfs(file.raw) }
  }

  /// Calls `body` with aligned memory of `count` bytes, which `O_DIRECT` wants.
  func reading(_ text: String, _ count: Int, _ body: (UnsafeMutableRawPointer?) -> Int) {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, 1), alignment: 4096)
    defer { room.deallocate() }
    let shows = { (count: Int) in "\(count) \(Bytes(Array(room.prefix(count))))" }
    call(text, shows: shows) { body(room.baseAddress) }
  }
}

/// `O_TMPFILE`, a compound macro in C.
let temporary: Int32 = 0o20_000_000 | O_DIRECTORY

private func openFlags(_ flags: Int32) -> String {
  let mode = ["RDONLY", "WRONLY", "RDWR", "3"][Int(flags & 3)]
  let rest = flags & ~3
  if rest == 0 { return mode }
  return mode + "|"
    + flagNames(
      rest,
      [
        "TMPFILE": temporary, "CREAT": O_CREAT, "EXCL": O_EXCL, "TRUNC": O_TRUNC,
        "APPEND": O_APPEND, "DIRECTORY": O_DIRECTORY, "NOFOLLOW": O_NOFOLLOW, "PATH": O_PATH,
        "NONBLOCK": O_NONBLOCK, "DIRECT": O_DIRECT, "NOATIME": O_NOATIME, "SYNC": O_SYNC,
      ])
}
