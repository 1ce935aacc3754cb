/* links: microperf */
/* The counts of the estimate against an enumeration of every request of every warp, made from the
 * mapping that rprog.h states and nothing else.  */
#include "microperf/microperf.h"
#include "plan_fixture.h"
#include "wavefronts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const Problem *p;
    const Device *dev;
    const RProg *r;
    int elem[2];
    bool ta, tb;
} Run;

/* Lane bits dealt alternately, bit 0 to n; the side that is full leaves the rest to the other.  */
static void lane_place(int lanes_m, int lanes_n, int lane, int *lm, int *ln) {
    *lm = *ln = 0;
    int have_m = 1, have_n = 1, turn_n = 1;
    for (int bit = 0; bit < 5; bit++) {
        bool give_n = have_n < lanes_n && (turn_n || have_m >= lanes_m);
        int one = lane >> bit & 1;
        if (give_n) {
            *ln += one * have_n;
            have_n *= 2;
            turn_n = 0;
        } else {
            *lm += one * have_m;
            have_m *= 2;
            turn_n = 1;
        }
    }
}

static int32_t shared_at(const Run *x, int side, int mn, int k) {
    const RLayout *l = &x->r->load[side].layout;
    bool k_inner = l->inner == AX_K;
    int row = k_inner ? mn : k, e = k_inner ? k : mn;
    int length = x->r->block.extent[k_inner ? AX_K : side ? AX_N : AX_M] + l->pad;
    int byte = e * x->elem[side], chunk = byte / 16;
    if (l->bits) chunk ^= (row >> l->shift & ((1 << l->bits) - 1)) << l->base;
    return row * length * x->elem[side] + chunk * 16 + byte % 16;
}

/* Wavefronts of all fragment reads of one block in one k-step.  */
static int64_t block_reads(const Run *x) {
    const RProg *r = x->r;
    int lanes[2] = {r->warp.extent[AX_M] / r->thread.extent[AX_M],
                    r->warp.extent[AX_N] / r->thread.extent[AX_N]};
    int warps_n = r->block.extent[AX_N] / r->warp.extent[AX_N];
    int warps_m = r->block.extent[AX_M] / r->warp.extent[AX_M];
    int64_t total = 0;
    for (int w = 0; w < r->threads / 32; w++) {
        int first[2] = {w / warps_n % warps_m * r->warp.extent[AX_M],
                        w % warps_n * r->warp.extent[AX_N]};
        int k0 = w / warps_n / warps_m * r->warp.extent[AX_K];
        for (int side = 0; side < 2; side++) {
            int vec = side ? r->vec_n : r->vec_m, tk = r->thread.extent[AX_K];
            bool k_inner = r->load[side].layout.inner == AX_K;
            int step_i = k_inner ? 1 : vec, step_k = k_inner ? tk : 1;
            for (int k = k0; k < k0 + r->warp.extent[AX_K]; k += step_k) {
                for (int i = 0; i < r->thread.extent[side ? AX_N : AX_M]; i += step_i) {
                    int32_t addr[32];
                    for (int lane = 0; lane < 32; lane++) {
                        int l[2];
                        lane_place(lanes[0], lanes[1], lane, &l[0], &l[1]);
                        int own = first[side] + i / vec * (lanes[side] * vec) + l[side] * vec +
                                  i % vec;
                        addr[lane] = shared_at(x, side, own, k);
                    }
                    int n = slow_wavefronts(addr, UINT32_MAX, (k_inner ? tk : vec) * x->elem[side]);
                    total += n;
                }
            }
        }
    }
    return total;
}

static int64_t global_at(const Run *x, int side, int64_t b, int64_t mn, int64_t k) {
    const Problem *p = x->p;
    int64_t own = p->extent[side ? AX_N : AX_M], depth = p->extent[AX_K];
    bool k_contiguous = side ? x->tb : !x->ta;
    int64_t at = k_contiguous ? mn * depth + k : k * own + mn;
    return (b * own * depth + at) * p->op[side].bytes;
}

