/* The `contract` skeleton: registers that a thread is expected to need.  */
#include "rprogram/contract.h"
#include "rprogram/matrix.h"

/* Registers of the fragments, fitted to the least that compiled kernels need without spills.  What
 * lies along its own axis is fetched one k ahead, so it counts twice, less where the other side
 * spans several k.  If both span them and nothing else is in flight, half of the larger one is
 * enough.  */
static int64_t fragment_words(const Problem *p, const Device *dev, const RProg *r) {
    int64_t words[2] = {0, 0}, tk = r->thread.extent[AX_K];
    bool k_inner[2] = {false, false};
    for (int side = 0; side < p->n_operand; side++) {
        int64_t n = r->thread.extent[own_axis(side)];
        k_inner[side] = r->load[side].layout.inner == AX_K;
        int64_t bytes = n * rprog_elem(p, dev, r, side) * (k_inner[side] ? tk : 2);
        words[side] = hal_words(bytes);
    }
    if (k_inner[0] && k_inner[1]) {
        int larger = words[1] > words[0];
        if (r->unroll == tk) words[larger] /= 2;
    } else if (k_inner[0] != k_inner[1] && tk > 1) {
        int own = k_inner[0];
        words[own] -= words[own] / 4;
    }
    return words[0] + words[1];
}

/* Registers of a gather: places of rows and of the k at hand.  */
static int64_t region_words(const Problem *p, const Device *dev, const RProg *r, int side) {
    enum { AT_HAND = 8 };
    RRegion x;
    int axis = own_axis(side);
    if (!rprog_region(p, r, side, &x)) return 0;
    if (rprog_matrix(dev, r)) {
        int rows = rprog_region_rows(p, dev, r, side);
        return AT_HAND + rprog_region_places(r, side, &x, rows);
    }
    return AT_HAND + (rprog_region_straight(r, side, &x) ? 1 : r->thread.extent[axis]);
}

/* Do tiles lie beyond the end of the operand's own axis?  Each chunk's test is made once then, and
 * what it says kept from step to step: of a few in predicates, of many in registers.  */
static bool is_ragged(const Problem *p, const RProg *r, int side) {
    return rprog_ragged(p, r, own_axis(side));
}

/* What the compiler keeps of chunks without much ado.  */
enum { FEW = 8 };

bool rprog_keeps_places(const Problem *p, const Device *dev, const RProg *r, int side) {
    const RLoad *l = &r->load[side];
    if (!rprog_matrix(dev, r) || !p->op[side].guarded || l->region || !rprog_copies_chunks(l))
        return false;
    RChunks x = rprog_chunks(r, side);
    return (x.step_mn ? x.thread : x.period) > 2 * FEW;
}

/* Registers that loads need: what is on its way to shared memory, and pointers; a gather keeps a
 * decoded position for each chunk.  */
static int64_t load_words(const Problem *p, const Device *dev, const RProg *r, int side) {
    const ROperand *op = &p->op[side];
    const RLoad *l = &r->load[side];
    if (l->vec < 1) return 0;
    if (l->region) return region_words(p, dev, r, side);
    RChunks x = rprog_chunks(r, side);
    int64_t chunks = x.thread, words = 3;
    if (rprog_through_registers(l)) words += chunks * hal_words(l->vec * op->bytes);
    if (op->digits_mn > 1 || op->guarded) {
        bool kept = !rprog_matrix(dev, r) || (rprog_keeps_places(p, dev, r, side) &&
                                              !rprog_may_table(p, r, side));
        int64_t period = !kept ? 0 : rprog_matrix(dev, r) ? chunks : x.period;
        words += 2 * (chunks < FEW ? chunks : FEW) + (period > FEW ? 3 * (period - FEW) : 0);
    } else if (rprog_copies_chunks(l) && chunks > FEW && is_ragged(p, r, side)) {
        words += chunks;
    }
    if (op->digits_k > 1) words += 4;
    if (rprog_matrix(dev, r)) words += matrix_load_registers(p, dev, r, side, chunks);
    return words;
}

/* Registers that a thread is expected to need.
 *
 * words of TM*TN accumulators + fragments + register-staged chunks + pointers + 22. A fragment that
 * lies along its own axis counts twice (it is fetched one k ahead), one and a half times if the
 * other spans several k; one with k inner counts TK times.  The figures were fitted to the smallest
 * register limit at which compiled kernels do not spill; R follows from registers, shared memory,
 * threads and blocks (hal_blocks_per_sm). What copies keep from step to step, beside 3 for each
 * operand:
 *
 *   positions of gathered or guarded chunks: 2 each, of 8 at most; where a thread's places in the
 *       tile come again only after p > 8 chunks (k-steps of 21 elements, 64 threads), 3 * (p - 8)
 *       more: position, place and table entry of each
 *   more than 8 copies, of tiles that do not divide the operand's own axis: 1 each: the test is
 *       made before the loop, and what it says of many is no matter of predicates (16 copies: 160
 *       registers without tests, 184 with)
 *   of these not told: a pointer for each copy, which the compiler keeps at some sizes: 12 copies
 *       of 96x48 warp tiles with K = 1024: 264 registers where 232 are expected, with K = 992 about
 *       248; without tests 232. Plans that spill are not taken: the next one is compiled
 */
int64_t contract_registers(const Problem *p, const Device *dev, const RProg *r) {
    /* SLACK: what matrix units leave below the limit; TAIL: the segment of a block.  */
    enum { FIXED = 22, SLACK = 4, TAIL = 4 };
    int64_t limit = (int64_t)dev->limits.registers_per_thread.value;
    if (dev->unit[r->unit].b_smem)
        return warpgroup_launched(p, dev, r, warpgroup_computing(p, dev, r));
    int64_t loads = load_words(p, dev, r, 0) + load_words(p, dev, r, 1) + (r->tail > 0 ? TAIL : 0);
    if (r->stats) loads += rprog_stats_registers(p, dev, r);
    if (rprog_matrix(dev, r)) {
        int64_t n = matrix_registers(p, dev, r) + loads;
        return n + SLACK > limit ? n + SLACK : n;
    }
    int64_t words = hal_words(p->acc_bytes);
    return FIXED + words * r->thread.extent[AX_M] * r->thread.extent[AX_N] +
           fragment_words(p, dev, r) + loads;
}

void contract_derive_late(const Problem *p, const Device *dev, RProg *r) {
    r->late = false;
    if (!rprog_matrix(dev, r) || !rprog_may_be_ahead(dev, r, 0)) return;
    int64_t limit = (int64_t)dev->limits.registers_per_thread.value;
    r->late = contract_registers(p, dev, r) > limit;
}
