/* Inside of kernel_check: the form of a kernel as it runs.
 *
 * form_unroll.c goes through the tree as the threads of one role do and lists what they come to;
 * control depends on nothing that is computed, so that the lists are there before they are run
 * beside each other (kernel_check.c).  */
#ifndef ROLLER_CODEGEN_FORM_FORM_RUN_H
#define ROLLER_CODEGEN_FORM_FORM_RUN_H
#include "codegen/form/form.h"

enum { RUN_WARPS = 2, RUN_LANES = 2, RUN_AGENTS = RUN_WARPS * RUN_LANES };

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
    Strand *at;
    int n;
    size_t room;
} StrandList;

typedef struct {
    const Node *node;
    unsigned mask;
    int at, round;            /* SYNC_BARRIER: its slot, those of all teams one after the other, -1:
                               * none; times through the ring before */
    struct {
        int slot;
        int64_t data;         /* the step that it is of; < 0: any */
    } *use;
} Event;

typedef struct {
    Event *at;
    int n;
    size_t room;
} EventList;

/* ---- what is known of it ---- */

enum { NAMED = 16 };          /* barriers of a block that have a number, by the hardware */

/* A slot of a room, of registers for each strand.  */
typedef struct {
    bool touched, written;
    int64_t data;
    int *read, *write;        /* clocks of the last ones; 0: none */
    int *read_by, *write_by;  /* by which event */
} Cell;

typedef struct {
    int *clock;               /* what it knows */
    int *under_way;           /* by queue: clock of what was begun last */
    struct {
        int *end;             /* such clocks at the ends of its groups */
        int n;
        size_t room;
    } group[FORM_QUEUES];
} Agent;

/* A barrier of some threads: who has come, and what they know.  */
typedef struct {
    int arrived;
    bool *waits;              /* of each strand */
    int *clock;
} Meeting;

/* A barrier in shared memory.  */
typedef struct {
    int wanted, arrived;
    int made, maker;          /* when and by which thread its count was set */
    int64_t expected, brought;
    int *clock;               /* of the phase that goes on */
    int **past;               /* of those that are complete */
    int phases;
    size_t room;
} Barrier;

typedef struct {
    Arena *arena;
    const Form *f;
    Scenario way;
    int n, serial;            /* strands, and by strand: */
    Strand *strand;
    EventList *list;
    int *at;
    bool *came;               /* to the sync at which it is */
    Agent *agent;             /* of strand s: s * RUN_AGENTS + i */
    Cell **cell;              /* of each room of the layout */
    Meeting block, named[NAMED];
    Barrier **barrier;        /* of each ring: full and empty ones of its slots */
    int *slots;               /* of rings with barriers before each one */
    int queues, clocks;       /* of an agent: its groups, and what counts on full barriers, of each
                               * slot for itself; in all.  A clock has as many once more: of these
                               * what has passed a fence, behind which units see it by themselves */
    const char *wrong;
} Run;

/* Slots of a ring with barriers, of a room, where teams have slots of their own those of all.  */
static inline int run_slots(const Ring *x) { return x->slots * x->shares; }
static inline int run_cells(const Room *x) {
    bool warps = x->kind == ROOM_STAGING || x->kind == ROOM_OUTPUTS;
    return warps ? x->slots : x->slots * x->shares;
}

/* Roles of the form, or the block.  */
StrandList run_strands(Arena *a, const Form *f);
unsigned run_all(const Strand *s);        /* its mask */
EventList run_unroll(Arena *a, const Form *f, const Strand *s, const Scenario *way);

/* -- form_access.c: accesses, and what is under way -- */
void run_wrong(Run *r, const Node *n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Clocks of an agent, and of what it has under way; what one learns; does it know all of this?  */
static inline int run_clock(const Run *r, int agent) { return agent * (1 + r->queues); }
static inline int run_queue_clock(const Run *r, int agent, int queue) {
    return run_clock(r, agent) + 1 + queue;
}
int *run_clocks(const Run *r);            /* new ones, of all */
void run_join(const Run *r, int *to, const int *from);
bool run_knows(const Run *r, int agent, const int *clock);
/* What a thread does from now on is later than what others have learnt of it.  A fence for units
 * that read shared memory by themselves: all that the thread knows passes it.  */
void run_tick(Run *r, int agent);
void run_fence(Run *r, int agent);
Barrier *run_barrier(const Run *r, int ring, int id, int slot);
/* Ends the phase if all has come that it waits for.  */
void run_complete(const Run *r, Barrier *b);
/* The uses of a node by the threads of a strand that come to it.  */
void run_node(Run *r, int strand, const Event *e);
#endif
