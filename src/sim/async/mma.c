#include "base/numeric.h"
#include "sim/async/matrix.h"

#include <math.h>

typedef enum { CLASS_HALF, CLASS_TF32, CLASS_FP8, CLASS_INT, CLASS_F64, CLASS_NONE } ElemClass;

static ElemClass elem_class(PtxType e) {
    switch (e) {
    case PTX_F16:
    case PTX_BF16: return CLASS_HALF;
    case PTX_TF32: return CLASS_TF32;
    case PTX_E4M3:
    case PTX_E5M2:
    case PTX_E2M3:
    case PTX_E3M2:
    case PTX_E2M1: return CLASS_FP8;
    case PTX_S8:
    case PTX_U8: return CLASS_INT;
    case PTX_F64: return CLASS_F64;
    default: return CLASS_NONE;
    }
}

/* Every shape of mma.sync, by class of the operand types.  m8n8k4 of f16 comes in four orders.  */
static const struct {
    ElemClass class;
    int m, n, k;
} shapes[] = {
    {CLASS_HALF, 8, 8, 4},   {CLASS_HALF, 16, 8, 8},  {CLASS_HALF, 16, 8, 16},
    {CLASS_TF32, 16, 8, 4},  {CLASS_TF32, 16, 8, 8},  {CLASS_FP8, 16, 8, 16},
    {CLASS_FP8, 16, 8, 32},  {CLASS_FP8, 16, 8, 64},  {CLASS_INT, 8, 8, 16},
    {CLASS_INT, 16, 8, 16},  {CLASS_INT, 16, 8, 32},  {CLASS_F64, 8, 8, 4},
    {CLASS_F64, 16, 8, 4},   {CLASS_F64, 16, 8, 8},   {CLASS_F64, 16, 8, 16},
};

static bool acc_valid(ElemClass class, PtxType a, PtxType acc) {
    switch (class) {
    case CLASS_INT: return acc == PTX_S32;
    case CLASS_F64: return acc == PTX_F64;
    case CLASS_TF32: return acc == PTX_F32;
    default: return acc == PTX_F32 || (acc == PTX_F16 && a != PTX_BF16);
    }
}

/* Elements of less than a byte have one each, but in products of 64 along k.  */
static int container_bits(const SimMma *s, PtxType e) {
    return elem_class(e) != CLASS_FP8 ? sim_type_bits(e) : s->k == 64 ? 4 : 8;
}

/* What kinds of 8, 6 and 4 bits ask for: only they know small types, and only f4 pairs.  */
static bool kind_valid(const SimMma *s) {
    bool pairs = s->k == 64, bytes = s->k == 32;
    bool small = sim_type_bits(s->a) < 8 || sim_type_bits(s->b) < 8;
    if (elem_class(s->a) != CLASS_FP8) return !s->kind && s->scales == 0;
    if (pairs) return s->scales > 1 && s->a == PTX_E2M1 && s->b == PTX_E2M1 && s->d == PTX_F32;
    if (s->scales > 0) return bytes && s->scales == 1 && s->d == PTX_F32;
    return !small || (s->kind && bytes);
}

static bool is_volta(const SimMma *s) { return s->k == 4 && elem_class(s->a) == CLASS_HALF; }

bool sim_mma_valid(const SimMma *s, SimMmaRegs *regs) {
    ElemClass class = elem_class(s->a);
    bool mixed = class == CLASS_INT || class == CLASS_FP8;
    if (elem_class(s->b) != class || (!mixed && s->a != s->b)) return false;
    if (!acc_valid(class, s->a, s->c) || !acc_valid(class, s->a, s->d)) return false;
    if (s->c != s->d && !(is_volta(s) && s->c == PTX_F16)) return false;
    if (s->sat && class != CLASS_INT) return false;
    if (is_volta(s) && s->a != PTX_F16) return false;
    if ((s->a_col || s->b_row) && !is_volta(s)) return false;
    if (!kind_valid(s)) return false;
    bool found = false;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        found |= shapes[i].class == class && shapes[i].m == s->m && shapes[i].n == s->n &&
                 shapes[i].k == s->k;
    }
    int bits = container_bits(s, s->a);
    int warp = is_volta(s) ? 8 : 32;      /* lanes that share a product */
    *regs = (SimMmaRegs){s->m * s->k * bits / 32 / warp, s->k * s->n * bits / 32 / warp,
                         s->m * s->n * sim_type_bits(s->c) / 32 / warp,
                         s->m * s->n * sim_type_bits(s->d) / 32 / warp};
    return found;
}