/* Passes through L1: as many as different words of its fullest bank, of as many lanes at once as
 * fill 128 bytes.  */
static int64_t slow_passes(const int64_t addr[32], uint32_t active, int width) {
    int lanes = width > 4 ? 128 / width : 32;
    int64_t total = 0;
    for (int first = 0; first < 32 && active >> first; first += lanes) {
        int64_t word[128], most = 1;
        int n = 0, in_bank[32] = {0};
        for (int lane = first; lane < first + lanes; lane++) {
            int64_t last = (addr[lane] + width - 1) / 4;
            for (int64_t w = addr[lane] / 4; (active >> lane & 1) && w <= last; w++) {
                int known = 0;
                while (known < n && word[known] != w) known++;
                if (known < n) continue;
                word[n++] = w;
                if (++in_bank[w % 32] > most) most = in_bank[w % 32];
            }
        }
        total += most;
    }
    return total;
}

/* Clocks of a request on an A100 whose data lie in L1 (github.com/te42kyfo/gpu-benches,
 * gpu-strides/a100.txt): `columns` neighbours in rows 4098 elements apart, or one column of 64 that
 * are `stride` elements apart.  Left out are those that tags or translation limit.  */
static void passes_are_as_measured(void **state) {
    (void)state;
    static const struct {
        int bytes, columns, stride, clocks;
    } measured[] = {{4, 8, 0, 4},  {4, 16, 0, 2},   {4, 32, 0, 1}, {8, 4, 0, 4}, {8, 16, 0, 2},
                    {8, 32, 0, 2}, {4, 0, 1, 1},    {4, 0, 2, 2},  {4, 0, 4, 4}, {4, 0, 8, 8},
                    {4, 0, 12, 4}, {4, 0, 16, 16}};
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        int64_t addr[32];
        for (int lane = 0; lane < 32; lane++) {
            int columns = measured[i].columns, stride = measured[i].stride;
            addr[lane] = columns > 0 ? lane % columns + lane / columns * 4098 : lane * stride;
            addr[lane] *= measured[i].bytes;
        }
        assert_int_equal(slow_passes(addr, UINT32_MAX, measured[i].bytes), measured[i].clocks);
    }
}

typedef struct {
    int64_t wavefronts, sectors, passes;
} Loaded;

/* A chunk of each lane, in as many accesses as its mover takes: L1 has the sectors for all.  */
static void load_chunks(const Run *x, int side, const int64_t chunk[32], uint32_t active,
                        Loaded *out) {
    const RLoad *l = &x->r->load[side];
    int bytes = l->vec * x->p->op[side].bytes, access = x->dev->mover[l->mover].granule;
    if (access > bytes) access = bytes;
    out->sectors += slow_sectors(chunk, active, bytes);
    for (int at = 0; at < bytes; at += access) {
        int64_t addr[32];
        for (int lane = 0; lane < 32; lane++) addr[lane] = chunk[lane] + at;
        out->passes += slow_passes(addr, active, access);
    }
}

/* All requests that load one stage of an operand: tile at (mn0, k0) of batch b.  */
static Loaded load_stage(const Run *x, int side, int64_t b, int64_t mn0, int64_t k0) {
    const RProg *r = x->r;
    const RLoad *l = &r->load[side];
    Loaded out = {0, 0, 0};
    int own = r->block.extent[side ? AX_N : AX_M], depth = r->block.extent[AX_K];
    int line = (l->along == AX_K ? depth : own) / l->vec, chunks = own * depth / l->vec;
    int elem = x->elem[side], bytes = l->vec * elem;
    bool straight = l->along == l->layout.inner;
    int width = !straight ? elem : bytes < 16 ? bytes : 16;
    for (int first = 0; first < chunks; first += 32) {
        int64_t global[32] = {0};
        int32_t shared[32] = {0};
        uint32_t active = 0;
        for (int piece = -1; piece < bytes / width; piece++) {
            for (int lane = 0; lane < 32 && first + lane < chunks; lane++) {
                int id = first + lane, along = id % line * l->vec, across = id / line;
                int mn = l->along == AX_K ? across : along, k = l->along == AX_K ? along : across;
                int ahead = piece < 0 ? 0 : piece * width / elem;
                active |= 1u << lane;
                global[lane] = global_at(x, side, b, mn0 + mn, k0 + k);
                shared[lane] = l->along == AX_K ? shared_at(x, side, mn, k + ahead)
                                                : shared_at(x, side, mn + ahead, k);
            }
            if (piece < 0) load_chunks(x, side, global, active, &out);
            else out.wavefronts += slow_wavefronts(shared, active, width);
        }
    }
    return out;
}

