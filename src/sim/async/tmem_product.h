/* The arithmetic of tcgen05.mma over plain arrays: instruction descriptors, shared memory
 * descriptors, and D = A*B + D, rounded once (sim/async/matrix.h says how exactly).  */
#ifndef ROLLER_SIM_ASYNC_TMEM_PRODUCT_H
#define ROLLER_SIM_ASYNC_TMEM_PRODUCT_H
#include "sim/async/matrix.h"

/* The kinds of products: what the bits of their descriptors mean; the last ones have scales.  */
typedef enum {
    TMEM_F16, TMEM_TF32, TMEM_F8F6F4, TMEM_I8, TMEM_MXF8F6F4, TMEM_MXF4, TMEM_MXF4NVF4
} TmemProductKind;
static inline bool tmem_is_scaled(TmemProductKind kind) { return kind >= TMEM_MXF8F6F4; }
/* Two elements in a byte.  */
static inline bool tmem_is_packed(TmemProductKind kind) { return kind >= TMEM_MXF4; }

typedef struct {
    TmemProductKind kind;
    int blocks;               /* 2: a pair, each with half of the rows of A and of B */
    int m, n, k;              /* of a block */
    PtxType a, b, d;
    bool a_mn, b_mn;          /* MN-major operands */
    bool neg_a, neg_b, sat;
    int scales;               /* of a row, one for k / scales elements; 0: it has none */
    PtxType scale;
    int scale_a, scale_b;     /* which byte of a cell has the first of them */
} TmemProduct;

/* Reads an instruction descriptor, of one block or a pair, with so many scales of a row.  Returns
 * why there is no such product, or NULL.  */
const char *tmem_product(TmemProductKind kind, int scales, uint32_t bits, int blocks,
                         TmemProduct *out);
/* Do the columns of N lie in two halves of the lanes, one beside the other (PTX ISA, "Data Path
 * Layout B")?  */
static inline bool tmem_folds(const TmemProduct *p) { return p->blocks > 1 && p->m == 64; }
/* Reads a shared memory descriptor, of elements of so many bytes.  Returns why it is none, or
 * NULL.  */
const char *tmem_descriptor(uint64_t bits, bool mn_major, int bytes, SimDescriptor *out);
/* Bytes of k of an operand.  */
static inline int tmem_row_bytes(const TmemProduct *p) { return p->k * sim_type_bits(p->a) / 8; }

/* Room for one product.  */
typedef struct {
    double a[128 * 64], b[256 * 64], turned[256 * 64], d[128 * 256];
    uint8_t bytes[SIM_MAX_CHUNKS * 16];
} TmemScratch;

/* Rows of an operand that a block has.  */
static inline int tmem_rows(const TmemProduct *p, bool of_a) {
    return of_a ? p->m : p->n / p->blocks;
}
/* Row-major [rows][k] of these, of chunks in the order of sim_operand_chunks.  */
void tmem_operand(const TmemProduct *p, bool of_a, const uint8_t *bytes, double *out,
                  double *scratch);
/* Multiplies row r of [rows][k] by its scales, of which cell[r] has the first in its low byte.  */
void tmem_scale(const TmemProduct *p, int rows, const uint32_t *cell, double *values);
/* d[m][n] += a[m][k] * b[n][k].  */
void tmem_multiply(const TmemProduct *p, TmemScratch *s);
#endif
