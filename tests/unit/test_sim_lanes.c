/* links: sim */
/* What one lane waits for, signals or fences is its own affair: other lanes, of its warp too, must
 * be told by a barrier.  Each rule stands beside the same kernel with the barrier, which is
 * clean.  */
#include "ptxrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SEEDS = 8, CLEAN = SIM_FAULT_COUNT, BYTES = 4096 };

/* p0 BYTES of input, p1 BYTES of output.  %r0: 1024 bytes of data in shared memory, of which a
 * thread has the word at %r2; %r1: an mbarrier; %p0: lane 0, %p1: thread 0, %p2: the first warp. */
static const char *text(PtxRun *r, const char *body) {
    static const char head[] =
        "mov.u32 %r0, smem;\nadd.u32 %r1, %r0, 1024;\nshl.b32 %r2, %t, 2;\n"
        "cvt.u64.u32 %l0, %r2;\nadd.u64 %l1, %a1, %l0;\nadd.u32 %r2, %r2, %r0;\n"
        "and.b32 %r3, %t, 31;\nsetp.eq.u32 %p0, %r3, 0;\nsetp.eq.u32 %p1, %t, 0;\n"
        "setp.lt.u32 %p2, %t, 32;\n";
    return run_kernel(r->arena, 2, arena_printf(r->arena, "%s%s", head, body));
}

typedef struct {
    int threads, kind;
    const char *body;
} Rule;

static void hold(const Rule *rule, size_t n) {
    static const unsigned char input[BYTES];
    for (size_t k = 0; k < n; k++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            PtxRun r;
            run_open(&r);
            r.options.seed = seed;
            r.launch.block[0] = (uint32_t)rule[k].threads;
            r.launch.dynamic_smem = 2048;
            run_memory(&r, input, BYTES);
            run_memory(&r, NULL, BYTES);
            const char *ptx = text(&r, rule[k].body);
            if (rule[k].kind == CLEAN) run_clean(&r, ptx);
            else run_faulty(&r, ptx, rule[k].kind);
            run_close(&r);
        }
    }
}
#define HOLD(rules) hold(rules, sizeof rules / sizeof *rules)

#define PUT "st.shared.b32 [%r2], %t;\n"
#define GET "ld.shared.b32 %r9, [%r2];\nst.global.b32 [%l1], %r9;\n"
#define GET_NEXT "xor.b32 %r8, %r2, 4;\nld.shared.b32 %r9, [%r8];\nst.global.b32 [%l1], %r9;\n"
#define WARP "bar.warp.sync -1;\n"
#define BLOCK "bar.sync 0;\n"
#define PROXY "fence.proxy.async.shared::cta;\n"
#define STORE                                                                                      \
    "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%a1], [%r0], 128;\n"                        \
    "@%p1 cp.async.bulk.commit_group;\n"
#define READ "@%p1 cp.async.bulk.wait_group.read 0;\n"
#define STORED PUT PROXY BLOCK STORE
/* A warp that is late enough for every copy to be over.  */
#define LATE                                                                                       \
    "mov.u32 %r4, 0;\nLATE:\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p4, %r4, 6000;\n@%p4 bra LATE;\n"

