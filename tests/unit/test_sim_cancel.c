/* links: sim */
/* Cluster launch control: blocks that take the place of clusters that have not begun.  */
#include "ptxrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 8, BLOCKS = 24 };

#define TRY                                                                                        \
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
#define CANCELED "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q;\n"
#define FIRST "clusterlaunchcontrol.query_cancel.get_first_ctaid"
#define EXPECT "@%p5 mbarrier.arrive.expect_tx.shared.b64 %l5, [%r15], 16;\n"
#define ASK "@%p5 " TRY ".b128 [%r0], [%r15];\n"
#define ASK_FOR_ALL "@%p4 " TRY ".multicast::cluster::all.b128 [%r0], [%r15];\n"
#define WAIT                                                                                       \
    "WAIT:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r15], %r21;\n"         \
    "@!%p1 bra WAIT;\n"
#define ANSWER "ld.shared.b128 %q, [%r0];\n"
#define FENCE "fence.proxy.async.shared::cta;\n"
#define TOGETHER "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
/* %r0: an answer of 16 bytes, %r15: an mbarrier, %r20: the block's number, %r24: its rank, %p5:
 * thread 0, %p4: that of rank 0, %r21: a phase.  */
#define BEGIN                                                                                      \
    ".reg .b128 %q;\nmov.u32 %r0, smem;\nadd.u32 %r15, %r0, 16;\nsetp.eq.u32 %p5, %t, 0;\n"        \
    "mov.u32 %r24, %cluster_ctarank;\nsetp.eq.and.u32 %p4, %r24, 0, %p5;\nmov.u32 %r21, 0;\n"      \
    "@%p5 mbarrier.init.shared.b64 [%r15], 1;\n@%p5 fence.mbarrier_init.release.cluster;\n"        \
    "mov.u32 %r20, %ctaid.x;\n" TOGETHER
/* Counts block %r20 in p0.  */
#define COUNT                                                                                      \
    "mul.wide.u32 %l0, %r20, 4;\nadd.u64 %l1, %a0, %l0;\n@%p5 ld.global.b32 %r10, [%l1];\n"        \
    "add.u32 %r10, %r10, 1;\n@%p5 st.global.b32 [%l1], %r10;\n"
#define NEXT "add.u32 %r20, %r20, %r24;\nxor.b32 %r21, %r21, 1;\n"
#define LOOP(ask, first)                                                                           \
    BEGIN "TILE:\n" EXPECT ask COUNT WAIT ANSWER CANCELED "@!%p2 bra DONE;\n" first NEXT FENCE     \
        TOGETHER "bra TILE;\nDONE:\n" TOGETHER

static void start(PtxRun *r, uint32_t cluster, uint64_t seed) {
    static const uint32_t none[BLOCKS];
    run_open(r);
    r->options.seed = seed;
    r->launch.grid[0] = BLOCKS;
    r->launch.cluster[0] = cluster;
    r->launch.dynamic_smem = 64;
    run_memory(r, none, sizeof none);
}

/* Every block is worked on once; returns how many others took.  */
static int64_t taken(uint32_t cluster, uint64_t seed, const char *body) {
    PtxRun r;
    start(&r, cluster, seed);
    run_clean(&r, run_kernel(r.arena, 1, body));
    const uint32_t *count = run_host(&r, 0);
    for (int b = 0; b < BLOCKS; b++) assert_int_equal(count[b], 1);
    int64_t out = r.report.blocks_cancelled;
    assert_int_equal(r.report.blocks_run + out, BLOCKS);
    run_close(&r);
    return out;
}

static void each_block_is_done_once(void **state) {
    static const char *const body[] = {LOOP(ASK, FIRST ".v4.b32.b128 {%r20, _, _, _}, %q;\n"),
                                       LOOP(ASK, FIRST "::x.b32.b128 %r20, %q;\n"),
                                       LOOP(ASK_FOR_ALL, FIRST "::x.b32.b128 %r20, %q;\n")};
    (void)state;
    for (int k = 0; k < 3; k++) {
        int64_t least = BLOCKS, most = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            int64_t n = taken(1, seed, body[k]);
            least = n < least ? n : least;
            most = n > most ? n : most;
        }
        assert_true(most > BLOCKS / 2 && least < most);
    }
}

static void each_block_of_a_cluster_is_told(void **state) {
    int64_t most = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        int64_t n = taken(2, seed, LOOP(ASK_FOR_ALL, FIRST "::x.b32.b128 %r20, %q;\n"));
        assert_int_equal(n % 2, 0);
        most = n > most ? n : most;
    }
    assert_true(most > 0);
}

static void dimensions_are_of_the_first_block(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        PtxRun r;
        start(&r, 1, seed);
        r.launch.grid[0] = 2;
        r.launch.grid[1] = 3;
        r.launch.grid[2] = 4;
        run_clean(&r, run_kernel(r.arena, 1, BEGIN
                                 "mov.u32 %r1, %ctaid.y;\nmov.u32 %r2, %ctaid.z;\n"
                                 "TILE:\nmad.lo.u32 %r3, %r2, 3, %r1;\n"
                                 "mad.lo.u32 %r20, %r3, 2, %r20;\n" EXPECT ASK COUNT WAIT ANSWER
                                 CANCELED "@!%p2 bra DONE;\n" FIRST "::x.b32.b128 %r20, %q;\n" FIRST
                                 "::y.b32.b128 %r1, %q;\n" FIRST "::z.b32.b128 %r2, %q;\n"
                                 "xor.b32 %r21, %r21, 1;\n" FENCE TOGETHER "bra TILE;\nDONE:\n"));
        const uint32_t *count = run_host(&r, 0);
        for (int b = 0; b < BLOCKS; b++) assert_int_equal(count[b], 1);
        run_close(&r);
    }
}

static void faulty(uint32_t cluster, const char *body, int kind) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        PtxRun r;
        start(&r, cluster, seed);
        run_faulty(&r, run_kernel(r.arena, 1, body), kind);
        run_close(&r);
    }
}

static void rules_are_kept(void **state) {
    (void)state;
    /* Nobody stops asking.  */
    faulty(1, BEGIN "TILE:\n" EXPECT ASK WAIT ANSWER CANCELED "xor.b32 %r21, %r21, 1;\n" FENCE
           TOGETHER "bra TILE;\n", SIM_LAUNCH_CONTROL);
    /* The last request is refused, and its answer is used all the same.  */
    faulty(1, BEGIN "TILE:\n" EXPECT ASK WAIT ANSWER FIRST "::x.b32.b128 %r20, %q;\n"
           "xor.b32 %r21, %r21, 1;\n" FENCE TOGETHER "bra TILE;\n", SIM_LAUNCH_CONTROL);
    faulty(1, BEGIN "mov.b64 %l0, 7;\nmov.b128 %q, {%l0, %l0};\n" CANCELED, SIM_LAUNCH_CONTROL);
    faulty(1, BEGIN EXPECT ASK ANSWER CANCELED WAIT, RUN_UNORDERED);
    faulty(1, BEGIN "@%p5 " TRY ".b128 [%r15], [%r0];\n", SIM_MBARRIER);
    faulty(1, BEGIN "add.u32 %r0, %r0, 8;\n" EXPECT ASK WAIT, SIM_MISALIGNED);
    faulty(1, BEGIN EXPECT ASK, SIM_NOT_ARRIVED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_block_is_done_once),
        cmocka_unit_test(each_block_of_a_cluster_is_told),
        cmocka_unit_test(dimensions_are_of_the_first_block),
        cmocka_unit_test(rules_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
