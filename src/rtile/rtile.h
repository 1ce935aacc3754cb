/* rTile: tiles aligned with tensor and device.
 *
 * A Problem is what planning needs to know of one kernel group: extents of the fused axes and how
 * each operand lies in memory, seen from those axes.  An RTile is one extent per axis at one memory
 * level.  This module knows alignment (which sizes come next), layouts and their bank conflicts,
 * footprint F, traffic Q and reuse score S; it knows nothing of threads or time.  Source: Roller
 * (OSDI'22), sections 3 and 4.  */
#ifndef ROLLER_RTILE_RTILE_H
#define ROLLER_RTILE_RTILE_H
#include "hal/device.h"
#include "rtile/views.h"
#include "te/tree/tree.h"

enum { RT_AXES = 8 };

/* Extent per axis; axes are AX_B, AX_M, AX_N, AX_K for `contract`, AX_M alone (the flattened
 * domain) for `stream`.  Unused axes have extent 1.  Copied by value.  */
typedef struct {
    int32_t extent[RT_AXES];
} RTile;

/* Storage of a tile in shared memory: rows of the inner axis.  16-byte chunk c of row r lies at
 * chunk c ^ (((r >> shift) & ((1 << bits) - 1)) << base); bits == 0: no swizzle.  pad: elements
 * after each row.  Padding and swizzle exclude each other.  */
typedef struct {
    uint8_t inner;            /* AX_K, or the operand's own AX_M / AX_N */
    int16_t pad;
    uint8_t bits, shift, base;
} RLayout;

/* How one operand lies in memory.  `mn` is the operand's own axis: M for a, N for b.  */
typedef struct {
    bool made;                /* of the results of the product before it: nothing is read */
    bool copyable;            /* elements have the same type in memory and in the tile */
    bool affine;              /* a single affine read (else the operand is an expression) */
    /* a single read whose subscripts are not affine, such as K[table[b, j / 16], j % 16, d], maybe
     * with `else 0`: chunks are copied from where their subscripts say */
    bool gathered;
    bool guarded;             /* some subscript needs a run-time test */
    TeDtype value;            /* a type that holds every value of the operand exactly */
    int bytes;                /* of an element in memory */
    int elem;                 /* of an element in shared memory */
    double chunk_bytes;       /* of an expression that is read by chunks, per point: what moves
                               * along it; 0: as bytes says */
    /* longest power-of-two run, at most 16 B, that is contiguous, aligned and guarded as one at
     * every multiple of it along mn / k; 1: none */
    int vec_mn, vec_k;
    int64_t run_mn, run_k;    /* contiguous along mn / k from a multiple of the run; 1: none */
    int64_t unique;           /* distinct elements of the tensor(s) read */
    double room;              /* elements of its tensor for each that is read; 0: not known */
    int64_t stride_mn, stride_k;          /* of the innermost digit, elements; 0: no movement */
    int digits_mn, digits_k;  /* to decode when an address is made: those it tells apart */
    double ops;               /* arithmetic to make one element; 0 for a bare read */
} ROperand;

enum { ROW_MAX_SOURCES = 32 };

/* How far apart a row group's elements lie in a tensor, in elements.  */
typedef struct {
    int64_t step;             /* from column to column, at the largest sizes; 0: by no one step */
    int64_t beside;           /* from row to row of the innermost index of rows, */
    int64_t side;             /* rows in a run of neighbours, or a divisor of their number */
} RowSteps;

typedef struct {
    int bytes;                /* of an element */
    RowSteps at;
} RowStore;

/* What the statements of a row group read at neighbouring elements along the columns.  */
typedef struct {
    int tensor;
    bool made;                /* by a map of the group in an earlier pass, and stored by it */
    bool by_row;              /* other elements for other rows */
    bool kept;                /* needed by several passes: stays on chip or is read again */
    int bytes;                /* of an element */
    int vec;                  /* widest access to neighbouring columns; 1: not adjacent */
    int peel_vec;             /* the same in vectors that begin with RowFacts.peel */
    RowSteps at;
    int varies;               /* the index whose run-time stride at.step is, -1: it is constant */
    uint64_t passes;          /* bit p: pass p reads it */
    uint64_t bare;            /* the same where values (RowValue) are kept */
    Access access;            /* over the frame's indices */
    double unique;            /* bytes of the whole */
} RowSource;

