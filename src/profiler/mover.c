#include "profiler/mover.h"

size_t mover_region(const Bench *b) {
    enum { LEAST = 128 << 10, MOST = 2 << 20, SIMULATED = 256 << 10 };
    size_t most = bench_simulated(b) ? SIMULATED : MOST, bytes = LEAST;
    while (bytes * 2 <= most && bytes * 2 <= (size_t)bench_l2_bytes(b) / 4) bytes *= 2;
    return bytes;
}

typedef struct {
    Bench *b;
    const MoverKernel *k;
    CudaAddress in, out, clocks;
    int n;
    unsigned never;
    CudaTensorMap map;
} Run;

static Status prepare(Run *r, Bench *b, const MoverKernel *k) {
    *r = (Run){.b = b, .k = k, .never = 0x7fedcba9};
    Status s = bench_buffer(b, k->buffer, &r->in);
    if (!s) s = bench_buffer(b, k->buffer, &r->out);
    if (!s) s = bench_buffer(b, 2 * sizeof(uint64_t), &r->clocks);
    if (s || !k->map) return s;
    TensorMap shape = *k->map;
    shape.address = k->map->address ? r->out : r->in;
    return cuda_tensor_map(cuda_context_driver(bench_context(b)), bench_diag(b), &shape, &r->map);
}

static const char *const *macros_of(Arena *a, const MoverKernel *k, const char *more) {
    const char **macros = ARENA_ARRAY(a, const char *, MOVER_MACROS + 1);
    int n = 0;
    for (; k->macros[n]; n++) macros[n] = k->macros[n];
    macros[n] = more;
    return macros;
}

static Status launch_of(Run *r, const char *symbol, int threads, const char *more,
                        BenchLaunch *l) {
    const MoverKernel *k = r->k;
    const char *const *macros = macros_of(bench_arena(r->b), k, more);
    *l = (BenchLaunch){.launch = {.grid = {k->blocks, 1, 1}, .block = {threads, 1, 1},
                                  .dynamic_smem = k->smem},
                       .param = {&r->in, &r->out, &r->clocks, &r->n, &r->never, &r->map}};
    if (k->blocks > 1) l->launch.cluster[0] = k->blocks;
    if (k->blocks > 1) l->launch.cluster[1] = l->launch.cluster[2] = 1;
    Status s = bench_kernel(r->b, k->source, symbol, macros, &l->kernel);
    return s || k->smem == 0 ? s : cuda_kernel_smem(&l->kernel, bench_diag(r->b), k->smem);
}

enum { SHORT = 4, LONG = 10 };
static const char short_burst[] = "BURST 4", long_burst[] = "BURST 10";

static Status measure_rate(Run *r, Figure *rate) {
    enum { FEW = 4, MANY = 64 };
    BenchLaunch l;
    Sample us;
    Status s = launch_of(r, "rate", r->k->threads, short_burst, &l);
    if (!s) s = bench_slope(r->b, &l, &r->n, FEW, MANY, &us);
    if (!s) bench_rate(r->b, rate, &us, r->k->bytes / (bench_light_hz(r->b) * 1e-6));
    return s;
}

static Status burst(Run *r, const char *macro, Sample *clk) {
    enum { FEW = 1, MANY = 3 };
    BenchLaunch l;
    Status s = launch_of(r, "burst", r->k->burst_threads, macro, &l);
    l.clocks = r->clocks;
    return s ? s : bench_clocks(r->b, &l, &r->n, FEW, MANY, clk);
}

static Status measure_cost(Run *r, Figure *cost) {
    enum { ATTEMPTS = 3 };
    static const double least = 0.25;                    /* warp instructions per clock: no more */
    Sample few, many, one = {0};
    for (int i = 0; i < ATTEMPTS && one.value <= 0; i++) {
        Status s = burst(r, short_burst, &few);
        if (!s) s = burst(r, long_burst, &many);
        if (s) return s;
        one = many;
        one.value = (many.value - few.value) / (LONG - SHORT);
    }
    Status s = bench_positive(r->b, &one);
    if (s) return s;
    if (one.value < least) one.value = least;
    one.spread = (many.spread * many.value + few.spread * few.value) / (LONG - SHORT) / one.value;
    one.noisy = few.noisy || many.noisy;
    bench_figure(r->b, cost, &one, 1);
    return ST_OK;
}

Status mover_compile(Bench *b, const MoverKernel *k, int n) {
    Arena *a = bench_arena(b);
    BenchSource *source = ARENA_ARRAY(a, BenchSource, 2 * n + 1);
    for (int i = 0; i < n; i++) {
        source[2 * i] = (BenchSource){k[i].source, macros_of(a, &k[i], short_burst)};
        source[2 * i + 1] = (BenchSource){k[i].source, macros_of(a, &k[i], long_burst)};
    }
    return bench_compile(b, source, 2 * n);
}

Status mover_measure(Bench *b, const MoverKernel *k, Figure *rate, Figure *cost) {
    Arena *a = bench_arena(b);
    Run r;
    Status s = ST_OK;
    if (bench_try(b, arena_printf(a, "%s.%s", k->name, k->rate ? k->rate : "rate"))) {
        s = prepare(&r, b, k);
        s = bench_tried(b, s ? s : measure_rate(&r, rate));
    }
    if (!s && cost && bench_try(b, arena_printf(a, "%s.cost", k->name))) {
        s = prepare(&r, b, k);
        s = bench_tried(b, s ? s : measure_cost(&r, cost));
    }
    return s;
}
