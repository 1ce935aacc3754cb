/* The `contract` skeleton: the first rule that a program breaks.  */
#include "rprogram/contract.h"
#include "rprogram/matrix.h"

typedef struct {
    const Problem *p;
    const Device *dev;
    const RProg *r;
} Case;

static const char *check_warps(const Case *c) {
    const RProg *r = c->r;
    int64_t warps = 1;
    for (int axis = AX_M; axis <= AX_K; axis++) {
        int along = count_along(&r->block, &r->warp, axis);
        if (!along) return "the block tile is not a multiple of the warp tile";
        warps *= along < 64 ? along : 64;
    }
    warps *= rprog_team(c->dev, r);
    if (warps * WARP > (int64_t)c->dev->limits.threads_per_block.value) {
        return "more threads than a block may have";
    }
    return NULL;
}

static const char *check_lanes(const Case *c) {
    const RProg *r = c->r;
    int lanes_m = count_along(&r->warp, &r->thread, AX_M);
    int lanes_n = count_along(&r->warp, &r->thread, AX_N);
    if (!power_of_two(lanes_m) || !power_of_two(lanes_n)) {
        return "lanes along an axis (warp / thread tile) are not a power of two";
    }
    if (lanes_m * lanes_n != WARP) return "the lanes of a warp are not 32";
    if (r->swapped || r->via != VIA_DIRECT) {
        return "only programs of matrix units are swapped or store through shared memory";
    }
    return NULL;
}

static const char *check_thread(const Case *c) {
    const RProg *r = c->r;
    int tm = r->thread.extent[AX_M], tn = r->thread.extent[AX_N], tk = r->thread.extent[AX_K];
    if (!power_of_two(r->vec_m) || tm % r->vec_m || !power_of_two(r->vec_n) || tn % r->vec_n) {
        return "vec is not a power of two that divides the thread tile";
    }
    bool k_inner = false;
    for (int side = 0; side < c->p->n_operand; side++) {
        int elem = rprog_elem(c->p, c->dev, r, side);
        bool inner = r->load[side].layout.inner == AX_K;
        k_inner |= inner;
        if ((inner ? tk : side ? r->vec_n : r->vec_m) * elem > RTILE_ACCESS) {
            return "a fragment is read in more than 16 bytes at once";
        }
    }
    if (!power_of_two(tk) || r->warp.extent[AX_K] % tk) {
        return "thread.k is not a power of two that divides warp.k";
    }
    if (tk > 1 && !k_inner) return "thread.k > 1 needs an operand with k inner";
    bool packed = rprog_packed(c->dev, r);
    if (packed && tk % RPROG_PACKED) return "a packed unit takes four k at once";
    if (r->unroll < 1 || r->unroll % tk || r->warp.extent[AX_K] % r->unroll) {
        return "unroll is not a multiple of thread.k that divides warp.k";
    }
    int64_t body = (int64_t)tm * tn * r->unroll / (packed ? RPROG_PACKED : 1);
    if (body > UNROLL_MAX && r->unroll > tk) return "the unrolled body is too long";
    if (tm > 64 || tn > 64 || (int64_t)tm * tn > 256) return "the thread tile is too large";
    return NULL;
}

static const char *check_copy(const Case *c, int side) {
    const RLoad *l = &c->r->load[side];
    const Problem *p = c->p;
    if (l->along != l->layout.inner && l->vec != 1) {
        return "an async load cannot turn vectors: along and inner differ";
    }
    if (!rprog_copyable(p, c->dev, c->r, side)) {
        return "an async load copies unchanged, the operand's elements must be converted";
    }
    bool zero_is_neutral = p->con.red == TE_RED_SUM && p->con.product;
    if (!zero_is_neutral && rprog_ragged(p, c->r, AX_K)) {
        return "an async load fills with zero, which this reduction does not ignore";
    }
    return NULL;
}

static const char *check_region(const Case *c, int side) {
    const RProg *r = c->r;
    const RLoad *l = &r->load[side];
    const Contraction *con = &c->p->con;
    RRegion x;
    if (r->load[!side].region) return "one operand at most is loaded as a region";
    if (!power_of_two(l->vec) || !rprog_region(c->p, r, side, &x)) {
        return "the tile's reads are no region, or its lines are not aligned to the load";
    }
    bool made = x.anywhere || x.turned;
    if (made && (!rprog_through_registers(l) || !rprog_ldmatrix(c->p, c->dev, r, side)))
        return "chunks that threads make go through registers, and matrices are loaded of them";
    if (!rprog_copyable(c->p, c->dev, r, side) || rprog_packed(c->dev, r)) {
        return "a region is copied unchanged";
    }
    if (con->red != TE_RED_SUM || !con->product) return "a region needs the sum of a product";
    if (r->split > 1 || r->tail > 0) return "a region goes with `split 1` and no tail";
    int bytes = l->vec * c->p->op[side].bytes;
    if (bytes > RTILE_ACCESS || l->mover != rprog_mover(c->dev, l->kind, bytes) || l->mover < 0) {
        return "the device has no such mover for this load";
    }
    return NULL;
}

