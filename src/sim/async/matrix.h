/* The arithmetic and the layouts of matrix instructions, over plain arrays.
 *
 * Every matrix product of PTX is decoded to doubles, multiplied by one dense kernel and rounded
 * once: D = round(C + sum over k of A*B). Products of f16, bf16, tf32, e4m3, e5m2 and 8-bit
 * integers are exact in a double; their sum is taken in a double in ascending k, so the result is
 * exact whenever the exact sum needs at most 53 bits (always for integers, and for reals that are
 * small integers) and otherwise off by at most k * 2^-52 * sum|a*b| before the final rounding. A
 * fragment is an array of registers; a register is 32 lanes.  */
#ifndef ROLLER_SIM_ASYNC_MATRIX_H
#define ROLLER_SIM_ASYNC_MATRIX_H
#include "sim/ptx/ptx.h"

typedef struct {
    uint32_t lane[32];
} SimReg;                                 /* one 32-bit register of a warp */

/* Decodes n packed little-endian elements.  tf32 ignores the 13 low bits.  */
void sim_elem_decode(PtxType e, const void *from, size_t n, double *out);
/* The same of n e2m1, two to a byte.  */
void sim_pairs_decode(const void *from, size_t n, double *out);

/* d[m][n] += a[m][k] * b[k][n]; row-major, dense, n a multiple of 8.  */
void sim_dense(int m, int n, int k, const double *a, const double *b, double *d);
/* Element number i of every lane in registers of type `e`: f32 and s32 fill a register, f16 a
 * half, f64 two. Storing rounds once; integers wrap, or clamp with `sat`.  */
void sim_acc_load(PtxType e, const SimReg *regs, int i, double v[32]);
void sim_acc_store(PtxType e, bool sat, const double v[32], SimReg *regs, int i);

/* mma.sync.  `a_col` and `b_row` exist for m8n8k4.f16 only; everything else is row.col.  */
typedef struct {
    int m, n, k;
    PtxType a, b, c, d;
    bool a_col, b_row, sat;
    bool kind;                /* kind::f8f6f4 */
    int scales;               /* along k, for each row of a and column of b; 0: no block_scale */
    PtxType scale;
} SimMma;
/* Scales of an operand: a register of each lane, and which byte of which lanes has them.  */
typedef struct {
    const uint32_t *lane;
    int byte, thread;
} SimScales;
/* Whether PTX has this shape with these types; fills the number of 32-bit registers per operand
 * (an f64 takes two).  */
typedef struct {
    int a, b, c, d;
} SimMmaRegs;
bool sim_mma_valid(const SimMma *s, SimMmaRegs *regs);
/* Are these selectors that the instruction has?  */
bool sim_mma_selects(const SimMma *s, const SimScales *of_a, const SimScales *of_b);
/* d may alias c; scales: of a and of b, NULL without block_scale.  */
void sim_mma(const SimMma *s, const SimReg *a, const SimReg *b, const SimReg *c,
             const SimScales *scales, SimReg *d);

/* Rows and columns of accumulator register r in a lane for the m16n8 shapes and wgmma: the 8-column
 * group holds column pairs 2*(lane mod 4) and rows lane/4 and lane/4 + 8.  */
static inline int sim_acc_row(int r, int lane) { return lane / 4 + 8 * (r / 2 % 2); }
static inline int sim_acc_col(int r, int lane) { return r / 4 * 8 + lane % 4 * 2 + r % 2; }

/* Swizzle of shared addresses: with span 32, 64 or 128 bytes the index inside the span of a chunk,
 * of `atom` bytes, is XORed with the index of the 128-byte line (bits 7 and up). `base` shifts the
 * line index.  */
static inline uint32_t sim_swizzle(uint32_t at, int span, int atom, uint32_t base) {
    uint32_t mask = (uint32_t)(span / atom) - 1;
    return at ^ (((at >> 7) - base) & mask) * (uint32_t)atom;
}

/* A wgmma shared-memory descriptor.  */
typedef struct {
    uint32_t start, leading, stride;      /* bytes */
    uint32_t base;                        /* base offset, in lines of 128 bytes */
    int span;                             /* swizzle: 16 (none), 32, 64, 128 */
    int atom;                             /* bytes that it moves together: 16, 32 */
} SimDescriptor;
SimDescriptor sim_descriptor(uint64_t bits);

/* An operand is read as 16-byte chunks, row by row: a K-major operand has a row per m (or n) of 32
 * bytes along k; an MN-major one, of elements of so many bytes, a row per k along m (or n).  Fills
 * the shared-memory addresses of the chunks of m (or n) `first` .. `first` + extent - 1 (multiples
 * of 8; MN-major: of what a chunk has); returns how many.  */
enum { SIM_MAX_CHUNKS = 512 };
int sim_operand_chunks(const SimDescriptor *d, bool mn_major, int bytes, int first, int extent,
                       uint32_t *at);
/* Why the bits are no good descriptor, or NULL; the second: why its operand cannot start there.  */
const char *sim_descriptor_check(uint64_t bits);
const char *sim_descriptor_starts(const SimDescriptor *d);

/* wgmma.mma_async: m64, one warpgroup.  */
typedef struct {
    int n, k;
    PtxType a, b, d;                      /* d: f16, f32 or s32 */
    bool a_mn, b_mn;                      /* MN-major operands */
    bool neg_a, neg_b, scale_d, sat;
} SimWgmma;
/* Why PTX has no such instruction, or NULL.  */
const char *sim_wgmma_check(const SimWgmma *w);
int sim_wgmma_acc_regs(const SimWgmma *w);        /* registers of D per lane */
/* Lays the four registers of A out as a K-major operand of the warp's 16 rows.  */
void sim_wgmma_a_regs(const SimReg a[4], uint8_t bytes[16 * 32]);
/* One warp's 16 of the 64 rows: d = A*B (+ d); a (16 rows) and b are operands in the order of their
 * chunks.  */
void sim_wgmma(const SimWgmma *w, const uint8_t *a, const uint8_t *b, SimReg *d);
#endif
