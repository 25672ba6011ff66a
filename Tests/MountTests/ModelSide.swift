import CLinux
import Glibc

/// A tree in which steps are made: the mount or the native file system.
final class ModelSide {
  /// The directory that the steps' paths are relative to; a remount does not change it.
  let root: String
  private var slots: [Int: Int32] = [:]

  init(_ root: String) { self.root = root }

  deinit { closeAll() }

  /// Makes a step and says what it answered, in the same words on both sides.
  func perform(_ action: ModelAction) -> String {
    switch action {
    case .create(let path): opened(path, O_WRONLY | O_CREAT | O_EXCL) { _ in 0 }
    case .write(let path, let offset, let count, let byte):
      opened(path, O_WRONLY) { Self.write($0, offset, count, byte) }
    case .truncate(let path, let size): answer(Glibc.truncate(full(path), size))
    case .read(let path): content(path)
    case .mkdir(let path): answer(Glibc.mkdir(full(path), 0o755))
    case .rmdir(let path): answer(Glibc.rmdir(full(path)))
    case .unlink(let path): answer(Glibc.unlink(full(path)))
    case .rename(let from, let to, let flags):
      // Over a directory with something in it, file systems say one or the other.
      answer(clinux_renameat2(AT_FDCWD, full(from), AT_FDCWD, full(to), flags))
        .replacing("ENOTEMPTY", with: "EEXIST")
    case .link(let from, let to): answer(Glibc.link(full(from), full(to)))
    case .symlink(let content, let path): answer(Glibc.symlink(content, full(path)))
    case .fifo(let path): answer(mkfifo(full(path), 0o644))
    case .chmod(let path, let mode): answer(Glibc.chmod(full(path), mode))
    case .names(let path): names(path)
    case .set(let path, let name, let size, let byte, let flags):
      answer(lsetxattr(full(path), name, Self.value(size, byte), size, flags))
    case .get(let path, let name):
      Self.bytes { lgetxattr(full(path), name, $0.baseAddress, $0.count) }
    case .list(let path): Self.nameList { llistxattr(full(path), $0.baseAddress, $0.count) }
    case .remove(let path, let name): answer(lremovexattr(full(path), name))
    case .open, .temporary, .close, .writeOpen, .setOpen, .listOpen, .linkOpen, .sync:
      performOpen(action)
    case .remount, .kill: "ok"
    case .underneath(let action): perform(action)
    }
  }

  private func performOpen(_ action: ModelAction) -> String {
    switch action {
    case .open(let slot, let path):
      keep(clinux_openat(AT_FDCWD, full(path), O_RDWR | O_NONBLOCK | O_CLOEXEC, 0), slot)
    case .temporary(let slot, let path):
      keep(clinux_openat(AT_FDCWD, full(path), temporary | O_RDWR | O_CLOEXEC, 0o644), slot)
    case .close(let slot): slots.removeValue(forKey: slot).map { answer(Glibc.close($0)) } ?? "none"
    case .writeOpen(let slot, let offset, let count, let byte):
      with(slot) { file in
        var status = stat()
        if fstat(file, &status) != 0 { return -1 }
        return status.st_mode & S_IFMT == S_IFREG ? Self.write(file, offset, count, byte) : 0
      }
    case .setOpen(let slot, let name, let size, let byte):
      with(slot) { fsetxattr($0, name, Self.value(size, byte), size, 0) }
    case .listOpen(let slot):
      slots[slot].map { file in
        Self.nameList { flistxattr(file, $0.baseAddress, $0.count) }
      } ?? "none"
    case .linkOpen(let slot, let path):
      with(slot) { linkat($0, "", AT_FDCWD, full(path), AT_EMPTY_PATH) }
    case .sync(let slot): with(slot) { fsync($0) }
    default: "none"
    }
  }

  /// Closes what is open, as before the mount goes.
  func closeAll() {
    for file in slots.values { Glibc.close(file) }
    slots = [:]
  }

  /// The slots whose files have no name.
  var nameless: [Int] {
    slots.keys.filter { slot in
      var status = stat()
      return slots[slot].map { fstat($0, &status) != 0 || status.st_nlink == 0 } ?? false
    }
  }

  func full(_ path: String) -> String { root + "/" + path }

  private func keep(_ file: Int32, _ slot: Int) -> String {
    let result = answer(file, shown: "open")
    guard file >= 0 else { return result }
    if let before = slots.updateValue(file, forKey: slot) { Glibc.close(before) }
    return result
  }

  private func with(_ slot: Int, _ body: (Int32) -> Int32) -> String {
    slots[slot].map { answer(body($0)) } ?? "none"
  }

  private func opened(_ path: String, _ flags: Int32, _ body: (Int32) -> Int32) -> String {
    let flags = flags | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW
    let file = clinux_openat(AT_FDCWD, full(path), flags, 0o644)
    // A fifo without a reader; one that is open through a mount has one there only.
    guard file >= 0 else { return errno == ENXIO ? "no file" : answer(file) }
    var status = stat()
    let result =
      fstat(file, &status) != 0
      ? answer(-1) : status.st_mode & S_IFMT == S_IFREG ? answer(body(file)) : "no file"
    let closing = answer(Glibc.close(file))
    return closing == "0" ? result : "\(result), close: \(closing)"
  }

  private func content(_ path: String) -> String {
    let flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW
    let file = clinux_openat(AT_FDCWD, full(path), flags, 0)
    guard file >= 0 else { return answer(file) }
    defer { Glibc.close(file) }
    var status = stat()
    if fstat(file, &status) != 0 { return answer(-1) }
    guard status.st_mode & S_IFMT == S_IFREG else { return "no file" }
    return Self.bytes { pread(file, $0.baseAddress, $0.count, 0) }
  }

  private func names(_ path: String) -> String {
    guard let stream = opendir(full(path)) else { return answer(-1) }
    defer { closedir(stream) }
    var names: [String] = []
    errno = 0
    while let entry = readdir(stream) {
      let type = entry.pointee.d_type
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append("\(name):\(type)") }
    }
    return errno != 0 ? answer(-1) : names.sorted().joined(separator: " ")
  }

  private static func value(_ size: Int, _ byte: UInt8) -> [UInt8] {
    (0..<size).map { UInt8(truncatingIfNeeded: Int(byte) + $0 / 7) }
  }

  private static func write(_ file: Int32, _ offset: Int, _ count: Int, _ byte: UInt8) -> Int32 {
    Int32(clamping: pwrite(file, value(count, byte), count, offset))
  }

  /// Length and checksum of what a call fills in.
  private static func bytes(_ body: (UnsafeMutableRawBufferPointer) -> Int) -> String {
    var buffer = [UInt8](repeating: 0, count: plenty)
    let count = buffer.withUnsafeMutableBytes { body($0) }
    return count < 0 ? answer(-1) : "\(count) #\(checksum(buffer.prefix(count)))"
  }

  private static func nameList(_ body: (UnsafeMutableBufferPointer<CChar>) -> Int) -> String {
    var buffer = [CChar](repeating: 0, count: plenty)
    let count = buffer.withUnsafeMutableBufferPointer { body($0) }
    guard count >= 0 else { return answer(-1) }
    let names = buffer.prefix(count).split(separator: 0).map {
      String(decoding: $0.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    return names.sorted().joined(separator: " ")
  }
}

/// What a call returned, or the name of its errno.
private func answer(_ result: Int32, shown: String? = nil) -> String {
  result < 0 ? errorName(errno) : shown ?? String(result)
}
