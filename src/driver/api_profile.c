/* roller.h: a device profile, measured.  */
#include "driver/handle.h"
#include "driver/profile_here.h"
#include "profiler/profiler.h"

#include <string.h>
#include <time.h>

typedef struct {
    int device;
    RollerMeasureOptions o;
    ProfileResume resume;
    Arena *arena;
    RollerProfile *out;
} MeasureCall;

static const char *today(Arena *a) {
    time_t now = time(NULL);  /* lint: a measurement is dated */
    struct tm t;
    if (!gmtime_r(&now, &t)) return "1970-01-01";
    return arena_printf(a, "%04d-%02d-%02d", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
}

static void so_far(void *user, const char *row, int attempts, const Device *dev) {
    const MeasureCall *c = user;
    ArenaMark here = arena_mark(c->arena);
    Buf text = buf_new(c->arena);
    hal_profile_write(dev, &text);
    c->resume.so_far(c->resume.user, row, attempts, buf_str(&text), text.len);
    arena_reset(c->arena, here);
}

static Status base_of(RollerCtx *ctx, const MeasureCall *c, const CudaDeviceInfo *info,
                      const Device **out) {
    if (!c->resume.base)
        return profiler_base(ctx->call, &ctx->diag, info, ctx->profile_path, out);
    Device *dev;
    Status s = hal_profile_read(ctx->call, &ctx->diag, "base", c->resume.base,
                                strlen(c->resume.base), &dev);
    if (!s) *out = dev;
    return s;
}

static Status measure(RollerCtx *ctx, MeasureCall *c, const Device **out) {
    Arena *a = ctx->call;
    Diag *d = &ctx->diag;
    Cuda *cuda;
    CudaDeviceInfo info;
    CudaContext *x;
    Nvrtc *n;
    const Device *base;
    Device *dev = NULL;
    ProfilerOptions o = {.quick = c->o.quick != 0,
                         .seed = c->o.seed ? c->o.seed : 1,
                         .only = c->o.only,
                         .date = c->o.date ? c->o.date : today(a),
                         .tool = ROLLER_VERSION,
                         .watch = &ctx->watch,
                         .limit_s = c->o.limit_s,
                         .skip = c->resume.skip,
                         .so_far = c->resume.so_far ? so_far : NULL,
                         .user = c};
    CudaOptions driver = {.ignore_environment = ctx->ignore_environment};
    Status s = cuda_open(a, d, &driver, &cuda);
    if (!s) s = cuda_device_find(cuda, a, d, arena_printf(a, "%d", c->device), &info);
    if (!s) s = base_of(ctx, c, &info, &base);
    NvrtcOptions compiler = ctx->nvrtc;
    if (!s) compiler.driver = cuda_driver_version(cuda);
    if (!s) s = nvrtc_open(a, d, &compiler, info.arch, &n);
    if (!s) s = cuda_context(cuda, a, d, info.index, &x);
    if (!s) s = cuda_enter(x, a, d);
    if (!s) s = profiler_run(a, d, x, n, base, &o, &dev);
    *out = dev;
    return s;
}

static Status measure_profile(RollerCtx *ctx, void *user) {
    MeasureCall *c = user;
    const Device *dev;
    Status s = measure(ctx, c, &dev);
    if (s) return s;
    RollerProfile *p = ARENA_NEW(c->arena, RollerProfile);
    handle_init(&p->h, c->arena);
    Buf text = buf_new(c->arena);
    hal_profile_write(dev, &text);
    p->text = buf_str(&text);
    p->len = text.len;
    p->file = "measured";
    s = hal_profile_read(c->arena, &ctx->diag, p->file, p->text, p->len, &p->dev);
    if (!s) c->out = p;
    return s;
}

RollerStatus roller_profile_measure(RollerCtx *ctx, int device, const RollerMeasureOptions *o,
                                    RollerProfile **out) {
    return profile_measure_here(ctx, device, o, &(ProfileResume){0}, out);
}

RollerStatus profile_measure_here(RollerCtx *ctx, int device, const RollerMeasureOptions *o,
                                  const ProfileResume *resume, RollerProfile **out) {
    MeasureCall c = {.device = device, .resume = *resume, .arena = call_arena(ctx)};
    *out = NULL;
    api_options(&c.o, sizeof c.o, o);
    if (!c.arena) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.arena, measure_profile, &c);
    if (s) arena_destroy(c.arena);
    else *out = c.out;
    return s;
}
