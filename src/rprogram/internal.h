/* Shared by the files of rprogram; nothing outside includes it.  */
#ifndef ROLLER_RPROGRAM_INTERNAL_H
#define ROLLER_RPROGRAM_INTERNAL_H
#include "rprogram/derived.h"
#include "rprogram/layout.h"
#include "rprogram/skeletons.h"
#include "rprogram/plan.h"
#include "te/tree/arith.h"

enum {
    UNROLL_MAX = 1024,        /* multiply-adds in an unrolled body */
    STAGES_MAX = 8,
    GRID_Y_MAX = 65535
};

/* Threads of the largest block that the device has; are so many whole warps of one block?  */
static inline int rprog_most_threads(const Device *dev) {
    return (int)dev->limits.threads_per_block.value;
}
static inline bool rprog_whole_warps(const Device *dev, int64_t threads) {
    return threads >= WARP && threads % WARP == 0 && threads <= rprog_most_threads(dev);
}
extern const char *const rprog_no_whole_warps;
/* Does no extent of the contraction depend on run-time sizes?  */
bool rprog_static(const Problem *p);
bool rprog_static_axis(const Problem *p, int axis);

/* What a product says of its operands (product.h), one by one.  */
/* Are the copies of a later step issued between the products, not before them all?  */
bool rprog_spread(const Device *dev, const RProg *r, int side);
/* Are elements evaluated right into shared memory, being too many to wait in registers?  */
bool rprog_evaluates_direct(const Problem *p, const RProg *r, int side);
/* Threads that copy an operand's chunks; how these are dealt out.  */
int rprog_loaders(const RProg *r, int side);
RChunks rprog_chunks(const RProg *r, int side);
void rprog_address(const Problem *p, const RProg *r, int side, RAddress *out);
RTable rprog_table(const RProg *r, int side);
/* Do the rows of a warp lie at constant distances in the region: none goes beyond the innermost
 * digit?  Of matrix units: rows that a read is made of, how many reads of neighbours do so, and the
 * places of rows that a lane keeps for all.  */
bool rprog_region_straight(const RProg *r, int side, const RRegion *x);
int rprog_region_rows(const Problem *p, const Device *dev, const RProg *r, int side);
int rprog_region_group(const RProg *r, int side, const RRegion *x, int rows);
int rprog_region_places(const RProg *r, int side, const RRegion *x, int rows);
/* Bytes of a box's row of a raw operand.  */
int rprog_raw_span(const RProg *r, int side);

/* The operand as columns of pixels; false: it is none.  */
bool rprog_pixels(const Problem *p, int side, RBox *out);
static inline int own_axis(int side) { return side ? AX_N : AX_M; }
static inline bool power_of_two(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }
static inline int lowest_bit(int v) { return v & -v; }

/* Lanes and warps of a program along an axis; 0 if the tiles do not divide.  */
static inline int count_along(const RTile *outer, const RTile *inner, int axis) {
    int o = outer->extent[axis], i = inner->extent[axis];
    return i > 0 && o % i == 0 ? o / i : 0;
}

/* The lines of a kernel section of the text form, each with what stands behind it.  */
#define RPROG_KEYS(X)                                                                              \
    X(SKELETON, "skeleton") /* NAME: the way to arrange the kernel; the first line */              \
    X(UNIT, "unit") /* NAME [swapped|scaled|NAME]: what multiplies; swapped: its rows are our      \
                     * columns; scaled: scales of blocks multiply its sums of a step */            \
    X(BLOCK, "block") /* B M N K [E]: the tile of a block; E: columns of a chain */                \
    X(WARP, "warp") /* B M N K [E]: that of a warp, or of a warpgroup */                           \
    X(THREAD, "thread") /* B M N K [E]: that of a thread, or of a matrix instruction */            \
    X(VEC, "vec") /* M N: neighbouring rows and columns of a thread */                             \
    X(UNROLL, "unroll") /* N: elements of a step of k that are straight code */                    \
    X(STAGES, "stages") /* N: k-steps that shared memory holds */                                  \
    X(LOAD_A, "a") /* KIND MOVER vec N ...: how the first operand is loaded and laid out */        \
    X(LOAD_B, "b") /* KIND MOVER vec N ...: the second operand */                                  \
    X(LOAD_V, "v") /* KIND MOVER vec N ...: that of a chain's second product */                    \
    X(BOX, "box") /* N ...: points of a block along each axis of the outputs */                    \
    X(THREADS, "threads") /* N: threads of a block */                                              \
    X(READ_A, "read") /* N [swizzle B S M]: elements of a read, layout of the box */       \
    X(READ_B, "read2") /* N [swizzle B S M]: the same of a second source */                \
    X(STORE, "store") /* N [shared|boxes]: elements of a store, and its way */                     \
    X(RASTER, "raster") /* row|column|grouped N [cluster N] [GRID]: order of tiles */              \
    X(SPLIT, "split") /* N [tail N blocks N] [lanes N]: slices of k; tiles dealt by steps */       \
    X(STATS, "rows") /* none|whole|partial [lanes N]: what a block has of rows */                  \
    X(KEEP, "keep") /* registers|shared|...: where a row is between passes */                      \
    X(BLOCKS, "blocks_per_sm") /* N: residency that the compiler is promised */
