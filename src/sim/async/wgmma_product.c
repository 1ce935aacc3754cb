#include "sim/async/matrix.h"

#include <string.h>

SimDescriptor sim_descriptor(uint64_t bits) {
    static const int span[] = {16, 128, 64, 32};
    return (SimDescriptor){.start = (uint32_t)(bits & 0x3fff) << 4,
                           .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
                           .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
                           .base = (uint32_t)(bits >> 49 & 7),
                           .span = span[bits >> 62],
                           .atom = 16};
}

/* Without swizzle a core matrix is 8 rows of 16 bytes, back to back; `leading` steps along the
 * rows' direction of a K-major operand (its two chunks), `stride` from 8 rows to the next 8.
 * With a swizzle the atom is 8 rows of `span` bytes and a K-major row's chunks are neighbours.  */
static uint32_t k_major_chunk(const SimDescriptor *d, uint32_t row, uint32_t chunk) {
    uint32_t at = d->start + row / 8 * d->stride + row % 8 * (uint32_t)d->span;
    return at + chunk * (d->span == 16 ? d->leading : 16);
}

/* MN-major: a row is one k.  Without swizzle `stride` steps along m, `leading` along k; with one,
 * `leading` steps from one span along m to the next and `stride` from one group of k to the next,
 * of as many as the swizzle tells apart in 128 bytes.  */
static uint32_t mn_major_chunk(const SimDescriptor *d, uint32_t row, uint32_t chunk) {
    if (d->span == 16) {
        return d->start + chunk * d->stride + row / 8 * d->leading + row % 8 * 16;
    }
    uint32_t per_span = (uint32_t)d->span / 16, group = d->atom == 16 ? 8 : 4;
    return d->start + chunk / per_span * d->leading + chunk % per_span * 16 +
           row / group * d->stride + row % group * (uint32_t)d->span;
}

int sim_operand_chunks(const SimDescriptor *d, bool mn_major, int bytes, int first, int extent,
                       uint32_t *at) {
    uint32_t from = (uint32_t)first, to = from + (uint32_t)extent, n = 0;
    if (mn_major) {
        uint32_t rows = 32 / (uint32_t)bytes, per_chunk = 16 / (uint32_t)bytes;
        for (uint32_t row = 0; row < rows; row++) {
            for (uint32_t chunk = from / per_chunk; chunk < to / per_chunk; chunk++) {
                at[n++] = sim_swizzle(mn_major_chunk(d, row, chunk), d->span, d->atom, d->base);
            }
        }
    } else {
        for (uint32_t row = from; row < to; row++) {
            at[n++] = sim_swizzle(k_major_chunk(d, row, 0), d->span, d->atom, d->base);
            at[n++] = sim_swizzle(k_major_chunk(d, row, 1), d->span, d->atom, d->base);
        }
    }
    return (int)n;
}

const char *sim_descriptor_starts(const SimDescriptor *d) {
    uint32_t lines = (uint32_t)(d->span / d->atom);
    if (d->span == 16 || ((d->start >> 7) & (lines - 1)) == (d->base & (lines - 1))) return NULL;
    return "starts in the middle of the swizzle pattern, which its base offset does not tell";
}

const char *sim_descriptor_check(uint64_t bits) {
    const uint64_t reserved = 0x3ff1c000c000c000u;
    SimDescriptor d = sim_descriptor(bits);
    return bits & reserved ? "has reserved bits set" : sim_descriptor_starts(&d);
}

const char *sim_wgmma_check(const SimWgmma *w) {
    bool half = w->a == PTX_F16 || w->a == PTX_BF16, tf32 = w->a == PTX_TF32;
    bool fp8 = (w->a == PTX_E4M3 || w->a == PTX_E5M2) && (w->b == PTX_E4M3 || w->b == PTX_E5M2);
    bool integer = (w->a == PTX_S8 || w->a == PTX_U8) && (w->b == PTX_S8 || w->b == PTX_U8);
    if (!fp8 && !integer && !((half || tf32) && w->a == w->b)) return "operand types";
    if (w->k * sim_type_bits(w->a) != 256) return "k is not 32 bytes of operand";
    if (w->n < 8 || w->n > 256 || w->n % 8) return "n is not a multiple of 8 up to 256";
    if (integer && w->n > 32 && w->n % 16) return "n of 8-bit integers above 32 is in steps of 16";
    bool d_ok = integer ? w->d == PTX_S32
                        : w->d == PTX_F32 || (w->d == PTX_F16 && (w->a == PTX_F16 || fp8));
    if (!d_ok) return "accumulator type";
    if (w->sat && !integer) return ".satfinite is for integers";
    if ((w->a_mn || w->b_mn) && !half) return "only 16-bit operands can be transposed";
    if (integer && (w->neg_a || w->neg_b)) return "integers cannot be negated";
    return NULL;
}

int sim_wgmma_acc_regs(const SimWgmma *w) { return w->n * sim_type_bits(w->d) / 64; }

void sim_wgmma_a_regs(const SimReg a[4], uint8_t bytes[16 * 32]) {
    for (int r = 0; r < 4; r++) {
        for (int lane = 0; lane < 32; lane++) {
            int row = lane / 4 + r % 2 * 8, word = lane % 4 + r / 2 * 4;
            memcpy(bytes + row * 32 + word * 4, &a[r].lane[lane], 4);
        }
    }
}

/* A row-major [rows][cols] matrix from operand bytes.  */
static void operand(PtxType type, const uint8_t *bytes, bool transpose, int rows, int cols,
                    double *out) {
    double raw[256 * 32];
    size_t n = (size_t)rows * (size_t)cols;
    sim_elem_decode(type, bytes, n, transpose ? raw : out);
    if (transpose) {
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < cols; j++) out[i * cols + j] = raw[j * rows + i];
        }
    }
}

static void negate(double *x, int n) {
    for (int i = 0; i < n; i++) x[i] = -x[i];
}

void sim_wgmma(const SimWgmma *w, const uint8_t *a, const uint8_t *b, SimReg *d) {
    double am[16 * 32], bm[32 * 256], dm[16 * 256] = {0}, v[32];
    operand(w->a, a, w->a_mn, 16, w->k, am);
    operand(w->b, b, !w->b_mn, w->k, w->n, bm);
    if (w->neg_a) negate(am, 16 * w->k);
    if (w->neg_b) negate(bm, w->k * w->n);
    for (int i = 0; w->scale_d && i < w->n / 2; i++) {
        sim_acc_load(w->d, d, i, v);
        for (int l = 0; l < 32; l++) dm[sim_acc_row(i, l) * w->n + sim_acc_col(i, l)] = v[l];
    }
    sim_dense(16, w->n, w->k, am, bm, dm);
    for (int i = 0; i < w->n / 2; i++) {
        for (int l = 0; l < 32; l++) v[l] = dm[sim_acc_row(i, l) * w->n + sim_acc_col(i, l)];
        sim_acc_store(w->d, w->sat, v, d, i);
    }
}
