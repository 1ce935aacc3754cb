/* Vector clocks: what happened before what among the threads of a cluster.
 *
 * Time is the cluster's; it advances with every access to shared memory and every synchronisation.
 * A clock has an entry for each warp of the cluster; for what each lets bulk copies read, and what
 * it lets wgmma read, where kernels do so; and one each for copies that land by themselves and for
 * those of lanes (cp.async), which are as threads write, where an mbarrier tells of them.  An entry
 * says up to which time all lanes are known, and up to which later time some lanes are: lanes that
 * synchronise alone tell of themselves alone.  Where entries are joined the lanes of one are taken
 * to be known up to the other's time: a race may be missed, none is made up.
 *
 * What the threads of a warp know is a clock that they share until some of them learn more than
 * the others (SimWarp.view); bar.warp.sync and the block's barriers make one of all of them.
 * Synchronising objects hold a clock of their own: arriving releases into it, waiting acquires.  */
#ifndef ROLLER_SIM_STATE_CLOCK_H
#define ROLLER_SIM_STATE_CLOCK_H
#include "sim/state/exec.h"

/* A clock: up to when all lanes of an entry are known; the later times; their lanes; and how far
 * warps had come by timing.h.  */
uint32_t *sim_clock_new(SimCluster *c);                          /* zeroed, on c->arena */
static inline size_t sim_clock_bytes(const SimCluster *c) {
    return (size_t)(3 * c->n_clock + 1) * sizeof(uint32_t);
}
static inline uint32_t *sim_clock_time(const SimCluster *c, uint32_t *clock) {
    return clock + 3 * c->n_clock;
}
/* The entry of what a warp lets copies or products read, and of copies that land.  */
static inline int sim_reads_entry(const SimWarp *w, bool product) {
    return (product ? 2 : 1) * w->block->cluster->n_warp + w->clock_id;
}
static inline int sim_copies_entry(const SimCluster *c) { return c->n_clock - 1; }
static inline int sim_lane_copies_entry(const SimCluster *c) { return c->n_clock - 2; }

/* A number for each lane of each entry: those of warps are threads.  */
static inline uint16_t sim_thread_of(int entry, int lane) {
    return (uint16_t)(entry * LANES + lane);
}

/* Whether what `lanes` of an entry did at `time` happened before what knows the clock.  */
static inline bool sim_clock_covers(const SimCluster *c, const uint32_t *clock, int entry,
                                    uint32_t lanes, uint32_t time) {
    if (time <= clock[entry]) return true;
    int n = c->n_clock;
    return time <= clock[n + entry] && (lanes & ~clock[2 * n + entry]) == 0;
}
/* The same for what a lane of w does next; what it did itself comes before.  */
static inline bool sim_knows(const SimWarp *w, int lane, int entry, uint32_t lanes, uint32_t time) {
    if (entry == w->clock_id) lanes &= ~(1u << lane);
    return !lanes || sim_clock_covers(w->block->cluster, w->view[lane], entry, lanes, time);
}

/* What some lanes know and have done is told to the clock; they learn what it knows.  */
void sim_release(SimWarp *w, uint32_t lanes, uint32_t *clock);
void sim_acquire(SimWarp *w, uint32_t lanes, const uint32_t *clock);
/* The same, but w does not wait for what it comes after: atomics.  */
void sim_acquire_order(SimWarp *w, uint32_t lanes, const uint32_t *clock);
/* Some lanes learn that what `readers` of an entry let read up to `time` has been read.  */
void sim_learn_reads(SimWarp *w, uint32_t lanes, int entry, uint32_t readers, uint32_t time);
/* The lanes meet (bar.warp.sync): what each has done comes before what any does next.  */
void sim_meet(SimWarp *w, uint32_t lanes);
/* What was collected becomes known: to := both, from := nothing.  */
void sim_clock_pass(const SimCluster *c, uint32_t *to, uint32_t *from);
/* A copy that completes on an mbarrier releases: everything landed so far of its kind (entry), and
 * of a copy out of shared memory (reads) what its issuer has let read.  */
void sim_release_copies(SimCluster *c, uint32_t *clock, int entry);
void sim_release_reads(const SimCluster *c, uint32_t *clock, int entry, uint32_t readers,
                       uint32_t time);
/* A lane of each view among `lanes`.  */
uint32_t sim_views_of(const SimWarp *w, uint32_t lanes);
#endif
