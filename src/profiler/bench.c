/* Surroundings of the rows.  */
#include "base/clock.h"
#include "profiler/harness.h"

enum { LIKELY_L2 = 64 << 20, LIKELY_KHZ = 1500000 };

Arena *bench_arena(Bench *b) { return b->row; }
Arena *bench_result(Bench *b) { return b->result; }
Diag *bench_diag(Bench *b) { return b->d; }
CudaContext *bench_context(Bench *b) { return b->x; }
bool bench_quick(const Bench *b) { return b->o->quick; }
const CudaDeviceInfo *bench_device(const Bench *b) { return b->info; }
bool bench_simulated(const Bench *b) { return b->simulated; }
int64_t bench_sms(const Bench *b) { return b->info->attribute[CUDA_ATTR_SM_COUNT]; }

int bench_threads(const Bench *b, int most) {
    int limit = b->info->attribute[CUDA_ATTR_THREADS_PER_BLOCK];
    return limit < most ? limit : most;
}

int64_t bench_l2_bytes(const Bench *b) {
    int bytes = b->info->attribute[CUDA_ATTR_L2_BYTES];
    return bytes > 0 ? bytes : LIKELY_L2;
}

double bench_hz(const Bench *b) { return b->hz; }
double bench_light_hz(const Bench *b) { return b->light_hz; }

void bench_clock_is(Bench *b, double hz) {
    if (hz > 0) b->hz = b->light_hz = hz;
}

Status bench_open(Bench *b) {
    b->info = cuda_context_device(b->x);
    b->simulated = cuda_simulated(cuda_context_driver(b->x));
    int khz = b->info->attribute[CUDA_ATTR_CLOCK_KHZ];
    bench_clock_is(b, (khz > 0 ? khz : LIKELY_KHZ) * 1e3);
    Status s = cuda_stream(b->x, b->work, b->d, &b->stream);
    if (!s) s = cuda_event(b->x, b->work, b->d, &b->begin);
    if (!s) s = cuda_event(b->x, b->work, b->d, &b->end);
    return s;
}

void bench_row_begins(Bench *b, const WatchStep *step, double row_s) {
    b->step = *step;
    b->row_s = row_s;
    b->row_begun_s = clock_now_s();
}

void bench_say(Bench *b, const char *figure) {
    WatchStep now = b->step;
    double left = b->row_begun_s + b->row_s - clock_now_s();
    if (figure) now.what = arena_printf(b->row, "%s: %s", b->step.what, figure);
    now.left_s += left > 0 ? left : 0;
    watch_tell(b->o->watch, &now);
}

Status bench_stopped(const Bench *b) {
    if (watch_ended(b->o->watch))
        return diag_error(b->d, ST_CANCELLED, NULL, DIAG_NOWHERE, "the measurement was cancelled");
    if (b->deadline_s > 0 && clock_now_s() > b->deadline_s)
        return diag_error(b->d, ST_CUDA, NULL, DIAG_NOWHERE, "the time for it was over");
    return ST_OK;
}

Status bench_resident(Bench *b, const CudaKernel *k, int threads, int64_t smem, int64_t *out) {
    int per_sm = 0;
    *out = 0;
    Status s = cuda_blocks_per_sm(k, b->d, threads, smem, &per_sm);
    if (s) return s;
    if (per_sm < 1)
        return diag_error(b->d, ST_CUDA, NULL, DIAG_NOWHERE,
                          "no block of %d threads and %lld bytes of shared memory fits on an SM",
                          threads, (long long)smem);
    *out = per_sm * bench_sms(b);
    return ST_OK;
}
