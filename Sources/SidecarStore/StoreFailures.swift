import LinuxSystem

/// Whether a store fails at present, so that this is told once and not with every call.
struct StoreFailures: Sendable {
  /// What a call is about. One kind can fail while another works: a full disk still answers.
  enum Kind: Hashable, Sendable {
    case reading, keeping, removing, syncing

    fileprivate var words: String {
      switch self {
      case .reading: "attributes cannot be read"
      case .keeping: "attributes cannot be kept"
      case .removing: "what is removed cannot be noted"
      case .syncing: "what was changed cannot be made to last"
      }
    }
  }

  /// A call, as far as it tells one that fails from one that works.
  struct Call: Sendable {
    let kind: Kind
    /// The object that it is about, if it is about one.
    var object: ObjectKey?
    /// How many bytes it keeps.
    var size = 0
  }

  private struct Failure: Sendable {
    let call: Call
    let errno: Errno
    var last: Int64
  }

  private let name: String
  private var failures: [Kind: Failure] = [:]
  /// How long after a failure a call about another object tells that the store works again.
  private let patience: Int64 = 60

  init(of name: String) { self.name = name }

  var isFailing: Bool { !failures.isEmpty }

  /// A call failed at a time in seconds; a line if that is new.
  mutating func failed(_ call: Call, with errno: Errno, at now: Int64) -> String? {
    if failures[call.kind]?.errno == errno {
      failures[call.kind]?.last = now
      return nil
    }
    let isKnown = failures.values.contains { $0.errno == errno }
    failures[call.kind] = Failure(call: call, errno: errno, last: now)
    return isKnown ? nil : "\(call.kind.words): store \(name): \(errno); \(Self.remedy(errno))"
  }

  /// A call succeeded; a line if the store failed before and does no longer.
  ///
  /// One success says little: a full disk has room for a short value, and of a damaged file most can be
  /// read. So it has to be about the same object and to keep no less, or to come long after.
  mutating func succeeded(_ call: Call, at now: () -> Int64) -> String? {
    guard let failure = failures[call.kind] else { return nil }
    let isSame = call.object == failure.call.object && call.size >= failure.call.size
    guard isSame || now() - failure.last >= patience else { return nil }
    failures[call.kind] = nil
    return failures.isEmpty ? "store \(name): it works again" : nil
  }

  private static func remedy(_ errno: Errno) -> String {
    switch errno {
    case .noSpace: "make room on its file system, or remove attributes; what is there can be read"
    case .overQuota: "make room or raise the quota of its owner; what is there can be read"
    case .readOnly: "its file system cannot be written: look at the kernel's log, mount it writable"
    case .busy: "another process holds it: end that"
    case .noMemory, .tooManyOpenFiles: "give the daemon more of that"
    default:
      "the disk fails or the file is damaged: look at the kernel's log, unmount, and run sidecarfs check"
    }
  }
}
