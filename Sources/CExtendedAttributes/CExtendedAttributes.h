// sys/xattr.h, which Swift's Glibc and Musl modules leave out. Apple's Darwin module has it.
#ifndef CEXTENDEDATTRIBUTES_H
#define CEXTENDEDATTRIBUTES_H

#if defined(__linux__)
#include <sys/xattr.h>
#endif

#endif
