/* tcgen05.alloc, dealloc, ld, st, wait and fence.  */
#include "sim/async/tmem.h"

#include <string.h>

static bool whole_warp(SimWarp *w, const SimInst *i, uint32_t active) {
    if (active == FULL_WARP) return true;
    sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_DIVERGENT,
              "%s needs all 32 lanes of the warp", sim_op_name(i->ptx->op));
    return false;
}

/* An operand that is the same in all lanes.  */
static bool uniform(SimWarp *w, const SimInst *i, const uint32_t *v) {
    for (int l = 1; l < LANES; l++) {
        if (v[l] == v[0]) continue;
        sim_fault(sim_lane(w, i, l), SIM_DIVERGENT, "an operand of %s differs between lanes",
                  sim_op_name(i->ptx->op));
        return false;
    }
    return true;
}

/* ---- allocation ---- */

bool tmem_take_group(SimPick *k, bool *pair) {
    *pair = sim_take(k, MOD_CTA_GROUP_2);
    if (*pair || sim_take(k, MOD_CTA_GROUP_1)) return true;
    sim_pick_fail(k, "needs .cta_group::1 or .cta_group::2");
    return false;
}

bool tmem_group(SimLane by, bool pair) {
    TensorMemory *t = tmem_of(by.w->block);
    int group = pair ? 2 : 1;
    const char *why = t->group && t->group != group ? "a kernel has tcgen05 of one .cta_group"
                      : pair && !tmem_peer(by.w->block) ? "the block has no peer in its cluster"
                                                        : NULL;
    t->group = group;
    if (why) sim_fault(by, SIM_TENSOR_MEMORY, "%s", why);
    return !why;
}

static bool is_free(const TensorMemory *t, uint32_t at, uint32_t columns) {
    bool free = true;
    for (uint32_t c = at; c < at + columns; c += TMEM_UNIT) free &= !t->owner[c / TMEM_UNIT];
    return free;
}

/* Columns may lie anywhere, at a multiple of their number, and of a pair (peer: not NULL) at the
 * same place in both: what kernels take for granted of the address shows.  Numbers that do not grow
 * leave no gaps that way.  TMEM_COLUMNS if there is no room.  */
static uint32_t find_room(SimBlock *b, SimBlock *peer, uint32_t columns) {
    const TensorMemory *t = tmem_of(b);
    uint32_t found = TMEM_COLUMNS, n = 0;
    for (uint32_t at = 0; at < TMEM_COLUMNS; at += columns) {
        bool free = is_free(t, at, columns) && (!peer || is_free(tmem_of(peer), at, columns));
        if (free && rng_below(&b->cluster->rng, ++n) == 0) found = at;
    }
    return found;
}

static const char *cannot_allocate(const TensorMemory *t, uint32_t columns) {
    bool power = columns >= TMEM_UNIT && columns <= TMEM_COLUMNS && !(columns & (columns - 1));
    if (!power) return "columns are 32, 64, 128, 256 or 512";
    if (t->relinquished) return "the permit was given up (relinquish_alloc_permit)";
    if (t->last_columns && columns > t->last_columns)
        return "there are more columns than in the allocation before";
    return NULL;
}

static void own(TensorMemory *t, uint32_t at, uint32_t columns, uint32_t owner) {
    for (uint32_t c = at; c < at + columns; c += TMEM_UNIT) t->owner[c / TMEM_UNIT] = owner;
}

static void take_columns(TensorMemory *t, uint32_t at, uint32_t columns) {
    own(t, at, columns, ++t->allocations);
    memset(t->touch[at], 0, columns * sizeof t->touch[at]);
    t->last_columns = columns;
}

/* Both blocks of a pair allocate together: the second one finds room for both, and the first one
 * waits for that.  TMEM_COLUMNS: not yet, or after a fault.  */
