/* DRAM: read, write and copy, and the read rate over what is in flight, over the SMs that read, and
 * over the size of a whole kernel.
 *
 * The rate is the slope over the bytes of a launch, all of which lie where none of the last
 * launches has been: a buffer larger than L2 of six beside each other.  Bytes in flight: one block
 * on each SM whose threads each wait for 1 to 4 vectors of 16 bytes.  Whole kernels: one pass over
 * a part of the buffer after another kernel has driven it out of L2, ramp and drain included, less
 * the floor of a kernel.  In the manner of te42kyfo/gpu-benches (gpu-stream, gpu-l2-cache) and
 * STREAM.  */
#include "profiler/stream.h"

enum { MOST_POINTS = 16 };

typedef struct {
    Bench *b;
    Device *dev;
    CudaAddress p, q;
    double bytes;             /* of a buffer */
    double x[MOST_POINTS];
    Sample y[MOST_POINTS];
    int n;
} Dram;

/* More than L2, many rounds of all blocks, and enough to be timed well; but no more than fits
 * beside what others hold of the memory, if that is still more than L2.  */
static double buffer_bytes(const Bench *b, const Device *dev, double available) {
    enum { TIMES_L2 = 2, ENOUGH_US = 100, ROUNDS = 8 };
    double fits = 0.8 * available / (2 * STREAM_UNITS);
    StreamShape full = stream_full(b);
    double l2 = TIMES_L2 * (double)bench_l2_bytes(b);
    double rounds = (double)(ROUNDS * full.blocks * full.threads * full.unroll * STREAM_VECTOR);
    double timed = ENOUGH_US * 1e-6 * dev->memory[LEVEL_DRAM].read.value;
    double least = l2 > rounds ? l2 : rounds;
    double wanted = bench_simulated(b) || least > timed ? least : timed;
    return wanted > fits && fits >= l2 ? fits : wanted;
}

static Status rate(Dram *m, StreamKind kind, StreamShape shape, Sample *out) {
    Stream s;
    Status st = stream_open(m->b, kind, (StreamMemory){m->p, m->q, m->bytes}, &shape, &s);
    return st ? st : stream_rate(m->b, &s, out);
}

static void put_curve(Dram *m, const char *x) {
    for (int i = 0; i < m->n; i++) m->y[i] = sample_times(&m->y[i], 1e6);
    bench_level_curve(m->b, &m->dev->memory[LEVEL_DRAM], LEVEL_DRAM, "read", x,
                      &(BenchPoints){m->x, m->y, m->n});
    m->n = 0;
}

/* Read, write or copy with as much in flight as helps.  */
static Status peak(Dram *m, StreamKind kind, Figure *f) {
    Sample bytes;
    Status s = rate(m, kind, stream_full(m->b), &bytes);
    if (!s) bench_figure(m->b, f, &bytes, 1e6);
    return s;
}

static Status peaks(Dram *m) {
    MemoryLevel *dram = &m->dev->memory[LEVEL_DRAM];
    Bench *b = m->b;
    Status s = ST_OK;
    if (bench_try(b, "dram.read")) s = bench_tried(b, peak(m, STREAM_READ, &dram->read));
    if (!s && bench_try(b, "dram.write")) s = bench_tried(b, peak(m, STREAM_WRITE, &dram->write));
    if (!s && bench_try(b, "dram.copy")) s = bench_tried(b, peak(m, STREAM_COPY, &dram->copy));
    return s;
}

static Status in_flight(Dram *m) {
    double least = bench_quick(m->b) ? 2048 : 512;
    for (double bytes = least; bytes <= 65536; bytes *= bench_quick(m->b) ? 4 : 2) {
        StreamShape shape = stream_shape(m->b, bytes);
        double actual = (double)shape.threads * shape.unroll * STREAM_VECTOR;
        if (m->n && actual <= m->x[m->n - 1]) break;
        m->x[m->n] = actual;
        Status s = rate(m, STREAM_READ, shape, &m->y[m->n++]);
        if (s) return s;
    }
    put_curve(m, "bytes_in_flight_per_sm");
    return ST_OK;
}

