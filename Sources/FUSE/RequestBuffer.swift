import CFUSE

/// What has to be known of a request before libfuse sees it.
extension fuse_buf {
  private var header: UnsafeMutablePointer<cfuse_in_header>? {
    guard flags.rawValue & FUSE_BUF_IS_FD.rawValue == 0, let mem,
      size >= MemoryLayout<cfuse_in_header>.size
    else { return nil }
    return mem.assumingMemoryBound(to: cfuse_in_header.self)
  }

  /// It is not over in the time of a few system calls, because it waits for a disk, or for another
  /// process. What is thought short and is not, others find out.
  var mayTakeLong: Bool {
    switch header?.pointee.opcode {
    case UInt32(FUSE_FSYNC.rawValue), UInt32(FUSE_FSYNCDIR.rawValue), UInt32(FUSE_SETLK.rawValue),
      UInt32(FUSE_SETLKW.rawValue), UInt32(FUSE_FALLOCATE.rawValue),
      UInt32(FUSE_COPY_FILE_RANGE.rawValue):
      true
    default: false
    }
  }

  /// Linux 6.1 asks for nameless files with an opcode that libfuse 3.14 does not know. The request
  /// and its answer are laid out as those of CREATE, with the name "/", which no create can have:
  /// so it is given to libfuse as one.
  func admitTemporaryFile() {
    if let header, header.pointee.opcode == UInt32(cfuse_opcode_tmpfile) {
      header.pointee.opcode = UInt32(cfuse_opcode_create)
    }
  }
}
