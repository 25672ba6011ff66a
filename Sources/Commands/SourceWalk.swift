import LinuxSystem

/// A walk over everything in a source, a directory before what is in it; the store is left out.
struct SourceWalk {
  private final class Frame {
    let nodes: [SourceNode]
    let directory: FileDescriptor
    var pending: [DirectoryEntry] = []

    init(_ nodes: [SourceNode]) throws(Errno) {
      self.nodes = nodes
      directory = try nodes[nodes.count - 1].file.reopen([.readOnly, .directory])
    }

    /// The next name; nil at the end.
    func next() throws(Errno) -> [UInt8]? {
      if pending.isEmpty { pending = try directory.readDirectory().reversed() }
      return pending.popLast()?.name.bytes
    }
  }

  private var frames: [Frame] = []
  /// What could not be looked at: then the walk has not seen everything.
  private(set) var failures: [String] = []

  /// Begins in a directory.
  init(_ root: SourceNode) { enter([root]) }

  /// What leads to the next object, from the root on; nil at the end.
  mutating func next() -> [SourceNode]? {
    while let frame = frames.last {
      let name: [UInt8]
      do throws(Errno) {
        guard let next = try frame.next() else {
          frames.removeLast()
          continue
        }
        name = next
      } catch {
        // Read on, it would fail for ever.
        frames.removeLast()
        fail(frame.nodes, error)
        continue
      }
      do throws(Errno) {
        let node = try frame.nodes[frame.nodes.count - 1].open(name)
        let nodes = frame.nodes + [node]
        if node.status.type == .directory { enter(nodes) }
        return nodes
      } catch {
        // "." and "..", the store, and what has gone since its name was read.
        if error != .noEntry { fail(frame.nodes, error) }
      }
    }
    return nil
  }

  private mutating func enter(_ nodes: [SourceNode]) {
    do throws(Errno) { frames.append(try Frame(nodes)) } catch { fail(nodes, error) }
  }

  private mutating func fail(_ nodes: [SourceNode], _ error: Errno) {
    failures.append("\(nodes[nodes.count - 1].description): \(error)")
  }
}

/// What tells objects of one running system apart.
struct FileIdentity: Hashable {
  let device: UInt64
  let inode: UInt64
  init(_ status: FileStatus) {
    device = status.device
    inode = status.inode
  }
}
