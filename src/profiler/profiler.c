/* The run through the rows.  */
#include "base/clock.h"
#include "base/stats.h"
#include "hal/nvml.h"
#include "profiler/harness.h"

#include <string.h>

typedef struct {
    const char *name, *text;
    double quick_s, full_s;
    Status (*run)(Bench *b, Device *dev);
} Row;

static const Row rows[] = {
#define X(name, quick, full, text) {#name, text, quick, full, bench_##name},
    PROFILER_BENCHES(X)
#undef X
};
enum { ROWS = (int)(sizeof rows / sizeof *rows) };

/* ---- which rows ---- */
static int find_row(const char *name, size_t len) {
    int i = 0;
    while (i < ROWS && (strncmp(rows[i].name, name, len) || rows[i].name[len])) i++;
    return i;
}

static Status choose(Diag *d, const char *only, bool chosen[ROWS]) {
    for (int i = 0; i < ROWS; i++) chosen[i] = !only;
    while (only && *only) {
        size_t len = strcspn(only, ",");
        int i = find_row(only, len);
        if (i == ROWS) {
            Buf all = buf_new(d->arena);
            for (int k = 0; k < ROWS; k++) buf_printf(&all, "%s%s", k ? ", " : "", rows[k].name);
            diag_error(d, ST_USAGE, NULL, DIAG_NOWHERE, "there is no measurement '%.*s'",
                       (int)(len > 40 ? 40 : len), only);
            diag_hint(d, "there are %s", buf_str(&all));
            return ST_USAGE;
        }
        chosen[i] = true;
        only += len + (only[len] == ',');
    }
    return ST_OK;
}

bool profiler_chosen(const char *only, const char *row) {
    size_t len = strlen(row);
    if (!only) return true;
    for (const char *p = only; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, row, len) && (!p[len] || p[len] == ',')) return true;
    return false;
}

Status profiler_known(Diag *d, const char *only) {
    bool chosen[ROWS];
    return choose(d, only, chosen);
}

/* ---- what the driver tells ---- */
/* Everything that goes by the driver's attributes; what it does not tell stays.  */
static void take_limits(const CudaDeviceInfo *info, Device *dev) {
    DeviceLimits told;
    cuda_limits(info, &told);
#define X(name, ...)                                                                               \
    if (told.name.value > 0) dev->limits.name = told.name;
    HAL_LIMITS(X)
#undef X
    DeviceLimits *l = &dev->limits;
    if (info->attribute[CUDA_ATTR_SMEM_RESERVED] > 0) {
        l->smem_reserved = (Figure){.value = info->attribute[CUDA_ATTR_SMEM_RESERVED],
                                    .origin = ORIGIN_DRIVER, .unit = "B"};
    }
    l->clock_sm_max = (Figure){0};        /* the driver tells the highest */
    if (l->clock_sm_sustained.value > l->clock_sm.value) {
        /* A GPU may boost above what is stated, and then has done so.  */
        bool seen = hal_timed(l->clock_sm_sustained.origin);
        if (seen) l->clock_sm = l->clock_sm_sustained;
        else l->clock_sm_sustained = l->clock_sm;
    }
    if (l->cluster_max.value <= 1) {
        l->clusters_resident = (Curve){0};
        dev->memory[LEVEL_DSMEM] = (MemoryLevel){0};
    }
    MemoryLevel *m = dev->memory;
    const Figure capacity = {.origin = ORIGIN_DRIVER, .unit = "B"};
    m[LEVEL_DRAM].capacity = m[LEVEL_SMEM].capacity = m[LEVEL_REG].capacity = capacity;
    m[LEVEL_DRAM].capacity.value = (double)info->memory_bytes;
    m[LEVEL_SMEM].capacity.value = l->smem_per_sm.value;
    m[LEVEL_REG].capacity.value = 4 * l->registers_per_sm.value;
    double edges = 2e3 * info->attribute[CUDA_ATTR_MEMORY_CLOCK_KHZ];
    double bus = edges * info->attribute[CUDA_ATTR_MEMORY_BUS_BITS] / 8;
    if (bus > 0)
        m[LEVEL_DRAM].peak = (Figure){.value = bus, .origin = ORIGIN_DRIVER, .unit = "B/s"};
    if (info->attribute[CUDA_ATTR_L2_BYTES] <= 0) return;
    m[LEVEL_L2].capacity = capacity;
    m[LEVEL_L2].capacity.value = info->attribute[CUDA_ATTR_L2_BYTES];
    if (m[LEVEL_L2].effective_capacity.value > m[LEVEL_L2].capacity.value)
        m[LEVEL_L2].effective_capacity = m[LEVEL_L2].capacity;
}

