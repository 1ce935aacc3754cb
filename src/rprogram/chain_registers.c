/* The `chain` skeleton: units that may compute it, and registers that a thread is expected to need.
 */
#include "rprogram/chain.h"
#include "rprogram/contract.h"
#include "rprogram/matrix.h"

/* Products in three parts split what lies in memory.  */
static bool multiplies_once(const Problem *p, const ComputeUnit *u) { return !u->tf32 || p->tf32; }

bool chain_fits(const Problem *p, const ComputeUnit *u, const ComputeUnit *v) {
    FragOrder order;
    bool plain = u->a == u->b && v->a == v->b, alike = u->scope == v->scope;
    return plain && alike && u->m.from == v->m.from && matrix_takes_as(p, u, false) &&
           matrix_takes_as(p->next, v, false) && multiplies_once(p, u) &&
           multiplies_once(p->next, v) && chain_units_order(u, v, &order) &&
           (!u->b_smem || (chain_groups_fit(p, u, v) && chain_groups_bring(p, &order)));
}

/* Registers of the fragments of a slice of k, of one side.  */
static int64_t slice_words(const Device *dev, const RProg *r, int side) {
    return (int64_t)count_along(&r->warp, &r->thread, own_axis(side)) *
           rprog_unit_registers(dev, r, side);
}

static int64_t sum_words(const Device *dev, const RProg *r) {
    return (int64_t)count_along(&r->warp, &r->thread, AX_M) *
           count_along(&r->warp, &r->thread, AX_N) * rprog_unit_accumulators(dev, r);
}

/* Registers of a tile of b or V that is on its way to shared memory.  */
static int64_t staged_words(const Problem *p, const RProg *r) {
    const RLoad *l = &r->load[1];
    return rprog_waits(l) ? (int64_t)rprog_chunks(r, 1).thread * hal_words(l->vec * p->op[1].bytes)
                          : 0;
}

/* Registers: 18 + results of the second product + the larger of (where k is streamed, both being
 * behind that, the second one alone): results of the first, fragments of b of a slice of k, and
 * of a likewise or (kept) of all slices; the same results as operand, fragments of V of a slice;
 * either with the other one's tile on its way + for each row of a thread its reductions and a
 * factor + 3 for each load.  Fragments of slices count twice where they are fetched ahead.  The
 * constants are those of matrix units in `contract` (matrix_registers).  */
static int64_t words(const Problem *p, const Device *dev, const RProg *r, bool ahead,
                     bool streams) {
    enum { FIXED = 18, POINTER = 3 };
    RProg first = rprog_product(dev, r, 0), second = rprog_product(dev, r, 1);
    Fragment results = rprog_results(dev, r);
    int64_t slices = count_along(&first.warp, &first.thread, AX_K), times = ahead ? 2 : 1;
    int64_t a = slice_words(dev, &first, 0), sums = sum_words(dev, &first);
    int64_t rows = (int64_t)count_along(&r->warp, &r->thread, AX_M) *
                   (fragment_slots(&results, FRAG_ROW));
    int64_t kept = r->keep == KEEP_REGISTERS ? slices * a : 0;
    int64_t scores = sums + times * (slice_words(dev, &first, 1) + (kept ? 0 : a)) +
                     staged_words(p->next, &second);
    int64_t operand = slice_words(dev, &second, 0) *
                      count_along(&second.warp, &second.thread, AX_K);
    int64_t values = operand + times * slice_words(dev, &second, 1) + staged_words(p, &first);
    if (streams) scores = 0;
    return FIXED + sum_words(dev, &second) + (scores > values ? scores : values) + kept +
           rows * (p->chain->values + 1) + RPROG_LOADED * POINTER;
}

/* Where k is streamed, the first product as it is by itself.  */
static int64_t needed(const Problem *p, const Device *dev, const RProg *r) {
    bool streams = rprog_chain_streams(p, r);
    int64_t behind = words(p, dev, r, !r->late, streams);
    if (!streams) return behind;
    RProg first = rprog_product(dev, r, 0);
    int64_t steps = contract_registers(p, dev, &first);
    return steps > behind ? steps : behind;
}

int64_t chain_registers(const Problem *p, const Device *dev, const RProg *r) {
    if (dev->unit[r->unit].b_smem) return warpgroup_launched(p, dev, r, chain_computing(p, dev, r));
    return needed(p, dev, r);
}

void chain_derive_late(const Problem *p, const Device *dev, RProg *r) {
    int64_t limit = (int64_t)dev->limits.registers_per_thread.value;
    r->late = false;
    r->late = !dev->unit[r->unit].b_smem && needed(p, dev, r) > limit;
}
