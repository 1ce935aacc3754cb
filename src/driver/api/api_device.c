/* roller.h: which device it is.  */
#include "driver/handle/handle.h"
#include "profiler/profiler.h"

typedef struct {
    const char *device;
    RollerDevice out;
} DeviceCall;

static Status ask(RollerCtx *ctx, void *user) {
    DeviceCall *c = user;
    MeasureOptions o = ctx_measure(ctx);
    MeasurePlace place;
    o.device = c->device;
    Status s = measure_probe(ctx->call, &ctx->diag, &o, &place);
    if (s) return s;
    const CudaDeviceInfo *i = &place.info;
    c->out = (RollerDevice){.index = i->index,
                            .count = place.count,
                            .name = arena_strdup(ctx->call, i->name),
                            .arch = arena_strdup(ctx->call, i->arch),
                            .uuid = arena_strdup(ctx->call, i->uuid),
                            .profile_name = profiler_own_name(ctx->call, i, ctx->profile_path),
                            .driver = place.driver_version,
                            .simulated = place.simulated};
    return ST_OK;
}

RollerStatus roller_device(RollerCtx *ctx, const char *device, RollerDevice *out) {
    DeviceCall c = {.device = device};
    RollerStatus s = call_run(ctx, NULL, ask, &c);
    api_report(out, &c.out, sizeof c.out);
    return s;
}
