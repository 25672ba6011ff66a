import AttributeModel
import CLinux
import Foundation
import LinuxSystem
import SQLite
import SidecarStore
import Testing

/// A directory of the test's own, removed with its contents when the test lets go of it.
final class TemporaryDirectory: Sendable {
  let path: String
  private let isMounted: Bool

  init() throws {
    path = try Self.make()
    isMounted = false
  }

  /// A tmpfs of its own, of `size` bytes.
  init(tmpfsOf size: Int) throws {
    path = try Self.make()
    try #require(mount("tmpfs", path, "tmpfs", 0, "size=\(size)") == 0, "mount tmpfs")
    isMounted = true
  }

  deinit {
    if isMounted { umount2(path, Int32(MNT_DETACH)) }
    try? FileManager.default.removeItem(atPath: path)
  }

  func makeReadOnly() throws {
    let flags = MS_REMOUNT | MS_RDONLY
    try #require(mount("tmpfs", path, "tmpfs", UInt(flags), "") == 0, "remount")
  }

  func open() throws -> FileDescriptor {
    try FileDescriptor.open(FileName(path), [.path, .directory])
  }

  func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
  }

  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path)
  }

  /// The bytes of every file that a store keeps things in; the log's index is made anew each time.
  func snapshot() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path)
    where name != "lock" && name != "reserve" && !name.hasSuffix("-shm") {
      files[name] = try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)"))
    }
    return files
  }

  private static func make() throws -> String {
    var template = Array("/tmp/sidecarfs-test-XXXXXX".utf8CString)
    try #require(mkdtemp(&template) != nil)
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// The engines that keep the same promises.
enum StoreKind: CaseIterable {
  case memory
  case sqlite
}

/// A store of one kind, with what it stands on.
final class TestStore {
  let directory: TemporaryDirectory
  let store: any EntryStore

  init(_ kind: StoreKind) throws {
    directory = try TemporaryDirectory()
    store =
      switch kind {
      case .memory: MemoryStore()
      case .sqlite: try openStore(in: directory)
      }
  }
}

func openStore(
  in directory: TemporaryDirectory, schema: Schema = .current,
  prepare: (Database) -> Void = { _ in }
) throws -> SQLiteStore {
  try SQLiteStore.open(
    directory.open(), at: FileName(directory.path), for: FileName("/mnt/test"),
    admission: StoreOwnership.anybody, schema: schema, prepare: prepare)
}

func dump(_ store: any AttributeStore) throws -> StoreContents {
  switch store {
  case let store as SQLiteStore: try store.dump()
  case let store as MemoryStore: store.dump()
  default: throw Errno.invalidArgument
  }
}

let volume = VolumeKey(bytes: [1, 2, 3], kind: .handle)
let otherVolume = VolumeKey(bytes: [1, 2, 3], kind: .inode)

func object(_ number: Int, on volume: VolumeKey = volume) -> ObjectKey {
  ObjectKey(volume: volume, bytes: withUnsafeBytes(of: number.bigEndian) { Array($0) })
}

func time(_ seconds: Int64) -> Timestamp { Timestamp(seconds: seconds, nanoseconds: 7) }

func name(_ text: String) throws -> AttributeName { try AttributeName(text.utf8) }

/// From the root, which is object 0, through directories to a file.
func lineage(_ numbers: Int..., name: String = "file") -> [LineageStep] {
  let steps = [0] + numbers
  return steps.enumerated().map { index, number in
    let isLast = index == steps.count - 1
    return LineageStep(
      object: object(number), name: index == 0 ? [] : Array((isLast ? name : "d\(number)").utf8),
      type: isLast && index > 0 ? .regular : .directory)
  }
}

/// Runs `body` in so many threads at once, and waits for all of them.
func inThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = DispatchGroup()
  for index in 0..<count {
    group.enter()
    Thread {
      body(index)
      group.leave()
    }.start()
  }
  #expect(group.wait(timeout: .now() + 60) == .success, "threads did not end")
}

/// SplitMix64: the same numbers from the same seed.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
