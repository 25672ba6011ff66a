import CLinux
import Glibc
package import LinuxSystem

/// A fresh directory for one test, gone with its owner, and with it whatever is mounted below.
///
/// All of them are called /tmp/sidecarfs-test-<pid>-<n>, so that a person sees whose they are; the
/// first one of a process clears away those of processes that no longer live.
package final class Scratch: Sendable {
  /// The directory, absolute, mode 0755: an ordinary user gets in.
  package let path: String

  private static let count = Lock(0)
  private static let prefix = "sidecarfs-test-"

  /// Makes the directory; throws what `mkdir` says.
  package init() throws(Errno) {
    let number = Self.count.withLock { count in
      if count == 0 { Self.clearLeftovers() }
      count += 1
      return count
    }
    path = "/tmp/\(Self.prefix)\(getpid())-\(number)"
    try call(mkdir(path, 0o755))
    // The umask of whoever runs the tests has no say.
    try call(chmod(path, 0o755))
  }

  deinit {
    unmountAll(below: path)
    removeTree(path)
  }

  /// The path of `name` in this directory; makes nothing.
  package func path(_ name: String) -> String { "\(path)/\(name)" }

  /// Makes a directory of mode 0755 here and returns its path.
  package func directory(_ name: String) throws(Errno) -> String {
    let directory = path(name)
    try call(mkdir(directory, 0o755))
    try call(chmod(directory, 0o755))
    return directory
  }

  /// Writes a file here and returns its path; makes it executable when `mode` says so.
  @discardableResult
  package func file(
    _ name: String, _ content: String = "", mode: UInt32 = 0o644
  ) throws(Errno) -> String {
    let file = path(name)
    try writeFile(file, Array(content.utf8), mode: mode)
    return file
  }

  private static func clearLeftovers() {
    for name in entries(of: "/tmp") where name.hasPrefix(prefix) {
      let words = name.dropFirst(prefix.count).split(separator: "-")
      guard let pid = words.first.flatMap({ Int32($0) }), !isAlive(pid) else { continue }
      unmountAll(below: "/tmp/\(name)")
      removeTree("/tmp/\(name)")
    }
  }

  private static func isAlive(_ pid: pid_t) -> Bool { Glibc.kill(pid, 0) == 0 || errno != ESRCH }
}

/// Throws what `errno` says when a call of the C library returned -1.
@discardableResult
package func call<Result: FixedWidthInteger>(_ result: Result) throws(Errno) -> Result {
  if result == -1 { throw Errno(errno) }
  return result
}

/// Makes or replaces a file.
package func writeFile(
  _ path: String, _ content: [UInt8], mode: UInt32 = 0o644
) throws(Errno) {
  let descriptor = try call(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode))
  defer { close(descriptor) }
  var written = 0
  while written < content.count {
    let rest = content[written...]
    written += try call(rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) })
  }
  try call(fchmod(descriptor, mode))
}

/// All bytes of a file, or of what is left of it.
package func readFile(_ path: String) throws(Errno) -> [UInt8] {
  let descriptor = try call(open(path, O_RDONLY | O_CLOEXEC))
  defer { close(descriptor) }
  var content: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = try call(read(descriptor, &chunk, chunk.count))
    if count == 0 { return content }
    content += chunk[..<count]
  }
}

/// The names in a directory as text, without "." and ".."; none when it cannot be read.
package func entries(of directory: String) -> [String] {
  guard let stream = opendir(directory) else { return [] }
  defer { closedir(stream) }
  var names: [String] = []
  while let entry = readdir(stream) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name != "." && name != ".." { names.append(name) }
  }
  return names
}

/// Removes a tree, but nothing of another file system: a mount that would not go stays whole.
///
/// By `rm`, which copes with names that are not text and with trees deeper than a path is long.
package func removeTree(_ path: String) {
  _ = try? run(["rm", "-rf", "--one-file-system", "--", path], timeout: .seconds(60))
}
