/* tcgen05.mma.  */
#include "sim/async/tmem.h"
#include "sim/timing/timing.h"

#include <string.h>

static int operand_chunks(SimLane by, int operand, const TmemProduct *p, bool of_a, uint32_t *at) {
    uint64_t bits = tmem_descriptor_of(by, operand);
    SimDescriptor d;
    bool mn = of_a ? p->a_mn : p->b_mn;
    int bytes = tmem_is_packed(p->kind) ? 1 : sim_type_bits(of_a ? p->a : p->b) / 8;
    const char *why = tmem_descriptor(bits, mn, bytes, &d);
    int n = why ? 0 : sim_operand_chunks(&d, mn, bytes, 0, tmem_rows(p, of_a), at);
    if (!tmem_claim(by, bits, why, n, at)) return 0;
    SimBlock *peer = tmem_peer(by.w->block);
    return p->blocks == 1 || tmem_claim_peer(by, peer, n, at) ? n : 0;
}

static void gather(const SimBlock *b, const uint32_t *at, int n, uint8_t *out) {
    for (int c = 0; c < n; c++) memcpy(out + 16 * c, b->smem + at[c], 16);
}

typedef struct {
    TmemProductKind kind;
    bool a_in_tmem, has_mask, pair;
    int scales;               /* of a row */
    int a, b, idesc, scale_a, scale_b, mask, accumulate, shrink;   /* operands; 0: none */
} ProductInst;

/* The lane of row m: all 128; of 64 rows 16 of each warp's, or both halves of the lanes (PTX ISA,
 * data path layouts A and D, F, B).  */
static uint32_t row_lane(const TmemProduct *p, uint32_t base, int m) {
    if (p->m == 128 || tmem_folds(p)) return (uint32_t)m;
    return base + (uint32_t)(m % 16 + 32 * (m / 16));
}

/* The columns that a block's results take.  */
static int result_columns(const TmemProduct *p) { return tmem_folds(p) ? p->n / 2 : p->n; }

static int a_columns(const TmemProduct *p) { return tmem_row_bytes(p) / 4; }

/* Applies read or write to columns of a product's rows.  */
static bool each_row(uint32_t access, const TmemWork *k, SimBlock *b, uint32_t address,
                     int columns, bool touch(uint32_t, SimBlock *, TmemPart)) {
    bool all = k->product.m == 128 || tmem_folds(&k->product);
    uint32_t step = all ? TMEM_LANES : 32, lanes = all ? TMEM_LANES : 16;
    for (uint32_t lane = tmem_lane(address); lane < TMEM_LANES; lane += step) {
        TmemPart part = {lane, lanes, tmem_column(address), (uint32_t)columns};
        if (!touch(access, b, part)) return false;
    }
    return true;
}

/* Scales of m rows: 32 to a column, repeated in all four parts of 32 lanes.  */
static TmemPart scales_of(uint32_t address, int rows) {
    return (TmemPart){0, TMEM_LANES, tmem_column(address), (uint32_t)(rows + 31) / 32};
}

static bool touches(TmemWork *k, SimBlock *b, uint32_t access) {
    const TmemProduct *p = &k->product;
    int columns = result_columns(p);
    bool good = !k->a_in_tmem || each_row(access, k, b, k->a, a_columns(p), tmem_read);
    if (good && p->scales)
        good = tmem_read(access, b, scales_of(k->scale_a, p->m)) &&
               tmem_read(access, b, scales_of(k->scale_b, p->n));
    if (good && k->accumulate) good = each_row(access, k, b, k->d, columns, tmem_read);
    return good && each_row(access, k, b, k->d, columns, tmem_write);
}

/* An access of its own, equal in shape to those of as many rows, columns and blocks.  */
static bool touches_all(TmemWork *k) {
    const TmemProduct *p = &k->product;
    SimBlock *b = k->by.w->block;
    uint64_t shape = (uint64_t)k->d << 32 | (uint32_t)(p->m * p->blocks) << 16 |
                     (uint32_t)p->n << 4 | (uint32_t)p->kind;
    uint32_t access = tmem_access(TMEM_MMA, k->by, shape << 1 | (p->blocks > 1));
    return touches(k, b, access) && (p->blocks == 1 || touches(k, tmem_peer(b), access));
}

