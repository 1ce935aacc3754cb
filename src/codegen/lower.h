/* Lowering: an RProg to kernels, each a tree of nodes (form.h).
 *
 * lower_plan decides which kernels a plan needs and makes their trees; contract_facts
 * derives from problem and program what all blocks of a `contract` kernel must agree on.  Nothing
 * here prints code.  */
#ifndef ROLLER_CODEGEN_LOWER_H
#define ROLLER_CODEGEN_LOWER_H
#include "codegen/cg.h"
#include "codegen/form.h"
#include "rprogram/derived.h"
#include "rprogram/layout.h"
#include "rprogram/skeletons.h"
#include "rprogram/index_map.h"

typedef enum {
    KERNEL_CONTRACT,
    KERNEL_SUMS,
    KERNEL_STREAM,
    KERNEL_COLUMN,
    KERNEL_COLUMN_SUMS,       /* adds the slices of a split column reduction */
    KERNEL_WINDOW,
    KERNEL_PERMUTE,
    KERNEL_STATS,             /* makes values of rows from what blocks leave of them */
    KERNEL_ROW,
    KERNEL_SCAN,
    KERNEL_SCAN_SUMS          /* reduces the slices of a split scan */
} KernelKind;

typedef struct Contract Contract;
typedef struct {
    KernelKind kind;
    int group;
    const Problem *p;
    const RProg *r;
    const Device *dev;
    const Layout *layout;     /* of the program; all its kernels have it, ... */
    IndexMap map;             /* ... and this */
    const Contract *contract; /* KERNEL_CONTRACT: its facts */
    int vec;                  /* elements of a store */
    int pass;                 /* over rows of a contraction's results, in parts */
    bool waits;               /* others of the program are launched before */
    KernelLaunch launch;      /* symbol is set by the printer */
    Form *form;
} Lowered;

/* Skeletons as rows: the kernels of a program (NULL: one) and the tree of each, in launch order;
 * does it wait for the kernel before it in a place of its own?  */
typedef struct {
    int (*kernels)(const Problem *p, const RProg *r);
    void (*kernel)(FormBuilder *b, Lowered *l, int number);
    bool (*waits_itself)(const Lowered *l, int number);   /* NULL: no */
} LowerRow;
#define X(id, name) extern const LowerRow lower_##name;
RPROG_SKELETONS(X)
#undef X

Lowered *lower_plan(Arena *a, const RPlan *plan, const Device *dev, int *n);
void lower_print(const Lowered *l, Buf *out);

/* -- contract: what its blocks agree on -- */

/* A read of an operand's expression that is made for a whole chunk.  */
typedef struct {
    const TeExpr *read;
    TeDtype storage;
    int width;                /* elements; 1: one for all points of the chunk */
} ChunkRead;

typedef struct {
    bool present;
    int side;
    char id;                  /* a or b */
    const Operand *o;
    const ROperand *f;
    const RLoad *l;
    AxisClass own;            /* AX_M or AX_N */
    int extent, thread, vec, lanes;       /* along its own axis: block and thread tile, ... */
    int64_t whole;            /* extent of its own axis */
    TeDtype tile;             /* elements in shared memory */
    int elem;                 /* their bytes */
    bool inner_k;
    const Room *room;         /* of its tile, or its region */
    int row;                  /* elements from row to row of its tile, with padding */
    bool copies;              /* loads elements of one tensor as they lie in memory */
    bool direct;              /* evaluated into shared memory, without registers on the way */
    int n_read;               /* else, if not 0: what the expression reads is kept in registers */
    ChunkRead read[RTILE_CHUNK_READS];
    FusedAxis own_axis, k_axis;           /* with the digits that this operand tells apart */
    bool wide;                /* its offsets need 64 bits */
    int line;                 /* chunks side by side along the direction of the accesses */
    int chunks, per_thread;
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
    int region_group;         /* ... so many blocks of eight of matrix units */
    bool ldmatrix;
    int registers;            /* of an instruction's operand, per lane, ... */
    Fragment fragment;        /* ... and where its elements lie, columns along k */
    RBox box;                 /* of a ring: what a tensor map describes, ... */
    int boxes, box_bytes;     /* ... copied by so many boxes to a stage, ... */
    int multicast;            /* ... or by as many blocks of a cluster, each its share */
    int leading, stride;      /* byte offsets of its order in descriptors, ... */
    int down, on;             /* ... to the next instruction tile along its axis, and along k */
    RRaw raw;                 /* l->raw: of what registers are made, read box by box: rows of ... */
    int span;                 /* ... so many bytes */
    bool bytes;               /* fetched as bytes, converted right before the products, ... */
    bool fours;               /* ... or beside such: four k of a row at once */
} Side;

/* What the blocks of a kernel for a matrix unit agree on.  */
typedef struct {
    bool used;
    const ComputeUnit *unit;
    int accumulators;         /* of an instruction, per lane, ... */
    Fragment results;         /* ... and where they lie, rows along M */
    int products;
    bool promotes;
    int tiles[AX_CLASSES];    /* instructions of a warp; along k: slices of a step */
} Matrix;

struct Contract {
    const Te *te;
    const Problem *p;
    const RProg *r;
    const TeStmt *root;
    Side side[2];
    bool packed;              /* dp4a */
    Matrix matrix;
    bool async, staged;       /* some load is */
    bool ring;                /* a unit of warpgroups: some warps fill the stages by boxes */
    bool stays;               /* blocks go on with other tiles */
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
    bool own_ragged[2], k_ragged;
    bool masks_k;             /* elements beyond K must be left out of the reduction */
    int bodies;               /* unrolled bodies in a step */
    const Layout *layout;
};

void contract_facts(const Lowered *l, Contract *out);

/* -- inside of lowering -- */

/* lower_parts.c: is there nothing to compute, so that the kernel that the grid needs does
 * nothing?  */
bool lower_empty(const Problem *p);
/* A statement, or all of a group and their stores, at the elements of the loop that is open.  */
void lower_statement(FormBuilder *b, int stmt);
void lower_statements(FormBuilder *b, const KernelGroup *g);
/* A loop over outputs and their statements.  */
void lower_outputs(FormBuilder *b, const Lowered *l);
/* The reductions of a pass over a group, those that follow another one or not.  */
typedef struct {
    const RowGroup *group;
    int pass;
    bool online;
} Reductions;
/* Reads or writes their rooms of a kind.  */
void lower_reads(FormBuilder *b, Node *n, RoomKind kind, Reductions of);
void lower_writes(FormBuilder *b, Node *n, RoomKind kind, Reductions of);
/* Their partial results meet, of the block's warps: they are stored, synced and read.  */
void lower_meet_warps(FormBuilder *b, RoomKind kind, Reductions of);
/* A grid of that many blocks along x; a static one has at least one.  */
void lower_blocks(Lowered *l, TeExtent blocks);
/* Blocks of `span` elements over the flattened domain, where the grid is too small larger spans;
 * the grid that the program says.  */
void lower_domain(Arena *a, Lowered *l, int threads, int64_t items);
void lower_grid(FormBuilder *b, Lowered *l, KernelKind kind);
/* lower_contract.c: the tree of a product; lower_results.c: what becomes of its sums.  */
void lower_steps(FormBuilder *b, Lowered *l);
void lower_results(FormBuilder *b, Lowered *l);
#endif
