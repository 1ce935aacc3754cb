#include "base/numeric.h"
#include "sim/matrix.h"

#include <math.h>
#include <string.h>

typedef enum { CLASS_HALF, CLASS_TF32, CLASS_FP8, CLASS_INT, CLASS_F64, CLASS_NONE } ElemClass;

static ElemClass elem_class(PtxType e) {
    switch (e) {
    case PTX_F16:
    case PTX_BF16: return CLASS_HALF;
    case PTX_TF32: return CLASS_TF32;
    case PTX_E4M3:
    case PTX_E5M2: return CLASS_FP8;
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
    {CLASS_FP8, 16, 8, 32},  {CLASS_INT, 8, 8, 16},   {CLASS_INT, 16, 8, 16},
    {CLASS_INT, 16, 8, 32},  {CLASS_F64, 8, 8, 4},    {CLASS_F64, 16, 8, 4},
    {CLASS_F64, 16, 8, 8},   {CLASS_F64, 16, 8, 16},
};

static bool acc_valid(ElemClass class, PtxType a, PtxType acc) {
    switch (class) {
    case CLASS_INT: return acc == PTX_S32;
    case CLASS_F64: return acc == PTX_F64;
    case CLASS_TF32: return acc == PTX_F32;
    default: return acc == PTX_F32 || (acc == PTX_F16 && a != PTX_BF16);
    }
}

static bool is_volta(const SimMma *s) { return s->k == 4 && elem_class(s->a) == CLASS_HALF; }

bool sim_mma_valid(const SimMma *s, SimMmaRegs *regs) {
    ElemClass class = elem_class(s->a);
    bool mixed = class == CLASS_INT || class == CLASS_FP8;
    if (elem_class(s->b) != class || (!mixed && s->a != s->b)) return false;
    if (!acc_valid(class, s->a, s->c) || !acc_valid(class, s->a, s->d)) return false;
    if (s->sat && class != CLASS_INT) return false;
    if (is_volta(s) && s->a != PTX_F16) return false;
    if ((s->a_col || s->b_row) && !is_volta(s)) return false;
    bool found = false;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        found |= shapes[i].class == class && shapes[i].m == s->m && shapes[i].n == s->n &&
                 shapes[i].k == s->k;
    }
    int bits = sim_type_bits(s->a), warp = is_volta(s) ? 8 : 32;  /* lanes that share a product */
    *regs = (SimMmaRegs){s->m * s->k * bits / 32 / warp, s->k * s->n * bits / 32 / warp,
                         s->m * s->n * sim_type_bits(s->c) / 32 / warp,
                         s->m * s->n * sim_type_bits(s->d) / 32 / warp};
    return found;
}

/* In units of one register (a word of 4 bytes, 8 for f64), row g of A is split over four lanes: lane
 * 4g+t holds words t, t+4, ... of rows g and g+8.  B is the same with columns for rows.  */
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

/* Accumulator register images to and from a row-major matrix; f16 packs two columns.  */
static double acc_element(PtxType e, const SimReg *regs, int i, int lane) {
    double v;
    if (e == PTX_F16) {
        v = num_f16_decode((uint16_t)(regs[i / 2].lane[lane] >> (i % 2 * 16)));
    } else if (e == PTX_F64) {
        uint64_t bits = regs[2 * i].lane[lane] | (uint64_t)regs[2 * i + 1].lane[lane] << 32;
        memcpy(&v, &bits, 8);
    } else {
        sim_elem_decode(e, &regs[i].lane[lane], 1, &v);
    }
    return v;
}

static void store_element(PtxType e, bool sat, double v, SimReg *regs, int i, int lane) {
    if (e == PTX_F16) {
        int shift = i % 2 * 16;
        uint32_t *to = &regs[i / 2].lane[lane];
        *to = (*to & ~(0xffffu << shift)) | sim_round_acc(e, v, sat) << shift;
    } else if (e == PTX_F64) {
        uint64_t bits;
        memcpy(&bits, &v, 8);
        regs[2 * i].lane[lane] = (uint32_t)bits;
        regs[2 * i + 1].lane[lane] = (uint32_t)(bits >> 32);
    } else {
        regs[i].lane[lane] = sim_round_acc(e, v, sat);
    }
}

static void load_acc(const SimMma *s, const SimReg *c, double *out) {
    for (int i = 0; i < s->m * s->n / 32; i++) {
        for (int lane = 0; lane < 32; lane++) {
            out[sim_acc_row(i, lane) * 8 + sim_acc_col(i, lane)] = acc_element(s->c, c, i, lane);
        }
    }
}

static void store_acc(const SimMma *s, const double *in, SimReg *d) {
    for (int i = 0; i < s->m * s->n / 32; i++) {
        for (int lane = 0; lane < 32; lane++) {
            double v = in[sim_acc_row(i, lane) * 8 + sim_acc_col(i, lane)];
            store_element(s->d, s->sat, v, d, i, lane);
        }
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

static void volta_quad(const SimMma *s, const SimReg *a, const SimReg *b, const SimReg *c, SimReg *d,
                       int quad) {
    double am[8 * 4], bm[4 * 8], dm[8 * 8];
    for (int p = 0; p < 8; p++) {
        int half = p / 4, t = p % 4, lane = quad * 4 + half * 16 + t;
        for (int i = 0; i < 4; i++) {
            Place2 at = volta_operand(!s->a_col, half, t, i), bt = volta_operand(!s->b_row, half, t, i);
            am[at.row * 4 + at.col] = acc_element(PTX_F16, a, i, lane);
            bm[bt.col * 8 + bt.row] = acc_element(PTX_F16, b, i, lane);
        }
        for (int i = 0; i < 8; i++) {
            Place2 ct = volta_acc(s->c, half, t, i);
            dm[ct.row * 8 + ct.col] = acc_element(s->c, c, i, lane);
        }
    }
    sim_dense(8, 8, 4, am, bm, dm);
    for (int p = 0; p < 8; p++) {
        int half = p / 4, t = p % 4, lane = quad * 4 + half * 16 + t;
        for (int i = 0; i < 8; i++) {
            Place2 dt = volta_acc(s->d, half, t, i);
            store_element(s->d, false, dm[dt.row * 8 + dt.col], d, i, lane);
        }
    }
}

void sim_mma(const SimMma *s, const SimReg *a, const SimReg *b, const SimReg *c, SimReg *d) {
    if (is_volta(s)) {
        for (int quad = 0; quad < 4; quad++) volta_quad(s, a, b, c, d, quad);
        return;
    }
    SimMmaRegs regs;
    sim_mma_valid(s, &regs);
    bool wide = s->a == PTX_F64;
    int row_words = s->k * sim_type_bits(s->a) / (wide ? 64 : 32);
    uint32_t words[16 * 16 * 2];
    double am[16 * 32], bm[32 * 8], bt[32 * 8], dm[16 * 8];
    load_words(a, regs.a, s->m, row_words, wide, words);
    sim_elem_decode(s->a, words, (size_t)(s->m * s->k), am);
    load_words(b, regs.b, s->n, row_words, wide, words);
    sim_elem_decode(s->b, words, (size_t)(s->n * s->k), bt);
    transpose(s->n, s->k, bt, bm);
    load_acc(s, c, dm);
    if (wide) {
        dense_f64(s, am, bm, dm);
    } else {
        sim_dense(s->m, s->n, s->k, am, bm, dm);
    }
    store_acc(s, dm, d);
}
