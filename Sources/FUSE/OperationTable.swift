import CFUSE
import Glibc
import LinuxSystem

/// The table that libfuse calls through: each line turns C arguments into typed ones.
func operationTable() -> fuse_lowlevel_ops {
  var table = fuse_lowlevel_ops()
  addNameOperations(&table)
  addInodeOperations(&table)
  addFileOperations(&table)
  addDirectoryOperations(&table)
  addAttributeOperations(&table)
  addLockOperations(&table)
  return table
}

/// Copies a name out of the request, which libfuse uses again for the next one.
private func name(_ pointer: UnsafePointer<CChar>?) -> FileName {
  pointer.map { FileName(copying: $0) } ?? FileName("")
}

/// The same of an attribute's name.
private func bytes(_ pointer: UnsafePointer<CChar>?) -> [UInt8] {
  pointer.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } ?? []
}

private func addNameOperations(_ table: inout fuse_lowlevel_ops) {
  table.lookup = { raw, parent, child in
    answer(raw, .lookup, "\(parent) \(name(child))") { (context) throws(Errno) in
      .entry(
        try context.fileSystem.lookup(
          name(child), in: context.node(parent), context.request(raw)))
    }
  }
  table.mknod = { raw, parent, child, mode, device in
    answer(raw, .mknod, "\(parent) \(name(child))") { (context) throws(Errno) in
      .entry(
        try context.fileSystem.mknod(
          name(child), in: context.node(parent), mode: mode, device: UInt64(device),
          context.request(raw)))
    }
  }
  table.mkdir = { raw, parent, child, mode in
    answer(raw, .mkdir, "\(parent) \(name(child))") { (context) throws(Errno) in
      .entry(
        try context.fileSystem.mkdir(
          name(child), in: context.node(parent), mode: mode, context.request(raw)))
    }
  }
  table.symlink = { raw, target, parent, child in
    answer(raw, .symlink, "\(parent) \(name(child))") { (context) throws(Errno) in
      .entry(
        try context.fileSystem.symlink(
          name(child), in: context.node(parent), to: name(target), context.request(raw)))
    }
  }
  table.unlink = { raw, parent, child in
    answer(raw, .unlink, "\(parent) \(name(child))") { (context) throws(Errno) in
      try context.fileSystem.unlink(name(child), in: context.node(parent), context.request(raw))
      return .done
    }
  }
  table.rmdir = { raw, parent, child in
    answer(raw, .rmdir, "\(parent) \(name(child))") { (context) throws(Errno) in
      try context.fileSystem.rmdir(name(child), in: context.node(parent), context.request(raw))
      return .done
    }
  }
  table.rename = { raw, parent, child, newParent, newChild, flags in
    answer(raw, .rename, "\(parent) \(name(child)) \(newParent) \(name(newChild))") {
      (context) throws(Errno) in
      try context.fileSystem.rename(
        name(child), in: context.node(parent), to: name(newChild), in: context.node(newParent),
        FileDescriptor.RenameFlags(rawValue: flags), context.request(raw))
      return .done
    }
  }
  table.link = { raw, node, newParent, newChild in
    answer(raw, .link, "\(node) \(newParent) \(name(newChild))") { (context) throws(Errno) in
      .entry(
        try context.fileSystem.link(
          context.node(node), to: name(newChild), in: context.node(newParent),
          context.request(raw)))
    }
  }
  table.create = { raw, parent, child, mode, info in
    let flags = FileDescriptor.OpenFlags(rawValue: info?.pointee.flags ?? 0)
    // A request for a nameless file is given to libfuse as a create of "/": see WorkerLoop.
    if let child, child[0] == CChar(bitPattern: UInt8(ascii: "/")) {
      answer(raw, .tmpfile, "\(parent)") { (context) throws(Errno) in
        let (entry, opened) = try context.fileSystem.tmpfile(
          in: context.node(parent), mode: mode, flags: flags, context.request(raw))
        return .created(entry, opened)
      }
    } else {
      answer(raw, .create, "\(parent) \(name(child))") { (context) throws(Errno) in
        let (entry, opened) = try context.fileSystem.create(
          name(child), in: context.node(parent), mode: mode, flags: flags, context.request(raw))
        return .created(entry, opened)
      }
    }
  }
}

