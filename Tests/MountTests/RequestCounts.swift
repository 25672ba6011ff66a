import LinuxSystem
import TestSupport

/// How often the kernel has asked a mount for each operation. The status itself costs no request of
/// these kinds on the mount's files.
func requestCounts(of mount: Mount) throws -> [String: Int] {
  let text = try check([try daemonBinary(), "status", "--json", mount.mountPoint])
  guard let start = text.firstRange(of: "\"operations\":{")?.upperBound else {
    throw Unreadable(text: text)
  }
  var counts: [String: Int] = [:]
  for entry in text[start...].split(separator: "},") {
    let words = entry.split { "\"{}:,".contains($0) }
    guard words.count >= 3, words[1] == "total", let count = Int(words[2]) else { break }
    counts[String(words[0])] = count
  }
  return counts
}

/// What the kernel asked for while `body` ran, without FORGET and RELEASE, which nobody waits for,
/// and without what the root's own status takes.
func requests(of mount: Mount, _ body: () throws -> Void) throws -> [String: Int] {
  let before = try requestCounts(of: mount)
  try body()
  var counts = try requestCounts(of: mount)
  for (name, count) in before { counts[name, default: 0] -= count }
  counts["forget"] = nil
  counts["release"] = nil
  return counts.filter { $0.value != 0 }
}
