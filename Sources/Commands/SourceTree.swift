import LinuxSystem
import Overlay
import SidecarStore

/// The files of a source, without a mount: what the store calls each.
struct SourceTree {
  let root: SourceNode
  let identities: Identities

  init(_ target: borrowing StoreTarget) throws(CommandFailure) {
    switch target.source {
    case .some(let source):
      do throws(Errno) {
        identities = try Identities(source, target.identity)
        root = SourceNode(
          try source.directory.duplicate(), status: try source.directory.status(), path: [])
      } catch {
        throw CommandFailure(
          .system, "source \(target.path): \(error)", remedy: "name a directory that you may enter")
      }
    case .none:
      throw CommandFailure(
        .usage, "nobody knows which source \(target.path) belongs to",
        remedy: "name the source, and the store with --store")
    }
  }

  /// What the store calls an object.
  func key(of node: SourceNode) throws(Errno) -> ObjectKey {
    try identities.key(of: node.file, node.status)
  }

  /// The way from the root to an object, as the store keeps it; `nodes` begins with the root.
  func lineage(_ nodes: [SourceNode]) throws(Errno) -> [LineageStep] {
    var steps: [LineageStep] = []
    for node in nodes {
      steps.append(
        LineageStep(object: try key(of: node), name: node.path.last ?? [], type: node.status.type))
    }
    return steps
  }
}

/// An object of a source, held by a descriptor, and the names by which it was found.
final class SourceNode {
  let file: FileDescriptor
  let status: FileStatus
  let path: [[UInt8]]

  init(_ file: consuming FileDescriptor, status: FileStatus, path: [[UInt8]]) {
    self.file = file
    self.status = status
    self.path = path
  }

  /// What is under a name in this directory; no link is followed, and the way up is none.
  func open(_ name: [UInt8]) throws(Errno) -> SourceNode {
    let isHidden = path.isEmpty && name == Array(StoreLocation.directoryName.utf8)
    guard name != Array("..".utf8), name != Array(".".utf8), !name.contains(UInt8(ascii: "/")),
      !name.isEmpty, !isHidden
    else { throw .noEntry }
    let opened = try file.open(FileName(name), [.path, .noFollow])
    let status = try opened.status()
    return SourceNode(opened, status: status, path: path + [name])
  }

  /// For messages.
  var description: String {
    path.isEmpty
      ? "." : String(decoding: Array(path.joined(separator: [UInt8(ascii: "/")])), as: UTF8.self)
  }
}

/// The object that a store takes for the root of its source.
enum StoreRoot {
  /// The root that is known under its key; else the first directory that has no name, which it was
  /// before the source was copied. nil for a store without objects.
  static func find(
    in store: StoreFile, _ target: borrowing StoreTarget
  ) throws(CommandFailure) -> StoredObject? {
    switch target.source {
    case .some(let source):
      if let key = key(of: source, target.identity),
        let root = try asking({ () throws(StoreError) in try store.object(under: key) })
      {
        return root
      }
    case .none: break
    }
    return try asking { () throws(StoreError) in try store.roots() }.first
  }

  private static func key(
    of source: borrowing Source, _ identity: IdentityChoice
  ) -> ObjectKey? {
    do throws(Errno) {
      return try Identities(source, identity).key(
        of: source.directory, source.directory.status())
    } catch {
      return nil
    }
  }
}