enum { ROW_MAX_VALUES = 4 };

/* Part of an expression that is dear to make, and that several passes need of the same elements:
 * rows that stay in registers may keep it from the first of them on.  */
typedef struct {
    const TeExpr *expr[ROW_MAX_STMTS];    /* what it is in statement i of the group, or NULL */
    int maker;                            /* the statement that evaluates it in any case ... */
    int pass;                             /* ... in this pass, */
    uint64_t later;                       /* bit p: pass p needs it again, */
    double ops;                           /* and is spared so many instructions for an element */
} RowValue;

typedef struct {
    const RowGroup *group;
    int64_t rows, columns;
    uint64_t eval[ROW_MAX_STMTS];         /* bit p: pass p evaluates statement i of the group */
    bool stays[ROW_MAX_STMTS];            /* later passes read map i back instead */
    int n_source;
    RowSource source[ROW_MAX_SOURCES];
    int n_value;
    RowValue value[ROW_MAX_VALUES];
    int vec;                  /* neighbours in the widest access; divides the columns */
    /* Vectors may begin, instead of at a row's first column, at the first one that is a multiple of
     * the vector in this access's tensor: neighbours in the widest access then; 1: none.  */
    Access peel;
    int peel_vec;
    double ops[ROW_MAX_STMTS];            /* of pass p for one element, instructions */
    int reduces[ROW_MAX_STMTS];           /* reductions of pass p */
    int followers;                        /* of them all */
    bool flat;                /* rows of all sources that differ by row follow each other in memory,
                               * the first one aligned to 16 bytes */
    int n_store;
    RowStore store[ROW_MAX_STMTS];        /* of maps */
    double element_bytes;     /* of them all */
} RowFacts;

/* What the statements behind a contraction do with rows of its results (KernelGroup.stats).  Pass p
 * folds what its reductions need (bit p of `folds`), and stores maps (bit p of `emits`).  */
typedef struct {
    const RowGroup *group;
    uint64_t folds[ROW_MAX_STMTS], emits[ROW_MAX_STMTS];  /* who evaluates statement i */
    bool stored[ROW_MAX_STMTS];
    double fold_ops[ROW_MAX_STMTS], emit_ops[ROW_MAX_STMTS];      /* of pass p for an element, */
    /* quotients by values of the row that reciprocals can make where pass p stores them, and what
     * divisions in their place take beyond emit_ops, */
    int quotients[ROW_MAX_STMTS];
    double divided_ops[ROW_MAX_STMTS];
    double functions[ROW_MAX_STMTS];      /* and functions and divisions */
    int reduces[ROW_MAX_STMTS];           /* reductions of pass p */
    int64_t emit_bytes[ROW_MAX_STMTS];    /* stored by pass p in all, of maps and of the root */
    bool any_stored;          /* some map, or the root */
    /* A map that is all that anybody needs of the results, so that it can take their place; -1:
     * none.  Bit i: it is made of map i.  Operations to make it.  */
    int kept;
    uint64_t under;
    double kept_ops;
} StatFacts;

/* An end of the columns that a row has terms in, over the root's indices of rows; where it is not
 * `known` before the kernel runs, or not by a block's first and last row, it counts as none.  */
typedef struct {
    bool known;
    int64_t c, coef[TE_MAX_INDICES];
} ChainEnd;

/* What a chain of products (KernelGroup.chain) does between the first and the second, for each
 * score, that is, result of the first.  */
