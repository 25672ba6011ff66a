import Glibc
import TestSupport
import Testing

@testable import LinuxSystem

/// Names are bytes.
@Suite struct Names {
  @Test func aNULIsRefused() {
    #expect(throws: Errno.invalidArgument) { try FileName([0x61, 0, 0x62]) }
    #expect(throws: Errno.invalidArgument) { try FileName([0]) }
  }

  @Test func bytesComeBack() throws {
    for bytes in [[], [0xff], [0x61, 0xc3], Array(1...255)] as [[UInt8]] {
      let name = try FileName(bytes)
      #expect(name.bytes == bytes && name.count == bytes.count)
    }
    #expect(FileName("a\0b") == FileName("a"))
  }

  @Test func whatIsNotTextIsShownAllTheSame() throws {
    #expect(try "\(FileName([0x61, 0xff, 0x62]))" == "a\u{FFFD}b")
  }

  @Test func pathsAreJoinedByOneSlash() {
    #expect(FileName("/a").appending(FileName("b")) == FileName("/a/b"))
    #expect(FileName("/").appending(FileName("b")) == FileName("/b"))
    #expect(FileName("/a/").appending(FileName("b/c")) == FileName("/a/b/c"))
  }

  /// Against readdir(3): the same names, inode numbers and types, in buffers of every size.
  @Test func directoriesAreReadToTheirEnd() throws {
    let scratch = try Scratch()
    for number in 0..<200 {
      try scratch.file("\(number)-\(String(repeating: "x", count: number))")
    }
    symlink("nowhere", scratch.path("link"))
    mkfifo(scratch.path("fifo"), 0o600)
    var expected: [FileName: (UInt64, UInt8)] = [:]
    let stream = try #require(opendir(scratch.path))
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { FileName(copying: $0) }
      }
      expected[name] = (UInt64(entry.pointee.d_ino), entry.pointee.d_type)
    }
    let directory = try FileDescriptor.open(FileName(scratch.path), [.readOnly, .directory])
    for size in [280, 1000, 32768] {
      try directory.seekDirectory(to: 0)
      var found: [DirectoryEntry] = []
      while true {
        let some = try directory.readDirectory(size: size)
        if some.isEmpty { break }
        found += some
      }
      #expect(found.count == expected.count)
      for entry in found {
        let native = try #require(expected[entry.name])
        #expect(native.0 == entry.inode && native.1 == entry.typeCode)
      }
      // Each position leads to what followed it.
      for index in stride(from: 0, to: found.count - 1, by: 37) {
        try directory.seekDirectory(to: found[index].next)
        #expect(try directory.readDirectory(size: size).first?.name == found[index + 1].name)
      }
    }
    #expect(throws: Errno.notDirectory) {
      try FileDescriptor.open(FileName(scratch.path("0-")), .readOnly).readDirectory()
    }
  }

  @Test func theNameOfAProgramHidesNothing() {
    #expect(Processes.parent(inStat: Array("12 (a) S 7 (b) R 1 9".utf8)) == 1)
    #expect(Processes.parent(inStat: Array("12 (sh) S 7 8 9".utf8)) == 7)
    #expect(Processes.parent(inStat: Array("12 (a b) c) S 7 8".utf8)) == 7)
    #expect(Processes.parent(inStat: []) == nil)
    #expect(Processes.parent(inStat: Array("12 (sh) S".utf8)) == nil)
  }
}
