/* links: sim */
/* Clusters: their barrier, addresses of other blocks, asynchronous stores, multicast, and exit
 * while peers still look; elect, setmaxnreg, griddepcontrol.  */
#include "ptxrun.h"
#include "sim/async/tensormap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 8 };

/* p0: 4096 bytes of input, p1: 4096 bytes of output.  %r0 base of shared memory, %r1 rank in the
 * cluster, %r2 rank of the next block, %l1 = p1 + (rank * threads + tid) * 4.  */
static const char *text(PtxRun *r, const char *body) {
    return run_kernel(
        r->arena, 2,
        arena_printf(
            r->arena,
            "mov.u32 %%r0, smem;\nmov.u32 %%r1, %%cluster_ctarank;\nmov.u32 %%r3, "
            "%%cluster_nctarank;\n"
            "add.u32 %%r2, %%r1, 1;\nrem.u32 %%r2, %%r2, %%r3;\nmov.u32 %%r4, %%ntid.x;\n"
            "mad.lo.u32 %%r5, %%r1, %%r4, %%t;\nmul.wide.u32 %%l0, %%r5, 4;\nadd.u64 %%l1, %%a1, "
            "%%l0;\n"
            "shl.b32 %%r6, %%t, 2;\nadd.u32 %%r7, %%r0, %%r6;\nsetp.eq.u32 %%p5, %%t, 0;\n%s",
            body));
}

static uint32_t input[1024];

static void start(PtxRun *r, uint32_t blocks, uint64_t seed) {
    for (uint32_t k = 0; k < 1024; k++) input[k] = k * 2654435761u;
    run_open(r);
    r->options.seed = seed;
    r->launch.grid[0] = r->launch.cluster[0] = blocks;
    r->launch.dynamic_smem = 4096;
    run_memory(r, input, sizeof input);
    run_memory(r, NULL, sizeof input);
}

static void clean(uint32_t blocks, const char *body,
                  uint32_t (*want)(uint32_t block, uint32_t tid)) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        PtxRun r;
        start(&r, blocks, seed);
        run_clean(&r, text(&r, body));
        const uint32_t *out = run_host(&r, 1);
        for (uint32_t k = 0; want && k < 32 * blocks; k++) {
            assert_int_equal(out[k], want(k / 32, k % 32));
        }
        run_close(&r);
    }
}

/* Some seed must tell of it, and of nothing else.  */
static void faulty(uint32_t blocks, const char *body, int kind) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        PtxRun r;
        start(&r, blocks, seed);
        run_faulty(&r, text(&r, body), kind);
        run_close(&r);
    }
}

#define SYNC "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
#define SYNC_NOTED "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n"
#define PUT "mad.lo.u32 %r8, %r1, 100, %t;\nst.shared.b32 [%r7], %r8;\n"
#define PEER "mapa.shared::cluster.u32 %r9, %r7, %r2;\n"
#define OUT "st.global.b32 [%l1], %r10;\n"

static uint32_t of_the_next(uint32_t block, uint32_t tid) { return (block + 1) % 4 * 100 + tid; }
static uint32_t of_the_previous(uint32_t block, uint32_t tid) {
    return (block + 3) % 4 * 100 + tid;
}

static void blocks_read_each_other(void **state) {
    (void)state;
    clean(4, PUT SYNC PEER "ld.shared::cluster.b32 %r10, [%r9];\n" OUT SYNC, of_the_next);
    clean(4, PUT SYNC_NOTED PEER "ld.shared::cluster.b32 %r10, [%r9];\n" OUT SYNC, of_the_next);
    clean(4, PUT SYNC "cvt.u64.u32 %l2, %r7;\ncvta.shared.u64 %l2, %l2;\nmapa.u64 %l3, %l2, %r2;\n"
          "ld.b32 %r10, [%l3];\n" OUT SYNC, of_the_next);
    clean(4, PUT SYNC "cvt.u64.u32 %l2, %r7;\nmapa.shared::cluster.u64 %l3, %l2, %r2;\n"
          "cvt.u32.u64 %r9, %l3;\nld.shared::cluster.b32 %r10, [%r9];\n" OUT SYNC, of_the_next);
    faulty(4, PUT PEER "ld.shared::cluster.b32 %r10, [%r9];\n" OUT SYNC, RUN_UNORDERED);
    /* A lane that has waited tells the others by a barrier.  */
#define LANE_WAITS "barrier.cluster.arrive;\n@!%p5 bra PAST;\nbarrier.cluster.wait;\nPAST:\n"
#define OTHERS_WAIT "@%p5 bra ALL;\nbarrier.cluster.wait;\nALL:\n"
    clean(4, PUT LANE_WAITS "bar.warp.sync -1;\n" PEER "ld.shared::cluster.b32 %r10, [%r9];\n" OUT
          OTHERS_WAIT SYNC, of_the_next);
    faulty(4, PUT LANE_WAITS PEER "ld.shared::cluster.b32 %r10, [%r9];\n" OUT OTHERS_WAIT SYNC,
           RUN_UNORDERED);
}