typedef struct {
    const Chain *chain;
    double multiple;          /* scores are so many times the first product's results, which stand
                               * for them but in turns that a mask cuts; 0: they are made of them */
    double ops;               /* instructions before the row's leader is known: maps, its fold */
    double powers;            /* exponentials; what is made for each of them: its argument, ... */
    double power_ops;         /* ... folds of what follows, the rest of the operand */
    int values;               /* reductions, which a thread carries for each of its rows */
    /* What a slice of the columns leaves of a row: its reductions, behind which the second product
     * is one more, which follows as they do.  */
    const RowGroup *slices;
    int row_maps;             /* maps of the second product's results, up to the last one that reads
                               * a value of the row */
    bool sums_end;            /* the first of them alone needs these results themselves */
    ChainEnd from[CHAIN_MAX_BOUNDS], to[CHAIN_MAX_BOUNDS];        /* as in Chain.bounds */
} ChainFacts;
/* The left index of the second product that runs with a root's index, or with one of its own.  */
uint8_t rtile_chain_index(const KernelGroup *g, uint8_t runs);
/* The columns that some row of first..end - 1 of a batch has terms in, as far as is known: from
 * *from to before *to, none of them where these meet.  */
struct Problem;
void rtile_chain_columns(const struct Problem *p, int64_t first, int64_t end, int64_t *from,
                         int64_t *to);

typedef struct Problem {
    const Te *te;             /* normalized */
    const KernelGroup *group;
    /* The products of a kernel are a list: the next one's operand a is made of this one's results,
     * by what `chain` says; rows M are the same, its K runs with this one's N.  Its group has its
     * statement as the root, and the maps of its results.  NULL: this is the last product, or none;
     * NULL.  */
    const struct Problem *next;
    const ChainFacts *chain;
    int align;                /* promised of tensors that are given, bytes */
    const StatFacts *stats;   /* of a contraction with statements over its rows; else NULL */
    const StatFacts *stats_online;   /* the same with online reductions where there are any */
    const RowFacts *row;      /* of a row group: AX_M rows, AX_N columns; else NULL */
    const RowFacts *online;   /* of its form with online reductions; NULL if there is none */
    bool contraction;         /* else: a map or a general reduction, for `stream` */
    Contraction con;
    ColumnView column;
    WindowView window;
    PermuteView permute;
    ScanView scan;
    int64_t extent[AX_CLASSES];           /* fused axes; stream: AX_M domain, AX_K reduction */
    int64_t multiple[AX_CLASSES];         /* divides the extent at all run-time sizes */
    /* a, b: a multiply takes two, and a reduction of one tensor has one.  Of a map or a general
     * reduction: the widest read.  */
    ROperand op[CONTRACTION_OPERANDS];
    int n_operand;
    TeDtype type;             /* compute type of the root statement's value */
    TeDtype accum;            /* of a contraction: @accum as written, else TE_DTYPE_COUNT */
    bool tf32, fp32x3;        /* its annotations */
    int acc_bytes;
    int out_vec;              /* widest store along N, elements; 1: not contiguous there */
    int flat_vec;             /* of a map: where the end of the domain may be less than one */
    /* elements along N that lie at equal steps in the outputs, 1: none; and the step */
    int64_t out_run, out_step;
    bool out_across;          /* neighbouring rows of a contraction lie side by side in all */
    int64_t out_bytes;        /* written by all outputs of the group, bytes */
    int64_t read_bytes;       /* read by the root statement and other reductions, bytes, unique */
    int n_reads;              /* reads in the root's right side, and new ones of other reductions */
    int64_t epilogue_bytes;   /* read by the fused statements, bytes, unique */
    int64_t element_bytes;    /* of a map: read and stored for one element of the domain */
    /* of maps, bytes of sectors that are moved but not needed; the widest read's come on top */
    /* The only statement that is stored, at the points of the root: -1, the root, else a fused one;
     * NOT_ALONE: there is none, or several, or a value for each row.  */
    int stored_alone, n_stored;           /* how many are */
    double gap_reads, gap_writes;
    MapReads map;
    /* arithmetic per output element behind the reduction; functions and divisions of it */
    double epilogue_ops, epilogue_functions;
    double body_ops;          /* operations of the body beyond one multiply-add (0 for A * B) */
    double flops;             /* 2 per multiply-add; of all products */
} Problem;

