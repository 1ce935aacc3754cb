/* How much a test does: a share that SEED draws, or, where LONG says so, everything.  tests/run
 * sets SEED to the commit, so that every commit draws another share; a test that draws one says
 * the SEED that does it again.  */
#ifndef TESTS_EFFORT_H
#define TESTS_EFFORT_H
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* A variable that is set to nothing is not set.  */
static inline bool effort_long(void) {
    const char *s = getenv("LONG");
    return s && *s;
}

static inline unsigned long long effort_seed(void) {
    const char *seed = getenv("SEED");
    return seed && *seed ? strtoull(seed, NULL, 10) : 1;
}

/* Is part i in the share of one in n?  */
static inline bool effort_drawn(int i, int n) {
    return effort_long() || (unsigned long long)(i % n) == effort_seed() % (unsigned)n;
}
#endif