static void blocks_write_each_other(void **state) {
    (void)state;
    clean(4, PEER "mad.lo.u32 %r8, %r1, 100, %t;\nst.shared::cluster.b32 [%r9], %r8;\n" SYNC
          "ld.shared.b32 %r10, [%r7];\n" OUT, of_the_previous);
    faulty(4, PUT SYNC PEER "st.shared::cluster.b32 [%r9], %t;\n"
           "ld.shared.b32 %r10, [%r7];\n" SYNC, SIM_RACE_SHARED);
}

static uint32_t all_add(uint32_t block, uint32_t tid) {
    (void)tid;
    return block == 0 ? 4 * 32 : 0;
}

static void blocks_add_in_one_place(void **state) {
    (void)state;
    clean(4, "mov.b32 %r8, 0;\n@%p5 st.shared.b32 [%r0], %r8;\n" SYNC
          "mov.b32 %r8, 0;\nmapa.shared::cluster.u32 %r9, %r0, %r8;\n"
          "atom.shared::cluster.add.u32 %r8, [%r9], 1;\n" SYNC "ld.shared.b32 %r10, [%r0];\n" OUT,
          all_add);
    clean(4,
          "mov.b32 %r8, 0;\n@%p5 st.shared.b32 [%r0], %r8;\n" SYNC
          "mov.b32 %r8, 0;\nmapa.shared::cluster.u32 %r9, %r0, %r8;\n"
          "red.shared::cluster.add.u32 [%r9], 1;\n" SYNC "ld.shared.b32 %r10, [%r0];\n" OUT,
          all_add);
}

static uint32_t own_rank(uint32_t block, uint32_t tid) { return tid ? (block + 1) % 4 : block; }

static void addresses_tell_their_block(void **state) {
    (void)state;
    clean(4, PEER "getctarank.shared::cluster.u32 %r10, %r9;\n"
          "@%p5 getctarank.shared::cluster.u32 %r10, %r7;\n" OUT, own_rank);
    clean(4, "cvta.shared.u64 %l2, smem;\nmapa.u64 %l3, %l2, %r2;\n@%p5 mov.b64 %l3, %l2;\n"
          "getctarank.u64 %r10, %l3;\n" OUT, own_rank);
    faulty(4, "mapa.shared::cluster.u32 %r9, %r7, 4;\n", SIM_OUT_OF_BOUNDS);
    faulty(4, PUT SYNC PEER "ld.shared::cluster.b32 %r10, [%r9+4096];\n", SIM_OUT_OF_BOUNDS);
    faulty(4, PUT SYNC PEER "ld.shared::cluster.b32 %r10, [%r9+2];\n", SIM_MISALIGNED);
}

/* Told for sure, whether the other block has really ended or not.  */
static void no_block_exits_while_others_look(void **state) {
    (void)state;
    faulty(2,
           PUT SYNC "setp.eq.u32 %p3, %r1, 1;\n@%p3 bra LOOK;\nret;\nLOOK:\n"
                    "mov.b32 %r12, 0;\nL:\nadd.u32 %r12, %r12, 1;\n"
                    "setp.lt.u32 %p4, %r12, 500;\n@%p4 bra L;\n" PEER
                    "ld.shared::cluster.b32 %r10, [%r9];\n" OUT,
           SIM_OUT_OF_BOUNDS);
    faulty(2, PUT SYNC PEER "ld.shared::cluster.b32 %r10, [%r9];\n" OUT, SIM_OUT_OF_BOUNDS);
    faulty(2, PUT SYNC PEER "ld.shared::cluster.b32 %r10, [%r9];\nbarrier.cluster.arrive;\n" OUT,
           SIM_OUT_OF_BOUNDS);
    clean(2, PUT SYNC PEER "ld.shared::cluster.b32 %r10, [%r9];\n" OUT SYNC, NULL);
}

