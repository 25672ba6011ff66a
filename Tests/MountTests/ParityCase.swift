import LinuxSystem
import TestSupport
import Testing

/// The same calls, made on several file systems in turn.
struct ParityCase: Sendable, CustomTestStringConvertible {
  /// What the calls are about.
  let name: String
  /// Which answers count as right.
  let oracle: Oracle
  let body: @Sendable (Calls) -> Void

  /// Whose answer to a call the mount may give.
  enum Oracle: Sendable {
    /// Attributes: ext4's, XFS's, tmpfs's, or the source's if it has attributes itself.
    case natives
    /// Sizes at the limit: XFS's or tmpfs's, for ext4 has room for 4 KiB only.
    case roomyNatives
    /// Files: a native's, or that of the source itself, since the mount can do what it can.
    case nativesAndSource

    /// The file systems, the source of the mount being `source`.
    func kinds(source: SourceKind?) -> [SourceKind] {
      switch self {
      case .natives: [.tmpfs, .ext4, .xfs] + (source == .btrfs ? [.btrfs] : [])
      case .roomyNatives: [.tmpfs, .xfs]
      case .nativesAndSource: [.tmpfs, .ext4, .xfs] + (source.map { [$0] } ?? [])
      }
    }
  }

  var testDescription: String { name }

  /// A case about attributes.
  static func attributes(
    _ name: String, _ oracle: Oracle = .natives, _ body: @escaping @Sendable (Calls) -> Void
  ) -> ParityCase {
    ParityCase(name: "attributes: " + name, oracle: oracle, body: body)
  }

  /// A case about files.
  static func files(_ name: String, _ body: @escaping @Sendable (Calls) -> Void) -> ParityCase {
    ParityCase(name: "files: " + name, oracle: .nativesAndSource, body: body)
  }
}

/// Users without accounts.
let alice = User(4242)
let bob = User(4343)
