import CLinux
import Glibc
import LinuxSystem
import TestSupport

extension Calls {
  /// Maps an open file and shows its bytes to `body`; up to the page's end they may be touched.
  func mapped(
    _ file: Descriptor, _ count: Int, _ protection: Int32, _ flags: Int32,
    _ body: (UnsafeMutableBufferPointer<UInt8>) -> Void
  ) {
    let rights = flagNames(protection, ["READ": PROT_READ, "WRITE": PROT_WRITE, "EXEC": PROT_EXEC])
    let kind = flags == MAP_SHARED ? "SHARED" : "PRIVATE"
    var memory: UnsafeMutableRawPointer?
    let result = call("mmap(\(file.label), \(count), \(rights), \(kind))") {
      memory = mmap(nil, count, protection, flags, file.raw, 0)
      return memory == MAP_FAILED ? Int32(-1) : 0
    }
    guard result == 0, let memory else { return }
    let whole = (count + 4095) & ~4095
    body(
      UnsafeMutableBufferPointer(
        start: memory.assumingMemoryBound(to: UInt8.self), count: whole))
    munmap(memory, count)
  }

  /// Reads into memory and at an offset that `O_DIRECT` accepts.
  func direct(_ file: Descriptor, reading count: Int, at offset: Int) {
    reading("direct pread(\(file.label), \(count), at \(offset))", count) {
      Glibc.pread(file.raw, $0, count, offset)
    }
  }

  /// Writes `count` times "d" from aligned memory.
  func direct(_ file: Descriptor, writing count: Int, at offset: Int) {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 4096)
    defer { room.deallocate() }
    room.copyBytes(from: repeatElement(UInt8(ascii: "d"), count: count))
    call("direct pwrite(\(file.label), \(count), at \(offset))") {
      Glibc.pwrite(file.raw, room.baseAddress, count, offset)
    }
  }

  /// Makes calls elsewhere that have to wait for what `release` does here.
  ///
  /// `release` runs when the other thread sleeps in the kernel, which is how waiting looks.
  func waitsFor(
    _ what: String, _ body: @escaping @Sendable (Calls) -> Void, until release: () -> Void
  ) {
    let other = Calls()
    other.who = "elsewhere: "
    let done = Lock(false)
    let released = Lock(false)
    let thread = Lock(Int32(0))
    let early = Lock(false)
    detachedThread {
      isolateThread()
      thread.withLock { $0 = clinux_thread_id() }
      body(other)
      if !released.withLock({ $0 }) { early.withLock { $0 = true } }
      closeEverything()
      done.withLock { $0 = true }
    }
    _ = try? waiting(for: what, within: .seconds(10)) {
      done.withLock { $0 } || isAsleep(thread.withLock { $0 }, after: other) ? () : nil
    }
    released.withLock { $0 = true }
    release()
    let ended: Void? = try? waiting(for: what, within: .seconds(10)) {
      done.withLock { $0 } ? () : nil
    }
    for line in other.lines { note(line) }
    note(
      "\(what) \(ended == nil ? "never ends" : early.withLock { $0 } ? "did not wait" : "waited")")
  }

  /// Runs a program and says how it ended, or why it did not begin.
  func run(_ path: String) {
    do {
      let outcome = try TestSupport.run([path], timeout: .seconds(20))
      note("run(\(path)) = status \(outcome.status)")
    } catch {
      note("run(\(path)) = \((error as? Errno).map { errorName($0.code) } ?? "\(error)")")
    }
  }

  /// Says which events `inotify` reports of the paths while `body` runs.
  func watching(_ paths: [Bytes], _ body: () -> Void) {
    let queue = inotify_init1(Int32(IN_NONBLOCK))
    var watched: [Int32: Bytes] = [:]
    for path in paths { watched[inotify_add_watch(queue, path.cString, 0xfff)] = path }
    body()
    var room = [UInt8](repeating: 0, count: 1 << 16)
    let count = max(Glibc.read(queue, &room, room.count), 0)
    Glibc.close(queue)
    room.withUnsafeBytes { bytes in
      var offset = 0
      while offset + 16 <= count {
        let watch = bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)
        let mask = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
        let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
        let name = Bytes(bytes[(offset + 16)..<(offset + 16 + length)].filter { $0 != 0 })
        note("event of \(watched[watch] ?? "?"): \(String(mask, radix: 16)) \(name)")
        offset += 16 + length
      }
    }
  }
}

/// Whether a thread of this process sleeps, having said as much as it can.
private func isAsleep(_ thread: Int32, after calls: Calls) -> Bool {
  guard thread != 0, !calls.lines.isEmpty,
    let bytes = try? readFile("/proc/self/task/\(thread)/stat"),
    let end = bytes.lastIndex(of: UInt8(ascii: ")")), end + 2 < bytes.count
  else { return false }
  return bytes[end + 2] == UInt8(ascii: "S")
}
