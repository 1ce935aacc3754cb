/* --json: the "roller-report" object (docs/interfaces, "The JSON report").  */
#include "base/json.h"
#include "cli/gen.h"
#include <string.h>

static json_t *need(Gen *g, json_t *v) {
    if (!v) arena_fail(g->a);
    return v;
}

static void set(Gen *g, json_t *o, const char *key, json_t *v) {
    if (json_object_set_new(o, key, need(g, v)) != 0) arena_fail(g->a);
}

static json_t *add(Gen *g, json_t *list, json_t *v) {
    if (json_array_append_new(list, need(g, v)) != 0) arena_fail(g->a);
    return v;
}

static json_t *object(Gen *g, json_t *o, const char *key) {
    json_t *v = json_object();
    set(g, o, key, v);
    return v;
}

static json_t *list(Gen *g, json_t *o, const char *key) {
    json_t *v = json_array();
    set(g, o, key, v);
    return v;
}

static json_t *text(const char *s) { return s ? json_string(s) : json_null(); }

/* Three digits behind the point are more than a clock is worth.  */
static json_t *ms(double v) { return json_real((double)(int64_t)(v * 1e3 + 0.5) / 1e3); }

static json_t *error(Gen *g) {
    if (!g->failed) return json_null();
    const RollerError *e = &g->error;
    json_t *o = need(g, json_object());
    set(g, o, "status", text(roller_status_name(e->status)));
    set(g, o, "tag", text(e->tag));
    set(g, o, "file", text(e->file));
    set(g, o, "line", json_integer(e->line));
    set(g, o, "column", json_integer(e->column));
    set(g, o, "message", text(e->message));
    set(g, o, "hint", text(e->hint));
    return o;
}

