/* The form of a kernel: a tree of few kinds of nodes, made by lowering, checked by kernel_check,
 * and made statements of, each kind in one place (nodes.c), which asks the building blocks for what
 * is special.
 *
 * What a node does to what threads share is in its uses: which room, which slot of a ring, which
 * step's data, who else touches it, and whether it happens at once or only when a later node has
 * waited.  Loops, conditions and roles are nodes with children; a compute node's children are what
 * is issued between its products.  */
#ifndef ROLLER_CODEGEN_FORM_FORM_H
#define ROLLER_CODEGEN_FORM_FORM_H
#include "codegen/ir/sync_kinds.h"
#include "rprogram/layout.h"

#define FORM_KINDS(X)                                                                              \
    X(SEQUENCE, "sequence")   /* children, in order */                                             \
    X(LOOP,    "loop")        /* children, again and again */                                      \
    X(IF,      "if")          /* children, where a condition holds */                              \
    X(ROLE,    "role")        /* children, by some warps of the block */                           \
    X(COPY,    "copy")        /* elements from one level to another, by a mover */                 \
    X(COMPUTE, "compute")     /* products of a unit; children: what is issued between them */      \
    X(REDUCE,  "reduce")      /* partial results meet */                                           \
    X(SYNC,    "sync")        /* threads wait for each other, or for what is under way */          \
    X(STORE,   "store")       /* results to where others read them */                              \
    X(VALUES,  "values")      /* names, places and values of a thread */
typedef enum {
#define X(id, name) NODE_##id,
    FORM_KINDS(X)
#undef X
        NODE_COUNT
} NodeKind;

/* Which building block a node asks, by its kind: lists of names beside those that
 * their attributes say all about.  */
#define FORM_LOOPS(X)                                                                              \
    X(COUNTED,  "counted")    /* by its variable and bounds */                                     \
    X(STEPS,    "steps")      /* the k-steps of the block */                                       \
    X(SEGMENTS, "segments")   /* tiles that the block has k-steps of */                            \
    X(TILES,    "tiles")      /* tiles of a block that stays; slots of rings go on with each; */   \
                              /* from: 1: the last of them are segments of steps; */             \
                              /* to: 1: they differ in steps, and are in snakelike order */       \
    X(COLUMNS,  "columns")    /* of the block's rows, a tile a turn, in pass `from`; of each */    \
                              /* those of `to` teams, one after the other */                      \
    X(TEAMS,    "teams")      /* those that a thread does something for, one after the other */    \
    X(OUTPUTS,  "outputs")    /* outputs of the thread, in vectors */                              \
    X(ROWS,     "rows")       /* accumulator rows that pass through shared memory together */      \
    X(VECTORS,  "vectors")    /* vectors of them that a thread stores */                           \
    X(WALK,     "walk")       /* columns of rows, in pass `from`; to: 1: online */                 \
    X(OUTER,    "outer")      /* outer indices of a reduction over windows */                      \
    X(SCAN,     "scan")       /* steps of a walk, what one comes to going on to the next */        \
    X(FOLD,     "fold")       /* elements of a reduction */
typedef enum {
#define X(id, name) LOOP_##id,
    FORM_LOOPS(X)
#undef X
        LOOP_COUNT
} LoopWhat;

