/* roller.h: a device profile, measured.  */
#include "driver/cache.h"
#include "driver/profile_apart.h"
#include "profiler/profiler.h"

#include <time.h>

typedef struct {
    int device;
    RollerMeasureOptions o;
    Arena *arena;
    RollerProfile *out;
} MeasureCall;

static const char *today(Arena *a) {
    time_t now = time(NULL);  /* lint: a measurement is dated */
    struct tm t;
    if (!gmtime_r(&now, &t)) return "1970-01-01";
    return arena_printf(a, "%04d-%02d-%02d", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
}

static Status measure_profile(RollerCtx *ctx, void *user) {
    MeasureCall *c = user;
    const char *json;
    size_t len;
    if (!c->o.date) c->o.date = today(ctx->call);
    Status s = profiler_known(&ctx->diag, c->o.only);
    if (!s) s = profile_measure_apart(ctx, c->device, &c->o, &json, &len);
    if (s) return s;
    RollerProfile *p = ARENA_NEW(c->arena, RollerProfile);
    handle_init(&p->h, c->arena);
    p->text = arena_strndup(c->arena, json, len);
    p->len = len;
    p->file = "measured";
    s = hal_profile_read(c->arena, &ctx->diag, p->file, p->text, p->len, &p->dev);
    if (s) return s;
    cache_profile(ctx->call, p->dev, p->planning);
    c->out = p;
    return ST_OK;
}

RollerStatus roller_profile_measure(RollerCtx *ctx, int device, const RollerMeasureOptions *o,
                                    RollerProfile **out) {
    MeasureCall c = {.device = device, .arena = call_arena(ctx)};
    *out = NULL;
    api_options(&c.o, sizeof c.o, o);
    if (!c.arena) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.arena, measure_profile, &c);
    if (s) arena_destroy(c.arena);
    else *out = c.out;
    return s;
}
