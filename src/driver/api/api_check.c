/* roller.h: proof, in the simulator or on a device.  */
#include "driver/handle/handle.h"
#include "driver/sizes/size_values.h"
#include <string.h>

typedef struct {
    const RollerKernel *k;
    const RollerCheckOptions *o;
    Arena *scratch;
    CheckResult result;
    int64_t *at;              /* the sizes asked for; NULL: none */
} CheckCall;

Status kernel_need_ptx(Diag *d, const RollerKernel *k) {
    if (k->build.compiled) return ST_OK;
    Status s = hal_need_cuda(d, k->plans->set.dev);
    if (s) return s;
    s = diag_error(d, ST_NVRTC, NULL, DIAG_NOWHERE,
                          "the kernel was not compiled, so there is no PTX to run");
    diag_hint(d, "NVRTC must be able to target %s", k->build.arch);
    return s;
}

/* Asks the driver, in a process of its own, unless this context has its answer.  */
static Status find_device(RollerCtx *ctx, Arena *scratch, Diag *d, const MeasureOptions *m,
                          MeasurePlace *out) {
    const char *device = m->device ? m->device : "0";
    *out = ctx->place;
    if (strcmp(ctx->place_device, device) == 0) return ST_OK;
    Status s = measure_probe(scratch, d, m, out);
    if (s || strlen(device) >= sizeof ctx->place_device) return s;
    memcpy(ctx->place_device, device, strlen(device) + 1);
    ctx->place = *out;
    return ST_OK;
}

BuiltPlan kernel_built(const RollerKernel *k) {
    return (BuiltPlan){&k->plans->set, &k->plan.whole, &k->build};
}

Status kernel_place(RollerCtx *ctx, Arena *scratch, const RollerKernel *k, const char *device,
                    MeasureOptions *m, const MeasurePlace **place) {
    *place = NULL;
    if (!device || strcmp(device, "sim") == 0) return ST_OK;
    bool automatic = strcmp(device, "auto") == 0;
    m->device = automatic ? NULL : device;
    Diag quiet = diag_new(scratch), *d = automatic ? &quiet : &ctx->diag;
    CudaImage image;
    MeasurePlace *found = ARENA_NEW(scratch, MeasurePlace);
    Status s = find_device(ctx, scratch, d, m, found);
    if (!s) s = device_image(d, &k->build, &found->info, &image);
    if (!s) *place = found;
    return automatic ? ST_OK : s;
}

/* The device's counters beside the model's terms and the simulator's; where there are none, a note
 * says why and the rest is shown.  */
static void device_counters(RollerCtx *ctx, CheckCall *c, const MeasureOptions *m,
                            const char *where) {
    const BuiltPlan built = kernel_built(c->k);
    double value[CUPTI_COUNTER_COUNT];
    Diag own = diag_new(ctx->call);
    CheckResult simulated;
    CheckOptions o = {.seed = c->o->seed, .budget_s = c->o->budget_s, .threads = ctx->threads,
                      .counters = true, .watch = &ctx->watch, .at = m->at};
    ArenaMark mark = arena_mark(c->scratch);
    if (check_kernel(c->scratch, &own, &built, &o, &simulated) || !simulated.table) {
        const DiagMessage *e = diag_first_error(&own);
        diag_warning(&ctx->diag, "counters", DIAG_NOWHERE, "the simulator counted nothing: %s",
                     e ? e->message : "it ran no kernel");
        return;
    }
    arena_reset(c->scratch, mark);
    c->result.counters = simulated.counters;
    c->result.counters_json = simulated.counters_json;
    own = diag_new(ctx->call);
    if (!measure_counters(c->scratch, &own, &built, m, value)) {
        c->result.counters = counters_device_text(simulated.table, value, where, ctx->call);
        c->result.counters_json = counters_json(simulated.table, value, ctx->call);
        return;
    }
    const DiagMessage *e = diag_first_error(&own);
    diag_warning(&ctx->diag, "counters", DIAG_NOWHERE, "no counters of %s: %s", where, e->message);
    if (e->hint) diag_hint(&ctx->diag, "%s", e->hint);
}

static Status check(RollerCtx *ctx, void *user) {
    CheckCall *c = user;
    const MeasurePlace *place = NULL;
    const BuiltPlan built = kernel_built(c->k);
    MeasureOptions m = ctx_measure(ctx);
    m.seed = c->o->seed;
    m.budget_s = c->o->budget_s;
    Status s = kernel_need_ptx(&ctx->diag, c->k);
    if (!s)
        s = size_values(ctx->call, &ctx->diag, c->k->plans->op->te, c->o->at, c->o->n_at, &c->at);
    m.at = c->at;
    if (!s) s = kernel_place(ctx, c->scratch, c->k, c->o->device, &m, &place);
    if (s) return s;
    if (place) {
        s = measure_check(ctx->call, &ctx->diag, &built, &m, &c->result);
        if (!s && c->o->counters) device_counters(ctx, c, &m, place->info.name);
        return s;
    }
    CheckOptions o = {.seed = c->o->seed,
                      .budget_s = c->o->budget_s,
                      .threads = ctx->threads,
                      .counters = c->o->counters != 0,
                      .watch = &ctx->watch,
                      .at = c->at};
    return check_kernel(c->scratch, &ctx->diag, &built, &o, &c->result);
}

RollerStatus roller_check(RollerCtx *ctx, const RollerKernel *k, const RollerCheckOptions *options,
                          RollerCheckReport *report) {
    RollerCheckOptions o;
    api_options(&o, sizeof o, options);
    CheckCall c = {.k = k, .o = &o, .scratch = call_arena(ctx)};
    if (!c.scratch) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.scratch, check, &c);
    arena_destroy(c.scratch);
    if (c.result.ok) watch_log(&ctx->watch, WATCH_NOTE, c.result.text);
    const CheckResult *r = &c.result;
    RollerCheckReport out = {.ok = r->ok,
                             .compared = r->compared,
                             .outputs = r->outputs,
                             .undecided = r->undecided,
                             .size_sets = r->size_sets,
                             .data_sets = r->data_sets,
                             .exact = r->exact,
                             .where = r->where ? r->where : "",
                             .data = check_data(r),
                             .filled = r->filled,
                             .runs = r->runs,
                             .left_out = r->left_out,
                             .needed_s = r->needed_s,
                             .text = r->text ? r->text : "",
                             .counters = r->counters ? r->counters : "",
                             .counters_json = r->counters_json ? r->counters_json : ""};
    api_report(report, &out, sizeof out);
    return s;
}
