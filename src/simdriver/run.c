/* Running a piece of work: kernels in the simulator, copies, fills, graphs; and how long it
 * takes.  */
#include "base/hash.h"
#include "simdriver/work.h"

#include <string.h>

static Ps later(Ps a, Ps b) { return a > b ? a : b; }

/* What a piece of work takes beside its own time.  Behind other work it overlaps with what starts
 * it, so that no more than launch_stream lies between two of them.  */
static double overhead_ns(const DeviceOverheads *o, Chain chain) {
    double alone = o->kernel_floor.value, stream = o->launch_stream.value;
    if (chain == IN_GRAPH) return o->launch_graph.value;
    return chain == BEHIND && stream < alone ? stream : alone;
}

/* Occupies an engine of the device from `begin` on, as soon as it is free, for the overhead of a
 * piece of work and `seconds`; returns the end.  */
static Ps occupy(Gpu *gpu, Engine e, Ps begin, double seconds, Chain chain) {
    seconds += overhead_ns(&gpu->dev->overheads, chain) * 1e-9;
    gpu->busy[e] = later(begin, gpu->busy[e]) + (Ps)(seconds * 1e12 + 0.5);
    return gpu->busy[e];
}

/* ---- kernels ---- */

/* What a device would report.  Faults that no device notices (races, data not waited for) stop the
 * kernel all the same, as an unspecified failure.  */
static CUresult result_of_fault(SimFaultKind kind) {
    switch (kind) {
    case SIM_OUT_OF_BOUNDS: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case SIM_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case SIM_DESCRIPTOR: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case SIM_ASSERT: return CUDA_ERROR_ASSERT;
    case SIM_BAD_JUMP: return CUDA_ERROR_INVALID_PC;
    case SIM_LIMIT: return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    case SIM_RUNAWAY:
    case SIM_DEADLOCK: return CUDA_ERROR_LAUNCH_TIMEOUT;
    default: return CUDA_ERROR_LAUNCH_FAILED;
    }
}

typedef struct {
    Driver *driver;
    Gpu *gpu;
    Arena *arena;
    const Launch *launch;
    SimReport report;
    CUresult result;
} Running;

static void run_body(void *user) {
    Running *r = user;
    Diag diag = diag_new(r->arena);
    SimLaunch launch = r->launch->launch;
    launch.overlaps &= r->gpu->kernel_before;     /* behind a copy it begins after its end */
    r->gpu->kernel_before = true;
    Status st = sim_launch(r->gpu->sim, r->arena, &diag, &launch, &r->driver->options, &r->report);
    if (st != ST_OK) {
        driver_say_error(r->driver, &diag);
        r->result = st == ST_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_LAUNCH_FAILED;
    } else if (r->report.faults) {
        Buf text = buf_new(r->arena);
        sim_fault_text(&r->report.fault[0], &text);
        driver_say(r->driver, "%s", buf_str(&text));
        r->result = result_of_fault(r->report.fault[0].kind);
    }
}

/* The device's memory grows on one arena, the launch lives on another: either may find none.  */
static void run_on_device(void *user) {
    Running *r = user;
    if (!arena_try(r->arena, run_body, r)) r->result = CUDA_ERROR_OUT_OF_MEMORY;
}

/* The simulator's time counts the overhead of a kernel launched alone.  */
static double own_seconds(const Gpu *gpu, const SimReport *r) {
    double s = r->time_us * 1e-6 - gpu->dev->overheads.kernel_floor.value * 1e-9;
    return s > 0 ? s : 0;
}

/* What an injected noise makes of a time: random, but the same for a kernel that begins then.  */
static double disturbed(Driver *d, double seconds, Ps begin) {
    enum { STEPS = 1024 };
    Rng rng = {(uint64_t)begin};
    double percent = faults_of(&d->faults, RULE_NOISE).result;
    return seconds * (1 + percent / 100 * rng_below(&rng, STEPS) / STEPS);
}

static bool run_kernel(Driver *d, Context *ctx, Work *w, Ps begin, Chain chain) {
    w->end = begin;
    Injected hit = faults_of(&d->faults, RULE_KERNEL);
    driver_delay(hit.delay_ms);
    if (hit.hang) return false;
    Running r = {.driver = d, .gpu = ctx->gpu, .launch = &w->launch, .result = hit.result};
    if (hit.result == CUDA_SUCCESS) {
        r.arena = arena_create(&host_source);
        if (!r.arena || !arena_try(ctx->gpu->arena, run_on_device, &r)) {
            r.result = CUDA_ERROR_OUT_OF_MEMORY;
        }
        arena_destroy(r.arena);
    }
    ctx->failed = r.result;
    if (r.result == CUDA_SUCCESS) {
        double seconds = disturbed(d, own_seconds(ctx->gpu, &r.report), begin);
        w->end = occupy(ctx->gpu, ENGINE_COMPUTE, begin, seconds, chain);
    }
    return true;
}

/* ---- copies and fills ---- */

static double rate(const Figure *f, const Figure *otherwise) {
    return f->value > 0 ? f->value : otherwise->value;
}

/* The host's link is not in a profile: a copy from the host takes as long as writing device
 * memory, one to the host as long as reading it, one within the host as one from it.  */
