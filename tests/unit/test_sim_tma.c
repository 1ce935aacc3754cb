/* links: sim */
/* Tensor maps and the copies that use them: tiles of every rank, columns of im2col, swizzles,
 * what lies out of bounds, stores and reductions, and the rules of each.  */
#include "ptxrun.h"
#include "sim/async/tensormap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { TENSOR = 1 << 16, TILE = 16384, SEEDS = 4 };

static unsigned char tensor[TENSOR];

static const int element_bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

/* A dense map over the test's tensor: strides padded to 16 bytes.  */
static TensorMap dense(TmType type, int rank, const uint32_t *dim, const uint32_t *box,
                          int swizzle) {
    TensorMap m = {.type = type, .rank = rank, .address = 4096, .swizzle = swizzle};
    uint64_t stride = (uint64_t)element_bytes[type];
    for (int i = 0; i < rank; i++) {
        m.dim[i] = dim[i];
        if (box) m.box[i] = box[i];
        m.element_stride[i] = 1;
        stride = (stride * dim[i] + 15) / 16 * 16;
        if (i + 1 < rank) m.stride[i] = stride;
    }
    return m;
}

/* ---- Encoding ---- */
static void maps_round_trip(void **state) {
    (void)state;
    Rng r = {5};
    for (int k = 0; k < 500; k++) {
        TensorMap m = {.im2col = k % 2, .type = (TmType)rng_below(&r, TM_TYPE_COUNT)},
                     back;
        m.rank = m.im2col ? 3 + (int)rng_below(&r, 3) : 1 + (int)rng_below(&r, 5);
        m.address = (1 + rng_next(&r) % ((uint64_t)1 << 50)) * 16;
        for (int i = 0; i < m.rank; i++) {
            m.dim[i] = 1 + rng_next(&r) % ((uint64_t)1 << 32);
            if (i + 1 < m.rank) m.stride[i] = 16 * (1 + rng_next(&r) % ((uint64_t)1 << 35));
            m.element_stride[i] = 1 + rng_below(&r, 8);
            if (!m.im2col) m.box[i] = i ? 1 + rng_below(&r, 256) : 16;
        }
        m.channels = m.im2col ? 16 : 0;
        m.pixels = m.im2col ? 1 + rng_below(&r, 1024) : 0;
        for (int i = 0; m.im2col && i < m.rank - 2; i++) {
            m.lower[i] = -(int)rng_below(&r, 17);
            m.upper[i] = (int)rng_below(&r, 16);
        }
        m.swizzle = element_bytes[m.type] * 16 <= 128 ? 3 : 0;
        m.promotion = (int)rng_below(&r, 4);
        unsigned char bytes[TM_BYTES];
        assert_null(sim_tensormap_encode(&m, bytes));
        assert_true(sim_tensormap_decode(bytes, &back));
        assert_memory_equal(&m, &back, sizeof m);
        bytes[rng_below(&r, TM_BYTES)] ^= 1;
        assert_false(sim_tensormap_decode(bytes, &back));
    }
}

static void maps_are_validated(void **state) {
    (void)state;
    unsigned char bytes[TM_BYTES];
    const TensorMap good = dense(TM_F16, 2, (uint32_t[]){128, 64}, (uint32_t[]){64, 8}, 3);
    TensorMap good_column = dense(TM_F16, 4, (uint32_t[]){64, 8, 8, 2}, NULL, 3);
    good_column.im2col = true;
    good_column.channels = good_column.pixels = 64;
    assert_null(sim_tensormap_encode(&good, bytes));
    assert_null(sim_tensormap_encode(&good_column, bytes));
#define BAD(base, change)                                                                          \
    do {                                                                                           \
        TensorMap m = base;                                                                     \
        change;                                                                                    \
        assert_non_null(sim_tensormap_encode(&m, bytes));                                          \
    } while (0)
    BAD(good, m.rank = 0);
    BAD(good, m.rank = 6);
    BAD(good, m.type = TM_TYPE_COUNT);
    BAD(good, m.address += 8);
    BAD(good, m.address = 0);
    BAD(good, m.dim[1] = 0);
    BAD(good, m.dim[0] = ((uint64_t)1 << 32) + 1);
    BAD(good, m.stride[0] += 8);
    BAD(good, m.stride[0] = (uint64_t)1 << 40);
    BAD(good, m.box[1] = 0);
    BAD(good, m.box[1] = 257);
    BAD(good, m.box[0] = 65);
    BAD(good, m.box[0] = 4);
    BAD(good, m.box[0] = 72);
    BAD(good, m.swizzle = 2);
    BAD(good, m.swizzle = 5);
    BAD(good, m.element_stride[1] = 0);
    BAD(good, m.element_stride[1] = 9);
    BAD(good, m.interleave = 1);
    BAD(good, (m.type = TM_U16, m.fill = 1));
    BAD(good, m.promotion = 4);
    BAD(good_column, m.rank = 2);
    BAD(good_column, m.lower[0] = -129);
    BAD(good_column, m.upper[1] = 128);
    BAD(good_column, m.channels = 257);
    BAD(good_column, m.channels = 72);
    BAD(good_column, m.pixels = 1025);
    BAD(good_column, m.pixels = 0);
#undef BAD
}