#define FORM_VALUES(X)                                                                             \
    X(PLACE,    "place")      /* tile of the block, place of the thread in it */                   \
    X(TILE,     "tile")       /* the tile at hand of a block that stays; from: 1: and places of */ \
                              /* threads in it */                                                  \
    X(TURN,     "turn")       /* the tile of columns at hand; from: 1: its stages begin anew */    \
    X(ADDRESS,  "address")    /* what a thread loads of an operand, and where it puts it */        \
    X(TABLE,    "table")      /* entries of the load of the next step */                           \
    X(CLEAR,    "clear")      /* accumulators and registers of operands; from: a part of these */  \
    X(PARTIAL,  "partial")    /* accumulators of one step */                                       \
    X(BESIDE,   "beside")     /* what an operand's expression reads beside; from: in a step */     \
    X(SCALES,   "scales")     /* of blocks, of the first step; from: 1: of the next one, */        \
                              /* 2: of which those of the next one are the step's, */              \
                              /* 3: those of the step, to the slot of its ring; 4: from there; */ \
                              /* of step `name` (else of the first one) + ahead */                 \
    X(K_NOW,    "k")          /* first k of the step, where products are masked */                 \
    X(MORE,     "more")       /* is there a step to load? */                                       \
    X(NEXT_K,   "next k")     /* loads go on with the next step */                                 \
    X(RING,     "ring")       /* slots of `ring` that a role fills; from: 1: that it uses, */      \
                              /* to: which are freed so many turns behind */                       \
    X(PUT,      "put")        /* loads go on with the next slot of `ring` */                       \
    X(TAKE,     "take")       /* products go on with the next slot of `ring` */                    \
    X(MAPS,     "maps")       /* fetched before they are used; from: 1: alone; to: 1: they are */  \
    X(STAGE,    "stage")      /* where operands of the step are; from: 1: those that stay */       \
    X(SETTLE,   "settle")     /* accumulators before their first product, behind the last; */      \
                              /* from: 1: before, and an operand in registers, too */              \
    X(PROMOTE,  "promote")    /* sums of one step join the others */                               \
    X(SUMS,     "sums")       /* accumulators of a matrix unit as values */                        \
    X(SLICES,   "slices")     /* where sums of slices of warps lie */                              \
    X(OUTPUTS,  "outputs")    /* of the thread; from: 1: partial sums of them */                   \
    X(RESTS,   "rests")       /* zeros behind arrays of rows */                                    \
    X(KEEP,     "keep")       /* registers of an operand that stays */                             \
    X(MOVE,     "move")       /* results of a chain to the bases of their rows, if these moved */  \
    X(TERMS,    "terms")      /* of a chain, which are used in a later turn; its results have */   \
                              /* the bases of the turn before until they are moved */              \
    X(OPERAND,  "operand")    /* of a chain's second product: registers of the terms */            \
    X(CUT,      "cut")        /* zeros in rows of V that are none of the block's */                \
    X(COLUMNS,  "columns")    /* that rows of the block have terms in, where a mask says so */     \
    X(ROWS,     "rows")       /* rows of the block, where they lie */                              \
    X(FINISH,   "finish")     /* values of the rows after pass `from` */                           \
    X(COMBINE,  "combine")    /* the slices' values of pass `from`; to: 1 to store them */         \
    X(GATHER,   "gather")     /* adds the partial sums of an element */                            \
    X(TENSOR,   "tensor")     /* Tensor Memory of the block, and its results; from: a part */      \
    X(STATEMENT, "statement") /* a statement at one element */
typedef enum {
#define X(id, name) VALUES_##id,
    FORM_VALUES(X)
#undef X
        VALUES_COUNT
} ValuesWhat;

/* CLEAR: of the registers of a product; ROWS: what a thread has of its rows in pass `to`.  */
enum { CLEAR_ALL, CLEAR_OPERANDS, CLEAR_SUMS, CLEAR_ROWS };

/* SCALES.  */
enum { SCALES_FIRST, SCALES_NEXT, SCALES_TURN, SCALES_STAGE, SCALES_TAKE };

/* TENSOR: columns are taken, by a warp; they are known to all; sums are loaded; terms of a chain
 * are stored, its results move to the bases of their rows, if these moved; columns are given
 * back.  */
enum { TENSOR_TAKE, TENSOR_FIND, TENSOR_LOAD, TENSOR_STORE, TENSOR_MOVE, TENSOR_FREE };

/* COMPUTE of warpgroups whose first operand is in registers: the products of one slice.  */
enum { COMPUTE_STEP, COMPUTE_SLICE };

typedef enum {
    REDUCE_SLICES,            /* warps that had other k */
    REDUCE_SCAN,              /* elements of a step, each with those before it in its warp */
    REDUCE_LANES,             /* lanes of a result, in pass `from`; to: which (reduce.h) */
    REDUCE_WARPS,             /* what STORE_WARPS left joins what others hold */
    REDUCE_SCORES             /* scores of a turn, `name` + ahead, join their rows */
} ReduceWhat;

typedef enum {
    STORE_OUTPUTS,            /* the outputs of a vector of elements */
    STORE_SLICES,             /* sums of the slices of warps */
    STORE_STAGING,            /* a row of the warp's accumulators to its staging buffer */
    STORE_WARPS,              /* parts of results that several warps have; likewise */
    STORE_PARTIAL,            /* partial sums to the workspace */
    STORE_LEAVE               /* values of a slice after pass `from` to the workspace */
} StoreWhat;

/* ---- what threads share ---- */

/* Whose the elements are that a thread touches: its own, its warp's, those of all.  */
typedef enum { SHARE_THREAD, SHARE_WARP, SHARE_BLOCK } Share;

