/* roller.h: the kernel cache.  */
#include "driver/cache/cache.h"

#include <string.h>

void roller_cache_report(const RollerCtx *ctx, RollerCacheReport *out) {
    const Buf *notes = &ctx->cache.notes;
    RollerCacheReport r = {.folder = ctx->cache.path, .hit = ctx->cache.hit,
                           .notes = notes->len ? notes->text : ""};
    api_report(out, &r, sizeof r);
}

typedef struct {
    int (*entry)(void *user, const RollerCacheEntry *e);
    void *user;
    int64_t files, bytes;
} CacheCall;

/* The line at `at`, ended there; what follows it in *at.  */
static const char *line(char **at) {
    char *begin = *at, *end = strchr(begin, '\n');
    if (end) *end = 0;
    *at = end ? end + 1 : begin + strlen(begin);
    return begin;
}

static Status list(RollerCtx *ctx, void *user) {
    const CacheCall *call = user;
    Cache *c = cache_open(ctx, false);
    CacheFile *file;
    size_t n = c ? cache_files(c, &file) : 0;
    for (bool more = true; n-- > 0 && more;) {
        CacheSection s[CACHE_SECTIONS];
        ArenaMark mark = arena_mark(c->arena);
        if (!file[n].temporary && cache_read_named(c, file[n].name, s, CACHE_SECTIONS - 1)) {
            char *about = arena_strdup(c->arena, s[1].data);
            RollerCacheEntry e = {.struct_size = sizeof e, .used = file[n].used,
                                  .bytes = file[n].bytes};
            e.op = line(&about);
            e.arch = line(&about);
            e.sizes = line(&about);
            more = call->entry(call->user, &e) == 0;
        }
        /* What else lies there is of no interest here; warnings are.  */
        ctx->cache.notes = buf_new(ctx->call);
        if (!ctx->diag.count) arena_reset(c->arena, mark);
    }
    return ST_OK;
}

RollerStatus roller_cache_list(RollerCtx *ctx,
                               int (*entry)(void *user, const RollerCacheEntry *e), void *user) {
    CacheCall c = {.entry = entry, .user = user};
    return call_run(ctx, NULL, list, &c);
}

static Status clear(RollerCtx *ctx, void *user) {
    CacheCall *call = user;
    Cache *c = cache_open(ctx, false);
    if (c) call->files = (int64_t)cache_clear(c, &call->bytes);
    return ST_OK;
}

RollerStatus roller_cache_clear(RollerCtx *ctx, int64_t *files, int64_t *bytes) {
    CacheCall c = {0};
    RollerStatus s = call_run(ctx, NULL, clear, &c);
    *files = c.files;
    *bytes = c.bytes;
    return s;
}
