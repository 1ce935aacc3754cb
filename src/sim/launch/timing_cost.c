/* What each instruction of a kernel costs on a device, worked out once per launch.  */
#include "sim/linker/link.h"
#include "sim/async/matrix.h"
#include "sim/state/memory_state.h"
#include "sim/timing/timing.h"
#include "sim/async/wgmma.h"

#include <math.h>

/* Operations per clk and SM of the pipes that no unit of a profile describes.  */
static const double pipe_rate[SIM_PIPE_COUNT] = {
    [SIM_PIPE_FFMA] = 128, [SIM_PIPE_DFMA] = 2,   [SIM_PIPE_HFMA] = 128,   [SIM_PIPE_IMAD] = 64,
    [SIM_PIPE_ALU] = 64,   [SIM_PIPE_CVT] = 16,   [SIM_PIPE_MUFU] = 16,    [SIM_PIPE_SHFL] = 32,
    [SIM_PIPE_LSU] = 128,  [SIM_PIPE_TENSOR] = 1, [SIM_PIPE_CONTROL] = 64, [SIM_PIPE_UNIFORM] = 64,
};
double sim_pipe_rate(int pipe) { return pipe_rate[pipe]; }

typedef struct {
    Arena *arena;
    const Device *dev;
    SimTiming *timing;
    double parts;             /* subpartitions */
} Costs;

static uint32_t ticks(double clk) { return (uint32_t)(clk * SIM_TICKS + 0.5); }

static double figure(const Figure *f, double otherwise) {
    return f->value > 0 ? f->value : otherwise;
}

/* ---- units ---- */

/* What the pipe of an arithmetic instruction is called in a profile; NULL: not at all.  */
static const char *unit_name(const SimInst *i) {
    PtxType t = i->ptx->n_type ? i->ptx->type[0] : PTX_NONE;
    switch (i->ptx->op) {
    /* f16 to f32 is an addition of halves (HADD2.F32) on every GPU since sm_70.  */
    case OP_CVT: return i->ptx->n_type == 2 && t == PTX_F32 && i->ptx->type[1] == PTX_F16
                            ? "hfma2" : NULL;
    case OP_DP4A: return t == PTX_U32 ? "dp4a.u8" : "dp4a";
    case OP_EX2: return "mufu.ex2";
    case OP_LG2: return "mufu.lg2";
    case OP_RCP:
    case OP_DIV: return i->pipe == SIM_PIPE_MUFU ? "mufu.rcp" : NULL;
    case OP_RSQRT: return "mufu.rsq";
    case OP_SQRT: return "mufu.sqrt";
    case OP_SIN: return "mufu.sin";
    case OP_COS: return "mufu.cos";
    case OP_TANH: return "mufu.tanh";
    case OP_SHFL: return "shfl";
    case OP_REDUX: return "redux";
    default: break;
    }
    switch (i->pipe) {
    case SIM_PIPE_FFMA: return "ffma";
    case SIM_PIPE_DFMA: return "dfma";
    case SIM_PIPE_HFMA: return t == PTX_BF16 || t == PTX_BF16X2 ? "bfma2" : "hfma2";
    case SIM_PIPE_IMAD: return "imad";
    default: return NULL;
    }
}

/* The pipe of what no unit describes.  Integers become others by shifts and masks, bf16 f32 as its
 * upper half.  */
static int pipe_of(const SimInst *i) {
    const PtxType *t = i->ptx->type;
    if (i->ptx->op == OP_CVT && i->ptx->n_type == 2 &&
        ((ptx_is_int(t[0]) && ptx_is_int(t[1])) || (t[0] == PTX_F32 && t[1] == PTX_BF16)))
        return SIM_PIPE_ALU;
    return i->pipe < SIM_PIPE_COUNT ? i->pipe : SIM_PIPE_ALU;
}

static double latency_of(const Costs *c, const ComputeUnit *u, double own) {
    const ComputeUnit *ffma = hal_unit(c->dev, "ffma");
    double plain = ffma ? figure(&ffma->latency, 4) : 4;
    double clk = figure(&u->latency, u->scope == SCOPE_THREAD ? plain : own);
    return clk > own ? clk : own;
}

static void use_unit(const Costs *c, SimCost *x, int unit, double ops) {
    const ComputeUnit *u = &c->dev->unit[unit];
    double own = ops * c->parts / u->rate.value;
    x->work = unit;
    x->ops = (uint64_t)ops;
    x->own = (uint32_t)(own * SIM_TICKS);
    x->part = (uint32_t)((own * SIM_TICKS - x->own) * SIM_PARTS);
    x->latency = ticks(latency_of(c, u, own));
}

static void use_pipe(const Costs *c, SimCost *x, int pipe, double ops) {
    x->work = sim_work_pipe(c->timing, pipe);
    x->ops = (uint64_t)ops;
    x->own = ticks(ops * c->parts / pipe_rate[pipe]);
    x->latency = x->issue;
}

