/* Layout: where the data of a program lies that its threads share, as numbers.
 *
 * A room is a part of shared memory, or registers of a thread that one node of a kernel fills and
 * another one reads.  Where a room has several slots, turns of its ring use them one after the
 * other.  Rooms that follow each other in time take over each other's bytes (rprog_over).
 *
 * Each skeleton has one walk over its rooms, in the order in which they lie.  For candidates it
 * only counts (rprog_derive: RProg.smem); for those that are kept it is listed, and the kernel's
 * form, its check and its text read that list.  */
#ifndef ROLLER_RPROGRAM_LAYOUT_H
#define ROLLER_RPROGRAM_LAYOUT_H
#include "rprogram/rprog.h"

/* SHARED: the block's, from its first byte on; REGISTERS: of a thread, which the compiler places;
 * TENSOR: Tensor Memory of the block.  */
#define LAYOUT_ROOMS(X)        /* name, space, what `of` numbers */                                \
    X(NONE,      "",          SHARED,    NOTHING)                                                  \
    X(STAGE,     "stage",     SHARED,    OPERAND)     /* its tile, a slot for each stage */        \
    X(REGION,    "region",    SHARED,    OPERAND)     /* all that the block reads, and zeros */    \
    X(PLACES,    "places",    SHARED,    OPERAND)     /* ... and the place of every k in it */     \
    X(TABLE,     "table",     SHARED,    OPERAND)     /* positions along k, of two loads */        \
    X(ROW_TABLE, "row table", SHARED,    OPERAND)     /* ... and along its own axis */             \
    X(COPIES,    "copies",    SHARED,    NOTHING)     /* sums of slices of warps */                \
    X(SCALES,    "scales",    SHARED,    OPERAND)     /* of blocks, a slot for each stage */       \
    X(STAGING,   "staging",   SHARED,    NOTHING)     /* accumulators on their way out */          \
    X(PARTIALS,  "partials",  SHARED,    STATEMENT)   /* of the warps or threads of a block */     \
    X(BESIDE,    "beside",    SHARED,    STATEMENT)   /* ... and what is beside their values */    \
    X(OUTPUTS,   "outputs",   SHARED,    NOTHING)     /* as staging, behind the stages */          \
    X(VALUES,    "values",    SHARED,    STATEMENT)   /* of the block's rows */                    \
    X(ROWS,      "rows",      SHARED,    SOURCE)      /* that are kept */                          \
    X(BOX,       "box",       SHARED,    SOURCE)      /* or its tile with the halo */              \
    X(TENSOR,    "tensor",    SHARED,    NOTHING)     /* where its Tensor Memory begins */         \
    X(STAGED,    "staged",    REGISTERS, OPERAND)     /* a load on its way to its stage */         \
    X(FRAGMENTS, "fragments", REGISTERS, OPERAND)     /* for the next products */                  \
    X(SUMS,      "sums",      REGISTERS, NOTHING)     /* of product `of`, which are under way */   \
    X(ACCUMULATORS, "accumulators", TENSOR, NOTHING)  /* of a tile, of product `of` */             \
    X(TERMS,     "terms",     TENSOR,    NOTHING)     /* that a chain's second product has as a */
typedef enum { SPACE_SHARED, SPACE_REGISTERS, SPACE_TENSOR } RoomSpace;
typedef enum { OF_NOTHING, OF_OPERAND, OF_STATEMENT, OF_SOURCE } RoomOf;
typedef enum {
#define X(id, name, space, of) ROOM_##id,
    LAYOUT_ROOMS(X)
#undef X
        ROOM_COUNT
} RoomKind;

/* How what is begun comes to be done: at once, or when a later wait says so: for the thread's
 * groups of copies, of products, of bulk stores, or at a barrier in shared memory.  */
typedef enum { DONE_AT_ONCE, DONE_COPIES, DONE_PRODUCTS, DONE_BULK, DONE_BARRIER } DoneBy;

typedef struct {
    RoomKind kind;
    int of;
    int64_t at, bytes;        /* the first byte, of Tensor Memory the first column; of a slot, or of
                               * a share of it */
    int slots;
    int64_t apart;            /* bytes from one slot to the next */
    int shares;               /* of the warps that compute, of Tensor Memory of teams, each its own;
                               * 1: the block's */
    int64_t share;            /* bytes, or columns, from one to the next */
    int64_t row;              /* bytes from row to row; 0: it has none */
    int ring;                 /* by which its slots go round; -1: none, there is one slot */
    DoneBy filled;            /* of what is loaded: how */
} Room;

/* What the turns of a ring are: k-steps, which are filled before they are used; those of a tile, a
 * slot each, which are filled once for all tiles; none, since it is filled once, for all that the
 * block computes; loads of the steps of ring `of`; of the loop that
 * the use stands in; the bodies of a step; tiles of the block, which are filled before they are
 * used.  */
typedef enum {
    TURN_STEPS,
    TURN_KEPT,
    TURN_ONCE,
    TURN_LOADS,
    TURN_LOOP,
    TURN_BODIES,
    TURN_TILES
} RingTurn;

/* Slots that several rooms use together, one after the other.  Barriers in shared memory, 8 bytes
 * each: of slots that copies have filled, and of those that products have used up.  */
enum { RING_BARRIER = 8 };
enum { RING_FULL, RING_EMPTY, RING_BARRIERS };
typedef struct {
    int first, warps;         /* of the block */
} RingWarps;
typedef struct {
    RingTurn turn;
    int of;
    int slots, ahead;         /* turns whose fills are under way while one is used */
    int shares;               /* of teams of warps, each its own slots; 1: the block's */
    int64_t bytes;            /* of a slot */
    int64_t at[RING_BARRIERS];            /* the first byte of such barriers; -1: there are none */
    int arrivals[RING_BARRIERS];          /* at each */
    RingWarps fill, use;      /* who does, where these are not all */
    RingWarps scales;         /* who brings scales of blocks to a slot, if anybody does */
} Ring;
/* Do who fills and who uses each count their own turns?  */
static inline bool ring_counts(const Ring *x) {
    return x->turn == TURN_STEPS || x->turn == TURN_KEPT || x->turn == TURN_TILES;
}
/* Is a slot filled again, when it has been used?  */
static inline bool ring_refills(const Ring *x) {
    return x->turn == TURN_STEPS || x->turn == TURN_TILES;
}
/* Is a slot the same in all steps of a tile?  */
static inline bool ring_stays(const Ring *x) {
    return x->turn == TURN_ONCE || x->turn == TURN_TILES;
}

typedef struct {
    Room *room;
    Ring *ring;               /* the stages of a `contract` program are the first */
    int n_room, n_ring;
    int64_t shared;           /* bytes */
    const struct Contract *product;       /* n_product of them (product.h) */
    int n_product;
} Layout;

const char *rprog_room_name(RoomKind kind);
RoomSpace rprog_room_space(RoomKind kind);
RoomOf rprog_room_of(RoomKind kind);
const Layout *rprog_layout(Arena *a, const Problem *p, const Device *dev, const RProg *r);
/* A room of that kind; NULL: there is none.  */
const Room *rprog_room(const Layout *l, RoomKind kind, int of);
/* Where it begins, 0 where there is none.  */
int64_t rprog_room_at(const Layout *l, RoomKind kind, int of);
/* The byte behind its last one.  */
static inline int64_t rprog_room_end(const Room *x) {
    return x->at + (x->slots - 1) * x->apart + (x->shares - 1) * x->share + x->bytes;
}
/* Do two rooms of shared memory have bytes in common, so that each ends what is in the other?  */
bool rprog_over(const Room *a, const Room *b);
#endif
