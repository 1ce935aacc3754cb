/* How much a test does: a sample, or, where LONG says so, everything.  */
#ifndef TESTS_EFFORT_H
#define TESTS_EFFORT_H
#include <stdbool.h>
#include <stdlib.h>

/* A variable that is set to nothing is not set.  */
static inline bool effort_long(void) {
    const char *s = getenv("LONG");
    return s && *s;
}
/* Of what a test draws: DRAW in hexadecimal, which make sets to the commit; 1 without it.  */
static inline unsigned long long effort_seed(void) {
    const char *s = getenv("DRAW");
    return s && *s ? strtoull(s, NULL, 16) : 1;
}
#endif