static int64_t block_stores(const Run *x, int64_t b, int64_t m0, int64_t n0, int bytes) {
    const RProg *r = x->r;
    int lanes_m = r->warp.extent[AX_M] / r->thread.extent[AX_M];
    int lanes_n = r->warp.extent[AX_N] / r->thread.extent[AX_N];
    int64_t total = 0;
    for (int64_t wm = m0; wm < m0 + r->block.extent[AX_M]; wm += r->warp.extent[AX_M]) {
        for (int64_t wn = n0; wn < n0 + r->block.extent[AX_N]; wn += r->warp.extent[AX_N]) {
            for (int i = 0; i < r->thread.extent[AX_M]; i++) {
                for (int j = 0; j < r->thread.extent[AX_N]; j += r->store_vec) {
                    int64_t addr[32];
                    for (int lane = 0; lane < 32; lane++) {
                        int lm, ln;
                        lane_place(lanes_m, lanes_n, lane, &lm, &ln);
                        int64_t m = wm + i / r->vec_m * lanes_m * r->vec_m + lm * r->vec_m +
                                    i % r->vec_m;
                        int64_t n = wn + j / r->vec_n * lanes_n * r->vec_n + ln * r->vec_n +
                                    j % r->vec_n;
                        addr[lane] = ((b * x->p->extent[AX_M] + m) * x->p->extent[AX_N] + n) *
                                     bytes;
                    }
                    total += slow_sectors(addr, UINT32_MAX, r->store_vec * bytes);
                }
            }
        }
    }
    return total;
}

static void compare(const Run *x) {
    const RProg *r = x->r;
    const Problem *p = x->p;
    Estimate e;
    if (r->tail > 0) return;              /* test_tail.c compares them with the simulator */
    mp_estimate(p, r, x->dev, &e);
    int64_t loads = 0, passes = 0, stores = 0, writes = 0;
    int64_t steps = p->extent[AX_K] / r->block.extent[AX_K];
    int64_t blocks = rprog_blocks(p, r), reads = block_reads(x) * steps * blocks;
    int bytes = r->split > 1 ? p->acc_bytes : (int)(p->out_bytes / (p->extent[AX_B] *
                                                    p->extent[AX_M] * p->extent[AX_N]));
    for (int64_t b = 0; b < p->extent[AX_B]; b++) {
        for (int64_t m = 0; m < p->extent[AX_M]; m += r->block.extent[AX_M]) {
            for (int64_t n = 0; n < p->extent[AX_N]; n += r->block.extent[AX_N]) {
                stores += block_stores(x, b, m, n, bytes) * r->split;
                for (int64_t k = 0; k < p->extent[AX_K]; k += r->block.extent[AX_K]) {
                    for (int side = 0; side < 2; side++) {
                        Loaded l = load_stage(x, side, b, side ? n : m, k);
                        loads += l.sectors;
                        passes += l.passes;
                        writes += l.wavefronts;
                    }
                }
            }
        }
    }
    int slices = r->block.extent[AX_K] / r->warp.extent[AX_K];
    int64_t sums = (int64_t)(slices - 1) * (r->threads / 32 / slices) * r->thread.extent[AX_M] *
                   r->thread.extent[AX_N] * (p->acc_bytes / 4) * blocks * r->split;
    int packed = rprog_packed(x->dev, r) ? 4 : 1;
    assert_int_equal(e.load_sectors, loads);
    assert_int_equal(e.load_passes, passes);
    assert_int_equal(e.store_sectors, stores);
    assert_int_equal(e.smem_load_wavefronts, reads + sums);
    assert_int_equal(e.smem_store_wavefronts, writes + sums);
    bool real = te_dtype_class(p->con.acc) == TE_CLASS_REAL;
    int64_t adds = real ? sums / (p->acc_bytes / 4) : 0;
    assert_int_equal(e.fma, adds + blocks * steps * (r->threads / 32) * r->thread.extent[AX_M] *
                                       r->thread.extent[AX_N] * r->warp.extent[AX_K] / packed);
}

