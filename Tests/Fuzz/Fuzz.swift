import Glibc

/// What libFuzzer calls with bytes of its own; `SIDECARFS_FUZZ` says who reads them. Built by
/// `Scripts/fuzz`, in one module with the daemon's sources.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  switch getenv("SIDECARFS_FUZZ").map({ String(cString: $0) }) {
  case "store": StoreFuzz.read(bytes)
  case "make": StoreFuzz.make()
  case "attributes": fuzzAttributes(bytes)
  case "mounts":
    for line in bytes.split(separator: UInt8(ascii: "\n")) { _ = Mounts.parse(Array(line)) }
  case "options": fuzzOptions(bytes)
  default: abort()
  }
  return 0
}

/// Stands for Overlay's, which needs FUSE.
enum CachePolicy: String, CaseIterable { case auto, always, never }

private func fuzzAttributes(_ bytes: [UInt8]) {
  var set = AttributeSet()
  for (number, part) in bytes.split(separator: 0, omittingEmptySubsequences: false).enumerated() {
    guard let name = try? AttributeName(part) else { continue }
    _ = try? AttributeRules.linux.check(name)
    let condition = try? SetCondition(flags: Int32(number % 4))
    guard let condition, (try? set.admit(name, Array(part), condition)) != nil else { continue }
    set[name] = Array(part)
  }
  for shows in [true, false] {
    let list = set.nameList(includingTrusted: shows)
    if list.count(where: { $0 == 0 }) > set.count { abort() }
    if !list.isEmpty && list.last != 0 { abort() }
  }
}

private func fuzzOptions(_ bytes: [UInt8]) {
  guard let list = try? FileName(bytes.filter { $0 != 0 }) else { return }
  var settings = MountSettings()
  _ = try? settings.take("options", list)
  let words = bytes.split(separator: 0).compactMap { try? FileName($0) }
  _ = try? ParsedArguments(words, MountSettings.options, command: "mount")
}

/// A store of made-up bytes: opening it and reading everything may fail, and no more.
enum StoreFuzz {
  private static let directory: String = {
    let path = "/dev/shm/sidecarfs-fuzz-\(getpid())"
    mkdir(path, 0o700)
    return path
  }()

  static func read(_ bytes: [UInt8]) {
    for name in [
      "store.db", "store.db-wal", "store.db-shm", "store.db-journal", "lock", "reserve",
      "journal-0",
      "journal-1",
    ] {
      unlink("\(directory)/\(name)")
    }
    put(bytes)
    do {
      let store = try open()
      _ = try? store.dump()
      _ = try? store.counts()
      let name = try AttributeName("user.a".utf8)
      _ = try? store.record(of: key(1))
      _ = try? store.set(
        name, to: [1], of: key(1), type: .regular, changed: Timestamp(seconds: 1, nanoseconds: 1),
        lineage: [])
      try? store.close()
    } catch {}
  }

  /// Writes a sound store to where the script wants it.
  static func make() {
    do {
      let store = try open()
      for number in 0..<20 {
        let name = try AttributeName("user.\(number % 5)".utf8)
        try store.set(
          name, to: Array(repeating: 7, count: number * 100), of: key(number), type: .regular,
          changed: Timestamp(seconds: 1, nanoseconds: 1),
          lineage: [
            LineageStep(object: key(100), name: [], type: .directory),
            LineageStep(object: key(number), name: [UInt8(number + 65)], type: .regular),
          ])
      }
      try store.quarantine(key(3), because: .reusedKey)
      try store.close()
      guard let output = getenv("SIDECARFS_FUZZ_OUTPUT") else { abort() }
      let file = try FileDescriptor.open(FileName("\(directory)/store.db"), .readOnly)
      let copy = try FileDescriptor.open(
        FileName(String(cString: output)), [.writeOnly, .create, .truncate], mode: 0o644)
      try copy.write(file.readToEnd())
    } catch {
      abort()
    }
    exit(0)
  }

  private static func put(_ bytes: [UInt8]) {
    let file = try? FileDescriptor.open(
      FileName("\(directory)/store.db"), [.writeOnly, .create, .truncate], mode: 0o600)
    if let file { try? file.write(bytes) }
  }

  private static func open() throws -> SQLiteStore {
    try SQLiteStore.open(
      FileDescriptor.open(FileName(directory), [.path, .directory]), at: FileName(directory),
      for: FileName("/mnt/fuzz"), admission: StoreOwnership.anybody)
  }

  private static func key(_ number: Int) -> ObjectKey {
    ObjectKey(
      volume: VolumeKey(bytes: [1], kind: .handle), bytes: [UInt8(truncatingIfNeeded: number)])
  }
}
