import AttributeModel
public import FUSE
public import LinuxSystem
import SidecarStore

/// The extended attributes.
extension Overlay {
  /// Keeps an attribute in the store before it is shown to anybody.
  public func setxattr(
    _ name: [UInt8], _ value: [UInt8], _ flags: SetAttributeFlags, on node: Node,
    _ request: Request
  ) throws(Errno) {
    let inode = try inode(node)
    let name = try AttributeName(name)
    let condition = try SetCondition(flags: flags.rawValue)
    try AttributeRules.linux.check(name)
    let before = try changeableStatus(of: inode)
    let isNew = try !isStored(inode)
    let lineage = isNew ? try lineage(of: inode) : Lineage()
    try withRecord(of: inode, makesKey: true) { (record, key) throws(Errno) in
      guard let key else { throw .stale }
      try record.attributes.admit(name, value, condition)
      let now = Timestamp.now(after: max(before.changed, record.changed ?? before.changed))
      try store.set(
        name, to: value, of: key, type: inode.type, changed: now, lineage: lineage.steps)
      record.attributes[name] = value
      record.changed = now
      record.isStored = true
    }
    Rehearsal.pass(.kept)
    dropDead(lineage.steps.isEmpty ? [] : lineage.ancestors + [inode])
    if isNew { enterOtherNames(of: inode) }
  }

  /// Answers from memory once the inode's attributes were read.
  public func getxattr(
    _ name: [UInt8], of node: Node, _ request: Request
  ) throws(Errno) -> ArraySlice<UInt8> {
    let inode = try inode(node)
    let name = try AttributeName(name)
    try AttributeRules.linux.check(name)
    guard let value = try attributes(of: inode).find(name) else { throw .noAttribute }
    return value
  }

  /// Leaves `trusted.*` out for callers who may not see it, as the kernel does for its own.
  public func listxattr(_ node: Node, _ request: Request) throws(Errno) -> ArraySlice<UInt8> {
    let attributes = try attributes(of: inode(node))
    var mayKnow = false
    if attributes.hasTrusted {
      mayKnow = try ProcessPrivileges.has(
        capability: ProcessPrivileges.systemAdministration, pid: request.pid)
    }
    return attributes.nameList(includingTrusted: mayKnow)
  }

  /// Removes an attribute; the object's ctime stays in the store.
  public func removexattr(_ name: [UInt8], from node: Node, _ request: Request) throws(Errno) {
    let inode = try inode(node)
    let name = try AttributeName(name)
    try AttributeRules.linux.check(name)
    try remove(name, from: inode)
  }

  /// Removes an attribute from the store before anybody finds it missing.
  func remove(_ name: AttributeName, from inode: Inode) throws(Errno) {
    let before = try changeableStatus(of: inode)
    try withRecord(of: inode) { (record, key) throws(Errno) in
      try record.attributes.admitRemoval(of: name)
      guard let key else { throw .noAttribute }
      let now = Timestamp.now(after: max(before.changed, record.changed ?? before.changed))
      try store.remove(name, of: key, changed: now)
      record.attributes[name] = nil
      record.changed = now
    }
    Rehearsal.pass(.kept)
  }

  /// The status before a change. chattr +i and +a on the source forbid changes here too (`EPERM`);
  /// the kernel, seeing only our inode, cannot know.
  private func changeableStatus(of inode: Inode) throws(Errno) -> FileStatus {
    let status = try inode.held().file.status()
    if status.isFrozen { throw .notPermitted }
    return status
  }
}
