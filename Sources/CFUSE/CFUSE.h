// libfuse's low-level API as Swift sees it, with what the importer cannot bring across.
#ifndef CFUSE_H
#define CFUSE_H

#include <stddef.h>

#define FUSE_USE_VERSION 312
#include <fuse3/fuse_lowlevel.h>
#include <linux/fuse.h>
#include <sys/ioctl.h>

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

/// What the kernel offers and a server accepts when they meet (`struct fuse_init_in` and
/// `fuse_init_out`, linux/fuse.h): of each the parts that libfuse 3.14 does not fill in.
enum {
  cfuse_opcode_init = 26,
  cfuse_init_in_flags = 12,
  cfuse_init_in_flags2 = 16,
  cfuse_init_out_flags = 12,
  cfuse_init_out_max_write = 20,
  cfuse_init_out_max_pages = 28,
  cfuse_init_out_flags2 = 32,
  cfuse_init_out_max_stack_depth = 36,
  cfuse_init_out_size = 64,
};

/// The answer to OPEN (`struct fuse_open_out` since Linux 6.9).
struct cfuse_open_out {
  uint64_t fh;
  uint32_t open_flags;
  int32_t backing_id;
};

/// How the kernel is told of a file that it is to read and write by itself (`struct
/// fuse_backing_map`), and the requests for it (linux/fuse.h since 6.9).
struct cfuse_backing_map {
  int32_t fd;
  uint32_t flags;
  uint64_t padding;
};

/// Gives a file to the kernel: a number for it, or -1 and errno.
static inline int cfuse_backing_open(int device, int file) {
  struct cfuse_backing_map map = {file, 0, 0};
  return ioctl(device, _IOW(229, 1, struct cfuse_backing_map), &map);
}

/// Takes a file back from the kernel.
static inline int cfuse_backing_close(int device, int32_t number) {
  uint32_t argument = (uint32_t)number;
  return ioctl(device, _IOW(229, 2, uint32_t), &argument);
}

/// Answers OPEN as `fuse_reply_open` does, which knows nothing of backing files.
static inline int cfuse_reply_open(fuse_req_t request, struct cfuse_open_out open) {
  return fuse_reply_buf(request, (const char *)&open, sizeof open);
}

/// Answers CREATE as `fuse_reply_create` does, which knows nothing of backing files.
static inline int cfuse_reply_create(
    fuse_req_t request, const struct fuse_entry_param *entry, struct cfuse_open_out open) {
  const struct stat *status = &entry->attr;
  struct {
    struct fuse_entry_out entry;
    struct cfuse_open_out open;
  } answer = {
      .entry =
          {
              .nodeid = entry->ino,
              .generation = entry->generation,
              .entry_valid = (uint64_t)entry->entry_timeout,
              .attr_valid = (uint64_t)entry->attr_timeout,
              .attr =
                  {
                      .ino = status->st_ino,
                      .size = (uint64_t)status->st_size,
                      .blocks = (uint64_t)status->st_blocks,
                      .atime = (uint64_t)status->st_atim.tv_sec,
                      .mtime = (uint64_t)status->st_mtim.tv_sec,
                      .ctime = (uint64_t)status->st_ctim.tv_sec,
                      .atimensec = (uint32_t)status->st_atim.tv_nsec,
                      .mtimensec = (uint32_t)status->st_mtim.tv_nsec,
                      .ctimensec = (uint32_t)status->st_ctim.tv_nsec,
                      .mode = status->st_mode,
                      .nlink = (uint32_t)status->st_nlink,
                      .uid = status->st_uid,
                      .gid = status->st_gid,
                      .rdev = (uint32_t)status->st_rdev,
                      .blksize = (uint32_t)status->st_blksize,
                  },
          },
      .open = open,
  };
  return fuse_reply_buf(request, (const char *)&answer, sizeof answer);
}

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
