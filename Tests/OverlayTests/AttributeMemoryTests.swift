import AttributeModel
import FUSE
import LinuxSystem
import Overlay
import SidecarStore
import TestSupport
import Testing

/// Attributes stay in memory up to a limit, and are right whether they do or not.
@Suite(.needsRoot) struct AttributeMemoryTests {
  /// Files whose attributes are many times the limit, known by handle and by name.
  @Test(arguments: [IdentityChoice.handle, .path]) func bounded(_ identity: IdentityChoice) throws {
    let limit = 64 << 10
    let scene = try Place(limit: limit, identity, files: 300)
    for round in 0..<3 {
      for number in 0..<300 { try scene.set(number, round) }
      for number in 0..<300 {
        #expect(try scene.value(number) == scene.value(number, round), "\(number), \(round)")
        // What the last one added was there before room was made.
        #expect(scene.overlay.attributeMemory <= limit)
      }
    }
    for number in (0..<300).reversed() {
      #expect(try scene.overlay.listxattr(scene.nodes[number], scene.request) == scene.list)
      try scene.overlay.removexattr(Array("user.a".utf8), from: scene.nodes[number], scene.request)
      #expect(throws: Errno.noAttribute) { try scene.value(number) }
    }
    // Nothing that was forgotten counts any more.
    scene.forgetAll()
    #expect(scene.overlay.attributeMemory == 0)
  }

  /// One set that is larger than the limit.
  @Test func largerThanTheLimit() throws {
    let scene = try Place(limit: 1000, .handle, files: 2)
    for number in 0..<2 { try scene.set(number, 0) }
    for number in [0, 1, 0, 1] {
      #expect(try scene.value(number) == scene.value(number, 0))
      #expect(scene.overlay.attributeMemory <= 1000)
    }
    scene.forgetAll()
  }

  /// Threads that read and change files of their own while the memory is too small for all.
  @Test(.timeLimit(.minutes(2))) func threads() throws {
    let limit = 32 << 10
    let scene = try Place(limit: limit, .handle, files: 64)
    let faults = Lock<[String]>([])
    let left = Lock(8)
    for thread in 0..<8 {
      detachedThread {
        for round in 0..<150 {
          for number in stride(from: thread, to: 64, by: 8) {
            do {
              try scene.set(number, round)
              let neighbour = (number + 1) % 64
              _ = try? scene.value(neighbour)
              if try scene.value(number) != scene.value(number, round) {
                faults.withLock { $0.append("\(number) in round \(round)") }
              }
            } catch {
              faults.withLock { $0.append("\(number) in round \(round): \(error)") }
            }
          }
        }
        left.withLock { $0 -= 1 }
      }
    }
    try waiting(for: "threads", within: .seconds(100)) { left.withLock { $0 == 0 ? () : nil } }
    #expect(faults.withLock { $0 } == [])
    scene.forgetAll()
    #expect(scene.overlay.attributeMemory == 0)
  }

  private final class Place: @unchecked Sendable {
    private let scratch: Scratch
    private let below: TestSupport.Source
    let overlay: Overlay
    let nodes: [Node]
    let request = Request(uid: 0, gid: 0)
    let list = Array("user.a\0user.b\0".utf8)[...]

    init(limit: Int, _ identity: IdentityChoice, files: Int) throws {
      scratch = try Scratch()
      below = try TestSupport.Source(.tmpfs, in: scratch)
      for number in 0..<files { try writeFile("\(below.path)/\(number)", []) }
      var options = Overlay.Options(identity: identity, actsAsCaller: true) { _ in }
      options.attributeMemory = limit
      overlay = try Overlay(
        ShownSource(FileName(below.path), identity), store: MemoryStore(), storeDirectory: nil,
        options)
      let (shown, request) = (overlay, request)
      nodes = try (0..<files).map {
        try shown.lookup(FileName("\($0)"), in: shown.root, request).node
      }
    }

    func value(_ number: Int, _ round: Int) -> ArraySlice<UInt8> {
      [UInt8](repeating: UInt8((number * 7 + round) & 0xff), count: 500 + number)[...]
    }

    func set(_ number: Int, _ round: Int) throws(Errno) {
      try overlay.setxattr(
        Array("user.a".utf8), Array(value(number, round)), [], on: nodes[number], request)
      try overlay.setxattr(
        Array("user.b".utf8), [UInt8](repeating: 1, count: 1500), [], on: nodes[number], request)
    }

    func value(_ number: Int) throws(Errno) -> ArraySlice<UInt8> {
      try overlay.getxattr(Array("user.a".utf8), of: nodes[number], request)
    }

    func forgetAll() { for node in nodes { overlay.forget(node, lookups: 1) } }
  }
}
