import LinuxSystem
import TestSupport

/// The memory that a process has, in bytes.
func residentMemory(of process: Int32) throws -> Int {
  let text = String(decoding: try readFile("/proc/\(process)/status"), as: UTF8.self)
  guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
    let pages = Int(line.split(whereSeparator: { $0 == " " || $0 == "\t" })[1])
  else { throw Unreadable(text: text) }
  return pages * 1024
}
