#include "rprogram/index_map.h"
#include "rprogram/matrix.h"
#include <string.h>

int64_t rprog_blocks(const Problem *p, const RProg *r) {
    IndexMap m;
    if (r->skeleton == SK_CONTRACT)       /* whatever the order of its tiles is */
        return rprog_tiles(p, r, AX_B) * rprog_tiles(p, r, AX_M) * rprog_tiles(p, r, AX_N);
    index_map(p, r, 0, &m);
    return index_blocks(&m);
}

bool rprog_same_block(const RProg *a, const RProg *b) {
    RProg x = *a;
    x.stages = b->stages;
    x.split = b->split;
    x.tail = b->tail;
    x.tail_blocks = b->tail_blocks;
    x.raster = b->raster;
    x.group = b->group;
    x.via = b->via;
    x.store_vec = b->store_vec;
    x.registers = b->registers;
    x.smem = b->smem;
    x.blocks_per_sm = b->blocks_per_sm;
    return memcmp(&x, b, sizeof x) == 0;
}

int rprog_resident(const Problem *p, const Device *dev, const RProg *r) {
    int64_t blocks = rprog_blocks(p, r) * r->split - r->tail + r->tail_blocks;
    int64_t sms = (int64_t)dev->limits.sm_count.value;
    if (blocks > r->blocks_per_sm * sms) return r->blocks_per_sm;
    return blocks > sms ? (int)ceil_div(blocks, sms) : 1;
}

int64_t rprog_tail_steps(const Problem *p, const RProg *r) {
    return ceil_div(r->tail * rprog_tiles(p, r, AX_K), r->tail_blocks);
}

/* Every end of a block or of a tile ends one; in `both` places the two fall together.  */
int64_t rprog_tail_partials(const Problem *p, const RProg *r) {
    int64_t steps = rprog_tiles(p, r, AX_K), each = rprog_tail_steps(p, r);
    int64_t both = (r->tail - 1) / (each / gcd64(each, steps));
    return (int64_t)r->tail + r->tail_blocks - 1 - both;
}

int64_t rprog_tail_slot(const Problem *p, const RProg *r) {
    return (int64_t)r->block.extent[AX_M] * r->block.extent[AX_N] * p->acc_bytes;
}

int64_t rprog_tail_adders(const RProg *r, int64_t span) {
    return ceil_div((int64_t)r->block.extent[AX_M] * r->block.extent[AX_N], span);
}

void rprog_tail_blocks(const Problem *p, const RProg *r, int64_t t, int64_t *first, int64_t *last) {
    int64_t steps = rprog_tiles(p, r, AX_K), each = rprog_tail_steps(p, r);
    *first = t * steps / each;
    *last = ((t + 1) * steps - 1) / each;
}

bool rprog_workspace_fixed(const Problem *p, const RProg *r) {
    if (r->skeleton == SK_COLUMN || r->skeleton == SK_SCAN)
        return rprog_partial_arrays(p->te, p->group->columns) > 1;
    return r->skeleton == SK_ROW && rprog_partial_arrays(p->te, p->row->group) > 1;
}

int64_t rprog_workspace(const Problem *p, const RProg *r) {
    if (r->tail > 0) return ((int64_t)r->tail + r->tail_blocks - 1) * rprog_tail_slot(p, r);
    if (r->stats == STATS_PARTIAL) return rprog_stats_workspace(p, r);
    if (r->split <= 1) return 0;
    if (r->skeleton == SK_ROW) return rprog_row_workspace(p, r);
    if (r->skeleton == SK_COLUMN) return rprog_column_workspace(p, r);
    if (r->skeleton == SK_SCAN) return rprog_scan_workspace(p, r);
    return r->split * p->extent[AX_B] * p->extent[AX_M] * p->extent[AX_N] * p->acc_bytes;
}

/* Registers of the fragments, fitted to the least that compiled kernels need without spills.  What
 * lies along its own axis is fetched one k ahead, so it counts twice, less where the other side
 * spans several k.  If both span them and nothing else is in flight, half of the larger one is
 * enough.  */
