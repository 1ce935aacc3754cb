#include "driver/device/worker_kernel.h"
#include "base/hash.h"

#include <limits.h>
#include <string.h>

enum { MOST_ALIGN = 4096, MOST_SIZES_VALUE = INT_MAX };

/* ---- kernels ---- */
static void source_print(const Build *b, char out[65]) {
    sha256_text(b->program.source, strlen(b->program.source), out);
}

void worker_put_kernel(Buf *out, const BuiltPlan *b) {
    const PlanSet *set = b->set;
    const Build *build = b->build;
    Buf profile = buf_new(out->arena), te = buf_new(out->arena), text = buf_new(out->arena);
    char source[65];
    hal_profile_write(set->dev, &profile);
    te_print(set->te, &te);
    rprog_print(&b->plan->rplan, set->dev, &text);
    source_print(build, source);
    wire_text(out, buf_str(&profile));
    wire_text(out, buf_str(&te));
    wire_text(out, buf_str(&text));
    wire_int(out, set->options.align);
    wire_int(out, set->options.workspace_limit);
    wire_int(out, set->options.static_smem);
    wire_text(out, source);
    wire_text(out, build->arch);
    wire_text(out, build->nvrtc.ptx);
    wire_bytes(out, build->nvrtc.cubin, build->nvrtc.cubin_len);
}

/* The driver reads an image as words.  */
static const void *aligned(Arena *a, const void *data, size_t len) {
    char *to = arena_alloc(a, len + 1);
    if (len) memcpy(to, data, len);
    return to;
}

static Status remake(Arena *a, Diag *d, const char *profile, const char *te, const char *plan,
                     SentKernel *out) {
    Device *dev;
    Te *op;
    const CompileOptions o = out->set.options;
    Status s = hal_profile_read(a, d, diag_text("profile", profile), &dev);
    if (!s) s = te_parse(a, d, diag_text("expression", te), NULL, NULL, &op);
    if (!s)
        s = compile_read_plan(a, d, &(PlanRequest){op, dev, &o}, diag_text("plan", plan),
                              &out->set);
    if (s) return s;
    compile_choose(a, &out->set, 0, &out->plan);
    return compile_emit(a, d, &out->plan, dev, &o, &out->build);
}

Status worker_get_kernel(WireReader *in, Arena *a, Diag *d, SentKernel *out) {
    *out = (SentKernel){0};
    const char *profile = wire_read_text(in), *te = wire_read_text(in), *plan = wire_read_text(in);
    out->set.options.align = (int)wire_read_within(in, 0, MOST_ALIGN);
    out->set.options.workspace_limit = wire_read_int(in);
    out->set.options.static_smem = wire_read_bool(in);
    const char *source = wire_read_text(in), *arch = wire_read_text(in), *ptx = wire_read_text(in);
    size_t len;
    const void *cubin = wire_read_bytes(in, &len);
    if (in->bad || !profile || !te || !plan || !source || !arch || !ptx) return worker_misread(d);
    out->build = (Build){.arch = arch, .compiled = true};
    Status s = remake(a, d, profile, te, plan, out);
    if (s) return s;
    char own[65];
    source_print(&out->build, own);
    if (strcmp(own, source) != 0)
        return diag_error(d, ST_INTERNAL, "worker", DIAG_NOWHERE,
                          "the plan gives another kernel than it was sent with");
    out->build.nvrtc = (NvrtcOutput){.ptx = ptx, .ptx_len = strlen(ptx), .log = "",
                                     .cubin = aligned(a, cubin, len), .cubin_len = len};
    return ST_OK;
}

/* ---- how it is measured ---- */
void worker_put_options(Buf *out, const MeasureOptions *o, const Te *te) {
    wire_text(out, o->device);
    wire_text(out, o->cuda.path);
    wire_int(out, o->cuda.ignore_environment);
    wire_int(out, (int64_t)o->seed);
    wire_real(out, o->budget_s);
    wire_int(out, o->threads);
    bool at = te && o->at;
    wire_int(out, at);
    for (int i = 0; at && i < te->n_size; i++) wire_int(out, o->at[i]);
}

