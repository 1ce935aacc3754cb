/* wmma: matrices of a warp whose registers are nobody's business.
 *
 * Which thread has which element is left to the device (PTX ISA, "wmma"); here element e of a
 * matrix, row by row, is slot e / 32 of lane e % 32.  Fragments of f16 have twice as many places as
 * elements, the second half being a copy.  */
#include "sim/async/matrix.h"
#include "sim/state/memory_state.h"
#include "sim/state/order.h"
#include "sim/lane/pick.h"
#include "sim/state/race.h"
#include <math.h>
#include <string.h>

enum { MOST_ELEMENTS = 512, MOST_REGISTERS = 16 };

typedef struct {
    PtxType type;
    int rows, cols, bits;
    bool by_column;           /* how memory has it */
    int registers, slots;     /* slots: elements of a lane */
} Fragment;
typedef struct {
    int m, n, k;
    Fragment a, b, c, d;
    bool sat;
} Product;

/* ---- memory ---- */

static int element_of(const Fragment *f, int slot, int lane) {
    return (slot * LANES + lane) % (f->rows * f->cols);
}

/* Where the element is; NULL after a fault.  */
static unsigned char *place(SimLane by, uint64_t at, uint32_t bytes, bool store) {
    PtxSpace space = (PtxSpace)by.i->space;
    uint32_t offset;
    if (space == SPACE_GENERIC) space = sim_classify(at);
    if (space != SPACE_SHARED) {
        unsigned char *host = sim_global(by, at, bytes, bytes, store);
        bool ordered = host && !store && by.w->block->cluster->run->order;
        if (ordered) sim_order_read(by.w->block, by.i, by.w->id * LANES + by.lane, at, bytes);
        return host;
    }
    SimBlock *b = sim_shared(by, (uint32_t)at, bytes, bytes, &offset);
    if (!b) return NULL;
    bool good =
        store ? sim_shadow_write(by, b, offset, bytes) : sim_shadow_read(by, b, offset, bytes);
    return good ? b->smem + offset : NULL;
}

static uint64_t get(const SimWarp *w, const SimOpnd *o, const Fragment *f, int slot, int lane) {
    if (f->bits == 64) return sim_u64(w, o->slot[slot])[lane];
    int per = 32 / f->bits;
    return sim_u32(w, o->slot[slot / per])[lane] >> (slot % per * f->bits);
}

static void put(SimWarp *w, const SimOpnd *o, const Fragment *f, int slot, int lane, uint64_t v) {
    if (f->bits == 64) {
        sim_u64(w, o->slot[slot])[lane] = v;
        return;
    }
    int per = 32 / f->bits, shift = slot % per * f->bits;
    uint32_t *to = &sim_u32(w, o->slot[slot / per])[lane];
    uint32_t mask = f->bits == 32 ? 0xffffffffu : ((1u << f->bits) - 1) << shift;
    *to = (*to & ~mask) | ((uint32_t)v << shift & mask);
}

static void exec_move(SimWarp *w, const SimInst *i, uint32_t active) {
    const Fragment *f = i->extra;
    bool store = i->ptx->op == OP_WMMA_STORE;
    const SimOpnd *address = &i->opnd[store ? 0 : 1], *values = &i->opnd[store ? 1 : 0];
    uint32_t bytes = (uint32_t)f->bits / 8;
    if (active != FULL_WARP) {
        sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_DIVERGENT, "wmma needs all 32 lanes");
        return;
    }
    uint64_t base = sim_address(w, address, 0);
    int64_t line = f->by_column ? f->rows : f->cols;
    if (i->n_opnd > 2) line = (int32_t)sim_u32(w, i->opnd[2].slot[0])[0];
    for (int slot = 0; slot < f->slots; slot++) {
        uint64_t at[LANES];
        uint32_t lanes = 0;
        for (int l = 0; l < LANES; l++) {
            int e = element_of(f, slot, l), row = e / f->cols, col = e % f->cols;
            int64_t index = f->by_column ? col * line + row : row * line + col;
            at[l] = base + (uint64_t)(index * (int64_t)bytes);
            if (store && slot * LANES + l >= f->rows * f->cols) continue;
            unsigned char *host = place(sim_lane(w, i, l), at[l], bytes, store);
            if (!host) return;
            uint64_t v = store ? get(w, values, f, slot, l) : 0;
            if (store) {
                memcpy(host, &v, bytes);
            } else {
                memcpy(&v, host, bytes);
                put(w, values, f, slot, l, v);
            }
            lanes |= 1u << l;
        }
        bool global = sim_classify(at[0]) == SPACE_GLOBAL && i->space != SPACE_SHARED;
        if (global && !w->block->cluster->run->options->no_counters) {
            sim_count_global(w, lanes, at, (int)bytes, store);
        }
    }
}

