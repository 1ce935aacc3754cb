/* Inside of kernel_check: the form of a kernel as it runs.
 *
 * form_unroll.c goes through the tree as the threads of one role do and lists what they come to;
 * control depends on nothing that is computed, so that the lists are there before they are run
 * beside each other (kernel_check.c).  */
#ifndef ROLLER_CODEGEN_FORM_RUN_H
#define ROLLER_CODEGEN_FORM_RUN_H
#include "codegen/form.h"

enum { RUN_STRANDS = 5, RUN_WARPS = 2, RUN_LANES = 2, RUN_AGENTS = RUN_WARPS * RUN_LANES };

/* One path: k-steps of a tile, tiles of a block, turns of other loops.  */
typedef struct {
    int64_t steps;
    int tiles, turns;
} Scenario;

/* The threads of a role, or of the block where there are none, stand for by the first two of its
 * first and its last warp: bit i of a mask.  */
typedef struct {
    const Node *role;         /* NULL: all that is in no role */
    int first, warps;
    int team, teams;          /* which of those that take tiles in turn */
} Strand;

typedef struct {
    const Node *node;
    unsigned mask;
    int at, round;            /* SYNC_BARRIER: its slot, -1: none; times through the ring before */
    struct {
        int slot;
        int64_t data;         /* the step that it is of; < 0: any */
    } *use;
} Event;

typedef struct {
    Event *at;
    int n, room;
} EventList;

/* Roles of the form, or the block.  */
int run_strands(const Form *f, Strand *out);
unsigned run_all(const Strand *s);        /* its mask */
EventList run_unroll(Arena *a, const Form *f, const Strand *s, const Scenario *way);
#endif
