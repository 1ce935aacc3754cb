/* What launches cost.
 *
 * Back to back: the slope over the number of launches of an empty kernel of one warp, submitted to
 * a stream or inside a graph, so that the first launch, the events and the graph's own launch
 * cancel.  Start of a block: the slope over the number of waves of empty blocks that each fill an
 * SM, at the clock of the SMs.  Floor: one empty kernel of one wave between two events on a device
 * that is busy until then, less the same around nothing.  */
#include "profiler/bench.h"

static const char source[] = "extern \"C\" __global__ void empty() {}\n";

static BenchLaunch launch(const CudaKernel *k, int64_t blocks, int threads) {
    return (BenchLaunch){.kernel = *k,
                         .launch = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}}};
}

enum { ATTEMPTS = 3 };

/* (time of many - time of few) / (many - few), each per launch already.  */
static Status back_to_back(Bench *b, const BenchLaunch *l, bool graph, Sample *us) {
    enum { FEW = 10, MANY = 210 };
    int few = bench_simulated(b) ? 2 : FEW, many = bench_simulated(b) ? 6 : MANY;
    for (int i = 0; i < ATTEMPTS; i++) {
        Sample x, y;
        Status s = bench_repeat(b, l, few, graph, &x);
        if (!s) s = bench_repeat(b, l, many, graph, &y);
        if (s) return s;
        *us = y;
        us->value = (y.value * many - x.value * few) / (many - few);
        if (us->value > 0) break;
    }
    return bench_positive(b, us);
}

/* Waves of blocks that each fill an SM with threads.  */
static Status start_of_block(Bench *b, const BenchLaunch *l, Figure *out) {
    enum { FEW = 2, MANY = 34 };
    int threads = bench_device(b)->attribute[CUDA_ATTR_THREADS_PER_BLOCK];
    int64_t wave;
    BenchLaunch few = *l, many = *l;
    Sample x, y;
    Status s = bench_resident(b, &l->kernel, threads, 0, &wave);
    if (s) return s;
    few.launch.block[0] = many.launch.block[0] = threads;
    few.launch.grid[0] = FEW * wave;
    many.launch.grid[0] = MANY * wave;
    for (int i = 0; i < ATTEMPTS; i++) {
        s = bench_time(b, &few, &x);
        if (!s) s = bench_time(b, &many, &y);
        if (s) return s;
        y.value = (y.value - x.value) / (MANY - FEW);
        if (y.value > 0) break;
    }
    s = bench_positive(b, &y);
    if (s) return s;
    bench_figure(b, out, &y, 1e-6 * bench_light_hz(b));
    return ST_OK;
}

static Status each(Bench *b, const BenchLaunch *l, bool graph, Figure *out) {
    Sample us;
    Status s = back_to_back(b, l, graph, &us);
    if (!s) bench_figure(b, out, &us, 1e3);
    return s;
}

/* One empty kernel on a busy device, less nothing.  */
static Status floor_of_kernel(Bench *b, const BenchLaunch *wave, Figure *out) {
    Sample us = {0}, nothing;
    for (int i = 0; i < ATTEMPTS && us.value <= 0; i++) {
        Status s = bench_repeat(b, wave, 0, true, &nothing);
        if (!s) s = bench_repeat(b, wave, 1, true, &us);
        if (s) return s;
        us.value -= nothing.value;
    }
    Status s = bench_positive(b, &us);
    if (!s) bench_figure(b, out, &us, 1e3);
    return s;
}

Status bench_launch(Bench *b, Device *dev) {
    DeviceOverheads *o = &dev->overheads;
    CudaKernel k;
    Status s = bench_kernel(b, source, "empty", NULL, &k);
    if (s) return s;
    BenchLaunch one = launch(&k, 1, 32), wave = launch(&k, bench_sms(b), 32);
    if (bench_try(b, "launch_stream")) s = bench_tried(b, each(b, &one, false, &o->launch_stream));
    if (!s && bench_try(b, "launch_graph"))
        s = bench_tried(b, each(b, &one, true, &o->launch_graph));
    if (!s && bench_try(b, "block_start"))
        s = bench_tried(b, start_of_block(b, &wave, &o->block_start));
    if (!s && bench_try(b, "kernel_floor"))
        s = bench_tried(b, floor_of_kernel(b, &wave, &o->kernel_floor));
    return s;
}
