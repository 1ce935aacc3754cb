/* Sums by slices of time.  */
#include "sim/timing.h"
#include <string.h>

enum { FIRST_SHIFT = 8 };

void sim_slices_new(Arena *a, int n_work, SimSlices *out) {
    *out = (SimSlices){ARENA_ARRAY(a, uint64_t, SIM_SLICES * n_work), n_work, FIRST_SHIFT};
}

static uint64_t *slice(const SimSlices *s, int k) { return s->sum + (size_t)k * (size_t)s->n_work; }

/* Makes slices twice as long.  */
static void fold(SimSlices *s) {
    size_t bytes = (size_t)s->n_work * sizeof *s->sum;
    for (int k = 0; k < SIM_SLICES; k++) {
        for (int n = 0; n < s->n_work && k % 2; n++) slice(s, k / 2)[n] += slice(s, k)[n];
        if (k % 2 == 0 && k > 0) memcpy(slice(s, k / 2), slice(s, k), bytes);
    }
    memset(slice(s, SIM_SLICES / 2), 0, SIM_SLICES / 2 * bytes);
    s->shift++;
}

void sim_slices_add(SimSlices *s, uint32_t at, int work, uint64_t n) {
    while (at >> s->shift >= SIM_SLICES) fold(s);
    slice(s, (int)(at >> s->shift))[work] += n;
}

void sim_slices_merge(SimSlices *to, const SimSlices *from) {
    while (to->shift < from->shift) fold(to);
    for (int k = 0; k < SIM_SLICES; k++) {
        uint64_t *sum = slice(to, k >> (to->shift - from->shift));
        for (int n = 0; n < to->n_work; n++) sum[n] += slice(from, k)[n];
    }
}
