/* Compare: stored elements against the reference evaluator, on several threads.  */
#ifndef ROLLER_DRIVER_CHECK_COMPARE_H
#define ROLLER_DRIVER_CHECK_COMPARE_H
#include "driver/check/run.h"

/* What the reference evaluates: an op, its inputs, and values for temporaries that are given.  */
typedef struct {
    const Te *te;
    const TeData *data;       /* inputs */
    const Lazy *const *lazy;  /* per tensor of te: inputs that are made when they are read, and
                               * temporaries that are given.  NULL: none is */
    bool exact;
    int threads;              /* 0: one per core */
    Watch *watch;             /* NULL: nobody's */
} Reference;

/* A run of elements along a tensor's last dimension.  */
typedef struct {
    int64_t at[TE_MAX_RANK];
    int64_t count;
} CompareRow;

typedef struct {
    int64_t compared, undecided, wrong;
    bool has_worst, unwritten;            /* unwritten: no kernel has stored the worst element */
    double excess;            /* of the worst element: |got - want| over its bound */
    int64_t worst[TE_MAX_RANK];
    TeValue got, want;
} CompareResult;

/* Elements of a tensor as they were stored.  */
typedef struct {
    int tensor;
    const void *data;         /* element 0 */
    const Run *run;           /* what stored them, at this address; NULL: all were */
    uint64_t at;
} Stored;
/* Rows of it.  */
typedef struct {
    const Stored *stored;
    const CompareRow *row;
    int64_t n;
} CompareRows;

/* Compares rows.  Adds to *out.  */
Status compare_rows(Arena *a, Diag *d, const Reference *ref, const CompareRows *rows,
                    CompareResult *out);
/* Every element of the tensor.  */
Status compare_all(Arena *a, Diag *d, const Reference *ref, const Stored *stored,
                   CompareResult *out);
#endif
