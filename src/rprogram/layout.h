/* Layout: where the data of a program lies that its threads share, as numbers.
 *
 * A room is a part of shared memory, or registers of a thread that one node of a kernel fills and
 * another one reads.  A room has slots, which its turns use one after the other; of rings they are
 * the stages.  Rooms that follow each other in time take over each other's bytes (rprog_over).
 *
 * Each skeleton has one walk over its rooms, in the order in which they lie.  For candidates it
 * only counts (rprog_derive: RProg.smem); for those that are kept it is listed, and the kernel's
 * form, its check and its text read that list.  */
#ifndef ROLLER_RPROGRAM_LAYOUT_H
#define ROLLER_RPROGRAM_LAYOUT_H
#include "rprogram/rprog.h"

/* SHARED: the block's, from its first byte on; DECLARED: shared memory beside that, which the
 * compiler places; REGISTERS: of a thread, likewise.  */
#define LAYOUT_ROOMS(X)        /* name, space */                                                   \
    X(NONE,      "",          SHARED)                                                              \
    X(STAGE,     "stage",     SHARED)     /* tile of operand `of`, a slot for each stage */        \
    X(REGION,    "region",    SHARED)     /* what the block reads of it in all steps, and zeros */ \
    X(PLACES,    "places",    SHARED)     /* ... and the place of every k in it */                 \
    X(TABLE,     "table",     SHARED)     /* its positions along k, of two loads in turn */        \
    X(ROW_TABLE, "row table", SHARED)     /* ... and along its own axis */                         \
    X(COPIES,    "copies",    SHARED)     /* sums of slices of warps */                            \
    X(STAGING,   "staging",   SHARED)     /* accumulators on their way out */                      \
    X(PARTIALS,  "partials",  SHARED)     /* of statement `of`: of the block's warps or threads */ \
    X(POSITIONS, "positions", SHARED)     /* ... and where they were found */                      \
    X(WARPS,     "warps",     DECLARED)   /* both, of the warps of a row or a slice */             \
    X(OUTPUTS,   "outputs",   SHARED)     /* accumulators on their way out, behind the stages */   \
    X(VALUES,    "values",    SHARED)     /* of statement `of` for the block's rows */             \
    X(ROWS,      "rows",      SHARED)     /* of source `of`, which are kept */                     \
    X(BOX,       "box",       SHARED)     /* of source `of`, or its tile with the halo */          \
    X(STAGED,    "staged",    REGISTERS)  /* a load of operand `of` on its way to its stage */     \
    X(FRAGMENTS, "fragments", REGISTERS)  /* of operand `of` for the next products */
typedef enum { SPACE_SHARED, SPACE_DECLARED, SPACE_REGISTERS } RoomSpace;
typedef enum {
#define X(id, name, space) ROOM_##id,
    LAYOUT_ROOMS(X)
#undef X
        ROOM_COUNT
} RoomKind;

typedef struct {
    RoomKind kind;
    int of;
    int64_t at, bytes;        /* the first byte; of a slot, or of a share of it */
    int slots;
    int64_t apart;            /* bytes from one slot to the next */
    int shares;               /* of the warps that compute, each its own; 1: the block's */
    int64_t share;            /* bytes from one to the next */
    int64_t row;              /* bytes from row to row; 0: it has none */
} Room;

/* The stages of a `contract` program.  Barriers in shared memory, 8 bytes each: of the slots that
 * copies have filled, and of those that products have used up.  */
enum { RING_BARRIER = 8 };
typedef struct {
    int slots, ahead;         /* steps whose loads are under way while one is computed */
    int64_t bytes;            /* of a slot */
    int64_t full, empty;      /* the first byte of such barriers; -1: there are none */
    int fills, frees;         /* arrivals at each */
} Ring;

typedef struct {
    Room *room;
    int n_room;
    Ring ring;
    int64_t shared, declared; /* bytes */
} Layout;

const char *rprog_room_name(RoomKind kind);
RoomSpace rprog_room_space(RoomKind kind);
const Layout *rprog_layout(Arena *a, const Problem *p, const Device *dev, const RProg *r);
/* Rooms of SPACE_SHARED and SPACE_DECLARED in all, which is what a block has to have: the same
 * walk, which only counts.  */
int64_t rprog_block_smem(const Problem *p, const Device *dev, const RProg *r);
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
