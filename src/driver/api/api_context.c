/* roller.h: contexts.  */
#include "driver/cache/cache.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    RollerCtx *ctx;
    const RollerCtxOptions *o;
} CtxSetup;

static const char *copy(Arena *a, const char *s) {
    return s ? arena_strdup(a, s) : NULL;
}

static void ctx_setup(void *p) {
    CtxSetup *s = p;
    RollerCtx *ctx = s->ctx;
    bool trusted = !s->o->ignore_environment;
    ctx->profile_path = s->o->profile_path ? copy(ctx->fixed, s->o->profile_path)
                                           : hal_profile_path(ctx->fixed, !trusted);
    ctx->nvrtc = (NvrtcOptions){.path = copy(ctx->fixed, s->o->nvrtc),
                                .folders = copy(ctx->fixed, s->o->nvrtc_folders),
                                .ignore_environment = !trusted};
    CudaOptions here = {.ignore_environment = !trusted};
    ctx->nvrtc.driver = s->o->driver == ROLLER_DRIVER_HERE ? cuda_version_here(&here)
                                                           : s->o->driver;
    if (s->o->cache) {
        ctx->cache.path = cache_place(ctx->fixed, copy(ctx->fixed, s->o->cache_dir), !trusted);
        ctx->cache.key_file = copy(ctx->fixed, s->o->cache_key_file);
    }
    ctx->line_info = s->o->line_info != 0;
    ctx->threads = s->o->threads;
    ctx->color = s->o->color != 0;
    ctx->ignore_environment = !trusted;
    ctx->worker = copy(ctx->fixed, s->o->worker);
    ctx->program = s->o->program ? copy(ctx->fixed, s->o->program) : "roller";
    ctx->no_memory = arena_printf(ctx->fixed, "%s: error: %s\n", ctx->program,
                                  status_text(ST_NOMEM));
}

MeasureOptions ctx_measure(RollerCtx *ctx) {
    return (MeasureOptions){.cuda = {.ignore_environment = ctx->ignore_environment},
                            .worker = ctx->worker, .threads = ctx->threads, .watch = &ctx->watch};
}

/* ---- who watches ---- */
static bool watch_cancel(void *user) {
    const RollerWatch *w = user;
    return w->cancel(w->user) != 0;
}

static bool watch_progress(void *user, const WatchStep *step) {
    const RollerWatch *w = user;
    RollerProgress p = {.struct_size = sizeof p, .stage = step->stage, .what = step->what,
                        .done = step->done, .total = step->total, .left_s = step->left_s};
    return w->progress(w->user, &p) != 0;
}

static void watch_said(void *user, WatchKind kind, const char *text) {
    static const RollerSay say[] = {[WATCH_ERROR] = ROLLER_SAY_ERROR,
                                    [WATCH_WARNING] = ROLLER_SAY_WARNING,
                                    [WATCH_NOTE] = ROLLER_SAY_NOTE};
    const RollerWatch *w = user;
    w->log(w->user, say[kind], text);
}

void roller_ctx_watch(RollerCtx *ctx, const RollerWatch *watch) {
    RollerWatch *w = &ctx->watcher;
    api_options(w, sizeof *w, watch);
    ctx->watch.calls = (WatchCalls){.stop = w->stop,
                                    .cancel = w->cancel ? watch_cancel : NULL,
                                    .progress = w->progress ? watch_progress : NULL,
                                    .log = w->log ? watch_said : NULL,
                                    .user = w};
}

RollerStatus roller_ctx_create(const RollerCtxOptions *options, RollerCtx **out) {
    *out = NULL;
    RollerCtxOptions o;
    api_options(&o, sizeof o, options);
    ArenaSource source = {.alloc = o.alloc, .free = o.free, .user = o.alloc_user};
    const ArenaSource *used = o.alloc && o.free ? &source : NULL;
    RollerCtx *ctx = used ? source.alloc(sizeof *ctx, source.user) : malloc(sizeof *ctx);
    if (!ctx) return ROLLER_NOMEM;
    *ctx = (RollerCtx){.own_source = used != NULL, .warnings = "", .diag = {0}};
    if (used) ctx->source = source;
    watch_init(&ctx->watch, &(WatchCalls){0});
    roller_ctx_watch(ctx, o.watch);
    ctx->fixed = arena_create(used);
    ctx->call = ctx->fixed ? arena_create(used) : NULL;
    if (!ctx->call || !arena_try(ctx->fixed, ctx_setup, &(CtxSetup){ctx, &o})) {
        roller_ctx_destroy(ctx);
        return ROLLER_NOMEM;
    }
    *out = ctx;
    return ROLLER_OK;
}

void roller_ctx_destroy(RollerCtx *ctx) {
    if (!ctx) return;
    arena_destroy(ctx->call);
    arena_destroy(ctx->fixed);
    watch_destroy(&ctx->watch);
    if (ctx->own_source) ctx->source.free(ctx, ctx->source.user);
    else free(ctx);
}

const RollerError *roller_error(const RollerCtx *ctx) {
    if (!ctx) return thread_error();
    return ctx->status == ST_OK ? NULL : &ctx->error;
}

const char *roller_warnings(const RollerCtx *ctx) {
    return ctx->warnings;
}

const char *roller_status_name(RollerStatus s) {
    return status_name((Status)s);
}

int roller_status_exit(RollerStatus s) {
    return status_exit((Status)s);
}

uint32_t roller_version(void) {
    return ROLLER_VERSION_HEX;
}