static bool aligned(const Problem *p, const RProg *r) {
    return p->extent[AX_M] % r->block.extent[AX_M] == 0 &&
           p->extent[AX_N] % r->block.extent[AX_N] == 0 &&
           p->extent[AX_K] % r->block.extent[AX_K] == 0;
}

/* The program with the same chunks in accesses of half the width: no plan of ours, but tiles of
 * libraries are read so.  */
static RProg narrowed(const Device *dev, const Problem *p, const RProg *r) {
    RProg half = *r;
    for (int side = 0; side < 2; side++) {
        char name[32];
        snprintf(name, sizeof name, "ldg_sts.%d", r->load[side].vec * p->op[side].bytes / 2);
        for (int i = 0; i < dev->n_mover; i++)
            if (strcmp(dev->mover[i].name, name) == 0) half.load[side].mover = (int16_t)i;
    }
    return half;
}

static void compare_some(Arena *a, const char *device, Run x, const Problem *p, int stride) {
    Device *dev = fixture_device(a, device);
    Diag d = diag_new(a);
    RProgSet set;
    const RPlanOptions scalar = {.workspace_limit = -1, .no_matrix = true};
    assert_int_equal(rprog_candidates(a, &d, p, dev, &scalar, &set), ST_OK);
    int compared = 0;
    for (int i = 0; i < set.n; i += stride) {
        const RProg *r = &set.prog[i];
        if (!aligned(p, r)) continue;
        x.p = p;
        x.dev = dev;
        x.r = r;
        for (int side = 0; side < 2; side++) x.elem[side] = rprog_elem(p, dev, r, side);
        compare(&x);
        if (compared++ % 4) continue;
        RProg half = narrowed(dev, p, r);
        x.r = &half;
        compare(&x);
    }
    assert_true(compared >= 5);
}

static void all(Arena *a) {
    static const struct {
        int64_t b, m, n, k;
        bool ta, tb;
        TeDtype type;
        int stride;
    } rows[] = {
        {1, 128, 128, 64, false, false, TE_F32, 397}, {1, 128, 128, 64, true, false, TE_F32, 397},
        {1, 128, 128, 64, false, true, TE_F32, 797}, {1, 128, 128, 64, true, true, TE_F32, 397},
        {2, 64, 96, 48, false, false, TE_F32, 307},   {1, 96, 160, 72, false, true, TE_F32, 307},
        {1, 64, 64, 64, false, true, TE_F16, 307},    {1, 64, 64, 64, false, false, TE_F64, 67},
        {1, 64, 64, 128, false, true, TE_I8, 397},    {1, 1, 256, 256, false, true, TE_F32, 31},
        {1, 8, 64, 512, false, false, TE_F32, 101},   {1, 256, 8, 32, false, false, TE_F32, 61},
    };
    static const char *const devices[] = {"h200", "v100"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Problem p = fixture_matmul(rows[i].b, rows[i].m, rows[i].n, rows[i].k, rows[i].ta,
                                   rows[i].tb, rows[i].type);
        Run x = {.ta = rows[i].ta, .tb = rows[i].tb};
        for (int d = 0; d < 2; d++) {
            ArenaMark mark = arena_mark(a);
            compare_some(a, devices[d], x, &p, rows[i].stride);
            arena_reset(a, mark);
        }
    }
}