/* In units of one register (a word of 4 bytes, 8 for f64), row g of A is split over four lanes:
 * lane 4g+t holds words t, t+4, ... of rows g and g+8. B is the same with columns for rows.  */
static void load_words(const SimReg *regs, int n_reg, int rows, int row_words, bool wide,
                       uint32_t *out) {
    int row_step = rows / 8, scale = wide ? 2 : 1;
    for (int r = 0; r < n_reg / scale; r++) {
        int row0 = r % row_step * 8, word0 = r / row_step * 4;
        for (int lane = 0; lane < 32; lane++) {
            uint32_t *to = out + ((row0 + lane / 4) * row_words + word0 + lane % 4) * scale;
            for (int h = 0; h < scale; h++) to[h] = regs[r * scale + h].lane[lane];
        }
    }
}

static void transpose(int rows, int cols, const double *in, double *out) {
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
    }
}

static void load_acc(const SimMma *s, const SimReg *c, double *out) {
    double v[32];
    for (int i = 0; i < s->m * s->n / 32; i++) {
        sim_acc_load(s->c, c, i, v);
        for (int l = 0; l < 32; l++) out[sim_acc_row(i, l) * 8 + sim_acc_col(i, l)] = v[l];
    }
}

static void store_acc(const SimMma *s, const double *in, SimReg *d) {
    double v[32];
    for (int i = 0; i < s->m * s->n / 32; i++) {
        for (int l = 0; l < 32; l++) v[l] = in[sim_acc_row(i, l) * 8 + sim_acc_col(i, l)];
        sim_acc_store(s->d, s->sat, v, d, i);
    }
}

/* f64 rounds at every step: a chain of fused multiply-adds in ascending k.  */
static void dense_f64(const SimMma *s, const double *a, const double *b, double *d) {
    for (int i = 0; i < s->m; i++) {
        for (int j = 0; j < s->n; j++) {
            double *to = &d[i * s->n + j];
            for (int k = 0; k < s->k; k++) *to = fma(a[i * s->k + k], b[k * s->n + j], *to);
        }
    }
}

/* m8n8k4 of f16: four products, each by lanes 4q..4q+3 and 16+4q..16+4q+3.  */
typedef struct {
    int row, col;
} Place2;

static Place2 volta_operand(bool along_k, int half, int t, int i) {
    return along_k ? (Place2){t + 4 * half, i} : (Place2){i + 4 * half, t};
}

static Place2 volta_acc(PtxType e, int half, int t, int i) {
    if (e == PTX_F16) return (Place2){t + 4 * half, i};
    return (Place2){(t & 1) + (i & 2) + 4 * half, (i & 4) + (t & 2) + (i & 1)};
}

/* Lane p of the eight that work on quad `quad`.  */
static int volta_lane(int quad, int p) { return quad * 4 + p / 4 * 16 + p % 4; }

