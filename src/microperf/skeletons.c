/* The table of skeletons, and what the model is asked of a program of any of them.  */
#include "microperf/story.h"

#include <math.h>

const ModelRow *mp_skeleton(Skeleton skeleton) {
    static const ModelRow *const rows[SK_COUNT] = {
#define X(id, name) &mp_##name,
        RPROG_SKELETONS(X)
#undef X
    };
    return rows[skeleton];
}

/* At some run-time sizes there is nothing to compute.  */
static bool has_points(const Problem *p) {
    return p->extent[AX_M] > 0 && p->extent[AX_N] > 0;
}

void mp_estimate_program(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    *out = (Estimate){.us = m->floor_us, .limiter = MP_LAUNCH, .clock = m->clock};
    out->term[MP_LAUNCH] = m->floor_us;
    if (has_points(m->p)) mp_skeleton(r->skeleton)->estimate(m, r, memo, out);
}

void mp_estimate_again(const Problem *p, const RProg *r, const Device *dev, CountMemo *memo,
                       Estimate *out) {
    Model m = mp_model(p, dev);
    mp_estimate_program(&m, r, memo, out);
}

void mp_estimate(const Problem *p, const RProg *r, const Device *dev, Estimate *out) {
    mp_estimate_again(p, r, dev, NULL, out);
}

void mp_summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    mp_skeleton(r->skeleton)->summary(p, dev, r, out);
}

/* Of threads that share a result of partial ones: no other term depends on them.  */
static void choose_lanes(const Model *m, const ModelRow *s, RProg *r) {
    uint8_t lanes[MEETING_LANES], taken = 1;
    double least = INFINITY;
    for (int i = 0, n = rprog_meeting_lanes(m->p, r, lanes); i < n; i++) {
        r->lanes = lanes[i];
        double us = s->meeting_us(m, r);
        if (us >= least) continue;
        least = us;
        taken = lanes[i];
    }
    r->lanes = taken;
}

void mp_choose(const Model *m, RProg *r) {
    const ModelRow *s = mp_skeleton(r->skeleton);
    if (s->order) s->order(m, r);
    if (rprog_meets(r)) choose_lanes(m, s, r);
}
