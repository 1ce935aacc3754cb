/* Keys of the kernel cache: texts of all that a kernel depends on.  */
#include "base/hash.h"
#include "driver/cache/cache.h"

#include <string.h>

void cache_profile(Arena *a, const Device *dev, char out[65]) {
    Device bare = *dev;
#define TEXT(name) bare.name = "";
#define NUMBER(name) bare.name = 0;
#define X(kind, name, ...) kind(name)
    HAL_MADE(X)
#undef X
#undef NUMBER
#undef TEXT
    bare.name = bare.gpu = "";
    bare.n_missed = 0;
    Buf text = buf_new(a);
    hal_profile_write(&bare, &text);
    sha256_text(text.text, text.len, out);
}

const char *cache_key(RollerCtx *ctx, Cache *c, const CacheWanted *w, NvrtcIdentity *nvrtc) {
    Arena *a = c->arena;
    const Device *dev = w->profile->dev;
    const char *target = w->o->arch ? w->o->arch : dev->arch, *arch = w->arch ? w->arch : target;
    if (!cache_nvrtc(ctx, c, arch, nvrtc)) return NULL;
    Buf key = buf_new(a);
    buf_printf(&key, "roller kernel %s\nnvrtc %s\nprofile %s\nplanned for %s\narch %s\n",
               build_id(), nvrtc->version, w->profile->planning, target, arch);
    buf_printf(&key, "align %d\nworkspace limit %lld\nline info %d\nfast compile %d\n"
                     "static shared memory %d\nplain abi %d\nprograms %d\n",
               w->o->align > 0 ? w->o->align : 16,
               (long long)(w->o->workspace_limit > 0 ? w->o->workspace_limit : -1),
               ctx->line_info, w->o->fast_compile != 0, w->o->static_smem != 0,
               w->o->plain_abi != 0, w->o->programs);
    if (w->plan) buf_printf(&key, "plan\n%s", w->plan);
    else buf_printf(&key, "best of %d\n", w->o->top > 1 ? w->o->top : 1);
    te_print_positional(w->op->te, &key);
    return buf_str(&key);
}
