/* cp.async.bulk.tensor: boxes and columns of tensors by tensor maps, and their reductions.  */
#include "sim/async/async_target.h"
#include "sim/async/tensormap.h"


typedef struct {
    bool store, im2col, pair;
    AsyncReduce reduce;       /* type from the map */
    int rank, map, shared, mbar, offsets, mask;    /* operands; -1: absent */
} TensorInst;

/* The bytes of the map at a generic address: kernel parameters or global memory.  */
static const unsigned char *map_bytes(const SimRun *run, uint64_t at) {
    if (at >= SIM_PARAM_WINDOW && at - SIM_PARAM_WINDOW < run->params_bytes) {
        uint64_t offset = at - SIM_PARAM_WINDOW;
        return run->params_bytes - offset >= TM_BYTES ? run->params + offset : NULL;
    }
    return sim_global_raw(run->gpu, at, TM_BYTES);
}

/* The map of a lane's operand, if it suits the instruction.  False after a fault.  */
static bool read_map(SimLane by, TensorMap *map) {
    const TensorInst *x = by.i->extra;
    uint64_t at = sim_address(by.w, &by.i->opnd[x->map], by.lane);
    const unsigned char *bytes = at % 64 ? NULL : map_bytes(by.w->block->cluster->run, at);
    const char *why = NULL;
    if (!bytes) {
        why = "is misaligned or outside every allocation";
    } else if (!sim_tensormap_decode(bytes, map)) {
        why = "was not made by the driver or by tensormap.replace";
    } else if (tensor_map_wrong(map)) {
        why = arena_printf(by.w->block->cluster->arena, "is not valid: %s", tensor_map_wrong(map));
    } else if (map->rank != x->rank) {
        why = "has another rank";
    } else if (map->im2col != x->im2col) {
        why = map->im2col ? "is for im2col" : "is for tiles";
    } else if (map->interleave) {
        why = "is interleaved, which is not simulated";
    }
    if (!why) return async_map_visible(by, at);
    sim_fault(by, SIM_DESCRIPTOR, "the tensor map at 0x%llx %s", (unsigned long long)at, why);
    return false;
}

/* The rows of the tile at the lane's coordinates, checked against the allocations.  NULL after a
 * fault.  */
static const SimTmRow *tile_rows(SimLane by, const TensorMap *map) {
    const TensorInst *x = by.i->extra;
    SimCluster *c = by.w->block->cluster;
    AsyncCluster *q = async_of(c);
    uint32_t n = sim_tensormap_rows(map);
    q->row = arena_grow(c->arena, q->row, &q->cap_row, n, sizeof *q->row);
    int32_t coord[TM_RANK];
    uint16_t offset[TM_RANK] = {0};
    for (int d = 0; d < map->rank; d++) {
        coord[d] = (int32_t)sim_u32(by.w, by.i->opnd[x->map].slot[d + 1])[by.lane];
    }
    for (int d = 0; x->offsets >= 0 && d < map->rank - 2; d++) {
        offset[d] = (uint16_t)sim_u32(by.w, by.i->opnd[x->offsets].slot[d])[by.lane];
    }
    sim_tensormap_walk(map, coord, offset, q->row);
    bool plain_store = x->store && x->reduce.op == MOD_COUNT;
    for (uint32_t r = 0; r < n; r++) {
        uint64_t at = q->row[r].global + q->row[r].begin;
        uint32_t bytes = q->row[r].end - q->row[r].begin;
        if (!bytes) continue;
        if (!sim_global(by, at, bytes, 1, plain_store)) return NULL;
        if (async_counts(by.w)) sim_count_global_range(by, at, bytes, x->store);
    }
    return q->row;
}

