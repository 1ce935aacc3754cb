/* roller-gen and the kernel cache.  */
#include "cli/gen.h"
#include <string.h>
#include <time.h>

static RollerCacheReport report(const Gen *g) {
    RollerCacheReport c = {.struct_size = sizeof c};
    roller_cache_report(g->ctx, &c);
    return c;
}

/* What was not read or written, with -v.  */
static void notes(Gen *g) {
    if (g->o.verbosity <= 0) return;
    for (const char *line = report(g).notes; *line;) {
        int n = (int)strcspn(line, "\n");
        buf_printf(&g->messages, "roller-gen: note: %.*s\n", n, line);
        line += n + (line[n] != 0);
    }
}

void gen_cache_told(Gen *g, Result *r) {
    r->hit = report(g).hit;
    notes(g);
}

void gen_take_cached(Gen *g, Result *r) {
    if (g->o.plan || g->o.measure || g->o.no_cache) return;
    RollerPlanOptions o = gen_plan_options(g, r);
    if (roller_cached(g->ctx, r->op, r->profile, &o, &r->kernel)) r->kernel = NULL;
    gen_warnings(g);
    gen_cache_told(g, r);
    if (r->kernel) roller_kernel_times(r->kernel, &r->emit_ms, &r->compile_ms);
}

/* "3 h": how long ago, in the largest unit that fits.  */
static void age_text(int64_t seconds, Buf *out) {
    static const struct {
        int64_t of;
        const char *name;
    } period[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t i = 0;
    if (seconds < 0) seconds = 0;
    while (period[i].of > 1 && seconds < period[i].of) i++;
    buf_printf(out, "%4lld %-3s", (long long)(seconds / period[i].of), period[i].name);
}

static int list_entry(void *user, const RollerCacheEntry *e) {
    Gen *g = user;
    age_text((int64_t)time(NULL) - e->used, &g->report);
    buf_printf(&g->report, " %9lld B  %-9s %s %s\n", (long long)e->bytes, e->arch, e->op, e->sizes);
    return 0;
}

/* ... and says so where there is no folder for one.  */
static bool is_there(Gen *g) {
    bool there = report(g).folder != NULL;
    if (!there)
        buf_puts(&g->messages, "roller-gen: note: there is no cache: neither --cache-dir nor "
                               "ROLLER_CACHE_DIR, XDG_CACHE_HOME or HOME names a folder\n");
    return there;
}

int gen_list_cache(Gen *g) {
    if (!is_there(g)) return 0;
    RollerStatus s = roller_cache_list(g->ctx, list_entry, g);
    gen_warnings(g);
    notes(g);
    return s ? gen_fail(g, s) : 0;
}

int gen_clear_cache(Gen *g) {
    int64_t files = 0, bytes = 0;
    if (!is_there(g)) return 0;
    RollerStatus s = roller_cache_clear(g->ctx, &files, &bytes);
    gen_warnings(g);
    if (s) return gen_fail(g, s);
    buf_printf(&g->report, "removed %lld files, %lld bytes\n", (long long)files, (long long)bytes);
    return 0;
}
