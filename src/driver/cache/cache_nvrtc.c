/* Which NVRTC would compile, told without loading it: what was found last is kept in the cache.  */
#include "driver/cache/cache.h"

#include <string.h>

/* In the context: what is loaded stays loaded.  */
static bool remember(RollerCtx *ctx, const char *arch, const NvrtcIdentity *id) {
    int n = ctx->cache.n_known;
    if (n < CTX_ARCHS && strlen(arch) < sizeof ctx->cache.known[n].arch) {
        memcpy(ctx->cache.known[n].arch, arch, strlen(arch) + 1);
        ctx->cache.known[n].driver = ctx->nvrtc.driver;
        ctx->cache.known[n].jit = ctx->nvrtc.jit;
        ctx->cache.known[n].id = *id;
        ctx->cache.n_known++;
    }
    return true;
}

static bool take_text(const CacheSection *s, char *out, size_t size) {
    if (s->len >= size) return false;
    memcpy(out, s->data, s->len);
    out[s->len] = 0;
    return true;
}

bool cache_nvrtc(RollerCtx *ctx, Cache *c, const char *arch, NvrtcIdentity *out) {
    for (int i = 0; i < ctx->cache.n_known; i++) {
        *out = ctx->cache.known[i].id;
        bool same = !strcmp(ctx->cache.known[i].arch, arch) &&
                    ctx->cache.known[i].driver == ctx->nvrtc.driver &&
                    ctx->cache.known[i].jit == ctx->nvrtc.jit;
        if (same && nvrtc_same_files(out)) return true;
    }
    const char *around = nvrtc_surroundings(c->arena, &ctx->nvrtc, arch);
    const char *key = around ? arena_printf(c->arena, "roller nvrtc 1\n%s", around) : NULL;
    CacheSection kept[2];
    if (key && cache_read(c, key, kept, 2) && take_text(&kept[0], out->version, NVRTC_IDENTITY) &&
        take_text(&kept[1], out->files, NVRTC_FILES) && nvrtc_same_files(out))
        return remember(ctx, arch, out);
    Diag quiet = diag_new(c->arena);              /* who compiles says what is wrong with it */
    if (nvrtc_identify(c->arena, &quiet, &ctx->nvrtc, arch, out)) return false;
    kept[0] = (CacheSection){out->version, strlen(out->version)};
    kept[1] = (CacheSection){out->files, strlen(out->files)};
    if (key) cache_write(c, key, kept, 2);
    return remember(ctx, arch, out);
}
