import CLinux
import Glibc
import LinuxSystem
import TestSupport

/// A whole tree as lines that are the same where two trees are: kinds, modes, owners, links, sizes,
/// contents and every attribute.
struct ModelTree: Equatable {
  private(set) var lines: [String: String] = [:]

  init(_ root: String) {
    add(root, "")
  }

  private mutating func add(_ root: String, _ path: String) {
    var status = stat()
    guard lstat(root + path, &status) == 0 else {
      lines[path] = errorName(errno)
      return
    }
    let type = status.st_mode & S_IFMT
    var line = "\(octal(status.st_mode)) \(status.st_uid):\(status.st_gid)"
    if type != S_IFDIR { line += " links \(status.st_nlink)" }
    if type == S_IFREG { line += " size \(status.st_size) \(content(root + path))" }
    if type == S_IFLNK {
      var target = [CChar](repeating: 0, count: 4096)
      let length = readlink(root + path, &target, target.count)
      line += " -> \(checksum(target.prefix(max(0, length)).map { UInt8(bitPattern: $0) }))"
    }
    do throws(Errno) {
      let attributes = try attributesOf(root + path)
      line += attributes.sorted().map { " " + $0.prefix(40) + "#" + checksum($0.utf8) }.joined()
    } catch {
      line += " attributes: \(errorName(error.code))"
    }
    lines[path] = line
    guard type == S_IFDIR else { return }
    for name in TestSupport.entries(of: root + path) { add(root, path + "/" + name) }
  }

  private func content(_ path: String) -> String {
    let file = clinux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)
    guard file >= 0 else { return errorName(errno) }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: plenty)
    let count = read(file, &buffer, buffer.count)
    return count < 0 ? errorName(errno) : "#" + checksum(buffer.prefix(count))
  }

  /// Where it differs from another tree; empty when they are the same.
  func differences(from native: ModelTree) -> [String] {
    Set(lines.keys).union(native.lines.keys).sorted().compactMap { path in
      let (mine, other) = (lines[path], native.lines[path])
      guard mine != other else { return nil }
      return "/\(path.dropFirst()): \(mine ?? "missing"), natively \(other ?? "missing")"
    }
  }
}
