// Counts what the calling thread allocates, in a program that links this.
#ifndef CALLOCATIONCOUNT_H
#define CALLOCATIONCOUNT_H

#include <stddef.h>

/// How often this thread has asked for memory so far.
size_t allocation_count(void);

/// How many bytes this thread has asked for so far.
size_t allocation_bytes(void);

#endif
