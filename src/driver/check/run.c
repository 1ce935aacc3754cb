#include "driver/check/run_device.h"
#include <string.h>

static void copy_page(void *user, size_t from, size_t bytes, unsigned char *to) {
    memcpy(to, lazy_at(user, from, bytes), bytes);
}

static Status put_inputs(Run *r, Diag *d) {
    const Lazy *const *lazy = r->place.inputs;
    for (int i = 0; i < r->te->n_in + r->te->n_out; i++) {
        const TeTensor *t = &r->te->tensor[i];
        if (t->role == TE_VALUE) continue;
        size_t bytes = te_tensor_bytes(t);
        bool input = t->role == TE_INPUT && bytes;
        Status s;
        if (input && lazy)
            s = sim_malloc_made(r->gpu, d, bytes, copy_page, (void *)(uintptr_t)lazy[i], &r->at[i]);
        else s = sim_malloc(r->gpu, d, bytes ? bytes : 1, &r->at[i]);
        if (!s && t->role == TE_OUTPUT) s = sim_watch(r->gpu, d, r->at[i]);
        if (!s && input && !lazy) s = sim_write(r->gpu, d, r->at[i], r->data[i].data, bytes);
        if (s) return s;
    }
    size_t workspace = (size_t)r->build->program.workspace_bytes;
    if (!workspace) return ST_OK;
    Status s = sim_malloc(r->gpu, d, workspace, &r->workspace);
    return s ? s : sim_watch(r->gpu, d, r->workspace);
}

static Status fits_memory(Diag *d, const Te *te, const KernelProgram *p) {
    double bytes = run_bytes(te, p), limit = (double)RUN_MEMORY_LIMIT_GIB * (1 << 30);
    if (bytes <= limit) return ST_OK;
    Status s = diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE,
                          "the tensors take %.1f GiB; the simulator runs up to %d GiB",
                          bytes / (1 << 30), RUN_MEMORY_LIMIT_GIB);
    diag_hint(d, "check a smaller instance: set sizes with -D");
    return s;
}

static Status create_simulated(Run *r, Arena *a, Diag *d) {
    const char *ptx = r->build->nvrtc.ptx;
    Status s = r->place.inputs ? ST_OK : fits_memory(d, r->te, &r->build->program);
    if (!s) s = sim_gpu_create(a, d, r->place.dev, &r->gpu);
    if (!s) s = sim_parse(a, d, "kernel.ptx", ptx, strlen(ptx), &r->module);
    return s ? s : put_inputs(r, d);
}

Status run_create(Run *r, Arena *a, Diag *d) {
    r->at = ARENA_ARRAY(a, uint64_t, r->te->n_in + r->te->n_out);
    r->taken = cg_taken(&r->build->program, r->size);
    r->strategy = &r->build->program.strategy[r->taken.strategy];
    return r->place.context ? device_create(r, a, d) : create_simulated(r, a, d);
}

static Status param_space(const Run *r, Arena *a, Diag *d, const KernelLaunch *k,
                          SimLaunch *launch) {
    const SimParam *slot;
    int n = sim_kernel_params(r->module, k->symbol, &slot);
    if (n != k->n_param)
        return diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE,
                          "kernel %s takes %d parameters in PTX, %d in its description", k->symbol,
                          n, k->n_param);
    size_t bytes = n ? (size_t)(slot[n - 1].offset + slot[n - 1].bytes) : 0;
    unsigned char *space = arena_alloc(a, bytes + 8);
    Status s = ST_OK;
    for (int i = 0; i < n && !s; i++) s = run_param(r, d, k, i, space + slot[i].offset);
    launch->params = space;
    launch->params_bytes = bytes;
    return s;
}

static void add_counters(SimCounters *to, const SimCounters *from) {
    for (int i = 0; i < SIM_PIPE_COUNT; i++) to->pipe[i] += from->pipe[i];
#define X(name, text) to->name += from->name;
    SIM_COUNTERS(X)
#undef X
    to->flops += from->flops;
    if (from->max_bytes_in_flight > to->max_bytes_in_flight)
        to->max_bytes_in_flight = from->max_bytes_in_flight;
}

static void add_report(Run *r, Arena *a, const SimReport *report) {
    SimReport *all = &r->report;
    if (!all->faults && report->faults) {
        memcpy(all->fault, report->fault, sizeof all->fault);
        all->n_fault = report->n_fault;
        Buf b = buf_new(a);
        sim_fault_text(&report->fault[0], &b);
        r->fault = buf_str(&b);
    }
    all->faults += report->faults;
    all->blocks_run += report->blocks_run;
    all->time_us += report->time_us;
    add_counters(&all->total, &report->total);
}

static void keep_blocks(Run *r, Arena *a, int program, const SimReport *report) {
    RunBlocks *l = ARENA_NEW(a, RunBlocks);
    *l = (RunBlocks){.program = program, .n = report->blocks_run, .block = report->block};
    if (!r->main_launches) r->main_last = &r->main_launches;
    *r->main_last = l;
    r->main_last = &l->next;
}

int run_kernels(const Run *r) {
    const KernelProgram *p = &r->build->program;
    int n = 0;
    for (int i = 0; i < p->n_kernel; i++) {
        int64_t blocks = cg_blocks(r->normal, p, &p->kernel[i], r->taken, r->size);
        n += blocks > 0;
    }
    return n;
}

