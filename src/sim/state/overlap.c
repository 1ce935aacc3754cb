/* Launches that begin before those before them have ended (griddepcontrol).
 *
 * Launches are run one after the other.  Of one that overlaps with those before, everything ahead
 * of its wait is taken to happen while they run: what they stored may not be read then, what they
 * loaded or stored may not be written.  By sectors, which are noted of each launch.  A launch of
 * which some block has not waited may end before those before it; then the wait of the next one,
 * which is for that end, tells nothing of them.  */
#include "base/sparse.h"
#include "sim/state/clock.h"
#include "sim/state/memory_state.h"
#include <inttypes.h>
#include <stdatomic.h>

static size_t past_room(const SimAlloc *x) { return sim_sector_words(x) * sizeof *x->past[0]; }

void sim_overlap_forget(SimAlloc *x) {
    for (int n = 0; n < SIM_PASTS; n++) {
        sparse_free(x->past[n], past_room(x));
        x->past[n] = NULL;
    }
}

/* What was the last launch's past stays, where that has not waited for it.  */
static void pass_on(SimAlloc *x, bool waited) {
    const uint64_t *last[] = {x->loaded, x->stored};
    size_t n = sim_sector_words(x);
    for (int i = 0; i < SIM_PASTS; i++) {
        if (!x->past[i]) x->past[i] = sparse_new(past_room(x));
        if (!x->past[i]) {
            sim_overlap_forget(x);
            return;
        }
    }
    for (int i = PAST_LOADED; i <= PAST_STORED; i++) {
        uint64_t *past = x->past[i], *older = x->past[i + OLDER_LOADED];
        for (size_t k = 0; k < n; k++) {     /* most words stay 0, and take no memory as long */
            uint64_t kept = waited ? 0 : older[k] | past[k];
            if (older[k] != kept) older[k] = kept;
            if (past[k] != last[i][k]) past[k] = last[i][k];
        }
    }
}

void sim_overlap_begin(SimGpu *g, const SimRun *r) {
    for (size_t k = 0; k < g->n_alloc; k++) {
        SimAlloc *x = &g->alloc[k];
        if (r->launch->overlaps && x->memory.data) pass_on(x, g->waited);
        else sim_overlap_forget(x);
    }
}

void sim_overlap_end(SimGpu *g, const SimRun *r, int64_t blocks) {
    g->waited = !r->launch->overlaps || atomic_load(&r->waited) == blocks;
}

/* Has the lane waited, or does it come behind a thread of its cluster that has?  */
static bool knows_end(const SimWarp *w, int lane) {
    const SimCluster *c = w->block->cluster;
    if (w->waited_lanes >> lane & 1) return true;
    for (int b = 0; b < c->n_block; b++) {
        for (int n = 0; n < c->block[b].n_warp; n++) {
            const SimWarp *x = &c->block[b].warp[n];
            SIM_EACH(l, x->waited_lanes) {
                if (sim_knows(w, lane, x->clock_id, 1u << l, x->waited)) return true;
            }
        }
    }
    return false;
}


/* Do launches of the past from `first` on meet the access?  */
static bool meets(const SimAlloc *x, int first, uint64_t sector, bool store, bool *stored) {
    bool has[2];
    for (int i = 0; i < 2; i++) has[i] = x->past[first + i][sector / 64] >> sector % 64 & 1;
    *stored = has[1];
    return has[1] || (store && has[0]);
}

void sim_overlap_touch(SimWarp *w, int lane, const SimAlloc *x, uint64_t sector, bool store) {
    bool stored;
    if (w->block->stop) return;
    bool older = meets(x, OLDER_LOADED, sector, store, &stored);
    if (!older && (!meets(x, PAST_LOADED, sector, store, &stored) || knows_end(w, lane))) return;
    const SimInst *i = &w->block->cluster->run->kernel->code[w->pc - 1];
    sim_fault(sim_lane(w, i, lane), SIM_BEFORE_WAIT,
              "%s the 32 bytes at 0x%" PRIx64 ", which a launch before %s%s",
              store ? "writes" : "reads", x->base + sector * SIM_SECTOR,
              stored ? "writes" : "reads", older ? " that the last one has not waited for" : "");
}