static void sizes(Gen *g, json_t *o, const Result *r) {
    json_t *all = object(g, o, "sizes");
    for (int i = 0; i < roller_op_sizes(r->op); i++) {
        RollerSize s = {.struct_size = sizeof s};
        roller_op_size(r->op, i, &s);
        if (!s.runtime) {
            set(g, all, s.name, json_integer(s.value));
            continue;
        }
        json_t *range = object(g, all, s.name);
        set(g, range, "min", json_integer(s.min));
        set(g, range, "max", json_integer(s.value));
        set(g, range, "multiple", json_integer(s.multiple));
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
    json_t *c = object(g, o, "candidates");
    set(g, c, "enumerated", json_integer(s.enumerated));
    set(g, c, "legal", json_integer(s.legal));
    json_t *rejected = object(g, c, "rejected");
    for (int i = 0; i < s.n_rejects; i++)
        set(g, rejected, s.reject[i], json_integer(s.rejected[i]));
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
    json_t *o = need(g, json_object());
    set(g, o, "registers", json_integer(most.registers));
    set(g, o, "spill_bytes", json_integer(most.spill_bytes));
    set(g, o, "stack_bytes", json_integer(most.stack_bytes));
    set(g, o, "static_smem", json_integer(most.static_smem));
    set(g, o, "dynamic_smem", json_integer(most.dynamic_smem));
    set(g, o, "level", json_integer(most.level));
    return o;
}

static json_t *measured(Gen *g, const Result *r, const RollerTrial *t) {
    if (!t || !t->samples) return json_null();
    json_t *o = need(g, json_object());
    set(g, o, "on", text(r->where));
    set(g, o, "cold_us", ms(t->cold_us));
    set(g, o, "warm_us", ms(t->warm_us));
    set(g, o, "spread", json_real(t->spread));
    set(g, o, "samples", json_integer(t->samples));
    set(g, o, "clock_mhz", ms(t->clock_mhz));
    return o;
}

static void plan(Gen *g, json_t *plans, const Result *r, const RollerPlan *p, size_t rank,
                 const RollerKernel *k) {
    const RollerTrial *t = r->trial ? &r->trial[rank - 1] : NULL;
    json_t *o = add(g, plans, json_object());
    const char *words;
    size_t len;
    RollerEstimate e = {.struct_size = sizeof e};
    roller_plan_text(p, ROLLER_PLAN, &words, &len);
    gen_estimate(g, p, &e);
    set(g, o, "rank", json_integer((json_int_t)rank));
    set(g, o, "plan", text(words));
    set(g, o, "skeleton", text(e.skeleton));
    set(g, o, "limiter", text(e.limiter));
    set(g, o, "predicted_us", ms(e.us));
    set(g, o, "floor_us", ms(e.floor_us));
    json_t *terms = object(g, o, "terms_us");
    for (int i = 0; i < e.n_terms; i++) set(g, terms, e.term[i], ms(e.term_us[i]));
    set(g, o, "resources", resources(g, k));
    set(g, o, "measured", measured(g, r, t));
    set(g, o, "rejected", text(t ? t->rejected : NULL));
    if (t && t->rejected) set(g, o, "reason", text(t->reason));
}

static void plans(Gen *g, json_t *o, const Result *r) {
    json_t *all = list(g, o, "plans"), *at = list(g, o, "at");
    for (int i = 0; i < g->o.at.n; i++) add(g, at, json_string(g->o.at.item[i]));
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
    json_t *o = need(g, json_object());
    set(g, o, "ok", json_boolean(c->ok));
    set(g, o, "where", text(c->where));
    set(g, o, "data", text(c->data));
    set(g, o, "size_sets", json_integer(c->size_sets));
    set(g, o, "compared", json_integer(c->compared));
    set(g, o, "outputs", json_integer(c->outputs));
    set(g, o, "undecided", json_integer(c->undecided));
    set(g, o, "filled", json_integer(c->filled));
    set(g, o, "left_out", json_integer(c->left_out));
    set(g, o, "text", text(r->check_text));
    if (r->counters_json && *r->counters_json)
        set(g, o, "counters", json_loads(r->counters_json, 0, NULL));
    return o;
}

static void result(Gen *g, json_t *results, const Result *r) {
    if (!r->op || !r->profile) return;
    json_t *o = add(g, results, json_object());
    const char *words;
    size_t len;
    roller_op_text(r->op, ROLLER_OP_NAME, &words, &len);
    set(g, o, "op", text(words));
    sizes(g, o, r);
    set(g, o, "arch", text(r->arch));
    set(g, o, "cache", text(cache(g, r)));
    json_t *profile = object(g, o, "profile");
    set(g, profile, "name", text(roller_profile_name(r->profile)));
    set(g, profile, "sha256", text(roller_profile_sha256(r->profile)));
    set(g, profile, "origin", text(roller_profile_origin(r->profile)));
    set(g, profile, "calibrated", json_boolean(roller_profile_calibrated(r->profile)));
    candidates(g, o, r);
    plans(g, o, r);
    set(g, o, "check", check(g, r));
    json_t *artefacts = list(g, o, "artefacts");
    for (int i = 0; i < r->n_written; i++) {
        json_t *w = add(g, artefacts, json_object());
        set(g, w, "kind", text(r->written[i].kind));
        set(g, w, "path", text(r->written[i].path));
        set(g, w, "bytes", json_integer((json_int_t)r->written[i].bytes));
        set(g, w, "sha256", text(r->written[i].sha256));
    }
    json_t *dumps = object(g, o, "dumps");
    for (int i = 0; i < DUMP_COUNT; i++)
        if (g->o.dump & 1u << i && r->plans)
            set(g, dumps, gen_dump_name((GenDump)i), text(gen_dump_text(g, r, (GenDump)i)));
    json_t *t = object(g, o, "timing_ms");
    set(g, t, "parse", ms(r->parse_ms));
    set(g, t, "plan", ms(r->plan_ms));
    set(g, t, "emit", ms(r->emit_ms));
    set(g, t, "compile", ms(r->compile_ms));
    set(g, t, "check", ms(r->check_ms));
    set(g, t, "measure", ms(r->measure_ms));
}

static void drop(void *p) { json_decref(p); }

void gen_report_json(Gen *g, int exit_code) {
    json_t *o = need(g, json_object());
    arena_defer(g->a, drop, o);
    set(g, o, "schema", text("roller-report"));
    set(g, o, "schema_version", json_integer(1));
    set(g, o, "version", text(ROLLER_VERSION));
    set(g, o, "ok", json_boolean(exit_code == 0));
    set(g, o, "exit", json_integer(exit_code));
    set(g, o, "error", error(g));
    json_t *warnings = list(g, o, "warnings");
    if (g->warnings) add(g, warnings, json_string(buf_str(&g->messages)));
    json_t *results = list(g, o, "results");
    for (int i = 0; i < g->n_result; i++) result(g, results, &g->result[i]);
    set(g, o, "total_ms", ms(gen_now_ms() - g->start_ms));
    json_write(o, 2, &g->report);
    buf_putc(&g->report, '\n');
}