/* ---- Running ---- */
/* p0 map, p1 coordinates (5 of 32 bits) and offsets (3 of 16 bits, from byte 20), p2 tile, p3
 * bytes. The tile is at 1024 in shared memory, the mbarrier at 0. Body: after the setup.  */
static const char *text(PtxRun *r, int rank, const char *body) {
    Buf b = buf_new(r->arena);
    buf_puts(&b, "mov.u32 %r0, smem;\nadd.u32 %r3, %r0, 1024;\nsetp.eq.u32 %p5, %t, 0;\n"
                 "cvt.u32.u64 %r4, %a3;\n@%p5 mbarrier.init.shared.b64 [%r0], 1;\n"
                 "@%p5 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n");
    for (int i = 0; i < rank; i++)
        buf_printf(&b, "ld.global.b32 %%r%d, [%%a1+%d];\n", 20 + i, 4 * i);
    for (int i = 0; i < 3; i++) buf_printf(&b, "ld.global.b16 %%h%d, [%%a1+%d];\n", i, 20 + 2 * i);
    buf_puts(&b, body);
    return run_kernel(r->arena, 4, buf_str(&b));
}

static const char *coordinate_list(Arena *a, int rank) {
    Buf b = buf_new(a);
    for (int i = 0; i < rank; i++) buf_printf(&b, "%s%%r%d", i ? ", " : "{", 20 + i);
    buf_puts(&b, "}");
    return buf_str(&b);
}

#define EXPECT "@%p5 mbarrier.arrive.expect_tx.shared.b64 %l5, [%r0], %r4;\n"
#define SPIN "W:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r0], 0;\n@!%p1 bra W;\n"
#define EACH_16(body)                                                                              \
    "shl.b32 %r5, %t, 4;\nD:\nsetp.ge.u32 %p2, %r5, %r4;\n@%p2 bra E;\nadd.u32 %r6, %r3, %r5;\n"  \
    "cvt.u64.u32 %l0, %r5;\nadd.u64 %l1, %a2, %l0;\n" body "add.u32 %r5, %r5, 512;\nbra D;\nE:\n"
#define DUMP EACH_16("ld.shared.v2.b64 {%l2,%l3}, [%r6];\nst.global.v2.b64 [%l1], {%l2,%l3};\n")
#define FILL EACH_16("ld.global.v2.b64 {%l2,%l3}, [%l1];\nst.shared.v2.b64 [%r6], {%l2,%l3};\n")
#define BULK_END "@%p5 cp.async.bulk.commit_group;\n@%p5 cp.async.bulk.wait_group 0;\n"

static const char *load_body(Arena *a, int rank, bool im2col) {
    Buf b = buf_new(a);
    buf_printf(&b, "%s@%%p5 cp.async.bulk.tensor.%dd.shared::cluster.global.%s"
                   ".mbarrier::complete_tx::bytes [%%r3], [%%a0, %s], [%%r0]", EXPECT, rank,
               im2col ? "im2col" : "tile", coordinate_list(a, rank));
    for (int i = 0; im2col && i < rank - 2; i++) buf_printf(&b, "%s%%h%d", i ? ", " : ", {", i);
    buf_puts(&b, im2col ? "};\n" : ";\n");
    buf_puts(&b, SPIN DUMP);
    return buf_str(&b);
}

typedef struct {
    int32_t coord[5];
    uint16_t offset[6];
} Where;

static uint32_t tile_size(const TensorMap *m) {
    return sim_tensormap_rows(m) * sim_tensormap_row_bytes(m);
}

/* Encodes the map, with the tensor as its memory, and sets the arguments up. Returns the tensor
 * on the device.  */