typedef enum {
#define X(id, key) KEY_##id,
    RPROG_KEYS(X)
#undef X
        KEY_COUNT
} PlanKey;
/* Axes that the tiles of a program have extents along.  */
static inline int rprog_axes(const RProg *r) {
    return r->skeleton == SK_CHAIN ? AX_E + 1 : AX_CLASSES;
}
/* Is the line part of a section of this program?  Loads only of operands that are there.  */
bool rprog_has_key(const Problem *p, Skeleton skeleton, PlanKey key);
extern const char *const rprog_key_name[KEY_COUNT];
extern const char *const rprog_load_name[LOAD_COUNT];
extern const char *const rprog_raster_name[3];
extern const char *const rprog_via_name[3];
/* May the problem have a program of this skeleton at all?  NULL: yes.  What else is asked of a
 * program supposes so.  */
const char *rprog_check_skeleton(const Problem *p, const RProg *r);
/* What programs of all skeletons but `contract` have in the fields that they do not use.  */
RProg rprog_base(Skeleton skeleton);

/* Could fragments of an operand be fetched ahead, if there are registers for them?  */
bool rprog_may_be_ahead(const Device *dev, const RProg *r, int side);
/* Units that can compute the problem: exact types first, packed ones where the operands lie so,
 * else whatever ALU row is nearest.  Returns how many.  */
int rprog_units(const Problem *p, const Device *dev, int16_t *out, int cap);
const char *rprog_raster_check(const RProg *r);
const char *rprog_meeting_check(const Problem *p, const RProg *r);
/* The mover of the device for `bytes` per lane from global memory; -1 if there is none.  */
int16_t rprog_mover(const Device *dev, LoadKind kind, int bytes);
/* Samples of stores and reads of fragments that were counted before: what they depend on, and the
 * outcome.  */
enum { STORE_SAMPLES = 1024, READ_SAMPLES = 512 };
typedef struct {
    struct {
        int32_t row, line;
        int16_t pad;
        uint8_t bits, shift, base, elem, vec, straight;
        int16_t chunks, used; /* no gap: compared as bytes */
    } key;
    int16_t wavefronts, least;
} StoreSample;
typedef struct {
    uint64_t key;
    int wavefronts;           /* 0: free */
} ReadSample;
typedef struct {
    StoreSample store[STORE_SAMPLES];
    ReadSample read[READ_SAMPLES];
} Samples;
/* The layout of a load's tile with the fewest wavefronts for the program's reads and writes, the
 * least padding among those.  False if none meets the alignment of the accesses.  */
bool rprog_choose_layout(const Problem *p, const Device *dev, RProg *r, int side,
                         Samples *memo);
/* rprog_fragment_wavefronts; wavefronts of the first requests that store a stage, and how few they
 * could be.  */
int rprog_read_sample(const Problem *p, const Device *dev, const RProg *r, int side,
                      Samples *memo);
int rprog_store_sample(const Problem *p, const Device *dev, const RProg *r, int side,
                       Samples *memo, int *least);
/* Do the accesses of fragments and chunks stay aligned under the load's layout?  */
bool rprog_layout_aligned(const Problem *p, const Device *dev, const RProg *r, int side);
/* A walk over the rooms of a program: what it has come to, and the list that it makes.  */
typedef struct {
    const Problem *p;
    const Device *dev;
    const RProg *r;
    int64_t end;              /* the byte behind all rooms so far */
    int boxes;                /* VIA_BOXES: slots of a warp's boxes */
    int regions;              /* slots of a region that boxes bring */
    Layout *out;              /* NULL: bytes are counted alone */
    Arena *arena;
    size_t rooms, rings;      /* that the list has space for */
} RoomWalk;
void layout_add(RoomWalk *w, Room x);
/* A ring whose slots have so many bytes; its number, -1 where nothing is listed.  */
int layout_ring(RoomWalk *w, RingTurn turn, int slots, int64_t bytes);
/* Barriers of a ring whose slots the warps behind `users` fill: at those of empty slots so many of
 * the users arrive; 0: slots are filled once.  */
