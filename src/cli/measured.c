/* --measure: the plans timed on a device, and what a signal leaves of that.  */
#include "cli/gen.h"
#include "cli/process.h"
#include <string.h>

/* Keeps what the context's next call forgets.  */
static void keep(Gen *g, Result *r, const char *where, double ms) {
    size_t n = roller_plans_count(r->plans);
    r->measure_ms = ms;
    r->where = where;
    for (size_t i = 0; i < n; i++)
        if (r->trial[i].reason) r->trial[i].reason = arena_strdup(g->a, r->trial[i].reason);
    if (!r->kernel) return;
    r->taken = roller_kernel_rank(r->kernel);
    roller_kernel_times(r->kernel, &r->emit_ms, &r->compile_ms);
}

static Result *result_of(const Gen *g, int op, int target) {
    return &g->result[op * g->n_target + target];
}

int gen_measure(Gen *g, int target) {
    RollerTrialOptions o = {.struct_size = sizeof o,
                            .device = g->o.device,
                            .limit_s = g->o.time_limit,
                            .watchdog_s = g->o.watchdog,
                            .seed = g->o.seed,
                            .budget_s = g->o.budget,
                            .at = g->o.at.item,
                            .n_at = g->o.at.n,
                            .trials = g->o.trials};
    RollerWatch watch = {.struct_size = sizeof watch, .stop = process_stop()};
    int n = g->n_result / g->n_target;
    RollerContender *c = ARENA_ARRAY(g->a, RollerContender, n + 1);
    const char *where;
    for (int k = 0; k < n; k++) {
        Result *r = result_of(g, k, target);
        r->trial = ARENA_ARRAY(g->a, RollerTrial, roller_plans_count(r->plans) + 1);
        r->trial->struct_size = sizeof *r->trial;
        c[k] = (RollerContender){.struct_size = sizeof *c, .plans = r->plans, .trial = r->trial};
    }
    progress_say(&g->progress, "compiling and measuring for %s", result_of(g, 0, target)->arch);
    double start = gen_now_ms();
    roller_ctx_watch(g->ctx, &watch);
    RollerStatus s = roller_fastest_many(g->ctx, c, (size_t)n, &o, &where);
    roller_ctx_watch(g->ctx, NULL);
    where = arena_strdup(g->a, where);
    for (int k = 0; k < n; k++) {
        Result *r = result_of(g, k, target);
        r->kernel = c[k].kernel;
        keep(g, r, where, gen_now_ms() - start);
        if (k == 0) gen_cache_told(g, r);
        r->hit = g->result[target].hit;
    }
    gen_warnings(g);
    if (!s) return 0;
    gen_write_failure(g, result_of(g, 0, target), s);
    return gen_fail(g, s);
}

static void time_text(Buf *out, double us) {
    buf_printf(out, us < 1e4 ? "%10.2f us" : "%10.0f us", us);
}

/* Which clock told the times; "" where there are none.  */
static const char *by(const Result *r) {
    for (size_t i = 0; i < roller_plans_count(r->plans); i++)
        if (r->trial[i].samples) return r->trial[i].by_events ? ", by events" : ", by CUPTI";
    return "";
}

void gen_report_measured(Gen *g, const Result *r) {
    Buf *b = &g->report;
    if (!r->where || !*r->where) return;
    buf_printf(b, "  measured   on %s%s\n  %4s %13s %13s %8s %13s %7s\n", r->where, by(r), "plan",
               "predicted", "cold L2", "error", "warm L2", "spread");
    for (size_t i = 0; i < roller_plans_count(r->plans); i++) {
        const RollerTrial *t = &r->trial[i];
        RollerEstimate e = {.struct_size = sizeof e};
        gen_estimate(g, roller_plans_get(r->plans, i), &e);
        buf_printf(b, "  %4s ", arena_printf(g->a, "#%zu", i + 1));
        time_text(b, e.us);
        if (t->rejected) {
            buf_printf(b, "  %s: %.*s\n", t->rejected, (int)strcspn(t->reason, "\n"), t->reason);
            continue;
        }
        if (!t->samples) {
            buf_puts(b, "  not measured\n");
            continue;
        }
        buf_putc(b, ' ');
        time_text(b, t->cold_us);
        buf_printf(b, " %+6.1f %% ", t->cold_us > 0 ? 100 * (e.us / t->cold_us - 1) : 0);
        time_text(b, t->warm_us);
        buf_printf(b, " %5.1f %%%s\n", 100 * t->spread,
                   r->kernel && i == r->taken ? "  taken" : "");
    }
}