static unsigned char *start(PtxRun *r, TensorMap *m, const Where *where, const void *tile,
                            uint64_t seed) {
    unsigned char bytes[TM_BYTES];
    uint64_t at;
    run_open(r);
    r->options.seed = seed;
    r->launch.dynamic_smem = 1024 + TILE;
    assert_int_equal(sim_malloc(r->gpu, &r->diag, TENSOR, &at), ST_OK);
    assert_int_equal(sim_write(r->gpu, &r->diag, at, tensor, TENSOR), ST_OK);
    m->address = at;
    const char *why = sim_tensormap_encode(m, bytes);
    if (why) fail_msg("map refused: %s", why);
    run_memory(r, bytes, sizeof bytes);
    run_memory(r, where, sizeof *where);
    run_memory(r, tile, TILE);
    run_number(r, tile_size(m));
    return sim_host(r->gpu, at, TENSOR);
}

static void make_tensor(void) {
    for (int k = 0; k < TENSOR; k++) tensor[k] = (unsigned char)(k * 7 + (k >> 8) * 13);
}

/* Bits 4.. of a byte offset are XORed with bits 7.., with atoms of 32 bytes bits 5 and 6; the tile
 * starts at a multiple of 1024.  */
static uint32_t swizzled(uint32_t at, int swizzle) {
    uint32_t mask = (1u << swizzle) - 1;
    if (swizzle == TM_SWIZZLE_128_ATOM_32) return at ^ ((at >> 7 & 3) << 5);
    return at ^ ((at >> 7 & mask) << 4);
}

static void fill_pattern(const TensorMap *m, unsigned char *out) {
    int bytes = element_bytes[m->type];
    memset(out, m->fill ? 0xff : 0, (size_t)bytes);
    if (m->fill) out[bytes - 1] = 0x7f;
}

/* The element of the tensor at c[], or the fill.  NULL if out of bounds.  */
static long element_at(const TensorMap *m, const long *c) {
    long at = 0;
    for (int i = 0; i < m->rank; i++) {
        if (c[i] < 0 || c[i] >= (long)m->dim[i]) return -1;
        at += c[i] * (i ? (long)m->stride[i - 1] : element_bytes[m->type]);
    }
    return at;
}

/* Coordinates of element `column` of row `row` of a tile.  */
static void tile_coordinates(const TensorMap *m, const Where *w, uint32_t row, uint32_t column,
                             long *c) {
    c[0] = w->coord[0] + (long)column;
    for (int i = 1; i < m->rank; i++) {
        uint32_t extent = (m->box[i] + m->element_stride[i] - 1) / m->element_stride[i];
        c[i] = w->coord[i] + (long)(row % extent * m->element_stride[i]);
        row /= extent;
    }
}

/* Coordinates of channel `column` of pixel `row`: the row-th place after the start in the order
 * W, H, D, N of the places that the corners allow.  */
static void pixel_coordinates(const TensorMap *m, const Where *w, uint32_t row, uint32_t column,
                              long *c) {
    long places[5], index = 0;
    int last = m->rank - 1;
    for (int i = 1; i < last; i++) {
        long width = (long)m->dim[i] + m->upper[i - 1] - m->lower[i - 1];
        places[i] = (width + m->element_stride[i] - 1) / (long)m->element_stride[i];
    }
    index = w->coord[last];
    for (int i = last - 1; i >= 1; i--) {
        index = index * places[i] + (w->coord[i] - m->lower[i - 1]) / (long)m->element_stride[i];
    }
    index += row;
    c[0] = w->coord[0] + (long)column;
    for (int i = 1; i < last; i++) {
        c[i] = m->lower[i - 1] + index % places[i] * (long)m->element_stride[i] + w->offset[i - 1];
        index /= places[i];
    }
    c[last] = index;
}

static void check_load(TensorMap m, const Where *where) {
    make_tensor();
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        PtxRun r;
        start(&r, &m, where, NULL, seed);
        run_clean(&r, text(&r, m.rank, load_body(r.arena, m.rank, m.im2col)));
        const unsigned char *out = run_host(&r, 2);
        uint32_t bytes = (uint32_t)element_bytes[m.type], row_bytes = sim_tensormap_row_bytes(&m);
        for (uint32_t row = 0; row < sim_tensormap_rows(&m); row++) {
            for (uint32_t column = 0; column < row_bytes / bytes; column++) {
                long c[5];
                unsigned char fill[8];
                if (m.im2col) pixel_coordinates(&m, where, row, column, c);
                else tile_coordinates(&m, where, row, column, c);
                fill_pattern(&m, fill);
                long at = element_at(&m, c);
                const unsigned char *want = at < 0 ? fill : tensor + at;
                const unsigned char *got =
                    out + swizzled(row * row_bytes + column * bytes, m.swizzle);
                if (memcmp(got, want, bytes)) {
                    fail_msg("rank %d type %d swizzle %d: row %u column %u", m.rank, (int)m.type,
                             m.swizzle, row, column);
                }
            }
        }
        run_close(&r);
    }
}