void layout_barriers(RoomWalk *w, int ring, int slots, int users, int arrivals);
static inline Room layout_one(RoomKind kind, int of, int64_t at, int64_t bytes) {
    return (Room){.kind = kind, .of = of, .at = at, .bytes = bytes, .slots = 1, .shares = 1,
                  .ring = -1};
}
/* Of SPACE_SHARED.  */
static inline void layout_room(RoomWalk *w, Room x) {
    int64_t end = rprog_room_end(&x);
    if (end > w->end) w->end = end;
    if (w->out) layout_add(w, x);
}
/* A room of which teams that have tiles in turn have one each; bytes of all.  */
int64_t layout_of_teams(RoomWalk *w, Room x);
/* Arrays of n partial results of each reduction of the group, one behind the other from a byte
 * on.  */
void layout_partials(RoomWalk *w, int64_t at, const RowGroup *g, int64_t n);
/* Those of statements over rows, behind or over what has been met.  */
void rprog_stats_rooms(RoomWalk *w);
/* Sizes of a `contract` program that follow from its block, not from its stages, its tables and its
 * way to store.  The fields that change with these, and bytes of shared memory, given such sizes
 * (NULL: any program).  */
typedef struct {
    struct {
        int64_t tile, scales; /* a stage, ... of its blocks */
        int64_t sum_scales;   /* ... or those that are staged beside it */
        int64_t region, places;           /* a region with its places; where these begin */
    } of[CONTRACTION_OPERANDS];
    int64_t box;              /* where a warp that computes stores by boxes: bytes of one, ... */
    int boxes;                /* ... and how many a tile of it has */
    int64_t staging;          /* VIA_SHARED with stores of `vec`: bytes of a warp's buffer */
    int vec;                  /* 0: not known */
    int warps;                /* that compute */
    bool ring;                /* stages have barriers */
} BlockBytes;
BlockBytes rprog_block_bytes(const Problem *p, const Device *dev, const RProg *r);
/* An operand's region: bytes with its zeros and its table, and where that begins; 0: it has none.
 * Bytes of a box of a warp, of its staging buffer (a multiple of 16).  */
int64_t rprog_region_bytes(const Problem *p, const Device *dev, const RProg *r, int side,
                           int64_t *places);
int64_t rprog_box_bytes(const Problem *p, const Device *dev, const RProg *r);
int64_t rprog_staging_bytes(const Problem *p, const Device *dev, const RProg *r);
/* Appends the digits of an axis that this access tells apart, innermost first.  */
bool rprog_box_dims(const Problem *p, const Access *x, AxisClass axis, RBox *out);
/* The same of rows of results, which may be several dimensions where those that stand last in the
 * axis are powers of two: what a warp stores is a box then.  */
bool rprog_box_rows(const Problem *p, const Access *x, RBox *out);
/* Do the strides of such a box, and where it begins, keep to 16 bytes?  */
bool rprog_box_aligned(const Problem *p, const Access *x, const RBox *box);
/* Fed to a matrix unit, would the places of an operand's copied chunks, tested in every step, fill
 * registers if no table had them?  */
bool rprog_keeps_places(const Problem *p, const Device *dev, const RProg *r, int side);
/* Gives the loads of a derived program the tables that cost no block of an SM, or without which
 * their places would fill registers.  `may`: which may have one (rprog_may_table).  */
void rprog_choose_tables(const Problem *p, const Device *dev, const BlockBytes *b,
                         const bool may[2], RProg *r);
/* Slices of a reduction of so many steps with which a grid of `blocks` fills the device once, or
 * two, four, eight times; returns how many there are.  */
enum { RPROG_FILLS = 4 };
int rprog_splits(const Device *dev, int64_t blocks, int64_t steps, int32_t split[RPROG_FILLS]);
extern const char *const rprog_keep_name[KEEP_COUNT];
/* Wavefronts of a box's parts by layout and width of the accesses (as a power of two): of filling
 * them and of reading them; below 0: not counted yet.  */
enum { BOX_LAYOUTS = 16, BOX_WIDTHS = 5 };
typedef struct {
    double fill[PERMUTE_SOURCES][BOX_WIDTHS][BOX_LAYOUTS];
    double read[PERMUTE_SOURCES][BOX_WIDTHS][BOX_LAYOUTS];
} BoxTried;
void rprog_permute_begin(BoxTried *tried);
/* The layout of source i's part with the fewest wavefronts, as far as a few requests show.
 * `tried`: of the same box.  */
void rprog_permute_layout(const Problem *p, RProg *r, int source, BoxTried *tried);
/* Statements over rows of a contraction's results: where a program's block holds them; the first
 * broken rule.  */
RowStats rprog_stats_of(const Problem *p, const RProg *r);
int64_t rprog_stats_workspace(const Problem *p, const RProg *r);
int64_t rprog_stats_registers(const Problem *p, const Device *dev, const RProg *r);
const char *rprog_stats_check(const Problem *p, const RProg *r);
extern const char *const rprog_stats_name[STATS_COUNT];
extern const char *const rprog_overlap_name[OVERLAP_COUNT];
#endif
