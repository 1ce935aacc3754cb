/* Checked accesses by address: the slow and exact way, one lane at a time.  */
#include "sim/memory_state.h"
#include "sim/race.h"
#include "sim/writes.h"
#include <inttypes.h>

uint64_t sim_address(const SimWarp *w, const SimOpnd *o, int lane) {
    uint64_t base = o->wide ? sim_u64(w, o->slot[0])[lane] : sim_u32(w, o->slot[0])[lane];
    return base + (uint64_t)o->offset;
}

static void outside(SimWarp *w, const SimInst *i, int lane, uint64_t at, uint32_t bytes,
                    const char *what) {
    const SimGpu *g = w->block->cluster->run->gpu;
    const SimAlloc *x = sim_nearest(g, at);
    if (!x) {
        sim_fault(w, SIM_OUT_OF_BOUNDS, i, lane, "%s of %u bytes at 0x%" PRIx64
                  ", which is no device memory", what, bytes, at);
    } else if (!x->memory.data) {
        sim_fault(w, SIM_OUT_OF_BOUNDS, i, lane, "%s of %u bytes at 0x%" PRIx64
                  ", in memory that was freed", what, bytes, at);
    } else {
        sim_fault(w, SIM_OUT_OF_BOUNDS, i, lane, "%s of %u bytes at 0x%" PRIx64 ", %" PRIu64
                  " bytes after the start of an allocation of %" PRIu64, what, bytes, at,
                  at - x->base, x->bytes);
    }
}

static bool misaligned(SimWarp *w, const SimInst *i, int lane, uint64_t at, uint32_t align) {
    if (at % align == 0) return false;
    sim_fault(w, SIM_MISALIGNED, i, lane, "address 0x%" PRIx64 " is not a multiple of %u", at,
              align);
    return true;
}

unsigned char *sim_global(SimWarp *w, const SimInst *i, int lane, uint64_t at, uint32_t bytes,
                          uint32_t align, bool store) {
    if (misaligned(w, i, lane, at, align)) return NULL;
    const SimAlloc *x = w->block->hot;
    if (!x || !x->memory.data || at - x->base >= x->bytes || bytes > x->bytes - (at - x->base)) {
        x = sim_find(w->block->cluster->run->gpu, at, bytes);
        if (!x) {
            outside(w, i, lane, at, bytes, store ? "store" : "load");
            return NULL;
        }
        w->block->hot = x;
    }
    if (store) sim_global_wrote(w->block, i, w->id * LANES + lane, at, bytes);
    return lazy_at(&x->memory, at - x->base, bytes);
}

SimBlock *sim_shared(SimWarp *w, const SimInst *i, int lane, uint32_t at, uint32_t bytes,
                     uint32_t align, uint32_t *offset) {
    SimCluster *c = w->block->cluster;
    uint32_t rank = at >> SIM_RANK_SHIFT, in_block = at & ((1u << SIM_RANK_SHIFT) - 1);
    if (misaligned(w, i, lane, at, align)) return NULL;
    if (rank > (uint32_t)c->n_block) {
        sim_fault(w, SIM_OUT_OF_BOUNDS, i, lane, "shared address 0x%x names block %u of a cluster "
                  "of %d", at, rank - 1, c->n_block);
        return NULL;
    }
    SimBlock *b = rank ? &c->block[rank - 1] : w->block;
    if (b != w->block && b->n_live == 0) {
        sim_fault(w, SIM_OUT_OF_BOUNDS, i, lane, "shared address 0x%x of block %d of the cluster, "
                  "which has ended", at, b->rank);
        return NULL;
    }
    *offset = in_block - b->smem_base;
    if (in_block < b->smem_base || *offset > b->smem_bytes || bytes > b->smem_bytes - *offset) {
        sim_fault(w, SIM_OUT_OF_BOUNDS, i, lane, "shared address 0x%x, %u bytes; the block has "
                  "0x%x to 0x%x", at, bytes, b->smem_base, b->smem_base + b->smem_bytes);
        return NULL;
    }
    return b;
}

unsigned char *sim_local(SimWarp *w, const SimInst *i, int lane, uint64_t at, uint32_t bytes,
                         uint32_t align) {
    uint64_t size = (uint64_t)w->local_bytes;
    if (misaligned(w, i, lane, at, align)) return NULL;
    if (at > size || bytes > size - at) {
        sim_fault(w, SIM_OUT_OF_BOUNDS, i, lane, "local address 0x%" PRIx64 ", %u bytes; a thread "
                  "has %" PRIu64, at, bytes, size);
        return NULL;
    }
    return w->local + (uint64_t)lane * size + at;
}

const unsigned char *sim_param(SimWarp *w, const SimInst *i, int lane, uint64_t at, uint32_t bytes,
                               uint32_t align) {
    const SimRun *run = w->block->cluster->run;
    if (misaligned(w, i, lane, at, align)) return NULL;
    if (at > run->params_bytes || bytes > run->params_bytes - at) {
        sim_fault(w, SIM_OUT_OF_BOUNDS, i, lane, "parameter address 0x%" PRIx64 ", %u bytes; the "
                  "kernel has %zu", at, bytes, run->params_bytes);
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
