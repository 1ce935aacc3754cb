/* Checked accesses by address: the slow and exact way, one lane at a time.  */
#include "sim/state/memory_state.h"
#include "sim/state/race.h"
#include "sim/state/writes.h"
#include <inttypes.h>

uint64_t sim_address(const SimWarp *w, const SimOpnd *o, int lane) {
    uint64_t base = o->wide ? sim_u64(w, o->slot[0])[lane] : sim_u32(w, o->slot[0])[lane];
    return base + (uint64_t)o->offset;
}

static void outside(SimLane by, uint64_t at, uint32_t bytes, const char *what) {
    const SimGpu *g = by.w->block->cluster->run->gpu;
    const SimAlloc *x = sim_nearest(g, at);
    if (!x) {
        sim_fault(by, SIM_OUT_OF_BOUNDS,
                  "%s of %u bytes at 0x%" PRIx64 ", which is no device memory", what, bytes, at);
    } else if (!x->memory.data) {
        sim_fault(by, SIM_OUT_OF_BOUNDS,
                  "%s of %u bytes at 0x%" PRIx64 ", in memory that was freed", what, bytes, at);
    } else {
        sim_fault(by, SIM_OUT_OF_BOUNDS,
                  "%s of %u bytes at 0x%" PRIx64 ", %" PRIu64
                  " bytes after the start of an allocation of %" PRIu64,
                  what, bytes, at, at - x->base, x->bytes);
    }
}

static bool misaligned(SimLane by, uint64_t at, uint32_t align) {
    if (at % align == 0) return false;
    sim_fault(by, SIM_MISALIGNED, "address 0x%" PRIx64 " is not a multiple of %u", at, align);
    return true;
}

unsigned char *sim_global(SimLane by, uint64_t at, uint32_t bytes, uint32_t align, bool store) {
    if (misaligned(by, at, align)) return NULL;
    const SimAlloc *x = by.w->block->hot;
    if (!x || !x->memory.data || at - x->base >= x->bytes || bytes > x->bytes - (at - x->base)) {
        x = sim_find(by.w->block->cluster->run->gpu, at, bytes);
        if (!x) {
            outside(by, at, bytes, store ? "store" : "load");
            return NULL;
        }
        by.w->block->hot = x;
    }
    if (store) sim_global_wrote(by.w->block, by.i, by.w->id * LANES + by.lane, at, bytes);
    return lazy_at(&x->memory, at - x->base, bytes);
}

SimBlock *sim_shared(SimLane by, uint32_t at, uint32_t bytes, uint32_t align, uint32_t *offset) {
    SimCluster *c = by.w->block->cluster;
    uint32_t rank = at >> SIM_RANK_SHIFT, in_block = at & ((1u << SIM_RANK_SHIFT) - 1);
    if (misaligned(by, at, align)) return NULL;
    if (rank > (uint32_t)c->n_block) {
        sim_fault(by, SIM_OUT_OF_BOUNDS,
                  "shared address 0x%x names block %u of a cluster "
                  "of %d",
                  at, rank - 1, c->n_block);
        return NULL;
    }
    SimBlock *b = rank ? &c->block[rank - 1] : by.w->block;
    if (b != by.w->block && b->n_live == 0) {
        sim_fault(by, SIM_OUT_OF_BOUNDS,
                  "shared address 0x%x of block %d of the cluster, "
                  "which has ended",
                  at, b->rank);
        return NULL;
    }
    *offset = in_block - b->smem_base;
    if (in_block < b->smem_base || *offset > b->smem_bytes || bytes > b->smem_bytes - *offset) {
        sim_fault(by, SIM_OUT_OF_BOUNDS,
                  "shared address 0x%x, %u bytes; the block has "
                  "0x%x to 0x%x",
                  at, bytes, b->smem_base, b->smem_base + b->smem_bytes);
        return NULL;
    }
    return b;
}

unsigned char *sim_local(SimLane by, uint64_t at, uint32_t bytes, uint32_t align) {
    uint64_t size = (uint64_t)by.w->local_bytes;
    if (misaligned(by, at, align)) return NULL;
    if (at > size || bytes > size - at) {
        sim_fault(by, SIM_OUT_OF_BOUNDS,
                  "local address 0x%" PRIx64 ", %u bytes; a thread "
                  "has %" PRIu64,
                  at, bytes, size);
        return NULL;
    }
    return by.w->local + (uint64_t)by.lane * size + at;
}

const unsigned char *sim_param(SimLane by, uint64_t at, uint32_t bytes, uint32_t align) {
    const SimRun *run = by.w->block->cluster->run;
    if (misaligned(by, at, align)) return NULL;
    if (at > run->params_bytes || bytes > run->params_bytes - at) {
        sim_fault(by, SIM_OUT_OF_BOUNDS,
                  "parameter address 0x%" PRIx64 ", %u bytes; the "
                  "kernel has %zu",
                  at, bytes, run->params_bytes);
        return NULL;
    }
    return run->params + at;
}

PtxSpace sim_classify(uint64_t at) {
    switch (at >> 32) {
    case SIM_SHARED_WINDOW >> 32: return SPACE_SHARED;
    case SIM_LOCAL_WINDOW >> 32: return SPACE_LOCAL;
    case SIM_PARAM_WINDOW >> 32: return SPACE_PARAM;
    default: return SPACE_GLOBAL;
    }
}