static uint32_t find_pair(SimLane by, uint32_t columns) {
    SimBlock *b = by.w->block, *peer = tmem_peer(b);
    TensorMemory *t = tmem_of(b), *other = tmem_of(peer);
    uint32_t at = TMEM_COLUMNS;
    if (t->granted) {
        at = t->granted - 1;
        t->granted = 0;
        return at;
    }
    if (!t->asked) sim_event(b->cluster);
    t->asked = columns;
    if (other->asked && other->asked != columns) {
        sim_fault(by, SIM_TENSOR_MEMORY, "allocates %u columns, and the peer %u", columns,
                  other->asked);
        return at;
    }
    if (other->asked) at = find_room(b, peer, columns);
    if (at == TMEM_COLUMNS) return at;
    take_columns(t, at, columns);
    take_columns(other, at, columns);
    other->granted = at + 1;
    t->asked = other->asked = 0;
    return at;
}

static uint32_t find_columns(SimLane by, bool pair, uint32_t columns) {
    if (pair) return find_pair(by, columns);
    uint32_t at = find_room(by.w->block, NULL, columns);
    if (at < TMEM_COLUMNS) take_columns(tmem_of(by.w->block), at, columns);
    return at;
}

static void exec_alloc(SimWarp *w, const SimInst *i, uint32_t active) {
    SimLane by = sim_lane(w, i, sim_first_lane(active));
    bool pair = *(const bool *)i->extra;
    const uint32_t *columns = sim_u32(w, i->opnd[1].slot[0]);
    if (!whole_warp(w, i, active) || !uniform(w, i, columns) || !tmem_group(by, pair)) return;
    TensorMemory *t = tmem_of(w->block);
    const char *why = t->granted ? NULL : cannot_allocate(t, *columns);
    if (why) {
        sim_fault(by, SIM_TENSOR_MEMORY, "cannot allocate %u columns: %s", *columns, why);
        return;
    }
    t->allocator = i;
    t->allocated_by = w;
    uint32_t at = find_columns(by, pair, *columns), offset;
    if (at == TMEM_COLUMNS) {
        if (!w->block->stop) sim_retry(w);
        return;
    }
    SimBlock *to = sim_shared(by, async_shared_at(w, &i->opnd[0], by.lane), 4, 4, &offset);
    if (!to || !sim_shadow_write(by, to, offset, 4)) return;
    uint32_t address = tmem_address(0, at);
    memcpy(to->smem + offset, &address, 4);
    sim_event(w->block->cluster);
}

/* An allocation is freed as a whole, at its first column.  */
static bool is_allocation(const TensorMemory *t, uint32_t address, uint32_t columns) {
    uint32_t at = tmem_column(address), unit = at / TMEM_UNIT, n = columns / TMEM_UNIT;
    if (tmem_lane(address) || at % TMEM_UNIT || columns % TMEM_UNIT || !n ||
        at + columns > TMEM_COLUMNS || !t->owner[unit])
        return false;
    uint32_t owner = t->owner[unit];
    for (uint32_t u = unit; u < unit + n; u++)
        if (t->owner[u] != owner) return false;
    bool more_before = unit > 0 && t->owner[unit - 1] == owner;
    bool more_behind = unit + n < TMEM_COLUMNS / TMEM_UNIT && t->owner[unit + n] == owner;
    return !more_before && !more_behind;
}

static void exec_dealloc(SimWarp *w, const SimInst *i, uint32_t active) {
    SimLane by = sim_lane(w, i, sim_first_lane(active));
    const uint32_t *at = sim_u32(w, i->opnd[0].slot[0]), *n = sim_u32(w, i->opnd[1].slot[0]);
    if (!whole_warp(w, i, active) || !uniform(w, i, at) || !uniform(w, i, n) ||
        !tmem_group(by, *(const bool *)i->extra))
        return;
    TensorMemory *t = tmem_of(w->block);
    if (!is_allocation(t, *at, *n)) {
        sim_fault(by, SIM_TENSOR_MEMORY, "frees %u columns at 0x%x, which is no allocation", *n,
                  *at);
        return;
    }
    if (!tmem_ended(by, w->block, (TmemPart){0, TMEM_LANES, tmem_column(*at), *n})) return;
    own(t, tmem_column(*at), *n, 0);
    sim_event(w->block->cluster);
}

static void exec_relinquish(SimWarp *w, const SimInst *i, uint32_t active) {
    if (!whole_warp(w, i, active)) return;
    SimLane by = sim_lane(w, i, sim_first_lane(active));
    if (tmem_group(by, *(const bool *)i->extra)) tmem_of(w->block)->relinquished = true;
}

