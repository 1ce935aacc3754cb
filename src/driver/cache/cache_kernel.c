/* Kernels in the cache.
 *
 * An entry holds nothing in the user's names.  On a hit the plan that it holds is read as any plan
 * text is, and the source is emitted again, which takes about a millisecond: if it is the text that
 * was compiled, all that describes the launch follows from the plan, in the names of the op at
 * hand; if it is not, the entry is a miss.  */
#include "driver/artefact/artefact.h"
#include "driver/cache/cache.h"
#include "driver/sizes/size_values.h"

#include <stdio.h>
#include <string.h>

enum { ABOUT, PLAN, RESOURCES, SOURCE, PTX, CUBIN, LOG, SECTIONS };

/* ---- what ptxas says of each kernel, and how it was compiled ---- */
typedef struct {
    const char *at;
    bool ok;
} Words;

static int64_t number(Words *w) {
    int64_t v = 0;
    size_t n = strspn(w->at, "0123456789");
    w->ok &= n > 0 && n < 19;
    for (size_t i = 0; w->ok && i < n; i++) v = v * 10 + (w->at[i] - '0');
    w->at += n;
    w->ok &= *w->at == ' ' || *w->at == '\n';
    w->at += *w->at != 0;
    return v;
}

static void print_resources(const RollerKernel *k, Buf *out) {
    const Build *b = &k->build;
    buf_printf(out, "%d %d %d %d %d\n", b->nvrtc_major, b->nvrtc_minor, b->level,
               kernel_rank(k), b->nvrtc.n_kernel);
    for (int i = 0; i < b->nvrtc.n_kernel; i++) {
        const KernelResources *r = &b->nvrtc.kernel[i];
        buf_printf(out, "%d %d %lld %lld %lld %lld %zu %s\n", r->registers, r->barriers,
                   (long long)r->static_smem, (long long)r->spill_stores,
                   (long long)r->spill_loads, (long long)r->stack, r->image, r->kernel);
    }
}

static bool read_resources(Arena *a, const char *text, Build *b, int *rank) {
    Words w = {text, true};
    b->nvrtc_major = (int)number(&w);
    b->nvrtc_minor = (int)number(&w);
    b->level = (int)number(&w);
    *rank = (int)number(&w);
    int64_t n = number(&w);
    if (!w.ok || n > (int64_t)strlen(text)) return false;
    b->nvrtc.n_kernel = (int)n;
    b->nvrtc.kernel = ARENA_ARRAY(a, KernelResources, n);
    for (int i = 0; i < n && w.ok; i++) {
        KernelResources *r = &b->nvrtc.kernel[i];
        r->registers = (int)number(&w);
        r->barriers = (int)number(&w);
        r->static_smem = number(&w);
        r->spill_stores = number(&w);
        r->spill_loads = number(&w);
        r->stack = number(&w);
        r->image = (size_t)number(&w);
        size_t len = strcspn(w.at, "\n");
        r->kernel = arena_strndup(a, w.at, len);
        w.at += len + (w.at[len] == '\n');
    }
    return w.ok && !*w.at;
}

/* ---- taking ---- */
static const void *copy(Arena *a, const CacheSection *s) {
    char *to = arena_alloc(a, s->len + 1);
    if (s->len) memcpy(to, s->data, s->len);
    return to;
}

/* The rest of a kernel whose plan is chosen; false: the entry is not of this plan.  */
static bool build(const RollerCtx *ctx, Arena *a, RollerKernel *k, const CacheWanted *w,
                  const CacheSection *s) {
    Build *b = &k->build;
    Diag quiet = diag_new(a);
    const PlanSet *set = &k->plans->set;
    int rank;
    *b = (Build){.arch = w->arch ? arena_strdup(a, w->arch) : k->plans->arch, .compiled = true};
    kernel_compiler(ctx, a, b);
    if (!read_resources(a, s[RESOURCES].data, b, &rank) ||
        compile_emit(a, &quiet, &k->plan.whole, set->dev, &set->options, b) ||
        b->program.source_len != s[SOURCE].len ||
        memcmp(b->program.source, s[SOURCE].data, s[SOURCE].len) != 0)
        return false;
    b->nvrtc.ptx = copy(a, &s[PTX]);
    b->nvrtc.ptx_len = s[PTX].len;
    b->nvrtc.cubin = copy(a, &s[CUBIN]);
    b->nvrtc.cubin_len = s[CUBIN].len;
    b->nvrtc.log = copy(a, &s[LOG]);
    if (!w->plan && k->plan.whole.rplan.n > 0) k->plan.whole.choice[0] = rank;
    Buf json = buf_new(a);
    artefact_json((const RollerKernel *const[]){k}, 1, &json);
    k->json = buf_str(&json);
    return true;
}