static void loads_tiles_of_every_rank(void **state) {
    (void)state;
    static const uint32_t dim[] = {40, 9, 7, 5, 2}, box[] = {32, 4, 3, 2, 2};
    static const Where inside = {{4, 2, 1, 1, 1}, {0}}, before = {{-6, -1, -2, -1, -1}, {0}};
    static const Where after = {{30, 7, 6, 4, 1}, {0}}, outside = {{40, 0, 0, 0, 0}, {0}};
    for (int rank = 1; rank <= 5; rank++) {
        check_load(dense(TM_F16, rank, dim, box, 0), &inside);
        check_load(dense(TM_F16, rank, dim, box, 0), &before);
        check_load(dense(TM_F16, rank, dim, box, 0), &after);
        check_load(dense(TM_F16, rank, dim, box, 0), &outside);
    }
}

static void loads_tiles_with_every_swizzle(void **state) {
    (void)state;
    static const Where at = {{3, 2, 0, 0, 0}, {0}};
    for (int swizzle = 0; swizzle <= TM_SWIZZLE_128_ATOM_32; swizzle++) {
        uint32_t span = swizzle < 4 ? 16u << swizzle : 128;
        for (int half = 0; half < 2; half++) {
            uint32_t box[2] = {span / (half ? 4 : 2), 24};
            if (box[0] * 2 < 16) continue;
            check_load(dense(TM_F16, 2, (uint32_t[]){90, 40}, box, swizzle), &at);
        }
        check_load(dense(TM_U8, 2, (uint32_t[]){200, 64}, (uint32_t[]){span, 64}, swizzle),
                   &at);
        check_load(
            dense(TM_F32, 3, (uint32_t[]){40, 9, 5}, (uint32_t[]){span / 4, 8, 4}, swizzle),
            &at);
    }
}

static void loads_every_type_and_fill(void **state) {
    (void)state;
    static const Where at = {{-2, 6, 0, 0, 0}, {0}};
    for (int t = 0; t < TM_TYPE_COUNT; t++) {
        uint32_t width = 32 / (uint32_t)element_bytes[t];
        TensorMap m =
            dense((TmType)t, 2, (uint32_t[]){width + 3, 9}, (uint32_t[]){width, 8}, 0);
        check_load(m, &at);
        m.fill = 1;
        unsigned char bytes[TM_BYTES];
        if (!sim_tensormap_encode(&m, bytes)) check_load(m, &at);
    }
}

static void loads_with_element_strides(void **state) {
    (void)state;
    static const Where at = {{0, 1, -3, 0, 0}, {0}};
    TensorMap m = dense(TM_F16, 3, (uint32_t[]){16, 20, 20}, (uint32_t[]){16, 16, 9}, 0);
    m.element_stride[1] = 2;
    m.element_stride[2] = 4;
    check_load(m, &at);
}

static TensorMap column(int rank, const uint32_t *dim, int swizzle, uint32_t pixels) {
    TensorMap m = dense(TM_F16, rank, dim, NULL, swizzle);
    m.im2col = true;
    m.channels = 8u << swizzle;
    m.pixels = pixels;
    return m;
}

static void loads_columns(void **state) {
    (void)state;
    /* 1-D, 3 wide, padding 1.  */
    TensorMap m = column(3, (uint32_t[]){16, 20, 3}, 0, 30);
    m.lower[0] = -1;
    m.upper[0] = -1;
    for (uint16_t s = 0; s < 3; s++) check_load(m, &(Where){{0, 3, 0, 0, 0}, {s, 0}});
    /* 2-D, 3x3, padding 1, swizzled.  */
    m = column(4, (uint32_t[]){72, 9, 7, 3}, 3, 100);
    m.lower[0] = m.lower[1] = -1;
    m.upper[0] = m.upper[1] = -1;
    check_load(m, &(Where){{0, -1, -1, 0, 0}, {0, 0}});
    check_load(m, &(Where){{64, 2, 3, 1, 0}, {2, 1}});
    check_load(m, &(Where){{0, 7, 5, 2, 0}, {1, 2}});
    /* The same with stride 2 and dilation 2.  */
    m.lower[0] = m.lower[1] = -2;
    m.upper[0] = m.upper[1] = -2;
    m.element_stride[1] = m.element_stride[2] = 2;
    m.pixels = 20;
    check_load(m, &(Where){{0, -2, 0, 0, 0}, {2, 4}});
    /* 3-D.  */
    m = column(5, (uint32_t[]){16, 5, 4, 3, 2}, 1, 64);
    m.lower[0] = m.lower[1] = m.lower[2] = -1;
    check_load(m, &(Where){{0, -1, 0, -1, 0}, {1, 0, 1}});
}

