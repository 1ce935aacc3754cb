/* The way of one program through the pipeline: parsed, planned for one of several devices, emitted,
 * compiled to PTX for any architecture that has its instructions, and run in the simulator.  Each
 * step returns NULL or what went wrong, as `stage: message`.  */
#ifndef TESTS_RANDOM_TRIP_H
#define TESTS_RANDOM_TRIP_H
#include "decide.h"
#include "driver/check/check.h"
#include "families.h"

#include <stdatomic.h>

enum { TARGETS = 8, TRIP_RANKS = 20 };

typedef struct {
    const char *name[TARGETS];
    Device *dev[TARGETS];
    Device *few;              /* the first one with few SMs: blocks that stay take several tiles */
    Families families;
} Targets;

/* Kinds of loads of a product's operands.  */
#define TRIP_LOADS(X) X(STAGED, "staged") X(ASYNC, "async") X(BOXES, "boxes") X(REGION, "region")
typedef enum {
#define X(id, name) TRIP_##id,
    TRIP_LOADS(X)
#undef X
        TRIP_LOAD_COUNT
} TripLoad;

/* What multiplies in a product, and how its blocks go together.  */
#define TRIP_UNITS(X)                                                                              \
    X(THREADS, "threads") X(WARPS, "warps") X(WARPGROUPS, "warpgroups") X(CLUSTERS, "clusters")    \
    X(STAYING, "staying blocks")
typedef enum {
#define X(id, name) TRIP_##id,
    TRIP_UNITS(X)
#undef X
        TRIP_UNIT_COUNT
} TripUnit;

/* Elements that are no whole vector.  */
#define TRIP_ENDS(X) X(MAP_REST, "of maps") X(ROW_ENDS, "of rows")
typedef enum {
#define X(id, name) TRIP_##id,
    TRIP_ENDS(X)
#undef X
        TRIP_END_COUNT
} TripEnd;

/* What sizes known at run time change most: rows of products in their kernel, and reductions by
 * columns that follow another one of their pass.  */
#define TRIP_SIZED(X) X(WHOLE, "whole rows") X(PARTS, "parts of rows") X(TIED, "tied columns")
typedef enum {
#define X(id, name) TRIP_##id,
    TRIP_SIZED(X)
#undef X
        TRIP_SIZED_COUNT
} TripSized;

/* How many plans that were built have each of these.  */
typedef struct {
    atomic_int skeleton[SK_COUNT], decision[TE_DECISION_COUNT], stats[STATS_COUNT];
    atomic_int load[TRIP_LOAD_COUNT], unit[TRIP_UNIT_COUNT], end[TRIP_END_COUNT];
    atomic_int sized[TRIP_SIZED_COUNT];   /* of those with run-time sizes */
} Reached;

typedef struct {
    Arena *arena;
    Diag diag;
    const Targets *targets;
    Reached *reached;         /* NULL: nobody counts */
    uint64_t seed;
    int target;
    const char *text, *op;    /* op: its name, NULL where there is but one */
    double budget_s;          /* of a check; 0: what is usual */
    bool few;                 /* planned for that device */
    bool groups;              /* any programs are those of warpgroups, where there are some */
    bool sampled;             /* checked as big problems are */
    Te *te;
    PlanSet set;
    WholePlan whole;
    Build build;
    bool chosen;
} Trip;

void targets_open(Arena *a, Targets *out);   /* fails the test if there is no compiler */

const char *trip_plan(Trip *t);
/* With some sizes other than in the text.  */
const char *trip_plan_sized(Trip *t, const TeDefine *define, int n);
/* The model's choice of this rank; or any candidate in every group, perhaps of another split, which
 * goes through the text form.  */
const char *trip_choose(Trip *t, int rank);
const char *trip_choose_any(Trip *t, uint64_t seed);
/* Any candidate of units of warpgroups in groups that have some, in clusters and with blocks that
 * stay where these are right: of the model's decisions, or of any.  */
const char *trip_choose_warpgroups(Trip *t, uint64_t seed);
/* For run-time sizes: any candidates, more of them for some sizes, perhaps another split for some,
 * all through the text form.  */
const char *trip_choose_sized(Trip *t, uint64_t seed);
/* The source, and its PTX, for one of the architectures that it can run on, by seed.  */
const char *trip_build(Trip *t);
/* The same in two steps: the source; its PTX for one architecture, unless NVRTC crashes on it.  */
const char *trip_emit(Trip *t);
const char *trip_compile(Trip *t, const Family *f, bool *crashed);
/* Compares the simulator's outputs with the reference, if it was compiled.  */
const char *trip_check(Trip *t);
/* The same at as many sizes as these, by seed.  */
const char *trip_check_sizes(Trip *t, uint64_t seed, int n);
/* Bytes of every output on these inputs; static sizes only.  */
const char *trip_outputs(Trip *t, TeData *in, const void **out);
/* Counts a plan.  */
void trip_reach(Reached *x, const Device *dev, const RPlan *p);
/* One line; and the name of something never reached, or NULL.  */
void trip_print_reached(const Reached *x, Buf *out);
const char *trip_unreached(const Reached *x);
/* The program as it was read, the plan if there is one, and what is wrong.  */
void trip_describe(const Trip *t, const char *wrong, Buf *out);
#endif
