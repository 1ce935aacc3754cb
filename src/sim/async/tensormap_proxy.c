/* What the tensor-map proxy sees of maps that kernels make or change: nothing, until a thread that
 * comes after the change says fence.proxy.tensormap::generic.acquire for the map, and the thread
 * that uses it comes after that fence.  Kept for each cluster; a map that another cluster made is
 * taken to be visible.  */
#include "sim/async/async.h"

/* Per warp of the cluster: its last fence since the map was changed; time 0: none.  */
typedef struct {
    uint32_t time, lanes;
} Fence;
struct AsyncMap {
    AsyncMap *next;
    uint64_t at;
    Fence *fence;
};

static AsyncMap *find(const SimCluster *c, uint64_t at) {
    AsyncMap *m = async_of(c)->map;
    while (m && m->at != at) m = m->next;
    return m;
}

void async_map_changed(SimCluster *c, uint64_t at) {
    AsyncMap *m = find(c, at);
    if (!m) {
        m = ARENA_NEW(c->arena, AsyncMap);
        m->at = at;
        m->next = async_of(c)->map;
        async_of(c)->map = m;
    }
    m->fence = ARENA_ARRAY(c->arena, Fence, c->n_warp);
}

void async_map_fence(SimWarp *w, uint32_t lanes, uint64_t at) {
    const AsyncMap *m = find(w->block->cluster, at);
    if (m) m->fence[w->clock_id] = (Fence){w->block->cluster->time++, lanes};
}

bool async_map_visible(SimLane by, uint64_t at) {
    const SimCluster *c = by.w->block->cluster;
    const AsyncMap *m = find(c, at);
    if (!m) return true;
    for (int k = 0; k < c->n_warp; k++) {
        SIM_EACH(l, m->fence[k].lanes) {
            if (sim_knows(by.w, by.lane, k, 1u << l, m->fence[k].time)) return true;
        }
    }
    sim_fault(by, SIM_PROXY_FENCE,
              "the tensor map at 0x%llx was changed by a thread, and no "
              "fence.proxy.tensormap::generic.acquire for it comes before this use",
              (unsigned long long)at);
    return false;
}