static const char *check_load(const Case *c, int side) {
    const RLoad *l = &c->r->load[side];
    const ROperand *op = &c->p->op[side];
    int own = own_axis(side);
    if (!rprog_load_facts(l->kind).chunks) return "unknown kind of load";
    if (l->bytes && !rprog_matrix(c->dev, c->r)) {
        return "only fragments of matrix units are converted from bytes";
    }
    if (l->raw || l->team || l->modulo) return "only units of warpgroups have such boxes and teams";
    if (l->region) return check_region(c, side);
    if ((l->along != AX_K && l->along != own) ||
        (l->layout.inner != AX_K && l->layout.inner != own)) {
        return "a load runs along, or a tile is stored by, an axis of the other operand";
    }
    bool by_k = l->along == AX_K;
    if (!power_of_two(l->vec) || l->vec > (by_k ? op->vec_k : op->vec_mn)) {
        return "a load is wider than the operand's contiguous aligned run";
    }
    if (c->r->block.extent[l->along] % l->vec) return "the block tile is no multiple of the load";
    int bytes = l->vec * op->bytes;
    if (bytes > RTILE_ACCESS || l->mover != rprog_mover(c->dev, l->kind, bytes) || l->mover < 0) {
        return "the device has no such mover for this load";
    }
    if (l->table && !rprog_may_table(c->p, c->r, side)) {
        return "tables are for copies that decode several positions in every step";
    }
    if (rprog_packed(c->dev, c->r) && (l->layout.inner != AX_K || !by_k || l->vec < RPROG_PACKED)) {
        return "a packed unit needs both operands along k";
    }
    if (rprog_through_registers(l) && c->r->stages > 2)
        return "staged loads have at most two stages";
    if (rprog_copies_chunks(l)) {
        const char *why = check_copy(c, side);
        if (why) return why;
    }
    if (!rprog_layout_aligned(c->p, c->dev, c->r, side)) {
        return "the layout breaks the alignment of an access";
    }
    return NULL;
}

static const char *check_store(const Case *c) {
    const RProg *r = c->r;
    const Problem *p = c->p;
    int columns = r->via == VIA_SHARED ? rprog_staging_columns(c->dev, r) : r->vec_n;
    if (!power_of_two(r->store_vec) || columns % r->store_vec) {
        return "store_vec is not a power of two that divides vec_n (the warp tile, if shared)";
    }
    if (r->split == 1 && r->store_vec > p->out_vec) {
        return "a store is wider than the output's contiguous aligned run";
    }
    if (r->split > 1 && (p->multiple[AX_N] % r->store_vec ||
                         r->store_vec * p->acc_bytes > RTILE_ACCESS)) {
        return "a store to the workspace is not aligned";
    }
    return NULL;
}

static const char *check_grid(const Case *c) {
    const RProg *r = c->r;
    const char *why = rprog_raster_check(r);
    if (why) return why;
    int64_t steps = rprog_tiles(c->p, r, AX_K);
    if (r->split < 1 || (r->split > 1 && r->split > steps) || r->split > GRID_Y_MAX) {
        return "split is not in 1..k-steps";
    }
    double blocks = 1;
    for (int axis = AX_B; axis <= AX_N; axis++) blocks *= (double)rprog_tiles(c->p, r, axis);
    if (blocks > c->dev->limits.grid_max.value) return "the grid is larger than the device allows";
    return NULL;
}

/* Tiles whose k-steps are dealt out to several blocks.  */
static const char *check_tail(const Case *c) {
    const RProg *r = c->r;
    if (r->tail == 0 && r->tail_blocks == 0) return NULL;
    if (r->split != 1) return "a tail goes with `split 1` only";
    if (!rprog_static(c->p)) return "a tail needs static sizes";
    if (r->block.extent[AX_K] != r->warp.extent[AX_K]) {
        return "a tail goes with no warps that share a block's k-steps";
    }
    int64_t tiles = rprog_outer_tiles(c->p, r), steps = rprog_tiles(c->p, r, AX_K);
    if (r->tail < 1 || r->tail > tiles) return "tail is not in 1..tiles";
    if (r->store_vec * c->p->acc_bytes > RTILE_ACCESS)
        return "a store to the workspace is too wide";
    if ((double)tiles * (double)steps > INT32_MAX / 2) return "a tail has too many k-steps";
    int64_t all = r->tail * steps, blocks = r->tail_blocks;
    if (blocks < 1 || blocks > all || ceil_div(all, rprog_tail_steps(c->p, r)) != blocks) {
        return "a block of the tail has no k-steps";
    }
    if ((double)(tiles - r->tail + blocks) > c->dev->limits.grid_max.value) {
        return "the grid is larger than the device allows";
    }
    return NULL;
}

const char *contract_check_loads(const Problem *p, const Device *dev, const RProg *r) {
    const char *why = NULL;
    for (int side = 0; side < p->n_operand && !why; side++) {
        const RLoad *l = &r->load[side];
        bool copies = !l->region && rprog_copies_chunks(l);
        why = contract_check_load(p, dev, r, side);
        if (!why && copies && r->stages < 2) why = "async loads need two stages";
    }
    return why;
}

const char *contract_check(const Problem *p, const Device *dev, const RProg *r) {
    Case c = {p, dev, r};
    const char *why;
    bool matrix = rprog_matrix(dev, r), groups = dev->unit[r->unit].b_smem;
    if ((why = check_warps(&c)) || (why = groups   ? warpgroup_check(p, dev, r)
                                          : matrix ? matrix_check(p, dev, r)
                                                   : check_lanes(&c))) {
        return why;
    }
    if (r->stages < 1 || r->stages > STAGES_MAX) return "stages are not in 1..8";
    if (!groups && (why = contract_check_loads(p, dev, r))) return why;
    if (!matrix && (why = check_thread(&c))) return why;
    if ((why = rprog_stats_check(p, r))) return why;
    if ((why = check_store(&c)) || (why = check_grid(&c))) return why;
    return check_tail(&c);
}

const char *contract_check_load(const Problem *p, const Device *dev, const RProg *r, int side) {
    return check_load(&(Case){p, dev, r}, side);
}

const char *contract_check_store(const Problem *p, const Device *dev, const RProg *r) {
    return check_store(&(Case){p, dev, r});
}
