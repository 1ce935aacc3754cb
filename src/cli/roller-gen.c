/* roller-gen FILE.te: from a tensor expression to a CUDA kernel.  */
#include "base/file.h"
#include "base/heap.h"
#include "cli/gen.h"
#include "cli/process.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The language's own limit is lower and has its own message.  */
enum { MAX_INPUT = 16 << 20 };

/* ---- one op for one target ---- */
static int plan(Gen *g, Result *r) {
    RollerPlanOptions o = gen_plan_options(g, r);
    double start = gen_now_ms();
    RollerStatus s;
    if (g->o.plan) {
        char *text;
        size_t len;
        if (file_read(g->a, &g->diag, g->o.plan, MAX_INPUT, &text, &len)) return gen_fail_here(g);
        s = roller_plan_read(g->ctx, r->op, r->profile, text, len, g->o.plan, &o, &r->plans);
    } else {
        s = roller_plan(g->ctx, r->op, r->profile, &o, &r->plans);
    }
    r->plan_ms = gen_now_ms() - start;
    gen_warnings(g);
    if (!s) return 0;
    gen_write_failure(g, r, s);
    return gen_fail(g, s);
}

/* Are the sizes of --at ones that the op takes?  */
static int check_at(Gen *g, const Result *r) {
    RollerEstimate e = {.struct_size = sizeof e};
    const RollerPlan *p = r->kernel ? roller_kernel_plan(r->kernel) : roller_plans_get(r->plans, 0);
    RollerStatus s = ROLLER_OK;
    if (g->o.at.n > 0) s = roller_plan_estimate_at(g->ctx, p, g->o.at.item, g->o.at.n, &e);
    return s ? gen_fail(g, s) : 0;
}

static int build(Gen *g, Result *r) {
    RollerStatus s = roller_build_best(g->ctx, r->plans, NULL, &r->kernel);
    gen_end_early(g);
    gen_warnings(g);
    gen_cache_told(g, r);
    int code = 0;
    if (s) {
        gen_write_failure(g, r, s);
        code = gen_fail(g, s);
    }
    if (r->kernel) roller_kernel_times(r->kernel, &r->emit_ms, &r->compile_ms);
    return code;
}

static int check(Gen *g, Result *r) {
    RollerCheckOptions o = {.struct_size = sizeof o,
                            .seed = g->o.seed,
                            .budget_s = g->o.budget,
                            .counters = g->o.counters,
                            .device = g->o.device ? g->o.device : "auto",
                            .at = g->o.at.item,
                            .n_at = g->o.at.n};
    double start = gen_now_ms();
    r->check.struct_size = sizeof r->check;
    RollerStatus s = roller_check(g->ctx, r->kernel, &o, &r->check);
    r->check_ms = gen_now_ms() - start;
    r->checked = s == ROLLER_OK || s == ROLLER_CHECK;
    r->check_text = gen_keep(g, r->check.text);
    r->check.where = gen_keep(g, r->check.where);
    r->counters = gen_keep(g, r->check.counters);
    r->counters_json = gen_keep(g, r->check.counters_json);
    gen_warnings(g);
    if (!s) return 0;
    if (r->checked)
        buf_printf(&g->messages, "roller-gen: hint: repeat with --seed %llu\n",
                   (unsigned long long)g->o.seed);
    gen_write_failure(g, r, s);
    return gen_fail(g, s);
}

/* Does the user ask for nothing that needs a plan?  */
static bool front_only(const GenOptions *o) {
    uint32_t front = 1u << DUMP_TE | 1u << DUMP_ACCESS;
    return o->dry_run && o->dump && !(o->dump & ~front) && !o->check && !o->explain && !o->json &&
           !o->n_in && !o->n_out && !o->measure;
}

/* Runs a step of the flow, which is named while it runs.  */
static int step(Gen *g, Result *r, const char *name, int (*run)(Gen *g, Result *r)) {
    progress_say(&g->progress, "%s for %s: %s", r->stem, r->arch, name);
    return run(g, r);
}

/* Takes the kernel from the cache, else begins to make it.  Plans also where somebody wants to see
 * them.  */
static int prepare(Gen *g, Result *r) {
    gen_take_cached(g, r);
    bool plans = !r->kernel || g->o.explain || g->o.json || g->o.top > 1;
    bool compiles = gen_source(g, r->profile) == EMIT_CU;
    if (!r->kernel && compiles && !g->early.running) gen_load_early(g);
    int code = plans ? step(g, r, "planning", plan) : 0;
    return code ? code : check_at(g, r);
}