Status run_launch(Run *r, Arena *a, Diag *d, int i, const int64_t *blocks, int64_t n_blocks) {
    const KernelLaunch *k = &r->build->program.kernel[i];
    int64_t count = cg_blocks(r->normal, &r->build->program, k, r->taken, r->size);
    if (count == 0) return ST_OK;
    if (r->place.context) return device_launch(r, a, d, i);
    SimLaunch launch = {
        .module = r->module, .kernel = k->symbol, .dynamic_smem = (uint32_t)k->dynamic_smem};
    for (int n = 0; n < 3; n++) {
        launch.grid[n] = (uint32_t)k->grid[n];
        launch.block[n] = (uint32_t)k->block[n];
        launch.cluster[n] = (uint32_t)k->cluster[n];
    }
    launch.grid[0] = (uint32_t)count;
    launch.overlaps = cg_overlaps(r->normal, &r->build->program, i, r->taken, r->size);
    Status s = param_space(r, a, d, k, &launch);
    if (s) return s;
    SimOptions o = r->options;
    o.blocks = blocks;
    o.n_blocks = n_blocks;
    SimReport report;
    s = sim_launch(r->gpu, a, d, &launch, &o, &report);
    if (s) return s;
    add_report(r, a, &report);
    if (i > 0 && k[-1].group == k->group) return ST_OK;
    add_counters(&r->main, &report.total);
    r->main_blocks += report.blocks_run;
    if (report.block) keep_blocks(r, a, k->group, &report);
    return ST_OK;
}

/* Temporaries in a workspace.  */
typedef struct {
    const Run *run;
    const Lazy *const *temp;
} Given;

/* A page of poison, and what it has of the temporaries.  */
static void given_page(void *user, size_t from, size_t bytes, unsigned char *to) {
    const Given *g = user;
    const Te *te = g->run->normal;
    memset(to, 0xff, bytes);
    for (int t = te->n_in + te->n_out; t < te->n_tensor; t++) {
        if (!g->temp[t]) continue;
        size_t at = (size_t)g->run->strategy->temp_offset[t], end = at + g->temp[t]->bytes;
        size_t first = at > from ? at : from, last = end < from + bytes ? end : from + bytes;
        if (first < last)
            memcpy(to + (first - from), lazy_at(g->temp[t], first - at, last - first),
                   last - first);
    }
}

static Status give_device(Run *r, Diag *d, const Lazy *const *given) {
    Status s = ST_OK;
    for (int t = r->te->n_in; t < r->normal->n_tensor && !s; t++)
        if (given[t] && given[t]->bytes)
            s = run_write(r, d, run_address(r, t), lazy_at(given[t], 0, given[t]->bytes),
                          given[t]->bytes);
    return s;
}

static Status give_outputs(Run *r, Diag *d, const Lazy *const *given) {
    Status s = ST_OK;
    for (int t = r->te->n_in; t < r->te->n_in + r->te->n_out && !s; t++) {
        if (!given[t] || !given[t]->bytes) continue;
        sim_free(r->gpu, r->at[t]);
        s = sim_malloc_made(r->gpu, d, given[t]->bytes, copy_page, (void *)(uintptr_t)given[t],
                            &r->at[t]);
    }
    return s;
}

Status run_given(Run *r, Arena *a, Diag *d, const Lazy *const *given) {
    size_t workspace = (size_t)r->build->program.workspace_bytes;
    if (r->place.context) return give_device(r, d, given);
    Status s = give_outputs(r, d, given);
    if (s || workspace == 0) return s;
    Given *g = ARENA_NEW(a, Given);
    *g = (Given){r, given};
    sim_free(r->gpu, r->workspace);
    s = sim_malloc_made(r->gpu, d, workspace, given_page, g, &r->workspace);
    return s ? s : sim_watch(r->gpu, d, r->workspace);
}

bool run_was_written(const Run *r, uint64_t at, size_t bytes) {
    return r->place.context ? device_was_written(r, at, bytes)
                            : sim_was_written(r->gpu, at, bytes);
}

Status run_write(Run *r, Diag *d, uint64_t to, const void *from, size_t bytes) {
    if (!r->place.context) return sim_write(r->gpu, d, to, from, bytes);
    run_waits(r, true);
    Status s = cuda_write(r->place.context, d, to, from, bytes);
    run_waits(r, false);
    return s;
}

const void *run_read(Run *r, Arena *a, Diag *d, uint64_t from, size_t bytes) {
    if (r->place.context) return device_read(r, a, d, from, bytes);
    const void *view = sim_host(r->gpu, from, bytes);
    if (!view)
        diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE, "simulated memory lost %zu bytes", bytes);
    return view;
}

const void *run_elements(Run *r, Arena *a, Diag *d, uint64_t from, size_t bytes,
                         const RunElements *e) {
    if (r->place.context) return run_read(r, a, d, from, bytes);
    const void *view = sim_host(r->gpu, from, 1);
    for (int64_t i = 0; i < e->n && view; i++)
        if (!sim_host(r->gpu, from + e->offset[i], e->size)) view = NULL;
    if (!view)
        diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE, "simulated memory lost %zu bytes", bytes);
    return view;
}