/* The values of an operand's scales, which must be the same in all four parts.  */
static bool take_scales(TmemWork *k, const TensorMemory *t, bool of_a, double *values) {
    uint32_t cell[256];
    const TmemProduct *p = &k->product;
    uint32_t column = tmem_column(of_a ? k->scale_a : k->scale_b);
    uint32_t used = UINT32_MAX >> (32 - 8 * p->scales);
    int shift = 8 * (of_a ? p->scale_a : p->scale_b), rows = of_a ? p->m : p->n;
    for (int r = 0; r < rows; r++) {
        const uint32_t *lanes = t->cell[column + (uint32_t)r / 32];
        cell[r] = lanes[r % 32] >> shift & used;
        for (int part = 32; part < TMEM_LANES; part += 32) {
            if ((lanes[part + r % 32] >> shift & used) == cell[r]) continue;
            sim_fault(k->by, SIM_TENSOR_MEMORY,
                      "the scale of row %d differs between the four parts of Tensor Memory", r);
            return false;
        }
    }
    tmem_scale(p, rows, cell, values);
    return true;
}

static void accumulators(TmemWork *k, TensorMemory *t, bool store) {
    const TmemProduct *p = &k->product;
    double v[LANES], shrink = 1.0 / (1 << k->shrink);
    int group = p->m == 128 || tmem_folds(p) ? 32 : 16, columns = result_columns(p);
    for (int m = 0; m < p->m; m += group) {
        for (int n = 0; n < p->n; n++) {
            uint32_t lane = row_lane(p, tmem_lane(k->d), m) + (uint32_t)(n / columns * p->m);
            uint32_t *cells = &t->cell[tmem_column(k->d) + (uint32_t)(n % columns)][lane];
            SimReg reg = {{0}};
            memcpy(reg.lane, cells, (size_t)group * 4);
            double *d = &t->scratch.d[m * p->n + n];
            if (!store) sim_acc_load(p->d, &reg, 0, v);
            for (int r = 0; r < group; r++) {
                if (store) v[r] = d[r * p->n];
                else d[r * p->n] = v[r] * shrink;
            }
            for (int r = group; r < LANES; r++) v[r] = 0;
            if (!store) continue;
            if (p->d == PTX_F16) memset(reg.lane, 0, sizeof reg.lane);
            sim_acc_store(p->d, p->sat, v, &reg, 0);
            for (int r = 0; r < group; r++) {
                uint32_t row = lane + (uint32_t)r;
                if (!(k->kept[row / 32] >> row % 32 & 1)) cells[r] = reg.lane[r];
            }
        }
    }
}

static void a_from_tmem(const TmemWork *k, const TensorMemory *t, uint8_t *bytes) {
    int columns = a_columns(&k->product);
    for (int m = 0; m < k->product.m; m++) {
        uint32_t lane = row_lane(&k->product, tmem_lane(k->a), m);
        for (int c = 0; c < columns; c++) {
            uint32_t column = tmem_column(k->a) + (uint32_t)c;
            memcpy(bytes + (m * columns + c) * 4, &t->cell[column][lane], 4);
        }
    }
}

/* Rows of B: its own, and behind those of the even block the odd one's.  */
static void gather_b(const TmemWork *k, SimBlock *b, TmemScratch *s) {
    const TmemProduct *p = &k->product;
    SimBlock *first = p->blocks > 1 && b->rank % 2 ? tmem_peer(b) : b;
    for (int n = 0; n < p->blocks; n++) {
        gather(n ? tmem_peer(first) : first, k->b_at, k->n_b, s->bytes);
        tmem_operand(p, false, s->bytes, s->b + n * tmem_rows(p, false) * p->k, s->turned);
    }
}

/* The results that a block has.  */
static void multiply_in(TmemWork *k, SimBlock *b) {
    TensorMemory *t = tmem_of(b);
    TmemScratch *s = &t->scratch;
    const TmemProduct *p = &k->product;
    if (k->a_in_tmem) a_from_tmem(k, t, s->bytes);
    else gather(b, k->a_at, k->n_a, s->bytes);
    tmem_operand(p, true, s->bytes, s->a, s->turned);
    gather_b(k, b, s);
    if (p->scales &&
        (!take_scales(k, t, true, s->a) || !take_scales(k, t, false, s->b)))
        return;
    if (k->accumulate) accumulators(k, t, false);
    else memset(s->d, 0, (size_t)(p->m * p->n) * sizeof *s->d);
    tmem_multiply(p, s);
    accumulators(k, t, true);
}