static AsyncOp *tile_op(SimLane by, const TensorMap *map, const SimTmRow *row, AsyncKind kind,
                        uint32_t offset) {
    uint32_t n = sim_tensormap_rows(map), bytes = sim_tensormap_row_bytes(map);
    AsyncOp *op = async_new(by, kind, n);
    for (uint32_t r = 0; r < n; r++) {
        op->segment[r] = (AsyncSegment){.global = row[r].global,
                                        .offset = offset + r * bytes,
                                        .bytes = bytes,
                                        .begin = row[r].begin,
                                        .end = row[r].end,
                                        .lane = (uint8_t)by.lane};
    }
    op->span = tensor_map_span((TmSwizzle)map->swizzle);
    op->atom = tensor_map_atom((TmSwizzle)map->swizzle);
    sim_tensormap_fill(map, op->fill);
    op->fill_bytes = tensor_map_element(map);
    return op;
}

/* Size of the whole tile in shared memory; more than any shared memory where it overflows.  */
static uint32_t tile_bytes(const TensorMap *map) {
    uint64_t bytes = (uint64_t)sim_tensormap_rows(map) * sim_tensormap_row_bytes(map);
    return bytes > INT32_MAX ? INT32_MAX : (uint32_t)bytes;
}

static bool load_lane(SimLane by, const TensorMap *map) {
    const TensorInst *x = by.i->extra;
    SimCluster *c = by.w->block->cluster;
    AsyncTarget t = {.pair = x->pair};
    if (!async_target(by, &by.i->opnd[x->shared], &by.i->opnd[x->mbar], tile_bytes(map), 128, &t)) {
        return false;
    }
    const SimTmRow *row = tile_rows(by, map);
    if (!row) return false;
    uint64_t mask = x->mask >= 0 ? async_mask(by, &by.i->opnd[x->mask]) : 1ull << t.block->rank;
    if (mask == 0) return false;
    for (int rank = 0; rank < c->n_block; rank++) {
        if (!(mask >> rank & 1)) continue;
        AsyncOp *op = tile_op(by, map, row, ASYNC_LOAD, t.offset);
        if (!async_aim(op, &t, rank) || !async_issue(op)) return false;
        if (async_counts(by.w)) sim_count_shared_range(&c->block[rank], t.bytes, true);
    }
    return true;
}

static PtxType reduce_type(const AsyncReduce *r, TmType t) {
    bool bitwise = r->op == MOD_AND || r->op == MOD_OR || r->op == MOD_XOR;
    switch (t) {
    case TM_U32: return bitwise ? PTX_B32 : PTX_U32;
    case TM_S32: return bitwise ? PTX_B32 : PTX_S32;
    case TM_U64: return bitwise ? PTX_B64 : PTX_U64;
    case TM_S64: return bitwise ? PTX_B64 : r->op == MOD_ADD ? PTX_U64 : PTX_S64;
    case TM_F16: return PTX_F16;
    case TM_BF16: return PTX_BF16;
    case TM_F32:
    case TM_F32_FTZ: return PTX_F32;
    case TM_F64: return PTX_F64;
    default: return PTX_NONE;
    }
}

static bool store_lane(SimLane by, const TensorMap *map) {
    const TensorInst *x = by.i->extra;
    uint32_t offset, bytes = tile_bytes(map);
    SimBlock *b =
        sim_shared(by, async_shared_at(by.w, &by.i->opnd[x->shared], by.lane), bytes, 128, &offset);
    if (!b) return false;
    AsyncReduce reduce = x->reduce;
    if (reduce.op != MOD_COUNT) {
        reduce.type = reduce_type(&reduce, map->type);
        if (!async_reduce_exists(&reduce)) {
            sim_fault(by, SIM_DESCRIPTOR, "the tensor map's type has no such reduction");
            return false;
        }
    }
    const SimTmRow *row = tile_rows(by, map);
    if (!row) return false;
    AsyncOp *op = tile_op(by, map, row, ASYNC_STORE, offset);
    op->block = b;
    op->reduce = reduce;
    if (async_counts(by.w)) sim_count_shared_range(b, bytes, false);
    async_join_bulk_group(op);
    return async_issue(op);
}

