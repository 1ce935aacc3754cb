/* The estimate of the chain skeleton.  */
#include "microperf/story.h"

static void estimate(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    (void)memo;
    const ComputeUnit *u = &m->dev->unit[r->unit];
    *out = (Estimate){.blocks = rprog_blocks(m->p, r), .blocks_per_sm = r->blocks_per_sm,
                      .clock = m->clock};
    out->term[MP_COMPUTE] = m->p->flops / (2 * u->rate.value * m->clock * m->sms) * 1e6;
    out->term[MP_LAUNCH] = m->launch_us;
    mp_finish(out);
}

static void summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    (void)p;
    buf_printf(out, "chain %dx%d, %s", r->block.extent[AX_M], r->block.extent[AX_N],
               dev->unit[r->unit].name);
}

static void explain(const Story *s) { (void)s; }

const ModelRow mp_chain = {.estimate = estimate, .summary = summary, .explain = explain};
