#include "sim/state/clock.h"
#include <string.h>

uint32_t *sim_clock_new(SimCluster *c) {
    return ARENA_ARRAY(c->arena, uint32_t, sim_clock_bytes(c) / sizeof(uint32_t));
}

static inline uint32_t most(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Entries of `to` become those of both; the warp's time is left alone.  */
HOT static void join(uint32_t *restrict to, const uint32_t *restrict from, int n) {
    uint32_t *later = to + n, *lanes = later + n;
    const uint32_t *from_later = from + n, *from_lanes = from_later + n;
    for (int k = 0; k < n; k++) {
        uint32_t all = most(to[k], from[k]);
        uint32_t mine = later[k] > all ? lanes[k] : 0;
        uint32_t other = from_later[k] > all ? from_lanes[k] : 0;
        uint32_t time = most(later[k], from_later[k]);
        bool whole = (mine | other) == FULL_WARP;
        to[k] = whole ? time : all;
        lanes[k] = whole ? 0 : mine | other;
        later[k] = lanes[k] ? time : 0;
    }
}

/* Lanes of an entry are known up to `time`.  */
static void tell(const SimCluster *c, uint32_t *clock, int entry, uint32_t lanes, uint32_t time) {
    uint32_t *later = clock + c->n_clock + entry, *who = later + c->n_clock;
    if (time <= clock[entry]) return;
    lanes |= *later > clock[entry] ? *who : 0;
    time = most(time, *later);
    if (lanes == FULL_WARP) clock[entry] = time;
    *later = lanes == FULL_WARP ? 0 : time;
    *who = lanes == FULL_WARP ? 0 : lanes;
}

/* The lanes of w itself: those that have ended are as far as all others.  */
static uint32_t with_ended(const SimWarp *w, uint32_t lanes) {
    return (w->live & ~lanes) == 0 ? FULL_WARP : lanes;
}

/* ---- views ---- */

/* The lanes among `lanes` that share the first one's view.  */
static uint32_t sharing(const SimWarp *w, uint32_t lanes) {
    if (!w->parted) return lanes;
    const uint32_t *view = w->view[sim_first_lane(lanes)];
    uint32_t same = 0;
    SIM_EACH(l, lanes) {
        if (w->view[l] == view) same |= 1u << l;
    }
    return same;
}

uint32_t sim_views_of(const SimWarp *w, uint32_t lanes) {
    uint32_t one = 0;
    while (lanes) {
        one |= lanes & (0u - lanes);
        lanes &= ~sharing(w, lanes);
    }
    return one;
}

/* A clock that no lane knows of.  */
static uint32_t *unused_view(SimWarp *w) {
    for (int k = 0; k < w->n_views; k++) {
        bool used = false;
        SIM_EACH(l, w->exists) used |= w->view[l] == w->views[k];
        if (!used) return w->views[k];
    }
    return w->views[w->n_views++] = sim_clock_new(w->block->cluster);
}

/* The view of some lanes that share one, for them alone.  */
static uint32_t *own_view(SimWarp *w, uint32_t lanes) {
    uint32_t *view = w->view[sim_first_lane(lanes)], sharers = 0;
    SIM_EACH(l, w->live) {
        if (w->view[l] == view) sharers |= 1u << l;
    }
    if ((sharers & ~lanes) == 0) return view;
    uint32_t *own = unused_view(w);
    memcpy(own, view, sim_clock_bytes(w->block->cluster));
    SIM_EACH(l, lanes) w->view[l] = own;
    w->parted = true;
    return own;
}

static void one_view(SimWarp *w, uint32_t *view) {
    for (int l = 0; l < LANES; l++) w->view[l] = view;
    w->parted = false;
}

/* Lanes that all know the same now share it.  */
static void unite(SimWarp *w) {
    size_t bytes = sim_clock_bytes(w->block->cluster);
    uint32_t *view = w->view[sim_first_lane(w->live)];
    SIM_EACH(l, sim_views_of(w, w->live)) {
        if (w->view[l] != view && memcmp(w->view[l], view, bytes)) return;
    }
    one_view(w, view);
}

/* ---- synchronisation ---- */

/* Whether a clock tells nothing that the view does not know.  */
static bool known(const uint32_t *view, const uint32_t *clock, int n) {
    uint32_t news = 0;
    for (int k = 0; k < n; k++) news |= clock[k] > view[k];
    for (int k = 0; k < n; k++) news |= clock[n + k] > view[k];
    return !news;
}

void sim_release(SimWarp *w, uint32_t lanes, uint32_t *clock) {
    SimCluster *c = w->block->cluster;
    uint32_t *time = sim_clock_time(c, clock);
    SIM_EACH(l, sim_views_of(w, lanes)) join(clock, w->view[l], c->n_clock);
    tell(c, clock, w->clock_id, with_ended(w, lanes), c->time++);
    *time = most(*time, w->now);
}

void sim_acquire_order(SimWarp *w, uint32_t lanes, const uint32_t *clock) {
    int n = w->block->cluster->n_clock;
    for (uint32_t rest = lanes & w->exists; rest;) {
        uint32_t same = sharing(w, rest);
        rest &= ~same;
        if (known(w->view[sim_first_lane(same)], clock, n)) continue;
        join(own_view(w, same), clock, n);
    }
    if (w->parted && (w->live & ~lanes) == 0) unite(w);
}

void sim_acquire(SimWarp *w, uint32_t lanes, const uint32_t *clock) {
    sim_acquire_order(w, lanes, clock);
    w->now = most(w->now, clock[3 * w->block->cluster->n_clock]);
}

void sim_learn_reads(SimWarp *w, uint32_t lanes, int entry, uint32_t readers, uint32_t time) {
    const SimCluster *c = w->block->cluster;
    while (lanes) {
        uint32_t same = sharing(w, lanes);
        lanes &= ~same;
        tell(c, own_view(w, same), entry, readers, time);
    }
}

void sim_meet(SimWarp *w, uint32_t lanes) {
    SimCluster *c = w->block->cluster;
    uint32_t *view = own_view(w, sharing(w, lanes));
    SIM_EACH(l, sim_views_of(w, lanes)) {
        if (w->view[l] != view) join(view, w->view[l], c->n_clock);
    }
    tell(c, view, w->clock_id, with_ended(w, lanes), c->time);
    if ((w->live & ~lanes) == 0) one_view(w, view);
    SIM_EACH(l, lanes) w->view[l] = view;
}

void sim_clock_pass(const SimCluster *c, uint32_t *to, uint32_t *from) {
    uint32_t *time = sim_clock_time(c, to);
    join(to, from, c->n_clock);
    *time = most(*time, *sim_clock_time(c, from));
    memset(from, 0, sim_clock_bytes(c));
}

void sim_release_copies(SimCluster *c, uint32_t *clock, int entry) { clock[entry] = c->time++; }

void sim_release_reads(const SimCluster *c, uint32_t *clock, int entry, uint32_t readers,
                       uint32_t time) {
    tell(c, clock, entry, readers, time);
}
