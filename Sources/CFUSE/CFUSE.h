// libfuse's low-level API as Swift sees it, with what the importer cannot bring across.
#ifndef CFUSE_H
#define CFUSE_H

#include <stddef.h>

#define FUSE_USE_VERSION 312
#include <fuse3/fuse_lowlevel.h>

/// What stands before every request on /dev/fuse (`struct fuse_in_header`, linux/fuse.h).
struct cfuse_in_header {
  uint32_t len;
  uint32_t opcode;
  uint64_t unique;
  uint64_t nodeid;
  uint32_t uid;
  uint32_t gid;
  uint32_t pid;
  uint32_t padding;
};

/// Opcodes of linux/fuse.h; this libfuse knows the first, not the second.
enum { cfuse_opcode_create = 35, cfuse_opcode_tmpfile = 51 };

/// Answers a read with bytes of a file: libfuse splices them where the kernel can.
static inline int cfuse_reply_file(fuse_req_t request, int descriptor, off_t offset, size_t size) {
  struct fuse_bufvec vector = FUSE_BUFVEC_INIT(size);
  vector.buf[0].flags = (enum fuse_buf_flags)(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
  vector.buf[0].fd = descriptor;
  vector.buf[0].pos = offset;
  return fuse_reply_data(request, &vector, FUSE_BUF_SPLICE_MOVE);
}

/// Moves a write's bytes into a file: spliced where the kernel can. The count, or minus an errno.
static inline ssize_t cfuse_copy_to_file(struct fuse_bufvec *source, int descriptor, off_t offset) {
  struct fuse_bufvec vector = FUSE_BUFVEC_INIT(fuse_buf_size(source));
  vector.buf[0].flags = (enum fuse_buf_flags)(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
  vector.buf[0].fd = descriptor;
  vector.buf[0].pos = offset;
  return fuse_buf_copy(&vector, source, (enum fuse_buf_copy_flags)0);
}

#endif
