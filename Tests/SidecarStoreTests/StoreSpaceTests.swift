import AttributeModel
import Foundation
import LinuxSystem
import SidecarStore
import Testing

@Suite(.enabled(if: geteuid() == 0, "mounts")) struct StoreSpaceTests {
  /// A real disk that is really full.
  @Test func aFullDiskKeepsWhatWasThere() throws {
    let directory = try TemporaryDirectory(tmpfsOf: 4 << 20)
    let store = try openStore(in: directory)
    var expected: [AttributeName: [UInt8]] = [:]
    func set(_ name: AttributeName, _ value: [UInt8]) throws(Errno) {
      try store.set(
        name, to: value, of: object(1), type: .regular, changed: time(1), lineage: lineage(1))
      expected[name] = value
    }
    try set(name("user.first"), [1])
    try directory.write([UInt8](repeating: 0, count: 1 << 20), to: "ballast")
    var failure: Errno?
    for number in 0..<200 where failure == nil {
      do throws(Errno) {
        try set(
          AttributeName("user.\(number)".utf8), [UInt8](repeating: UInt8(number), count: 60_000))
      } catch {
        failure = error
      }
    }
    #expect(failure == .noSpace)
    #expect(try store.record(of: object(1))?.attributes == expected)
    // An old value stays when its replacement has no room.
    let large = [UInt8](repeating: 9, count: 60_000)
    for _ in 0..<3 {
      #expect(throws: Errno.noSpace) { try set(name("user.first"), large) }
      #expect(try store.record(of: object(1))?.attributes == expected)
    }
    // With room again, all is well, after reopening too.
    try FileManager.default.removeItem(atPath: "\(directory.path)/ballast")
    try set(name("user.first"), large)
    try store.sync()
    #expect(try store.record(of: object(1))?.attributes == expected)
    try store.close()
    let size = try FileManager.default.attributesOfItem(atPath: "\(directory.path)/store.db")
    #expect(size[.size] as? Int ?? 0 > 0)
  }

  @Test func noRoomForANewStore() throws {
    let directory = try TemporaryDirectory(tmpfsOf: 1 << 15)
    try directory.write([UInt8](repeating: 0, count: 1 << 14), to: "ballast")
    let error = #expect(throws: StoreError.self) { try openStore(in: directory) }
    #expect(error?.reason == .unreachable(.noSpace))
  }
}
