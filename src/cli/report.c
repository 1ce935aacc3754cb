#include "cli/gen.h"
#include <string.h>

static void add(Gen *g, const char *text) {
    buf_puts(&g->report, text);
    size_t n = strlen(text);
    if (n && text[n - 1] != '\n') buf_putc(&g->report, '\n');
}

static const char *resources(Gen *g, const RollerKernel *kernel) {
    Buf b = buf_new(g->a);
    for (int i = 0; i < roller_kernel_launches(kernel); i++) {
        RollerLaunchInfo l = {.struct_size = sizeof l};
        roller_kernel_launch_info(kernel, i, &l);
        buf_printf(&b, "%s grid %lldx%lldx%lld block %dx%dx%d", l.symbol, (long long)l.grid[0],
                   (long long)l.grid[1], (long long)l.grid[2], l.block[0], l.block[1],
                   l.block[2]);
        if (l.compiled)
            buf_printf(&b, " registers %d spill %lld stack %lld static_smem %lld", l.registers,
                       (long long)l.spill_bytes, (long long)l.stack_bytes,
                       (long long)l.static_smem);
        buf_printf(&b, " dynamic_smem %lld\n", (long long)l.dynamic_smem);
    }
    return buf_str(&b);
}

static const char *const dump_name[] = {
#define X(id, name) name,
    GEN_DUMPS(X)
#undef X
};

const char *gen_dump_name(GenDump what) { return dump_name[what]; }

const char *gen_dump_text(Gen *g, const Result *r, GenDump what) {
    const RollerPlan *plan = r->kernel  ? roller_kernel_plan(r->kernel)
                             : r->plans ? roller_plans_get(r->plans, 0)
                                        : NULL;
    const char *text = "";
    const void *data = NULL;
    size_t len;
    switch (what) {
    case DUMP_TE: roller_op_text(r->op, ROLLER_OP_TE, &text, &len); break;
    case DUMP_ACCESS: roller_op_text(r->op, ROLLER_OP_ACCESS, &text, &len); break;
    case DUMP_TILES: roller_plan_text(plan, ROLLER_PLAN_TILES, &text, &len); break;
    case DUMP_PLAN: roller_plan_text(plan, ROLLER_PLAN, &text, &len); break;
    case DUMP_PICTURE: roller_plan_text(plan, ROLLER_PLAN_PICTURE, &text, &len); break;
    case DUMP_TIMELINE: roller_plan_text(plan, ROLLER_PLAN_TIMELINE, &text, &len); break;
    case DUMP_LOWERED: roller_plan_text(plan, ROLLER_PLAN_LOWERED, &text, &len); break;
    case DUMP_SOURCE:
        if (r->kernel && roller_kernel_get(r->kernel, ROLLER_CU, &data, &len))
            roller_kernel_get(r->kernel, ROLLER_CL, &data, &len);
        break;
    case DUMP_PTX:
        if (r->kernel) roller_kernel_get(r->kernel, ROLLER_PTX, &data, &len);
        break;
    case DUMP_RESOURCES:
        if (r->kernel) text = resources(g, r->kernel);
        break;
    case DUMP_ROOFLINE:
        if (r->kernel && !roller_roofline(g->ctx, r->profile, (const RollerKernel *[]){r->kernel},
                                          1, &text, &len))
            text = arena_strdup(g->a, text);
        break;
    case DUMP_COUNT: break;
    }
    return data ? data : text;
}

static void dumps(Gen *g, const Result *r) {
    uint32_t want = g->o.dump;
    bool several = (want & (want - 1)) != 0;
    for (int i = 0; i < DUMP_COUNT; i++) {
        if (!(want & 1u << i)) continue;
        if (several) buf_printf(&g->report, "# == %s ==\n", dump_name[i]);
        add(g, gen_dump_text(g, r, (GenDump)i));
    }
}

static void time_text(double us, Buf *out) {
    if (us < 1e3) buf_printf(out, "%.1f us", us);
    else buf_printf(out, "%.3f ms", us / 1e3);
}

