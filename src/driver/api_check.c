/* roller.h: proof, in the simulator or on a device.  */
#include "driver/handle.h"
#include <string.h>

typedef struct {
    const RollerKernel *k;
    const RollerCheckOptions *o;
    Arena *scratch;
    CheckResult result;
} CheckCall;

Status kernel_need_ptx(Diag *d, const RollerKernel *k) {
    if (k->build.compiled || k->build.program.n_kernel == 0) return ST_OK;
    Status s = diag_error(d, ST_NVRTC, NULL, DIAG_NOWHERE,
                          "the kernel was not compiled, so there is no PTX to run");
    diag_hint(d, "NVRTC must be able to target %s", k->build.arch);
    return s;
}

Status kernel_place(RollerCtx *ctx, Arena *scratch, const RollerKernel *k, const char *device,
                    MeasureOptions *m, MeasurePlace *place, bool *found) {
    *found = false;
    if (!device || strcmp(device, "sim") == 0) return ST_OK;
    bool automatic = strcmp(device, "auto") == 0;
    m->device = automatic ? NULL : device;
    Diag quiet = diag_new(scratch), *d = automatic ? &quiet : &ctx->diag;
    CudaImage image;
    Status s = measure_probe(scratch, d, m, place);
    if (!s) s = device_image(d, &k->build, &place->info, &image);
    *found = s == ST_OK;
    return automatic ? ST_OK : s;
}

/* Counters are the simulator's, unless a device is asked for.  */
static Status find_place(RollerCtx *ctx, const CheckCall *c, MeasureOptions *m, bool *found) {
    const char *device = c->o->device;
    MeasurePlace place;
    if (c->o->counters && device && strcmp(device, "auto") == 0) device = NULL;
    if (c->o->counters && device && strcmp(device, "sim") != 0)
        return diag_error(&ctx->diag, ST_USAGE, NULL, DIAG_NOWHERE,
                          "counters are the simulator's: they cannot be had from a device");
    return kernel_place(ctx, c->scratch, c->k, device, m, &place, found);
}

static Status check(RollerCtx *ctx, void *user) {
    CheckCall *c = user;
    bool on_device = false;
    MeasureOptions m = {.cuda = {.ignore_environment = ctx->ignore_environment},
                        .seed = c->o->seed, .budget_s = c->o->budget_s, .threads = ctx->threads,
                        .stop = c->o->stop};
    Status s = kernel_need_ptx(&ctx->diag, c->k);
    if (!s) s = find_place(ctx, c, &m, &on_device);
    if (s) return s;
    const PlanSet *set = &c->k->plans->set;
    const WholePlan *whole = &c->k->plan.whole;
    if (on_device)
        return measure_check(ctx->call, &ctx->diag, set, whole, &c->k->build, &m, &c->result);
    CheckOptions o = {.seed = c->o->seed,
                      .budget_s = c->o->budget_s,
                      .threads = ctx->threads,
                      .counters = c->o->counters != 0,
                      .stop = c->o->stop};
    return check_kernel(c->scratch, &ctx->diag, set, whole, &c->k->build, &o, &c->result);
}

RollerStatus roller_check(RollerCtx *ctx, const RollerKernel *k, const RollerCheckOptions *options,
                          RollerCheckReport *report) {
    RollerCheckOptions o;
    api_options(&o, sizeof o, options);
    CheckCall c = {.k = k, .o = &o, .scratch = call_arena(ctx)};
    if (!c.scratch) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.scratch, check, &c);
    arena_destroy(c.scratch);
    const CheckResult *r = &c.result;
    RollerCheckReport out = {.ok = r->ok,
                             .compared = r->compared,
                             .outputs = r->outputs,
                             .undecided = r->undecided,
                             .size_sets = r->size_sets,
                             .data_sets = r->data_sets,
                             .exact = r->exact,
                             .where = r->where ? r->where : "",
                             .text = r->text ? r->text : "",
                             .counters = r->counters ? r->counters : ""};
    api_report(report, &out, sizeof out);
    return s;
}