/* ---- Stores ---- */
static void check_store(TensorMap m, const Where *where) {
    static unsigned char tile[TILE], expected[TENSOR];
    make_tensor();
    memcpy(expected, tensor, TENSOR);
    for (int k = 0; k < TILE; k++) tile[k] = (unsigned char)(k * 11 + 3);
    uint32_t bytes = (uint32_t)element_bytes[m.type], row_bytes = sim_tensormap_row_bytes(&m);
    for (uint32_t row = 0; row < sim_tensormap_rows(&m); row++) {
        for (uint32_t col = 0; col < row_bytes / bytes; col++) {
            long c[5];
            if (m.im2col) pixel_coordinates(&m, where, row, col, c);
            else tile_coordinates(&m, where, row, col, c);
            long at = element_at(&m, c);
            if (at < 0) continue;
            memcpy(expected + at, tile + swizzled(row * row_bytes + col * bytes, m.swizzle), bytes);
        }
    }
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        PtxRun r;
        const unsigned char *got = start(&r, &m, where, tile, seed);
        run_clean(&r, text(&r, m.rank, arena_printf(r.arena,
            "%sfence.proxy.async;\nbar.sync 0;\n"
            "@%%p5 cp.async.bulk.tensor.%dd.global.shared::cta.%s.bulk_group [%%a0, %s], [%%r3];\n"
            "%s", FILL, m.rank, m.im2col ? "im2col_no_offs" : "tile",
            coordinate_list(r.arena, m.rank), BULK_END)));
        assert_memory_equal(got, expected, TENSOR);
        run_close(&r);
    }
}

static void stores_tiles(void **state) {
    (void)state;
    static const uint32_t dim[] = {40, 9, 7, 5, 2}, box[] = {32, 4, 3, 2, 2};
    for (int rank = 1; rank <= 5; rank++) {
        check_store(dense(TM_F16, rank, dim, box, 0), &(Where){{4, 2, 1, 1, 1}, {0}});
        check_store(dense(TM_F16, rank, dim, box, 0), &(Where){{-6, -1, -2, -1, -1}, {0}});
        check_store(dense(TM_F16, rank, dim, box, 0), &(Where){{20, 6, 5, 4, 1}, {0}});
    }
    for (int swizzle = 1; swizzle < 4; swizzle++) {
        uint32_t span = 16u << swizzle;
        check_store(dense(TM_F32, 2, (uint32_t[]){90, 40}, (uint32_t[]){span / 4, 24}, swizzle),
                    &(Where){{80, 20, 0, 0, 0}, {0}});
    }
    TensorMap m = column(4, (uint32_t[]){72, 9, 7, 3}, 2, 100);
    check_store(m, &(Where){{0, 2, 3, 1, 0}, {0, 0}});
}

static void reduces_tiles(void **state) {
    (void)state;
    static const struct {
        TmType type;
        const char *op;
        uint32_t from, to, result;
    } cases[] = {
        {TM_U32, "add", 7, 0xfffffffe, 5},
        {TM_S32, "min", 7, 0xfffffffe, 0xfffffffe},
        {TM_U32, "max", 7, 0xfffffffe, 0xfffffffe},
        {TM_U32, "xor", 0xff, 0xf0f, 0xff0},
        {TM_U32, "inc", 7, 7, 0},
        {TM_F32, "add", 0x3f800000, 0x40000000, 0x40400000},
        {TM_F16, "add", 0x3c003c00, 0x40003800, 0x42003e00},
        {TM_BF16, "max", 0x3f803f80, 0x40003f00, 0x40003f80},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        uint32_t words[TILE / 4];
        for (int j = 0; j < TILE / 4; j++) words[j] = cases[k].from;
        uint32_t width = 64 / (uint32_t)element_bytes[cases[k].type];
        TensorMap m = dense(cases[k].type, 2, (uint32_t[]){width, 4}, (uint32_t[]){width, 8}, 0);
        PtxRun r;
        uint32_t *got = (uint32_t *)(void *)start(&r, &m, &(Where){{0}, {0}}, words, k);
        for (int j = 0; j < 16 * 5; j++) got[j] = cases[k].to;
        run_clean(
            &r,
            text(&r, 2,
                 arena_printf(
                     r.arena,
                     "%sfence.proxy.async;\nbar.sync 0;\n"
                     "@%%p5 cp.reduce.async.bulk.tensor.2d.global.shared::cta.%s.tile.bulk_group "
                     "[%%a0, %s], "
                     "[%%r3];\n%s",
                     FILL, cases[k].op, coordinate_list(r.arena, 2), BULK_END)));
        for (int j = 0; j < 16 * 5; j++) {
            assert_int_equal(got[j], j < 16 * 4 ? cases[k].result : cases[k].to);
        }
        run_close(&r);
    }
}

