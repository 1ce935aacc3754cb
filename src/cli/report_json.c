/* --json: the "roller-report" object (docs/interfaces, "The JSON report").  */
#include "base/json.h"
#include "cli/gen.h"
#include <string.h>

/* Three digits behind the point are more than a clock is worth.  */
static json_t *ms(double v) { return json_real((double)(int64_t)(v * 1e3 + 0.5) / 1e3); }

static json_t *error(Gen *g) {
    if (!g->failed) return json_null();
    const RollerError *e = &g->error;
    json_t *o = json_new(g->a, json_object());
    json_set(g->a, o, "status", json_text(roller_status_name(e->status)));
    json_set(g->a, o, "tag", json_text(e->tag));
    json_set(g->a, o, "file", json_text(e->file));
    json_set(g->a, o, "line", json_integer(e->line));
    json_set(g->a, o, "column", json_integer(e->column));
    json_set(g->a, o, "message", json_text(e->message));
    json_set(g->a, o, "hint", json_text(e->hint));
    return o;
}

static void sizes(Gen *g, json_t *o, const Result *r) {
    json_t *all = json_set(g->a, o, "sizes", json_object());
    for (int i = 0; i < roller_op_sizes(r->op); i++) {
        RollerSize s = {.struct_size = sizeof s};
        roller_op_size(r->op, i, &s);
        if (!s.runtime) {
            json_set(g->a, all, s.name, json_integer(s.value));
            continue;
        }
        json_t *range = json_set(g->a, all, s.name, json_object());
        json_set(g->a, range, "min", json_integer(s.min));
        json_set(g->a, range, "max", json_integer(s.value));
        json_set(g->a, range, "multiple", json_integer(s.multiple));
    }
}

static const char *cache(const Gen *g, const Result *r) {
    RollerCacheReport c = {.struct_size = sizeof c};
    roller_cache_report(g->ctx, &c);
    return r->hit ? "hit" : c.folder && !g->o.measure ? "miss" : "off";
}

static void candidates(Gen *g, json_t *o, const Result *r) {
    RollerPlanStats s = {.struct_size = sizeof s};
    if (r->plans) roller_plans_stats(r->plans, &s);
    json_t *c = json_set(g->a, o, "candidates", json_object());
    json_set(g->a, c, "enumerated", json_integer(s.enumerated));
    json_set(g->a, c, "legal", json_integer(s.legal));
    json_t *rejected = json_set(g->a, c, "rejected", json_object());
    for (int i = 0; i < s.n_rejects; i++)
        json_set(g->a, rejected, s.reject[i], json_integer(s.rejected[i]));
}

/* Resources of the kernel that needs most of each.  */
static json_t *resources(Gen *g, const RollerKernel *k) {
    RollerLaunchInfo most = {.struct_size = sizeof most};
    for (int i = 0; k && i < roller_kernel_launches(k); i++) {
        RollerLaunchInfo l = {.struct_size = sizeof l};
        roller_kernel_launch_info(k, i, &l);
        most.compiled |= l.compiled;
        most.level = l.level;
        if (l.registers > most.registers) most.registers = l.registers;
        if (l.spill_bytes > most.spill_bytes) most.spill_bytes = l.spill_bytes;
        if (l.stack_bytes > most.stack_bytes) most.stack_bytes = l.stack_bytes;
        if (l.static_smem > most.static_smem) most.static_smem = l.static_smem;
        if (l.dynamic_smem > most.dynamic_smem) most.dynamic_smem = l.dynamic_smem;
    }
    if (!most.compiled) return json_null();
    json_t *o = json_new(g->a, json_object());
    json_set(g->a, o, "registers", json_integer(most.registers));
    json_set(g->a, o, "spill_bytes", json_integer(most.spill_bytes));
    json_set(g->a, o, "stack_bytes", json_integer(most.stack_bytes));
    json_set(g->a, o, "static_smem", json_integer(most.static_smem));
    json_set(g->a, o, "dynamic_smem", json_integer(most.dynamic_smem));
    json_set(g->a, o, "level", json_integer(most.level));
    return o;
}

static json_t *measured(Gen *g, const Result *r, const RollerTrial *t) {
    if (!t || !t->samples) return json_null();
    json_t *o = json_new(g->a, json_object());
    json_set(g->a, o, "on", json_text(r->where));
    json_set(g->a, o, "cold_us", ms(t->cold_us));
    json_set(g->a, o, "warm_us", ms(t->warm_us));
    json_set(g->a, o, "spread", json_real(t->spread));
    json_set(g->a, o, "samples", json_integer(t->samples));
    json_set(g->a, o, "clock_mhz", ms(t->clock_mhz));
    json_set(g->a, o, "by", json_text(t->by_events ? "events" : "cupti"));
    return o;
}

static void plan(Gen *g, json_t *plans, const Result *r, const RollerPlan *p, size_t rank,
                 const RollerKernel *k) {
    const RollerTrial *t = r->trial ? &r->trial[rank - 1] : NULL;
    json_t *o = json_push(g->a, plans, json_object());
    const char *words;
    size_t len;
    RollerEstimate e = {.struct_size = sizeof e};
    roller_plan_text(p, ROLLER_PLAN, &words, &len);
    gen_estimate(g, p, &e);
    json_set(g->a, o, "rank", json_integer((json_int_t)rank));
    json_set(g->a, o, "plan", json_text(words));
    json_set(g->a, o, "skeleton", json_text(e.skeleton));
    json_set(g->a, o, "limiter", json_text(e.limiter));
    json_set(g->a, o, "predicted_us", ms(e.us));
    json_set(g->a, o, "floor_us", ms(e.floor_us));
    json_t *terms = json_set(g->a, o, "terms_us", json_object());
    for (int i = 0; i < e.n_terms; i++) json_set(g->a, terms, e.term[i], ms(e.term_us[i]));
    json_set(g->a, o, "resources", resources(g, k));
    json_set(g->a, o, "measured", measured(g, r, t));
    json_set(g->a, o, "rejected", json_text(t ? t->rejected : NULL));
    if (t && t->rejected) json_set(g->a, o, "reason", json_text(t->reason));
}