static void the_barrier_has_rules(void **state) {
    (void)state;
    faulty(2, "barrier.cluster.arrive;\nbarrier.cluster.arrive;\n", SIM_DIVERGENT);
    faulty(2, "barrier.cluster.wait;\n", SIM_DIVERGENT);
    faulty(2, "setp.lt.u32 %p3, %t, 7;\n@%p3 bra L;\nbarrier.cluster.arrive.aligned;\nL:\n",
           SIM_DIVERGENT);
    faulty(2, "setp.eq.u32 %p3, %r1, 0;\n@!%p3 bra L;\n" SYNC_NOTED "bra M;\nL:\n"
           "barrier.cluster.arrive;\nmbarrier.init.shared.b64 [%r7], 1;\nM:\n", SIM_MISALIGNED);
    /* A thread that has exited is not waited for.  */
    clean(2, "setp.eq.u32 %p3, %r1, 0;\n@%p3 ret;\n" SYNC_NOTED, NULL);
    /* A block that never arrives and never exits.  */
    faulty(2,
           "setp.eq.u32 %p3, %r1, 0;\n@!%p3 bra L;\n" SYNC_NOTED
           "bra M;\nL:\nbar.sync 1, 64;\nM:\n",
           SIM_DEADLOCK);
}

static void relaxed_arrivals_order_nothing(void **state) {
    (void)state;
    faulty(4, PUT "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n" PEER
           "ld.shared::cluster.b32 %r10, [%r9];\n" OUT SYNC, SIM_RACE_SHARED);
}

/* ---- Asynchronous stores and arrivals ---- */
#define INIT(count)                                                                                \
    "add.u32 %r15, %r0, 2048;\n@%p5 mbarrier.init.shared.b64 [%r15], " #count ";\n"                \
    "@%p5 fence.mbarrier_init.release.cluster;\n" SYNC
#define EXPECT(bytes) "@%p5 mbarrier.arrive.expect_tx.shared.b64 %l5, [%r15], " #bytes ";\n"
#define SPIN                                                                                       \
    "W:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r15], 0;\n@!%p1 bra W;\n"
#define PEER_BAR "mapa.shared::cluster.u32 %r16, %r15, %r2;\n"

static void stores_tell_the_other_block(void **state) {
    (void)state;
    clean(
        4,
        INIT(1) EXPECT(128) PEER PEER_BAR
        "mad.lo.u32 %r8, %r1, 100, %t;\n"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r9], %r8, [%r16];\n" SPIN
        "ld.shared.b32 %r10, [%r7];\n" OUT SYNC,
        of_the_previous);
    clean(4,
          INIT(1) EXPECT(256) "shl.b32 %r6, %t, 3;\nadd.u32 %r7, %r0, %r6;\n" PEER PEER_BAR
                              "mad.lo.u32 %r8, %r1, 100, %t;\nmov.b32 %r11, 0;\n"
                              "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r9], "
                              "{%r11, %r8}, [%r16];\n" SPIN
                              "ld.shared.b32 %r10, [%r7+4];\n" OUT SYNC,
          of_the_previous);
    faulty(4, INIT(1) EXPECT(128) PEER PEER_BAR
           "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r9], %t, [%r16];\n" SYNC
           "ld.shared.b32 %r10, [%r7];\n" SPIN SYNC, RUN_UNORDERED);
    faulty(4, INIT(1) EXPECT(128) PEER
           "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r9], %t, [%r15];\n" SPIN,
           SIM_MBARRIER);
}

static uint32_t sum_of_lanes(uint32_t block, uint32_t tid) {
    (void)block, (void)tid;
    return 496;
}

static void reductions_tell_the_other_block(void **state) {
    (void)state;
    clean(4,
          "mov.b32 %r8, 0;\n@%p5 st.shared.b32 [%r0], %r8;\n" INIT(1)
              EXPECT(128) "mapa.shared::cluster.u32 %r9, %r0, %r2;\n" PEER_BAR
                          "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes."
                          "add.u32 [%r9], %t, "
                          "[%r16];\n" SPIN "ld.shared.b32 %r10, [%r0];\n" OUT SYNC,
          sum_of_lanes);
}

