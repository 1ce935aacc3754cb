/* .npy files, versions 1.0 and 2.0: C order, little-endian.  bf16 is raw bits in uint16, f8 raw
 * bits in uint8.  */
#ifndef ROLLER_CLI_NPY_H
#define ROLLER_CLI_NPY_H
#include "base/diag.h"
#include <stdint.h>

enum { NPY_RANK = 8, NPY_MAX_HEADER = 65536 };
typedef struct {
    const char *dtype;        /* of the language: "f32" */
    const char *descr;        /* of NumPy: "<f4", "|u1", ... */
    int bytes;
} NpyType;
typedef struct {
    const char *descr;
    int rank;
    int64_t shape[NPY_RANK];
    int itemsize;
    void *data;
    size_t bytes;
} Npy;

/* Reads a file of at most max_bytes.  ST_IO, or ST_ARGS for contents that are no such array.  */
Status npy_read(Arena *a, Diag *d, const char *path, size_t max_bytes, Npy *out);
/* Writes a dense array, complete or not at all.  */
Status npy_write(Arena *a, Diag *d, const char *path, const Npy *array);
/* How a dtype of the language lies in a file; NULL: it is none.  */
const NpyType *npy_type(const char *dtype, size_t len);
#endif
