/* Memory that runs out on purpose.
 *
 * oom_source makes an arena whose n-th object finds no memory; oom_sweep lets every n fail in turn
 * and checks that the code unwinds and gives everything back.  */
#ifndef TESTS_OOM_H
#define TESTS_OOM_H
#include "base/arena.h"
#include <stdint.h>

typedef struct {
    int64_t fail;             /* the allocation that fails, from 1; 0: none */
    int64_t asked;            /* allocations asked for so far */
    int64_t live;             /* given and not yet given back */
} Oom;

ArenaSource oom_source(Oom *o);

/* Runs body(arena, user) in arena_try on a fresh arena, first with the first allocation failing,
 * then the second, ... until nothing fails (from the 100th on in growing strides).  Fails the test
 * if a failure was swallowed, if memory stays allocated, or if body never ends well.  Returns the
 * number of allocations that body needs.  */
int64_t oom_sweep(void (*body)(Arena *a, void *user), void *user);
#endif
