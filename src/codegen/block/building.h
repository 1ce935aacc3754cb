/* What is known while a kernel is built: the building blocks hand it on.  */
#ifndef ROLLER_CODEGEN_BLOCK_BUILDING_H
#define ROLLER_CODEGEN_BLOCK_BUILDING_H
#include "codegen/expr/expr.h"
#include "codegen/form/lowered.h"

/* A loop over a thread's outputs whose part in their places is no number: there are pointers for
 * each of its turns.  */
typedef struct {
    Ir var;                   /* NULL: there is none */
    int64_t end, by;          /* of the variable, */
    int64_t count;            /* turns, */
    Ir turn;                  /* and the number of the one that runs */
    struct {
        Ir name, value;       /* or NULL */
    } define[2];              /* what each begins with */
    Ir part[2];               /* what it adds along M and N, or NULL */
    Ir rest;                  /* what other loops add along M; along N they add nothing */
    Ir from;                  /* what a turn puts into another array `from`, or NULL */
    Ir filled, at[2];         /* its element; (where M has a part) the positions of a turn */
} Turns;

/* What a statement reads: the root (0), or fused[of - 1].  */
typedef struct {
    CgGiven read;
    int of;
} GivenOf;

/* What elements lie along: an axis of the map, or all of it, flattened; from which position on.  */
enum { ALONG_ALL = -1 };
typedef struct {
    int axis;
    Ir at;
    bool wide;
} Line;

/* The elements that statements are evaluated at: `vec` neighbours, one after the other.  */
typedef struct {
    int vec;
    Line line;
    bool flat;                /* places in memory follow from the position (flat.c) */
    Ir index[TE_MAX_INDICES]; /* of the root statement, at the first of them */
    Ir lane_index[TE_MAX_INDICES];        /* at element v */
    Ir v;                     /* runs through the elements: elements_lane */
    bool wide[TE_MAX_INDICES];            /* (of both) */
    int order[TE_MAX_INDICES];            /* indices along which they lie, innermost first */
    int n_order;
    Ir root;                  /* value of the root's reduction at element v, NULL for a map */
    TeDtype root_type;
    Ir *made;                 /* per tensor: its value at element v; NULL before its statement */
    Ir *rows;                 /* per tensor: an array of its values of a thread's rows */
    Ir *pointer;              /* per tensor: where the thread's outputs begin, one or of turns */
    Ir *out;                  /* per tensor: the vector of its values on their way to memory */
    const Ir *inverse;        /* CgPoint.inverse, near */
    bool near;
    Ir divides, *inverses;    /* at a row of results: may reciprocals be used (NULL: there are
                               * none), and which */
    bool in_row;              /* ... the loops over its columns are not open yet */
    Ir *factor;               /* CgPoint.factor */
    GivenOf *vector;          /* reads that were done for all of them at once */
    int n_vector;
    size_t room_vector;
    int walk;                 /* elements at a time in a walk over rows; 0: outputs are stored */
    bool online;              /* the walk is that of online reductions */
    bool kept;                /* accumulators are StatFacts.kept now */
    int pass;                 /* along the columns of rows in turns */
    int known;                /* values of rows are known for passes below this */
    bool ends;                /* of rows: one by one, not the vectors between them */
    bool in_lanes;            /* the loop over v is open */
    Ir sums;                  /* place of an element of partial sums */
    Ir own[2], step[2];       /* positions along M and N: of the thread, and what its loops add
                               * (NULL: nothing); NULL: not of `contract` */
    Turns turns;
    int open;                 /* scopes to close at the end */
} Elements;

/* What becomes of a statement's values at a vector of elements.  */
typedef struct {
    bool stored, needed;      /* in memory, by later statements at the element */
    int width;                /* elements of an access */
    bool pairs;               /* the store rounds its elements */
} Output;

/* Where a thread of a kernel that reduces is, as names that the kernel has defined; each form's
 * header says which there are.  */