static void plans(Gen *g, json_t *o, const Result *r) {
    json_t *all = json_set(g->a, o, "plans", json_array());
    json_t *at = json_set(g->a, o, "at", json_array());
    for (int i = 0; i < g->o.at.n; i++) json_push(g->a, at, json_string(g->o.at.item[i]));
    size_t n = r->plans ? roller_plans_count(r->plans) : 0;
    for (size_t i = 0; i < n; i++) {
        bool built = i == r->taken && r->kernel;
        plan(g, all, r, built ? roller_kernel_plan(r->kernel) : roller_plans_get(r->plans, i),
             i + 1, built ? r->kernel : NULL);
    }
}

static json_t *check(Gen *g, const Result *r) {
    if (!r->checked) return json_null();
    const RollerCheckReport *c = &r->check;
    json_t *o = json_new(g->a, json_object());
    json_set(g->a, o, "ok", json_boolean(c->ok));
    json_set(g->a, o, "where", json_text(c->where));
    json_set(g->a, o, "data", json_text(c->data));
    json_set(g->a, o, "size_sets", json_integer(c->size_sets));
    json_set(g->a, o, "compared", json_integer(c->compared));
    json_set(g->a, o, "outputs", json_integer(c->outputs));
    json_set(g->a, o, "undecided", json_integer(c->undecided));
    json_set(g->a, o, "filled", json_integer(c->filled));
    json_set(g->a, o, "left_out", json_integer(c->left_out));
    json_set(g->a, o, "text", json_text(r->check_text));
    if (r->counters_json && *r->counters_json)
        json_set(g->a, o, "counters", json_loads(r->counters_json, 0, NULL));
    return o;
}

static void result(Gen *g, json_t *results, const Result *r) {
    if (!r->op || !r->profile) return;
    json_t *o = json_push(g->a, results, json_object());
    const char *words;
    size_t len;
    roller_op_text(r->op, ROLLER_OP_NAME, &words, &len);
    json_set(g->a, o, "op", json_text(words));
    sizes(g, o, r);
    json_set(g->a, o, "arch", json_text(r->arch));
    json_set(g->a, o, "cache", json_text(cache(g, r)));
    json_t *profile = json_set(g->a, o, "profile", json_object());
    json_set(g->a, profile, "name", json_text(roller_profile_name(r->profile)));
    json_set(g->a, profile, "sha256", json_text(roller_profile_sha256(r->profile)));
    json_set(g->a, profile, "origin", json_text(roller_profile_origin(r->profile)));
    json_set(g->a, profile, "calibrated", json_boolean(roller_profile_calibrated(r->profile)));
    candidates(g, o, r);
    plans(g, o, r);
    json_set(g->a, o, "check", check(g, r));
    json_t *artefacts = json_set(g->a, o, "artefacts", json_array());
    for (int i = 0; i < r->n_written; i++) {
        json_t *w = json_push(g->a, artefacts, json_object());
        json_set(g->a, w, "kind", json_text(r->written[i].kind));
        json_set(g->a, w, "path", json_text(r->written[i].path));
        json_set(g->a, w, "bytes", json_integer((json_int_t)r->written[i].bytes));
        json_set(g->a, w, "sha256", json_text(r->written[i].sha256));
    }
    json_t *dumps = json_set(g->a, o, "dumps", json_object());
    for (int i = 0; i < DUMP_COUNT; i++)
        if (g->o.dump & 1u << i && r->plans)
            json_set(g->a, dumps, gen_dump_name((GenDump)i),
                     json_text(gen_dump_text(g, r, (GenDump)i)));
    json_t *t = json_set(g->a, o, "timing_ms", json_object());
    json_set(g->a, t, "parse", ms(r->parse_ms));
    json_set(g->a, t, "plan", ms(r->plan_ms));
    json_set(g->a, t, "emit", ms(r->emit_ms));
    json_set(g->a, t, "compile", ms(r->compile_ms));
    json_set(g->a, t, "check", ms(r->check_ms));
    json_set(g->a, t, "measure", ms(r->measure_ms));
}

void gen_report_json(Gen *g, int exit_code) {
    json_t *o = json_tree(g->a);
    json_set(g->a, o, "schema", json_text("roller-report"));
    json_set(g->a, o, "schema_version", json_integer(1));
    json_set(g->a, o, "version", json_text(ROLLER_VERSION));
    json_set(g->a, o, "ok", json_boolean(exit_code == 0));
    json_set(g->a, o, "exit", json_integer(exit_code));
    json_set(g->a, o, "error", error(g));
    json_t *warnings = json_set(g->a, o, "warnings", json_array());
    if (g->warnings) json_push(g->a, warnings, json_string(buf_str(&g->messages)));
    json_t *results = json_set(g->a, o, "results", json_array());
    for (int i = 0; i < g->n_result; i++) result(g, results, &g->result[i]);
    json_set(g->a, o, "total_ms", ms(gen_now_ms() - g->start_ms));
    json_write(o, 2, &g->report);
    buf_putc(&g->report, '\n');
}