/* ---- Rules ---- */
static TensorMap plain(void) {
    return dense(TM_F16, 2, (uint32_t[]){64, 16}, (uint32_t[]){64, 8}, 3);
}

static void rule(TensorMap m, int rank, const char *body, int kind) {
    make_tensor();
    for (uint64_t seed = 0; seed < 8; seed++) {
        PtxRun r;
        static unsigned char tile[TILE];
        start(&r, &m, &(Where){{0}, {0}}, tile, seed);
        const char *ptx = text(&r, rank, body);
        if (kind == SIM_FAULT_COUNT) run_clean(&r, ptx);
        else run_faulty(&r, ptx, kind);
        run_close(&r);
    }
}

#define LOAD                                                                                       \
    "@%p5 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "       \
    "[%r3], [%a0, {%r20, %r21}], [%r0];\n"
#define STORE                                                                                      \
    "@%p5 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%a0, {%r20, %r21}], "        \
    "[%r3];\n"

static void loads_are_waited_for(void **state) {
    (void)state;
    rule(plain(), 2, EXPECT LOAD SPIN DUMP, SIM_FAULT_COUNT);
    rule(plain(), 2, EXPECT LOAD DUMP, SIM_NOT_ARRIVED);
    /* The whole box counts, also where it is out of bounds.  */
    rule(plain(), 2, "mov.b32 %r21, 12;\n" EXPECT LOAD SPIN DUMP, SIM_FAULT_COUNT);
    rule(plain(), 2, "mov.b32 %r21, 12;\nmov.b32 %r9, %r4;\nmov.b32 %r4, 512;\n" EXPECT LOAD SPIN,
         SIM_DEADLOCK);
}

static void stores_are_fenced_and_waited_for(void **state) {
    (void)state;
    rule(plain(), 2, FILL "fence.proxy.async.shared::cta;\nbar.sync 0;\n" STORE BULK_END,
         SIM_FAULT_COUNT);
    rule(plain(), 2, FILL "bar.sync 0;\n" STORE BULK_END, SIM_PROXY_FENCE);
    rule(plain(), 2, FILL "fence.proxy.async;\nbar.sync 0;\n" STORE, SIM_NOT_ARRIVED);
    rule(plain(), 2, FILL "fence.proxy.async;\nbar.sync 0;\n" STORE
         "@%p5 cp.async.bulk.commit_group;\nst.shared.b32 [%r3], 0;\n"
         "@%p5 cp.async.bulk.wait_group.read 0;\n", SIM_RACE_SHARED);
}

static void maps_suit_the_instruction(void **state) {
    (void)state;
    TensorMap three = dense(TM_F16, 3, (uint32_t[]){64, 16, 2}, (uint32_t[]){64, 8, 1}, 3);
    rule(three, 2, EXPECT LOAD SPIN, SIM_DESCRIPTOR);
    rule(plain(), 2, "add.u64 %a0, %a0, 8;\n" EXPECT LOAD SPIN, SIM_DESCRIPTOR);
    rule(plain(), 2, "st.global.b32 [%a0], 5;\n" EXPECT LOAD SPIN, SIM_DESCRIPTOR);
    rule(plain(), 2, "add.u64 %a0, %a0, 64;\n" EXPECT LOAD SPIN, SIM_DESCRIPTOR);
    rule(plain(), 2, "add.u32 %r3, %r3, 64;\n" EXPECT LOAD SPIN, SIM_MISALIGNED);
    rule(plain(), 2, "add.u32 %r3, %r3, 16384;\n" EXPECT LOAD SPIN, SIM_OUT_OF_BOUNDS);
    rule(plain(), 2, "prefetch.tensormap [%a0];\n", SIM_FAULT_COUNT);
    rule(plain(), 2, "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%a0, {%r20, %r21}];\n",
         SIM_FAULT_COUNT);
}

/* The steps by which a kernel makes a map out of zeros in shared memory, at 128, as compilers do.
 * It goes to p2 + 8192 and takes the place of p0.  */