/* ---- product ---- */

static void decode(const SimWarp *w, const SimOpnd *o, const Fragment *f, double *out) {
    unsigned char packed[MOST_ELEMENTS * 8];
    size_t bytes = (size_t)f->bits / 8, n = (size_t)(f->rows * f->cols);
    for (size_t e = 0; e < n; e++) {
        uint64_t v = get(w, o, f, (int)(e / LANES), (int)(e % LANES));
        memcpy(packed + e * bytes, &v, bytes);
    }
    sim_elem_decode(f->type, packed, n, out);
}

static void registers(SimWarp *w, const SimOpnd *o, const Fragment *f, SimReg *reg, bool store) {
    for (int r = 0; r < f->registers; r++) {
        for (int l = 0; l < LANES; l++) {
            if (f->bits < 64) {
                uint32_t *at = &sim_u32(w, o->slot[r])[l];
                if (store) *at = reg[r].lane[l];
                else reg[r].lane[l] = *at;
            } else {
                uint64_t *at = &sim_u64(w, o->slot[r])[l];
                if (store) *at = reg[2 * r].lane[l] | (uint64_t)reg[2 * r + 1].lane[l] << 32;
                reg[2 * r].lane[l] = (uint32_t)*at;
                reg[2 * r + 1].lane[l] = (uint32_t)(*at >> 32);
            }
        }
    }
}

static void multiply(const Product *p, const double *a, const double *b, double *d) {
    if (p->a.type != PTX_F64) {
        sim_dense(p->m, p->n, p->k, a, b, d);
        return;
    }
    for (int e = 0; e < p->m * p->n; e++) {              /* rounds at every step */
        for (int k = 0; k < p->k; k++) {
            d[e] = fma(a[e / p->n * p->k + k], b[k * p->n + e % p->n], d[e]);
        }
    }
}

static void exec_product(SimWarp *w, const SimInst *i, uint32_t active) {
    const Product *p = i->extra;
    double a[MOST_ELEMENTS], b[MOST_ELEMENTS], d[MOST_ELEMENTS], v[LANES];
    SimReg reg[MOST_REGISTERS];
    if (active != FULL_WARP) {
        sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_DIVERGENT, "wmma needs all 32 lanes");
        return;
    }
    decode(w, &i->opnd[1], &p->a, a);
    decode(w, &i->opnd[2], &p->b, b);
    registers(w, &i->opnd[3], &p->c, reg, false);
    for (int slot = 0; slot < p->c.slots; slot++) {
        sim_acc_load(p->c.type, reg, slot, v);
        memcpy(d + slot * LANES, v, sizeof v);
    }
    multiply(p, a, b, d);
    memset(reg, 0, sizeof reg);
    for (int slot = 0; slot < p->d.slots; slot++) {
        memcpy(v, d + slot * LANES, sizeof v);
        sim_acc_store(p->d.type, p->sat, v, reg, slot);
    }
    registers(w, &i->opnd[0], &p->d, reg, true);
}

/* ---- choice ---- */

/* Operand types, and the shapes that they come in.  */
static bool shape_exists(PtxType t, int m, int n, int k) {
    if (t == PTX_F64) return m == 8 && n == 8 && k == 4;
    if (t == PTX_TF32) return m == 16 && n == 16 && k == 8;
    bool wide = (m == 16 && n == 16) || (m == 8 && n == 32) || (m == 32 && n == 8);
    return wide && k == 16;
}

static Fragment fragment(char part, PtxType t, const PtxInst *p, bool by_column) {
    Fragment f = {.type = t, .bits = sim_type_bits(t), .by_column = by_column};
    f.rows = part == 'b' ? p->k : p->m;
    f.cols = part == 'a' ? p->k : p->n;
    bool twice = t == PTX_F16 && part != 'c';
    f.slots = f.rows * f.cols / LANES;
    if (twice) f.slots = 16;
    f.registers = f.bits == 64 ? f.slots : f.slots * f.bits / 32;
    return f;
}

