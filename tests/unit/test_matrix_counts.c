/* links: microperf */
/* The counts of programs of matrix units against an enumeration of every request of every
 * warp, made from the mapping that rprog.h states and nothing else.  */
#include "microperf/microperf.h"
#include "plan_fixture.h"
#include "wavefronts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const Problem *p;
    const Device *dev;
    const RProg *r;
    int elem[2];
    int u, v, k;              /* the unit's shape */
} Run;

static int along(const RTile *outer, const RTile *inner, int axis) {
    return outer->extent[axis] / inner->extent[axis];
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

typedef struct {
    int64_t instructions, wavefronts;
} Reads;

/* Matrices of 8 rows of 16 bytes: `own` rows and `depth` bytes of k from (mn, k) on.  */
static void read_matrices(const Run *x, int side, int mn, int k, int own, Reads *out) {
    bool k_inner = x->r->load[side].layout.inner == AX_K;
    int per = 16 / x->elem[side], n = 0;
    for (int block = 0; block < own; block += 8) {
        for (int chunk = 0; chunk < x->k; chunk += per) {
            int32_t addr[32] = {0};
            for (int row = 0; row < 8; row++) {
                addr[row] = k_inner ? shared_at(x, side, mn + block + row, k + chunk)
                                    : shared_at(x, side, mn + block, k + chunk + row);
            }
            out->wavefronts += slow_wavefronts(addr, 0xff, 16);
            n++;
        }
    }
    for (int part = 4; n > 0; n -= part) {
        while (part > n) part /= 2;
        out->instructions++;
    }
}

/* One register of every lane at a time.  */
static void read_elements(const Run *x, int side, int mn, int k, int own, Reads *out) {
    bool is_u = (side == 0) != x->r->swapped;
    int tile = is_u ? x->u : x->v, halves = tile / 8;
    for (int i = 0; i < own; i += tile) {
        for (int q = 0; q < halves * x->k / 4; q++) {
            int32_t addr[32];
            for (int lane = 0; lane < 32; lane++) {
                addr[lane] = shared_at(x, side, mn + i + lane / 4 + 8 * (q % halves),
                                       k + lane % 4 + 4 * (q / halves));
            }
            out->wavefronts += slow_wavefronts(addr, UINT32_MAX, x->elem[side]);
            out->instructions++;
        }
    }
}

/* Beside bytes: of each block of eight rows a lane reads four k of one row.  */
static void read_fours(const Run *x, int side, int mn, int k, int own, Reads *out) {
    for (int block = 0; block < own; block += 8) {
        int32_t addr[32];
        for (int lane = 0; lane < 32; lane++)
            addr[lane] = shared_at(x, side, mn + block + lane / 4, k + lane % 4 * 4);
        out->wavefronts += slow_wavefronts(addr, UINT32_MAX, 4 * x->elem[side]);
        out->instructions++;
    }
}

/* Fragments of all warps in one step.  */
static Reads block_reads(const Run *x) {
    const RProg *r = x->r;
    Reads total = {0, 0};
    int warps_n = along(&r->block, &r->warp, AX_N), warps_m = along(&r->block, &r->warp, AX_M);
    for (int w = 0; w < r->threads / 32; w++) {
        int at[2] = {w / warps_n % warps_m * r->warp.extent[AX_M],
                     w % warps_n * r->warp.extent[AX_N]};
        int k0 = w / warps_n / warps_m * r->warp.extent[AX_K];
        for (int side = 0; side < 2; side++) {
            int own = r->warp.extent[side ? AX_N : AX_M];
            bool two = x->elem[side] == 2, k_inner = r->load[side].layout.inner == AX_K;
            for (int k = k0; k < k0 + r->warp.extent[AX_K]; k += x->k) {
                if (r->load[!side].bytes && !r->load[side].bytes) {
                    read_fours(x, side, at[side], k, own, &total);
                } else if (x->elem[side] <= 4 && (k_inner || two)) {
                    read_matrices(x, side, at[side], k, own, &total);
                } else {
                    read_elements(x, side, at[side], k, own, &total);
                }
            }
        }
    }
    return total;
}

typedef struct {
    int64_t sectors, writes, reads;
} Stores;

/* The byte where an output, or a partial sum, lies.  */
static int64_t place(const Run *x, int64_t b, int64_t m, int64_t n, int bytes) {
    int64_t step = x->r->split > 1 ? 1 : x->p->out_step;
    return ((b * x->p->extent[AX_M] + m) * x->p->extent[AX_N] + n) * step * bytes;
}

/* A tile of the warp at (m, n): lanes store what they hold.  */
static void store_tile(const Run *x, int64_t b, int64_t m, int64_t n, int bytes, Stores *out) {
    const RProg *r = x->r;
    for (int half = 0; half < x->u / 8; half++) {
        for (int c = 0; c < 2; c += r->store_vec) {
            int64_t addr[32];
            for (int lane = 0; lane < 32; lane++) {
                int u = lane / 4 + 8 * half, v = lane % 4 * 2 + c;
                int64_t row = m + (r->swapped ? v : u), column = n + (r->swapped ? u : v);
                addr[lane] = place(x, b, row, column, bytes);
            }
            out->sectors += slow_sectors(addr, UINT32_MAX, r->store_vec * bytes);
        }
    }
}

/* Rows of tiles through the warp's piece.  */
static void store_piece(const Run *x, int64_t b, int64_t m, int64_t n, int bytes, Stores *out) {
    const RProg *r = x->r;
    int acc = x->p->acc_bytes, columns = r->warp.extent[AX_N];
    const RStaging s = rprog_staging(x->p, x->dev, r);
    int row = s.row, half = s.half, apart = half ? half * acc : 16;
    int32_t addr[32];
    for (int j = 0; j < columns; j += r->thread.extent[AX_N]) {
        for (int eight = 0; eight < x->u / 8; eight++) {
            for (int c = 0; c < (r->swapped ? 2 : 1); c++) {
                for (int lane = 0; lane < 32; lane++) {
                    int u = lane / 4 + 8 * eight, v = lane % 4 * 2 + c;
                    int at = j + v;       /* of eight columns four lie in each half of the row */
                    if (half) at = at / 8 * 4 + at % 4 + (at % 8 < 4 ? 0 : half);
                    int down = u * row + u / 2 * s.pair;
                    addr[lane] = (r->swapped ? v * row + j + u : down + at) * acc;
                }
                out->writes += slow_wavefronts(addr, UINT32_MAX, r->swapped ? acc : 2 * acc);
            }
        }
    }
    int line = columns / r->store_vec, vectors = line * r->thread.extent[AX_M];
    int width = r->store_vec * acc, part = width < 16 ? width : 16;
    for (int first = 0; first < vectors; first += 32) {
        int64_t global[32] = {0};
        uint32_t active = 0;
        for (int at = 0; at < width; at += part) {
            for (int lane = 0; lane < 32 && first + lane < vectors; lane++) {
                int id = first + lane, i = id / line, j = id % line * r->store_vec;
                active |= 1u << lane;
                addr[lane] = (i * row + i / 2 * s.pair + (half ? j / 2 : j)) * acc +
                             at / part * apart;
                global[lane] = place(x, b, m + i, n + j, bytes);
            }
            out->reads += slow_wavefronts(addr, active, part);
        }
        out->sectors += slow_sectors(global, active, r->store_vec * bytes);
    }
}

static Stores all_stores(const Run *x, int bytes) {
    const Problem *p = x->p;
    const RProg *r = x->r;
    Stores out = {0, 0, 0};
    for (int64_t b = 0; b < p->extent[AX_B]; b++) {
        for (int64_t m = 0; m < p->extent[AX_M]; m += r->thread.extent[AX_M]) {
            int step = r->via == VIA_SHARED ? r->warp.extent[AX_N] : r->thread.extent[AX_N];
            for (int64_t n = 0; n < p->extent[AX_N]; n += step) {
                if (r->via == VIA_SHARED) store_piece(x, b, m, n, bytes, &out);
                else store_tile(x, b, m, n, bytes, &out);
            }
        }
    }
    return out;
}

static void compare(const Run *x) {
    const RProg *r = x->r;
    const Problem *p = x->p;
    Estimate e;
    if (r->tail > 0) return;              /* test_tail.c compares them with the simulator */
    mp_estimate(p, r, x->dev, &e);
    Reads step = block_reads(x);
    int64_t blocks = rprog_blocks(p, r), steps = p->extent[AX_K] / r->block.extent[AX_K];
    int64_t slices = along(&r->warp, &r->thread, AX_K), warps_k = along(&r->block, &r->warp, AX_K);
    int64_t reads = step.wavefronts * steps * blocks, writes = 0;
    /* The last step of each part fetches the first slice of its stage once more.  */
    if (rprog_fetched_ahead(x->dev, r, 0)) reads += step.wavefronts / slices * blocks * r->split;
    for (int side = 0; side < 2; side++) {
        writes += rprog_store_wavefronts(p, x->dev, r, side) * steps * blocks;
    }
    int64_t per_warp = r->warp.extent[AX_M] * r->warp.extent[AX_N] / 32;
    int64_t sums = (warps_k - 1) * (r->threads / 32 / warps_k) * per_warp * (p->acc_bytes / 4) *
                   blocks * r->split;
    if (r->via == VIA_SHARED) sums = 0;   /* each warp has a piece of its own */
    double outputs = (double)(p->extent[AX_B] * p->extent[AX_M] * p->extent[AX_N]);
    int bytes = r->split > 1 ? p->acc_bytes : (int)((double)p->out_bytes / outputs);
    Stores stores = all_stores(x, bytes);
    int64_t pieces = r->via == VIA_SHARED ? warps_k * r->split : 0;
    assert_int_equal(e.smem_load_wavefronts, reads + sums + stores.reads * pieces);
    assert_int_equal(e.smem_store_wavefronts, writes + sums + stores.writes * pieces);
    assert_int_equal(e.store_sectors, stores.sectors * r->split);
    int64_t tiles = (int64_t)along(&r->warp, &r->thread, AX_M) *
                    along(&r->warp, &r->thread, AX_N) * slices;
    int products = p->fp32x3 ? 3 : 1;
    assert_int_equal(e.fma, tiles * products * (r->threads / 32) * steps * blocks);
    int64_t instructions = 0;
    for (int side = 0; side < 2; side++) instructions += rprog_fragment_reads(p, x->dev, r, side);
    assert_int_equal(instructions * (r->threads / 32), step.instructions);
}

static bool is_aligned(const Problem *p, const RProg *r) {
    for (int axis = AX_M; axis <= AX_K; axis++) {
        if (p->extent[axis] % r->block.extent[axis]) return false;
    }
    return true;
}

static bool keeps_bytes(const RProg *r) { return r->load[0].bytes || r->load[1].bytes; }

/* Every `stride`-th program of matrix units, or of those that convert bytes in the fragments.  */
static int compare_some(Arena *a, const char *device, const Problem *p, int stride, bool bytes) {
    Device *dev = fixture_device(a, device);
    Diag d = diag_new(a);
    RProgSet set;
    int seen = 0, compared = 0;
    assert_int_equal(rprog_candidates(a, &d, p, dev, NULL, &set), ST_OK);
    for (int i = 0; i < set.n; i++) {
        const RProg *r = &set.prog[i];
        if (!rprog_matrix(dev, r) || !is_aligned(p, r) || bytes > keeps_bytes(r)) continue;
        if (seen++ % stride) continue;
        const ComputeUnit *unit = &dev->unit[r->unit];
        Run x = {.p = p, .dev = dev, .r = r, .u = unit->m.from, .v = unit->n.from,
                 .k = unit->k.from};
        for (int side = 0; side < 2; side++) x.elem[side] = rprog_elem(p, dev, r, side);
        compare(&x);
        compared++;
    }
    return compared;
}

static void all(Arena *a) {
    static const struct {
        const char *device;
        int64_t b, m, n, k;
        bool ta, tb;
        TeDtype type;
        int stride;
        bool tf32, fp32x3;
        int step;             /* > 1: between neighbours in the output */
    } rows[] = {
        {"a100", 1, 128, 128, 128, false, false, TE_F16, 97, false, false, 1},
        {"a100", 1, 128, 128, 128, true, true, TE_F16, 97, false, false, 1},
        {"h200", 2, 96, 160, 64, false, true, TE_BF16, 61, false, false, 1},
        {"rtx4090", 1, 80, 144, 96, true, false, TE_BF16, 61, false, false, 1},
        {"a100", 1, 128, 128, 128, false, true, TE_I8, 61, false, false, 1},
        {"a100", 1, 128, 64, 128, true, false, TE_I8, 61, false, false, 1},
        {"h200", 1, 64, 128, 128, false, true, TE_F8E4M3, 41, false, false, 1},
        {"a100", 1, 64, 128, 64, false, false, TE_F32, 61, true, false, 1},
        {"a100", 1, 64, 128, 64, true, true, TE_F32, 61, false, true, 1},
        {"a100", 1, 64, 64, 64, false, false, TE_F64, 41, false, false, 1},
        {"h200", 1, 8, 256, 512, false, true, TE_F16, 61, false, false, 1},
        {"h200", 1, 16, 256, 512, false, true, TE_BF16, 61, false, false, 1},
        {"a100", 1, 24, 128, 256, false, false, TE_F16, 31, false, false, 1},
        {"a100", 1, 64, 96, 256, false, true, TE_F8E4M3, 31, false, false, 1},
        {"a100", 1, 8, 128, 512, false, true, TE_F8E5M2, 31, false, false, 1},
        {"a100", 1, 64, 128, 64, false, false, TE_F32, 61, true, false, 2},
        {"h200", 1, 128, 96, 128, false, true, TE_BF16, 61, false, false, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Problem p = fixture_matmul(rows[i].b, rows[i].m, rows[i].n, rows[i].k, rows[i].ta,
                                   rows[i].tb, rows[i].type);
        ArenaMark mark = arena_mark(a);
        p.tf32 = rows[i].tf32;
        p.fp32x3 = rows[i].fp32x3;
        p.out_step = rows[i].step;
        if (rows[i].step > 1) p.out_vec = 1;
        bool bytes = te_dtype_bytes(rows[i].type) == 1 && strcmp(rows[i].device, "a100") == 0 &&
                     te_dtype_class(rows[i].type) == TE_CLASS_REAL;
        int n = compare_some(a, rows[i].device, &p, rows[i].stride, bytes);
        if (n < 5) fail_msg("row %d: %d programs compared", (int)i, n);
        arena_reset(a, mark);
    }
}

/* Weights of bytes beside 16-bit elements, on either side; no read meets a bank twice.  */
static void mixed(Arena *a) {
    static const struct {
        const char *device;
        int64_t m, n, k;
        TeDtype wide, narrow;
        int side;
    } rows[] = {
        {"h200", 16, 256, 512, TE_BF16, TE_I8, 1},
        {"a100", 8, 256, 256, TE_F16, TE_F8E4M3, 1},
        {"rtx4090", 48, 64, 256, TE_F16, TE_U8, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ArenaMark mark = arena_mark(a);
        Problem p = fixture_matmul(1, rows[i].m, rows[i].n, rows[i].k, false, true, rows[i].wide);
        Problem bytes = fixture_matmul(1, rows[i].m, rows[i].n, rows[i].k, false, true,
                                       rows[i].narrow);
        int side = rows[i].side;
        p.op[side] = bytes.op[side];
        if (side) p.con.operand[1] = bytes.con.operand[1];
        else p.con.operand[0] = bytes.con.operand[0];
        int n = compare_some(a, rows[i].device, &p, 31, true);
        if (n < 5) fail_msg("row %d: %d programs compared", (int)i, n);
        const Device *dev = fixture_device(a, rows[i].device);
        RProgSet set;
        Diag d = diag_new(a);
        assert_int_equal(rprog_candidates(a, &d, &p, dev, NULL, &set), ST_OK);
        for (int j = 0; j < set.n; j++) {
            const RProg *r = &set.prog[j];
            if (!keeps_bytes(r)) continue;
            assert_int_equal(rprog_fragment_wavefronts(&p, dev, r, side), 1);
            assert_int_equal(rprog_fragment_wavefronts(&p, dev, r, !side), 2);
        }
        arena_reset(a, mark);
    }
}

static void run_all(void *user) {
    all(user);
    mixed(user);
}

static void counts_equal_enumeration(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    assert_true(arena_try(a, run_all, a));
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_equal_enumeration)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