static const char *version_text(Arena *a, int major, int minor) {
    return arena_printf(a, "%d.%d", major, minor);
}

/* What was measured on another day says so from now on.  */
static void keep_dates(Arena *a, Device *dev) {
    const HalFigure *row;
    int n = hal_figures(a, dev, false, &row);
    for (int i = 0; i < n; i++) {
        Figure *f = (Figure *)(uintptr_t)row[i].figure;
        if (f && hal_timed(f->origin) && !f->date) f->date = dev->date;
    }
}

static void describe(Bench *b, Device *dev) {
    Arena *a = b->result;
    int major, minor, driver = cuda_driver_version(cuda_context_driver(b->x));
    nvrtc_version(b->n, &major, &minor);
    dev->gpu = arena_strdup(a, b->info->name);
    dev->name = b->o->name ? arena_strdup(a, b->o->name) : profiler_name(a, b->info->name);
    dev->arch = arena_strdup(a, b->info->arch);
    dev->cc_major = b->info->cc_major;
    dev->cc_minor = b->info->cc_minor;
    dev->tool = b->o->tool;
    if (strcmp(dev->date, b->o->date) != 0) keep_dates(a, dev);
    dev->date = b->o->date;
    dev->mode = b->o->quick ? "quick" : "full";
    dev->driver = version_text(a, driver / 1000, driver % 1000 / 10);
    dev->nvrtc = version_text(a, major, minor);
    dev->made_clock_sm_mhz = dev->made_clock_mem_mhz = dev->made_temperature_c = 0;
    dev->n_factor = 0;
    dev->factor = NULL;
}

/* Clocks and temperature at the end, when the device is warm.  */
static void note_state(Bench *b, Device *dev) {
    NvmlState now = nvml_state(b->simulated ? NULL : nvml_open(b->work, b->info->uuid));
    int memory_khz = b->info->attribute[CUDA_ATTR_MEMORY_CLOCK_KHZ];
    dev->made_clock_sm_mhz = (double)(int64_t)(b->hz * 1e-6 + 0.5);
    dev->made_clock_mem_mhz = now.clock_mem_mhz ? now.clock_mem_mhz : memory_khz / 1000;
    dev->made_temperature_c = now.temperature_c;
}

/* ---- the run ---- */
static Device *copy(Arena *a, Diag *d, const Device *dev, Status *s) {
    Buf text = buf_new(a);
    Device *out = NULL;
    hal_profile_write(dev, &text);
    *s = hal_profile_read(a, d, (DiagText){"measured profile", buf_str(&text), text.len}, &out);
    return out;
}

static double expected_s(const Bench *b, int i) {
    return b->o->quick ? rows[i].quick_s : rows[i].full_s;
}

/* The rows that are chosen need the clock and a warm device, also where the row `clock` is not
 * among them or another process has made its attempt.  Where it cannot be told they go by the one
 * that the profile has, which is said.  */
static Status warm_up(Bench *b, const bool chosen[ROWS]) {
    Sample hz;
    if (chosen[find_row("clock", strlen("clock"))] && b->o->skip == 0) return ST_OK;
    Diag *d = b->d, own = diag_new(b->row);
    b->d = &own;
    Status s = bench_missed(b, bench_warm_up(b, &hz), "clock_sm_sustained");
    b->d = d;
    arena_reset(b->row, (ArenaMark){0});
    return s ? diag_error(d, s, NULL, DIAG_NOWHERE, "%s", status_text(s)) : ST_OK;
}

/* What a row may take before it is ended; 0: any time.  Nobody foresees it on a simulated
 * device.  */
static double patience_s(const Bench *b, int i) {
    enum { TIMES = 3, AT_LEAST_S = 6 };
    if (b->o->row_s > 0) return b->o->row_s;
    return b->simulated ? 0 : TIMES * expected_s(b, i) + AT_LEAST_S;
}

static double deadline(const Bench *b, int i, double begun) {
    double may = patience_s(b, i), row = may > 0 ? clock_now_s() + may : 0;
    double end = b->o->limit_s > 0 ? begun + b->o->limit_s : 0;
    if (row <= 0 || end <= 0) return row > 0 ? row : end;
    return end < row ? end : row;
}