static void arrivals_reach_other_blocks(void **state) {
    (void)state;
    clean(4, INIT(32) PEER "mad.lo.u32 %r8, %r1, 100, %t;\nst.shared::cluster.b32 [%r9], %r8;\n"
          PEER_BAR "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r16];\n" SPIN
          "ld.shared.b32 %r10, [%r7];\n" OUT SYNC, of_the_previous);
    faulty(4,
           INIT(32) PEER_BAR
           "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r16];\n" PEER
           "mad.lo.u32 %r8, %r1, 100, %t;\nst.shared::cluster.b32 [%r9], %r8;\n" SPIN
           "ld.shared.b32 %r10, [%r7];\n" OUT SYNC,
           SIM_RACE_SHARED);
}

static uint32_t word_of_input(uint32_t block, uint32_t tid) {
    (void)block;
    return tid * 2654435761u;
}

#define BULK_PEER                                                                                  \
    "mapa.shared::cluster.u32 %r9, %r0, %r2;\nadd.u32 %r9, %r9, 512;\n"                            \
    "@%p5 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r9], [%r0], "   \
    "128, "                                                                                        \
    "[%r16];\n"

static void bulk_copies_between_blocks(void **state) {
    (void)state;
    clean(4, PUT "fence.proxy.async;\n" INIT(1) EXPECT(128) PEER_BAR BULK_PEER SPIN
          "ld.shared.b32 %r10, [%r7+512];\n" OUT SYNC, of_the_previous);
    faulty(4, PUT INIT(1) EXPECT(128) PEER_BAR BULK_PEER SPIN SYNC, SIM_PROXY_FENCE);
    faulty(4, PUT "fence.proxy.async;\n" INIT(1) EXPECT(128) PEER_BAR BULK_PEER SYNC
           "ld.shared.b32 %r10, [%r7+512];\n" SPIN SYNC, RUN_UNORDERED);
}

static void bulk_loads_multicast(void **state) {
    (void)state;
#define MULTICAST(mask)                                                                            \
    "setp.eq.and.u32 %p6, %r1, 0, %p5;\nmov.b16 %h0, " #mask ";\n"                                 \
    "@%p6 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "   \
    "[%r0], [%a0], 128, [%r15], %h0;\n"
    clean(4, INIT(1) EXPECT(128) MULTICAST(15) SPIN "ld.shared.b32 %r10, [%r7];\n" OUT SYNC,
          word_of_input);
    faulty(4, INIT(1) EXPECT(128) MULTICAST(31) SPIN SYNC, SIM_OUT_OF_BOUNDS);
    faulty(4, INIT(1) EXPECT(128) MULTICAST(7) SPIN SYNC, SIM_DEADLOCK);
#undef MULTICAST
    PtxRun r;
    start(&r, 4, 1);
    run_clean(&r,
              text(&r, INIT(1) EXPECT(128) "setp.eq.and.u32 %p6, %r1, 0, %p5;\nmov.b16 %h0, 15;\n"
                                           "@%p6 "
                                           "cp.async.bulk.shared::cluster.global.mbarrier::"
                                           "complete_tx::bytes.multicast::cluster "
                                           "[%r0], [%a0], 128, [%r15], %h0;\n" SPIN SYNC));
    /* Read once, written four times.  */
    assert_int_equal(r.report.total.global_load_sectors, 4);
    assert_int_equal(r.report.total.shared_store_wavefronts, 4);
    run_close(&r);
}