static int64_t fragment_words(const Problem *p, const Device *dev, const RProg *r) {
    int64_t words[2] = {0, 0}, tk = r->thread.extent[AX_K];
    bool k_inner[2] = {false, false};
    for (int side = 0; side < 2; side++) {
        if (!p->op[side].present) continue;
        int64_t n = r->thread.extent[own_axis(side)];
        k_inner[side] = r->load[side].layout.inner == AX_K;
        int64_t bytes = n * rprog_elem(p, dev, r, side) * (k_inner[side] ? tk : r->late ? 1 : 2);
        words[side] = (bytes + 3) / 4;
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
        Fragment f = rprog_fragment(dev, r, side);
        return AT_HAND + r->warp.extent[axis] / fragment_lanes(&f, FRAG_ROW) /
                             rprog_region_group(dev, r, side, &x);
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
    if (!op->present || l->vec < 1) return 0;
    if (l->region) return region_words(p, dev, r, side);
    RChunks x = rprog_chunks(r, side);
    int64_t chunks = x.thread, words = 3;
    if (rprog_through_registers(l)) words += chunks * ((l->vec * op->bytes + 3) / 4);
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

/* Values of the thread's elements, or a map's vectors that it has read and has yet to store; single
 * elements come and go one after the other.  */
static int64_t stream_words(const Problem *p, const RProg *r) {
    int64_t values = (int64_t)r->thread.extent[AX_M] * (te_dtype_bytes(p->type) > 4 ? 4 : 2);
    int64_t vectors = (p->element_bytes * r->store_vec + 3) / 4;
    return values > vectors || r->store_vec == 1 ? values : vectors;
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
 *
 * Of a stream kernel they are the values that wait; other skeletons count theirs in their own
 * files.  */
static int64_t expected_registers(const Problem *p, const Device *dev, const RProg *r) {
    /* SLACK: what matrix units leave below the limit; TAIL: the segment of a block.  */
    enum { FIXED = 22, SLACK = 4, TAIL = 4 };
    int64_t limit = (int64_t)dev->limits.registers_per_thread.value;
    if (r->skeleton == SK_STREAM) return FIXED + stream_words(p, r);
    if (r->skeleton == SK_ROW) return rprog_row_registers(p, r);
    if (r->skeleton == SK_COLUMN) return rprog_column_registers(p, r);
    if (r->skeleton == SK_SCAN) return rprog_scan_registers(p, r);
    if (r->skeleton == SK_WINDOW) return rprog_window_registers(p, r);
    if (r->skeleton == SK_PERMUTE) return rprog_permute_registers(p, r);
    if (rprog_warpgroups(dev, r)) return warpgroup_registers(p, dev, r);
    int64_t loads = load_words(p, dev, r, 0) + load_words(p, dev, r, 1) + (r->tail > 0 ? TAIL : 0);
    if (r->stats) loads += rprog_stats_registers(p, dev, r);
    if (rprog_matrix(dev, r)) {
        int64_t n = matrix_registers(p, dev, r) + loads;
        return n + SLACK > limit ? n + SLACK : n;
    }
    int64_t words = (p->acc_bytes + 3) / 4;
    return FIXED + words * r->thread.extent[AX_M] * r->thread.extent[AX_N] +
           fragment_words(p, dev, r) + loads;
}

/* The compiler gives registers in steps of 8, and an odd rest up to the limit.  */
static int16_t whole_registers(int64_t n, int64_t limit) {
    int64_t rounded = (n + 7) / 8 * 8;
    if (n <= limit && rounded > limit) rounded = limit;
    return (int16_t)(rounded < INT16_MAX ? rounded : INT16_MAX);
}

void rprog_derive(const Problem *p, const Device *dev, RProg *r) {
    int64_t threads;
    if (r->skeleton == SK_STREAM) {
        threads = count_along(&r->block, &r->thread, AX_M);
        r->warp = r->thread;
        r->warp.extent[AX_M] *= WARP;
    } else if (r->skeleton == SK_WINDOW) {
        r->warp = r->thread;
        threads = rprog_window_threads(r);
    } else if (r->skeleton == SK_PERMUTE) {
        threads = r->threads;
    } else if (r->skeleton == SK_COLUMN) {
        r->warp = r->thread;
        threads = (int64_t)rprog_threads_along(r, AX_M) * rprog_threads_along(r, AX_K);
    } else if (r->skeleton == SK_SCAN) {
        r->warp = r->thread;
        threads = (int64_t)rprog_threads_along(r, AX_M) * rprog_threads_along(r, AX_N);
    } else if (r->skeleton == SK_ROW) {
        threads = rprog_row_threads(r);
        int lanes = threads < WARP ? (int)threads : WARP;
        r->warp = r->thread;
        r->warp.extent[AX_M] *= WARP / (lanes > 0 ? lanes : 1);
        r->warp.extent[AX_N] *= lanes;
        threads *= r->block.extent[AX_M];
    } else {
        threads = WARP * rprog_team(dev, r);
        for (int axis = AX_M; axis <= AX_K; axis++) {
            int along = count_along(&r->block, &r->warp, axis);
            threads *= along < 1024 ? along : 1024;
            if (threads > INT16_MAX) threads = INT16_MAX;
        }
        threads *= rprog_in_turn(r);
        if (rprog_warpgroups(dev, r)) threads += WARP * rprog_team(dev, r);
    }
    r->threads = (int16_t)(threads < INT16_MAX ? threads : INT16_MAX);
    r->registers = whole_registers(r->threads > 0 ? expected_registers(p, dev, r) : 0,
                                   (int64_t)dev->limits.registers_per_thread.value);
    rprog_derive_smem(p, dev, NULL, r);
}

void rprog_derive_smem(const Problem *p, const Device *dev, const BlockBytes *b, RProg *r) {
    int64_t smem = rprog_shared(p, dev, r, b);
    r->smem = (int32_t)(smem < INT32_MAX ? smem : INT32_MAX);
    r->blocks_per_sm = (int16_t)hal_blocks_per_sm(dev, r->threads, r->registers, r->smem);
}

bool rprog_fits(const Problem *p, const Device *dev, const RProg *r, int64_t workspace_limit,
                RProgSet *set) {
    if (r->threads > dev->limits.threads_per_block.value) set->rejected[REJECT_THREADS]++;
    else if ((double)rprog_block_smem(p, dev, r) > dev->limits.smem_per_block_optin.value)
        set->rejected[REJECT_SMEM]++;
    else if (r->blocks_per_sm < 1) set->rejected[REJECT_REGISTERS]++;
    else if (workspace_limit >= 0 && rprog_workspace(p, r) > workspace_limit)
        set->rejected[REJECT_WORKSPACE]++;
    else return true;
    return false;
}

void rprog_keep(Keeper *k, RProg r) {
    RProgSet *set = k->set;
    set->enumerated++;
    rprog_derive(k->p, k->dev, &r);
    if (!rprog_fits(k->p, k->dev, &r, k->workspace_limit, set)) return;
    if (rprog_view_check(k->p, k->dev, &r)) {
        set->rejected[(double)rprog_blocks(k->p, &r) > k->dev->limits.grid_max.value
                          ? REJECT_GRID : REJECT_ALIGNMENT]++;
    } else {
        set->prog = arena_grow(k->arena, set->prog, &k->cap, (size_t)set->n + 1, sizeof r);
        set->prog[set->n++] = r;
    }
}