static bool varies(const Result *r) {
    bool any = false;
    for (int i = 0; i < roller_op_sizes(r->op); i++) {
        RollerSize s = {.struct_size = sizeof s};
        roller_op_size(r->op, i, &s);
        any |= s.runtime != 0;
    }
    return any;
}

/* The sizes that a prediction is for.  */
static const char *sizes(Gen *g, const Result *r) {
    Buf b = buf_new(g->a);
    for (int i = 0; i < g->o.at.n; i++) buf_printf(&b, "%s%s", i ? ", " : " at ", g->o.at.item[i]);
    return b.len ? buf_str(&b) : varies(r) ? " at the largest sizes" : "";
}

/* Where issue is the larger term and nearly all of it the unit's own, the limiter is the unit.  */
static const char *limit(const RollerEstimate *e) {
    double compute = 0, issue = 0;
    for (int i = 0; i < e->n_terms; i++) {
        if (strcmp(e->term[i], "compute") == 0) compute = e->term_us[i];
        if (strcmp(e->term[i], "issue") == 0) issue = e->term_us[i];
    }
    bool issued = strcmp(e->limiter, "compute") == 0 && issue > compute;
    return issued ? "the issue of compute" : e->limiter;
}

static void terms(Gen *g, const RollerEstimate *e) {
    const char *comma = "";
    buf_printf(&g->report, ", limited by %s (", limit(e));
    for (int i = 0; i < e->n_terms; i++) {
        if (e->term_us[i] < 0.05) continue;
        buf_printf(&g->report, "%s%s ", comma, e->term[i]);
        time_text(e->term_us[i], &g->report);
        comma = ", ";
    }
    buf_putc(&g->report, ')');
}

static void prediction(Gen *g, const Result *r, const RollerPlan *plan) {
    RollerEstimate e = {.struct_size = sizeof e};
    gen_estimate(g, plan, &e);
    buf_puts(&g->report, "  predicted  ");
    time_text(e.us, &g->report);
    buf_puts(&g->report, sizes(g, r));
    if (e.us > 0) terms(g, &e);
    buf_putc(&g->report, '\n');
    if (e.takes && *e.takes) buf_printf(&g->report, "  takes      %s\n", e.takes);
    if (e.workspace_bytes)
        buf_printf(&g->report, "  workspace  %lld bytes\n", (long long)e.workspace_bytes);
}

static void plan_lines(Gen *g, const char *label, const RollerPlan *plan) {
    const char *text;
    size_t len;
    roller_plan_text(plan, ROLLER_PLAN_SUMMARY, &text, &len);
    while (*text) {
        size_t n = strcspn(text, "\n");
        buf_printf(&g->report, "  %-10s %.*s\n", label, (int)n, text);
        text += n + (text[n] == '\n');
        label = "";
    }
}

static void ranking(Gen *g, const Result *r) {
    for (size_t i = 0; i < roller_plans_count(r->plans); i++) {
        const RollerPlan *plan = roller_plans_get(r->plans, i);
        plan_lines(g, arena_printf(g->a, "#%zu", i + 1), plan);
        prediction(g, r, plan);
    }
}

static void kernels(Gen *g, const Result *r) {
    for (int i = 0; i < roller_kernel_launches(r->kernel); i++) {
        RollerLaunchInfo l = {.struct_size = sizeof l};
        roller_kernel_launch_info(r->kernel, i, &l);
        buf_printf(&g->report, "  %-10s %s: grid %lld", i ? "" : "kernel", l.symbol,
                   (long long)l.grid[0]);
        if (l.grid[1] > 1) buf_printf(&g->report, " x %lld", (long long)l.grid[1]);
        buf_printf(&g->report, ", %d threads, %lld B shared", l.block[0],
                   (long long)(l.dynamic_smem + l.static_smem));
        if (l.compiled)
            buf_printf(&g->report, ", %d registers, %lld B spilled", l.registers,
                       (long long)l.spill_bytes);
        if (l.tensor_maps)
            buf_printf(&g->report, ", %d tensor map%s", l.tensor_maps,
                       l.tensor_maps > 1 ? "s" : "");
        buf_putc(&g->report, '\n');
    }
}