static void multiply(TmemWork *k, SimBlock *b) {
    multiply_in(k, b);
    if (k->product.blocks > 1) multiply_in(k, tmem_peer(b));
}

/* Why Tensor Memory is addressed wrongly, or NULL.  */
static const char *misplaced(const TmemWork *k) {
    uint32_t lane = tmem_lane(k->d);
    bool half = k->product.m == 64 && !tmem_folds(&k->product);
    if (lane && (!half || lane != 16)) return "accumulators begin at lane 0, or 16 with an M of 64";
    if (k->a_in_tmem && k->product.a_mn) return "A in Tensor Memory cannot be transposed";
    if (k->a_in_tmem && tmem_lane(k->a) != lane)
        return "A in Tensor Memory begins at the lane of its accumulators";
    if (tmem_lane(k->scale_a) || tmem_lane(k->scale_b)) return "scales begin at lane 0";
    return NULL;
}

static bool read_operands(TmemWork *k, const ProductInst *x) {
    SimLane by = k->by;
    uint32_t bits = sim_u32(by.w, by.i->opnd[x->idesc].slot[0])[by.lane];
    const char *why = tmem_product(x->kind, x->scales, bits, x->pair ? 2 : 1, &k->product);
    k->d = tmem_address_of(by, 0);
    k->a_in_tmem = x->a_in_tmem;
    if (x->a_in_tmem) k->a = tmem_address_of(by, x->a);
    if (x->scale_a) k->scale_a = tmem_address_of(by, x->scale_a);
    if (x->scale_b) k->scale_b = tmem_address_of(by, x->scale_b);
    k->accumulate = sim_pred_of(by.w, &by.i->opnd[x->accumulate]) >> by.lane & 1;
    if (x->shrink) k->shrink = (int)*sim_u32(by.w, by.i->opnd[x->shrink].slot[0]);
    for (int n = 0; x->mask && n < 4; n++)
        k->kept[n] = sim_u32(by.w, by.i->opnd[x->mask].slot[n])[by.lane];
    if (why) {
        sim_fault(by, SIM_DESCRIPTOR, "the instruction descriptor 0x%08x %s", bits, why);
        return false;
    }
    why = misplaced(k);
    if (why) sim_fault(by, SIM_TENSOR_MEMORY, "%s", why);
    return !why;
}

/* The unit has 128 rows, or the 64 of each block of a pair whose columns lie in two halves.  */
static void take_time(const TmemWork *k) {
    const TmemProduct *p = &k->product;
    double rows = tmem_rows(p, false) + (k->a_in_tmem ? 0 : tmem_rows(p, true));
    sim_timer_product(k->by.w, &(SimProduct){SCOPE_WARPGROUP, p->blocks, tmem_folds(p) ? 64 : 128,
                                             p->n, p->k, p->scales, p->a, p->b, p->d},
                      rows * tmem_row_bytes(p));
}

static void exec_product(SimWarp *w, const SimInst *i, uint32_t active) {
    const ProductInst *x = i->extra;
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        TmemWork *k = tmem_work(by);
        if (!tmem_group(by, x->pair) || (x->pair && !tmem_leads(by))) return;
        if (!read_operands(k, x)) return;
        if (!x->a_in_tmem) {
            k->n_a = operand_chunks(by, x->a, &k->product, true, k->a_at);
            if (!k->n_a) return;
        }
        k->n_b = operand_chunks(by, x->b, &k->product, false, k->b_at);
        if (!k->n_b || !touches_all(k)) return;
        k->run = multiply;
        const TmemProduct *p = &k->product;
        w->block->count.flops +=
            (uint64_t)(2 * p->blocks) * (uint64_t)p->m * (uint64_t)p->n * (uint64_t)p->k;
        take_time(k);
        tmem_issue(k);
    }
}

