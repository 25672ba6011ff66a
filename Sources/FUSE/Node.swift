import LinuxSystem

/// One object that the kernel knows: what a node id of the protocol stands for.
///
/// A file system makes a subclass of it. The kernel's name for a node is its address, so that a
/// request finds its node without a table; the ``NodeTable`` that the node is in keeps it alive for
/// as long as the kernel may send that name, which the *lookup count* tells: every reply with an
/// entry adds one, FORGET takes away.
open class Node: @unchecked Sendable {
  /// How often the kernel was given this node. Guarded by the lock of its shard in the table.
  @usableFromInline final var lookups: UInt64 = 0

  /// A node that the kernel does not know yet.
  public init() {}

  /// What the kernel calls it.
  @usableFromInline final var id: UInt64 {
    UInt64(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()))
  }
}

/// A node that can be in a ``NodeTable``.
public protocol KeyedNode: Node {
  /// What nodes are found by.
  associatedtype Key: Hashable & Sendable

  /// Under which key it is in the table, or would be. Only the table may touch it.
  var tableKey: Key { get set }
}

/// An open file or directory: what the file handle of the protocol stands for.
///
/// The binding keeps it alive from the reply to OPEN, CREATE or OPENDIR until RELEASE or RELEASEDIR.
open class Handle: @unchecked Sendable {
  /// A handle that the kernel does not know yet.
  public init() {}
}