/* wmma becomes products of warps, which no unit describes.  What tcgen05.mma multiplies shows when
 * it is executed (timing/product.c).  */
static void product(const Costs *c, SimCost *x, const SimInst *i) {
    SimProduct p;
    double ops = 2.0 * LANES * i->flops / 2;
    bool known = true;
    if (i->ptx->op == OP_MMA) {
        const SimMma *s = i->extra;
        p = (SimProduct){SCOPE_WARP, 1, s->m, s->n, s->k, s->scales, s->a, s->b, s->d};
    } else if (i->ptx->op == OP_WGMMA) {
        const WgmmaInst *s = i->extra;
        p = (SimProduct){SCOPE_WARPGROUP, 1, 64, s->shape.n, s->shape.k, 0, s->shape.a,
                         s->shape.b, s->shape.d};
        x->kind = COST_WGMMA;
    } else if (i->ptx->op == OP_TC_MMA || i->ptx->op == OP_TC_CP) {
        return;
    } else {
        known = false;
    }
    int u = known ? sim_product_unit(c->dev, &p) : -1;
    if (u >= 0) use_unit(c, x, u, ops);
    else use_pipe(c, x, SIM_PIPE_TENSOR, ops / 1024);
}

static void arithmetic(const Costs *c, SimCost *x, const SimInst *i) {
    const char *name = unit_name(i);
    const ComputeUnit *u = name ? hal_unit(c->dev, name) : NULL;
    if (!u) {
        use_pipe(c, x, pipe_of(i), LANES);
        return;
    }
    double each = (double)u->m.from * u->n.from * u->k.from * (u->b == HAL_NO_DTYPE ? 1 : 2);
    use_unit(c, x, (int)(u - c->dev->unit), each * (u->scope == SCOPE_THREAD ? LANES : 1));
}

/* ---- memory ---- */

static const char *mover_name(const Costs *c, const SimInst *i, bool store) {
    const PtxInst *p = i->ptx;
    bool multicast = ptx_has(&p->mods, MOD_MULTICAST);
    int bits = 8 * i->bytes * i->count;
    switch (p->op) {
    case OP_ATOM: return "atom";
    case OP_RED: return "red";
    case OP_CP_ASYNC: {
        int64_t size = p->opnd[2].offset;
        return size == 16 ? "cp.async.16" : size == 8 ? "cp.async.8" : "cp.async.4";
    }
    case OP_BULK: return multicast ? "tma.multicast" : "cp.async.bulk";
    case OP_TMA:
        if (ptx_has(&p->mods, MOD_BULK_GROUP)) return "tma.store";
        if (multicast) return "tma.multicast";
        return ptx_has(&p->mods, MOD_IM2COL) ? "tma.im2col" : "tma.tile";
    case OP_BULK_REDUCE:
    case OP_TMA_REDUCE: return "tma.reduce";
    case OP_LDMATRIX: return "ldmatrix";
    case OP_STMATRIX: return "stmatrix";
    case OP_TC_LD: return "tcgen05.ld";
    case OP_TC_ST: return "tcgen05.st";
    case OP_TC_CP: return "tcgen05.cp";
    default: break;
    }
    if (i->space == SPACE_SHARED_CLUSTER) return "dsmem";
    if (bits > 128) bits = 128;
    return arena_printf(c->arena, "%s.%d", store ? "stg" : "ldg", bits);
}

static void use_mover(const Costs *c, SimCost *x, const SimInst *i) {
    const Mover *m = hal_mover(c->dev, mover_name(c, i, i->ptx->op == OP_ST));
    if (!m) return;
    x->mover = (int)(m - c->dev->mover);
    uint32_t cost = ticks(figure(&m->cost, 1));
    if (cost > x->issue) x->issue = cost;
}

static bool to_memory(const SimInst *i) {
    return i->space == SPACE_GLOBAL || i->space == SPACE_GENERIC ||
           i->space == SPACE_SHARED_CLUSTER;
}