static void volta_quad(const SimMma *s, const SimReg *a, const SimReg *b, const SimReg *c,
                       SimReg *d, int quad) {
    double am[8 * 4], bm[4 * 8], dm[8 * 8], v[32];
    for (int i = 0; i < 4; i++) {
        sim_acc_load(PTX_F16, a, i, v);
        for (int p = 0; p < 8; p++) {
            Place2 at = volta_operand(!s->a_col, p / 4, p % 4, i);
            am[at.row * 4 + at.col] = v[volta_lane(quad, p)];
        }
        sim_acc_load(PTX_F16, b, i, v);
        for (int p = 0; p < 8; p++) {
            Place2 at = volta_operand(!s->b_row, p / 4, p % 4, i);
            bm[at.col * 8 + at.row] = v[volta_lane(quad, p)];
        }
    }
    for (int i = 0; i < 8; i++) {
        sim_acc_load(s->c, c, i, v);
        for (int p = 0; p < 8; p++) {
            Place2 at = volta_acc(s->c, p / 4, p % 4, i);
            dm[at.row * 8 + at.col] = v[volta_lane(quad, p)];
        }
    }
    sim_dense(8, 8, 4, am, bm, dm);
    for (int i = 0; i < 8; i++) {
        sim_acc_load(s->d, d, i, v);
        for (int p = 0; p < 8; p++) {
            Place2 at = volta_acc(s->d, p / 4, p % 4, i);
            v[volta_lane(quad, p)] = dm[at.row * 8 + at.col];
        }
        sim_acc_store(s->d, false, v, d, i);
    }
}

/* ---- scales of blocks ---- */

/* Of a, rows r and r + 8 are with two lanes of the four of group r, the first or the last two of
 * them; of b, column c is with one of the four (PTX ISA, "Scaling factor A fragment", "B").  A lane
 * has a row's scales in bytes from `byte` on.  */
static int scale_lane(const SimScales *x, bool of_a, int row) {
    return of_a ? row % 8 * 4 + x->thread * 2 + row / 8 : row * 4 + x->thread;
}

bool sim_mma_selects(const SimMma *s, const SimScales *of_a, const SimScales *of_b) {
    const SimScales *const x[] = {of_a, of_b};
    for (int i = 0; i < 2; i++) {
        int threads = i ? 4 : 2;
        if (x[i]->byte < 0 || x[i]->byte % s->scales || x[i]->byte >= 4) return false;
        if (x[i]->thread < 0 || x[i]->thread >= threads) return false;
    }
    return true;
}

/* Multiplies rows of k elements by their scales.  */
static void apply(const SimMma *s, const SimScales *x, bool of_a, double *rows) {
    int n = of_a ? s->m : s->n, block = s->k / s->scales;
    for (int i = 0; i < n; i++) {
        uint32_t word = x->lane[scale_lane(x, of_a, i)];
        for (int k = 0; k < s->k; k++) {
            uint8_t bits = (uint8_t)(word >> 8 * (x->byte + k / block));
            double by = s->scale == PTX_UE8M0 ? num_ue8m0_decode(bits) : num_ue4m3_decode(bits);
            rows[i * s->k + k] *= by;
        }
    }
}

static void decode(const SimMma *s, PtxType e, const uint32_t *words, int rows, double *out) {
    size_t n = (size_t)(rows * s->k);
    if (container_bits(s, e) == 4) sim_pairs_decode(words, n, out);
    else sim_elem_decode(e, words, n, out);
}

void sim_mma(const SimMma *s, const SimReg *a, const SimReg *b, const SimReg *c,
             const SimScales *scales, SimReg *d) {
    if (is_volta(s)) {
        for (int quad = 0; quad < 4; quad++) volta_quad(s, a, b, c, d, quad);
        return;
    }
    SimMmaRegs regs;
    sim_mma_valid(s, &regs);
    bool wide = s->a == PTX_F64;
    int row_words = s->k * container_bits(s, s->a) / (wide ? 64 : 32);
    uint32_t words[16 * 16 * 2];
    double am[16 * 64], bm[64 * 8], bt[64 * 8], dm[16 * 8];
    load_words(a, regs.a, s->m, row_words, wide, words);
    decode(s, s->a, words, s->m, am);
    load_words(b, regs.b, s->n, row_words, wide, words);
    decode(s, s->b, words, s->n, bt);
    if (scales) {
        apply(s, &scales[0], true, am);
        apply(s, &scales[1], false, bt);
    }
    transpose(s->n, s->k, bt, bm);
    load_acc(s, c, dm);
    if (wide) {
        dense_f64(s, am, bm, dm);
    } else {
        sim_dense(s->m, s->n, s->k, am, bm, dm);
    }
    store_acc(s, dm, d);
}
