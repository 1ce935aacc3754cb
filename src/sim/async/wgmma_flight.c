#include "sim/async/wgmma.h"

#include <string.h>

enum { TOUCH_ACC = 1, TOUCH_A = 2, ACC_POISON = 0x7fd7d7d7 };

static bool benign(const SimWarp *w) { return w->block->cluster->run->options->benign; }

/* Warp k of the warpgroup.  */
static SimWarp *sibling(const SimWarp *w, int k) { return &w->block->warp[(w->id & ~3) + k]; }

AsyncWgmma *async_wgmma(SimWarp *w) {
    AsyncWarp *a = async_warp(w);
    if (!a->wgmma) {
        SimCluster *c = w->block->cluster;
        async_of(c)->wgmma = true;
        a->wgmma = ARENA_NEW(c->arena, AsyncWgmma);
        a->wgmma->touch = ARENA_ARRAY(c->arena, uint8_t, c->run->kernel->file_bytes / 128 + 1);
    }
    return a->wgmma;
}

static void mark(AsyncWgmma *g, const SimOpnd *o, uint8_t touch, bool on) {
    for (int r = 0; r < o->n; r++) {
        if (o->slot[r] & SLOT_CONST) continue;
        uint8_t *t = &g->touch[o->slot[r] / 128];
        *t = (uint8_t)(on ? *t | touch : *t & ~touch);
    }
}

/* Before each instruction while something is in flight.  */
static void watch(SimWarp *w, const SimInst *i, uint32_t active) {
    const AsyncWgmma *g = async_wgmma(w);
    const char *pattern = sim_op_pattern(i->ptx ? i->ptx->op : OP_BRA);
    for (int k = 0; i->ptx && k < i->n_opnd; k++) {
        if (*pattern == '/') pattern++;
        char role = *pattern && *pattern != '*' ? *pattern++ : 's';
        if (i->ptx->op == OP_WGMMA && k < 2) continue;
        const SimOpnd *o = &i->opnd[k];
        for (int r = 0; r < o->n; r++) {
            if (o->slot[r] & SLOT_CONST) continue;
            uint8_t touch = g->touch[o->slot[r] / 128];
            if (!touch || (touch == TOUCH_A && role != 'd' && role != 'r')) continue;
            sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_WGMMA_OPERAND,
                      "%s touches register %d of operand %d, which is %s a wgmma in flight",
                      sim_op_name(i->ptx->op), r, k,
                      touch & TOUCH_ACC ? "an accumulator of" : "read by");
            return;
        }
    }
}

static bool same_registers(const SimOpnd *a, const SimOpnd *b) {
    return a->n == b->n && memcmp(a->slot, b->slot, (size_t)a->n * sizeof *a->slot) == 0;
}

static bool overlap(const SimOpnd *a, const SimOpnd *b) {
    for (int i = 0; i < a->n; i++) {
        for (int j = 0; j < b->n; j++) {
            if (a->slot[i] == b->slot[j]) return true;
        }
    }
    return false;
}

/* Registers hand their values over at the first product and after every wait: what was written to
 * them since must be fenced.  */
static bool take_over(SimWarp *w, const SimInst *i, AsyncAcc *acc, bool known) {
    const AsyncWgmma *g = async_wgmma(w);
    const SimOpnd *o = &i->opnd[0];
    bool changed = false;
    for (int r = 0; r < o->n; r++) {
        uint32_t *reg = sim_u32(w, o->slot[r]);
        changed |= memcmp(acc->reg[r].lane, reg, sizeof acc->reg[r]) != 0;
        memcpy(acc->reg[r].lane, reg, sizeof acc->reg[r]);
        for (int l = 0; l < LANES && !benign(w); l++) reg[l] = ACC_POISON;
    }
    if (known ? !changed || g->fences > acc->fences : g->fences > 0) return true;
    sim_fault(sim_lane(w, i, 0), SIM_WGMMA_OPERAND,
              "no wgmma.fence between writes to the accumulator registers and this wgmma");
    return false;
}

AsyncAcc *async_acc(SimWarp *w, const SimInst *i) {
    AsyncWgmma *g = async_wgmma(w);
    AsyncAcc *acc = NULL;
    g->executed++;
    g->latest = i;
    for (AsyncAcc *a = g->acc; a; a = a->next) {
        if (same_registers(a->regs, &i->opnd[0])) {
            acc = a;
        } else if (a->flying && overlap(a->regs, &i->opnd[0])) {
            sim_fault(sim_lane(w, i, 0), SIM_WGMMA_OPERAND,
                      "the accumulators are in flight in a wgmma of another shape or order");
            return NULL;
        }
    }
    bool known = acc != NULL;
    if (!acc) {
        acc = ARENA_NEW(w->block->cluster->arena, AsyncAcc);
        acc->next = g->acc;
        g->acc = acc;
    }
    acc->regs = &i->opnd[0];
    if (acc->flying) return acc;
    if (!take_over(w, i, acc, known)) return NULL;
    acc->flying = true;
    return acc;
}

AsyncProduct *async_product_new(SimWarp *w, const SimInst *i, AsyncAcc *acc) {
    AsyncWgmma *g = async_wgmma(w);
    AsyncProduct *p = g->spare;
    if (p) {
        g->spare = p->next;
    } else {
        p = ARENA_NEW(w->block->cluster->arena, AsyncProduct);
    }
    p->next = NULL;
    p->inst = i;
    p->acc = acc;
    p->done = false;
    p->serial = g->executed;
    p->n_a = p->n_b = 0;
    return p;
}

