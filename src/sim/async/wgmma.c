/* wgmma.mma_async: each warp of a warpgroup multiplies its 16 of the 64 rows.
 *
 * A product waits in the warp's queue and is worked out, in order, at a seeded random moment no
 * later than its wait. Until the wait its accumulators live in an AsyncAcc and the registers
 * hold poison; w->watch reports instructions that touch them.  */
#include "sim/lane/pick.h"
#include "sim/async/wgmma.h"

#include <string.h>

static bool uniform(const uint64_t *v) {
    for (int l = 1; l < LANES; l++) {
        if (v[l] != v[0]) return false;
    }
    return true;
}

/* Checks the descriptor of operand A or B; lists the chunks of it that the warp reads as offsets in
 * the block's shared memory.  0 after a fault.  */
static int operand_chunks(SimWarp *w, const SimInst *i, char which, uint32_t *at) {
    const SimWgmma *shape = &((const WgmmaInst *)i->extra)->shape;
    bool is_a = which == 'A', mn = is_a ? shape->a_mn : shape->b_mn;
    int first = is_a ? w->id % 4 * 16 : 0, extent = is_a ? 16 : shape->n;
    const uint64_t *bits = sim_u64(w, i->opnd[is_a ? 1 : 2].slot[0]);
    const SimBlock *b = w->block;
    const char *why = uniform(bits) ? sim_descriptor_check(bits[0]) : "differs between lanes";
    SimDescriptor d = sim_descriptor(bits[0]);
    int n = why ? 0 : sim_operand_chunks(&d, mn, 2, first, extent, at);
    for (int k = 0; k < n && !why; k++) {
        if (at[k] < b->smem_base || at[k] - b->smem_base + 16 > b->smem_bytes) {
            why = "reaches outside the shared memory of the block";
        }
        at[k] -= b->smem_base;
    }
    if (!why) return n;
    sim_fault(sim_lane(w, i, 0), SIM_DESCRIPTOR, "the descriptor 0x%016llx of operand %c %s",
              (unsigned long long)bits[0], which, why);
    return 0;
}

/* All lanes read: each must come after what was written.  */
static bool claim(SimWarp *w, const SimInst *i, const uint32_t *at, int n) {
    SIM_EACH(l, sim_views_of(w, FULL_WARP)) {
        for (int k = 0; k < n; k++) {
            if (!sim_shadow_read_async(sim_lane(w, i, l), w->block, at[k], 16)) return false;
        }
    }
    return true;
}

/* The warps of a warpgroup execute together, all lanes of them.  */
static bool whole_group(SimWarp *w, const SimInst *i, uint32_t active) {
    if (active == FULL_WARP && (w->id | 3) < w->block->n_warp) return true;
    sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_DIVERGENT,
              "%s needs all threads of four consecutive warps", sim_op_name(i->ptx->op));
    return false;
}

static void exec_wgmma(SimWarp *w, const SimInst *i, uint32_t active) {
    const WgmmaInst *x = i->extra;
    uint32_t at[SIM_MAX_CHUNKS];
    if (!whole_group(w, i, active)) return;
    AsyncAcc *acc = async_acc(w, i);
    if (!acc) return;
    AsyncProduct *p = async_product_new(w, i, acc);
    p->shape = x->shape;
    if (!x->scale_known) p->shape.scale_d = sim_pred_of(w, &i->opnd[3]) & 1;
    if (!x->a_regs) {
        p->n_a = operand_chunks(w, i, 'A', at);
        if (!p->n_a || !claim(w, i, at, p->n_a)) return;
        memcpy(p->a_at, at, (size_t)p->n_a * sizeof *at);
    }
    p->n_b = operand_chunks(w, i, 'B', at);
    if (!p->n_b || !claim(w, i, at, p->n_b)) return;
    memcpy(p->b_at, at, (size_t)p->n_b * sizeof *at);
    async_product_issue(w, p);
}

