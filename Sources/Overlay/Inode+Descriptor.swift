import FUSE
import LinuxSystem
import SidecarStore
import Synchronization

/// Holding an object, letting go of it, and finding it again.
extension Inode {
  /// The object, opened again if it was let go.
  ///
  /// `ESTALE` when it can no longer be found where it was, or something else is there now. Not to
  /// be called as a caller who may not go where the object is, nor with an inode's lock taken.
  func held() throws(Errno) -> HeldFile {
    wasUsed.store(true, ordering: .relaxed)
    if let held = withState({ $0.held }) { return held }
    // Upwards to a directory that needs no other; a loop has no such.
    var way: [(inode: Inode, name: FileName)] = []
    var above = self
    var base: HeldFile?
    while base == nil {
      base = try above.heldWithoutParent()
      if base != nil { break }
      guard let entry = above.withState({ $0.entry }), way.count < 65536 else {
        throw .stale
      }
      way.append((above, entry.name))
      above = entry.parent
    }
    guard var found = base else { throw .stale }
    for (inode, name) in way.reversed() { found = try inode.holdAgain(under: name, in: found) }
    return found
  }

  /// The object as it is held, or by way of an open file or its handle; nil when only a name helps.
  private func heldWithoutParent() throws(Errno) -> HeldFile? {
    wasUsed.store(true, ordering: .relaxed)
    let (held, opened, identity) = withState { state in
      state.held.map { ($0, nil, nil) } ?? (nil, state.opened, state.identity)
    }
    if let held { return held }
    if let opened {
      return keep(
        HeldFile(
          try volume.pool.makingRoom { () throws(Errno) in try opened.file.reopen(.path) }))
    }
    guard let mount = volume.mount, let handle = identity.flatMap({ FileHandle(identity: $0) })
    else { return nil }
    let found = try volume.pool.makingRoom { () throws(Errno) in
      try mount.file.open(handle, .path)
    }
    return try verified(HeldFile(found))
  }

  private func holdAgain(
    under name: FileName, in parent: HeldFile
  ) throws(Errno) -> HeldFile {
    do throws(Errno) {
      let found = try volume.pool.makingRoom { () throws(Errno) in
        try parent.file.open(name, [.path, .noFollow])
      }
      return try verified(HeldFile(found))
    } catch {
      // It is somewhere else by now: the kernel looks the name up anew when it hears this.
      throw error == .noEntry || error == .notDirectory ? .stale : error
    }
  }

  private func verified(_ found: HeldFile) throws(Errno) -> HeldFile {
    let status = try found.file.status()
    guard try isSame(as: found, status) else { throw .stale }
    return found
  }

  /// Whether what was found is this object. If it was let go, it is held by that from now on.
  func isSame(as found: HeldFile, _ status: FileStatus) throws(Errno) -> Bool {
    guard status.type == type else { return false }
    switch naming {
    case .byNumber: break
    // What is under its name is it: nothing else can be known of an object whose number is made up.
    case .byName: return volume.inventsNumbers ? replaceHeld(found) : takes(found, status)
    case .root: return takes(found, status)
    }
    guard FileID(status) == id else { return false }
    let (isHeld, identity) = withState { ($0.held != nil, $0.held == nil ? $0.identity : nil) }
    // While both are open, they cannot have the same number and be two.
    if isHeld { return true }
    guard try volume.identity(of: found.file, status) == identity else { return false }
    keep(found)
    return true
  }

  private func takes(_ found: HeldFile, _ status: FileStatus) -> Bool {
    guard FileID(status) == id else { return false }
    keep(found)
    return true
  }

  /// Holds the object by what was found under its name last: what was held before may be gone.
  private func replaceHeld(_ found: HeldFile) -> Bool {
    let wasHeld = withState { state in
      guard state.held != nil else { return false }
      state.held = found
      return true
    }
    if !wasHeld { keep(found) }
    return true
  }

  /// Holds the object by a descriptor for the next request, too, if the kernel can send one.
  @discardableResult
  private func keep(_ found: HeldFile) -> HeldFile {
    guard isKnown.load(ordering: .sequentiallyConsistent) else { return found }
    let isNew = withState { state in
      if state.held != nil { return false }
      state.held = found
      return true
    }
    if isNew { volume.pool.add(self) }
    return found
  }

  /// Lets go of the object if it could be found again; false when it is held on to.
  func letGo() -> Bool {
    // An orphan has no name, and what a handle leads to must have one.
    let isNeeded = withState { $0.isOrphan || ($0.entry == nil && volume.mount == nil) }
    if isNeeded { return false }
    if naming == .byNumber, !withState({ $0.hasIdentity }), (try? identity()) == nil {
      return false
    }
    return withState { state in
      if state.isOrphan || (state.entry == nil && volume.mount == nil) { return false }
      defer { state.held = nil }
      return state.held != nil
    }
  }

  /// Takes the object's attributes out of memory: they are read again when they are asked for.
  func dropAttributes() {
    let (count, shared) = withState { ($0.record.drop(), $0.shared) }
    volume.attributes.grew(by: -count)
    shared?.dropAttributes()
  }

  /// What tells the object from any other of its file system, after a remount too; not of one that
  /// is known by name.
  func identity() throws(Errno) -> [UInt8] {
    if let known = withState({ $0.identity }) { return known }
    let held = try held()
    let identity = try volume.identity(of: held.file)
    withState { $0.identity = identity }
    return identity
  }

  /// The kernel knows the inode.
  func enter() {
    isKnown.store(true, ordering: .sequentiallyConsistent)
    volume.pool.add(self)
  }

  /// The kernel knows the inode no longer: whatever still refers to it opens it when need be.
  func leave() {
    isKnown.store(false, ordering: .sequentiallyConsistent)
    volume.pool.remove(self)
    volume.attributes.remove(self)
    withState { $0.backing = .unasked }
    dropAttributes()
    // What is in a directory refers to it, and may outlive it by a moment.
    if type == .directory { _ = letGo() }
  }
}

extension Volume {
  /// What tells an object from any other of this file system: its handle, or number and birth.
  func identity(
    of object: borrowing FileDescriptor, _ known: FileStatus? = nil
  ) throws(Errno) -> [UInt8] {
    if key?.kind == .handle {
      let handle = try object.handle()
      return bytes(of: UInt64(UInt32(bitPattern: handle.type))) + handle.bytes
    }
    let status: FileStatus
    if let known { status = known } else { status = try object.status() }
    let number = bytes(of: status.inode)
    guard FileSystemKind.keepsBirthTimes(type), let born = status.born else { return number }
    return number + bytes(of: UInt64(bitPattern: born.seconds))
      + bytes(of: UInt64(bitPattern: born.nanoseconds))
  }
}

extension FileHandle {
  /// The handle that an identity of that kind is made of.
  init?(identity: [UInt8]) {
    guard identity.count > 8 else { return nil }
    let type = identity.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    self.init(type: Int32(bitPattern: type), bytes: Array(identity.dropFirst(8)))
  }
}
