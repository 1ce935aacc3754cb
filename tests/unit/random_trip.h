/* The way of one program through the pipeline: parsed, planned for one of several devices, emitted,
 * compiled to PTX and run in the simulator.  Each step returns NULL or what went wrong, as
 * `stage: message`.  */
#ifndef TESTS_RANDOM_TRIP_H
#define TESTS_RANDOM_TRIP_H
#include "driver/check.h"

enum { TARGETS = 5, COMPILED_TARGETS = 4, TRIP_RANKS = 20 };

typedef struct {
    const char *name[TARGETS];            /* the last is only planned for */
    Device *dev[TARGETS];
    Nvrtc *nvrtc[TARGETS];
} Targets;

typedef struct {
    Arena *arena;
    Diag diag;
    const Targets *targets;
    uint64_t seed;
    int target;
    const char *text;
    Te *te;
    PlanSet set;
    WholePlan whole;
    Build build;
    bool chosen;
} Trip;

void targets_open(Arena *a, Targets *out);   /* fails the test if there is no compiler */

const char *trip_plan(Trip *t);
/* The model's choice of this rank; or any candidate in every group.  */
const char *trip_choose(Trip *t, int rank);
const char *trip_choose_any(Trip *t, uint64_t seed);
/* For run-time sizes: any candidates, more of them for some sizes, perhaps another split for some,
 * all through the text form.  */
const char *trip_choose_sized(Trip *t, uint64_t seed);
/* The source, and its PTX where the target has a compiler.  */
const char *trip_build(Trip *t);
/* Compares the simulator's outputs with the reference, if it was compiled.  */
const char *trip_check(Trip *t);
/* The same at as many sizes as these, by seed.  */
const char *trip_check_sizes(Trip *t, uint64_t seed, int n);
/* Bytes of every output on these inputs; static sizes only.  */
const char *trip_outputs(Trip *t, TeData *in, const void **out);
/* The program as it was read, the plan if there is one, and what is wrong.  */
void trip_describe(const Trip *t, const char *wrong, Buf *out);
#endif