static void exec_tensor(SimWarp *w, const SimInst *i, uint32_t active) {
    const TensorInst *x = i->extra;
    w->block->count.async_copies++;
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        TensorMap map;
        if (!read_map(by, &map)) return;
        if (!(x->store ? store_lane(by, &map) : load_lane(by, &map))) return;
    }
}

static void exec_prefetch(SimWarp *w, const SimInst *i, uint32_t active) {
    SIM_EACH(l, active) {
        TensorMap map;
        if (!read_map(sim_lane(w, i, l), &map)) return;
    }
}

static bool pick_rank(SimPick *k, TensorInst *x) {
    static const PtxMod dims[] = {MOD_D1, MOD_D2, MOD_D3, MOD_D4, MOD_D5};
    for (int d = 0; d < TM_RANK; d++) {
        if (sim_take(k, dims[d])) x->rank = d + 1;
    }
    const SimOpnd *map = &k->i->opnd[x->map];
    if (x->rank && map->kind == OPND_ADDRESS && map->n == x->rank + 1) return true;
    sim_pick_fail(k, "needs as many coordinates as .1d to .5d says");
    return false;
}

static SimExec *pick_copy(SimPick *k, TensorInst *x, bool im2col_offsets) {
    const PtxInst *p = k->p;
    x->pair = sim_take(k, MOD_CTA_GROUP_2);
    if (!x->pair) sim_take(k, MOD_CTA_GROUP_1);
    bool multicast = sim_take(k, MOD_MULTICAST), tell = sim_take(k, MOD_COMPLETE_TX);
    bool hint = ptx_has(&p->mods, MOD_L2_CACHE_HINT);
    sim_take_hints(k);
    x->store = sim_take(k, MOD_BULK_GROUP);
    x->map = x->store ? 0 : 1;
    x->shared = x->store ? 1 : 0;
    int n = 2;
    if (!x->store) x->mbar = n++;
    if (im2col_offsets && !x->store) x->offsets = n++;
    if (multicast) x->mask = n;
    const char *wanted = arena_printf(k->arena, "aa%s%s%s%s", x->mbar >= 0 ? "a" : "",
                                      x->offsets >= 0 ? "v" : "", multicast ? "i" : "",
                                      hint ? "l" : "");
    if (!async_want(k, wanted)) return NULL;
    bool loads = multicast || x->pair;
    if (tell == x->store || async_to_global(p) != x->store || (x->store && loads)) {
        return sim_pick_fail(k, "has an unknown direction");
    }
    if (!pick_rank(k, x)) return NULL;
    if (x->im2col && x->rank < 3) return sim_pick_fail(k, "im2col needs rank 3 to 5");
    if (x->offsets >= 0 && k->i->opnd[x->offsets].n != x->rank - 2) {
        return sim_pick_fail(k, "needs %d im2col offsets", x->rank - 2);
    }
    return exec_tensor;
}

SimExec *sim_pick_tensor(SimPick *k) {
    TensorInst *x = ARENA_NEW(k->arena, TensorInst);
    k->i->extra = x;
    x->reduce.op = MOD_COUNT;
    x->mbar = x->offsets = x->mask = -1;
    sim_take(k, MOD_TILE);
    bool offsets = sim_take(k, MOD_IM2COL);
    x->im2col = sim_take(k, MOD_IM2COL_NO_OFFS) || offsets;
    sim_take(k, MOD_GLOBAL);
    if (k->p->op == OP_TMA_PREFETCH) {
        sim_take(k, MOD_L2);
        sim_take_hints(k);
        if (!pick_rank(k, x)) return NULL;
        bool counted = !offsets || (x->rank >= 3 && k->i->opnd[1].n == x->rank - 2);
        return counted ? exec_prefetch : sim_pick_fail(k, "has the wrong im2col offsets");
    }
    sim_take(k, MOD_SHARED_CLUSTER);
    sim_take(k, MOD_SHARED_CTA);
    if (k->p->op == OP_TMA_REDUCE && !async_take_operator(k, &x->reduce)) return NULL;
    return pick_copy(k, x, offsets);
}