typedef struct {
    Arena *arena;
} Guarded;

static void run_all(void *user) { all(((Guarded *)user)->arena); }

static void counts_equal_enumeration(void **state) {
    (void)state;
    Guarded g = {arena_create(NULL)};
    assert_true(arena_try(g.arena, run_all, &g));
    arena_destroy(g.arena);
}

static void counts_alone_as_shared(const Problem *p, const RProg *r, const Device *dev,
                                   CountMemo *memo) {
    Estimate shared, alone;
    mp_estimate_again(p, r, dev, memo, &shared);
    mp_estimate(p, r, dev, &alone);
    assert_true(shared.us == alone.us);
    assert_true(shared.load_sectors == alone.load_sectors);
    assert_true(shared.load_passes == alone.load_passes);
    assert_true(shared.smem_load_wavefronts == alone.smem_load_wavefronts);
    assert_true(shared.smem_store_wavefronts == alone.smem_store_wavefronts);
}

/* What programs, and sizes, have in common is counted once; each alone has the same time.  */
static void shared_counts_are_equal(void **state) {
    enum { EVERY = 41 };
    static const struct {
        const char *device;
        TeDtype type;
    } all[] = {{"h200", TE_BF16}, {"a100", TE_F16}, {"rtx4090", TE_F32}};
    (void)state;
    for (size_t c = 0; c < sizeof all / sizeof *all; c++) {
        Arena *a = arena_create(NULL);
        const Device *dev = fixture_device(a, all[c].device);
        Problem p = fixture_matmul(1, 1000, 2048, 1536, false, true, all[c].type), others[] = {
            fixture_matmul(1, 300, 2056, 1544, false, true, all[c].type),
            fixture_matmul(1, 96, 104, 40, false, true, all[c].type), p};
        Diag d = diag_new(a);
        RProgSet set;
        CountMemo *memo = mp_count_memo(a);
        assert_int_equal(rprog_candidates(a, &d, &p, dev, NULL, &set), ST_OK);
        assert_true(set.n > 10 * EVERY);
        for (int i = 0; i < set.n; i++) {
            Estimate e;
            if (i % EVERY) mp_estimate_again(&p, &set.prog[i], dev, memo, &e);
            else counts_alone_as_shared(&p, &set.prog[i], dev, memo);
        }
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            mp_count_resized(memo);
            for (int i = 0; i < set.n; i += EVERY)
                counts_alone_as_shared(&others[k], &set.prog[i], dev, memo);
        }
        arena_destroy(a);
    }
}

/* Operands that are read backwards take what they take forwards.  */
static void backwards(Arena *a) {
    const Device *dev = fixture_device(a, "h200");
    Problem p = fixture_matmul(1, 97, 161, 73, false, false, TE_F32), back = p;
    const RPlanOptions scalar = {.workspace_limit = -1, .no_matrix = true};
    Diag d = diag_new(a);
    RProgSet set;
    int compared = 0;
    back.op[0].stride_k = -p.op[0].stride_k;
    back.op[1].stride_mn = -p.op[1].stride_mn;
    assert_int_equal(rprog_candidates(a, &d, &p, dev, &scalar, &set), ST_OK);
    for (int i = 0; i < set.n; i++) {
        Estimate e, f;
        if (set.prog[i].load[0].vec > 1 || set.prog[i].load[1].vec > 1) continue;
        mp_estimate(&p, &set.prog[i], dev, &e);
        mp_estimate(&back, &set.prog[i], dev, &f);
        assert_int_equal(e.load_sectors, f.load_sectors);
        assert_int_equal(e.load_passes, f.load_passes);
        compared++;
    }
    assert_true(compared >= 5);
}

static void backwards_is_as_forwards(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    backwards(a);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(passes_are_as_measured),
                                       cmocka_unit_test(counts_equal_enumeration),
                                       cmocka_unit_test(shared_counts_are_equal),
                                       cmocka_unit_test(backwards_is_as_forwards)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