typedef struct {
    Ir results, length;       /* how many results, elements of one */
    Ir tid, lane;             /* the thread in its block, among those of its result */
    Ir at, read;              /* its (first) result, the one that it reads as */
    Ir row, col;              /* its group, its first result in the block */
    Ir first, end;            /* where the block's slice begins and ends, in elements or steps */
    Ir own, base, piece;      /* elements: the thread's first in a step, the step's, that at hand */
    Ir step, skip, head, body;            /* of rows (row.h) */
    Ir u, number;             /* the vector or row group at hand; the lane among those that meet */
    Ir divides;               /* can elements be divided by reciprocals? */
} Walk;

/* What a thread has of an operand.  Of the chunks that it loads a value is one of all, or an array.
 */
typedef struct {
    Ir mn, k, to;             /* position in the tile; its index in shared memory */
    Ir src;                   /* the operand's pointer, at the block's batch or at the chunk */
    const Ir *batch;          /* digits of the batch; NULL: there is none */
    Ir off, at[TE_MAX_RANK];  /* what the row adds to the offset, to guarded subscripts; ... */
    Ir k_off, k_at[TE_MAX_RANK];          /* ... and what the step's k do */
    Ir in;                    /* bits: which chunks are inside */
    Ir reg;                   /* registers of staged chunks */
    Ir rows;                  /* by tables: entries of rows that a thread keeps, ... */
    Ir row_entry, k_entry;    /* ... and those of the chunk at hand */
    Ir read[RTILE_CHUNK_READS];           /* of expressions: what they read, in registers */
    Ir scale, next_scale;     /* of blocks: registers of the step at hand, of the next one */
    Ir lane_row, lane_byte;   /* of a matrix unit: the lane's row, its byte in that; ... */
    Ir lane, low, slot;       /* ... of warpgroups: the lane's byte, descriptors: of the first */
                              /* slot, of that at hand (else what addresses begin with) */
    Ir tile, row;             /* constants: its tile in a stage, elements of a row of it; ... */
    Ir k_table, k_entries, row_table, row_entries;        /* ... of tables; ... */
    Ir region, line, table;   /* ... of a region, bytes of its lines, of the table of k; ... */
    Ir places;                /* ... and the part of that table that is of the step */
    Ir frag, rest;            /* in registers: buffers of it; what tf32 leaves of them */
    Ir raw, made;             /* (of warpgroups) registers that are made, and what of */
    Ir descriptor;            /* ... or that of the tile at hand */
} OperandAt;

enum { PRODUCT_LEVELS = 6 };  /* B, W, T, I, L, V: see place.c */

/* What there is of a product.  */
typedef struct {
    OperandAt operand[2]; /* (as Contract.side) */
    Ir acc;               /* accumulators: of rows and columns, or of instructions by rows and
                               * columns, and of the lane's slots in one */
    Ir sum, part;         /* of a matrix unit, which products are added to; of one step */
    Ir extent[AX_K + 1], size[PRODUCT_LEVELS][AX_K + 1];
    Ir n0;                    /* the first column of the block's tile */
    Ir k_next, n_next;        /* where the next load begins */
} ProductAt;

/* A ring: constants, how many slots it has, the bytes of one, where its barriers are; without roles
 * the bytes at which the slot begins that is filled and that is used next.  As a role goes round
 * it: the slot at hand, the parity of its round, and the barrier that says that the slot before is
 * free (NULL: none is freed behind).  */
typedef struct {
    Ir slots, bytes, barriers;
    Ir put, take;
    Ir slot, phase, last;
} RingAt;

/* Teams of a role that take turns: the own one's number, and whether a turn of another one came
 * before that at hand, comes behind.  */
typedef struct {
    int n, warps;             /* of each */
    Ir own, again, follows;
} Teams;

/* f32 of each row of a thread, of a chain (chain.c).  */
typedef struct {
    Ir top, base, zero, scale;
} ChainRows;

/* Variables that one block defines and others read, each in the scope where it is defined: of the
 * kernel or of a loop.  */
