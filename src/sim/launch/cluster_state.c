/* The state of a cluster of blocks, from its birth to what it leaves to the report.  */
#include "sim/launch/launch.h"
#include "sim/state/race.h"
#include "sim/lane/warp.h"
#include <string.h>

static void begin_block(SimCluster *c, int rank) {
    const SimRun *r = c->run;
    SimBlock *b = &c->block[rank];
    const uint32_t *k = r->cluster;
    uint32_t at[3] = {(uint32_t)rank % k[0], (uint32_t)rank / k[0] % k[1],
                      (uint32_t)rank / k[0] / k[1]};
    b->cluster = c;
    b->rank = rank;
    for (int d = 0; d < 3; d++) b->ctaid[d] = c->ctaid[d] * k[d] + at[d];
    b->linear = (int64_t)b->ctaid[0] +
                (int64_t)r->grid[0] * (b->ctaid[1] + (int64_t)r->grid[1] * b->ctaid[2]);
    b->printed = buf_new(c->arena);
    b->threads = (int)(r->ntid[0] * r->ntid[1] * r->ntid[2]);
    b->n_warp = (b->threads + LANES - 1) / LANES;
    b->warp = ARENA_ARRAY(c->arena, SimWarp, b->n_warp);
    b->smem_base = r->smem_base;
    b->smem_bytes = r->smem_bytes;
    size_t words = (b->smem_bytes + 3) / 4;
    b->smem = arena_alloc(c->arena, words * 4 + 64);
    memset(b->smem, SIM_POISON, words * 4 + 64);
    b->shadow = ARENA_ARRAY(c->arena, SimShadow, words + 1);
    if (c->partial_sync && !r->options->no_races) {
        b->row = b->n_warp * (r->kernel->reads_later ? 3 : 2);
        b->read_row = ARENA_ARRAY(c->arena, uint32_t, words * (size_t)b->row);
    }
    int barriers = (int)r->dev->limits.barriers_per_block.value;
    b->barrier = ARENA_ARRAY(c->arena, SimBarrier, barriers);
    for (int n = 0; n < barriers; n++) b->barrier[n].clock = sim_clock_new(c);
}

SimCluster *sim_cluster_begin(SimTask *u, Arena *scratch, Arena *results) {
    const SimRun *r = u->run;
    SimCluster *c = ARENA_NEW(scratch, SimCluster);
    c->run = u->run;
    c->sm = u->sm;
    c->arena = scratch;
    c->n_block = (int)(r->cluster[0] * r->cluster[1] * r->cluster[2]);
    uint64_t rest = (uint64_t)u->cluster;
    for (int d = 0; d < 3; d++) {
        uint32_t n = r->grid[d] / r->cluster[d];
        c->ctaid[d] = (uint32_t)(rest % n);
        rest /= n;
    }
    int warps = (int)((r->ntid[0] * r->ntid[1] * r->ntid[2] + LANES - 1) / LANES);
    c->n_warp = c->n_block * warps;
    c->n_clock = (r->kernel->reads_later ? 3 : 1) * c->n_warp + 2;
    c->time = 1;
    c->rng.state = hash64(&u->cluster, sizeof u->cluster, r->options->seed);
    c->partial_sync = r->kernel->partial_sync;
    c->proxy_clock = sim_clock_new(c);
    c->strong_clock = sim_clock_new(c);
    c->block = ARENA_ARRAY(scratch, SimBlock, c->n_block);
    for (int b = 0; b < c->n_block; b++) {
        begin_block(c, b);
        if (!r->options->no_races && !r->order) {
            SimWrites *w = ARENA_NEW(results, SimWrites);
            *w = (SimWrites){.arena = results, .block = c->block[b].linear};
            memcpy(w->ctaid, c->block[b].ctaid, sizeof w->ctaid);
            c->block[b].writes = w;
        }
    }
    for (int b = 0; b < c->n_block; b++) {
        sim_warps_begin(&c->block[b]);
        sim_timing_begin(&c->block[b]);
    }
    sim_async_begin(c);
    return c;
}

static void keep_faults(SimTask *u, const SimBlock *b, Arena *results) {
    u->faults += b->faults;
    if (b->n_fault == 0) return;
    SimFault *all = ARENA_ARRAY(results, SimFault, u->n_fault + b->n_fault);
    if (u->n_fault) memcpy(all, u->fault, (size_t)u->n_fault * sizeof *all);
    for (int n = 0; n < b->n_fault; n++) {
        all[u->n_fault + n] = b->fault[n];
        all[u->n_fault + n].text = arena_strdup(results, b->fault[n].text);
    }
    u->fault = all;
    u->n_fault += b->n_fault;
}

void sim_cluster_end(SimTask *u, SimCluster *c, SimCounters *total, SimSlices *work,
                     Arena *results) {
    sim_async_end(c);
    const SimOptions *o = u->run->options;
    u->writes = ARENA_ARRAY(results, SimWrites *, c->n_block);
    if (o->per_block) u->count = ARENA_ARRAY(results, SimBlockCounters, c->n_block);
    for (int n = 0; n < c->n_block; n++) {
        SimBlock *b = &c->block[n];
        for (int p = 0; p < SIM_PIPE_COUNT; p++) {
            b->count.pipe[p] += b->pipe[p];
            b->count.instructions += b->pipe[p];
        }
        if (!o->no_counters) sim_count_add(total, &b->count);
        if (o->per_block) u->count[n] = (SimBlockCounters){b->linear, b->count};
        sim_timing_end(b);
        if (work) sim_slices_merge(work, &b->timing->work);
        if (b->writes) sim_merge_writes(b->writes);
        u->writes[n] = b->writes;
        keep_faults(u, b, results);
    }
    u->n_block = c->n_block;
    Buf printed = buf_new(results);
    for (int n = 0; n < c->n_block && o->print; n++) {
        buf_add(&printed, buf_str(&c->block[n].printed), c->block[n].printed.len);
    }
    u->printed = buf_str(&printed);
    u->n_printed = printed.len;
}
