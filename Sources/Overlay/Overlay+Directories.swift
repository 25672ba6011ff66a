public import FUSE
public import LinuxSystem
import SidecarStore

/// Listing directories.
extension Overlay {
  /// Opens a directory of the source, as the caller.
  public func opendir(_ node: Node, _ request: Request) throws(Errno) -> Opened {
    let inode = try inode(node)
    let held = try inode.held()
    let file = try descriptors.makingRoom { () throws(Errno) in
      try asCaller(request, opening: inode) { () throws(Errno) in
        try held.file.reopen([.readOnly, .directory])
      }
    }
    return Opened(handle: OpenDirectory(file), keepsCache: keepsPages(of: inode))
  }

  /// Lists names, types and inode numbers.
  public func readdir(
    _ handle: Handle, _ node: Node, at position: Int64, into buffer: inout DirectoryBuffer,
    _ request: Request
  ) throws(Errno) {
    let inode = try inode(node)
    try list(openDirectory(handle), inode, from: position) { (entry) throws(Errno) in
      buffer.append(entry)
    }
  }

  /// Lists with a lookup of each.
  public func readdirplus(
    _ handle: Handle, _ node: Node, at position: Int64, into buffer: inout DirectoryBuffer,
    _ request: Request
  ) throws(Errno) {
    let inode = try inode(node)
    try list(openDirectory(handle), inode, from: position) { (listed) throws(Errno) in
      guard buffer.hasRoomPlus(for: listed.name) else { return false }
      if listed.name.isDot {
        return buffer.append(listed, nil)
      }
      let found: NodeEntry
      do throws(Errno) {
        found = try entry(listed.name, in: inode, isListed: true)
      } catch {
        // Gone since, or not to be looked up by us: the name is listed, and lookup will say why.
        return buffer.append(listed, nil)
      }
      if buffer.append(listed, found) { return true }
      forget(found.node, lookups: 1)
      return false
    }
  }

  /// Closes with the handle.
  public func releasedir(_ handle: Handle, _ node: Node) {}

  /// Names are on the disk after this, and so are the attributes that were set before it.
  public func fsyncdir(_ handle: Handle, dataOnly: Bool, _ request: Request) throws(Errno) {
    let directory = try openDirectory(handle)
    if dataOnly { try directory.file.dataSync() } else { try directory.file.sync() }
    try store.sync()
  }

  /// Hands entries to `body` until it takes no more, or the directory ends.
  ///
  /// An error after the first entry is left for the next call, which meets it first.
  private func list(
    _ directory: OpenDirectory, _ inode: Inode, from position: Int64,
    _ body: (DirectoryEntry) throws(Errno) -> Bool
  ) throws(Errno) {
    try directory.reading.withLock { (reading) throws(Errno) in
      if !reading.moves(to: position) {
        try directory.file.seekDirectory(to: position)
        reading.restart(at: position)
      }
      var isFirst = true
      while true {
        guard let entry = reading.next else {
          let more: [DirectoryEntry]
          do throws(Errno) {
            more = try directory.file.readDirectory()
          } catch {
            if isFirst { throw error }
            return
          }
          if more.isEmpty { return }
          reading.add(more, keepingFrom: position)
          continue
        }
        if !isHidden(entry, in: inode) {
          let numbered = DirectoryEntry(
            name: entry.name, inode: numbers.number(of: entry.inode, on: inode.volume),
            typeCode: entry.typeCode, next: entry.next)
          guard try body(numbered) else { return }
          isFirst = false
        }
        reading.advance()
      }
    }
  }

  private func isHidden(_ entry: DirectoryEntry, in directory: Inode) -> Bool {
    if isReserved(entry.name, in: directory) { return true }
    guard let store = hidden.id, !directory.volume.inventsNumbers else { return false }
    return entry.inode == store.inode && directory.id.device == store.device
      && !entry.name.isDot
  }
}