static const char *made_by_kernel(Arena *a, const TensorMap *m, int elemtype, bool old) {
    Buf b = buf_new(a);
#define REPLACE "@%%p5 tensormap.replace.tile.%s.shared::cta.b1024.b%d [%%r7], "
    buf_puts(&b, "add.u32 %r7, %r0, 128; mad.lo.u32 %r8, %t, 4, %r7; mov.b32 %r9, 0;\n"
                 "st.shared.b32 [%r8], %r9; bar.warp.sync -1;\n");
    buf_printf(&b, "mov.b64 %%l9, %llu; " REPLACE "%%l9;\n", (unsigned long long)m->address,
               "global_address", 64);
    buf_printf(&b, "mov.b32 %%r9, %d; " REPLACE "%%r9;\n", m->rank - 1, "rank", 32);
    for (int i = 0; i < m->rank; i++) {
        buf_printf(&b, "mov.b32 %%r9, %u; " REPLACE "%d, %%r9;\n", m->box[i], "box_dim", 32, i);
        buf_printf(&b, "mov.b32 %%r9, %u; " REPLACE "%d, %%r9;\n", (unsigned)m->dim[i],
                   "global_dim", 32, i);
        buf_printf(&b, REPLACE "%d, 1;\n", "element_stride", 32, i);
        if (i + 1 == m->rank) continue;
        buf_printf(&b, "mov.b64 %%l9, %llu; " REPLACE "%d, %%l9;\n",
                   (unsigned long long)m->stride[i] >> (old ? 4 : 0), "global_stride", 64, i);
    }
    buf_printf(&b, REPLACE "%d;\n" REPLACE "0x0;\n" REPLACE "%d;\n" REPLACE "%d;\n", "elemtype",
               32, elemtype, "interleave_layout", 32, "swizzle_mode", 32, m->swizzle, "fill_mode",
               32, m->fill);
    buf_puts(&b, "bar.warp.sync -1; add.u64 %a0, %a2, 8192;\n"
                 "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync"
                 ".aligned [%a0], [%r7], 128;\n"
                 "fence.proxy.tensormap::generic.acquire.gpu [%a0], 128;\nbar.sync 0;\n");
    return buf_str(&b);
}

/* A load by such a map brings what one by the driver's map does.  */
static void maps_made_by_kernels(void **state) {
    (void)state;
    static const struct {
        TmType type;
        int elemtype;         /* number in the table of the ISA */
        int swizzle, fill;
    } cases[] = {{TM_F16, 6, 3, 0}, {TM_BF16, 10, 2, 1}, {TM_U8, 0, 1, 0},
                 {TM_F32, 7, 0, 1}, {TM_TF32, 11, 3, 0}, {TM_S32, 3, 3, 0}};
    make_tensor();
    for (size_t k = 0; k < 2 * (sizeof cases / sizeof *cases); k++) {
        unsigned char tile[2][TILE] = {{0}};
        bool old = k % 2;
        for (int made = 0; made < 2; made++) {
            TensorMap m = dense(cases[k / 2].type, 3, (uint32_t[]){32, 20, 6},
                                   (uint32_t[]){16, 8, 2}, cases[k / 2].swizzle);
            m.fill = cases[k / 2].fill;
            PtxRun r;
            start(&r, &m, &(Where){.coord = {16, 14, 1}}, tile[made], 0);
            const char *body = load_body(r.arena, 3, false);
            if (made) {
                body = arena_printf(r.arena, "%s%s",
                                    made_by_kernel(r.arena, &m, cases[k / 2].elemtype, old), body);
            }
            char *ptx = arena_strdup(r.arena, text(&r, 3, body));
            if (old) memcpy(strstr(ptx, ".version 9.0"), ".version 8.3", 12);
            run_clean(&r, ptx);
            memcpy(tile[made], run_host(&r, 2), tile_size(&m));
            run_close(&r);
        }
        assert_memory_equal(tile[0], tile[1], 4096);
    }
    static const char change[] =
        "mov.b32 %r9, 3; @%p5 tensormap.replace.tile.rank.b1024.b32 [%a0], %r9;\nbar.sync 0;\n"
        EXPECT LOAD SPIN;
    rule(plain(), 2, change, SIM_DESCRIPTOR);
    rule(plain(), 2, "st.global.b32 [%a0], 5;\n"
                     "@%p5 tensormap.replace.tile.elemtype.global.b1024.b32 [%a0], 6;\n",
         SIM_DESCRIPTOR);
    rule(plain(), 2, "mov.b32 %r9, 300;\n"
                     "@%p5 tensormap.replace.tile.box_dim.global.b1024.b32 [%a0], 0, %r9;\n",
         SIM_DESCRIPTOR);
    /* A field changed: another place, which copies see behind a fence by a thread before them.  */
#define MOVED "add.u64 %l9, %a2, 4096; @%p5 tensormap.replace.tile.global_address.global"          \
              ".b1024.b64 [%a0], %l9;\n"
#define SEEN "fence.proxy.tensormap::generic.acquire.gpu [%a0], 128;\n"
    rule(plain(), 2, MOVED SEEN EXPECT LOAD SPIN DUMP, SIM_FAULT_COUNT);
    rule(plain(), 2, MOVED EXPECT LOAD SPIN DUMP, SIM_PROXY_FENCE);
    rule(plain(), 2, SEEN MOVED EXPECT LOAD SPIN DUMP, SIM_PROXY_FENCE);
    rule(plain(), 2, MOVED "setp.eq.u32 %p4, %t, 1;\n@%p4 " SEEN "bar.sync 0;\n" EXPECT LOAD SPIN
         DUMP, SIM_FAULT_COUNT);
    rule(plain(), 2, MOVED "setp.eq.u32 %p4, %t, 1;\n@%p4 " SEEN EXPECT LOAD SPIN DUMP,
         SIM_PROXY_FENCE);
}