enum { NOT_ALONE = -2 };
/* Facts about a group: extents, vectors, runs.  `align`: promised alignment of tensors, bytes.
 * With run-time sizes extents are the largest; vectors, runs and guards hold for all sizes.  */
Status rtile_problem(Arena *a, Diag *d, const Te *te, const KernelGroup *g, int align,
                     Problem *out);

/* Does the larger operand of a contraction have more than one row (column) of the other to meet?
 * Else, as in a reduction of one operand or a depthwise convolution, tiles in shared memory reuse
 * nothing.  */
bool rtile_reuses(const Problem *p);
/* A product alone: what statements see of its rows, or a second product, only tiles can make.  */
bool rtile_may_stream(const Problem *p);
/* A contraction as a domain and a reduction: for all skeletons but `contract` where tiles reuse
 * nothing or do not fit.  */
void rtile_as_stream(Arena *a, const Problem *p, int align, Problem *out);

/* A contraction whose operands are elements, to be multiplied with their scales by a unit that
 * knows these (access_scaled).  False: it is none; *why as there.  */
bool rtile_as_scaled(Arena *a, const Problem *p, int align, Problem *out, const char **why);
static inline bool rtile_scaled(const Problem *p) {
    return p->con.operand[0].scale || p->con.operand[1].scale;
}

/* The problem at other sizes: `sized` is te_sized of its op.  What was decided from the structure
 * stays, numbers are those of the sizes; alignment and guards are right for all sizes up to
 * them.  */
void rtile_resize(Arena *a, const Problem *p, const Te *sized, int align, Problem *out);

/* What the kernels of an op (normalized) cannot do without (work.c).  */
typedef struct {
    double reads, writes;     /* bytes of inputs and outputs */
    double share[TE_MAX_STMTS];           /* of a statement's points: where no mask is */
    double flops;             /* of f32, of the statement with the most; no products */
    double functions;         /* exp, exp2, sqrt, rsqrt of f32, likewise */
} RWork;
void rtile_op_work(const Te *te, RWork *out);

/* The source that a read of statement i is in pass `pass`; -1 if it is none.  */
int rtile_row_source(const Te *te, const RowFacts *f, int i, const TeExpr *read);

/* The region of the tensor that operand `side` reads in a block's tile, `tile` rows (columns) by
 * all of K, in shared memory: a box of its subscripts, each element once, what lies outside of the
 * tensor as zeros.  A line is what is contiguous in memory, where matrices can be read the channels
 * of one pixel; the next one lies `pitch` elements on.
 * Element (t, k) of the tile lies at rtile_region_row(t0 + t) + rtile_region_k(k), t0 where the
 * tile begins in the innermost digit of its own axis (0 unless `whole`), of tiles that begin an
 * image.
 * By boxes: lines are one pixel each, `span` bytes of whose channels lie in `planes` behind each
 * other; a copy brings a plane, of a column of pixels or a box of the tensor.  A tile of several
 * whole blocks of the two innermost digits has a box for each, one behind the other in a plane.  */