static void memory(const Costs *c, SimCost *x, const SimInst *i) {
    const DeviceOverheads *o = &c->dev->overheads;
    x->latency = x->issue;
    switch (i->ptx->op) {
    case OP_LD:
    case OP_LDU:
    case OP_ST:
        if (to_memory(i)) use_mover(c, x, i);
        if (i->space == SPACE_PARAM || i->space == SPACE_CONST) return;
        x->kind = i->space == SPACE_GLOBAL || i->space == SPACE_GENERIC ? COST_GLOBAL : COST_SHARED;
        return;
    case OP_LDMATRIX:
    case OP_STMATRIX:
        use_mover(c, x, i);
        x->kind = COST_SHARED;
        return;
    case OP_TC_LD:
    case OP_TC_ST:
        use_mover(c, x, i);
        x->kind = COST_TENSOR;
        return;
    case OP_ATOM:
    case OP_RED:
        use_mover(c, x, i);
        x->kind = COST_ATOMIC;
        return;
    case OP_CP_ASYNC:
    case OP_BULK:
    case OP_BULK_REDUCE:
    case OP_TMA:
    case OP_TMA_REDUCE:
    case OP_ST_ASYNC:
    case OP_RED_ASYNC:
        if (i->ptx->op != OP_ST_ASYNC && i->ptx->op != OP_RED_ASYNC) use_mover(c, x, i);
        x->kind = COST_ASYNC;
        return;
    case OP_MBAR_ARRIVE:
    case OP_MBAR_DROP:
        x->kind = COST_ARRIVE;
        x->latency = ticks(figure(&o->mbarrier, 1));
        return;
    case OP_MBAR_TRY:
    case OP_MBAR_TEST:
    case OP_CP_ASYNC_WAIT:
    case OP_CP_ASYNC_WAIT_ALL:
    case OP_BULK_WAIT: x->kind = COST_WAIT; return;
    default: return;
    }
}

/* ---- control ---- */

static void control(const Costs *c, SimCost *x, const SimInst *i, double threads) {
    const DeviceOverheads *o = &c->dev->overheads;
    bool of_wgmma = i->ptx->op >= OP_WGMMA_FENCE && i->ptx->op <= OP_WGMMA_WAIT;
    if (of_wgmma) x->issue = 0;              /* part of what the products cost */
    else use_pipe(c, x, SIM_PIPE_CONTROL, LANES);
    switch (i->ptx->op) {
    case OP_BAR:
    case OP_BARRIER:
        x->kind = ptx_has(&i->ptx->mods, MOD_ARRIVE) ? COST_ARRIVE : COST_MEET;
        x->latency = ticks(o->barrier.n ? hal_curve(&o->barrier, threads) : 1);
        return;
    case OP_CLUSTER_ARRIVE:
        x->kind = COST_ARRIVE;
        x->latency = ticks(figure(&o->cluster_barrier, 1));
        return;
    case OP_CLUSTER_WAIT: x->kind = COST_WAIT; return;
    case OP_WGMMA_COMMIT: x->kind = COST_WGMMA_COMMIT; return;
    case OP_WGMMA_WAIT: x->kind = COST_WGMMA_WAIT; return;
    case OP_NANOSLEEP: x->kind = COST_SLEEP; return;
    default: return;
    }
}

/* ---- registers ---- */

/* Registers of an instruction: those it waits for, then those that wait for it.  wgmma keeps its
 * accumulators to itself.  */
static void registers(const Costs *c, SimCost *x, const SimInst *i) {
    int most = 1;
    for (int n = 0; n < i->n_opnd; n++) most += i->opnd[n].n;
    Slot *list[2] = {ARENA_ARRAY(c->arena, Slot, most), ARENA_ARRAY(c->arena, Slot, most)};
    int count[2] = {0, 0};
    const char *pattern = sim_op_pattern(i->ptx->op);
    bool any = *pattern == '*';
    if (i->guard != SLOT_NONE) list[0][count[0]++] = i->guard / 128;
    for (int n = 0; n < i->n_opnd; n++) {
        if (*pattern == '/') pattern++;
        char role = any || !*pattern ? 's' : *pattern++;
        bool hidden = i->ptx->op == OP_WGMMA && n == 0;
        for (int e = 0; e < i->opnd[n].n && !hidden; e++) {
            Slot s = i->opnd[n].slot[e];
            if (s & SLOT_CONST) continue;
            int to = role == 'd';
            list[to][count[to]++] = s / 128;
        }
    }
    x->read = list[0];
    x->n_read = count[0];
    x->write = list[1];
    x->n_write = count[1];
}

/* Copies between registers, which the machine code does not have.  */
static bool renamed(const SimInst *i) {
    return i->ptx->op == OP_MOV || i->ptx->op == OP_CVTA || i->ptx->op == OP_ISSPACEP;
}

static uint8_t space_of(const SimInst *i) {
    if (i->space == SPACE_GLOBAL) return SIM_GLOBAL;
    return i->space == SPACE_SHARED ? SIM_SHARED : SIM_MEMORY;
}

