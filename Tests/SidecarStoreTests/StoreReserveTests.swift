import AttributeModel
import CLinux
import Foundation
import LinuxSystem
import SidecarStore
import Testing

/// Removing on a disk that is full to the last byte.
@Suite(.enabled(if: geteuid() == 0, "mounts")) struct StoreReserveTests {
  /// A store on a small disk, and what is to be found in it.
  private final class Stage {
    let directory: TemporaryDirectory
    var store: SQLiteStore
    var expected: [AttributeName: [UInt8]] = [:]

    init(_ size: Int) throws {
      directory = try TemporaryDirectory(tmpfsOf: size)
      store = try openStore(in: directory)
    }

    func set(_ number: Int, _ size: Int) -> Errno? {
      do throws(Errno) {
        let name = try AttributeName("user.\(number)".utf8)
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
        try store.set(
          name, to: value, of: object(1), type: .regular, changed: time(1), lineage: lineage(1))
        expected[name] = value
        return nil
      } catch {
        return error
      }
    }

    func remove(_ name: AttributeName) -> Errno? {
      do throws(Errno) {
        try store.remove(name, of: object(1), changed: time(2))
        expected[name] = nil
        return nil
      } catch {
        return error
      }
    }

    /// Not a page is left.
    func fill() throws {
      let path = "\(directory.path)/ballast"
      let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      try #require(file >= 0)
      let page = [UInt8](repeating: 1, count: 4096)
      while write(file, page, page.count) == page.count {}
      #expect(errno == ENOSPC)
      close(file)
    }

    func empty() throws { try FileManager.default.removeItem(atPath: "\(directory.path)/ballast") }

    func reserved() -> Int {
      var status = stat()
      return stat("\(directory.path)/reserve", &status) == 0 ? Int(status.st_blocks) * 512 : 0
    }

    func isAsExpected() throws -> Bool {
      try store.record(of: object(1))?.attributes ?? [:] == expected
    }
  }

  @Test(arguments: [1 << 20, 2 << 20, 8 << 20, 64 << 20], [30, 3000, 60_000])
  func allCanBeRemoved(_ size: Int, _ length: Int) throws {
    let stage = try Stage(size)
    let whole = stage.reserved()
    #expect(whole >= 1 << 18)
    for number in 0..<40 { #expect(stage.set(number, min(length, size / 100)) == nil) }
    try stage.fill()
    var refused = 0
    for number in 40..<2000 where refused < 3 {
      let errno = stage.set(number, length)
      #expect(errno == nil || errno == .noSpace)
      if errno != nil { refused += 1 }
    }
    #expect(refused == 3)
    #expect(try stage.isAsExpected())
    // One at a time, with changes between that use up whatever they can get.
    for (count, name) in stage.expected.keys.sorted().enumerated() {
      #expect(stage.remove(name) == nil, "removal \(count) of \(name)")
      if count % 3 == 0 { _ = stage.set(count, length) }
    }
    #expect(try stage.isAsExpected())
    // What was removed leaves room in the database.
    #expect(stage.set(0, min(length, size / 100)) == nil)
    try stage.empty()
    for number in 0..<min(20, size / 8 / length) { #expect(stage.set(number, length) == nil) }
    #expect(try stage.isAsExpected())
    try stage.store.close()
    #expect(stage.reserved() == whole, "whole again")
    stage.store = try openStore(in: stage.directory)
    #expect(try stage.isAsExpected())
  }

  /// It is opened without a free byte, read, and made smaller.
  @Test func itIsOpenedWithoutRoom() throws {
    let stage = try Stage(8 << 20)
    for number in 0..<20 { #expect(stage.set(number, 30_000) == nil) }
    try stage.store.close()
    try stage.fill()
    stage.store = try openStore(in: stage.directory)
    #expect(try stage.isAsExpected())
    #expect(stage.set(0, 60_000) == .noSpace)
    #expect(try stage.isAsExpected())
    for name in stage.expected.keys.sorted() { #expect(stage.remove(name) == nil, "\(name)") }
    #expect(try stage.isAsExpected())
    #expect(stage.set(3, 30_000) == nil)
    try stage.store.close()
    stage.store = try openStore(in: stage.directory)
    #expect(try stage.isAsExpected())
  }

  /// Without a reserve it is said what to do.
  @Test func withoutAReserveItSaysWhatToDo() throws {
    let stage = try Stage(8 << 20)
    #expect(stage.set(1, 1000) == nil)
    try stage.store.close()
    unlink("\(stage.directory.path)/reserve")
    try stage.fill()
    let error = #expect(throws: StoreError.self) { try openStore(in: stage.directory) }
    #expect(error?.reason == .unreachable(.noSpace))
    #expect(error?.description.contains("make room on its file system") == true)
    try stage.empty()
    stage.store = try openStore(in: stage.directory)
    #expect(try stage.isAsExpected())
  }
}