/* A map that reaches past its allocation.  */
static void tensors_lie_in_allocations(void **state) {
    (void)state;
    rule(dense(TM_F16, 2, (uint32_t[]){64, 1024}, (uint32_t[]){64, 8}, 3), 2,
         "mov.b32 %r21, 510;\n" EXPECT LOAD SPIN, SIM_OUT_OF_BOUNDS);
}

/* The map as a kernel parameter, as __grid_constant__ makes it.  */
static void maps_come_as_parameters(void **state) {
    (void)state;
    make_tensor();
    TensorMap m = plain();
    PtxRun r;
    start(&r, &m, &(Where){{0, 3}, {0}}, NULL, 1);
    struct {
        unsigned char map[TM_BYTES];
        uint64_t out;
    } params;
    memcpy(params.map, run_host(&r, 0), TM_BYTES);
    params.out = r.arg[2];
    const char *ptx = PTX_HEAD
        ".extern .shared .align 1024 .b8 smem[];\n"
        ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)\n{\n"
        ".reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b32 %t;\n.reg .b64 %l<8>;\n.reg .b64 %a<4>;\n"
        "mov.u32 %t, %tid.x;\nmov.b64 %l6, map;\ncvta.param.u64 %a0, %l6;\n"
        "ld.param.u64 %a2, [out];\nmov.u32 %r0, smem;\nadd.u32 %r3, %r0, 1024;\nmov.b32 %r4, "
        "1024;\n"
        "setp.eq.u32 %p5, %t, 0;\n@%p5 mbarrier.init.shared.b64 [%r0], 1;\n"
        "fence.proxy.async;\nbar.sync 0;\nmov.b32 %r20, 0;\nmov.b32 %r21, 3;\n" EXPECT LOAD SPIN
            DUMP "ret;\n}\n";
    SimModule *module;
    assert_int_equal(sim_parse(r.arena, &r.diag, "k.ptx", ptx, strlen(ptx), &module), ST_OK);
    r.launch.params = &params;
    r.launch.params_bytes = sizeof params;
    assert_int_equal(run_parsed(&r, module, "k"), ST_OK);
    assert_int_equal(r.report.faults, 0);
    const unsigned char *out = run_host(&r, 2);
    for (uint32_t k = 0; k < 1024; k++) assert_int_equal(out[swizzled(k, 3)], tensor[3 * 128 + k]);
    run_close(&r);
}

static void counts_what_tensor_copies_move(void **state) {
    (void)state;
    make_tensor();
    TensorMap m = dense(TM_F16, 2, (uint32_t[]){64, 12}, (uint32_t[]){64, 8}, 3);
    PtxRun r;
    start(&r, &m, &(Where){{0, 8}, {0}}, NULL, 1);
    run_clean(&r, text(&r, 2, EXPECT LOAD SPIN));
    /* Four of eight rows are in bounds; coordinates and parameters add a few loads.  */
    assert_int_equal(r.report.total.async_copies, 1);
    assert_int_equal(r.report.total.shared_store_wavefronts, 8);
    assert_int_equal(r.report.total.max_bytes_in_flight, 1024);
    run_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_round_trip),
        cmocka_unit_test(maps_are_validated),
        cmocka_unit_test(loads_tiles_of_every_rank),
        cmocka_unit_test(loads_tiles_with_every_swizzle),
        cmocka_unit_test(loads_every_type_and_fill),
        cmocka_unit_test(loads_with_element_strides),
        cmocka_unit_test(loads_columns),
        cmocka_unit_test(stores_tiles),
        cmocka_unit_test(reduces_tiles),
        cmocka_unit_test(loads_are_waited_for),
        cmocka_unit_test(stores_are_fenced_and_waited_for),
        cmocka_unit_test(maps_suit_the_instruction),
        cmocka_unit_test(maps_made_by_kernels),
        cmocka_unit_test(tensors_lie_in_allocations),
        cmocka_unit_test(maps_come_as_parameters),
        cmocka_unit_test(counts_what_tensor_copies_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