static bool take_kind(SimPick *k, ProductInst *x) {
    static const struct {
        PtxMod mod;
        TmemProductKind kind;
    } kinds[] = {{MOD_KIND_F16, TMEM_F16},       {MOD_KIND_TF32, TMEM_TF32},
                 {MOD_KIND_F8F6F4, TMEM_F8F6F4}, {MOD_KIND_I8, TMEM_I8},
                 {MOD_KIND_MXF8F6F4, TMEM_MXF8F6F4},
                 {MOD_KIND_MXF4, TMEM_MXF4},     {MOD_KIND_MXF4NVF4, TMEM_MXF4NVF4}};
    for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
        if (!sim_take(k, kinds[n].mod)) continue;
        x->kind = kinds[n].kind;
        return true;
    }
    return false;
}

/* The operands behind idesc: scales, or which lanes are kept; whether to accumulate; a shift.  */
static const char *take_operands(SimPick *k, ProductInst *x, char *want) {
    const PtxOpnd *o = k->p->opnd;
    *x = (ProductInst){.kind = x->kind, .scales = x->scales, .pair = x->pair, .a = 1, .b = 2,
                       .idesc = 3};
    int n = 0;
    want[n++] = 'a';
    x->a_in_tmem = k->p->n_opnd > 1 && o[1].kind == OPND_ADDRESS;
    want[n++] = x->a_in_tmem ? 'a' : 'l';
    want[n++] = 'l';
    want[n++] = 'i';
    if (x->scales) {
        x->scale_a = n, x->scale_b = n + 1;
        want[n++] = 'a';
        want[n++] = 'a';
    } else if (k->p->n_opnd > n && o[n].kind == OPND_VECTOR) {
        if (o[n].n != 4) return "keeps lanes by a mask of 4 registers";
        x->mask = n;
        want[n++] = 'v';
    }
    x->accumulate = n;
    want[n++] = 'p';
    if (k->p->n_opnd > n) {
        bool shifts = x->kind == TMEM_F16 || x->kind == TMEM_TF32;
        if (!shifts || o[n].kind != OPND_INT || o[n].offset < 0 || o[n].offset > 15)
            return "scales its accumulators by an immediate of 0 to 15, of kinds f16 and tf32";
        x->shrink = n;
        want[n++] = 'i';
    }
    want[n] = 0;
    return NULL;
}

/* .block_scale, and how many scales a row has, which need not be written where the kind says it
 * (PTX ISA, "Scale vector size").  */
static const char *take_block(SimPick *k, ProductInst *x) {
    static const struct {
        PtxMod block, vector;
        TmemProductKind first, last;
        int scales;
    } forms[] = {{MOD_BLOCK32, MOD_SCALE_1X, TMEM_MXF8F6F4, TMEM_MXF8F6F4, 1},
                 {MOD_BLOCK32, MOD_SCALE_2X, TMEM_MXF4, TMEM_MXF4NVF4, 2},
                 {MOD_BLOCK16, MOD_SCALE_4X, TMEM_MXF4NVF4, TMEM_MXF4NVF4, 4}};
    if (!sim_take(k, MOD_BLOCK_SCALE)) return "needs .block_scale";
    for (size_t n = 0; n < sizeof forms / sizeof *forms; n++) {
        if (x->kind < forms[n].first || x->kind > forms[n].last) continue;
        x->scales = forms[n].scales;
        if (sim_take(k, forms[n].block) || sim_take(k, forms[n].vector)) return NULL;
        if (x->kind != TMEM_MXF4NVF4) return NULL;
    }
    return "needs the size of its blocks of scales, .block16 or .block32";
}

SimExec *sim_pick_tensor_product(SimPick *k) {
    ProductInst *x = ARENA_NEW(k->arena, ProductInst);
    if (!tmem_take_group(k, &x->pair)) return NULL;
    char want[PTX_MAX_OPERANDS];
    if (!take_kind(k, x)) return sim_pick_fail(k, "has no kind that the simulator knows");
    const char *why = tmem_is_scaled(x->kind) ? take_block(k, x) : NULL;
    if (why) return sim_pick_fail(k, "%s", why);
    sim_take(k, MOD_COLLECTOR_DISCARD);
    why = take_operands(k, x, want);
    if (why) return sim_pick_fail(k, "%s", why);
    if (x->pair && (x->a_in_tmem || x->mask))
        return sim_pick_fail(k, "of a pair has A in Tensor Memory or a mask of lanes, which the "
                                "simulator does not know");
    if (!async_want(k, want)) return NULL;
    k->i->extra = x;
    return exec_product;
}