/* What follows on planning and measuring.  */
static int finish_one(Gen *g, Result *r) {
    int code = r->kernel ? 0 : step(g, r, "compiling", build);
    if (r->kernel && !code && g->o.check) code = step(g, r, "checking", check);
    if (r->kernel && !code && (g->o.n_in || g->o.n_out))
        code = step(g, r, "running", gen_run_arrays);
    bool keep_source = !code || code == status_exit(ST_NVRTC);
    if (r->kernel && keep_source && !g->o.dry_run) {
        int wrote = gen_write(g, r);
        if (!code) code = wrote;
    }
    gen_report(g, r);
    return code;
}

static int generate_one(Gen *g, Result *r) {
    if (front_only(&g->o)) {
        gen_report(g, r);
        return 0;
    }
    int code = prepare(g, r);
    return code ? code : finish_one(g, r);
}

/* ---- ops and targets ---- */
/* The op for the next of its targets.  */
static int open_one(Gen *g, const char *name, int target) {
    Result *r = &g->result[g->n_result++];
    int code = gen_load_target(g, target, r);
    if (code) return code;
    RollerParseOptions o = {.struct_size = sizeof o,
                            .op = name,
                            .defines = g->o.defines.item,
                            .n_defines = g->o.defines.n};
    double start = gen_now_ms();
    RollerStatus s = roller_parse(g->ctx, g->text, g->len, g->o.input, &o, &r->op);
    r->parse_ms = gen_now_ms() - start;
    if (target == 0) gen_warnings(g);
    if (s) return gen_fail(g, s);
    if (g->o.werror && g->warnings) {
        diag_error(&g->diag, ST_TE, NULL, DIAG_NOWHERE, "warnings are errors (-Werror)");
        return gen_fail_here(g);
    }
    r->stem = gen_result_stem(g, name);
    return 0;
}

/* What holds all targets of an op.  */
static int write_op(Gen *g, Result *first) {
    if (g->o.dry_run) return 0;
    int own = first->n_written;
    int code = gen_write_whole(g, first, g->n_target);
    gen_report_files(g, first, own);
    return code;
}

static int generate_op(Gen *g, const char *name) {
    int first = g->n_result, code = 0;
    for (int i = 0; i < g->n_target && !code; i++) {
        code = open_one(g, name, i);
        if (!code) code = generate_one(g, &g->result[g->n_result - 1]);
    }
    return code ? code : write_op(g, &g->result[first]);
}

/* A result that was to be measured, which ended with `code`.  Where nothing was timed the first
 * plan is taken, unless somebody wants an end.  */
static int finish_measured(Gen *g, Result *r, int code) {
    bool ends = code || atomic_load(process_stop());
    if (r->kernel || !ends) return finish_one(g, r);
    gen_report(g, r);
    return code;
}

/* All ops are planned, then measured together, for one target after the other.  */
static int generate_measured(Gen *g, const char *const *name, int n_op) {
    int code = 0;
    for (int i = 0; i < n_op * g->n_target && !code; i++) {
        code = open_one(g, name[i / g->n_target], i % g->n_target);
        if (!code) code = prepare(g, &g->result[i]);
    }
    gen_end_early(g);
    if (code) return code;
    for (int i = 0; i < g->n_target && !code; i++) code = gen_measure(g, i);
    for (int k = 0; k < n_op; k++) {
        Result *first = &g->result[k * g->n_target];
        int ended = 0;
        for (int i = 0; i < g->n_target && !ended; i++)
            ended = finish_measured(g, &first[i], code);
        if (!ended) ended = write_op(g, first);
        if (!code) code = ended;
    }
    return code;
}

static int generate(Gen *g) {
    const GenOptions *o = &g->o;
    g->progress = progress_new(o->progress, o->verbosity);
    if (!front_only(o)) heap_expect_much();
    const char *const *name = &o->op;
    int n_op = 1;
    if (o->op && strcmp(o->op, "all") == 0) {
        RollerParseOptions p = {.struct_size = sizeof p, .defines = o->defines.item,
                                .n_defines = o->defines.n};
        const char *const *found;
        RollerStatus s = roller_parse_names(g->ctx, g->text, g->len, o->input, &p, &found, &n_op);
        if (s) return gen_fail(g, s);
        const char **kept = ARENA_ARRAY(g->a, const char *, n_op);
        for (int i = 0; i < n_op; i++) kept[i] = gen_keep(g, found[i]);
        name = kept;
    }
    g->n_target = o->archs.n > o->profiles.n ? o->archs.n : o->profiles.n;
    if (g->n_target == 0) g->n_target = 1;
    g->result = ARENA_ARRAY(g->a, Result, n_op * g->n_target);
    int code = front_only(o) ? 0 : gen_check_outputs(g);
    if (!code && !front_only(o)) code = gen_check_apart(g, name, n_op);
    if (!code && o->measure) return generate_measured(g, name, n_op);
    for (int i = 0; i < n_op && !code; i++) code = generate_op(g, name[i]);
    return code;
}

