// Linux calls and kernel numbers that Swift's Glibc module lacks or cannot call: variadic
// functions, raw system calls that act on one thread only, and sys/xattr.h.
#ifndef CLINUX_H
#define CLINUX_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <syslog.h>
#include <unistd.h>

// Files, relative to a directory's descriptor.

static inline int clinux_openat(int directory, const char *name, int flags, unsigned int mode) {
  return openat(directory, name, flags, (mode_t)mode);
}

/// Opens what a descriptor refers to once more, by its entry in /proc.
static inline int clinux_reopen(int descriptor, int flags) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  return open(path, flags);
}

/// openat2(2), Linux 5.6: EXDEV for a name on which something is mounted.
static inline int clinux_open_here(int directory, const char *name, int flags) {
  struct { uint64_t flags, mode, resolve; } how = {(unsigned)flags, 0, 0x01 /* RESOLVE_NO_XDEV */};
  return (int)syscall(437, directory, name, &how, sizeof how);
}

static inline int clinux_renameat2(int from, const char *name, int to, const char *new_name,
                                   unsigned int flags) {
  return (int)syscall(SYS_renameat2, from, name, to, new_name, flags);
}

/// Entries of a directory as the kernel lays them out (`struct linux_dirent64`).
static inline long clinux_getdents64(int descriptor, void *buffer, size_t size) {
  return syscall(SYS_getdents64, descriptor, buffer, size);
}

/// fchmodat2(2), Linux 6.6: changes the mode of what an O_PATH descriptor holds.
static inline int clinux_fchmod_path(int descriptor, unsigned int mode) {
  return (int)syscall(452, descriptor, "", (mode_t)mode, 0x1000 /* AT_EMPTY_PATH */);
}

static inline int clinux_lock(int descriptor, int command, struct flock *lock) {
  return fcntl(descriptor, command, lock);
}

/// faccessat2(2), Linux 5.8: glibc's faccessat guesses at flags, the kernel decides.
static inline int clinux_access(int descriptor, const char *name, int mode, int flags) {
  return (int)syscall(439, descriptor, name, mode, flags);
}

// File handles. The kernel's struct ends in a flexible array; here it has room for the largest.

struct clinux_file_handle {
  unsigned int handle_bytes;
  int handle_type;
  unsigned char bytes[128 /* MAX_HANDLE_SZ */];
};

static inline int clinux_name_to_handle(int descriptor, struct clinux_file_handle *handle,
                                        int flags) {
  int mount_id = 0;
  return (int)syscall(SYS_name_to_handle_at, descriptor, "", handle, &mount_id,
                      flags | 0x1000 /* AT_EMPTY_PATH */);
}

static inline int clinux_open_by_handle(int mount, const struct clinux_file_handle *handle,
                                        int flags) {
  return (int)syscall(SYS_open_by_handle_at, mount, handle, flags);
}

/// What FS_IOC_GETFSUUID (Linux 6.9) fills in: the identifier of the file system itself.
struct clinux_fs_uuid {
  uint8_t length;
  uint8_t bytes[16];
};

static inline int clinux_fs_uuid(int descriptor, struct clinux_fs_uuid *uuid) {
  return ioctl(descriptor, _IOR(0x15, 0, struct { uint8_t len; uint8_t uuid[16]; }), uuid);
}

/// The first version of XFS's description of itself, 112 bytes; of its fields we want one.
struct clinux_xfs_geometry {
  uint8_t sizes[64];
  uint8_t uuid[16];
  uint8_t rest[32];
};

static inline int clinux_xfs_geometry(int descriptor, struct clinux_xfs_geometry *geometry) {
  return ioctl(descriptor, _IOR('X', 100, struct clinux_xfs_geometry), geometry);
}

// Credentials of the calling thread alone: glibc's functions change every thread of the process.

static inline int clinux_thread_setresuid(unsigned int real, unsigned int effective,
                                          unsigned int saved) {
  return (int)syscall(SYS_setresuid, real, effective, saved);
}

static inline int clinux_thread_setresgid(unsigned int real, unsigned int effective,
                                          unsigned int saved) {
  return (int)syscall(SYS_setresgid, real, effective, saved);
}

static inline int clinux_thread_setgroups(size_t count, const unsigned int *groups) {
  return (int)syscall(SYS_setgroups, count, groups);
}

struct clinux_capabilities {
  uint32_t effective[2];
  uint32_t permitted[2];
  uint32_t inheritable[2];
};

/// capget(2) and capset(2), version 3 of their layout, of the calling thread.
static inline int clinux_thread_capabilities(struct clinux_capabilities *sets, int write) {
  struct { uint32_t version; int pid; } header = {0x20080522, 0};
  struct { uint32_t effective, permitted, inheritable; } data[2];
  for (int half = 0; half < 2; half++) {
    data[half].effective = sets->effective[half];
    data[half].permitted = sets->permitted[half];
    data[half].inheritable = sets->inheritable[half];
  }
  if (write) return (int)syscall(SYS_capset, &header, data);
  if (syscall(SYS_capget, &header, data) != 0) return -1;
  for (int half = 0; half < 2; half++) {
    sets->effective[half] = data[half].effective;
    sets->permitted[half] = data[half].permitted;
    sets->inheritable[half] = data[half].inheritable;
  }
  return 0;
}

static inline int clinux_thread_id(void) { return (int)syscall(SYS_gettid); }

// Processes. Swift hides fork because a multithreaded child cannot go on in Swift; the callers
// here have no second thread yet, or go straight to exec.

static inline int clinux_fork(void) { return fork(); }

static inline int clinux_set_parent_death_signal(int signal) {
  return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
}

static inline int clinux_adopt_orphans(void) {
  return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

static inline void clinux_set_thread_name(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// Lets the calling thread run on one processor only; 0, or -1 and errno. Numbers below 1024.
static inline int clinux_run_on_processor(unsigned int processor) {
  unsigned long set[1024 / (8 * sizeof(unsigned long))] = {0};
  if (processor >= 1024) {
    errno = EINVAL;
    return -1;
  }
  set[processor / (8 * sizeof *set)] = 1UL << processor % (8 * sizeof *set);
  return (int)syscall(SYS_sched_setaffinity, 0, sizeof set, set);
}

static inline char *const *clinux_environment(void) { return __environ; }

// Sockets of the Unix domain: glibc's prototypes take transparent unions, which do not import.

static inline int clinux_bind_path(int descriptor, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  return bind(descriptor, (struct sockaddr *)&address, sizeof address);
}

static inline int clinux_connect_path(int descriptor, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  return connect(descriptor, (struct sockaddr *)&address, sizeof address);
}

static inline int clinux_accept(int descriptor) {
  return (int)syscall(SYS_accept4, descriptor, NULL, NULL, SOCK_CLOEXEC);
}

/// The longest path of a socket, without its NUL.
enum { clinux_socket_path_max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1 };

// Logs.

static inline void clinux_syslog(int priority, const char *message) {
  syslog(priority, "%s", message);
}

#endif
