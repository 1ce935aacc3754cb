/* The `chain` skeleton: rules of its programs.  */
#include "rprogram/chain.h"
#include "rprogram/contract.h"
#include "rprogram/matrix.h"

static int64_t whole_tiles(int64_t n, int32_t unit) {
    return n > 0 ? ceil_div(n, unit) * unit : unit;
}

/* Columns of the second product go on by so many.  */
static int32_t columns_step(const ComputeUnit *v) {
    return v->b_smem ? v->n.step : matrix_tile(v, false).extent[AX_N];
}

static const char *check_tiles(const Problem *p, const Device *dev, const RProg *r) {
    const ComputeUnit *v = &dev->unit[r->unit_v];
    int32_t e_step = columns_step(v);
    const int32_t *block = r->block.extent, *warp = r->warp.extent, *thread = r->thread.extent;
    if (warp[AX_N] != block[AX_N] || warp[AX_K] != block[AX_K] || warp[AX_E] != block[AX_E])
        return "a warp of a chain has whole rows";
    if (block[AX_N] % v->k.from) return "columns of a turn are no slices of the second product";
    if (!rprog_chain_streams(p, r) && block[AX_K] != whole_tiles(p->extent[AX_K], thread[AX_K]))
        return "block.k is not K in whole instructions";
    if (block[AX_E] != whole_tiles(p->next->extent[AX_N], e_step))
        return "block.e is not the columns of the second product in whole instructions";
    return NULL;
}

/* A region has no steps to be loaded in: of the first operand where k is streamed.  */
static const char *check_product(const Problem *p, const Device *dev, const RProg *r,
                                 bool regions) {
    const char *why = matrix_check(p, dev, r);
    if (rprog_promotes(p, dev, r)) why = chain_too_long;
    for (int side = 0; side < p->n_operand && !why; side++) {
        const RLoad *l = &r->load[side];
        if (p->op[side].made) continue;
        bool region = l->region && !(regions && side == 0);
        if (region || l->bytes || l->raw || l->table ||
            (!p->op[side].affine && rprog_evaluates_direct(p, r, side)))
            return "operands of a chain lie in tiles as they are, loaded step by step";
        why = contract_check_load(p, dev, r, side);
    }
    return why;
}

static const char *check_warps(const Device *dev, const RProg *r) {
    if (r->thread.extent[AX_E] != 1) return "thread.e is 1";
    if (r->overlap) return "only warpgroups overlap products and exponentials";
    if (r->load[LOAD_B].layout.inner != AX_K && chain_order(dev, r).n > 0)
        return "columns in another order are rows of the operand's tile";
    return NULL;
}

static const char *check_products(const Problem *p, const Device *dev, const RProg *r) {
    bool groups = dev->unit[r->unit].b_smem;
    const char *why = groups ? chain_groups_check(p, dev, r) : check_warps(dev, r);
    for (int i = 0; i < CHAIN_PRODUCTS && !why; i++) {
        RProg x = rprog_product(dev, r, i);
        const Problem *own = chain_problem(p, i);
        bool streams = i == 0 && rprog_chain_streams(p, r);
        why = (groups ? chain_groups_product : check_product)(own, dev, &x, streams);
    }
    return why;
}

/* A value of the row is known to lanes alone, not to those that read results back from shared
 * memory: one map may take the results' place before, if nobody else needs them.  */
bool chain_passes(const Problem *p) {
    const ChainFacts *f = p->chain;
    return f->row_maps == 0 || (f->row_maps == 1 && f->sums_end);
}

/* Turns go on by one stride.  */
static const char *check_ways(const Problem *p, const RProg *r) {
    const ROperand *b = &p->op[1], *v = &p->next->op[1];
    if ((b->digits_mn > 1 && !b->gathered) || (v->digits_k > 1 && !v->gathered))
        return "columns of a chain are one digit of its operands";
    if (r->via == VIA_SHARED && !chain_passes(p))
        return "results of a chain pass through shared memory where only the first map behind them "
               "reads values of their row, and nothing else needs them";
    return NULL;
}

/* Operands that are streamed along k are read once, so a row has all of its columns at once.  */
static const char *check_stream(const Problem *p, const Device *dev, const RProg *r) {
    const ColumnBounds *b = &p->chain->chain->bounds;
    if (!rprog_chain_streams(p, r)) return NULL;
    if (r->block.extent[AX_K] % r->thread.extent[AX_K]) return "block.k is no whole instructions";
    if (rprog_chain_turns(p, r) > 1) return "a chain that streams k has one turn";
    if (b->n_from + b->n_to > 0) return "a chain that streams k has no mask that bounds its turns";
    if (r->keep != KEEP_SHARED) return "an operand that is streamed does not stay in registers";
    if (r->split > 1) return "a chain that streams k has one turn, and no slices of it";
    if (r->overlap) return "a chain that streams k has no other products beside its folds";
    RProg first = rprog_product(dev, r, 0);
    return dev->unit[r->unit].b_smem ? warpgroup_check(p, dev, &first)
                                    : contract_check_loads(p, dev, &first);
}

static const char *check_order(const Problem *p, const Device *dev, const RProg *r) {
    bool one = r->group == 0 && rprog_raster_rows(p, r) == 1;
    bool groups = r->group > 1 && rprog_chain_parted(p, r);
    if (r->cluster && !(rprog_chain_streams(p, r) && rprog_cluster_side(r)))
        return "blocks of a chain share the second operand where they stream k";
    if (rprog_raster_check(r) || !(one || groups || r->cluster))
        return "a chain has no other order of tiles";
    return rprog_persistent(r) ? chain_check_stays(p, dev, r) : NULL;
}

const char chain_sizes_vary[] =
    "what a chain sums for a score, and its results of a row, have static sizes";

bool chain_static(const Problem *p) {
    return rprog_static_axis(p, AX_K) && rprog_static_axis(p->next, AX_N);
}

const char *chain_check(const Problem *p, const Device *dev, const RProg *r) {
    const char *why;
    if (!chain_static(p)) return chain_sizes_vary;
    if (!count_along(&r->block, &r->warp, AX_M))
        return "the block tile is no multiple of the warp's";
    if (r->swapped) return "units of chains are not swapped";
    if (r->stages < 1 || (r->stages > STAGES_MAX && !rprog_keeps_steps(p, r)))
        return "stages are in 1..8, or those of all steps";
    if (r->keep != KEEP_REGISTERS && r->keep != KEEP_SHARED)
        return "operand a of a chain stays in registers or in shared memory";
    if (r->tail || r->stats || r->lanes != 1) return "a chain has no tail";
    if ((why = check_order(p, dev, r))) return why;
    if (r->split > 1 && dev->unit[r->unit].b_smem) return "slices of turns are of units of warps";
    if ((why = check_products(p, dev, r)) || (why = check_tiles(p, dev, r)) ||
        (why = check_stream(p, dev, r)) || (why = check_ways(p, r)))
        return why;
    RProg last = rprog_product(dev, r, 1);
    why = contract_check_store(p->next, dev, &last);
    return why ? why : grid_check(p->next, dev, &last);
}
