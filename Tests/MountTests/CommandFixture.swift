import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// The command at work in a directory of its own: a source without attributes, and a mount point.
final class CommandFixture: Sendable {
  let scratch: Scratch
  let binary: String
  /// A ramfs with `source`, which is the source, and room beside it.
  let memory: Source
  /// A directory with a file, a directory and a link.
  let source: String
  /// An empty directory.
  let mountPoint: String

  /// An ordinary user whom every system has an account for: fusermount3 wants one.
  static let nobody = User(65534)

  init(_ kind: SourceKind = .ramfs) throws {
    scratch = try Scratch()
    binary = try daemonBinary()
    memory = try Source(kind, in: scratch)
    source = memory.path + "/source"
    mountPoint = try scratch.directory("view")
    try check([
      "sh", "-c",
      "mkdir \"$1\" && cd \"$1\" && mkdir inner && echo text > file && ln -s file link", "sh",
      source,
    ])
  }

  deinit { unmountAll(below: scratch.path) }

  /// Runs the command and waits for it, in the scratch directory unless told.
  func sidecarfs(
    _ words: String..., in directory: String? = nil, as user: User? = nil,
    environment: [String: String] = [:], timeout: Duration = .seconds(60)
  ) throws -> Outcome {
    try run(
      [binary] + words, in: directory ?? scratch.path, environment: environment, as: user,
      timeout: timeout)
  }

  /// A directory of an ordinary user's, on the scratch directory's file system.
  func directory(_ name: String, of user: User) throws -> String {
    let path = try scratch.directory(name)
    try call(chown(path, user.uid, user.gid))
    return path
  }

  /// The daemons that serve something in the scratch directory, by their command lines.
  func daemons() -> [Int32] {
    entries(of: "/proc").compactMap { name in
      guard let process = Int32(name), process != getpid(),
        let words = try? readFile("/proc/\(name)/cmdline").split(separator: 0),
        words.first.map({ String(decoding: $0, as: UTF8.self) }) == binary,
        words.contains(where: { String(decoding: $0, as: UTF8.self).contains(scratch.path) })
      else { return nil }
      return process
    }
  }

  /// Waits until no daemon is left, nor its files open.
  ///
  /// One that is killed loses its command line first and its files later, when the last of its
  /// threads is gone.
  func awaitNoDaemon() throws {
    _ = try waiting(for: "the daemons' end") {
      daemons().isEmpty && !isAnyDying ? true : nil
    }
  }

  /// Whether a daemon, whosever, is between the two.
  private var isAnyDying: Bool {
    entries(of: "/proc").contains { name in
      guard Int32(name) != nil, (try? readFile("/proc/\(name)/cmdline"))?.isEmpty == true,
        let text = try? String(decoding: readFile("/proc/\(name)/stat"), as: UTF8.self),
        text.contains("(sidecarfs) ")
      else { return false }
      return !text.contains("(sidecarfs) Z") || entries(of: "/proc/\(name)/task").count > 1
    }
  }

  /// Mounts in the background, and says by which process.
  func mount(_ options: String..., at path: String? = nil) throws -> Int32 {
    let before = Set(daemons())
    try check([binary, "mount"] + options + [source, path ?? mountPoint], in: scratch.path)
    return try #require(daemons().first { !before.contains($0) })
  }

  /// Everything about what is in a directory: names, kinds, modes, owners, times, contents.
  func look(at directory: String) throws -> String {
    try check(
      [
        "sh", "-c",
        """
        find . -printf '%p|%y|%m|%U|%G|%s|%T@|%C@|%l\\n' | sort
        find . -type f -exec sha256sum {} + | sort
        """,
      ], in: directory)
  }

  /// Asks a store's database by sqlite3, which only reads it.
  func query(_ text: String, in store: String? = nil) throws -> String {
    let file = (store ?? source + "/.sidecarfs") + "/store.db"
    return try check(["sqlite3", "-readonly", file, text]).trimmed
  }

  /// Whether a store was closed in good order: marked so, no log left, its lock free.
  func isClosed(_ store: String? = nil) throws -> Bool {
    let place = store ?? source + "/.sidecarfs"
    let isFree = try run(["flock", "--nonblock", place + "/lock", "true"]).status == 0
    guard isFree, !entries(of: place).contains("store.db-wal") else { return false }
    return try query("SELECT value FROM meta WHERE key = 'clean'", in: store) == "1"
  }
}

extension String {
  /// Without blanks and line ends around it.
  var trimmed: String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0.isNewline }
    return String(
      drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }
}

/// Expects a refusal: its status, one line that ends with a remedy, and words in that line.
func expectRefusal(
  _ outcome: Outcome, _ status: Int32, _ mentions: String...,
  at location: SourceLocation = #_sourceLocation
) {
  #expect(outcome.status == status, "\(outcome.errorText)", sourceLocation: location)
  #expect(outcome.output.isEmpty, sourceLocation: location)
  let text = outcome.errorText
  #expect(text.hasPrefix("sidecarfs: ") && text.hasSuffix("\n"), sourceLocation: location)
  #expect(text.split(separator: "\n").count == 1, "\(text)", sourceLocation: location)
  #expect(text.contains("; "), "no remedy: \(text)", sourceLocation: location)
  for word in mentions {
    #expect(text.contains(word), "no \(word) in: \(text)", sourceLocation: location)
  }
}