static void copies_are_read_when_their_thread_has_waited(void **state) {
    (void)state;
    static const Rule rules[] = {
        {32, CLEAN, STORED READ WARP PUT},
        {32, SIM_RACE_SHARED, STORED READ PUT},
        {32, SIM_RACE_SHARED, STORED WARP READ PUT},
        {32, CLEAN, STORED READ "@%p1 " PUT},
        {32, SIM_RACE_SHARED, STORED "@%p1 " PUT READ},
        {64, CLEAN, STORED READ BLOCK PUT},
        {64, SIM_RACE_SHARED, STORED BLOCK READ "@%p2 bra END;\n" LATE "add.u32 %r2, %r2, -128;\n"
                              PUT "END:\n"},
        /* The newest group may still be read, by a copy of the same place.  */
        {32, SIM_RACE_SHARED, STORED STORE "@%p1 cp.async.bulk.wait_group.read 1;\n" WARP PUT READ},
        /* Each lane for its own copy.  */
        {32, CLEAN,
         "shl.b32 %r5, %t, 4;\nadd.u32 %r5, %r5, %r0;\nst.shared.v4.b32 [%r5], {%t, %t, %t, %t};\n"
         PROXY "mul.wide.u32 %l2, %t, 16;\nadd.u64 %l2, %l2, %a1;\n"
         "cp.async.bulk.global.shared::cta.bulk_group [%l2], [%r5], 16;\n"
         "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
         "st.shared.b32 [%r5], %t;\n"},
    };
    HOLD(rules);
}

#define INIT(n) "@%p1 mbarrier.init.shared::cta.b64 [%r1], " #n ";\n" PROXY BLOCK
#define LOAD                                                                                       \
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 128;\n"                              \
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%a0], 128, "  \
    "[%r1];\n"
#define AWAIT                                                                                      \
    "TRY:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1], 0;\n@!%p3 bra TRY;\n"
#define AWAIT_OF_FIRST "@!%p1 bra OVER;\n" AWAIT "OVER:\n"
#define ARRIVE "mbarrier.arrive.shared::cta.b64 _, [%r1];\n"

static void a_wait_is_its_lane_s(void **state) {
    (void)state;
    static const Rule rules[] = {
        {32, CLEAN, INIT(1) LOAD AWAIT GET},
        {32, CLEAN, INIT(1) LOAD AWAIT_OF_FIRST WARP GET},
        {32, RUN_UNORDERED, INIT(1) LOAD AWAIT_OF_FIRST GET},
        {64, CLEAN, INIT(1) LOAD AWAIT_OF_FIRST BLOCK "@!%p2 bra END;\n" GET "END:\n"},
        /* cp.async: what a lane waits for are its own copies.  */
        {32, CLEAN, "cp.async.ca.shared.global [%r2], [%a0], 4;\ncp.async.wait_all;\n" WARP
                    GET_NEXT},
        {32, SIM_RACE_SHARED, "cp.async.ca.shared.global [%r2], [%a0], 4;\ncp.async.wait_all;\n"
                              GET_NEXT},
    };
    HOLD(rules);
}

/* The second warp waits for the first one, which signals by lane 0, or by all of its lanes.  */
#define SIGNAL(before, arrive)                                                                     \
    "@!%p2 bra OTHER;\n" before arrive "bra END;\nOTHER:\n" AWAIT "add.u32 %r2, %r2, -128;\n"
static void a_signal_tells_of_its_lane(void **state) {
    (void)state;
    static const Rule rules[] = {
        {64, CLEAN, INIT(1) SIGNAL(PUT WARP, "@%p0 " ARRIVE) GET "END:\n"},
        {64, SIM_RACE_SHARED, INIT(1) SIGNAL(PUT, "@%p0 " ARRIVE) GET "END:\n"},
        {64, CLEAN, INIT(32) SIGNAL(PUT, ARRIVE) GET "END:\n"},
        {64, CLEAN, PUT INIT(1) SIGNAL(GET WARP, "@%p0 " ARRIVE) PUT "END:\n"},
        {64, SIM_RACE_SHARED, PUT INIT(1) SIGNAL(GET, "@%p0 " ARRIVE) PUT "END:\n"},
        {64, CLEAN, PUT INIT(32) SIGNAL(GET, ARRIVE) PUT "END:\n"},
        /* All lanes read one place, which lane 0 gives free.  */
        {64, SIM_RACE_SHARED, PUT INIT(1) SIGNAL("mov.u32 %r2, %r0;\n" GET, "@%p0 " ARRIVE)
                              "mov.u32 %r2, %r0;\n@%p0 " PUT "END:\n"},
        {64, CLEAN, PUT INIT(1) SIGNAL("mov.u32 %r2, %r0;\n" GET WARP, "@%p0 " ARRIVE)
                    "mov.u32 %r2, %r0;\n@%p0 " PUT "END:\n"},
        /* Bytes that are expected tell of nothing.  */
        {64, SIM_RACE_SHARED,
         INIT(1) SIGNAL(PUT, "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 128;\n"
                             "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 128;\n"
                             "@%p0 " ARRIVE) GET "END:\n"},
        /* An mbarrier that lane 0 makes.  */
        {32, CLEAN, "@%p1 mbarrier.init.shared::cta.b64 [%r1], 32;\n" WARP ARRIVE},
        {32, SIM_RACE_SHARED, "@%p1 mbarrier.init.shared::cta.b64 [%r1], 32;\n" ARRIVE},
    };
    HOLD(rules);
}