static void candidates(Gen *g, const RollerPlanStats *s) {
    buf_printf(&g->report, "  candidates %lld enumerated, %lld legal", (long long)s->enumerated,
               (long long)s->legal);
    for (int i = 0; i < s->n_rejects; i++)
        if (s->rejected[i])
            buf_printf(&g->report, ", %lld %s", (long long)s->rejected[i], s->reject[i]);
    buf_putc(&g->report, '\n');
}

static void verbose(Gen *g, const Result *r) {
    RollerPlanStats s = {.struct_size = sizeof s};
    if (r->hit) buf_puts(&g->report, "  cache      the kernel was there\n");
    if (r->plans) {
        roller_plans_stats(r->plans, &s);
        candidates(g, &s);
    }
    buf_printf(&g->report, "  time       parse %.1f, plan %.1f, emit %.1f, nvrtc %.1f, "
                           "check %.1f, measure %.1f ms\n", r->parse_ms, r->plan_ms, r->emit_ms,
               r->compile_ms, r->check_ms, r->measure_ms);
    if (r->kernel && !r->trial && roller_kernel_rank(r->kernel))
        buf_printf(&g->report, "  replaced   %zu plans that spill\n",
                   roller_kernel_rank(r->kernel));
}

/* The files from `first` on.  */
static void files(Gen *g, const Result *r, int first) {
    for (int i = first; i < r->n_written; i++)
        buf_printf(&g->report, "  %-10s %s (%zu bytes)\n", i > first ? "" : "wrote",
                   r->written[i].path, r->written[i].bytes);
}

void gen_report_files(Gen *g, const Result *r, int first) {
    if (!g->o.dump) files(g, r, first);
}

/* Products that a matrix unit could make if they were written otherwise.  */
static void refusals(Gen *g, const RollerPlan *plan) {
    for (int i = 0; i < roller_plan_groups(plan); i++) {
        RollerGroup k = {.struct_size = sizeof k};
        if (roller_plan_group(g->ctx, plan, i, &k) || !k.refusal) continue;
        buf_printf(&g->report, "  %-10s %.*s takes no matrix unit: %s\n", "note",
                   (int)strcspn(k.makes, " "), k.makes, k.refusal);
    }
}

static void summary(Gen *g, const Result *r) {
    const char *name;
    size_t len;
    roller_op_text(r->op, ROLLER_OP_NAME, &name, &len);
    const RollerPlan *plan = r->kernel ? roller_kernel_plan(r->kernel)
                                       : roller_plans_get(r->plans, 0);
    RollerEstimate e = {.struct_size = sizeof e};
    gen_estimate(g, plan, &e);
    buf_printf(&g->report, "%s: %s for %s (%s, %s%s profile)\n", name, e.skeleton,
               roller_profile_name(r->profile), r->arch, roller_profile_origin(r->profile),
               roller_profile_calibrated(r->profile) ? ", calibrated" : "");
    if (g->o.top > 1) {
        ranking(g, r);
    } else {
        plan_lines(g, "plan", plan);
        prediction(g, r, plan);
        refusals(g, plan);
    }
    if (r->trial) gen_report_measured(g, r);
    if (r->kernel) kernels(g, r);
    if (g->o.verbosity > 0) verbose(g, r);
    files(g, r, 0);
}

void gen_report(Gen *g, const Result *r) {
    if (!g->o.dump) summary(g, r);
    dumps(g, r);
    if (g->o.explain) {
        const char *why;
        size_t len;
        roller_plans_explain(r->plans, &why, &len);
        add(g, why);
    }
    if (r->ran && *r->ran && !g->o.dump) buf_printf(&g->report, "  ran        on %s\n", r->ran);
    if (r->checked && !g->o.dump) add(g, r->check_text);
    if (r->counters && *r->counters) add(g, r->counters);
}
