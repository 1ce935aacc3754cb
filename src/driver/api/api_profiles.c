/* roller.h: the profiles that there are.  */
#include "base/nearest.h"
#include "driver/cache/cache.h"
#include "profiler/profiler.h"
#include <string.h>

typedef struct {
    const char *name;
    Arena *arena;
    RollerProfile *out;
} LoadCall;

static Status open_profile(RollerCtx *ctx, LoadCall *c, const char *name) {
    RollerProfile *p = ARENA_NEW(c->arena, RollerProfile);
    handle_init(&p->h, c->arena);
    Status s = hal_profile_find(c->arena, &ctx->diag, name, ctx->profile_path, &p->file, &p->dev);
    if (s) return s;
    Buf text = buf_new(c->arena);
    hal_profile_write(p->dev, &text);
    p->text = buf_str(&text);
    p->len = text.len;
    cache_profile(ctx->call, p->dev, p->planning);
    c->out = p;
    return ST_OK;
}

static Status load_profile(RollerCtx *ctx, void *user) {
    LoadCall *c = user;
    const char *name = c->name;
    if (!name) name = hal_profile_chosen(c->arena, ctx->profile_path, ctx->ignore_environment);
    return open_profile(ctx, c, name);
}

static Status load_for_arch(RollerCtx *ctx, void *user) {
    LoadCall *c = user;
    const char *const *names;
    int n = hal_profile_list(ctx->call, ctx->profile_path, &names);
    Nearest near = {.name = c->name};
    for (int i = 0; i < n; i++) {
        Device *dev;
        Diag quiet = diag_new(ctx->call);
        Status s = hal_profile_find(ctx->call, &quiet, names[i], ctx->profile_path, NULL, &dev);
        if (!s && strcmp(dev->arch, c->name) == 0) return open_profile(ctx, c, names[i]);
        bool same_number = !s && strncmp(dev->arch, c->name, strlen(c->name)) == 0;
        if (same_number) near = (Nearest){c->name, dev->arch, 0};
        else if (!s) nearest_offer(&near, dev->arch);
    }
    Status s = diag_error(&ctx->diag, ST_USAGE, NULL, DIAG_NOWHERE, "no profile is for %s",
                          c->name);
    if (near.best)
        diag_hint(&ctx->diag, "did you mean %s?  --list-profiles shows what is there", near.best);
    else
        diag_hint(&ctx->diag, "--list-profiles shows what is there; name one with --profile");
    return s;
}

/* What was found in the simulator is no profile of a GPU.  */
static Status load_for_gpu(RollerCtx *ctx, void *user) {
    LoadCall *c = user;
    const char *const *names;
    int n = hal_profile_list(ctx->call, ctx->profile_path, &names);
    for (int i = 0; i < n; i++) {
        Device *dev;
        Diag quiet = diag_new(ctx->call);
        if (hal_profile_find(ctx->call, &quiet, names[i], ctx->profile_path, NULL, &dev)) continue;
        bool can_be = !dev->simulated || hal_gpu_simulated(c->name);
        if (can_be && profiler_same_gpu(ctx->call, dev->gpu, c->name))
            return open_profile(ctx, c, names[i]);
    }
    diag_error(&ctx->diag, ST_PROFILE, NULL, DIAG_NOWHERE, "no profile is of %s", c->name);
    diag_hint(&ctx->diag, "roller-profile makes one");
    return ST_PROFILE;
}

static RollerStatus run_load(RollerCtx *ctx, const char *name, CallBody body,
                             RollerProfile **out) {
    *out = NULL;
    LoadCall c = {.name = name, .arena = call_arena(ctx)};
    if (!c.arena) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.arena, body, &c);
    if (s) arena_destroy(c.arena);
    else *out = c.out;
    return s;
}

RollerStatus roller_profile_load(RollerCtx *ctx, const char *name_or_file, RollerProfile **out) {
    return run_load(ctx, name_or_file, load_profile, out);
}

RollerStatus roller_profile_for_arch(RollerCtx *ctx, const char *arch, RollerProfile **out) {
    return run_load(ctx, arch, load_for_arch, out);
}

RollerStatus roller_profile_for_gpu(RollerCtx *ctx, const char *gpu, RollerProfile **out) {
    return run_load(ctx, gpu, load_for_gpu, out);
}

typedef struct {
    const char *const *item;
    int n;
    const char *version;
} ListCall;

static Status list_profiles(RollerCtx *ctx, void *user) {
    ListCall *c = user;
    c->n = hal_profile_list(ctx->call, ctx->profile_path, &c->item);
    return ST_OK;
}

RollerStatus roller_profile_names(RollerCtx *ctx, const char *const **names, int *n) {
    ListCall c = {0};
    RollerStatus s = call_run(ctx, NULL, list_profiles, &c);
    *names = c.item;
    *n = c.n;
    return s;
}

static Status list_archs(RollerCtx *ctx, void *user) {
    ListCall *c = user;
    Nvrtc *n;
    Status s = nvrtc_open(ctx->call, &ctx->diag, &ctx->nvrtc, NULL, &n);
    if (s) return s;
    int major, minor;
    nvrtc_version(n, &major, &minor);
    c->version = arena_printf(ctx->call, "%d.%d", major, minor);
    c->item = nvrtc_archs(n);
    return ST_OK;
}

RollerStatus roller_archs(RollerCtx *ctx, const char *const **archs, const char **nvrtc_version) {
    ListCall c = {0};
    RollerStatus s = call_run(ctx, NULL, list_archs, &c);
    *archs = c.item;
    *nvrtc_version = c.version;
    return s;
}

RollerStatus roller_profile_text(const RollerProfile *p, const char **json, size_t *len) {
    *json = p->text;
    *len = p->len;
    return ROLLER_OK;
}

const char *roller_profile_name(const RollerProfile *p) { return p->dev->name; }
const char *roller_profile_arch(const RollerProfile *p) { return p->dev->arch; }
const char *roller_profile_language(const RollerProfile *p) {
    return hal_language_name(p->dev->language);
}

const char *roller_profile_sha256(const RollerProfile *p) { return p->dev->sha256; }
const char *roller_profile_file(const RollerProfile *p) { return p->file; }
const char *roller_profile_gpu(const RollerProfile *p) { return p->dev->gpu; }
const char *roller_profile_date(const RollerProfile *p) { return p->dev->date; }

const char *roller_profile_origin(const RollerProfile *p) {
    return hal_profile_origin(p->dev);
}

int roller_profile_calibrated(const RollerProfile *p) { return p->dev->calibrated; }

void roller_profile_destroy(RollerProfile *p) {
    if (p) handle_release(&p->h);
}

static Status find_home(RollerCtx *ctx, void *user) {
    *(const char **)user = ctx->ignore_environment ? NULL : hal_profile_home(ctx->call);
    return ST_OK;
}

const char *roller_profile_home(RollerCtx *ctx) {
    const char *home = NULL;
    return call_run(ctx, NULL, find_home, &home) ? NULL : home;
}
