/* Sums by slices of time.  */
#include "sim/timing/timing.h"
#include <string.h>

enum { FIRST_SHIFT = 8 };

void sim_slices_new(Arena *a, int n_work, SimSlices *out) {
    uint64_t *sum = ARENA_ARRAY(a, uint64_t, SIM_SLICES * n_work);
    *out = (SimSlices){.sum = sum, .n_work = n_work, .shift = FIRST_SHIFT};
}

static uint64_t *slice(const SimSlices *s, int k) { return s->sum + (size_t)k * (size_t)s->n_work; }

void sim_slices_fold(SimSlices *s) {
    size_t bytes = (size_t)s->n_work * sizeof *s->sum;
    for (int k = 0; k < SIM_SLICES; k++) {
        for (int n = 0; n < s->n_work && k % 2; n++) slice(s, k / 2)[n] += slice(s, k)[n];
        if (k % 2 == 0 && k > 0) memcpy(slice(s, k / 2), slice(s, k), bytes);
    }
    memset(slice(s, SIM_SLICES / 2), 0, SIM_SLICES / 2 * bytes);
    s->used = (s->used + 1) / 2;
    s->shift++;
}

static void add_paths(SimPaths *to, const SimPaths *from) {
    *to = (SimPaths){to->ticks + from->ticks, to->n + from->n};
}

void sim_slices_merge(SimSlices *to, const SimSlices *from) {
    while (to->shift < from->shift) sim_slices_fold(to);
    for (int k = 0; k < from->used; k++) {
        int at = k >> (to->shift - from->shift);
        for (int n = 0; n < to->n_work; n++) slice(to, at)[n] += slice(from, k)[n];
        if (at >= to->used) to->used = at + 1;
    }
    for (int n = 0; n < SIM_RESIDENT; n++) {
        add_paths(&to->last[n], &from->last[n]);
        add_paths(&to->nth[n], &from->nth[n]);
    }
}

void sim_slices_spread(SimSlices *s, uint32_t begin, uint32_t end, int work, uint64_t ops) {
    uint64_t done = 0;
    sim_slices_at(s, end);                            /* they are long enough from here on */
    for (uint32_t at = begin, to; at < end; at = to) {
        to = ((at >> s->shift) + 1) << s->shift;
        if (to > end) to = end;
        uint64_t until = ops * (to - begin) / (end - begin);
        sim_slices_at(s, at)[work] += until - done;
        done = until;
    }
    sim_slices_at(s, begin)[work] += ops - done;      /* what takes no time */
}
