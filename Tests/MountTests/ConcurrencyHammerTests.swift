import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Eight processes at work in one tree, each with a model of what it made.
@Suite(.needsFuse, .needsLoop, .serialized) struct ConcurrencyHammer {
  /// The kinds that the short run has; the long one has all.
  static let kinds: [SourceKind] =
    isLong ? SourceKind.allCases : [.ramfs, .ext4]

  /// With requests through /dev/fuse; on one kind each other way as well.
  static let runs = kinds.map { ($0, [String]()) } + transports.dropFirst().map { (kinds[0], $0) }

  @Test(arguments: runs) func hammer(_ kind: SourceKind, _ transport: [String]) throws {
    let scratch = try Scratch()
    let source = try Source(kind, in: scratch)
    rmdir(source.path + "/lost+found")
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, options: transport, in: scratch)
    let root = mount.mountPoint
    #expect(try statusNumber("known_objects", of: mount) == 1)
    let before = openFiles(mount)
    for number in 0..<4 {
      let path = "\(root)/shared\(number)"
      try call(mkdir(path, 0o755))
      let value = Array("\(number)".utf8)
      try call(lsetxattr(path, "user.shared", value, value.count, 0))
    }
    let manifests = (0..<8).map { scratch.path("manifest-\($0)") }
    let steps = try hammer(root, manifests, seconds: Self.isLong ? 60 : 10)
    print("\(kind): \(steps) steps by 8 processes")
    try expect(manifests, in: root, "mounted")
    let memory = try residentMegabytes(mount)
    print("\(kind): the daemon has \(memory) MB")
    // A sanitizer takes several times as much.
    if getenv("TSAN_OPTIONS") == nil, getenv("ASAN_OPTIONS") == nil { #expect(memory < 150) }
    try noOrphans(mount)

    try mount.remount()
    try expect(manifests, in: root, "mounted again")
    let wanted = try ExpectedState(source: source.path, model: root, kind: kind)
    try mount.unmount()
    try StoredState(store).expect(wanted, "\(kind)")

    try mount.remount()
    for name in entries(of: root) { removeTree("\(root)/\(name)") }
    #expect(entries(of: root).isEmpty)
    try waiting(for: "the kernel to forget everything", within: .seconds(30)) {
      try dropCaches()
      return try statusNumber("known_objects", of: mount) == 1 ? () : nil
    }
    // The last ones are closed a moment after they are forgotten.
    _ = try? waiting(for: "descriptors", within: .seconds(5)) {
      openFiles(mount).count <= before.count ? () : nil
    }
    let after = openFiles(mount)
    #expect(after.count <= before.count, "descriptors: \(before), and later \(after)")
    #expect(targets(ofDaemon: mount).count < before.count + 100, "those of threads")
    try mount.unmount()
    let left = try StoredState(store)
    #expect(left.objects.count <= 1, "records of removed objects")
    #expect(left.entries.isEmpty)
    #expect(left.orphans.isEmpty)
    #expect(mount.printed.isEmpty, "\(mount.printed)")
  }

  /// Runs the processes and returns how many steps they made.
  private func hammer(_ root: String, _ manifests: [String], seconds: Int) throws -> Int {
    let null = try call(open("/dev/null", O_RDWR | O_CLOEXEC))
    let words = try call(memfd_create("words", UInt32(MFD_CLOEXEC)))
    defer {
      close(null)
      close(words)
    }
    let binary = try daemonBinary(named: "Hammer")
    let children = try manifests.enumerated().map { number, manifest in
      try Child([binary, root, "\(number)", "\(seconds)", manifest], files: [null, words, words])
    }
    for manifest in manifests {
      try waiting(for: manifest) { access(manifest + ".ready", F_OK) == 0 ? () : nil }
    }
    for manifest in manifests { try writeFile(manifest + ".go", []) }
    for child in children {
      let status = try child.wait(within: .seconds(seconds + 120))
      #expect(status == 0, "a worker's end")
    }
    let text = String(decoding: try readFile("/proc/self/fd/\(words)"), as: UTF8.self)
    let lines = text.split(separator: "\n")
    for line in lines where Int(line) == nil { Issue.record("\(line)") }
    return lines.reduce(0) { $0 + (Int($1) ?? 0) }
  }