/* Of which step the data is: of any; what the next load brings, what it brought last; what the node
 * reads beside; the step of the loop; the one that fills, that uses of the ring have come to; the
 * one before that (none before the first).  */
typedef enum { OF_ANY, OF_NEXT, OF_LAST, OF_KEPT, OF_STEP, OF_PUT, OF_TAKEN, OF_BEFORE } DataOf;

/* Its slot is that of the ring's turn: of steps, the one that fills have come to where it writes,
 * and the one that uses have come to where it reads, or changes what they have come to.  */
typedef struct {
    const Room *room;
    DataOf data;
    Share share;
    bool writes;
    bool late;                /* happens when a later node has waited for it, not before */
} Use;

/* ---- attributes ---- */

enum { FORM_QUEUES = 3 };     /* groups of what is under way: DONE_COPIES..DONE_BULK */

#define FORM_CONDITIONS(X)    /*  text; uniform in a block, in a warp */                           \
    X(ALWAYS,  "",                     true,  true)                                                \
    X(STEPS,   "there are steps",      true,  true)                                                \
    X(LEFT,    "a step is left",       true,  true)       /* step + ahead < steps */               \
    X(MORE,    "a step is left",       true,  true)       /* as VALUES_MORE has found */           \
    X(LAST,    "the last body",        true,  true)                                                \
    X(FETCH,   "products follow",      true,  true)                                                \
    X(LATER,   "not the first turn",   true,  true)       /* of the innermost loop */              \
    X(HALF,    "half of the steps",    true,  true)       /* are behind */                         \
    X(FIRST,   "the first tile",       true,  true)       /* of a block */                         \
    X(CUT,     "columns are cut",      true,  true)       /* of the turn: some are none of rows */ \
    X(WHOLE,   "all steps are here",   true,  true)                                                \
    X(PARTIAL, "some steps are",       true,  true)                                                \
    X(AGAIN,   "not the first turn of a team", false, true)   /* of the role's teams */            \
    X(FOLLOWED, "a team's turn follows", false, true)                                              \
    X(UPPER,   "a warp of later k",    false, true)                                                \
    X(LOWER,   "a warp of the first k", false, true)                                               \
    X(LEADS,   "the block leads its pair", true, true)                                             \
    X(ONE,     "one thread",           false, false)      /* of warp `from` */
typedef enum {
#define X(id, text, block, warp) WHEN_##id,
    FORM_CONDITIONS(X)
#undef X
        WHEN_COUNT
} When;

/* Who arrives: every thread, one of each warp, one of the role.  */
typedef enum { BY_THREADS, BY_WARPS, BY_ONE } SyncBy;

/* NAMED: with teams each has a barrier, behind `id` by its number; OTHER: that of the next one.  */
typedef enum { TEAM_NONE, TEAM_OWN, TEAM_OTHER } SyncTeam;

typedef struct {
    SyncScope scope;
    SyncOp op;
    SyncTeam team;
    /* BARRIER: who fills slots waits for the empty one and arrives at the full one, at the slot
     * that fills have come to; who uses them does the other way, at that of uses.  All are empty
     * before the first round.  */
    int id;                   /* NAMED: the barrier; BARRIER: RING_FULL or RING_EMPTY ... */
    int ring;                 /* ... of this one, ... */
    int count;                /* groups that may be under way; NAMED: threads; INIT: arrivals */
    SyncBy by;
    DoneBy after;             /* BARRIER, COMMIT: when what the thread has begun so is done */
    int lag;                  /* ... so many slots before that (none: nothing) */
    int64_t bytes;            /* BARRIER, ARRIVE: that copies will bring */
    int blocks;               /* BARRIER, ARRIVE: of the cluster, at each; 0: this one */
    int pair;                 /* BARRIER: of so many blocks all arrive at that of the first, and it
                               * alone commits; 0: there is none */
} Sync;

typedef struct {
    const char *var;          /* a word for it */
    bool warp_k;              /* of COUNTED: up to the k of a warp */
    /* What its turns are, or that there are always as many.  */
    enum { TURNS_ANY, TURNS_STEPS, TURNS_BODIES, TURNS_ALL } of;
    int64_t count;            /* turns at most; < 0: not known here */
    int64_t by;               /* what the variable grows by */
    int less;                 /* STEPS: turns that there are fewer */
    bool in_turn;             /* STEPS: in each of them, teams have their turns; TILES: they have
                               * one each, in turn */
    int unroll;               /* 0: whole, 1: not */
} Loop;

