/* Skeletons as rows: what this module does for each of them.
 *
 * The files of a skeleton's name end with its row.  The table (skeletons.c) stands on top of them:
 * what is asked of a program of any skeleton is asked there, so nothing below includes a row but
 * what was handed one.  */
#ifndef ROLLER_RPROGRAM_SKELETON_H
#define ROLLER_RPROGRAM_SKELETON_H
#include "rprogram/index_map.h"
#include "rprogram/internal.h"

/* Collects the candidates of a skeleton in `set`, which may hold others.  */
typedef struct {
    const struct SkeletonRow *of;
    Arena *arena;
    const Problem *p;
    const Device *dev;
    const RPlanOptions *options;
    RProgSet *set;
    size_t cap;               /* of set->prog: at first as many as it holds */
    int most;                 /* programs of this skeleton; 0: any */
} Keeper;

/* Results that a kernel makes of partial ones in the workspace: parts of each; elements that a
 * thread has at once, of so many bytes; `lanes` are powers of `step`.  */
typedef struct {
    int64_t parts;
    int vec, bytes, step;
} RMeeting;

typedef struct SkeletonRow {
    uint32_t keys;            /* lines of its section of the text form, as bits of PlanKey, beside
                               * those that all have */
    bool products;            /* has k-steps of a product, and all that belongs to them */
    bool chains;              /* of problems with a next one, and of no others */
    bool box;                 /* `block` has an extent for each axis of a view */
    bool clips;               /* stores outputs one by one, so that some may be left out */
    bool slices_meet;         /* slices of `split` meet by `lanes` threads for each result */
    /* May a problem have a program of this skeleton at all?  What else is asked supposes so.  */
    bool (*takes)(const Problem *p);
    void (*candidates)(Keeper *k);
    /* The first rule of its own that a program breaks, NULL: none.  */
    const char *(*check)(const Problem *p, const Device *dev, const RProg *r);
    /* Threads of a block; sets tiles that follow from others.  */
    int64_t (*threads)(const Device *dev, RProg *r);
    void (*derive)(const Problem *p, const Device *dev, RProg *r);    /* what else follows; NULL */
    int64_t (*registers)(const Problem *p, const Device *dev, const RProg *r);
    /* Of units of warpgroups: registers of a thread that computes.  */
    int64_t (*computing)(const Problem *p, const Device *dev, const RProg *r);
    void (*rooms)(RoomWalk *w);                           /* NULL: none */
    /* What products of a list say of each other; NULL: nothing.  */
    void (*join)(const Problem *p, const Device *dev, const RProg *r, struct Contract *product);
    void (*map)(const Problem *p, const RProg *r, int64_t span, IndexMap *m);
    /* Of which reductions slices leave partial results (NULL: of none), and how many of each; where
     * these are not all that lies in the workspace, its bytes.  */
    const RowGroup *(*partials)(const Problem *p);
    int64_t (*left)(const Problem *p, const RProg *r);
    int64_t (*workspace)(const Problem *p, const RProg *r);
    /* Of the body, for each output; NULL: at each point of the reduction, once.  */
    int64_t (*evaluations)(const Problem *p, const RProg *r);
    RMeeting (*meeting)(const Problem *p, const RProg *r);
} SkeletonRow;

#define X(id, name) extern const SkeletonRow rprog_##name;
RPROG_SKELETONS(X)
#undef X
/* skeletons.c */
const SkeletonRow *rprog_skeleton(Skeleton skeleton);

static inline bool skeleton_takes(const SkeletonRow *s, const Problem *p) {
    return s->chains == (p->next != NULL) && s->takes(p);
}

/* ---- for a program of a row ---- */

/* product.c: the list of its products, one for each of the problems, to a program that is kept.  */
struct Contract *layout_products(Arena *a, const Problem *p, const Device *dev, const RProg *r,
                                 Layout *l);
/* Fills the derived fields; of these, what bytes of shared memory decide.  */
void skeleton_derive(const SkeletonRow *s, const Problem *p, const Device *dev, RProg *r);
void derive_smem(const RoomWalk *w, RProg *r);
/* Bytes of shared memory.  */
int64_t skeleton_shared(const SkeletonRow *s, const Problem *p, const Device *dev, const RProg *r);
int64_t skeleton_workspace(const SkeletonRow *s, const Problem *p, const RProg *r);
/* What it deals to blocks; blocks along x at the sizes at hand.  */
void skeleton_map(const SkeletonRow *s, const Problem *p, const RProg *r, int64_t span,
                  IndexMap *out);
int64_t skeleton_blocks(const SkeletonRow *s, const Problem *p, const RProg *r);
/* Are there slices of a reduction of so many steps for `split`, and has the device such a grid?  */
const char *skeleton_grid_check(const SkeletonRow *s, const Problem *p, const Device *dev,
                                const RProg *r, int64_t steps);
/* Blocks of an SM that are there at once, of a grid of so many along x.  */
int derive_resident(const Device *dev, const RProg *r, int64_t grid);
/* Derives a candidate and keeps it, or counts why not; the same with slices of a reduction of so
 * many steps, where the grid has fewer than `filled` blocks for each SM.  */
void rprog_keep(Keeper *k, RProg r);
void rprog_keep_slices(Keeper *k, RProg r, int64_t steps, int filled);
/* Views are of problems without rows.  */
static inline bool skeleton_takes_views(const Problem *p) { return !p->row; }

/* ---- building index maps (index_map.c) ---- */

extern const uint8_t index_all[TE_MAX_INDICES];           /* 0, 1, 2, ... */
/* An axis (a tile of 0 counts as 1); one whose boxes the grid counts.  Their numbers.  */
int index_add(IndexMap *m, IndexAxis axis);
int index_add_dealt(IndexMap *m, IndexAxis axis);
void index_deal_grid(IndexMap *m, IndexDigit d);
void index_deal_thread(IndexMap *m, IndexDigit d);

/* wide.c: rprog_wide where positions go so far beyond the ends of the root's indices; of programs
 * of products.  How far they do along an axis of a map.  */
bool rprog_wide_beyond(const Problem *p, const Access *x, int d, int64_t *beyond);
bool rprog_wide_product(const Problem *p, const RProg *r, const Access *x, int d);
void index_beyond(const IndexMap *m, int axis, int64_t *beyond);
#endif
