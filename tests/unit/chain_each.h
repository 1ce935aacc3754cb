/* Chains that are checked one after the other on the simulator.  */
#ifndef ROLLER_TEST_CHAIN_EACH_H
#define ROLLER_TEST_CHAIN_EACH_H
#include "effort.h"
#include "hal/nvrtc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int n, share;                              /* cases; one in `share` of them is drawn */
    const char *(*name)(int i);
    const char *(*wrong)(Arena *, Nvrtc *, int i);          /* what is wrong with case i, or NULL */
} ChainCases;

/* The cases that are drawn, or those whose name has CHAIN_CASE, are right.  */
static inline void chain_each(const ChainCases *x) {
    const char *only = getenv("CHAIN_CASE");
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    int failed = 0;
    if (nvrtc_open(a, &d, NULL, NULL, &nvrtc)) skip();
    for (int i = 0; i < x->n; i++) {
        if (only ? !strstr(x->name(i), only) : !effort_drawn(i, x->share)) continue;
        ArenaMark mark = arena_mark(a);
        const char *bad = x->wrong(a, nvrtc, i);
        if (bad) print_error("%s\n", bad);
        failed += bad != NULL;
        arena_reset(a, mark);
    }
    assert_int_equal(failed, 0);
    arena_destroy(a);
}
#endif