/* What does not move with the rest of straight code: `at` is the instruction's place.  */
static void order(SimCost *x, const SimInst *i, uint32_t at) {
    const PtxMods *m = &i->ptx->mods;
    bool waits = ptx_has(m, MOD_ACQUIRE) || ptx_has(m, MOD_VOLATILE) || ptx_has(m, MOD_RELAXED);
    bool over = i->ptx->op == OP_BRA && i->target > at;
    bool plain = x->kind == COST_PLAIN || x->kind == COST_TENSOR;
    bool past = ptx_has(m, MOD_CG) || ptx_has(m, MOD_CV) || waits;
    x->cached = !past && (x->kind == COST_GLOBAL || i->ptx->op == OP_CP_ASYNC) &&
                i->ptx->op != OP_ST;
    if (i->pipe == SIM_PIPE_CONTROL) x->ends = !over;
    else if (plain) x->ends = false;
    else if (i->ptx->op == OP_CP_ASYNC) x->stores = SIM_SHARED;
    else if (waits || (x->kind != COST_GLOBAL && x->kind != COST_SHARED)) x->ends = true;
    else if (i->ptx->op == OP_ST || i->ptx->op == OP_STMATRIX) x->stores = space_of(i);
    else x->loads = ptx_has(m, MOD_NC) ? SIM_READ_ONLY : space_of(i);
}

static SimCost cost_of(const Costs *c, const SimInst *i, uint32_t at, double threads) {
    SimCost x = {.work = -1, .mover = -1, .kind = COST_FREE};
    if (i->pipe >= SIM_PIPE_COUNT || i->ptx->n_opnd != i->n_opnd) return x;
    registers(c, &x, i);
    if (renamed(i)) return x;
    x.kind = COST_PLAIN;
    x.accesses = SIM_PIPES_TIMED >> i->pipe & 1;
    x.issue = c->timing->slot > SIM_TICKS ? c->timing->slot : SIM_TICKS;
    if (i->pipe == SIM_PIPE_CONTROL) control(c, &x, i, threads);
    else if (i->pipe == SIM_PIPE_LSU) memory(c, &x, i);
    else if (i->pipe == SIM_PIPE_TENSOR) product(c, &x, i);
    else arithmetic(c, &x, i);
    if (i->ptx->op == OP_TC_CP) use_mover(c, &x, i);
    order(&x, i, at);
    return x;
}

/* Sectors of L1 for each resident block.  L1 has what shared memory leaves of their common memory,
 * which is at least 28 KiB larger than the most that shared memory can take (tuning guides: 192 and
 * 164 KiB on sm_80, 128 and 100 on sm_86, 256 and 228 on sm_90).  */
static uint64_t l1_sectors(const SimRun *r) {
    enum { L1_LEAST = 28 << 10 };
    const DeviceLimits *l = &r->dev->limits;
    double blocks = (double)r->grid[0] * r->grid[1] * r->grid[2] / l->sm_count.value;
    double most = sim_resident(r), resident = ceil(blocks < most ? blocks : most);
    double shared = resident * (r->smem_bytes + l->smem_reserved.value);
    double left = l->smem_per_sm.value > shared ? l->smem_per_sm.value - shared : 0;
    return (uint64_t)((left + L1_LEAST) / resident / SIM_SECTOR);
}

const SimTiming *sim_timing_new(Arena *a, const SimRun *r) {
    const Device *dev = r->dev;
    const MemoryLevel *smem = &dev->memory[LEVEL_SMEM], *l2 = &dev->memory[LEVEL_L2];
    const DeviceOverheads *o = &dev->overheads;
    SimTiming *t = ARENA_NEW(a, SimTiming);
    double bytes = figure(&smem->banks, 32) * figure(&smem->bank_width, 4);
    *t = (SimTiming){
        .n_unit = dev->n_unit,
        .n_mover = dev->n_mover,
        .parts = (uint32_t)figure(&dev->limits.subpartitions, 1),
        .l2 = ticks(figure(&l2->latency, 200)),
        .dram = ticks(figure(&dev->memory[LEVEL_DRAM].latency, 600)),
        .dsmem = ticks(figure(&dev->memory[LEVEL_DSMEM].latency, 200)),
        .smem = ticks(figure(&smem->latency, 30)),
        .port = SIM_TICKS / figure(&l2->per_sm_max, INFINITY),
        .wavefront = ticks(bytes / figure(&smem->per_sm_max, bytes)),
        .atomic_same = ticks(figure(&o->atomic_same, 32)),
        .atomic_distinct = ticks(figure(&o->atomic_distinct, 1)),
        .l1_sectors = l1_sectors(r),
    };
    double each = t->parts / figure(&dev->limits.issue_per_clk, t->parts);
    t->slot = ticks(each);
    t->n_work = sim_work_sum(t, SIM_SUMS);
    const SimKernel *k = r->kernel;
    SimCost *cost = ARENA_ARRAY(a, SimCost, k->n_code + 1);
    Costs c = {a, dev, t, figure(&dev->limits.subpartitions, 1)};
    double threads = (double)r->ntid[0] * r->ntid[1] * r->ntid[2];
    for (uint32_t n = 0; n < k->n_code; n++) cost[n] = cost_of(&c, &k->code[n], n, threads);
    t->cost = cost;
    return t;
}
