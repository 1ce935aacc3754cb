/* A device, and one kernel on it: a check, a run on the caller's data, a run with counters.  */
#include "driver/device/measure_ask.h"

#include <string.h>

/* ---- the device ---- */
Status measure_probe(Arena *a, Diag *d, const MeasureOptions *o, MeasurePlace *out) {
    WorkerResult r;
    WorkerLimits limits = measure_limits(o, 0);
    WorkerRequest request = worker_request(a, WORKER_PROBE);
    worker_put_options(&request.head, o, NULL);
    Status s = measure_ask(a, d, o, &request, &limits, &r);
    if (s) return s;
    if (r.end == WORKER_STOPPED) return diag_error(d, ST_CANCELLED, NULL, DIAG_NOWHERE, "stopped");
    if (r.end == WORKER_HUNG)
        return diag_error(d, ST_DRIVER, "cuda", DIAG_NOWHERE,
                          "the CUDA driver did not answer within %.0f s", r.watchdog_s);
    if (r.end == WORKER_DIED)
        return diag_error(d, ST_DRIVER, "cuda", DIAG_NOWHERE,
                          "the CUDA driver ended the process that opened it (signal %d)", r.signal);
    if (r.end == WORKER_DONE && r.status) return measure_refused(d, &r);
    if (r.end == WORKER_DONE && worker_get_place(r.answer, r.len, out)) return ST_OK;
    return diag_error(d, ST_IO, "worker", DIAG_NOWHERE, "the worker's answer does not read");
}

void measure_compare(Diag *d, const Device *dev, const MeasurePlace *place) {
    DeviceLimits own;
    cuda_limits(&place->info, &own);
    const struct {
        const char *what;
        double profile, device;
    } row[] = {
        {"SMs", dev->limits.sm_count.value, own.sm_count.value},
        {"bytes of shared memory per block", dev->limits.smem_per_block_optin.value,
         own.smem_per_block_optin.value},
        {"registers per SM", dev->limits.registers_per_sm.value, own.registers_per_sm.value},
        {"threads per SM", dev->limits.threads_per_sm.value, own.threads_per_sm.value},
    };
    const char *gpu = hal_gpu_simulated(dev->gpu) ? place->info.name
                                                  : hal_gpu_model(d->arena, place->info.name);
    if (strcmp(dev->gpu, gpu) != 0) {
        diag_warning(d, "profile", DIAG_NOWHERE, "the profile %s describes %s; the device is %s",
                     dev->name, dev->gpu, place->info.name);
        diag_hint(d, "take the profile of this device (--list-profiles), or write one "
                     "(docs/adding-a-device.md)");
        return;
    }
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].device > 0 && row[i].profile != row[i].device)
            diag_warning(d, "profile", DIAG_NOWHERE,
                         "the profile %s says %.0f %s; the device has %.0f", dev->name,
                         row[i].profile, row[i].what, row[i].device);
}

/* ---- a check alone ---- */
Status measure_check(Arena *a, Diag *d, const BuiltPlan *b, const MeasureOptions *o,
                     CheckResult *out) {
    WorkerRequest request = worker_request(a, WORKER_TRIAL);
    WorkerLimits limits = measure_limits(o, 0);
    WorkerResult r;
    Trial t = {.reason = ""};
    CheckResult told;
    Timing none;
    *out = (CheckResult){.where = "device", .counters = "", .counters_json = ""};
    trial_request(&request, b, o, false, 0);
    Status s = measure_ask(a, d, o, &request, &limits, &r);
    if (s) return s;
    if (measure_unable(&r)) return measure_refused(d, &r);
    if (r.end == WORKER_DONE && !r.status && worker_get_trial(r.answer, r.len, &told, &none)) {
        *out = told;
        if (out->ok) return ST_OK;
        return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "%s", out->text);
    }
    measure_judge(a, &r, &limits, &t);
    if (t.end == TRIAL_STOPPED)
        return diag_error(d, ST_CANCELLED, NULL, DIAG_NOWHERE, "stopped");
    out->fault = true;
    out->text = arena_printf(d->arena, "check: FAILED (device)\n%s: %s", trial_name(t.end),
                             t.reason);
    return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "%s: %s", trial_name(t.end), t.reason);
}

/* ---- a run on the caller's data ---- */
static size_t bytes_out(const DeviceRun *r) {
    size_t n = 0;
    for (int i = 0; i < r->kernel.set->te->n_out; i++) n += r->out[i].bytes;
    return n;
}

static void take_outputs(const DeviceRun *x, const char *at) {
    for (int i = 0; i < x->kernel.set->te->n_out; i++) {
        if (x->out[i].bytes) memcpy(x->out[i].data, at, x->out[i].bytes);
        at += x->out[i].bytes;
    }
}

Status measure_run(Arena *a, Diag *d, const DeviceRun *x, const MeasureOptions *o) {
    WorkerRequest request = worker_request(a, WORKER_OUTPUTS);
    WorkerLimits limits = measure_limits(o, 0);
    WorkerResult r;
    Trial t = {.reason = ""};
    limits.answer_most = bytes_out(x) + 1;
    trial_outputs_request(a, &request, x, o);
    Status s = measure_ask(a, d, o, &request, &limits, &r);
    if (s) return s;
    if (r.end == WORKER_DONE && r.status == ST_OK) {
        if (r.len != bytes_out(x))
            return diag_error(d, ST_IO, "worker", DIAG_NOWHERE,
                              "the worker's answer does not read");
        take_outputs(x, r.answer);
        return ST_OK;
    }
    if (r.end == WORKER_DONE && r.status != ST_CHECK) return measure_refused(d, &r);
    measure_judge(a, &r, &limits, &t);
    if (t.end == TRIAL_STOPPED)
        return diag_error(d, ST_CANCELLED, NULL, DIAG_NOWHERE, "stopped");
    return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "%s: %s", trial_name(t.end), t.reason);
}

/* ---- counters ---- */
Status measure_counters(Arena *a, Diag *d, const BuiltPlan *b, const MeasureOptions *o,
                        double value[CUPTI_COUNTER_COUNT]) {
    WorkerRequest request = worker_request(a, WORKER_COUNTERS);
    WorkerLimits limits = measure_limits(o, 0);
    WorkerResult r;
    Trial t = {.reason = ""};
    trial_counters_request(&request, b, o);
    Status s = measure_ask(a, d, o, &request, &limits, &r);
    if (s) return s;
    if (r.end == WORKER_DONE && r.status) return measure_refused(d, &r);
    WireReader in = wire_reader(r.answer, r.end == WORKER_DONE ? r.len : 0);
    for (int i = 0; i < CUPTI_COUNTER_COUNT; i++) value[i] = wire_read_real(&in);
    if (r.end == WORKER_DONE && wire_read_all(&in)) return ST_OK;
    measure_judge(a, &r, &limits, &t);
    return diag_error(d, ST_CUDA, "counters", DIAG_NOWHERE, "counting: %s", t.reason);
}