typedef struct {
    Ir smem, shared;          /* shared memory of the block; its address, for instructions */
    Ir tensor;                /* address of its columns of Tensor Memory */
    Ir threads;               /* of the block, a constant */
    Ir tid, lane, warp;       /* the thread in its block and in its warp, and that one's number */
    Ir b, m0;                 /* the tile: its batch, its first row, */
    Ir tile_m, tile_n;        /* its number among those of the grid along M, along N */
    Ir row, col, k_warp;      /* in the tile: where the thread's, or its warp's, part begins */
    Ir lane_m, lane_n;        /* what the lane adds to these */
    Ir grid, tiles, number;   /* of blocks that stay: how many, of how many tiles, that at hand, */
    Ir from, share;           /* the number of its first step; the share of a tail */
    Ir m, n;                  /* the place of outputs or rows at hand */
    Ir rows, parts;           /* over all batches; what blocks leave of them */
    Ir sums;                  /* partial sums in the workspace */
    Ir staged, taken, piece;  /* a buffer that outputs pass through: where the lane writes and */
    Ir value, id;             /* reads, the first; what a turn has read; the reader's number */
    Ir box, lane_at;          /* one of them that leaves as a box, the lane's place there */
    Ir part;                  /* the block's number in its cluster */
    Ir first, steps, step;    /* of a slice of k: its first step, how many, the one at hand */
    Ir body, next, k_now;     /* k: of the body, of the next one, of the step */
    Ir turn_first;            /* of a chain: its first turn; columns that the block visits, ... */
    Ir n_begin, n_end, n_from, n_to;      /* ... those that all of its rows have, ... */
    Ir row_from, row_to;      /* ... those that the row at hand has */
    Ir turn;                  /* which half of tables is that of the next load, or of a buffer */
    /* Names that are made at once, since what they say is asked before their loops: */
    Ir i, j, f, g;            /* accumulators: instructions, or rows and columns; in one of them: */
                              /* slots along rows and columns.  Of chunks: i = g + j */
    Ir c, h;                  /* boxes of an instruction's columns; slots of one's columns */
    Ir s, u;                  /* turns of a thread over a buffer; vectors in it */
    Ir x;                     /* rows of a thread, from instruction to instruction */
} Variables;

typedef struct {
    Cg *cg;
    const Lowered *l;
    const Task *task;         /* what it computes; of several products the one at hand, ... */
    const Contract *c;        /* ... what there is to know of it, NULL: there is none, */
    ProductAt *own;           /* ... and what it has, or the kernel; one of */
    ProductAt *product;       /* (of the layout) all products; NULL: there are none */
    RingAt *ring;             /* (of the layout) */
    Variables var;
    ChainRows rows;
    int group;                /* chunk i is g + j, of so many in a turn of a loop over g; 0: it is
                               * unrolled */
    Teams teams;
    Ir more;               /* is there a step to load? */
    Ir score, term, moved; /* of a chain: the scores of the turn, then its terms; where these are
                               * used in a later turn, and have bases of rows moved (else NULL) */
    Walk walk;
    struct RowAt *row;        /* KERNEL_ROW: what is of its sources */
    struct WindowAt *window;  /* KERNEL_WINDOW: what is defined for all of it */
    Ir box[INDEX_AXES];       /* views: where the block's box begins along each axis of the map, */
    Ir part[PERMUTE_SOURCES]; /* and a source's in shared memory */
    Elements at;
} Kernel;

static inline OperandAt *operand_at(const Kernel *k, const Side *s) {
    return &k->own->operand[s->side];
}
static inline const TeStmt *kernel_root(const Kernel *k) {
    return &k->cg->te->stmt[k->task->p->group->root];
}
/* Does it merge the slices of a chain?  */
static inline bool kernel_merges(const Kernel *k) {
    return k->l->kind == KERNEL_SUMS && k->l->p->group->chain;
}
static inline bool kernel_scans(const Kernel *k) {
    return k->l->kind == KERNEL_SCAN || k->l->kind == KERNEL_SCAN_SUMS;
}
#endif
