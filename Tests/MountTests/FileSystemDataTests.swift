import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Contents of files: shared, appended to, sparse, large, copied; and long directories.
@Suite(.needsFuse, .needsLoop) struct FileSystemData {
  private struct Setup {
    let scratch: Scratch
    let source: Source
    let mount: Mount

    init(_ kind: SourceKind, options: [String] = []) throws {
      scratch = try Scratch()
      source = try Source(kind, in: scratch)
      mount = try Mount(
        source.path, store: scratch.directory("store"), options: options, in: scratch)
    }
  }

  /// Who appends on the mount and underneath at the same time loses nothing.
  @Test func appenders() throws {
    let setup = try Setup(.ext4)
    try writeFile(setup.mount.mountPoint + "/f", [])
    let left = Lock(6)
    for number in 0..<6 {
      let path = (number < 4 ? setup.mount.mountPoint : setup.source.path) + "/f"
      detachedThread {
        let file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        for round in 0..<300 {
          let line = Array("\(number) \(round) \(String(repeating: "x", count: round % 50))\n".utf8)
          if write(file, line, line.count) != line.count { break }
        }
        close(file)
        left.withLock { $0 -= 1 }
      }
    }
    try waiting(for: "appenders", within: .seconds(60)) { left.withLock { $0 == 0 ? () : nil } }
    for path in [setup.source.path, setup.mount.mountPoint] {
      let lines = String(decoding: try readFile(path + "/f"), as: UTF8.self).split(separator: "\n")
      #expect(Set(lines).count == 1800)
      #expect(lines.count == 1800)
    }
    try setup.mount.unmount()
  }

  /// What one writes into a shared mapping another sees at once, and so does the source after msync.
  @Test func sharedMappings() throws {
    let setup = try Setup(.tmpfs)
    let path = setup.mount.mountPoint + "/f"
    try writeFile(path, [UInt8](repeating: 0, count: 8192))
    let maps = try (0..<2).map { _ in
      let file = try call(open(path, O_RDWR | O_CLOEXEC))
      defer { close(file) }
      let start = try #require(mmap(nil, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))
      try #require(start != MAP_FAILED)
      return UnsafeMutableRawBufferPointer(start: start, count: 8192)
    }
    defer { for map in maps { munmap(map.baseAddress, map.count) } }
    maps[0][0] = 7
    maps[1][8191] = 8
    #expect(maps[1][0] == 7 && maps[0][8191] == 8)
    // In another process, which maps it, too.
    let script = """
      import mmap
      with open('\(path)', 'r+b') as f, mmap.mmap(f.fileno(), 8192) as m:
          assert m[0] == 7 and m[8191] == 8
          m[1] = 9
      """
    try check(["python3", "-c", script])
    #expect(maps[0][1] == 9)
    try call(msync(maps[0].baseAddress, 8192, Int32(MS_SYNC)))
    let below = try readFile(setup.source.path + "/f")
    #expect(below[0] == 7 && below[1] == 9 && below[8191] == 8)
  }

  /// Reads and writes past the page cache.
  @Test(arguments: [SourceKind.ext4, .ramfs]) func direct(_ kind: SourceKind) throws {
    let setup = try Setup(kind)
    let path = setup.mount.mountPoint + "/f"
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { room.deallocate() }
    for index in room.indices { room[index] = UInt8(truncatingIfNeeded: index * 31 >> 7) }
    let content = Array(room)
    let file = try call(open(path, O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0o644))
    defer { close(file) }
    #expect(try call(pwrite(file, room.baseAddress, room.count, 0)) == room.count)
    #expect(try call(pwrite(file, room.baseAddress, 4096, 3 << 20)) == 4096)
    #expect(try Array(readFile(setup.source.path + "/f").prefix(1 << 20)) == content)
    room.initializeMemory(as: UInt8.self, repeating: 0)
    #expect(try call(pread(file, room.baseAddress, room.count, 0)) == room.count)
    #expect(Array(room) == content)
    #expect(try call(pread(file, room.baseAddress, 4096, 2 << 20)) == 4096)
    #expect(room.prefix(4096).allSatisfy { $0 == 0 })
    #expect(try call(pread(file, room.baseAddress, 8192, 3 << 20)) == 4096)
  }