static bool check(SimPick *k, int operand, const Fragment *f) {
    if (!sim_want_bits(k, operand, f->bits == 64 ? 64 : 32)) return false;
    if (k->i->opnd[operand].n == f->registers) return true;
    sim_pick_fail(k, "needs %d registers as operand %d", f->registers, operand + 1);
    return false;
}

/* .row or .col, the n-th written.  */
static bool is_column(const PtxInst *p, int n) {
    for (int e = 0; e < p->n_order; e++) {
        if (p->order[e] != MOD_ROW && p->order[e] != MOD_COL) continue;
        if (n-- == 0) return p->order[e] == MOD_COL;
    }
    return false;
}

static SimExec *pick_move(SimPick *k) {
    const PtxInst *p = k->p;
    char part = p->op == OP_WMMA_LOAD_A ? 'a' : p->op == OP_WMMA_LOAD_B ? 'b' : 'c';
    bool store = p->op == OP_WMMA_STORE;
    PtxType t = sim_take_type(k);
    bool known = part == 'c' ? t == PTX_F16 || t == PTX_F32 || t == PTX_S32 || t == PTX_F64
                             : t == PTX_F16 || t == PTX_BF16 || t == PTX_TF32 || t == PTX_F64 ||
                                   t == PTX_U8 || t == PTX_S8;
    bool tf32 = part == 'c' && t == PTX_F32 && p->k == 8;
    if (!known || !shape_exists(tf32 ? PTX_TF32 : t, p->m, p->n, p->k)) {
        return sim_pick_fail(k, "has an unknown type or shape");
    }
    k->i->space = (uint8_t)sim_take_space(k);
    if (k->i->space == SPACE_SHARED_CLUSTER) k->i->space = SPACE_SHARED;
    Fragment *f = ARENA_NEW(k->arena, Fragment);
    *f = fragment(part, t, p, is_column(p, 0));
    k->i->extra = f;
    if (!check(k, store ? 1 : 0, f)) return NULL;
    return p->n_opnd < 3 || sim_want_bits(k, 2, 32) ? exec_move : NULL;
}

static SimExec *pick_product(SimPick *k) {
    const PtxInst *p = k->p;
    bool half = p->n_type == 2;              /* f16 operands are not written */
    PtxType d = sim_take_type(k), a = half ? PTX_F16 : sim_take_type(k);
    PtxType b = half ? PTX_F16 : sim_take_type(k), c = sim_take_type(k);
    Product *x = ARENA_NEW(k->arena, Product);
    *x = (Product){.m = p->m, .n = p->n, .k = p->k, .sat = sim_take(k, MOD_SATFINITE)};
    bool accumulates = a == PTX_F16                     ? (c == PTX_F16 || c == PTX_F32) &&
                                                              (d == PTX_F16 || d == PTX_F32)
                       : a == PTX_BF16 || a == PTX_TF32 ? c == PTX_F32 && d == PTX_F32
                       : a == PTX_F64                   ? c == PTX_F64 && d == PTX_F64
                       : a == PTX_U8 || a == PTX_S8     ? c == PTX_S32 && d == PTX_S32
                                                        : false;
    sim_take(k, MOD_RN);
    if (a != b || !accumulates || !shape_exists(a, p->m, p->n, p->k) ||
        (x->sat && c != PTX_S32)) {
        return sim_pick_fail(k, "has unknown types or an unknown shape");
    }
    x->a = fragment('a', a, p, is_column(p, 0));
    x->b = fragment('b', b, p, is_column(p, 1));
    x->c = fragment('c', c, p, false);
    x->d = fragment('c', d, p, false);
    k->i->extra = x;
    k->i->flops = (uint16_t)(2 * p->m * p->n * p->k / LANES);
    bool good = check(k, 0, &x->d) && check(k, 1, &x->a) && check(k, 2, &x->b) &&
                check(k, 3, &x->c);
    return good ? exec_product : NULL;
}

SimExec *sim_pick_wmma(SimPick *k) {
    if (!sim_take(k, MOD_SYNC) || !sim_take(k, MOD_ALIGNED)) {
        return sim_pick_fail(k, "needs .sync.aligned");
    }
    sim_take(k, MOD_ROW);
    sim_take(k, MOD_COL);
    return k->p->op == OP_WMMA_MMA ? pick_product(k) : pick_move(k);
}