/* The file's text, or the op that the einsum notation stands for, named as a file would be.  */
static int read_input(Gen *g) {
    char *text;
    if (g->o.einsum) {
        const char *te;
        RollerStatus s = roller_einsum(g->ctx, g->o.einsum, NULL, 0, &te, &g->len);
        if (s) return gen_fail(g, s);
        g->text = arena_strndup(g->a, te, g->len);
        g->o.input = "einsum.te";
        return 0;
    }
    if (file_read(g->a, &g->diag, g->o.input, MAX_INPUT, &text, &g->len)) return gen_fail_here(g);
    g->text = text;
    return 0;
}

static int act(Gen *g) {
    switch (g->o.act) {
    case ACT_SHEET: sheet_print(&gen_sheet, g->o.form, &g->report); return 0;
    case ACT_VERSION: buf_printf(&g->report, "roller-gen %s\n", ROLLER_VERSION); return 0;
    case ACT_LIST_ARCH: return gen_list_archs(g);
    case ACT_LIST_PROFILES: return gen_list_profiles(g);
    case ACT_CACHE_LIST: return gen_list_cache(g);
    case ACT_CACHE_CLEAR: return gen_clear_cache(g);
    default: break;
    }
    int code = read_input(g);
    if (code) return code;
    if (g->o.act == ACT_LIST_OPS) return gen_list_ops(g);
    if (g->o.act == ACT_MAKE_RULE) {
        buf_puts(&g->report, gen_make_rule(g));
        return 0;
    }
    return generate(g);
}

/* Standard output carries one thing: the artefact, the JSON object or the report.  */
static int print(Gen *g, int code) {
    bool to_stdout = gen_on_stdout(g);
    if (g->o.json) {
        g->report.len = 0;
        gen_report_json(g, process_code(code));
    }
    progress_end(&g->progress);
    process_put(stderr, &g->messages);
    int wrote = to_stdout ? process_put(stdout, &g->artefact) : 0;
    if (g->o.verbosity >= 0 && !wrote)
        wrote = process_put(to_stdout ? stderr : stdout, &g->report);
    return code ? code : wrote;
}

/* May a kernel have to run on a device?  Then its driver has to load the code.  */
static bool runs_on_device(const GenOptions *o) {
    bool runs = o->measure || o->check || o->n_in || o->n_out;
    return runs && !(o->device && strcmp(o->device, "sim") == 0);
}

static int run(Arena *a, int argc, char **argv, void *tool) {
    Gen *g = tool;
    int code;
    g->a = a;
    g->diag = diag_new(a);
    g->report = buf_new(a);
    g->artefact = buf_new(a);
    g->messages = buf_new(a);
    g->start_ms = gen_now_ms();
    if (gen_options(a, &g->diag, argc, argv, &g->o)) {
        code = gen_fail_here(g);
    } else {
        g->driver = runs_on_device(&g->o) ? ROLLER_DRIVER_HERE : 0;
        RollerCtxOptions o = {.struct_size = sizeof o,
                              .driver = g->driver,
                              .threads = g->o.threads,
                              .line_info = g->o.line_info,
                              .program = "roller-gen",
                              .worker = process_worker(a),
                              .color = option_color(g->o.color),
                              .cache = !g->o.no_cache,
                              .cache_dir = g->o.cache_dir,
                              .cache_key_file = g->o.cache_key_file};
        code = roller_ctx_create(&o, &g->ctx) ? process_nomem() : act(g);
    }
    return print(g, code);
}

static void done(void *tool) {
    Gen *g = tool;
    gen_end_early(g);
    for (int i = 0; i < g->n_result; i++) {
        roller_kernel_destroy(g->result[i].kernel);
        roller_plans_destroy(g->result[i].plans);
        roller_op_destroy(g->result[i].op);
        roller_profile_destroy(g->result[i].profile);
    }
    roller_ctx_destroy(g->ctx);
}

int main(int argc, char **argv) {
    roller_worker(argc, argv);
    Gen g = {0};
    return process_main(&(ProcessTool){"roller-gen", run, done}, argc, argv, &g);
}
