/* roller.h: the picture of a device's limits, and of kernels under them.  */
#include "driver/handle/handle.h"
#include "hal/roofline.h"

typedef struct {
    const RollerProfile *profile;
    const RollerKernel *const *kernel;
    int n;
    const char *svg;
    size_t len;
} RooflineCall;

static Status roofline(RollerCtx *ctx, void *user) {
    RooflineCall *c = user;
    HalWork *work = ARENA_ARRAY(ctx->call, HalWork, c->n);
    for (int i = 0; i < c->n; i++) {
        RollerEstimate e = {.struct_size = sizeof e};
        roller_plan_estimate(&c->kernel[i]->plan, &e);
        work[i] = (HalWork){.name = c->kernel[i]->plans->op->te->name,
                            .flops = e.flops,
                            .bytes = e.bytes,
                            .us = e.us,
                            .least_us = e.floor_us};
    }
    Buf out = buf_new(ctx->call);
    hal_roofline(c->profile->dev, work, c->n, &out);
    c->len = out.len;
    c->svg = buf_str(&out);
    return ST_OK;
}

RollerStatus roller_roofline(RollerCtx *ctx, const RollerProfile *p, const RollerKernel *const *k,
                             int n, const char **svg, size_t *len) {
    RooflineCall c = {.profile = p, .kernel = k, .n = n};
    RollerStatus s = call_run(ctx, NULL, roofline, &c);
    *svg = s ? NULL : c.svg;
    *len = s ? 0 : c.len;
    return s;
}