typedef struct {
    int32_t extent[TE_MAX_RANK];          /* values that each subscript takes */
    int line;                 /* lines run along this dimension, and all of those behind it */
    int64_t stride, bound;    /* elements of a step along it; elements of a line of the tensor */
    int vec;                  /* elements of an access; lines begin at multiples of it */
    int32_t lines, row, pitch;            /* row: elements of a line that are copied */
    int32_t read;             /* lines of a part that are: by boxes it has a multiple of 8 */
    int32_t shift;            /* elements of a line before the first that is needed */
    bool whole;               /* a tile has all values of the innermost digit, and count_out of the
                               * one before; else count_in neighbours of the innermost one */
    int32_t count_in, count_out;
    int32_t step_in, step_out;            /* what those digits add to an element's place */
    int32_t period;           /* tiles go on in the next image: values of the rows' subscript from
                               * one to the next, as they lie in shared memory; 0: none does */
    int image, rows;          /* dimensions of images, of their rows */
    int32_t out, by;          /* rows of results, and what each adds to that subscript */
    int32_t parts;            /* boxes of a plane: blocks of `out` rows that the tile has; else 1 */
    int32_t step_image;       /* what the next image, or the next part, adds to a place */
    int n_k;                  /* and those of K, told apart as the steps need it */
    int32_t extent_k[TE_MAX_INDICES], step_k[TE_MAX_INDICES];
    int32_t last;             /* largest place of k == 0, less the shift */
    uint32_t tested;          /* bit d: subscript d, of a line its elements, may lie outside */
    int pair;                 /* neighbours along k, up to 4 bytes, from multiples of them on */
    int chunk;                /* likewise, 16 bytes of them: rows of matrices; 0: there are none */
    int span, planes;         /* by boxes: bytes of a line, as wide as their swizzle; else 0, 1 */
    bool anywhere;            /* accesses begin at any element: each is joined of the two accesses
                               * of 16 bytes, from multiples of them on, that it lies in */
    int turned;               /* lines run along dimension `line`, whose elements lie apart: chunks
                               * are made of so many elements along the last dimension, from
                               * multiples of them on, each; else 0 */
    int along, across;        /* of these: the last dimension, and how many times as many it takes;
                               * else `along` is the line's */
} RRegion;
/* How it is copied: by accesses of `vec` elements (0: as wide as possible), which may go through
 * registers, or by boxes.  */
typedef struct {
    int32_t tile;
    int vec;
    bool boxes, registers;
} RRegionTile;

/* Does dimension d belong to a region's lines?  Behind their first one?  */
static inline bool rtile_in_line(const RRegion *r, int d) {
    return r->turned ? d == r->line : d >= r->line;
}
static inline bool rtile_behind_line(const RRegion *r, int d) {
    return !r->turned && d > r->line;
}
/* What threads copy one of after the other: chunks, or those that are turned together.  */
static inline int rtile_region_pieces(const RRegion *r) {
    int lines = r->turned ? r->read / r->extent[r->along] * r->across : r->lines;
    return r->row / r->vec * lines;
}

/* False: the operand is no bare affine read, sizes are not static, tiles of this size are no boxes,
 * accesses cannot be `vec` elements wide, or boxes bring no planes of channels.  Chunks of 16 bytes
 * may begin anywhere in a tensor that begins and ends at multiples of them, and they may reach
 * beyond the line, where zeros take the place of what follows.  Through registers they may be
 * turned where a dimension that lies apart has the innermost index of K.  */
bool rtile_region(const Problem *p, int side, RRegionTile of, RRegion *out);
/* The width of planes of so many bytes of channels: one has all, and zeros behind them, or they are
 * equal parts; 0: there is none.  */
int rtile_region_span(int64_t channels);
int32_t rtile_region_row(const RRegion *r, int32_t row);
int32_t rtile_region_k(const RRegion *r, int64_t k);

enum { RTILE_CHUNK_READS = 8 };
/* The index that moves from point to point along an axis; -1 if none does.  */
int rtile_chunk_index(const TeStmt *s, const FusedAxis *axis);
/* Is a read the same at `vec` points of the axis from every multiple of vec on?  */
bool rtile_same_along(const TeStmt *s, const TeExpr *read, const FusedAxis *axis, int vec);
/* How many points of the axis, from multiples of that on, share an element of a read, of which the
 * next ones have the next; 0: they do not follow each other in that way for `vec` points.  */
int rtile_shared_along(const Te *te, const TeStmt *s, const TeExpr *read, const FusedAxis *axis,
                       int vec);
/* The different reads of expression e, if each can be made for `vec` points along the axis at once,
 * from multiples of vec on: width[i] neighbouring elements, aligned, of which point v has element v
 * * width / vec (1: all points read the same).  None if some cannot or all read the same.  */
typedef struct {
    int n;
    const TeExpr *read[RTILE_CHUNK_READS];
    int width[RTILE_CHUNK_READS];
} ChunkReads;
ChunkReads rtile_chunk_reads(const Te *te, const TeStmt *s, const TeExpr *e, const FusedAxis *axis,
                             int vec, int align);

