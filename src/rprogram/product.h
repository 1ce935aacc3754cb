/* Product: what a kernel's blocks agree on about a product of two operands: where chunks of each
 * come from and where they lie, how its unit takes them, steps, and where results go.
 *
 * Made once for a program that is kept (rprog_layout); a pure function of problem, program and
 * device.  */
#ifndef ROLLER_RPROGRAM_PRODUCT_H
#define ROLLER_RPROGRAM_PRODUCT_H
#include "rprogram/derived.h"
#include "rprogram/layout.h"

/* A read of an operand's expression that is made for a whole chunk.  */
typedef struct {
    const TeExpr *read;
    TeDtype storage;
    int width;                /* elements; 1: one for all points of the chunk */
} ChunkRead;

typedef struct {
    int side;
    int number;               /* among the operands of all products: of its rooms */
    bool made;                /* results of the product before: no room, no load */
    int ring;                 /* of its room's slots; -1: a region, or made */
    bool stays;               /* loaded once, before all turns */
    AxisClass moves;          /* along which its tile goes from turn to turn */
    char id;                  /* a or b */
    const Operand *o;
    const ROperand *f;
    const RLoad *l;
    AxisClass own;            /* AX_M or AX_N */
    int extent, thread, vec, lanes;       /* along its own axis: block and thread tile, ... */
    int64_t whole;            /* extent of its own axis */
    bool ragged;              /* ... is no multiple of the block's */
    TeDtype tile;             /* elements in shared memory */
    int elem;                 /* their bytes */
    bool inner_k;
    FragOrder places;         /* of the tile's rows: where each lies, if not in order, ... */
    FragOrder order;          /* which row is at each place of its tile, if not in order */
    int beside, every;        /* ... of boxes: `beside` rows of `every` next to each other, and the
                               * others behind all of these; 0: they are in order */
    const Room *room;         /* of its tile, or its region */
    int row;                  /* elements from row to row of its tile, with padding */
    bool copies;              /* loads elements of one tensor as they lie in memory */
    bool gathers;             /* (ROperand.gathered) copies chunks of it from where they are */
    bool direct;              /* evaluated into shared memory, without registers on the way */
    int n_read;               /* else, if not 0: what the expression reads is kept in registers */
    ChunkRead read[RTILE_CHUNK_READS];
    FusedAxis own_axis, k_axis;           /* with the digits that this operand tells apart */
    bool wide;                /* its offsets need 64 bits */
    int line;                 /* chunks side by side along the direction of the accesses */
    int chunks, per_thread, loaders;      /* loaders: threads that copy them */
    int period;               /* chunk i lies at that of i % period + i / period * (step_mn, ... */
    int step_mn, step_k;      /* ... step_k) */
    bool pointer;             /* all chunks lie at constant distances from one pointer */
    KMode k_mode;
    bool spread;              /* copies are issued between the products, by predicate */
    bool table;               /* positions are decoded once, into tables in shared memory */
    int k_entries;            /* chunks along k: of the two tables of loads in turn */
    int row_entries;          /* chunks along its own axis; 0: kept in registers */
    int guard_bit[TE_MAX_RANK];           /* first bit of a guarded subscript in table entries */
    int fragment_k;           /* k per fragment access */
    bool ahead;               /* fragments are fetched one k early */
    RRegion region;           /* l->region: all that the block reads, ... */
    int region_zeros;         /* elements behind it */
    bool region_straight;     /* rows of a warp lie at constant distances; else ... */
    int region_rows;          /* ... so many, which a read of a matrix unit is made of, of ... */
    int region_group;         /* ... so many reads, */
    int region_places;        /* places of rows that a lane keeps */
    int64_t region_traversed; /* by boxes: rows of an image that a copy goes through */
    bool ldmatrix;
    int registers;            /* of an instruction's operand, per lane, ... */
    Fragment fragment;        /* ... and where its elements lie, columns along k */
    RBox box;                 /* of a ring: what a tensor map describes, ... */
    int boxes, box_bytes;     /* ... copied by so many boxes to a stage, ... */
    int parts;                /* ... or by as many blocks of a cluster, each a part for all, ... */
    bool lines;               /* ... lines of all boxes, not some of the boxes, ... */
    bool apart;               /* ... or for itself, where the unit reads those of a pair */
    int leading;              /* byte offset of its order in descriptors, ... */
    int down, on;             /* ... to the next instruction tile along its axis, and along k */
    RRaw raw;                 /* l->raw: of what registers are made, read box by box: rows of ... */
    int span;                 /* ... so many bytes, ... */
    int atom;                 /* ... of which the swizzle moves so many together */
    RScales scales;           /* that the unit takes beside the elements, ... */
    RSumScales sum_scales;    /* ... or by which sums of a step are multiplied */
    bool bytes;               /* fetched as bytes, converted right before the products, ... */
    bool fours;               /* ... or beside such: four k of a row at once */
} Side;