/* Reads the operands and multiplies.  */
static void work_out(SimWarp *w, AsyncProduct *p) {
    uint8_t a[16 * 32], b[SIM_MAX_CHUNKS * 16];
    const unsigned char *smem = w->block->smem;
    if (p->done) return;
    p->done = true;
    for (int k = 0; k < p->n_a; k++) memcpy(a + 16 * k, smem + p->a_at[k], 16);
    for (int k = 0; k < p->n_b; k++) memcpy(b + 16 * k, smem + p->b_at[k], 16);
    if (p->n_a == 0) {
        SimReg regs[4];
        for (int r = 0; r < 4; r++) {
            memcpy(regs[r].lane, sim_u32(w, p->inst->opnd[1].slot[r]), sizeof regs[r]);
        }
        sim_wgmma_a_regs(regs, a);
    }
    sim_wgmma(&p->shape, a, b, p->acc->reg);
}

void async_product_issue(SimWarp *w, AsyncProduct *p) {
    AsyncWgmma *g = async_wgmma(w);
    const WgmmaInst *x = p->inst->extra;
    p->group = g->group;
    p->issued = w->block->cluster->time++;
    p->acc->products++;
    if (g->last) g->last->next = p;
    if (!g->first) g->first = p;
    g->last = p;
    sim_event(w->block->cluster);
    if (benign(w)) {
        work_out(w, p);
        for (int r = 0; r < p->acc->regs->n; r++) {
            memcpy(sim_u32(w, p->acc->regs->slot[r]), p->acc->reg[r].lane, sizeof p->acc->reg[r]);
        }
        return;
    }
    mark(g, &p->inst->opnd[0], TOUCH_ACC, true);
    if (x->a_regs) mark(g, &p->inst->opnd[1], TOUCH_A, true);
    w->watch = watch;
}

void async_wgmma_step(SimWarp *w) {
    AsyncWgmma *g = async_warp(w)->wgmma;
    if (!g) return;
    for (AsyncProduct *p = g->first; p; p = p->next) {
        if (p->done) continue;
        work_out(w, p);
        return;
    }
}

/* Works out what a warp of the group has issued up to number `serial`; w knows then that it is
 * done with its operands.  */
static void complete(SimWarp *w, SimWarp *sib, uint32_t serial) {
    AsyncWgmma *g = async_wgmma(sib);
    for (AsyncProduct *p = g->first; p && p->serial <= serial; p = p->next) {
        work_out(sib, p);
        if (p->issued > g->read) g->read = p->issued;
    }
    sim_learn_reads(w, FULL_WARP, sim_reads_entry(sib, true), FULL_WARP, g->read);
}

/* Whether all warps of the warpgroup have issued product number `serial`; if not, the warp is
 * parked, or one of them cannot come any more.  */
static bool all_issued(SimWarp *w, const SimInst *i, uint32_t serial) {
    for (int k = 0; k < 4; k++) {
        SimWarp *other = sibling(w, k);
        const AsyncWgmma *g = async_warp(other)->wgmma;
        if (g && g->executed >= serial) continue;
        if (other->live) {
            sim_retry(w);
        } else {
            sim_fault(sim_lane(w, i, 0), SIM_DIVERGENT,
                      "warp %d of the warpgroup ends without the wgmma that "
                      "this warp waits for",
                      other->id);
        }
        return false;
    }
    return true;
}

/* The last product into a set of accumulators has been waited for: the registers are readable.  */
static void give_back(SimWarp *w, AsyncAcc *acc) {
    AsyncWgmma *g = async_wgmma(w);
    acc->flying = false;
    acc->fences = g->fences;
    mark(g, acc->regs, TOUCH_ACC, false);
    for (int r = 0; r < acc->regs->n; r++) {
        memcpy(sim_u32(w, acc->regs->slot[r]), acc->reg[r].lane, sizeof acc->reg[r]);
    }
}

void async_product_wait(SimWarp *w, const SimInst *i, uint32_t pending) {
    AsyncWgmma *g = async_wgmma(w);
    uint32_t serial = 0;
    for (AsyncProduct *p = g->first; p; p = p->next) {
        if (p->group + (uint64_t)pending < g->group) serial = p->serial;
    }
    if (!all_issued(w, i, serial)) return;
    for (int k = 0; k < 4; k++) {
        if (serial) complete(w, sibling(w, k), serial);
    }
    while (g->first && g->first->serial <= serial) {
        AsyncProduct *p = g->first;
        const WgmmaInst *x = p->inst->extra;
        if (x->a_regs) mark(g, &p->inst->opnd[1], TOUCH_A, false);
        if (--p->acc->products == 0) give_back(w, p->acc);
        g->first = p->next;
        if (!g->first) g->last = NULL;
        p->next = g->spare;
        g->spare = p;
    }
    /* Registers of A that later products read as well stay in flight.  */
    for (AsyncProduct *p = g->first; p; p = p->next) {
        const WgmmaInst *x = p->inst->extra;
        if (x->a_regs && !benign(w)) mark(g, &p->inst->opnd[1], TOUCH_A, true);
    }
    if (!g->first) w->watch = NULL;
}

void async_wgmma_end(SimBlock *b) {
    for (int w = 0; w + 3 < b->n_warp; w += 4) {
        for (int k = 1; k < 4; k++) {
            const AsyncWgmma *one = async_warp(&b->warp[w])->wgmma;
            const AsyncWgmma *other = async_warp(&b->warp[w + k])->wgmma;
            uint32_t n = one ? one->executed : 0, m = other ? other->executed : 0;
            if (n == m) continue;
            SimWarp *more = &b->warp[n > m ? w : w + k];
            sim_fault(sim_lane(more, (n > m ? one : other)->latest, 0), SIM_DIVERGENT,
                      "warps %d and %d of a warpgroup executed %u and %u wgmma", w, w + k, n, m);
            return;
        }
    }
}
