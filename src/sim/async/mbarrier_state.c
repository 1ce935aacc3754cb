#include "sim/async/async.h"

AsyncMbar *async_mbar_find(SimBlock *b, uint32_t offset) {
    AsyncBlock *s = async_block(b);
    for (size_t i = 0; i < s->n_mbar; i++) {
        if (s->mbar[i].offset == offset) return &s->mbar[i];
    }
    return NULL;
}

AsyncMbar *async_mbar_valid(SimLane by, SimBlock *b, uint32_t offset) {
    AsyncMbar *m = async_mbar_find(b, offset);
    uint32_t where;
    if (!m || !m->valid) {
        sim_fault(by, SIM_MBARRIER, "no mbarrier has been initialised at shared address 0x%x",
                  b->smem_base + offset);
        return NULL;
    }
    if (sim_shadow_written(b, offset, 8, m->init_time, &where)) {
        sim_fault(by, SIM_MBARRIER, "the mbarrier at 0x%x has been overwritten as data",
                  b->smem_base + offset);
        return NULL;
    }
    return m;
}

bool async_mbar_known(const SimWarp *w, int lane, const AsyncMbar *m) {
    int by = m->init_thread;
    return sim_knows(w, lane, by / LANES, 1u << by % LANES, m->init_time);
}

AsyncMbar *async_mbar(SimLane by, SimBlock *b, uint32_t offset) {
    AsyncMbar *m = async_mbar_valid(by, b, offset);
    if (!m || async_mbar_known(by.w, by.lane, m)) return m;
    sim_fault(by, SIM_RACE_SHARED,
              "the initialisation of the mbarrier at 0x%x and this use of it are not ordered by a "
              "barrier",
              b->smem_base + offset);
    return NULL;
}

/* A phase ends when nothing is pending, neither arrivals nor bytes.  */
static void settle(SimCluster *c, AsyncMbar *m) {
    if (m->pending || m->tx) return;
    sim_clock_pass(c, m->done, m->collect);
    m->phase++;
    m->pending = m->expected;
    sim_event(c);
}

bool async_mbar_update(SimLane by, SimBlock *b, AsyncMbar *m, uint32_t arrivals, int64_t tx) {
    enum { TX_MAX = (1 << 20) - 1 };
    uint32_t at = b->smem_base + m->offset;
    if (arrivals > m->pending) {
        sim_fault(by, SIM_MBARRIER,
                  "%u arrivals on the mbarrier at 0x%x, which expects %u more in this phase",
                  arrivals, at, m->pending);
        return false;
    }
    m->pending -= arrivals;
    m->tx += tx;
    if (m->tx > TX_MAX || m->tx < -TX_MAX) {
        sim_fault(by, SIM_MBARRIER, "the mbarrier at 0x%x expects %lld bytes, more than 2^20 - 1",
                  at, (long long)m->tx);
        return false;
    }
    settle(b->cluster, m);
    return true;
}

void async_mbar_awaited(const SimWarp *w, AsyncMbar *m, bool waits) {
    uint32_t bit = 1u << (w - w->block->warp) % 32;
    m->awaited = waits ? m->awaited | bit : m->awaited & ~bit;
}

/* The warps of a block that wait for it, as `0, 4..7`.  */
static void describe_warps(uint32_t warps, Buf *out) {
    const char *separator = "";
    for (int first = 0; first < 32; first++) {
        int last = first;
        if (!(warps >> first & 1)) continue;
        while (last < 31 && warps >> (last + 1) & 1) last++;
        buf_printf(out, first == last ? "%s%d" : "%s%d..%d", separator, first, last);
        separator = ", ";
        first = last;
    }
}

void sim_async_describe(SimBlock *b, Buf *out) {
    AsyncBlock *s = async_block(b);
    const char *separator = "";
    for (size_t i = 0; i < s->n_mbar; i++) {
        const AsyncMbar *m = &s->mbar[i];
        bool begun = m->pending != m->expected || m->tx != 0;
        if (!m->valid || (!begun && !m->awaited)) continue;
        buf_printf(out, "%smbarrier at 0x%x: phase %u, %u of %u arrivals and %lld bytes pending",
                   separator, b->smem_base + m->offset, m->phase, m->pending, m->expected,
                   (long long)m->tx);
        if (m->awaited) buf_puts(out, ", awaited by warps ");
        describe_warps(m->awaited, out);
        separator = "; ";
    }
    const AsyncCluster *q = async_of(b->cluster);
    if (q->arrived) {
        buf_printf(out, "%scluster barrier: %u threads have arrived", separator, q->arrived);
    }
}