/* What the blocks of a kernel for a matrix unit agree on.  */
typedef struct {
    bool used;
    const ComputeUnit *unit;
    int accumulators;         /* of an instruction, per lane, ... */
    Fragment results;         /* ... and where they lie, rows along M */
    FragOrder order;          /* of columns of a warp's tiles: which one is at each place, ... */
    FragOrder own;            /* ... and from each of a lane's columns to its place among them */
    int products;
    bool promotes;            /* sums of a step join the others behind it, ... */
    bool scales;              /* ... multiplied by the scales of its blocks, ... */
    bool stages_scales;       /* ... some of which come to slots beside the step's tiles */
    bool tensor;              /* results lie in Tensor Memory until the last product has ended */
    int columns, blocks;      /* of an instruction that one thread issues */
    int tiles[AX_CLASSES];    /* instructions of a warp; along k: slices of a step */
} Matrix;

typedef struct Contract {
    int number;               /* in Layout.product */
    int turns;                /* in Layout.ring: that of its stages; the first, if it has none */
    int sums;                 /* that by which sums come to the threads that go on with them: of
                               * accumulators in Tensor Memory; else of its stages */
    const Te *te;
    const Problem *p;
    const RProg *r;
    const TeStmt *root;
    Side *side, *end;         /* its operands, a and b, and what is behind the last one */
    bool packed;              /* dp4a */
    Matrix matrix;
    bool async, staged;       /* some load is */
    bool scaled;              /* some operand has scales of blocks */
    bool ring;                /* a unit of warpgroups: some warps fill the stages by boxes */
    bool stays;               /* blocks go on with other tiles */
    bool kept;                /* ... for all of which the steps are filled once (TURN_KEPT) */
    const Room *out_room;     /* where accumulators pass through on their way out; NULL: nowhere */
    int box_row, boxes;       /* by boxes: bytes of a row; boxes of a row of tiles */
    RBox out;
    int out_tensor;
    bool spread;              /* some load is: see Side.spread */
    bool tables;              /* some load has tables */
    bool any_ahead;
    int lanes[AX_CLASSES], warps[AX_CLASSES];
    int64_t steps;            /* k-steps of the whole reduction */
    int64_t slice;            /* k-steps of a slice of the grid */
    bool varying_k;           /* both are known at run time; here at the largest sizes */
    bool sliced;              /* blocks have a part of a tile's k-steps, from `first` on */
    bool may_be_empty;        /* some slice has no step */
    bool k_ragged;
    bool masks_k;             /* elements beyond K must be left out of the reduction */
    int bodies;               /* unrolled bodies in a step */
    const Layout *layout;
} Contract;

/* Is an operand of a ring brought by boxes of a tensor map, not made or copied by threads?  */
static inline bool side_boxes(const Side *s) { return !s->made && !s->l->team; }
/* How many maps describe it.  */
static inline int side_maps(const Side *s) {
    return !side_boxes(s) ? 0 : s->l->modulo ? s->l->modulo : 1;
}
/* Are the sums of a matrix unit of the type that the statement sums in?  Scaled ones are.  */
static inline bool contract_sums_values(const Contract *c) {
    return c->matrix.scales || c->matrix.unit->acc == c->p->con.acc;
}
static inline const Ring *contract_turns(const Contract *c) { return &c->layout->ring[c->turns]; }
#endif