static Status run_row(Bench *b, int i) {
    Diag *d = b->d, own = diag_new(b->row);
    b->d = &own;
    Status s = b->lost ? diag_error(b->d, ST_DEVICE, NULL, DIAG_NOWHERE,
                                    "the device was lost with %s", b->lost)
                       : bench_stopped(b);
    if (!s) s = rows[i].run(b, b->dev);
    if (s && b->lost && b->o->so_far) s = ST_OK;          /* another process goes on with it */
    s = bench_missed(b, s, rows[i].name);
    b->d = d;
    if (s == ST_CANCELLED)
        diag_error(d, s, NULL, DIAG_NOWHERE, "the measurement was cancelled");
    else if (s)
        diag_error(d, s, NULL, DIAG_NOWHERE, "%s", status_text(s));
    arena_reset(b->row, (ArenaMark){0});
    return s;
}

static Status tell(Bench *b, int row) {
    bench_say(b, NULL);
    if (watch_ended(b->o->watch))
        return diag_error(b->d, ST_CANCELLED, NULL, DIAG_NOWHERE, "the measurement was cancelled");
    if (b->o->so_far) b->o->so_far(b->o->user, rows[row].name, 0, b->dev);
    return ST_OK;
}

static Status run_rows(Bench *b, const bool chosen[ROWS]) {
    double left = 0, foreseen = 0, begun = clock_now_s();
    int total = 0, done = 0;
    for (int i = 0; i < ROWS; i++) {
        if (!chosen[i]) continue;
        total++;
        left += expected_s(b, i);
    }
    for (int i = 0; i < ROWS; i++) {
        if (!chosen[i]) continue;
        double pace = foreseen > 0 ? (clock_now_s() - begun) / foreseen : 1;
        left -= expected_s(b, i);
        bench_row_begins(b, &(WatchStep){"profile", rows[i].text, done, total, left * pace},
                         expected_s(b, i) * pace);
        Status s = tell(b, i);
        b->row_name = rows[i].name;
        b->attempts = 0;
        b->skip = done ? 0 : b->o->skip;
        b->deadline_s = deadline(b, i, begun);
        if (!s) s = run_row(b, i);
        if (!s && b->lost && b->o->so_far)
            s = diag_error(b->d, ST_DEVICE, NULL, DIAG_NOWHERE, "the device was lost with %s",
                           b->lost);
        if (s) return s;
        foreseen += expected_s(b, i);
        done++;
    }
    b->deadline_s = 0;
    return ST_OK;
}

/* Failures that leave nothing are one of the run.  */
static Status left_anything(Bench *b) {
    if (b->succeeded || !b->first) return ST_OK;
    diag_error(b->d, b->first_status, b->first->tag, DIAG_NOWHERE, "%s", b->first->message);
    if (b->first->hint) diag_hint(b->d, "%s", b->first->hint);
    return b->first_status;
}

typedef struct {
    Bench *b;
    const Device *base;
    Device *out;
    Status status;
} Run;

static void run_inner(void *p) {
    Run *r = p;
    Bench *b = r->b;
    bool chosen[ROWS];
    r->status = choose(b->d, b->o->only, chosen);
    if (!r->status) r->status = bench_open(b);
    Device *dev = r->status ? NULL : copy(b->result, b->d, r->base, &r->status);
    if (r->status) return;
    describe(b, dev);
    take_limits(b->info, dev);
    bench_begin(b, dev);
    bench_clock_is(b, dev->limits.clock_sm_sustained.value * 1e6);
    r->status = warm_up(b, chosen);
    if (!r->status) r->status = run_rows(b, chosen);
    if (!r->status) r->status = left_anything(b);
    if (r->status) return;
    note_state(b, dev);
    r->out = copy(b->result, b->d, dev, &r->status);
}

static void run_outer(void *p) {
    Run *r = p;
    if (!arena_try(r->b->row, run_inner, r)) r->status = ST_NOMEM;
}

static void destroy(void *p) { arena_destroy(p); }

static Arena *own_arena(Arena *a) {
    Arena *w = arena_create(NULL);
    if (!w) arena_fail(a);
    arena_defer(a, destroy, w);
    return w;
}

Status profiler_run(Arena *a, Diag *d, const ProfilerPlace *on, const ProfilerOptions *o,
                    Device **out) {
    Bench b = {.o = o, .work = own_arena(a), .row = own_arena(a), .result = a, .d = d,
               .x = on->context, .n = on->nvrtc};
    Run r = {.b = &b, .base = on->base, .status = ST_NOMEM};
    *out = NULL;
    if (!arena_try(b.work, run_outer, &r)) r.status = ST_NOMEM;
    arena_reset(b.row, (ArenaMark){0});
    arena_reset(b.work, (ArenaMark){0});
    if (r.status == ST_NOMEM && !diag_first_error(d))
        return diag_error(d, ST_NOMEM, NULL, DIAG_NOWHERE, "out of memory");
    *out = r.out;
    return r.status;
}