static void a_fence_is_for_what_its_lane_knows(void **state) {
    (void)state;
    static const Rule rules[] = {
        {32, CLEAN, PUT WARP "@%p1 " PROXY STORE READ},
        {32, SIM_PROXY_FENCE, PUT "@%p1 " PROXY WARP STORE READ},
        {32, CLEAN, PUT PROXY WARP STORE READ},
    };
    HOLD(rules);
}

static void lanes_meet_by_their_masks(void **state) {
    (void)state;
    static const Rule rules[] = {
        {32, CLEAN, PUT WARP GET_NEXT},
        {32, SIM_RACE_SHARED, PUT GET_NEXT},
        {32, SIM_DIVERGENT, PUT "bar.warp.sync 0xfffffffe;\n" GET_NEXT},
        {32, SIM_DIVERGENT, "@!%p0 bra END;\nbar.warp.sync 2;\nEND:\n"},
        /* Pairs meet, and know nothing of other pairs.  */
        {32, CLEAN, PUT "and.b32 %r4, %t, 30;\nmov.b32 %r5, 3;\nshl.b32 %r5, %r5, %r4;\n"
                    "bar.warp.sync %r5;\n" GET_NEXT},
        {32, SIM_RACE_SHARED, PUT "and.b32 %r4, %t, 30;\nmov.b32 %r5, 3;\nshl.b32 %r5, %r5, %r4;\n"
                              "bar.warp.sync %r5;\nxor.b32 %r2, %r2, 8;\n" GET},
    };
    HOLD(rules);
}

#define TEST_STATE "mbarrier.test_wait.shared::cta.b64 %p3, [%r1], %l5;\n"
static void waits_name_a_phase_that_may_be_waited_for(void **state) {
    (void)state;
    static const Rule rules[] = {
        {32, CLEAN, INIT(32) ARRIVE "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1], 0;\n"},
        {32, SIM_MBARRIER,
         INIT(32) ARRIVE "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1], 2;\n"},
        {32, SIM_MBARRIER, INIT(32) "mov.b32 %r4, -1;\n"
                           "mbarrier.test_wait.parity.shared::cta.b64 %p3, [%r1], %r4;\n"},
        {32, CLEAN, INIT(32) "mbarrier.arrive.shared::cta.b64 %l5, [%r1];\n" WARP TEST_STATE},
        {32, SIM_MBARRIER, INIT(32) "mbarrier.arrive.shared::cta.b64 %l5, [%r1];\n" WARP ARRIVE WARP
                           TEST_STATE},
    };
    HOLD(rules);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_read_when_their_thread_has_waited),
        cmocka_unit_test(a_wait_is_its_lane_s),
        cmocka_unit_test(a_signal_tells_of_its_lane),
        cmocka_unit_test(a_fence_is_for_what_its_lane_knows),
        cmocka_unit_test(lanes_meet_by_their_masks),
        cmocka_unit_test(waits_name_a_phase_that_may_be_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
