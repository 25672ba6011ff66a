#include "CAllocationCount.h"

#include <errno.h>

static __thread size_t count;
static __thread size_t bytes;

size_t allocation_count(void) { return count; }
size_t allocation_bytes(void) { return bytes; }

#if defined(__GLIBC__)

// The program's own definitions come before the C library's, which offers the originals under
// other names for this purpose.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t items, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static void counted(size_t size) {
  count += 1;
  bytes += size;
}

void *malloc(size_t size) {
  counted(size);
  return __libc_malloc(size);
}

void *calloc(size_t items, size_t size) {
  counted(items * size);
  return __libc_calloc(items, size);
}

void *realloc(void *memory, size_t size) {
  counted(size);
  return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  counted(size);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  counted(size);
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

#endif
