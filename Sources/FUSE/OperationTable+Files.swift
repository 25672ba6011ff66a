import CFUSE
import Glibc
import LinuxSystem

func addFileOperations(_ table: inout fuse_lowlevel_ops) {
  table.open = { raw, node, info in
    answer(raw, .open, "\(node)") { (context) throws(Errno) in
      let node = try context.node(node)
      return .opened(
        try context.fileSystem.open(
          node, flags: FileDescriptor.OpenFlags(rawValue: info?.pointee.flags ?? 0),
          context.request(raw)), node)
    }
  }
  table.read = { raw, node, count, offset, info in
    answer(raw, .read, "\(node) \(offset) \(count)") { (context) throws(Errno) in
      .file(
        try context.fileSystem.read(
          context.handle(info), at: Int64(offset), count: count, context.request(raw)))
    }
  }
  table.write_buf = { raw, node, vector, offset, info in
    answer(raw, .write, "\(node) \(offset)") { (context) throws(Errno) in
      guard let vector else { throw .inputOutput }
      return .written(
        try context.fileSystem.write(
          WriteData(vector, flags: info?.pointee.flags ?? 0), to: context.handle(info),
          context.node(node), at: Int64(offset), context.request(raw)))
    }
  }
  table.flush = { raw, node, info in
    answer(raw, .flush, "\(node)") { (context) throws(Errno) in
      try context.fileSystem.flush(
        context.handle(info), context.node(node), lockOwner: info?.pointee.lock_owner ?? 0,
        context.request(raw))
      return .done
    }
  }
  table.release = { raw, node, info in
    answer(raw, .release, "\(node)") { (context) throws(Errno) in
      context.fileSystem.release(try context.handle(info), try context.node(node))
      context.handles.discard(info?.pointee.fh ?? 0)
      return .done
    }
  }
  table.fsync = { raw, node, dataOnly, info in
    answer(raw, .fsync, "\(node)") { (context) throws(Errno) in
      try context.fileSystem.fsync(
        context.handle(info), dataOnly: dataOnly != 0, context.request(raw))
      return .done
    }
  }
  table.fallocate = { raw, node, mode, offset, length, info in
    answer(raw, .fallocate, "\(node) \(mode) \(offset) \(length)") { (context) throws(Errno) in
      try context.fileSystem.fallocate(
        context.handle(info), context.node(node), mode: mode, offset: Int64(offset),
        length: Int64(length), context.request(raw))
      return .done
    }
  }
  table.lseek = { raw, node, offset, whence, info in
    answer(raw, .lseek, "\(node) \(offset) \(whence)") { (context) throws(Errno) in
      .offset(
        try context.fileSystem.lseek(
          context.handle(info), to: Int64(offset), whence: whence, context.request(raw)))
    }
  }
  table.copy_file_range = {
    raw, node, offset, info, target, targetOffset, targetInfo, count, flags in
    answer(raw, .copyFileRange, "\(node) \(offset) \(target) \(targetOffset) \(count)") {
      (context) throws(Errno) in
      .written(
        try context.fileSystem.copyFileRange(
          from: context.handle(info), at: Int64(offset), to: context.handle(targetInfo),
          context.node(target), at: Int64(targetOffset), count: count,
          flags: UInt32(bitPattern: flags), context.request(raw)))
    }
  }
}

func addDirectoryOperations(_ table: inout fuse_lowlevel_ops) {
  table.opendir = { raw, node, _ in
    answer(raw, .opendir, "\(node)") { (context) throws(Errno) in
      .opened(try context.fileSystem.opendir(context.node(node), context.request(raw)), nil)
    }
  }
  table.readdir = { raw, node, room, position, info in
    answer(raw, .readdir, "\(node) \(position)") { (context) throws(Errno) in
      var buffer = DirectoryBuffer(raw, room: room)
      try context.fileSystem.readdir(
        context.handle(info), context.node(node), at: Int64(position), into: &buffer,
        context.request(raw))
      return .directory(buffer.bytes, buffer.nodes)
    }
  }
  table.readdirplus = { raw, node, room, position, info in
    answer(raw, .readdirplus, "\(node) \(position)") { (context) throws(Errno) in
      var buffer = DirectoryBuffer(raw, room: room)
      try context.fileSystem.readdirplus(
        context.handle(info), context.node(node), at: Int64(position), into: &buffer,
        context.request(raw))
      return .directory(buffer.bytes, buffer.nodes)
    }
  }
  table.releasedir = { raw, node, info in
    answer(raw, .releasedir, "\(node)") { (context) throws(Errno) in
      context.fileSystem.releasedir(try context.handle(info), try context.node(node))
      context.handles.discard(info?.pointee.fh ?? 0)
      return .done
    }
  }
  table.fsyncdir = { raw, node, dataOnly, info in
    answer(raw, .fsyncdir, "\(node)") { (context) throws(Errno) in
      try context.fileSystem.fsyncdir(
        context.handle(info), dataOnly: dataOnly != 0, context.request(raw))
      return .done
    }
  }
}

func addLockOperations(_ table: inout fuse_lowlevel_ops) {
  table.getlk = { raw, node, info, lock in
    answer(raw, .getlk, "\(node)") { (context) throws(Errno) in
      guard let lock else { throw .invalidArgument }
      return .lock(
        try context.fileSystem.getlk(
          context.handle(info), context.node(node), owner: info?.pointee.lock_owner ?? 0,
          RangeLock(lock.pointee), context.request(raw)))
    }
  }
  table.setlk = { raw, node, info, lock, waits in
    answer(raw, .setlk, "\(node)") { (context) throws(Errno) in
      guard let lock else { throw .invalidArgument }
      try context.fileSystem.setlk(
        context.handle(info), context.node(node), owner: info?.pointee.lock_owner ?? 0,
        RangeLock(lock.pointee), waits: waits != 0, context.request(raw))
      return .done
    }
  }
  table.flock = { raw, node, info, operation in
    answer(raw, .flock, "\(node) \(operation)") { (context) throws(Errno) in
      try context.fileSystem.flock(
        context.handle(info), context.node(node), operation: operation, context.request(raw))
      return .done
    }
  }
}

extension RangeLock {
  fileprivate init(_ lock: flock) {
    self.init(
      type: lock.l_type, start: Int64(lock.l_start), length: Int64(lock.l_len), pid: lock.l_pid)
  }
}
