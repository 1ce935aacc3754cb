/* rTile: tiles aligned with tensor and device.
 *
 * A Problem is what planning needs to know of one kernel group: extents of the fused axes and how each
 * operand lies in memory, seen from those axes.  An RTile is one extent per axis at one memory level.
 * This module knows alignment (which sizes come next), footprint F, traffic Q and reuse score S; it
 * knows nothing of threads or time.  Source: Roller (OSDI'22), sections 3 and 4.  */
#ifndef ROLLER_RTILE_RTILE_H
#define ROLLER_RTILE_RTILE_H
#include "hal/device.h"
#include "te/access.h"

enum { RT_AXES = 8 };

/* Extent per axis; axes are AX_B, AX_M, AX_N, AX_K for `contract`, AX_M alone (the flattened domain)
 * for `stream`.  Unused axes have extent 1.  Copied by value.  */
typedef struct {
    int32_t extent[RT_AXES];
} RTile;

/* Storage of a tile in shared memory: rows of the inner axis.  16-byte chunk c of row r lies at chunk
 * c ^ (((r >> shift) & ((1 << bits) - 1)) << base); bits == 0: no swizzle.  pad: elements after each
 * row.  Padding and swizzle exclude each other.  */
typedef struct {
    uint8_t inner;            /* AX_K, or the operand's own AX_M / AX_N */
    int16_t pad;
    uint8_t bits, shift, base;
} RLayout;

/* How one operand lies in memory.  `mn` is the operand's own axis: M for a, N for b.  */
typedef struct {
    bool present;
    bool copyable;            /* elements can be copied unchanged: same type in memory and in the tile */
    bool affine;              /* a single affine read (else the operand is an expression) */
    bool guarded;             /* some subscript needs a run-time test */
    int bytes;                /* of an element in memory */
    int elem;                 /* of an element in shared memory */
    int vec_mn, vec_k;        /* longest power-of-two run, at most 16 B, that is contiguous, aligned and guarded as one, at every multiple of it along mn / k; 1: none */
    int64_t run_mn, run_k;    /* contiguous elements along mn / k from a multiple of the run; 1: none */
    int64_t unique;           /* distinct elements of the tensor(s) read */
    int64_t stride_mn, stride_k;          /* of the innermost digit, elements; 0 if it does not move */
    int digits_mn, digits_k;  /* to decode when an address is made */
} ROperand;

typedef struct {
    const Te *te;             /* normalized */
    const KernelGroup *group;
    bool contraction;         /* else: a map or a general reduction, for `stream` */
    Contraction con;
    int64_t extent[AX_CLASSES];           /* contract: fused axes; stream: AX_M the domain, AX_K the reduction */
    ROperand op[2];           /* a, b */
    int acc_bytes;
    int out_vec;              /* widest store along N, elements; 1 if N is not contiguous in the outputs */
    int64_t out_bytes;        /* written by all outputs of the group, bytes */
    int64_t read_bytes;       /* read by the root statement, bytes, unique */
    int64_t epilogue_bytes;   /* read by the fused statements, bytes, unique */
    double epilogue_ops;      /* arithmetic per output element behind the reduction */
    double body_ops;          /* operations of the body beyond one multiply-add (0 for A * B) */
    double flops;             /* 2 per multiply-add */
} Problem;

/* Facts about a group: extents, vectors, runs.  `align`: promised alignment of tensors in bytes.  */
Status rtile_problem(Arena *a, Diag *d, const Te *te, const KernelGroup *g, int align,
                     Problem *out);

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

/* Aligned sizes of an axis of extent `n`, ascending: multiples of `unit` up to `max` whose padding waste (ceil(n/s)*s - n)/n is at most epsilon; not only powers of two.  Returns the count.  */
int rtile_sizes(int64_t n, int unit, int max, double epsilon, int32_t *out, int cap);
/* Padding in elements that keeps rows of `row` elements conflict-free when `tile` elements are read at a time: Roller's formula (bL + L*ceil(n/L) - N mod bL) mod bL.  */
int rtile_pad(int banks, int bank_width, int elem, int row, int tile);
/* Bytes a block tile holds in shared memory, per stage.  */
int64_t rtile_footprint(const Problem *p, const RTile *t, const RLayout layout[2]);
/* Bytes moved from the level above for the whole problem when it is computed in tiles t.  */
double rtile_traffic(const Problem *p, const RTile *t);
/* S = (Q(t) - Q(next)) / (F(next) - F(t)); infinity where the footprint does not grow.  */
double rtile_reuse(const Problem *p, const RTile *t, const RTile *next);
/* The problem as text (--dump=tiles): axes, operands, vectors, aligned sizes.  */
void rtile_print(const Problem *p, Buf *out);
#endif
