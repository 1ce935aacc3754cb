/* The `chain` skeleton: units of warpgroups.  */
#include "rprogram/chain.h"
#include "rprogram/contract.h"
#include "rprogram/matrix.h"

/* Results are an operand where lanes have them (fragment_order).  Tensor Memory takes it from there
 * (PTX ISA, "tcgen05.mma": A in Tensor Memory).  */
bool chain_groups_fit(const Problem *p, const ComputeUnit *u, const ComputeUnit *v) {
    bool takes = v->a_reg || (v->tmem && u->blocks <= 1 && v->blocks <= 1);
    bool comes = warpgroup_copies(p, u, 0) ||
                 (warpgroup_regions(p, u, 0) && !warpgroup_joins(p, u, 0));
    return takes && u->scale_k == 0 && v->scale_k == 0 && comes && warpgroup_copies(p, u, 1) &&
           warpgroup_copies(p->next, v, 1);
}

/* Strides of a tensor map's dimensions ascend (CUDA driver API, cuTensorMapEncodeTiled), so that a
 * box brings `beside` of every `every` rows, and others the rest.  No row of theirs is behind the
 * last one.  */
bool chain_groups_bring(const Problem *p, const FragOrder *order) {
    int beside, every;
    RBox box;
    if (order->n == 0) return true;
    return fragment_parts(order, &beside, &every) && rprog_box(p, 1, &box) &&
           box.inner == AX_K && box.rank < RBOX_RANK && rprog_static_axis(p, AX_N) &&
           p->extent[AX_N] % every == 0 && !access_guarded(p->te, &p->con.operand[1].access);
}

/* Registers of a thread that computes, where k is streamed at least those of the first product's
 * steps: results of the second product, then the larger of: results
 * of the first; these as an operand, and WITHIN those of the next turn beside it + for each row its
 * reductions and a factor + what all kernels of such units need.  Results in Tensor Memory come to
 * registers when nothing else is there.  */
int64_t chain_computing(const Problem *p, const Device *dev, const RProg *r) {
    enum { REGISTER_STEP = 8 };           /* setmaxnreg moves them by 8 */
    RProg first = rprog_product(dev, r, 0), second = rprog_product(dev, r, 1);
    int64_t scores = rprog_unit_accumulators(dev, &first);
    Fragment operand = rprog_raw_fragment(dev, &second);
    int64_t made = fragment_slots(&operand, FRAG_DIMS) / operand.per_register *
                   count_along(&second.warp, &second.thread, AX_K);
    int64_t between = rprog_overlaps_within(r) ? scores + made : scores > made ? scores : made;
    int64_t results = rprog_unit_accumulators(dev, &second);
    bool beside = !rprog_tensor(dev, r);
    Fragment held = rprog_results(dev, &first);
    int64_t all = (beside ? results + between : results > between ? results : between) +
                  fragment_slots(&held, FRAG_ROW) * (p->chain->values + 1) + WARPGROUP_OTHERS;
    all = ceil_div(all, REGISTER_STEP) * REGISTER_STEP;
    if (!rprog_chain_streams(p, r)) return all;
    int64_t steps = warpgroup_computing(p, dev, &first);
    return steps > all ? steps : all;
}

static bool same_load(const RLoad *a, const RLoad *b) {
    return a->kind == b->kind && a->mover == b->mover && a->vec == b->vec &&
           a->along == b->along && a->layout.inner == b->layout.inner &&
           a->layout.bits == b->layout.bits && a->layout.shift == b->layout.shift &&
           a->layout.base == b->layout.base && !a->layout.pad && !a->raw && !a->team &&
           !a->region && !a->bytes && !a->table;
}

static const char *check_load(const Problem *p, const Device *dev, const RProg *r, int side) {
    RLoad own;
    RBox box;
    if (!warpgroup_load(p, dev, r, side, &own))
        return "the operand cannot be copied by boxes";
    if (rprog_box(p, side, &box) && box.pixels > 0)
        return "columns of pixels come in other widths than tiles";
    if (!same_load(&r->load[side], &own))
        return "a unit of warpgroups reads boxes as the operand lies in memory";
    int rows = r->block.extent[own.along == AX_K ? own_axis(side) : AX_K];
    return rows > dev->mover[own.mover].box_max ? "a box has too many rows" : NULL;
}