static void exec_fence(SimWarp *w, const SimInst *i, uint32_t active) {
    if (!whole_group(w, i, active)) return;
    async_wgmma(w)->fences++;
}

static void exec_commit(SimWarp *w, const SimInst *i, uint32_t active) {
    if (!whole_group(w, i, active)) return;
    async_wgmma(w)->group++;
}

static void exec_wait(SimWarp *w, const SimInst *i, uint32_t active) {
    if (!whole_group(w, i, active)) return;
    async_product_wait(w, i, *sim_u32(w, i->opnd[0].slot[0]));
}

/* The immediates after scale-d: signs of A and B, then what is transposed.  False if one is no
 * immediate of its range.  */
static bool immediates(SimPick *k, WgmmaInst *x) {
    const PtxInst *p = k->p;
    bool half = x->shape.a == PTX_F16 || x->shape.a == PTX_BF16;
    bool integer = x->shape.d == PTX_S32;
    int signs = integer ? 0 : 2, flips = !half ? 0 : x->a_regs ? 1 : 2;
    if (p->n_opnd != 4 + signs + flips) return false;
    for (int n = 4; n < p->n_opnd; n++) {
        const PtxOpnd *o = &p->opnd[n];
        bool sign = n < 4 + signs;
        if (o->kind != OPND_INT || (sign ? o->offset != 1 && o->offset != -1
                                         : o->offset != 0 && o->offset != 1)) {
            return false;
        }
    }
    x->shape.neg_a = signs && p->opnd[4].offset < 0;
    x->shape.neg_b = signs && p->opnd[5].offset < 0;
    x->shape.b_mn = flips && p->opnd[p->n_opnd - 1].offset;
    x->shape.a_mn = flips == 2 && p->opnd[p->n_opnd - 2].offset;
    return true;
}

static SimExec *pick_product(SimPick *k) {
    WgmmaInst *x = ARENA_NEW(k->arena, WgmmaInst);
    const SimOpnd *o = k->i->opnd;
    x->shape.n = k->p->n;
    x->shape.k = k->p->k;
    x->shape.d = sim_take_type(k);
    x->shape.a = sim_take_type(k);
    x->shape.b = sim_take_type(k);
    x->shape.sat = sim_take(k, MOD_SATFINITE);
    if (k->p->n_opnd < 4) return sim_pick_fail(k, "needs at least 4 operands");
    x->a_regs = o[1].kind == OPND_VECTOR;
    x->scale_known = k->p->opnd[3].kind == OPND_INT;
    x->shape.scale_d = x->scale_known && k->p->opnd[3].offset;
    if (!immediates(k, x)) return sim_pick_fail(k, "has the wrong immediates");
    char wanted[] = "Vllpiiii";
    if (x->a_regs) wanted[1] = 'v';
    if (x->scale_known) wanted[3] = 'i';
    wanted[k->p->n_opnd] = 0;
    if (!async_want(k, wanted)) return NULL;
    const char *why = k->p->m != 64 ? "m is not 64" : sim_wgmma_check(&x->shape);
    if (why) return sim_pick_fail(k, "does not exist: %s", why);
    if (o[0].n != sim_wgmma_acc_regs(&x->shape) || (x->a_regs && o[1].n != 4)) {
        return sim_pick_fail(k, "needs %d accumulator registers (and 4 of A)",
                             sim_wgmma_acc_regs(&x->shape));
    }
    k->i->flops = (uint16_t)(x->shape.n * x->shape.k);
    k->i->extra = x;
    return exec_wgmma;
}

SimExec *sim_pick_wgmma(SimPick *k) {
    if (!sim_take(k, MOD_SYNC) || !sim_take(k, MOD_ALIGNED)) {
        return sim_pick_fail(k, "needs .sync.aligned");
    }
    switch (k->p->op) {
    case OP_WGMMA: return pick_product(k);
    case OP_WGMMA_FENCE: return exec_fence;
    case OP_WGMMA_COMMIT: return exec_commit;
    default: return exec_wait;
    }
}
