/// What other threads have yet to take notice of.
public enum PendingSignals {
  /// Whether a signal waits for a thread, known by its number, which it does not block; false for a
  /// thread that is not visible from here, or gone.
  public static func exist(for thread: Int32) -> Bool {
    guard thread > 0,
      let status = try? FileDescriptor.open(FileName("/proc/\(thread)/status"), .readOnly),
      let text = try? status.readToEnd()
    else { return false }
    return exist(in: text)
  }

  /// The same, of what /proc shows of the thread.
  static func exist(in status: [UInt8]) -> Bool {
    var pending: UInt64 = 0
    var blocked: UInt64 = 0
    for line in status.split(separator: UInt8(ascii: "\n")) {
      let text = String(decoding: line, as: UTF8.self)
      let words = text.split { $0 == ":" || $0 == "\t" || $0 == " " }
      guard words.count == 2, let set = UInt64(words[1], radix: 16) else { continue }
      switch words[0] {
      // Those of the thread, and those that any thread of its process may take.
      case "SigPnd", "ShdPnd": pending |= set
      case "SigBlk": blocked = set
      default: continue
      }
    }
    return pending & ~blocked != 0
  }
}