void worker_get_options(WireReader *in, Arena *a, const Te *te, MeasureOptions *out) {
    *out = (MeasureOptions){.device = wire_read_text(in)};
    out->cuda.path = wire_read_text(in);
    out->cuda.ignore_environment = wire_read_bool(in);
    out->seed = (uint64_t)wire_read_int(in);
    out->budget_s = wire_read_real(in);
    out->threads = (int)wire_read_within(in, 0, INT_MAX);
    if (!wire_read_bool(in)) return;
    int64_t *at = ARENA_ARRAY(a, int64_t, te ? te->n_size + 1 : 1);
    for (int i = 0; te && i < te->n_size; i++) at[i] = wire_read_within(in, 0, MOST_SIZES_VALUE);
    out->at = at;
}

/* ---- what is found ---- */
static void put_name(Buf *out, const char *name) { wire_text(out, name); }

static void get_name(WireReader *in, char *to, size_t size) {
    const char *s = wire_read_text(in);
    if (!s || strlen(s) >= size) in->bad = true;
    else memcpy(to, s, strlen(s) + 1);
}

void worker_put_place(Buf *out, const MeasurePlace *place) {
    const CudaDeviceInfo *i = &place->info;
    wire_int(out, i->index);
    put_name(out, i->name);
    put_name(out, i->uuid);
    put_name(out, i->arch);
    wire_int(out, i->cc_major);
    wire_int(out, i->cc_minor);
    wire_int(out, (int64_t)i->memory_bytes);
    for (int k = 0; k < CUDA_ATTR_COUNT; k++) wire_int(out, i->attribute[k]);
    wire_int(out, place->count);
    wire_int(out, place->driver_version);
    wire_int(out, place->simulated);
}

bool worker_get_place(const char *answer, size_t len, MeasurePlace *out) {
    WireReader in = wire_reader(answer, len);
    CudaDeviceInfo *i = &out->info;
    *out = (MeasurePlace){0};
    i->index = (int)wire_read_within(&in, 0, INT_MAX);
    get_name(&in, i->name, sizeof i->name);
    get_name(&in, i->uuid, sizeof i->uuid);
    get_name(&in, i->arch, sizeof i->arch);
    i->cc_major = (int)wire_read_within(&in, 0, INT_MAX);
    i->cc_minor = (int)wire_read_within(&in, 0, INT_MAX);
    i->memory_bytes = (uint64_t)wire_read_int(&in);
    for (int k = 0; k < CUDA_ATTR_COUNT; k++)
        i->attribute[k] = (int)wire_read_within(&in, INT_MIN, INT_MAX);
    out->count = (int)wire_read_within(&in, 0, INT_MAX);
    out->driver_version = (int)wire_read_within(&in, 0, INT_MAX);
    out->simulated = wire_read_bool(&in);
    return wire_read_all(&in);
}

void worker_put_trial(Buf *out, const CheckResult *c, const Timing *t) {
    const int64_t number[] = {c->ok, c->fault, c->exact, c->compared, c->outputs, c->undecided,
                              c->filled, c->runs, c->left_out, c->size_sets, c->data_sets,
                              t->samples, t->by_events};
    const double real[] = {c->needed_s, t->cold_us, t->warm_us, t->spread, t->clock_mhz};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) wire_int(out, number[i]);
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) wire_real(out, real[i]);
    wire_text(out, c->where);
    wire_text(out, c->text);
}

static int count(WireReader *in) { return (int)wire_read_within(in, 0, INT_MAX); }

bool worker_get_trial(const char *answer, size_t len, CheckResult *c, Timing *t) {
    WireReader in = wire_reader(answer, len);
    *c = (CheckResult){.ok = wire_read_bool(&in), .counters = "", .counters_json = ""};
    c->fault = wire_read_bool(&in);
    c->exact = wire_read_bool(&in);
    c->compared = wire_read_within(&in, 0, INT64_MAX);
    c->outputs = wire_read_within(&in, 0, INT64_MAX);
    c->undecided = wire_read_within(&in, 0, INT64_MAX);
    c->filled = wire_read_within(&in, 0, INT64_MAX);
    c->runs = count(&in);
    c->left_out = count(&in);
    c->size_sets = count(&in);
    c->data_sets = (int)wire_read_within(&in, 0, TE_FILLS);
    *t = (Timing){.samples = count(&in)};
    t->by_events = wire_read_bool(&in);
    c->needed_s = wire_read_real(&in);
    t->cold_us = wire_read_real(&in);
    t->warm_us = wire_read_real(&in);
    t->spread = wire_read_real(&in);
    t->clock_mhz = wire_read_real(&in);
    c->where = wire_read_text(&in);
    c->text = wire_read_text(&in);
    return wire_read_all(&in) && c->where && c->text;
}
