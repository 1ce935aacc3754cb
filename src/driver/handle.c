#include "driver/cache.h"
#include <stdlib.h>
#include <string.h>

Arena *call_arena(RollerCtx *ctx) {
    return arena_create(ctx->own_source ? &ctx->source : NULL);
}

void handle_init(Handle *h, Arena *a) {
    *h = (Handle){.arena = a};
    atomic_init(&h->refs, 1);
}

void handle_hold(Handle *child, int slot, Handle *parent) {
    atomic_fetch_add(&parent->refs, 1);
    child->parent[slot] = parent;
}

void handle_release(Handle *h) {
    if (!h || atomic_fetch_sub(&h->refs, 1) != 1) return;
    Handle *parent[HANDLE_PARENTS];
    memcpy(parent, h->parent, sizeof parent);
    arena_destroy(h->arena);
    for (int i = 0; i < HANDLE_PARENTS; i++) handle_release(parent[i]);
}

void api_options(void *to, size_t size, const void *from) {
    memset(to, 0, size);
    if (!from) return;
    size_t given = *(const size_t *)from;
    memcpy(to, from, given < size ? given : size);
}

void api_report(void *to, void *from, size_t size) {
    size_t known = *(const size_t *)to;
    *(size_t *)from = known;
    memcpy(to, from, known < size ? known : size);
}

/* ---- one API call ---- */
typedef struct {
    RollerCtx *ctx;
    Arena *owned;
    CallBody body;
    void *user;
    Status status;
} Call;

static void run_body(void *p) {
    Call *c = p;
    c->status = c->body(c->ctx, c->user);
}

static void run_owned(void *p) {
    Call *c = p;
    if (!c->owned) run_body(c);
    else if (!arena_try(c->owned, run_body, c)) c->status = ST_NOMEM;
}

static void keep_messages(void *p) {
    Call *c = p;
    RollerCtx *ctx = c->ctx;
    Buf errors = buf_new(ctx->call), warnings = buf_new(ctx->call);
    for (int i = 0; i < ctx->diag.count; i++) {
        const DiagMessage *m = &ctx->diag.messages[i];
        diag_render(m, ctx->program, ctx->color, m->kind == DIAG_ERROR ? &errors : &warnings);
    }
    ctx->warnings = buf_str(&warnings);
    for (int i = 0; i < ctx->diag.count; i++) {
        const DiagMessage *m = &ctx->diag.messages[i];
        watch_log(&ctx->watch, m->kind == DIAG_ERROR ? WATCH_ERROR : WATCH_WARNING, m->message);
    }
    /* What fails without words, as lack of memory does, has those of its status.  */
    const DiagMessage *m = diag_first_error(&ctx->diag);
    const DiagMessage bare = {.status = c->status, .message = status_text(c->status)};
    if (c->status && (!m || (c->status == ST_NOMEM && m->status != ST_NOMEM))) {
        m = &bare;
        diag_render(m, ctx->program, ctx->color, &errors);
    }
    if (!m) return;
    ctx->error = (RollerError){.struct_size = sizeof ctx->error,
                               .status = (RollerStatus)c->status,
                               .tag = m->tag ? m->tag : "",
                               .file = m->file,
                               .line = m->line,
                               .column = m->column,
                               .message = m->message,
                               .hint = m->hint,
                               .rendered = buf_str(&errors),
                               .cuda = m->code.of == DIAG_CUDA ? m->code.number : 0,
                               .nvrtc = m->code.of == DIAG_NVRTC ? m->code.number : 0,
                               .code_name = m->code.name ? m->code.name : ""};
}

RollerStatus call_nomem(RollerCtx *ctx) {
    ctx->error = (RollerError){.struct_size = sizeof ctx->error, .status = ROLLER_NOMEM, .tag = "",
                               .message = status_text(ST_NOMEM), .rendered = ctx->no_memory,
                               .code_name = ""};
    ctx->warnings = "";
    ctx->status = ST_NOMEM;
    return ROLLER_NOMEM;
}

RollerStatus call_run(RollerCtx *ctx, Arena *owned, CallBody body, void *user) {
    arena_reset(ctx->call, (ArenaMark){0});
    ctx->diag = diag_new(ctx->call);
    ctx->warnings = "";
    ctx->cache.notes = buf_new(ctx->call);
    ctx->cache.hit = false;
    watch_again(&ctx->watch);
    Call c = {.ctx = ctx, .owned = owned, .body = body, .user = user, .status = ST_INTERNAL};
    if (!arena_try(ctx->call, run_owned, &c)) {
        c.status = ST_NOMEM;
        ctx->diag = diag_new(ctx->call);              /* what was said is gone with the call */
    }
    if (!arena_try(ctx->call, keep_messages, &c)) return call_nomem(ctx);
    ctx->status = c.status;
    return (RollerStatus)c.status;
}

/* ---- context ---- */
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
