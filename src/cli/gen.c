/* What all parts of roller-gen ask.  */
#include "base/clock.h"
#include "cli/gen.h"
#include <string.h>

double gen_now_ms(void) { return clock_now_s() * 1e3; }

const char *gen_keep(Gen *g, const char *s) { return s ? arena_strdup(g->a, s) : NULL; }

bool gen_on_stdout(const Gen *g) { return g->o.output && strcmp(g->o.output, "-") == 0; }

int gen_fail(Gen *g, RollerStatus s) {
    const RollerError *e = roller_error(g->ctx);
    if (e) buf_puts(&g->messages, e->rendered);
    if (!g->failed && e)
        g->error = (RollerError){.status = e->status,
                                 .tag = gen_keep(g, e->tag),
                                 .file = gen_keep(g, e->file),
                                 .line = e->line,
                                 .column = e->column,
                                 .message = gen_keep(g, e->message),
                                 .hint = gen_keep(g, e->hint)};
    g->failed = true;
    return roller_status_exit(s);
}

int gen_fail_here(Gen *g) {
    const DiagMessage *m = diag_first_error(&g->diag);
    for (int i = 0; i < g->diag.count; i++)
        diag_render(&g->diag.messages[i], "roller-gen", option_color(g->o.color), &g->messages);
    g->error = (RollerError){.status = (RollerStatus)m->status,
                             .tag = m->tag ? m->tag : "",
                             .file = m->file,
                             .line = m->line,
                             .column = m->column,
                             .message = m->message,
                             .hint = m->hint};
    g->failed = true;
    return status_exit(m->status);
}

void gen_warnings(Gen *g) {
    const char *w = roller_warnings(g->ctx);
    if (!*w) return;
    g->warnings++;
    if (g->o.verbosity >= 0) buf_puts(&g->messages, w);
}

RollerPlanOptions gen_plan_options(const Gen *g, const Result *r) {
    return (RollerPlanOptions){.struct_size = sizeof(RollerPlanOptions),
                               .top = g->o.top,
                               .align = g->o.align,
                               .workspace_limit = g->o.workspace_limit,
                               .fast_compile = g->o.fast_compile,
                               .static_smem = g->o.static_smem,
                               .plain_abi = g->o.plain_abi,
                               .programs = g->o.programs,
                               .arch = r->arch};
}

void gen_estimate(Gen *g, const RollerPlan *plan, RollerEstimate *out) {
    if (g->o.at.n == 0) roller_plan_estimate(plan, out);
    else roller_plan_estimate_at(g->ctx, plan, g->o.at.item, g->o.at.n, out);
}

const char *gen_stem(Gen *g, const char *op) {
    const char *from = g->o.output && !gen_on_stdout(g) ? g->o.output : g->o.input;
    const char *slash = strrchr(from, '/');
    const char *base = slash && from == g->o.input ? slash + 1 : from;
    const char *name = strrchr(base, '/') ? strrchr(base, '/') + 1 : base;
    const char *dot = strrchr(name, '.');
    size_t len = dot && dot != name ? (size_t)(dot - base) : strlen(base);
    const char *stem = strcmp(base, "-") == 0 ? "kernel" : arena_strndup(g->a, base, len);
    return op ? arena_printf(g->a, "%s.%s", stem, op) : stem;
}

const char *gen_result_stem(Gen *g, const char *op) {
    return gen_stem(g, g->o.op && strcmp(g->o.op, "all") == 0 ? op : NULL);
}
