import CLinux
import Glibc
package import LinuxSystem

/// A line of this process's list of mounts.
package struct MountEntry: Sendable {
  /// Where it is mounted.
  package let path: String
  /// The kind of file system, such as `ext4` or `fuse.sidecarfs`.
  package let kind: String
  /// What it shows, such as a device.
  package let source: String
}

/// What is mounted, in the order of mounting.
///
/// From /proc/self/mountinfo, which asks no file system: a dead mount is listed like any other.
package func mounts() throws(Errno) -> [MountEntry] {
  let lines = try String(decoding: readFile("/proc/thread-self/mountinfo"), as: UTF8.self).split(
    separator: "\n")
  return lines.compactMap { line in
    // 36 35 98:0 /root /mount/point options tags - kind source options
    let words = line.split(separator: " ").map(String.init)
    guard let dash = words.firstIndex(of: "-"), words.count > dash + 2, dash > 4 else { return nil }
    return MountEntry(
      path: unescaped(words[4]), kind: words[dash + 1], source: unescaped(words[dash + 2]))
  }
}

/// Unmounts what is mounted at or below a directory, the newest first.
package func unmountAll(below directory: String) {
  for _ in 0..<20 {
    let found = ((try? mounts()) ?? []).filter {
      $0.path == directory || $0.path.hasPrefix(directory + "/")
    }
    if found.isEmpty { return }
    for mount in found.reversed() { unmount(mount.path) }
  }
}

/// Unmounts one mount point: waits a while for whoever still uses it, then takes it out of the tree
/// and leaves the rest to the kernel. Says whether it went in the proper way.
@discardableResult
package func unmount(_ path: String, within limit: Duration = .seconds(5)) -> Bool {
  let proper = try? waiting(for: "unmounting \(path)", within: limit) { () -> Bool? in
    if umount2(path, noFollow) == 0 { return true }
    return errno == EBUSY ? nil : false
  }
  if proper == true { return true }
  umount2(path, noFollow | detach)
  return false
}

// The header's are enumerators of an anonymous C enum, of another type than the argument.
private let noFollow: Int32 = 8
private let detach: Int32 = 2

/// The list writes space, tab, newline and backslash as three octal digits.
private func unescaped(_ text: String) -> String {
  var result: [UInt8] = []
  var rest = Array(text.utf8)[...]
  while let byte = rest.popFirst() {
    if byte == UInt8(ascii: "\\"), rest.count >= 3,
      let value = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
    {
      result.append(value)
      rest = rest.dropFirst(3)
    } else {
      result.append(byte)
    }
  }
  return String(decoding: result, as: UTF8.self)
}