  /// Compares a tree with what its makers say it holds.
  private func expect(_ manifests: [String], in root: String, _ what: String) throws {
    var wanted: Set<String> = []
    for manifest in manifests {
      wanted.formUnion(
        String(decoding: try readFile(manifest), as: UTF8.self).split(separator: "\n").map(
          String.init))
    }
    var found: Set<String> = []
    for name in entries(of: root) {
      let path = "\(root)/\(name)"
      let attributes = try attributesOf(path)
      let shared = attributes.first { $0.hasPrefix(hex(Array("user.shared=".utf8.dropLast()))) }
      if let shared, let last = shared.last {
        for name in entries(of: path) {
          try list("\(path)/\(name)", "shared:\(last)/\(name)", &found)
        }
      } else {
        try list(path, name, &found)
      }
    }
    let missing = wanted.subtracting(found).sorted()
    let extra = found.subtracting(wanted).sorted()
    #expect(missing.isEmpty, "\(what): missing: \(missing.prefix(5))")
    #expect(extra.isEmpty, "\(what): too much: \(extra.prefix(5))")
  }

  private func list(_ path: String, _ place: String, _ found: inout Set<String>) throws {
    let attributes = try attributesOf(path).map(readable).sorted()
    found.insert(([place] + attributes).joined(separator: " "))
    var status = stat()
    try call(lstat(path, &status))
    guard status.st_mode & S_IFMT == S_IFDIR else { return }
    for name in entries(of: path) { try list("\(path)/\(name)", "\(place)/\(name)", &found) }
  }

  /// The name as text, the value in small hexadecimal, as a manifest has it.
  private func readable(_ attribute: String) -> String {
    let parts = attribute.split(separator: "=", omittingEmptySubsequences: false)
    var bytes: [UInt8] = []
    var rest = parts[0]
    while rest.count > 1 {
      bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
      rest = rest.dropFirst(2)
    }
    return String(decoding: bytes, as: UTF8.self) + "=" + parts[1].lowercased()
  }

  private static var isLong: Bool { getenv("SIDECARFS_ALL").map { String(cString: $0) } == "1" }
}

/// Makes the kernel forget every name and inode that nobody uses.
func dropCaches() throws(Errno) {
  let file = try call(open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC))
  defer { close(file) }
  try call(write(file, "2", 1))
}

/// What a mount's daemon has open, but for what its threads come to need one after the other: a
/// connection to the store that reads, a pair of pipes to move data through, a ring.
func openFiles(_ mount: Mount) -> [String] {
  targets(ofDaemon: mount).filter { target in
    !["/store.db", "pipe:", "[io_uring]"].contains { target.contains($0) }
  }
}

/// What the descriptors of a mount's daemon lead to.
func targets(ofDaemon mount: Mount) -> [String] {
  entries(of: "/proc/\(mount.pid)/fd").map { number in
    var target = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/\(mount.pid)/fd/\(number)", &target, target.count)
    let bytes = target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// How much memory a mount's daemon has, in 2^20 bytes.
func residentMegabytes(_ mount: Mount) throws -> Int {
  let text = String(decoding: try readFile("/proc/\(mount.pid)/statm"), as: UTF8.self)
  let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  return (pages * 4096) >> 20
}

/// A program that was built beside the daemon, or beside the running tests.
func daemonBinary(named name: String) throws(Errno) -> String {
  for argument in CommandLine.arguments + [(try? daemonBinary()) ?? ""] {
    guard let slash = argument.lastIndex(of: "/") else { continue }
    let binary = argument[..<slash] + "/\(name)"
    if access(String(binary), X_OK) == 0 { return String(binary) }
  }
  throw .noEntry
}
