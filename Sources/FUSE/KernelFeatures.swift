/// What Linux can do that Debian's libfuse does not ask for.
///
/// The bits are our own. Each has a way without it, so that older kernels serve, more slowly.
public struct KernelFeatures: OptionSet, Sendable {
  /// The bits.
  public let rawValue: UInt32
  /// Takes bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The kernel reads, writes and maps files of the source by itself (`FUSE_PASSTHROUGH`, 6.9).
  public static let passthrough = KernelFeatures(rawValue: 1)
  /// The server takes set-id bits away when a file changes, so the kernel need not ask for
  /// attributes before each write (`FUSE_HANDLE_KILLPRIV_V2`, 5.12).
  public static let privileges = KernelFeatures(rawValue: 2)
  /// Lookups and lists of one directory come side by side (`FUSE_PARALLEL_DIROPS`, 4.7).
  public static let parallelDirectories = KernelFeatures(rawValue: 4)
  /// Requests come by io_uring, to the processor of the caller (`FUSE_OVER_IO_URING`, 6.14, where
  /// the administrator has allowed it).
  public static let ring = KernelFeatures(rawValue: 8)
  /// What is asked for by itself: not `ring`, by which a single program gains nothing for sure.
  public static let usual: KernelFeatures = [.passthrough, .privileges, .parallelDirectories]
  /// All of them.
  public static let all: KernelFeatures = [
    .passthrough, .privileges, .parallelDirectories, .ring,
  ]

  /// The name of each, for people.
  public static let named: [(name: String, feature: KernelFeatures)] = [
    ("passthrough", .passthrough), ("privileges", .privileges),
    ("parallel-directories", .parallelDirectories), ("io_uring", .ring),
  ]

  /// The names of those in the set.
  public var names: [String] { Self.named.filter { contains($0.feature) }.map(\.name) }
}