  /// Holes are where the source has them, past four gigabytes, too.
  @Test(arguments: SourceKind.allCases) func sparse(_ kind: SourceKind) throws {
    let setup = try Setup(kind)
    let path = setup.mount.mountPoint + "/f"
    let below = setup.source.path + "/f"
    let file = try call(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644))
    defer { close(file) }
    let block = [UInt8](repeating: 5, count: 1 << 16)
    for offset in [0, 1 << 20, 5 << 30, (5 << 30) + (1 << 22)] {
      #expect(try call(pwrite(file, block, block.count, offset)) == block.count)
    }
    #expect(try extents(path) == extents(below), "\(kind)")
    let size = (5 << 30) + (1 << 22) + (1 << 16)
    #expect(lseek(file, 0, SEEK_END) == size)
    let punched = fallocate(file, 3, 5 << 30, 1 << 14)
    let native = try call(open(below, O_RDWR | O_CLOEXEC))
    defer { close(native) }
    #expect(punched == fallocate(native, 3, 5 << 30, 1 << 14), "\(kind): punching")
    #expect(try extents(path) == extents(below), "\(kind)")
    #expect(ftruncate(file, 1 << 33) == 0)
    #expect(lseek(native, 0, SEEK_END) == 1 << 33)
    // Copied inside the mount, from past four gigabytes.
    let copy = try call(open(path + "2", O_RDWR | O_CREAT | O_CLOEXEC, 0o644))
    defer { close(copy) }
    var from = (5 << 30) + (1 << 22)
    var to = 1 << 32
    #expect(copy_file_range(file, &from, copy, &to, 1 << 16, 0) == 1 << 16)
    var found = [UInt8](repeating: 0, count: 1 << 16)
    #expect(pread(copy, &found, found.count, 1 << 32) == found.count)
    #expect(found == block)
  }

  /// Where data begins and ends.
  private func extents(_ path: String) throws -> [Int] {
    let file = try call(open(path, O_RDONLY | O_CLOEXEC))
    defer { close(file) }
    var found: [Int] = []
    var offset = 0
    while true {
      offset = lseek(file, offset, found.count % 2 == 0 ? 3 : 4)
      if offset < 0 { return found }
      found.append(offset)
    }
  }

  /// Of 20,000 names each that stays is listed once, whatever is deleted meanwhile, with buffers of
  /// any size; and what a directory said of a place leads back to it.
  @Test(arguments: SourceKind.allCases) func longDirectories(_ kind: SourceKind) throws {
    let setup = try Setup(kind)
    let path = setup.mount.mountPoint + "/d"
    try call(mkdir(path, 0o755))
    for number in 0..<20_000 {
      let file = try call(
        open("\(setup.source.path)/d/\(number)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644))
      close(file)
    }
    let whole = try names(path, room: 32768) { _ in }
    #expect(Set(whole).count == 20_002 && whole.count == 20_002, "\(kind): all, once")
    for (room, rest) in [(32768, 0), (700, 1)] {
      // Even and odd in turn: what was listed is deleted while the list goes on.
      let listed = try names(path, room: room) { name in
        if let number = Int(name), number % 4 == rest { unlink("\(path)/\(name)") }
      }
      let stay = listed.filter { Int($0).map { $0 % 4 > rest } ?? true }
      let count = 2 + 5_000 * (3 - rest)
      #expect(Set(stay).count == count, "\(kind): those that stay, room \(room)")
      #expect(stay.count == count, "\(kind): once, room \(room)")
    }
    #expect(entries(of: path).count == 10_000, "\(kind): deleted while listed")
    let stream = try #require(opendir(path))
    defer { closedir(stream) }
    var places: [(Int, String)] = []
    while true {
      let place = telldir(stream)
      guard let entry = readdir(stream) else { break }
      places.append((place, name(of: entry)))
    }
    for index in stride(from: places.count - 1, to: 0, by: -997) {
      seekdir(stream, places[index].0)
      #expect(readdir(stream).map { name(of: $0) } == places[index].1, "\(kind): back to a place")
    }
  }

  /// Lists a directory with a buffer of `room` bytes; each name is shown to `visit` as it comes.
  private func names(
    _ path: String, room: Int, _ visit: (String) throws -> Void
  ) throws -> [String] {
    let file = try call(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    defer { close(file) }
    var found: [String] = []
    var buffer = [UInt8](repeating: 0, count: room)
    while true {
      let count = try call(clinux_getdents64(file, &buffer, room))
      if count == 0 { return found }
      var offset = 0
      while offset < count {
        let size = Int(buffer[offset + 16]) | Int(buffer[offset + 17]) << 8
        let bytes = buffer[(offset + 19)..<(offset + size)].prefix { $0 != 0 }
        found.append(String(decoding: bytes, as: UTF8.self))
        try visit(found[found.count - 1])
        offset += size
      }
    }
  }

  private func name(of entry: UnsafeMutablePointer<dirent>) -> String {
    withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
  }
}
