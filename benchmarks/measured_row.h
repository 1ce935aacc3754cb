/* Published kernel times: rows of benchmarks/measured/data, and what each one computes.  */
#ifndef ROLLER_BENCHMARKS_MEASURED_ROW_H
#define ROLLER_BENCHMARKS_MEASURED_ROW_H
#include "base/buf.h"
#include "base/diag.h"
#include <stdint.h>

enum { MEASURED_SIZES = 16 };

typedef struct {
    const char *source, *gpu, *op, *dtype, *sizes, *kernel, *grid;
    double us;
    int n_size;
    const char *name[MEASURED_SIZES];
    int64_t value[MEASURED_SIZES];
} MeasuredRow;

typedef struct {
    MeasuredRow *row;
    int n;
} MeasuredRows;

/* Reads a file with the columns source,gpu,op,dtype,sizes,kernel,grid,time_us, of which fields hold
 * no commas or quotes; sizes are NAME=NUMBER;...  ST_IO with the line of the first bad row.  */
Status measured_read(Arena *a, Diag *d, const char *path, MeasuredRows *out);
int64_t measured_size(const MeasuredRow *r, const char *name, int64_t otherwise);
/* The expression of a row; false for an operator or a type without a rule here.  */
bool measured_te(const MeasuredRow *r, Buf *out);
/* 2 B M N K of products and convolutions, else 0.  */
double measured_flop(const MeasuredRow *r);

/* The block tile of the library's kernel, from its name and its grid.  */
typedef struct {
    int m, n, k;              /* block; k 0: the name does not say */
    int warps_m, warps_n;     /* 0: the name does not say */
    int threads, slices;      /* in all; warps that share a k-step: 1, or of `sliced1xS` S */
    int stages;               /* 2: double buffers through registers; more: asynchronous copies */
    int align;                /* elements that an access has at most; 0: the name does not say */
    int group;                /* tile rows that blocks walk together, from row to row; 1: along n */
    int64_t split;            /* of k */
    bool matrix;              /* by a matrix unit */
} MeasuredTile;
/* False: the kernel's name tells no tile.  */
bool measured_tile(const MeasuredRow *r, MeasuredTile *out);
#endif