static RollerKernel *take(RollerCtx *ctx, Arena *a, const CacheWanted *w, RollerPlans *plans,
                          int rank, const CacheSection *s) {
    RollerKernel *k = ARENA_NEW(a, RollerKernel);
    handle_init(&k->h, a);
    if (!w->plan) {
        Diag quiet = diag_new(a);
        DiagText text = {"<cache>", s[PLAN].data, s[PLAN].len};
        PlansAsked asked = {w->op, w->profile, *w->o, text};
        if (plans_make(a, &quiet, &asked, NULL, &plans)) return NULL;
        rank = 0;
    }
    k->plans = plans;
    k->plan = plans->plan[rank];
    if (!build(ctx, a, k, w, s)) return NULL;
    if (!w->plan) compile_warn_spills(&ctx->diag, &k->build);
    return k;
}

RollerKernel *cache_take(RollerCtx *ctx, Arena *a, const CacheWanted *w, RollerPlans *plans,
                         int rank) {
    CacheSection s[SECTIONS];
    NvrtcIdentity nvrtc;
    Cache *c = w->profile->dev->language == LANGUAGE_CUDA ? cache_open(ctx, true) : NULL;
    const char *key = c ? cache_key(ctx, c, w, &nvrtc) : NULL;
    if (!key || !cache_read(c, key, s, SECTIONS)) return NULL;
    ArenaMark before = arena_mark(a);
    RollerKernel *k = take(ctx, a, w, plans, rank, s);
    if (k) {
        ctx->cache.hit = true;
        return k;
    }
    arena_reset(a, before);
    cache_note(c, "an entry is not used: the kernel that it describes is another");
    return NULL;
}

/* ---- keeping ---- */
/* For --cache-list: op, arch, sizes.  */
static const char *about(Arena *a, const RollerKernel *k) {
    const Te *te = k->plans->op->te;
    Buf text = buf_new(a);
    buf_printf(&text, "%s\n%s\n", te->name, k->build.arch);
    for (int i = 0, n = 0; i < te->n_size; i++) {
        const TeSize *s = &te->size[i];
        if (!size_is_param(s)) continue;
        buf_printf(&text, "%s%s=", n++ ? " " : "", s->name);
        if (s->kind == TE_SIZE_RUNTIME) buf_printf(&text, "%lld..", (long long)s->extent.min);
        buf_printf(&text, "%lld", (long long)s->extent.value);
    }
    return buf_str(&text);
}

static CacheSection text_of(const char *text) { return (CacheSection){text, strlen(text)}; }

void cache_keep(RollerCtx *ctx, const CacheWanted *w, const RollerKernel *k) {
    const Build *b = &k->build;
    NvrtcIdentity nvrtc;
    Cache *c = b->compiled ? cache_open(ctx, true) : NULL;
    const char *key = c ? cache_key(ctx, c, w, &nvrtc) : NULL;
    if (!key) return;
    if (strcmp(nvrtc.files, b->nvrtc_files) != 0) {
        cache_note(c, "the kernel is not kept: NVRTC has changed meanwhile");
        return;
    }
    Buf resources = buf_new(c->arena);
    print_resources(k, &resources);
    const CacheSection s[SECTIONS] = {
        [ABOUT] = text_of(about(c->arena, k)), [PLAN] = text_of(k->plan.text),
        [RESOURCES] = text_of(buf_str(&resources)),
        [SOURCE] = {b->program.source, b->program.source_len},
        [PTX] = {b->nvrtc.ptx, b->nvrtc.ptx_len}, [CUBIN] = {b->nvrtc.cubin, b->nvrtc.cubin_len},
        [LOG] = text_of(b->nvrtc.log)};
    cache_write(c, key, s, SECTIONS);
}