/* Each of two blocks loads half a tile into both.  */
static void tensor_loads_multicast(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        PtxRun r;
        start(&r, 2, seed);
        TensorMap m = {.type = TM_F32, .rank = 2, .address = r.arg[0], .dim = {32, 32},
                          .stride = {128}, .box = {32, 4}, .element_stride = {1, 1}, .swizzle = 3};
        unsigned char bytes[TM_BYTES];
        assert_null(sim_tensormap_encode(&m, bytes));
        run_memory(&r, bytes, sizeof bytes);
        run_clean(
            &r,
            run_kernel(
                r.arena, 3,
                "mov.u32 %r0, smem;\nadd.u32 %r15, %r0, 2048;\nmov.u32 %r1, %cluster_ctarank;\n"
                "setp.eq.u32 %p5, %t, 0;\n@%p5 mbarrier.init.shared.b64 [%r15], 1;\n"
                "@%p5 fence.mbarrier_init.release.cluster;\n" SYNC EXPECT(
                    1024) "mov.b32 %r20, 0;\nshl.b32 %r21, %r1, 2;\nshl.b32 %r22, %r1, 9;\nadd.u32 "
                          "%r22, %r22, %r0;\n"
                          "mov.b16 %h0, 3;\n"
                          "@%p5 "
                          "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_"
                          "tx::bytes"
                          ".multicast::cluster [%r22], [%a2, {%r20, %r21}], [%r15], %h0;\n" SPIN
                          /* Word (row, tid) of the tile, row 0..7, un-swizzled.  */
                          "mov.b32 %r23, 0;\nL:\nshr.u32 %r24, %t, 2;\nand.b32 %r25, %r23, 7;\n"
                          "xor.b32 %r24, %r24, %r25;\nshl.b32 %r24, %r24, 4;\nand.b32 %r26, %t, "
                          "3;\n"
                          "shl.b32 %r26, %r26, 2;\nadd.u32 %r24, %r24, %r26;\nshl.b32 %r27, %r23, "
                          "7;\n"
                          "add.u32 %r24, %r24, %r27;\nadd.u32 %r24, %r24, %r0;\nld.shared.b32 "
                          "%r28, [%r24];\n"
                          "mad.lo.u32 %r29, %r1, 8, %r23;\nmad.lo.u32 %r29, %r29, 32, %t;\n"
                          "mul.wide.u32 %l0, %r29, 4;\nadd.u64 %l1, %a1, %l0;\nst.global.b32 "
                          "[%l1], %r28;\n"
                          "add.u32 %r23, %r23, 1;\nsetp.lt.u32 %p6, %r23, 8;\n@%p6 bra L;\n" SYNC));
        const uint32_t *out = run_host(&r, 1);
        for (uint32_t k = 0; k < 512; k++) assert_int_equal(out[k], input[k % 256]);
        run_close(&r);
    }
}

/* Each of four blocks loads four rows, and tells the barrier of the block that `told` finds: the
 * even one of each pair waits for both.  */
static const char *pair_loads(PtxRun *r, const char *group, const char *told, unsigned char *map) {
    TensorMap m = {.type = TM_F32, .rank = 2, .address = r->arg[0], .dim = {32, 32},
                   .stride = {128}, .box = {32, 4}, .element_stride = {1, 1}};
    assert_null(sim_tensormap_encode(&m, map));
    run_memory(r, map, TM_BYTES);
    const char *body = arena_printf(
        r->arena,
        "mov.u32 %%r0, smem;\nadd.u32 %%r15, %%r0, 2048;\nmov.u32 %%r1, %%cluster_ctarank;\n"
        "setp.eq.u32 %%p5, %%t, 0;\n@%%p5 mbarrier.init.shared.b64 [%%r15], 2;\n"
        "@%%p5 fence.mbarrier_init.release.cluster;\n" SYNC
        "%s;\nmapa.shared::cluster.u32 %%r16, %%r15, %%r2;\n"
        "@%%p5 mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%%r16], 512;\n"
        "mov.b32 %%r20, 0;\nshl.b32 %%r21, %%r1, 2;\n"
        "@%%p5 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        "%s [%%r0], [%%a2, {%%r20, %%r21}], [%%r16];\n"
        "and.b32 %%r3, %%r1, 1;\nsetp.ne.u32 %%p2, %%r3, 0;\n@%%p2 bra D;\n", told, group);
    return run_kernel(
        r->arena, 3,
        arena_printf(r->arena, "%s%s", body,
                     SPIN "D:\n" SYNC "shl.b32 %r6, %t, 2;\nadd.u32 %r7, %r0, %r6;\n"
                     "ld.shared.b32 %r10, [%r7];\nmad.lo.u32 %r5, %r1, 32, %t;\n"
                     "mul.wide.u32 %l0, %r5, 4;\nadd.u64 %l1, %a1, %l0;\n" OUT));
}

static void tensor_loads_of_pairs(void **state) {
    (void)state;
    static const struct {
        const char *group, *told;
        int kind;
    } tries[] = {{".cta_group::2", "and.b32 %r2, %r1, 2", SIM_FAULT_COUNT},
                 {"", "and.b32 %r2, %r1, 2", SIM_MBARRIER},    /* a block alone tells its own */
                 {".cta_group::2", "xor.b32 %r2, %r1, 2", SIM_MBARRIER}};       /* another pair */
    for (uint64_t seed = 0; seed < SEEDS * 3; seed++) {
        PtxRun r;
        unsigned char map[TM_BYTES];
        int kind = tries[seed % 3].kind;
        start(&r, 4, seed);
        const char *kernel = pair_loads(&r, tries[seed % 3].group, tries[seed % 3].told, map);
        if (kind < SIM_FAULT_COUNT) run_faulty(&r, kernel, kind);
        else run_clean(&r, kernel);
        const uint32_t *out = run_host(&r, 1);
        for (uint32_t k = 0; k < 128 && kind == SIM_FAULT_COUNT; k++)
            assert_int_equal(out[k], input[k / 32 * 128 + k % 32]);
        run_close(&r);
    }
}

