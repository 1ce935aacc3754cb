/* How many threads share a result of partial ones: no other term depends on them.  */
#include "microperf/model.h"

#include <math.h>

void mp_choose_lanes(const Model *m, RProg *r) {
    uint8_t lanes[MEETING_LANES], taken = 1;
    double least = INFINITY;
    if (!rprog_meets(r)) return;
    for (int i = 0, n = rprog_meeting_lanes(m->p, r, lanes); i < n; i++) {
        r->lanes = lanes[i];
        double us = r->skeleton == SK_COLUMN ? mp_column_split_us(m, r) : mp_stats_values_us(m, r);
        if (us >= least) continue;
        least = us;
        taken = lanes[i];
    }
    r->lanes = taken;
}
