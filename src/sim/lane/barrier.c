/* bar and barrier: arrive, sync and reduce on the named barriers of a block.
 *
 * A barrier without a thread count waits for every thread of the block; with one, for that many, a
 * warp counting as 32.  Whoever syncs is parked until the count is complete.  */
#include "sim/lane/lanes.h"
#include "sim/lane/pick.h"
#include "sim/state/race.h"
#include "sim/lane/warp.h"
#include "sim/timing/timing.h"
#include <string.h>

typedef enum { BAR_SYNC, BAR_ARRIVE, BAR_RED } BarKind;
typedef enum { RED_POPC, RED_AND, RED_OR } BarRed;
typedef struct {
    BarKind kind;
    BarRed red;
    bool aligned;
    int id, count, value;     /* operand numbers; -1: absent */
} Bar;

/* An operand that all lanes must agree on.  */
static bool agreed(SimWarp *w, const SimInst *i, uint32_t active, int operand, uint32_t *out) {
    const uint32_t *v = sim_u32(w, i->opnd[operand].slot[0]);
    *out = v[sim_first_lane(active)];
    SIM_EACH(l, active) {
        if (v[l] == *out) continue;
        sim_fault(sim_lane(w, i, l), SIM_DIVERGENT, "the lanes of a warp name barriers %u and %u",
                  *out, v[l]);
        return false;
    }
    return true;
}

static uint32_t threads_of(const SimWarp *w, uint32_t active, bool counted) {
    return counted && active == w->exists ? LANES : (uint32_t)sim_popcount(active);
}

/* Results of a reduction go to all lanes that wait, each with its own instruction.  */
static void deliver(SimBlock *b, const SimBarrier *x, int id) {
    const SimInst *code = b->cluster->run->kernel->code;
    for (int n = 0; n < b->n_warp; n++) {
        SimWarp *w = &b->warp[n];
        for (int s = 0; s < LANES; s++) {
            const SimSubwarp *p = &w->subwarp[s];
            if (p->state != SUBWARP_BARRIER || p->barrier != id) continue;
            sim_acquire(w, p->mask, x->clock);
            if (w->timer) sim_timer_fence(w);
            const SimInst *i = &code[p->pc - 1];
            const Bar *bar = i->extra;
            if (bar->kind != BAR_RED) continue;
            if (bar->red == RED_POPC) {
                uint32_t *d = sim_u32(w, i->d);
                SIM_EACH(l, p->mask) d[l] = x->red_count;
            } else {
                uint32_t v = bar->red == RED_AND ? x->red_and : x->red_or;
                sim_set_pred(w, i->d, p->mask, v ? FULL_WARP : 0);
            }
        }
    }
}

/* When the whole block waits here, nobody has accessed anything since arriving: one time for all,
 * which reads by several warps rely on (race.c).  */
static void level(const SimBlock *b, SimBarrier *x) {
    if (x->expected < (uint32_t)b->threads) return;
    for (int n = 0; n < b->n_warp; n++) x->clock[b->warp[n].clock_id] = b->cluster->time;
}

static void finish(SimBlock *b, SimBarrier *x, int id) {
    level(b, x);
    deliver(b, x, id);
    sim_wake_barrier(b, id);
    sim_event(b->cluster);
    uint32_t *clock = x->clock;
    memset(clock, 0, sim_clock_bytes(b->cluster));
    *x = (SimBarrier){.clock = clock, .generation = x->generation + 1};
}

static void collect(SimWarp *w, const SimInst *i, uint32_t active, const Bar *bar, SimBarrier *x) {
    if (x->arrived == 0) {
        x->red_and = 1;
        x->first = i;
    }
    if (bar->kind == BAR_RED) {
        uint32_t p = sim_pred_of(w, &i->opnd[bar->value]) & active;
        x->red_count += (uint32_t)sim_popcount(p);
        x->red_or |= p != 0;
        x->red_and &= p == active;
    }
    sim_release(w, active, x->clock);
}