/* The statement of the group that a statement number is; -1: none, or the root.  */
int rtile_stat(const StatFacts *f, int stmt);
/* The division of statement i of a group, a map, by a value of its row; e NULL: it has none.  */
TeQuotient rtile_quotient(const Te *te, const RowGroup *g, int i);

/* -- widths of accesses (width.c) -- */

enum { RTILE_ACCESS = 16 };   /* bytes of the widest access of a thread */
/* Elements of the widest access to a tensor; those that are given are aligned to `align` bytes.  */
int rtile_widest(const TeTensor *t, int align);
/* The widest vector, up to `width`, of which clips of the tensor leave out all or nothing.  */
int rtile_unclipped(const TeTensor *t, int width);
/* Is an address a multiple of v elements wherever the indices in `covered` are at the beginning of
 * a vector?  unit, c_divisor: as in Access.  */
bool rtile_aligned(const TeStmt *s, const int64_t *divisor, int64_t c_divisor, uint32_t covered,
                   int64_t v);
/* Is a vector of v points along `index`, from multiples of v on, inside of what a tested subscript
 * f allows, a multiple of `bound`, as a whole or not at all?  */
bool rtile_tested_as_one(const TeStmt *s, const Affine *f, int index, int64_t bound, int64_t v);
/* Neighbouring points: so many, from multiples of that on, along indices of the root, innermost
 * first; flat: in the order of the whole domain, as which the accesses lie (rtile_is_flat).  */
typedef struct {
    const TeStmt *root;
    const int *order;
    int n_order, count;
    bool flat;
} Neighbours;
/* Elements of an access, over the root's indices, to neighbours; they need count / that many.  */
int rtile_neighbour_width(const Te *te, const Neighbours *n, const Access *x, int align);

/* Values `step` apart, n of them, the first one modulo n * step less than step; n 0: not known.  */
typedef struct {
    int n;
    int64_t step;
} Spread;
/* What a subscript is at points x0 + v, v = 0 .. vec - 1, where x0 is a multiple of vec: a multiple
 * of the width for v = 0, plus v * width / vec.  1: the same at all of them; 0: neither.  */
int rtile_subscript_width(const TeExpr *e, int index, int vec);
/* Does one access of at.n * width elements have runs of `width` that begin at each of the axis'
 * points `at`, one behind the other, where the first of them is in the domain?  All lie in the
 * tensor, though points behind the first one may be beyond the end.  */
bool rtile_beside(const Te *te, const TeStmt *s, const TeExpr *read, const FusedAxis *axis,
                  Spread at, int width);
/* Where a read is at n neighbours along the axis, from a multiple of n on: elements from the first
 * one.  False: that is not known.  */
bool rtile_row_places(const Te *te, const TeStmt *s, const TeExpr *read, const FusedAxis *axis,
                      int n, int64_t *place);
/* Of a read that is not affine (gather.c): the elements that lie side by side where the index runs,
 * and the widest access to `vec` neighbours along it, from multiples of that on.  */
int64_t rtile_gathered_run(const Te *te, const TeStmt *s, const TeExpr *read, int index);
int rtile_gathered_width(const Te *te, const TeStmt *s, const Access *x, int index, int vec,
                         int align);

/* Distance of neighbouring columns under an access over the frame's indices, 0 if it is not
 * constant, and the widest access at multiples of it along the columns that is aligned in
 * every row.  */
int64_t rtile_row_step(const Te *te, const TeStmt *frame, const Access *x);
/* The same at the largest sizes; *varies: the index whose run-time stride it is, -1: none.  */
int64_t rtile_row_stride(const Te *te, const TeStmt *frame, const Access *x, int *varies);
int rtile_row_vector(const Te *te, const TeStmt *frame, const Access *x, int align);
/* The widest access to neighbours at columns that are multiples of it in `peel`.  */
int rtile_peel_vector(const Te *te, const TeStmt *frame, const Access *peel, const Access *x,
                      int align);