const char *chain_groups_product(const Problem *p, const Device *dev, const RProg *r,
                                 bool streams) {
    const ComputeUnit *u = &dev->unit[r->unit];
    const int32_t *t = r->thread.extent;
    int n = t[AX_N];
    if (t[AX_M] != u->m.from || t[AX_K] != u->k.from || n < u->n.from || n > u->n.to ||
        (n - u->n.from) % u->n.step)
        return "thread is not a tile of the unit";
    if (r->warp.extent[AX_M] != t[AX_M] || r->warp.extent[AX_N] != n)
        return "a warpgroup of a chain has one instruction along m and n";
    Fragment f = rprog_results(dev, r);
    if (r->vec_m != fragment_run(&f, FRAG_ROW) || r->vec_n != fragment_run(&f, FRAG_COL))
        return "vec is not what a lane of the unit holds";
    if (rprog_promotes(p, dev, r)) return chain_too_long;
    for (int side = 0; side < p->n_operand; side++) {
        const char *why = p->op[side].made || streams ? NULL : check_load(p, dev, r, side);
        if (why) return why;
    }
    return NULL;
}

/* Another thread than those that fold issues all products.  */
static const char *check_tensor(const Problem *p, const Device *dev, const RProg *r, int groups) {
    if (!rprog_tensor(dev, r)) return NULL;
    if (groups > CHAIN_TURNS) return "of a chain with sums in Tensor Memory a block has four "
                                     "warpgroups at most";
    if (r->overlap != OVERLAP_WITHIN) return "Tensor Memory has products beside all folds";
    if (rprog_chain_streams(p, r)) return "a chain that streams k has its sums in registers";
    return rprog_tensor_columns(dev, r) <= RPROG_TENSOR_MOST ? NULL
                                                             : "Tensor Memory has 512 columns";
}

static bool known(const ChainEnd *e, int n) {
    bool all = true;
    for (int i = 0; i < n; i++) all &= e[i].known;
    return all;
}

/* V that is loaded once is that of all tiles.  Else tiles are dealt out before the kernel runs, so
 * that it must be known then how long each takes.  */
const char *chain_check_stays(const Problem *p, const Device *dev, const RProg *r) {
    const ChainFacts *x = p->chain;
    const ColumnBounds *b = &x->chain->bounds;
    if (!dev->unit[r->unit].b_smem) return "only blocks of warpgroups stay for several tiles";
    bool streams = rprog_chain_streams(p, r);
    if (streams && p->next->con.axis[AX_B].n > 0)
        return "blocks that stream k stay where there are no batches";
    if (streams) return NULL;
    if (r->grid != GRID_PERSISTENT) return "all warpgroups of a chain with turns have one tile";
    return known(x->from, b->n_from) && known(x->to, b->n_to)
               ? NULL : "blocks stay where a mask does not depend on data";
}

const char *chain_groups_check(const Problem *p, const Device *dev, const RProg *r) {
    if (!chain_groups_fit(p, &dev->unit[r->unit], &dev->unit[r->unit_v]))
        return "operands of a chain of warpgroups are boxes of memory";
    if (r->keep != KEEP_SHARED) return "operand a of a chain of warpgroups stays in shared memory";
    if ((int)r->overlap < 0 || r->overlap >= OVERLAP_COUNT) return "unknown overlap";
    int groups = count_along(&r->block, &r->warp, AX_M);
    if (rprog_overlaps_between(r) && (groups < 2 || groups > CHAIN_TURNS))
        return "two to four warpgroups take turns";
    if (r->cluster && chain_order(dev, r).n > 0)
        return "blocks share rows of the second operand where these lie in order";
    return check_tensor(p, dev, r, groups);
}