/* ---- elect, setmaxnreg, griddepcontrol ---- */
static uint32_t elected(uint32_t block, uint32_t tid) {
    (void)block;
    return tid == 3 ? 103 : 3;
}

static void one_lane_is_elected(void **state) {
    (void)state;
    clean(1, "setp.ge.u32 %p3, %t, 3;\nmov.b32 %r10, 3;\n@!%p3 bra L;\n"
          "elect.sync %r10|%p4, 0xfffffff8;\n@%p4 add.u32 %r10, %r10, 100;\nL:\n" OUT, elected);
    clean(1, "mov.b32 %r10, 3;\nelect.sync _|%p4, 0xffffffff;\n@%p4 st.global.b32 [%l1+12], 103;\n"
          "setp.ne.u32 %p6, %t, 3;\n@%p6 st.global.b32 [%l1], %r10;\n", elected);
    faulty(1, "elect.sync _|%p4, 0xf;\n", SIM_DIVERGENT);
}

/* Warp 0 gives registers up, the other three of the block's four warpgroups take some.  */
static void registers_move_between_warpgroups(void **state) {
    (void)state;
    static const struct {
        int threads, give, take;
        int kind;
    } cases[] = {
        {384, 40, 232, SIM_FAULT_COUNT}, {384, 24, 240, SIM_FAULT_COUNT},
        {384, 48, 240, SIM_DEADLOCK},    {512, 32, 160, SIM_FAULT_COUNT},
        {512, 40, 160, SIM_DEADLOCK},    {256, 48, 248, SIM_FAULT_COUNT},
        {384, 176, 176, SIM_LIMIT},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        PtxRun r;
        run_open(&r);
        r.options.seed = k;
        r.launch.block[0] = (uint32_t)cases[k].threads;
        const char *ptx = arena_printf(r.arena, PTX_HEAD
            ".visible .entry k()\n.maxntid %d, 1, 1\n{\n.reg .pred %%p;\n.reg .b32 %%t;\n"
            "mov.u32 %%t, %%tid.x;\nsetp.lt.u32 %%p, %%t, 128;\n@!%%p bra TAKE;\n"
            "setmaxnreg.dec.sync.aligned.u32 %d;\nbra OUT;\nTAKE:\n"
            "setmaxnreg.inc.sync.aligned.u32 %d;\nOUT:\nret;\n}\n", cases[k].threads, cases[k].give,
            cases[k].take);
        if (cases[k].kind == SIM_FAULT_COUNT) run_clean(&r, ptx);
        else run_faulty(&r, ptx, cases[k].kind);
        run_close(&r);
    }
}

static void dependent_launch_does_nothing(void **state) {
    (void)state;
    clean(1, "griddepcontrol.wait;\ngriddepcontrol.launch_dependents;\nmov.b32 %r10, 496;\n" OUT,
          sum_of_lanes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_read_each_other),
        cmocka_unit_test(blocks_write_each_other),
        cmocka_unit_test(blocks_add_in_one_place),
        cmocka_unit_test(addresses_tell_their_block),
        cmocka_unit_test(no_block_exits_while_others_look),
        cmocka_unit_test(the_barrier_has_rules),
        cmocka_unit_test(relaxed_arrivals_order_nothing),
        cmocka_unit_test(stores_tell_the_other_block),
        cmocka_unit_test(reductions_tell_the_other_block),
        cmocka_unit_test(arrivals_reach_other_blocks),
        cmocka_unit_test(bulk_copies_between_blocks),
        cmocka_unit_test(bulk_loads_multicast),
        cmocka_unit_test(tensor_loads_multicast),
        cmocka_unit_test(tensor_loads_of_pairs),
        cmocka_unit_test(one_lane_is_elected),
        cmocka_unit_test(registers_move_between_warpgroups),
        cmocka_unit_test(dependent_launch_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