void async_tensor_end(SimBlock *b) {
    const TensorMemory *t = async_block(b)->tensor;
    for (int u = 0; t && u < TMEM_COLUMNS / TMEM_UNIT; u++) {
        if (!t->owner[u]) continue;
        sim_fault(sim_lane(t->allocated_by, t->allocator, 0), SIM_TENSOR_MEMORY,
                  "block %d ends without tcgen05.dealloc of column %d of Tensor Memory", b->rank,
                  u * TMEM_UNIT);
        return;
    }
}

/* ---- loads and stores ---- */

/* How a warp's registers lie: `rows` lanes, `columns` and `registers` for each of `times`; and, of
 * 16x32bx2, how far the columns of the upper 16 threads are from those of the lower ones.  */
typedef struct {
    PtxMod shape;
    int rows, columns, registers, times;
    int64_t apart;
    int of_registers, of_address;         /* operands */
} Move;

/* Row and column of register r of lane l (PTX ISA, "Matrix fragments for shape ..").  */
static TmemPart cell_of(const Move *m, int l, int r) {
    uint32_t row = 0, column = 0, lane = (uint32_t)l, reg = (uint32_t)r;
    switch (m->shape) {
    case MOD_16X64B: row = lane / 4 + 8 * (lane % 2), column = lane / 2 % 2 + 2 * reg; break;
    case MOD_16X128B: row = lane / 4 + 8 * (reg % 2), column = lane % 4 + 4 * (reg / 2); break;
    case MOD_16X256B:
        row = lane / 4 + 8 * (reg / 2 % 2), column = reg % 2 + 2 * (lane % 4) + 8 * (reg / 4);
        break;
    case MOD_16X32BX2: row = lane % 16, column = reg + lane / 16 * (uint32_t)m->apart; break;
    default: row = lane, column = reg;
    }
    return (TmemPart){.lane = row, .column = column};
}

/* What the warp touches; false after a fault.  */
static bool part_of(SimWarp *w, const SimInst *i, const Move *m, TmemPart *out) {
    uint32_t at[LANES], own = (uint32_t)w->id % 4 * 32;
    for (int l = 0; l < LANES; l++) at[l] = (uint32_t)sim_address(w, &i->opnd[m->of_address], l);
    if (!uniform(w, i, at)) return false;
    uint32_t lane = tmem_lane(at[0]);
    *out = (TmemPart){lane, (uint32_t)m->rows, tmem_column(at[0]),
                      (uint32_t)(m->columns * m->times)};
    if (lane == own || (m->rows == 16 && lane == own + 16)) return true;
    sim_fault(sim_lane(w, i, 0), SIM_TENSOR_MEMORY,
              "%s at lane %u, but warp %d reaches lanes %u to %u", sim_op_name(i->ptx->op), lane,
              w->id, own, own + 31);
    return false;
}

static bool touch(SimWarp *w, const SimInst *i, const Move *m, TmemPart p) {
    bool load = i->ptx->op == OP_TC_LD;
    uint32_t access = tmem_access(load ? TMEM_LD : TMEM_ST, sim_lane(w, i, 0), 0);
    for (int half = 0; half < 1 + (m->shape == MOD_16X32BX2); half++) {
        if (load ? !tmem_read(access, w->block, p) : !tmem_write(access, w->block, p)) return false;
        p.column += (uint32_t)m->apart;
    }
    return true;
}

static void exec_move(SimWarp *w, const SimInst *i, uint32_t active) {
    const Move *m = i->extra;
    bool load = i->ptx->op == OP_TC_LD;
    const SimOpnd *regs = &i->opnd[m->of_registers];
    TmemPart p;
    if (!whole_warp(w, i, active) || !part_of(w, i, m, &p) || !touch(w, i, m, p)) return;
    TensorMemory *t = tmem_of(w->block);
    for (int r = 0; r < regs->n; r++) {
        uint32_t *reg = sim_u32(w, regs->slot[r]);
        for (int l = 0; l < LANES; l++) {
            TmemPart at = cell_of(m, l, r);
            uint32_t *cell = &t->cell[p.column + at.column][p.lane + at.lane];
            if (load) reg[l] = *cell;
            else *cell = reg[l];
        }
    }
}

