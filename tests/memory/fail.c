/* Allocations that fail, for tests/memory.sh: preloaded, it lets the n-th one find no memory.
 *
 * FAIL_ALLOC=N       only the N-th fails
 * FAIL_ALLOC=N+      and all that follow
 * COUNT_ALLOC=FILE   their number is written there when the program ends
 *
 * Those of NVRTC do not count: how it ends without memory is not ours.  */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

static atomic_long asked;

/* The caller's library is looked for without an allocation.  */
static int fails(void *caller) {
    static _Thread_local int inside;
    Dl_info where;
    const char *rule = getenv("FAIL_ALLOC");
    if (inside) return 0;
    inside = 1;
    int foreign = dladdr(caller, &where) && where.dli_fname && strstr(where.dli_fname, "nvrtc");
    inside = 0;
    if (foreign) return 0;
    long n = atomic_fetch_add(&asked, 1) + 1;
    if (!rule || !*rule) return 0;
    char *end;
    long from = strtol(rule, &end, 10);
    int now = *end == '+' ? n >= from : n == from;
    if (now) errno = ENOMEM;
    return now;
}

void *malloc(size_t n) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n) {
    if (fails(__builtin_return_address(0))) return ENOMEM;
    *p = __libc_memalign(align, n);
    return *p ? 0 : ENOMEM;
}

static __attribute__((destructor)) void tell(void) {
    const char *path = getenv("COUNT_ALLOC");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (!f) return;
    fprintf(f, "%ld\n", atomic_load(&asked));
    fclose(f);
}
