// liburing as Swift sees it, with what the importer cannot bring across, and the numbers by which
// FUSE requests go through a ring (linux/fuse.h and linux/io_uring.h since Linux 6.14).
#ifndef CURING_H
#define CURING_H

#include <liburing.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

/// Where the kernel puts a request besides its payload (`struct fuse_uring_req_header`): the header
/// of every request, in whose place the answer's goes; the operation's own argument; and how much
/// payload there is.
enum {
  curing_header_size = 288,
  curing_argument = 128,
  curing_argument_room = 128,
  curing_commit_id = 256 + 8,
  curing_payload_size = 256 + 16,
};

/// What the command to the kernel is (`struct fuse_uring_cmd_req`).
struct curing_command {
  uint64_t flags;
  uint64_t commit_id;
  uint16_t queue;
  uint8_t padding[6];
};

/// `FUSE_IO_URING_CMD_REGISTER` and `FUSE_IO_URING_CMD_COMMIT_AND_FETCH`.
enum { curing_register_entry = 1, curing_commit_and_fetch = 2 };

/// Makes a ring that one thread alone will use, with room for one command; 0, or minus an errno.
///
/// Linux 6.1 knows the flags; who offers FUSE requests through rings does.
static inline int curing_make(struct io_uring *ring) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof parameters);
  parameters.flags = IORING_SETUP_SQE128 | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  return io_uring_queue_init_params(1, ring, &parameters);
}

/// Puts a command about a FUSE device into a ring, to go with the next wait; `buffers` are two, or
/// none. 0, or minus an errno.
static inline int curing_prepare(struct io_uring *ring, int device, uint32_t operation,
                                 const struct iovec *buffers, uint64_t commit_id, uint16_t queue) {
  struct io_uring_sqe *entry = io_uring_get_sqe(ring);
  if (!entry) return -EAGAIN;
  struct curing_command command = {.flags = 0, .commit_id = commit_id, .queue = queue};
  // The second half holds most of the command, and liburing clears nothing.
  memset(entry, 0, 2 * sizeof *entry);
  entry->opcode = IORING_OP_URING_CMD;
  entry->fd = device;
  entry->cmd_op = operation;
  entry->addr = (uint64_t)(uintptr_t)buffers;
  entry->len = buffers ? 2 : 0;
  memcpy(entry->cmd, &command, sizeof command);
  return 0;
}

/// Hands over what was put into the ring and waits for the end of a command: 1 and how it ended, 0
/// when none has ended, or minus an errno.
static inline int curing_wait(struct io_uring *ring, int32_t *outcome) {
  struct io_uring_cqe *end = NULL;
  int result = io_uring_submit_and_wait(ring, 1);
  if (result < 0) return result;
  if (io_uring_peek_cqe(ring, &end) != 0 || !end) return 0;
  *outcome = end->res;
  io_uring_cqe_seen(ring, end);
  return 1;
}

#endif
