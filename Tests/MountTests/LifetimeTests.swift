import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Attributes live and die with their objects, over remounts too, as they do natively; and the store
/// holds nothing else.
@Suite(.needsFuse, .needsLoop, .serialized) struct Lifetime {
  @Test(arguments: SourceKind.allCases) func scenarios(_ kind: SourceKind) async throws {
    let scratch = try Scratch()
    let natives = try [SourceKind.tmpfs, .xfs].map {
      try Source($0, in: scratch, named: "native-\($0)")
    }
    var accepted: [[[String]]] = []
    for native in natives {
      var lines = LifetimeScenario.all.map { _ in [String]() }
      for step in 0..<3 { try await make(step, in: native.path, &lines) }
      accepted.append(lines)
    }
    let source = try Source(kind, in: scratch)
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, in: scratch)
    var lines = LifetimeScenario.all.map { _ in [String]() }
    for step in 0..<3 {
      try await make(step, in: mount.mountPoint, &lines)
      try noOrphans(mount)
      if step < 2 { try mount.remount() } else { try mount.unmount() }
    }
    let wanted = try ExpectedState(source: source.path, model: natives[1].path, kind: kind)
    try StoredState(store).expect(wanted, "\(kind)")
    for (number, scenario) in LifetimeScenario.all.enumerated() {
      for (line, text) in lines[number].enumerated() {
        let answers = accepted.compactMap { line < $0[number].count ? $0[number][line] : nil }
        #expect(answers.contains(text), "\(kind), \(scenario.name), line \(line + 1)")
      }
      #expect(lines[number].count == accepted[0][number].count, "\(scenario.name): lines")
    }
  }

  /// Names fill the list until one more would not fit in it: what is there can always be listed.
  @Test func listLimit() throws {
    let scratch = try Scratch()
    let source = try Source(.ramfs, in: scratch)
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, in: scratch)
    let path = mount.mountPoint + "/f"
    try writeFile(path, [])
    func name(_ number: Int, _ size: Int) -> String {
      let start = "user.\(number)."
      return start + String(repeating: "n", count: size - start.utf8.count)
    }
    var count = 0
    while setxattr(path, name(count, 255), "v", 1, 0) == 0 { count += 1 }
    #expect(errno == ENOSPC)
    #expect(count == 65536 / 256)
    var list = [CChar](repeating: 0, count: 65536)
    #expect(listxattr(path, &list, list.count) == 65536)
    #expect(setxattr(path, name(0, 255), "other", 5, 0) == 0, "a value may be replaced")
    #expect(setxattr(path, "user.x", "v", 1, 0) == -1 && errno == ENOSPC)
    try call(removexattr(path, name(7, 255)))
    #expect(setxattr(path, name(7, 255) + "n", "v", 1, 0) == -1 && errno == ERANGE)
    #expect(setxattr(path, "user.x", "v", 1, 0) == 0)
    try mount.remount()
    #expect(listxattr(path, &list, list.count) == 65536 - 256 + 7)
    try mount.unmount()
    #expect(try StoredState(store).objects.values.reduce(0) { $0 + $1.count } == 256)
  }

  /// The mount's root keeps what it has, and what is left in place of a name that moved has nothing.
  @Test(arguments: SourceKind.allCases) func rootAndWhiteout(_ kind: SourceKind) throws {
    let scratch = try Scratch()
    let source = try Source(kind, in: scratch)
    let native = try Source(kind, in: scratch, named: "native")
    let store = try scratch.directory("store")
    let mount = try Mount(source.path, store: store, in: scratch)
    let root = mount.mountPoint
    try call(setxattr(root, "user.root", "1", 1, 0))
    try call(setxattr(root, "trusted.root", "2", 1, 0))
    let (from, to) = (root + "/f", root + "/g")
    for path in [from, native.path + "/f"] { try writeFile(path, []) }
    for path in [from, native.path + "/f"] where path == from || kind != .ramfs {
      try call(setxattr(path, "user.f", "1", 1, 0))
    }
    let whiteout: UInt32 = 4
    let wanted = clinux_renameat2(
      AT_FDCWD, native.path + "/f", AT_FDCWD, native.path + "/g", whiteout)
    let code = errno
    let result = clinux_renameat2(AT_FDCWD, from, AT_FDCWD, to, whiteout)
    #expect(result == wanted && (result == 0 || errno == code), "\(kind)")
    let moved = result == 0 ? to : from
    for _ in 0..<2 {
      #expect(try attributesOf(moved).count == 1, "\(kind)")
      if result == 0 { #expect(try attributesOf(from).isEmpty, "\(kind)") }
      #expect(try attributesOf(root).count == 2, "\(kind)")
      try mount.remount()
    }
    try mount.unmount()
    let stored = try StoredState(store)
    #expect(stored.objects.count == 2 && stored.orphans.isEmpty && stored.quarantined == 0)
  }

  func make(
    _ step: Int, in place: String, _ lines: inout [[String]]
  ) async throws {
    for (number, scenario) in LifetimeScenario.all.enumerated() where step < scenario.steps.count {
      let directory = "\(place)/\(scenario.directory)"
      if step == 0 { try call(mkdir(directory, 0o755)) }
      let calls = Calls()
      let inTime = await onIsolatedThread(in: directory, within: .seconds(60)) {
        scenario.steps[step](calls)
      }
      #expect(inTime, "\(scenario.name) hangs after \(calls.lines.last ?? "nothing")")
      lines[number] += calls.lines
    }
  }
}

/// A number that `sidecarfs status` tells of a mount.
func statusNumber(_ name: String, of mount: Mount) throws -> Int {
  let text = try check([try daemonBinary(), "status", "--json", mount.mountPoint])
  guard let start = text.firstRange(of: "\"\(name)\":")?.upperBound,
    let number = Int(text[start...].drop { $0 == " " }.prefix { $0.isNumber || $0 == "-" })
  else { throw Unreadable(text: text) }
  return number
}

/// Waits until the store has no orphan: the kernel tells of an object's end after the call's.
func noOrphans(_ mount: Mount) throws {
  try waiting(for: "the end of orphans", within: .seconds(20)) {
    try statusNumber("orphans", of: mount) == 0 ? () : nil
  }
}

/// A status that does not say what was asked for.
struct Unreadable: Error {
  let text: String
}
