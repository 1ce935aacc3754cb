/* Atomic additions of one SM: all lanes of a warp on one address, every lane on its own.  */
#include "profiler/bench.h"

/* f32, since sums of integers at one address are added up before they leave the SM.  */
static const char source[] =
    "extern \"C\" __global__ void __launch_bounds__(WARPS * 32)\n"
    "atomics(const float *in, float *out, int n) {\n"
    "    float *at = out + threadIdx.x / 32 * 32 * SAME + threadIdx.x * (1 - SAME);\n"
    "    const float x = in[threadIdx.x];\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        #pragma unroll\n"
    "        for (int k = 0; k < STEPS; k++) {\n"
    "            asm volatile(\"red.global.add.f32 [%0], %1;\" :: \"l\"(at + k * 32 * WARPS),\n"
    "                         \"f\"(x) : \"memory\");\n"
    "        }\n"
    "    }\n"
    "}\n";

static Status measure(Bench *b, bool same, Figure *f) {
    enum { WARPS = 8, STEPS = 8, BYTES = WARPS * 32 * STEPS * 4, FEW = 1, MANY = 3 };
    Arena *a = bench_arena(b);
    int warps = bench_threads(b, 32 * WARPS) / 32;
    const char *macros[] = {arena_printf(a, "WARPS %d", warps), arena_printf(a, "STEPS %d", STEPS),
                            same ? "SAME 1" : "SAME 0", NULL};
    CudaAddress in, out;
    Sample us;
    int n;
    BenchLaunch l = {.launch = {.grid = {1, 1, 1}, .block = {32 * warps, 1, 1}},
                     .param = {&in, &out, &n}};
    Status s = bench_buffer(b, BYTES, &in);
    if (!s) s = bench_buffer(b, BYTES, &out);
    if (!s) s = bench_kernel(b, source, "atomics", macros, &l.kernel);
    if (!s) s = bench_slope(b, &l, &n, FEW, MANY, &us);
    f->unit = "clk";
    if (!s) bench_figure(b, f, &us, bench_light_hz(b) * 1e-6 / (warps * STEPS));
    return s;
}

Status bench_atomics(Bench *b, Device *dev) {
    DeviceOverheads *o = &dev->overheads;
    Status s = ST_OK;
    if (bench_try(b, "atomic_same")) s = bench_tried(b, measure(b, true, &o->atomic_same));
    if (!s && bench_try(b, "atomic_distinct"))
        s = bench_tried(b, measure(b, false, &o->atomic_distinct));
    return s;
}
