/* Views: a reduction seen by columns, a reduction or a map as a sliding window, a map as a change
 * of layout.
 *
 * What the skeletons `column`, `window` and `permute` need to know beyond a Problem: which indices
 * they walk in which order, and how the reads that move the most bytes lie along them.  Pure
 * facts.  */
#ifndef ROLLER_RTILE_VIEWS_H
#define ROLLER_RTILE_VIEWS_H
#include "te/access/access.h"

/* Neighbouring outputs read neighbouring elements, and the reduction strides over them.  Every
 * index is a digit of its own.  */
typedef struct {
    bool fits;
    const TeExpr *read;       /* the widest one; at other sizes still this one */
    FusedAxis out;            /* the spatial indices; the one that is contiguous in the read last */
    int64_t divisor;          /* divides the columns, and */
    int64_t red_divisor;      /* the rows, at all run-time sizes */
    FusedAxis red;            /* the reduction indices: as listed for argmax and argmin, else by
                               * falling stride in the read */
    int vec;                  /* neighbours that one access can read */
    int64_t run;              /* contiguous elements of the read along `out` */
    int bytes;                /* of an element of the read */
    int out_vec;              /* widest store along `out`, elements */
    int64_t out_run;          /* contiguous elements of the outputs along `out` */
    bool positional;          /* argmax, argmin: partial results are pairs */
    int sum_bytes;            /* of a partial result's value */
    int n_sum;                /* reductions in one pass (KernelGroup.columns), */
    int followers;            /* those of them that follow another one */
} ColumnView;

enum { READ_WIDTHS = 5 };     /* 1 to 16 elements */

/* Reads of a map by the widest access that neighbours allow: of[i] of 1 << i elements.  Reads of
 * the same element for all neighbours count as the widest ones.  */
typedef struct {
    int of[READ_WIDTHS];
} ReadWidths;

/* A reduction that runs to its own place.  */
typedef struct {
    bool fits;
    Scan of;
    int64_t extent, divisor;  /* of the index that it runs along; divides it at all sizes */
    FusedAxis out;            /* the other spatial indices, in order, each a digit */
    int64_t out_divisor;
    bool down;                /* neighbours in the outputs lie along `out`, not along the walk */
    int vec;                  /* widest store of neighbours, elements */
    double term_ops;          /* arithmetic of a term */
    ReadWidths widths;        /* of its reads, for neighbours in the outputs */
} ScanView;

enum { MAP_SHIFTS = 64 };

/* What a map reads, over the flattened domain.  Beside the first of several parallel reads of a
 * tensor, which differ in constants alone, each lies `shift` elements behind another one.  */
typedef struct {
    ReadWidths widths;
    int divisions;            /* of an element's number, to find where it is read and written */
    int n_shift;
    double shift[MAP_SHIFTS];
    int bytes[MAP_SHIFTS];    /* of an element */
} MapReads;

enum { WINDOW_SOURCES = 4, WINDOW_TAPS = 64 };

/* Reads of one tensor that slide over it: dimension `dim_n` has subscript step_n * q + dil_n * s +
 * base_n, dimension dim_m likewise with p and r, where q and p occur in no other dimension, s runs
 * to extent_s and r to extent_r.  Of a reduction it is one read, s and r being reduction indices;
 * of a map they number the shifts of all its reads that differ in these dimensions alone.  */
typedef struct {
    const TeExpr *read;       /* the first of them */
    Access access;            /* of `read` */
    const TeExpr *other;      /* what they have outside of the tensor; NULL: they are not there */
    bool zeros;               /* bytes of 0 say that */
    int dim_n, dim_m;         /* dim_m < 0: one dimension slides */
    int64_t step_n, dil_n, base_n, step_m, dil_m, base_m;
    int64_t extent_s, extent_r;
    int load_vec;             /* along: widest access that starts at a multiple of itself */
    int bytes, value_bytes;   /* of an element in memory and as a value */
} WindowSource;

/* A read of a map, by statement `which` of the group (-1: the root): row r and column s of a
 * source's window.  */
typedef struct {
    const TeExpr *read;
    int which, source;
    int32_t s, r;
} WindowTap;

/* Outputs at neighbouring points read overlapping windows of one tensor, for a reduction, or the
 * same tensors at several shifts, for a map (a stencil).  */
typedef struct {
    bool fits;
    bool map;
    int n_source;             /* 1 of a reduction */
    WindowSource source[WINDOW_SOURCES];  /* the first one has the most taps */
    int n_tap;                /* of a map */
    WindowTap tap[WINDOW_TAPS];
    int q, s, p, r;           /* indices of the statement; s, r < 0 of a map; p, r without dim_m */
    int64_t extent_q, extent_p;
    int64_t divisor_q, divisor_p;   /* divide extent_q, extent_p at all run-time sizes */
    bool along;               /* dim_n is the contiguous one; else index `lane` is, or none */
    int lane;                 /* spatial index that is contiguous in the read, not q; < 0: none */
    bool beside;              /* lane is contiguous in the outputs instead, and the window of a
                               * reduction does not move with it */
    int alike;                /* of a reduction: one that the window does not move with, of static
                               * extent: outputs along it share what they read of it; < 0: none */
    int64_t extent_alike;
    int vec;                  /* lane: neighbours that one access of any source can read */
    int out_vec;              /* widest store along q (along) or lane, elements */
    int sum_bytes;            /* of an accumulator; of a map's value */
    bool others_move;         /* another read follows p or q where it is not known to be inside of
                               * the outputs: patches must not be ragged */
    int64_t rest;             /* product of the extents of the other reduction indices */
    uint8_t other[TE_MAX_INDICES];        /* the other spatial indices (not p, q, lane, alike) */
    int n_other;
    int64_t outer;            /* ... and the product of their extents */
    ReadWidths others;        /* of a map: reads that are no taps, along q (along) or lane */
    double others_bytes;      /* of what they read that moves with an output, per output */
    int64_t outer_step;       /* elements of the first source from one of these points to the next;
                               * < 0: not even, or a subscript of theirs is tested */
} WindowView;

enum { PERMUTE_AXES = 8, PERMUTE_SOURCES = 2 };

/* A tensor that a map reads along another axis than the one it writes along.  */
typedef struct {
    const TeExpr *read;       /* the first of its reads; others with the same offset are it too */
    Access access;            /* of `read`; guard: subscripts that can leave, what is 0 outside */
    bool guarded;             /* some can; then all sizes are static */
    int bytes;                /* of an element */
    int64_t stride[PERMUTE_AXES];         /* elements per step of each axis; 0: none */
    int64_t divisor[PERMUTE_AXES];        /* divides it at all run-time sizes */
    bool varies[PERMUTE_AXES];            /* it depends on them */
    uint8_t order[PERMUTE_AXES];          /* axes that move it by rising stride at the largest
                               * sizes; the first has 1 */
    int n_order;
    int vec;                  /* widest access that the promised alignment allows */
} PermuteSource;

/* A map whose outputs are contiguous along another axis than what it reads.  The spatial indices
 * form axes: neighbours in order that all outputs and sources treat as one.  */
typedef struct {
    bool fits;
    FusedAxis out;            /* the spatial indices in order; digit a is axis a of the view */
    uint8_t moving[PERMUTE_AXES];         /* the index that an axis moves with */
    int64_t divisor[PERMUTE_AXES];        /* divides its extent at all run-time sizes */
    bool varies[PERMUTE_AXES];            /* its extent depends on them */
    int n_source;
    PermuteSource source[PERMUTE_SOURCES];
} PermuteView;
#endif
