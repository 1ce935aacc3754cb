/* MAP_ANONYMOUS is no part of POSIX.  */
#define _DEFAULT_SOURCE

#include "base/sparse.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Smaller ones cost less to clear than to map.  */
enum { MAPPED = 1 << 20 };

void *sparse_new(size_t bytes) {
    if (bytes < MAPPED) return calloc(1, bytes ? bytes : 1);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void sparse_free(void *p, size_t bytes) {
    if (bytes < MAPPED) free(p);
    else if (p) munmap(p, bytes);
}