static void copy_takes(Gpu *gpu, Work *w, Ps begin, Chain chain) {
    const MemoryLevel *dram = &gpu->dev->memory[LEVEL_DRAM];
    double bytes = (double)box_bytes(&w->box), seconds;
    bool to = w->box.to.at != 0, from = w->box.from.at != 0;
    Engine e = ENGINE_COMPUTE;
    if (w->kind == WORK_FILL) {
        seconds = bytes / rate(&dram->write, &dram->read);
    } else if (to && from) {
        seconds = 2 * bytes / rate(&dram->copy, &dram->read);
    } else if (to || !from) {
        seconds = bytes / rate(&dram->write, &dram->read);
        e = ENGINE_IN;
    } else {
        seconds = bytes / dram->read.value;
        e = ENGINE_OUT;
    }
    w->end = occupy(gpu, e, begin, seconds, chain);
}

/* A row of device memory, which may have been freed since the call; the device, or NULL.  What a
 * copy or a fill touches there is in L2 afterwards.  */
static Gpu *pass_row(Driver *d, CUdeviceptr at, size_t width) {
    Gpu *gpu = memory_gpu(d, at, width);
    if (gpu) sim_l2_pass(gpu->sim, at, width);
    return gpu;
}

/* A row of one end, where it lies now.  */
static unsigned char *row_of(Driver *d, const Box *b, const End *e, size_t offset) {
    if (!e->at) return e->host + offset;
    Gpu *gpu = pass_row(d, e->at + offset, b->width);
    return gpu ? sim_host(gpu->sim, e->at + offset, b->width) : NULL;
}

static size_t offset_of(const End *e, size_t y, size_t z) { return z * e->slice + y * e->pitch; }

static bool fill_row(Driver *d, const Work *w, size_t y, size_t z) {
    size_t width = w->box.width;
    CUdeviceptr at = w->box.to.at + offset_of(&w->box.to, y, z);
    Gpu *gpu = pass_row(d, at, width);
    if (!gpu) return false;
    if (w->element == 1) return sim_fill(gpu->sim, at, width, w->pattern[0]);
    unsigned char *to = sim_host(gpu->sim, at, width);
    for (size_t k = 0; k < width; k++) to[k] = w->pattern[k % (size_t)w->element];
    return true;
}

static bool move_row(Driver *d, const Work *w, size_t y, size_t z) {
    const Box *b = &w->box;
    if (w->kind == WORK_FILL) return fill_row(d, w, y, z);
    const unsigned char *from = row_of(d, b, &b->from, offset_of(&b->from, y, z));
    unsigned char *to = from ? row_of(d, b, &b->to, offset_of(&b->to, y, z)) : NULL;
    if (to) memmove(to, from, b->width);
    return to != NULL;
}

static void transfer(Driver *d, Context *ctx, Work *w, Ps begin, Chain chain) {
    bool moved = true;
    for (size_t z = 0; moved && z < w->box.depth; z++) {
        for (size_t y = 0; moved && y < w->box.height; y++) moved = move_row(d, w, y, z);
    }
    if (!moved) ctx->failed = CUDA_ERROR_ILLEGAL_ADDRESS;
    copy_takes(ctx->gpu, w, begin, chain);
}

/* ---- the host's part ---- */

/* The lock is given back meanwhile: a function of the host may wait for another thread that is
 * inside a call.  The context may be gone afterwards.  */
static void run_host(Driver *d, const Context *ctx, Work *w, Ps begin) {
    CUresult failed = ctx->failed;
    CUstream stream = w->stream ? HANDLE(CUstream, w->stream) : NULL;
    w->end = begin;
    pthread_mutex_unlock(&d->lock);
    if (w->fn) w->fn(w->user);
    else w->callback(stream, failed, w->user);
    pthread_mutex_lock(&d->lock);
    driver_wake(d);
}

static void release_memory(Driver *d, Work *w, Ps begin) {
    Context *ctx;
    w->end = begin;
    Memory *m = memory_find(d, w->box.to.at, &ctx);
    if (!m || !m->freed) return;
    memory_forget(ctx, m);
    memory_release(d, ctx, m);
}

/* ---- graphs ---- */

/* A context by its handle: a function of the host may have ended it.  */
static Context *still_there(Driver *d, uintptr_t handle) {
    return (Context *)(void *)handle_get(d, (const void *)handle, KIND_CONTEXT);
}

/* Nodes run in the order of the graph, each no sooner than what it needs.  */
static bool run_graph(Driver *d, Context *ctx, Work *w, Ps begin) {
    uintptr_t handle = ctx->o.handle;
    GraphBody *g = w->graph;
    bool whole = true;
    g->refs++;
    if (w->node == 0) {
        w->end = begin;
        ctx->gpu->kernel_before = false;
    }
    for (; w->node < g->n && ctx && ctx->failed == CUDA_SUCCESS; w->node++) {
        const Node *node = &g->node[g->order[w->node]];
        Ps ready = begin;
        for (size_t n = 0; n < node->needs.n; n++) {
            ready = later(ready, g->node[node->needs.v[n]].work->end);
        }
        whole = work_execute(d, ctx, node->work, ready, w->node > 0 ? IN_GRAPH : ALONE);
        if (!whole) break;
        w->end = later(w->end, node->work->end);
        ctx = still_there(d, handle);
    }
    if (whole) w->node = 0;
    graph_release(g);
    return whole;
}

bool work_execute(Driver *d, Context *ctx, Work *w, Ps begin, Chain chain) {
    if (w->kind == WORK_GRAPH) return run_graph(d, ctx, w, begin);
    if (w->kind == WORK_KERNEL) return run_kernel(d, ctx, w, begin, chain);
    ctx->gpu->kernel_before = false;
    switch (w->kind) {
    case WORK_HOST: run_host(d, ctx, w, begin); break;
    case WORK_FREE: release_memory(d, w, begin); break;
    case WORK_COPY:
    case WORK_FILL: transfer(d, ctx, w, begin, chain); break;
    default: w->end = begin; break;
    }
    return true;
}
