// floor-server [--wrong] MOUNTPOINT: the least that a file system of libfuse can cost.
//
// Serves a directory with one empty file called `file`, whose extended attributes are kept in a table in memory. One
// thread takes a request, looks into the table and answers; the kernel may remember the file's status for an hour. So
// what an attribute call takes here is the way to a server and back and nothing else, and no file system that asks a
// server can be faster. It answers lookup, getattr, getxattr, setxattr, listxattr and removexattr; the kernel hears
// ENOSYS to everything else.
//
// Stays in the foreground and ends when it is unmounted or told to (SIGINT, SIGTERM, SIGHUP). Exit status: 0 after
// that, 1 when it could not mount, 2 when it was called wrongly.
//
// With --wrong each value that it gives has its last byte changed: a benchmark that does not complain looks at nothing.

#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse3/fuse_lowlevel.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { file_inode = 2, name_max = 255, value_max = 65536, slot_count = 1024 };
static const double hour = 3600;

// The attributes: a hash table without buckets. A name that was removed leaves its slot `passed`, so that those behind
// it are still found.
static struct slot {
  enum { never, passed, taken } state;
  char name[name_max + 1];
  char *value;
  size_t size;
} slots[slot_count];

static bool wrong;

// The slot of a name; else, when `room` is set, the one where it can go; else NULL.
static struct slot *find(const char *name, bool room) {
  uint32_t hash = 2166136261u;
  for (const char *byte = name; *byte; byte++) hash = (hash ^ (unsigned char)*byte) * 16777619u;
  struct slot *free_slot = NULL;
  for (size_t step = 0; step < slot_count; step++) {
    struct slot *slot = &slots[(hash + step) % slot_count];
    if (slot->state == taken) {
      if (strcmp(slot->name, name) == 0) return slot;
      continue;
    }
    if (free_slot == NULL) free_slot = slot;
    if (slot->state == never) break;
  }
  return room ? free_slot : NULL;
}

static struct stat status_of(fuse_ino_t inode) {
  struct stat status = {.st_ino = inode, .st_uid = getuid(), .st_gid = getgid()};
  status.st_mode = inode == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644;
  status.st_nlink = inode == FUSE_ROOT_ID ? 2 : 1;
  return status;
}

static void floor_lookup(fuse_req_t request, fuse_ino_t parent, const char *name) {
  if (parent != FUSE_ROOT_ID || strcmp(name, "file") != 0) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  struct fuse_entry_param entry = {.ino = file_inode, .attr_timeout = hour, .entry_timeout = hour};
  entry.attr = status_of(file_inode);
  fuse_reply_entry(request, &entry);
}

static void floor_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info) {
  (void)info;
  struct stat status = status_of(inode);
  fuse_reply_attr(request, &status, hour);
}

// What getxattr and listxattr have in common: a room of 0 asks for the size.
static void reply_sized(fuse_req_t request, const char *bytes, size_t size, size_t room) {
  if (room == 0) {
    fuse_reply_xattr(request, size);
  } else if (room < size) {
    fuse_reply_err(request, ERANGE);
  } else {
    fuse_reply_buf(request, bytes, size);
  }
}

static void floor_getxattr(fuse_req_t request, fuse_ino_t inode, const char *name, size_t room) {
  struct slot *slot = inode == file_inode ? find(name, false) : NULL;
  if (slot == NULL) {
    fuse_reply_err(request, ENODATA);
  } else if (wrong && slot->size > 0 && room >= slot->size) {
    static char spoilt[value_max];
    memcpy(spoilt, slot->value, slot->size);
    spoilt[slot->size - 1] ^= 1;
    fuse_reply_buf(request, spoilt, slot->size);
  } else {
    reply_sized(request, slot->value, slot->size, room);
  }
}

static void floor_setxattr(fuse_req_t request, fuse_ino_t inode, const char *name, const char *value,
                           size_t size, int flags) {
  struct slot *slot = find(name, true);
  int error = 0;
  if (inode != file_inode) {
    error = EPERM;
  } else if (strlen(name) > name_max || size > value_max) {
    error = ERANGE;
  } else if (slot == NULL) {
    error = ENOSPC;
  } else if ((flags & XATTR_CREATE) && slot->state == taken) {
    error = EEXIST;
  } else if ((flags & XATTR_REPLACE) && slot->state != taken) {
    error = ENODATA;
  } else {
    // An equal size is the ordinary case of a replacement and takes no new memory.
    char *memory = slot->state == taken && slot->size == size ? slot->value : malloc(size + 1);
    if (memory == NULL) {
      error = ENOMEM;
    } else {
      memcpy(memory, value, size);
      if (slot->state == taken && memory != slot->value) free(slot->value);
      if (slot->state != taken) strcpy(slot->name, name);
      slot->state = taken;
      slot->value = memory;
      slot->size = size;
    }
  }
  fuse_reply_err(request, error);
}

static void floor_listxattr(fuse_req_t request, fuse_ino_t inode, size_t room) {
  static char names[slot_count * (name_max + 1)];
  size_t size = 0;
  for (size_t index = 0; inode == file_inode && index < slot_count; index++) {
    if (slots[index].state != taken) continue;
    size_t length = strlen(slots[index].name) + 1;
    memcpy(names + size, slots[index].name, length);
    size += length;
  }
  reply_sized(request, names, size, room);
}

static void floor_removexattr(fuse_req_t request, fuse_ino_t inode, const char *name) {
  struct slot *slot = inode == file_inode ? find(name, false) : NULL;
  if (slot == NULL) {
    fuse_reply_err(request, ENODATA);
    return;
  }
  free(slot->value);
  *slot = (struct slot){.state = passed};
  fuse_reply_err(request, 0);
}

static const struct fuse_lowlevel_ops operations = {
    .lookup = floor_lookup,
    .getattr = floor_getattr,
    .getxattr = floor_getxattr,
    .setxattr = floor_setxattr,
    .listxattr = floor_listxattr,
    .removexattr = floor_removexattr,
};

int main(int count, char **words) {
  if (count == 3 && strcmp(words[1], "--wrong") == 0) {
    wrong = true;
  } else if (count != 2) {
    fprintf(stderr, "usage: floor-server [--wrong] MOUNTPOINT\n");
    return 2;
  }
  const char *mount_point = words[count - 1];
  char *arguments[] = {words[0], "-ofsname=floor,subtype=floor", NULL};
  struct fuse_args args = FUSE_ARGS_INIT(2, arguments);
  struct fuse_session *session = fuse_session_new(&args, &operations, sizeof operations, NULL);
  if (session == NULL) return 1;
  int status = 1;
  if (fuse_set_signal_handlers(session) == 0) {
    if (fuse_session_mount(session, mount_point) == 0) {
      // A signal's number is how it ended, too.
      status = fuse_session_loop(session) < 0;
      fuse_session_unmount(session);
    }
    fuse_remove_signal_handlers(session);
  }
  fuse_session_destroy(session);
  fuse_opt_free_args(&args);
  return status;
}