/* An access over its own statement's indices, `axis` of the frame, as one over the frame's.  */
void rtile_row_access(const uint8_t *axis, int n_index, Access *x);

/* Is what the access, over the root's indices, touches at element n of the domain, in row-major
 * order, element n + c of its tensor, for all n and at all sizes?  */
bool rtile_is_flat(const Te *te, const TeStmt *root, const Access *x);

/* The alignment rules, one row each; a rejected size names its rule.  */
#define RTILE_RULES(X)                                                                             \
    X(UNIT,        "a multiple of the compute unit's shape")                                       \
    X(TRANSACTION, "the innermost extent fills whole transactions")                                \
    X(MOVER,       "a multiple of the mover's granule")                                            \
    X(BANK,        "rows that can be laid out without bank conflicts")                             \
    X(PADDING,     "padding waste of the tensor shape within epsilon")
typedef enum {
#define X(id, text) RTILE_RULE_##id,
    RTILE_RULES(X)
#undef X
        RTILE_RULE_COUNT
} RTileRule;

const char *rtile_rule_text(RTileRule rule);
/* The first of UNIT, MOVER, PADDING that a tile of `s` breaks on an axis of extent `n`: s is a
 * multiple of the unit's extent and of the mover's elements and wastes at most epsilon.
 * RTILE_RULE_COUNT: none.  (TRANSACTION decides the direction of loads, BANK the layout.)  */
RTileRule rtile_broken(int64_t n, int32_t s, int unit, int mover, double epsilon);
/* (ceil(n/s)*s - n)/n: the share of padding when an axis of extent n is covered by tiles of s.  */
double rtile_waste(int64_t n, int32_t s);
/* Aligned sizes of an axis of extent `n`, ascending: multiples of `unit` up to `max` whose padding
 * waste is at most epsilon; not only powers of two.  Returns the count.  */
int rtile_sizes(int64_t n, int unit, int max, double epsilon, int32_t *out, int cap);
/* Padding in elements that keeps rows of `row` elements conflict-free when `tile` elements are read
 * at a time: Roller's formula (bL + L*ceil(n/L) - N mod bL) mod bL for b banks of L bytes, row N,
 * tile n.  */
int rtile_pad(int banks, int bank_width, int elem, int row, int tile);
/* Byte offset of element e of row r in a shared tile of rows of `row` elements of `elem` bytes.  */
static inline int32_t rtile_at(RLayout l, int row, int elem, int r, int e) {
    int32_t chunk = l.bits ? ((r >> l.shift) & ((1 << l.bits) - 1)) << (l.base + 4) : 0;
    return r * (row + l.pad) * elem + ((e * elem) ^ chunk);
}
/* Wavefronts of one shared-memory request of a warp: lane i of `active` accesses `width` bytes (a
 * power of two up to 16) at addr[i], aligned.  32 banks of 4 bytes.  Up to 4 bytes per lane: the
 * most distinct words in one bank.  8 bytes: two half-warps, each by that rule, but one request if
 * every active lane i has the address of lane i ^ 1, or every one that of i ^ 2.  16 bytes: the
 * halves on their own, each as two quarters that become one under the same condition.  */
int rtile_wavefronts(const int32_t addr[32], uint32_t active, int width);
/* Bytes a block tile holds in shared memory, per stage.  */
int64_t rtile_footprint(const Problem *p, const RTile *t, const RLayout layout[2]);
/* Bytes moved from the level above for the whole problem when it is computed in tiles t, outputs
 * included.  */
double rtile_traffic(const Problem *p, const RTile *t);
/* S = (Q(t) - Q(next)) / (F(next) - F(t)); infinity where the footprint does not grow.  */
double rtile_reuse(const Problem *p, const RTile *t, const RTile *next);
/* The problem as text (--dump=tiles): axes, operands, vectors, aligned sizes.  */
/* The source of the permute view that a read of statement s, of the group, is; -1 if none.  */
int rtile_permute_source(const Problem *p, const TeStmt *s, const TeExpr *read);

void rtile_print(const Problem *p, Buf *out);
#endif