private func addInodeOperations(_ table: inout fuse_lowlevel_ops) {
  // FORGET alone has no answer.
  table.forget = { raw, node, lookups in
    forget(raw, node, lookups)
    fuse_reply_none(raw)
  }
  table.forget_multi = { raw, count, nodes in
    for index in 0..<count {
      guard let forgotten = nodes?[index] else { continue }
      forget(raw, forgotten.ino, forgotten.nlookup)
    }
    fuse_reply_none(raw)
  }
  table.getattr = { raw, node, info in
    answer(raw, .getattr, "\(node)") { (context) throws(Errno) in
      .status(
        try context.fileSystem.getattr(
          context.node(node), context.handleIfAny(info), context.request(raw)))
    }
  }
  table.setattr = { raw, node, attributes, fields, info in
    let change = attributes.map { StatusChange($0.pointee, fields) } ?? StatusChange()
    answer(raw, .setattr, "\(node)") { (context) throws(Errno) in
      .status(
        try context.fileSystem.setattr(
          context.node(node), change, context.handleIfAny(info), context.request(raw)))
    }
  }
  table.readlink = { raw, node in
    answer(raw, .readlink, "\(node)") { (context) throws(Errno) in
      .link(try context.fileSystem.readlink(context.node(node), context.request(raw)))
    }
  }
  table.statfs = { raw, node in
    answer(raw, .statfs, "\(node)") { (context) throws(Errno) in
      .fileSystem(try context.fileSystem.statfs(context.node(node), context.request(raw)))
    }
  }
  table.access = { raw, node, mask in
    answer(raw, .access, "\(node)") { (context) throws(Errno) in
      try context.fileSystem.access(context.node(node), mask: mask, context.request(raw))
      return .done
    }
  }
}

private func forget(_ raw: fuse_req_t?, _ id: fuse_ino_t, _ lookups: UInt64) {
  guard let context = SessionContext.of(raw) else { return }
  do throws(Errno) {
    let node = try context.node(id)
    if node !== context.fileSystem.root { context.fileSystem.forget(node, lookups: lookups) }
  } catch {}
  context.counters.count(.forget, failed: false)
}

private func addAttributeOperations(_ table: inout fuse_lowlevel_ops) {
  table.setxattr = { raw, node, attribute, content, count, flags in
    answer(raw, .setxattr, "\(node) \(name(attribute)) \(count)") { (context) throws(Errno) in
      let value = UnsafeRawBufferPointer(start: content, count: count)
      try context.fileSystem.setxattr(
        bytes(attribute), Array(value), SetAttributeFlags(rawValue: flags),
        on: context.node(node), context.request(raw))
      return .done
    }
  }
  table.getxattr = { raw, node, attribute, room in
    answer(raw, .getxattr, "\(node) \(name(attribute)) \(room)") { (context) throws(Errno) in
      let value = try context.fileSystem.getxattr(
        bytes(attribute), of: context.node(node), context.request(raw))
      return .sized(value, room: room)
    }
  }
  table.listxattr = { raw, node, room in
    answer(raw, .listxattr, "\(node) \(room)") { (context) throws(Errno) in
      .sized(
        try context.fileSystem.listxattr(context.node(node), context.request(raw)), room: room)
    }
  }
  table.removexattr = { raw, node, attribute in
    answer(raw, .removexattr, "\(node) \(name(attribute))") { (context) throws(Errno) in
      try context.fileSystem.removexattr(
        bytes(attribute), from: context.node(node), context.request(raw))
      return .done
    }
  }
}

extension StatusChange {
  init(_ attributes: stat, _ fields: Int32) {
    self.init()
    if fields & FUSE_SET_ATTR_MODE != 0 { mode = attributes.st_mode }
    if fields & FUSE_SET_ATTR_UID != 0 { uid = attributes.st_uid }
    if fields & FUSE_SET_ATTR_GID != 0 { gid = attributes.st_gid }
    if fields & FUSE_SET_ATTR_SIZE != 0 { size = Int64(attributes.st_size) }
    if fields & FUSE_SET_ATTR_ATIME_NOW != 0 {
      accessed = .now
    } else if fields & FUSE_SET_ATTR_ATIME != 0 {
      accessed = .set(Timestamp(attributes.st_atim))
    }
    if fields & FUSE_SET_ATTR_MTIME_NOW != 0 {
      modified = .now
    } else if fields & FUSE_SET_ATTR_MTIME != 0 {
      modified = .set(Timestamp(attributes.st_mtim))
    }
  }
}

extension Timestamp {
  fileprivate init(_ time: timespec) {
    self.init(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
  }
}