typedef struct {
    const char *name;
    int first, warps;         /* of the block */
    int teams;                /* > 1: equal parts of these warps */
    int registers;            /* a thread's, set at its beginning; 0: as they are */
    bool fewer;               /* than the launch gives */
} Role;

typedef struct Node Node;
struct Node {
    NodeKind kind;
    int what;                 /* LoopWhat, ValuesWhat, ReduceWhat, StoreWhat, by the kind */
    const char *name;         /* SEQUENCE; IF of WHEN_LEFT, SCORES: a variable, NULL: before all */
    const char *note;         /* a comment before it; of SYNC: behind it, in its line */
    bool blank;               /* an empty line behind it */
    bool begins;              /* COMPUTE, and CLEAR before it: its first products begin the sums */
    When when;                /* IF, and leaves that stand under a test of their own */
    bool leaves;              /* IF: threads of the condition end here */
    int ahead;                /* WHEN_LEFT, REDUCE_SCORES: steps */
    int product;              /* of several: which one it is about */
    int of;                   /* operand, source, statement */
    int from, to;             /* COMPUTE: k of a body; to: exclusive; see the lists above */
    bool rest;                /* LOOP_OUTPUTS of a stream: those behind its whole vectors */
    int mover;                /* COPY: index in Device.mover, -1: plain loads and stores */
    SyncBy by;                /* threads that do it */
    DoneBy done;
    int ring;                 /* that of its product, or another one; DONE_BARRIER: whose
                               * full barrier, at the slot of the late use, gets ... */
    int64_t bytes;            /* ... so many */
    Loop loop;
    Role role;
    Sync sync;
    Use *use;
    int n_use, room_use;
    Node *child, *next, *outer;
};

typedef struct {
    Node *root;               /* a SEQUENCE */
    const Layout *layout;
    int warps;                /* of the block */
    int64_t least, steps;     /* k-steps of a tile, from..to; 0: no such loop */
    int bodies;               /* of a step */
    int passes;               /* along the columns; 0: no such loops */
    Node *wait;               /* for the kernel before; NULL: it does not begin before its end */
} Form;

/* -- form.c: building; what is added goes to the end of the node that is open -- */
typedef struct {
    Arena *arena;
    const Layout *layout;
    Node *open;
    int product;              /* that nodes are about from here on */
} FormBuilder;

Form *form_begin(FormBuilder *b, Arena *a, const Layout *layout);
Node *form_add(FormBuilder *b, NodeKind kind, int what);
Node *form_open(FormBuilder *b, NodeKind kind, int what);
void form_close(FormBuilder *b);
/* A sequence with its name.  */
Node *form_sequence(FormBuilder *b, const char *name);
Node *form_if(FormBuilder *b, When when, int ahead);      /* opens it */
Node *form_block_sync(FormBuilder *b);
Node *form_sync(FormBuilder *b, SyncScope scope, SyncOp op, int count);
/* The kernel waits for the one before it: here; before all else, if it has waited nowhere.  The one
 * behind it may begin as soon as all blocks have come here and wait for no other.  */
void form_wait(FormBuilder *b, Form *f);
void form_wait_first(Arena *a, Form *f);
void form_next(Arena *a, Form *f);
/* Uses by all threads of a room of the layout.  */
Use *form_reads(FormBuilder *b, Node *n, RoomKind kind, int of);
Use *form_writes(FormBuilder *b, Node *n, RoomKind kind, int of);

const char *form_kind_name(NodeKind kind);
/* Is the condition the same for all threads of a block, of a warp?  */
bool form_uniform(When when, bool block);
const char *form_when_text(When when);

/* kernel_check.c: what is wrong with the kernel, NULL: nothing.  Its form is run: every loop by one
 * turn and by so many that its rings have gone round, every condition both ways, by two threads of
 * two warps of each role, which know of each other what syncs told them.  Refused are
 * - reads of shared memory that no sync has ordered behind what wrote it, or of other steps' data,
 * - writes to what may still be read or written,
 * - reads by units that see what threads have written only behind a fence, without one,
 * - syncs of threads that do not all come there, or that wait for ever,
 * - barriers in shared memory that get more or fewer arrivals or bytes than they wait for,
 * - copies that nothing has waited for when the kernel ends,
 * - what may touch memory of the device, or lets the next kernel begin, before the wait for the
 *   kernel before.  */
const char *kernel_check(Arena *a, const Form *f);
#endif
