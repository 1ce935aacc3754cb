/* madvise and mallopt are no part of POSIX.  */
#define _DEFAULT_SOURCE

#include "base/heap.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#endif

#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
void heap_expect_much(void) {
    enum { AREAS = 2 };
    const size_t area = (size_t)30 << 20, large = (size_t)2 << 20;
    void *room[AREAS];
    /* What is large, and what other threads ask for, comes from the one heap too, and stays in
     * it.  */
    if (!mallopt(M_ARENA_MAX, 1) || !mallopt(M_MMAP_THRESHOLD, 32 << 20) ||
        !mallopt(M_TRIM_THRESHOLD, 256 << 20)) return;
    for (int i = 0; i < AREAS; i++) {
        room[i] = malloc(area);
        uintptr_t from = ((uintptr_t)room[i] + large - 1) / large * large;
        uintptr_t to = ((uintptr_t)room[i] + area) / large * large;
        if (room[i]) madvise((void *)from, to - from, MADV_HUGEPAGE);
    }
    for (int i = 0; i < AREAS; i++) free(room[i]);
}
#else
void heap_expect_much(void) {}
#endif