static void exec_bar(SimWarp *w, const SimInst *i, uint32_t active) {
    const Bar *bar = i->extra;
    SimBlock *b = w->block;
    uint32_t id = 0, expected = (uint32_t)b->threads;
    if (bar->aligned && active != w->live) {
        sim_fault(sim_lane(w, i, sim_first_lane(w->live & ~active)), SIM_DIVERGENT,
                  "only lanes 0x%08x of the warp's 0x%08x reach the barrier", active, w->live);
        return;
    }
    if (bar->id >= 0 && !agreed(w, i, active, bar->id, &id)) return;
    if (bar->count >= 0 && !agreed(w, i, active, bar->count, &expected)) return;
    int barriers = (int)b->cluster->run->dev->limits.barriers_per_block.value;
    if (id >= (uint32_t)barriers || expected == 0 ||
        (bar->count >= 0 && expected % LANES != 0)) {
        sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_LIMIT,
                  "barrier %u of %u threads; there are %d "
                  "barriers, for whole warps",
                  id, expected, barriers);
        return;
    }
    SimBarrier *x = &b->barrier[id];
    if (x->arrived && x->expected != expected) {
        sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_DIVERGENT,
                  "barrier %u of %u threads was opened "
                  "for %u at ptx line %d",
                  id, expected, x->expected, x->first->ptx->line);
        return;
    }
    collect(w, i, active, bar, x);
    b->count.barriers++;
    x->expected = expected;
    x->arrived += threads_of(w, active, bar->count >= 0);
    if (bar->kind != BAR_ARRIVE) {
        if (active != w->mask) {             /* @p barrier.sync: the others go on */
            uint32_t next = w->pc;
            sim_diverge(w, w->mask & ~active, next, SLOT_NONE);
        }
        sim_park(w, (int)id);
        w->subwarp[w->running].pc = w->pc;
    }
    if (x->arrived > expected) {
        sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_DIVERGENT,
                  "%u threads at barrier %u of %u", x->arrived, id, expected);
    } else if (x->arrived == expected) {
        finish(b, x, (int)id);
    }
}

static bool operands(SimPick *k, Bar *b) {
    int n = k->i->n_opnd, first = b->kind == BAR_RED ? 1 : 0;
    int last = b->kind == BAR_RED ? n - 1 : n;       /* the reduced predicate comes last */
    if (last - first < 0 || last - first > 2) return false;
    if (last - first == 0 && b->kind == BAR_RED) return false;
    b->id = last - first > 0 ? first : -1;
    b->count = last - first > 1 ? first + 1 : -1;
    b->value = b->kind == BAR_RED ? last : -1;
    for (int o = first; o < last; o++) {
        if (!sim_want_bits(k, o, 32) || k->i->opnd[o].slot[0] == SLOT_NONE) return false;
    }
    if (b->kind == BAR_ARRIVE && b->count < 0) return false;
    if (b->kind != BAR_RED) return true;
    bool reg = k->p->opnd[0].kind == OPND_REG;
    return reg && k->i->opnd[last].bits == 1 && sim_want_bits(k, 0, b->red == RED_POPC ? 32 : 1);
}

SimExec *sim_pick_barrier(SimPick *k) {
    Bar *b = ARENA_NEW(k->arena, Bar);
    sim_take(k, MOD_CTA);
    b->aligned = sim_take(k, MOD_ALIGNED) || k->p->op == OP_BAR;
    if (sim_take(k, MOD_ARRIVE)) b->kind = BAR_ARRIVE;
    else if (sim_take(k, MOD_RED)) b->kind = BAR_RED;
    else if (!sim_take(k, MOD_SYNC)) return sim_pick_fail(k, "needs .sync, .arrive or .red");
    if (b->kind == BAR_RED) {
        b->red = sim_take(k, MOD_POPC) ? RED_POPC : sim_take(k, MOD_AND) ? RED_AND : RED_OR;
        if (b->red == RED_OR && !sim_take(k, MOD_OR)) return sim_pick_fail(k, "needs an operation");
        if (sim_take_type(k) != (b->red == RED_POPC ? PTX_U32 : PTX_PRED)) return NULL;
    }
    if (!operands(k, b)) return sim_pick_fail(k, "has wrong operands");
    k->i->extra = b;
    return exec_bar;
}