static Status active_sms(Dram *m) {
    MemoryLevel *dram = &m->dev->memory[LEVEL_DRAM];
    int64_t all = bench_sms(m->b);
    for (int64_t sms = 1; m->n < MOST_POINTS; sms *= bench_quick(m->b) ? 4 : 2) {
        if (sms > all) sms = all;
        StreamShape shape = stream_shape(m->b, 65536);
        shape.blocks = sms;
        m->x[m->n] = (double)sms;
        Status s = rate(m, STREAM_READ, shape, &m->y[m->n++]);
        if (s) return s;
        if (sms == all) break;
    }
    bench_figure(m->b, &dram->per_sm_max, &m->y[0], 1e6 / bench_light_hz(m->b));
    if (m->n >= 2) put_curve(m, "active_sms");
    m->n = 0;
    return ST_OK;
}

/* One kernel that reads `bytes` which are not in L2.  */
static Status whole_kernel(Dram *m, const Stream *flush, double floor_us, double bytes, Sample *out,
                           double *x) {
    StreamShape shape = stream_full(m->b);
    const MemoryLevel *level = &m->dev->memory[LEVEL_DRAM];
    double dram = level->read.value, access_us = level->latency.value / bench_hz(m->b) * 1e6;
    Stream s;
    Sample us;
    shape.unroll = 2;
    shape.uneven = true;
    Status st = stream_open(m->b, STREAM_READ, (StreamMemory){m->p, 0, bytes}, &shape, &s);
    if (!st) st = bench_after(m->b, &flush->l, 1, &s.l, &us);
    if (st) return st;
    /* No kernel is faster than the memory, nor than one access: what the floor takes away is not
     * known better.  */
    us.value -= floor_us;
    if (us.value * 1e-6 * dram < s.bytes) us.value = s.bytes / dram * 1e6;
    if (us.value < access_us) us.value = access_us;
    *out = sample_over(s.bytes, &us);
    *x = s.bytes;
    return ST_OK;
}

static Status total_bytes(Dram *m) {
    StreamShape full = stream_full(m->b);
    Stream flush;
    Sample nothing;
    Status s =
        stream_open(m->b, STREAM_READ, (StreamMemory){m->q, 0, 2 * (double)bench_l2_bytes(m->b)},
                    &full, &flush);
    if (!s) s = bench_repeat(m->b, &flush.l, 0, true, &nothing);
    if (s) return s;
    double floor_us = nothing.value + m->dev->overheads.kernel_floor.value * 1e-3;
    for (double bytes = 16384; bytes <= STREAM_UNITS / 2 * m->bytes && m->n < MOST_POINTS;
         bytes *= bench_quick(m->b) ? 16 : 4) {
        s = whole_kernel(m, &flush, floor_us, bytes, &m->y[m->n], &m->x[m->n]);
        if (s) return s;
        if (!m->n || m->x[m->n] > m->x[m->n - 1]) m->n++;
    }
    if (m->n >= 2) put_curve(m, "total_bytes");
    m->n = 0;
    return ST_OK;
}

Status bench_dram(Bench *b, Device *dev) {
    static const struct {
        const char *name;
        Status (*measure)(Dram *m);
    } curve[] = {{"dram.read over bytes_in_flight_per_sm", in_flight},
                 {"dram.read over active_sms", active_sms},
                 {"dram.read over total_bytes", total_bytes}};
    Dram m = {.b = b, .dev = dev};
    size_t available;
    Status s = cuda_memory_free(bench_context(b), bench_diag(b), &available);
    if (!s) m.bytes = buffer_bytes(b, dev, (double)available);
    if (!s) s = stream_compile(b);
    if (!s) s = bench_buffer(b, (size_t)(STREAM_UNITS * m.bytes), &m.p);
    if (!s) s = bench_buffer(b, (size_t)(STREAM_UNITS * m.bytes), &m.q);
    if (!s) s = peaks(&m);
    for (size_t i = 0; i < sizeof curve / sizeof *curve && !s; i++) {
        m.n = 0;
        if (bench_try(b, curve[i].name)) s = bench_tried(b, curve[i].measure(&m));
    }
    return s;
}