static void exec_wait(SimWarp *w, const SimInst *i, uint32_t active) {
    if (whole_warp(w, i, active))
        tmem_wait(w, i->ptx->op == OP_TC_WAIT_LD ? TMEM_LD : TMEM_ST);
}

static void exec_fence(SimWarp *w, const SimInst *i, uint32_t active) {
    if (i->ptx->op == OP_TC_FENCE_BEFORE) tmem_fence_before(w);
    else tmem_fence_after(w, active);
}

/* ---- picking ---- */

/* ld: registers, address, and how far the halves are apart; st: that stands before registers.  A
 * single register may stand without braces.  */
static const char *take_operands(SimPick *k, Move *m) {
    bool load = k->p->op == OP_TC_LD, halves = m->shape == MOD_16X32BX2;
    int n = 2 + halves, apart = load ? 2 : 1;
    m->of_registers = load ? 0 : n - 1;
    m->of_address = load ? 1 : 0;
    if (k->p->n_opnd != n) return halves ? "needs 3 operands" : "needs 2 operands";
    bool bare = k->p->opnd[m->of_registers].kind == OPND_REG;
    char want[4] = {0};
    want[m->of_address] = 'a';
    want[m->of_registers] = load ? bare ? 'I' : 'V' : bare ? 'i' : 'v';
    if (halves) want[apart] = 'i';
    if (halves && k->p->opnd[apart].kind != OPND_INT)
        return "needs an immediate between its halves";
    if (halves) m->apart = k->p->opnd[apart].offset;
    return async_want(k, want) ? NULL : k->why;
}

static SimExec *pick_move(SimPick *k) {
    static const struct {
        PtxMod shape;
        int rows, columns, registers;
    } shapes[] = {{MOD_32X32B, 32, 1, 1},  {MOD_16X64B, 16, 2, 1}, {MOD_16X128B, 16, 4, 2},
                  {MOD_16X256B, 16, 8, 4}, {MOD_16X32BX2, 16, 1, 1}};
    static const PtxMod times[] = {MOD_X1, MOD_X2, MOD_X4, MOD_X8, MOD_X16, MOD_X32, MOD_X64,
                                   MOD_X128};
    Move *m = ARENA_NEW(k->arena, Move);
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        if (sim_take(k, shapes[n].shape))
            *m = (Move){.shape = shapes[n].shape, .rows = shapes[n].rows,
                        .columns = shapes[n].columns, .registers = shapes[n].registers};
    for (int n = 0; n < 8; n++)
        if (sim_take(k, times[n])) m->times = 1 << n;
    int regs = m->registers * m->times;
    if (!regs || regs > 128) return sim_pick_fail(k, "has no such shape");
    if (sim_take_type(k) != PTX_B32) return sim_pick_fail(k, "needs .b32");
    const char *why = take_operands(k, m);
    if (why) return sim_pick_fail(k, "%s", why);
    if (k->i->opnd[m->of_registers].n != regs) return sim_pick_fail(k, "needs %d registers", regs);
    k->i->extra = m;
    return exec_move;
}

SimExec *sim_pick_tmem(SimPick *k) {
    if (k->p->op == OP_TC_FENCE_BEFORE || k->p->op == OP_TC_FENCE_AFTER) return exec_fence;
    if (!sim_take(k, MOD_SYNC) || !sim_take(k, MOD_ALIGNED))
        return sim_pick_fail(k, "needs .sync.aligned");
    switch (k->p->op) {
    case OP_TC_LD:
    case OP_TC_ST: return pick_move(k);
    case OP_TC_WAIT_LD:
    case OP_TC_WAIT_ST: return exec_wait;
    default: break;
    }
    bool *pair = ARENA_NEW(k->arena, bool);
    if (!tmem_take_group(k, pair)) return NULL;
    k->i->extra = pair;
    if (k->p->op == OP_TC_RELINQUISH) return exec_relinquish;
    if (sim_take_type(k) != PTX_B32) return sim_pick_fail(k, "needs .b32");
    if (k->p->op == OP_TC_DEALLOC) return async_want(k, "ii") ? exec_dealloc : NULL;
    sim_take(k, MOD_SHARED_CTA);
    return async_want(k, "ai") ? exec_alloc : NULL;
}
