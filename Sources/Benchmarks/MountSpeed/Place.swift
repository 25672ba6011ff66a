import CLinux
import Glibc
import LinuxSystem

/// A directory whose speed is measured, and what was made in it for that.
final class Place: Sendable {
  let name: String
  /// A new directory in it, where files can be made; nil where they cannot, in which case there is
  /// one called `file`.
  let workspace: String?
  private let path: String
  private let made = Lock<Set<String>>([])

  /// Makes the new directory. The number is another for each place: two may be one directory.
  init(name: String, path: String, number: Int) throws(Trouble) {
    self.name = name
    self.path = path
    let workspace = "\(path)/mount-speed-\(getpid())-\(number)"
    if mkdir(workspace, 0o755) == 0 {
      self.workspace = workspace
    } else {
      let trouble = Trouble(call: "mkdir \(workspace)")
      guard trouble.isLack, access("\(path)/file", F_OK) == 0 else { throw trouble }
      self.workspace = nil
    }
  }

  /// The file of a client's own, or the one that there is.
  func file(_ client: Int) throws(Trouble) -> String {
    guard let workspace else { return "\(path)/file" }
    let file = "\(workspace)/file-\(client)"
    try once("file-\(client)") { () throws(Trouble) in try makeFile(file, content: "content") }
    return file
  }

  /// The new directory; throws as one that cannot make files.
  func directory() throws(Trouble) -> String {
    if let workspace { return workspace }
    errno = ENOSYS
    throw Trouble(call: "no files can be made in \(path)")
  }

  /// Does something the first time that it is asked for under this name.
  func once(_ name: String, _ body: () throws(Trouble) -> Void) throws(Trouble) {
    guard !made.withLock({ $0.contains(name) }) else { return }
    try body()
    made.withLock { _ = $0.insert(name) }
  }

  /// Takes away what was made.
  func clear() {
    guard let workspace else { return }
    removeTree(workspace)
  }
}

/// Makes or replaces a file.
func makeFile(_ path: String, content: String = "") throws(Trouble) {
  let file = try done(open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0o644), "open \(path)")
  defer { close(file) }
  var text = content
  let written = text.withUTF8 { write(file, $0.baseAddress, $0.count) }
  try expect(written == content.utf8.count, "write \(path): \(written) bytes")
}

/// Removes a directory with all that is in it; what cannot be removed stays.
private func removeTree(_ path: String) {
  if unlink(path) == 0 || errno == ENOENT { return }
  var names: [String] = []
  if let stream = opendir(path) {
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    closedir(stream)
  }
  for name in names { removeTree("\(path)/\(name)") }
  rmdir(path)
}
