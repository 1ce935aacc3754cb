/* .npy files, versions 1.0 and 2.0: C order, little-endian.  bf16 is raw bits in uint16, f8 raw
 * bits in uint8.  */
#ifndef ROLLER_DRIVER_NPY_H
#define ROLLER_DRIVER_NPY_H
#include "te/te.h"

typedef struct {
    const char *descr;        /* "<f4", "|u1", ... */
    int rank;
    int64_t shape[TE_MAX_RANK];
    int itemsize;
    void *data;
    size_t bytes;
} Npy;

enum { NPY_MAX_HEADER = 65536 };
/* Reads a file of at most max_bytes.  ST_IO, or ST_ARGS for contents that are no such array.  */
Status npy_read(Arena *a, Diag *d, const char *path, size_t max_bytes, Npy *out);
/* Writes a dense array, complete or not at all.  */
Status npy_write(Arena *a, Diag *d, const char *path, const Npy *array);
/* The descr of a dtype.  */
const char *npy_descr(TeDtype t);
#endif
