/* links: sim */
/* cp.async, mbarriers and bulk copies: what they move, what waits promise, and what is reported
 * when a wait, a barrier or a fence is missing.  */
#include "ptxrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 12, BYTES = 4096 };

typedef struct {
    const char *body;
    uint32_t threads, smem;
    uint64_t number;          /* p2 */
    bool benign;
} Kernel;

static unsigned char input[BYTES];

static void make_input(void) {
    for (int k = 0; k < BYTES; k++) input[k] = (unsigned char)(k * 31 + k / 256);
}

/* p0: BYTES of input, p1: BYTES of output.  %r0 is the base of shared memory, %r1 = tid * 16,
 * %l0 = p0 + tid * 16, %l1 = p1 + tid * 16.  */
static const char *text(PtxRun *r, const char *body) {
    return run_kernel(
        r->arena, 3,
        arena_printf(
            r->arena,
            "mov.u32 %%r0, smem;\nshl.b32 %%r1, %%t, 4;\ncvt.u64.u32 %%l9, %%r1;\n"
            "add.u64 %%l0, %%a0, %%l9;\nadd.u64 %%l1, %%a1, %%l9;\nadd.u32 %%r2, %%r0, %%r1;\n%s",
            body));
}

static void start(PtxRun *r, const Kernel *k, uint64_t seed) {
    make_input();
    run_open(r);
    r->options.seed = seed;
    r->options.benign = k->benign;
    r->launch.block[0] = k->threads ? k->threads : 32;
    r->launch.dynamic_smem = k->smem ? k->smem : 8192;
    run_memory(r, input, BYTES);
    run_memory(r, NULL, BYTES);
    run_number(r, k->number);
}

/* Copies every seed's output to out and checks that all are clean.  */
static void clean(const Kernel *k, void (*check)(const unsigned char *out)) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        PtxRun r;
        start(&r, k, seed);
        run_clean(&r, text(&r, k->body));
        if (check) check(run_host(&r, 1));
        run_close(&r);
    }
}

static void faulty(const Kernel *k, int kind) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        PtxRun r;
        start(&r, k, seed);
        run_faulty(&r, text(&r, k->body), kind);
        run_close(&r);
    }
}

static void same_512(const unsigned char *out) { assert_memory_equal(out, input, 512); }

/* ---- cp.async ---- */
#define COPY16 "cp.async.cg.shared.global [%r2], [%l0], 16;\n"
#define COMMIT "cp.async.commit_group;\n"
#define OUT16 "ld.shared.v2.b64 {%l2,%l3}, [%r2];\nst.global.v2.b64 [%l1], {%l2,%l3};\n"
#define BAR "bar.sync 0;\n"

static void copies_by_groups(void **state) {
    (void)state;
    clean(&(Kernel){.body = COPY16 COMMIT "cp.async.wait_group 0;\n" OUT16}, same_512);
    clean(&(Kernel){.body = COPY16 "cp.async.wait_all;\n" OUT16}, same_512);
    clean(&(Kernel){.body = COPY16 COMMIT COMMIT COMMIT "cp.async.wait_group 2;\n" OUT16},
          same_512);
    clean(&(Kernel){.body = COPY16 "cp.async.wait_all;\n" OUT16, .benign = true}, same_512);
}

static void copies_of_every_size(void **state) {
    (void)state;
    clean(&(Kernel){.body = "cp.async.ca.shared.global [%r2], [%l0], 4;\ncp.async.ca.shared.global "
                            "[%r2+4], [%l0+4], 4;\n"
                            "cp.async.ca.shared.global.L2::128B [%r2+8], [%l0+8], 8;\n"
                            "cp.async.wait_all;\n" OUT16},
          same_512);
}

static void zero_tail(const unsigned char *out) {
    for (int t = 0; t < 32; t++) {
        for (int b = 0; b < 16; b++) {
            assert_int_equal(out[16 * t + b], b < t % 17 ? input[16 * t + b] : 0);
        }
    }
}

static void odd_lanes_are_zero(const unsigned char *out) {
    for (int t = 0; t < 32; t++) {
        for (int b = 0; b < 16; b++) {
            assert_int_equal(out[16 * t + b], t & 1 ? 0 : input[16 * t + b]);
        }
    }
}

static void copies_fill_with_zeros(void **state) {
    (void)state;
    clean(&(Kernel){.body = "rem.u32 %r3, %t, 17;\n"
                    "cp.async.cg.shared.global [%r2], [%l0], 16, %r3;\n"
                    "cp.async.wait_all;\n" OUT16}, zero_tail);
    clean(&(Kernel){.body = "and.b32 %r3, %t, 1;\nsetp.eq.u32 %p0, %r3, 1;\n"
                    "cp.async.cg.shared.global [%r2], [%l0], 16, %p0;\n"
                    "cp.async.wait_all;\n" OUT16}, odd_lanes_are_zero);
    /* Size 0 reads nothing: the address may be anywhere.  */
    clean(&(Kernel){.body = "mov.u64 %l5, 4096;\nmov.b32 %r3, 0;\n"
                    "cp.async.cg.shared.global [%r2], [%l5], 16, %r3;\ncp.async.wait_all;\n"
                    OUT16}, NULL);
    faulty(&(Kernel){.body = "mov.b32 %r3, 20;\ncp.async.cg.shared.global [%r2], [%l0], 16, %r3;\n"
                     "cp.async.wait_all;\n"}, SIM_OUT_OF_BOUNDS);
}

static void copies_are_waited_for(void **state) {
    (void)state;
    faulty(&(Kernel){.body = COPY16 COMMIT OUT16}, SIM_NOT_ARRIVED);
    faulty(&(Kernel){.body = COPY16 COMMIT "cp.async.wait_group 1;\n" OUT16}, SIM_NOT_ARRIVED);
    faulty(&(Kernel){.body = COPY16 "cp.async.wait_group 0;\n" OUT16}, SIM_NOT_ARRIVED);
    faulty(&(Kernel){.body = COPY16 COMMIT "st.shared.b32 [%r2], %r0;\n"}, SIM_NOT_ARRIVED);
    faulty(&(Kernel){.body = COPY16 COMMIT COPY16 COMMIT}, SIM_NOT_ARRIVED);
}

/* The wait tells the thread of its own copies; the others need a barrier.  */
static void waits_are_followed_by_a_barrier(void **state) {
    (void)state;
#define OTHER                                                                                      \
    "xor.b32 %r4, %r2, 512;\nld.shared.v2.b64 {%l2,%l3}, [%r4];\n"                                 \
    "st.global.v2.b64 [%l1], {%l2,%l3};\n"
    clean(&(Kernel){.body = COPY16 "cp.async.wait_all;\n" BAR OTHER, .threads = 64}, NULL);
    faulty(&(Kernel){.body = COPY16 "cp.async.wait_all;\n" OTHER, .threads = 64}, RUN_UNORDERED);
#undef OTHER
}

/* A ring of two stages over 8 tiles of 512 bytes; the sum of what was seen goes out.  */
static const char *ring(PtxRun *r, bool wait, bool barrier) {
    Buf b = buf_new(r->arena);
    buf_puts(&b, "mov.b64 %l4, 0;\n" COPY16 COMMIT
                 "xor.b32 %r5, %r1, 496;\nadd.u32 %r6, %r0, %r5;\n");
    for (int t = 0; t < 8; t++) {
        if (t < 7) {
            buf_printf(&b, "cp.async.cg.shared.global [%%r2+%d], [%%l0+%d], 16;\n",
                       (t + 1) % 2 * 512, 512 * (t + 1));
        }
        buf_puts(&b, COMMIT);
        if (wait) buf_puts(&b, "cp.async.wait_group 1;\n");
        if (barrier) buf_puts(&b, BAR);
        buf_printf(&b, "ld.shared.v2.b64 {%%l2,%%l3}, [%%r6+%d];\nadd.u64 %%l4, %%l4, %%l2;\n"
                       "add.u64 %%l4, %%l4, %%l3;\n", t % 2 * 512);
        buf_puts(&b, BAR);
    }
    buf_puts(&b, "st.global.b64 [%l1], %l4;\n");
    return buf_str(&b);
}

static void a_ring_of_stages(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (int bug = 0; bug < 3; bug++) {
            PtxRun r;
            start(&r, &(Kernel){.body = NULL, .smem = 1024}, seed);
            const char *ptx = text(&r, ring(&r, bug != 1, bug != 2));
            if (bug) {
                run_faulty(&r, ptx, bug == 1 ? SIM_NOT_ARRIVED : SIM_RACE_SHARED);
            } else {
                run_clean(&r, ptx);
                const unsigned char *out = run_host(&r, 1);
                for (int t = 0; t < 32; t++) {
                    uint64_t sum = 0, got;
                    for (int tile = 0; tile < 8; tile++) {
                        uint64_t two[2];
                        memcpy(two, input + 512 * tile + 16 * (t ^ 31), 16);
                        sum += two[0] + two[1];
                    }
                    memcpy(&got, out + 16 * t, 8);
                    assert_true(got == sum);
                }
            }
            run_close(&r);
        }
    }
}

/* What a copy reads is the source at some moment before the wait, not at the issue.  */
static void sources_are_read_late(void **state) {
    (void)state;
    bool seen[2] = {false, false};
    for (uint64_t seed = 0; seed < 64; seed++) {
        PtxRun r;
        start(&r, &(Kernel){.body = NULL}, seed);
        run_clean(&r, text(&r, COPY16 COMMIT "mov.b32 %r7, 0;\nL:\nadd.u32 %r7, %r7, 1;\n"
                               "setp.lt.u32 %p1, %r7, 2000;\n@%p1 bra L;\n"
                               "mov.b64 %l6, 0;\nst.global.b64 [%l0], %l6;\n"
                               "cp.async.wait_group 0;\n" OUT16));
        uint64_t got;
        memcpy(&got, run_host(&r, 1), 8);
        seen[got == 0] = true;
        run_close(&r);
    }
    assert_true(seen[0] && seen[1]);
}

static void copies_check_their_addresses(void **state) {
    (void)state;
    faulty(&(Kernel){.body = "cp.async.cg.shared.global [%r2], [%l0+8], 16;\n"}, SIM_MISALIGNED);
    faulty(&(Kernel){.body = "cp.async.cg.shared.global [%r2+4], [%l0], 16;\n"}, SIM_MISALIGNED);
    faulty(&(Kernel){.body = "cp.async.cg.shared.global [%r2], [%l0+4096], 16;\n"},
           SIM_OUT_OF_BOUNDS);
    faulty(&(Kernel){.body = "cp.async.cg.shared.global [%r2+8192], [%l0], 16;\n"},
           SIM_OUT_OF_BOUNDS);
}

static void counts_what_copies_move(void **state) {
    (void)state;
    PtxRun r;
    start(&r, &(Kernel){.body = NULL}, 1);
    run_clean(&r, text(&r, COPY16 "cp.async.wait_all;\n"));
    const SimCounters *c = &r.report.total;
    assert_int_equal(c->async_copies, 1);
    assert_int_equal(c->global_load_sectors, 16);
    assert_int_equal(c->global_load_bytes, 512);
    assert_int_equal(c->shared_store_wavefronts, 4);
    assert_int_equal(c->max_bytes_in_flight, 512);
    run_close(&r);
}

/* ---- mbarriers ---- */
#define INIT(count)                                                                                \
    "setp.eq.u32 %p0, %t, 0;\n@%p0 mbarrier.init.shared.b64 [%r0], " #count ";\n" BAR
#define SPIN(parity)                                                                               \
    "W" #parity ":\nmbarrier.try_wait.parity.shared.b64 %p1, [%r0], " #parity                      \
    ";\n@!%p1 bra W" #parity ";\n"
/* Data behind the barrier object: one word per thread.  */
#define PUT "shl.b32 %r8, %t, 2;\nadd.u32 %r8, %r8, %r0;\nst.shared.b32 [%r8+64], %t;\n"
#define GET "xor.b32 %r9, %t, 37;\nshl.b32 %r8, %r9, 2;\nadd.u32 %r8, %r8, %r0;\n"                 \
            "ld.shared.b32 %r10, [%r8+64];\nmul.wide.u32 %l2, %t, 4;\nadd.u64 %l3, %a1, %l2;\n"   \
            "st.global.b32 [%l3], %r10;\n"

static void exchanged(const unsigned char *out) {
    for (uint32_t t = 0; t < 64; t++) {
        uint32_t v;
        memcpy(&v, out + 4 * t, 4);
        assert_int_equal(v, t ^ 37);
    }
}

static void mbarriers_order_data(void **state) {
    (void)state;
    clean(&(Kernel){.body = INIT(64) PUT "mbarrier.arrive.shared.b64 %l5, [%r0];\n" SPIN(0) GET,
                    .threads = 64},
          exchanged);
    clean(&(Kernel){.body = INIT(64) PUT "mbarrier.arrive.shared.b64 %l5, [%r0];\n"
                    "W:\nmbarrier.test_wait.shared.b64 %p1, [%r0], %l5;\n@!%p1 bra W;\n" GET,
                    .threads = 64}, exchanged);
    clean(&(Kernel){.body = INIT(64) PUT "mbarrier.arrive.shared.b64 %l5, [%r0];\n"
                    "W:\nmbarrier.test_wait.parity.shared.b64 %p1, [%r0], 0;\n@!%p1 bra W;\n" GET,
                    .threads = 64}, exchanged);
    clean(&(Kernel){.body = INIT(128) PUT "mbarrier.arrive.shared.b64 %l5, [%r0], 2;\n" SPIN(0) GET,
                    .threads = 64}, exchanged);
    clean(
        &(Kernel){.body = INIT(64) PUT
                  "mbarrier.arrive.release.cta.shared::cta.b64 _, [%r0];\n"
                  "W:\nmbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r0], 0, 1000;\n"
                  "@!%p1 bra W;\n" GET,
                  .threads = 64},
        exchanged);
    clean(&(Kernel){.body = INIT(64) PUT "mbarrier.arrive.noComplete.shared.b64 %l5, [%r0], 1;\n"
                    "setp.eq.u32 %p3, %t, 63;\n", .threads = 1}, NULL);
    faulty(&(Kernel){.body = INIT(64) PUT GET, .threads = 64}, RUN_UNORDERED);
    faulty(&(Kernel){.body = INIT(64) "mbarrier.arrive.shared.b64 %l5, [%r0];\n" PUT SPIN(0) GET,
                     .threads = 64}, RUN_UNORDERED);
    faulty(&(Kernel){.body = INIT(32) PUT "setp.lt.u32 %p4, %t, 32;\n"
                     "@%p4 mbarrier.arrive.shared.b64 %l5, [%r0];\n" SPIN(0) GET, .threads = 64},
           RUN_UNORDERED);
}

static void phases_alternate(void **state) {
    (void)state;
    clean(&(Kernel){.body = INIT(32) "mov.b32 %r11, 0;\nmov.b32 %r12, 0;\nLOOP:\n"
                    "mbarrier.arrive.shared.b64 %l5, [%r0];\n"
                    "W:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r0], %r11;\n@!%p1 bra W;\n"
                    "xor.b32 %r11, %r11, 1;\nadd.u32 %r12, %r12, 1;\nsetp.lt.u32 %p2, %r12, 9;\n"
                    "@%p2 bra LOOP;\n"}, NULL);
    /* The parity of the phase before the first one counts as complete.  */
    clean(&(Kernel){.body = INIT(32) SPIN(1)}, NULL);
}

static void pending_counts(const unsigned char *out) {
    uint32_t v[3];
    memcpy(v, out, sizeof v);
    assert_int_equal(v[0], 5);
    assert_int_equal(v[1], 3);
    assert_int_equal(v[2], 2);
}

static void states_tell_pending_arrivals(void **state) {
    (void)state;
    clean(&(Kernel){.body = INIT(5)
                    "mbarrier.arrive.shared.b64 %l5, [%r0], 2;\n"
                    "mbarrier.pending_count.b64 %r3, %l5;\nst.global.b32 [%a1], %r3;\n"
                    "mbarrier.arrive.noComplete.shared.b64 %l5, [%r0], 1;\n"
                    "mbarrier.pending_count.b64 %r3, %l5;\nst.global.b32 [%a1+4], %r3;\n"
                    "mbarrier.arrive_drop.shared.b64 %l5, [%r0], 2;\n"
                    "mbarrier.pending_count.b64 %r3, %l5;\nst.global.b32 [%a1+8], %r3;\n"
                    /* The drop left an expected count of 3.  */
                    "mbarrier.arrive.shared.b64 %l5, [%r0], 3;\n" SPIN(1)
                    "mbarrier.inval.shared.b64 [%r0];\nmbarrier.init.shared.b64 [%r0], 1;\n",
                    .threads = 1}, pending_counts);
}

static void mbarriers_have_rules(void **state) {
    (void)state;
    faulty(&(Kernel){.body = "mbarrier.arrive.shared.b64 %l5, [%r0];\n", .threads = 1},
           SIM_MBARRIER);
    faulty(&(Kernel){.body = INIT(1) "mbarrier.arrive.shared.b64 %l5, [%r0], 2;\n", .threads = 1},
           SIM_MBARRIER);
    faulty(&(Kernel){.body = INIT(0), .threads = 1}, SIM_MBARRIER);
    faulty(&(Kernel){.body = INIT(1) INIT(1), .threads = 1}, SIM_MBARRIER);
    faulty(&(Kernel){.body = INIT(
                         1) "st.shared.b32 [%r0], 0;\nmbarrier.arrive.shared.b64 %l5, [%r0];\n",
                     .threads = 1},
           SIM_MBARRIER);
    faulty(&(Kernel){.body = INIT(2) "mbarrier.arrive.noComplete.shared.b64 %l5, [%r0], 2;\n",
                     .threads = 1},
           SIM_MBARRIER);
    faulty(&(Kernel){.body = "mbarrier.init.shared.b64 [%r0+4], 1;\n", .threads = 1},
           SIM_MISALIGNED);
    faulty(&(Kernel){.body = "setp.eq.u32 %p0, %t, 0;\n@%p0 mbarrier.init.shared.b64 [%r0], 64;\n"
                     "mbarrier.arrive.shared.b64 %l5, [%r0];\n", .threads = 64}, RUN_UNORDERED);
}

static void waiting_for_ever_is_a_deadlock(void **state) {
    (void)state;
    faulty(&(Kernel){.body = INIT(33) "mbarrier.arrive.shared.b64 %l5, [%r0];\n" SPIN(0)},
           SIM_DEADLOCK);
    faulty(
        &(Kernel){.body = INIT(1) "mbarrier.arrive.expect_tx.shared.b64 %l5, [%r0], 16;\n" SPIN(0),
                  .threads = 1},
        SIM_DEADLOCK);
    PtxRun r;
    start(&r, &(Kernel){.body = NULL, .threads = 1}, 0);
    run_faulty(&r, text(&r, INIT(2) "W:\nmbarrier.test_wait.parity.shared.b64 %p1, [%r0], 0;\n"
                                    "@!%p1 bra W;\n"), SIM_DEADLOCK);
    run_close(&r);
}

static void transactions_hold_a_phase(void **state) {
    (void)state;
    clean(&(Kernel){.body = INIT(1) "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r0], 48;\n"
                    "mbarrier.arrive.shared.b64 %l5, [%r0];\n"
                    "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r0], 48;\n" SPIN(0),
                    .threads = 1}, NULL);
}

static void copies_tell_an_mbarrier(void **state) {
    (void)state;
    clean(&(Kernel){.body = INIT(32) "cp.async.cg.shared.global [%r2+64], [%l0], 16;\n"
                    "cp.async.mbarrier.arrive.noinc.shared.b64 [%r0];\n" SPIN(0)
                    "ld.shared.v2.b64 {%l2,%l3}, [%r2+64];\nst.global.v2.b64 [%l1], {%l2,%l3};\n"},
          same_512);
    clean(&(Kernel){.body = INIT(32) "cp.async.cg.shared.global [%r2+64], [%l0], 16;\n"
                    "cp.async.mbarrier.arrive.shared.b64 [%r0];\n"
                    "mbarrier.arrive.shared.b64 %l5, [%r0];\n" SPIN(0)
                    "ld.shared.v2.b64 {%l2,%l3}, [%r2+64];\nst.global.v2.b64 [%l1], {%l2,%l3};\n"},
          same_512);
    faulty(&(Kernel){.body = INIT(32) "cp.async.cg.shared.global [%r2+64], [%l0], 16;\n"
                     "mbarrier.arrive.shared.b64 %l5, [%r0];\n" SPIN(0)
                     "ld.shared.v2.b64 {%l2,%l3}, [%r2+64];\n"}, SIM_NOT_ARRIVED);
}

/* ---- bulk copies: one thread issues ---- */
#define ONE "setp.eq.u32 %p5, %t, 0;\n"
#define VISIBLE_INIT                                                                               \
    "@%p5 mbarrier.init.shared.b64 [%r0], 1;\n"                                                    \
    "@%p5 fence.mbarrier_init.release.cluster;\n" BAR
#define BULK_LOAD(bytes)                                                                           \
    "@%p5 mbarrier.arrive.expect_tx.shared.b64 %l5, [%r0], " #bytes ";\n"                          \
    "@%p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0+64], "            \
    "[%a0], " #bytes ", [%r0];\n"
#define OUT_ALL "ld.shared.v2.b64 {%l2,%l3}, [%r2+64];\nst.global.v2.b64 [%l1], {%l2,%l3};\n"

static void bulk_loads(void **state) {
    (void)state;
    clean(&(Kernel){.body = ONE VISIBLE_INIT BULK_LOAD(512) SPIN(0) OUT_ALL}, same_512);
    clean(&(Kernel){.body = ONE VISIBLE_INIT BULK_LOAD(512) SPIN(0) OUT_ALL, .benign = true},
          same_512);
    faulty(&(Kernel){.body = ONE VISIBLE_INIT BULK_LOAD(512) OUT_ALL}, SIM_NOT_ARRIVED);
    faulty(&(Kernel){.body = ONE VISIBLE_INIT BULK_LOAD(24) SPIN(0)}, SIM_MISALIGNED);
    faulty(&(Kernel){.body = ONE VISIBLE_INIT BULK_LOAD(4112) SPIN(0)}, SIM_OUT_OF_BOUNDS);
    faulty(&(Kernel){.body = ONE VISIBLE_INIT BULK_LOAD(512)}, SIM_NOT_ARRIVED);
    /* Fewer bytes expected than come: the phase never closes.  */
    faulty(
        &(Kernel){
            .body = ONE VISIBLE_INIT
            "@%p5 mbarrier.arrive.expect_tx.shared.b64 %l5, [%r0], 528;\n"
            "@%p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0+64], "
            "[%a0], 512, [%r0];\n" SPIN(0) OUT_ALL},
        SIM_DEADLOCK);
}

/* Devices are known to see an mbarrier that was initialised without a fence.  */
static void unfenced_mbarriers(void **state) {
    (void)state;
    static const char body[] = ONE "@%p5 mbarrier.init.shared.b64 [%r0], 1;\n" BAR BULK_LOAD(512)
        SPIN(0) OUT_ALL;
    static const char fenced[] = ONE VISIBLE_INIT BULK_LOAD(512) SPIN(0) OUT_ALL;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (int n = 0; n < 3; n++) {
            PtxRun r;
            start(&r, &(Kernel){0}, seed);
            r.options.strict = n != 0;
            if (n == 1) run_faulty(&r, text(&r, body), SIM_PROXY_FENCE);
            else run_clean(&r, text(&r, n == 0 ? body : fenced));
            assert_int_equal(r.report.n_warning, n == 0);
            if (n == 0) {
                assert_int_equal(r.report.warning[0].kind, SIM_PROXY_FENCE);
                same_512(run_host(&r, 1));
            }
            run_close(&r);
        }
    }
}

#define FILL "ld.global.v2.b64 {%l2,%l3}, [%l0];\nst.shared.v2.b64 [%r2], {%l2,%l3};\n"
#define BULK_STORE "@%p5 cp.async.bulk.global.shared::cta.bulk_group [%a1], [%r0], 512;\n"
#define BULK_COMMIT "@%p5 cp.async.bulk.commit_group;\n"
#define BULK_WAIT "@%p5 cp.async.bulk.wait_group 0;\n"
#define BULK_WAIT_READ "@%p5 cp.async.bulk.wait_group.read 0;\n"

static void bulk_stores(void **state) {
    (void)state;
    clean(&(Kernel){.body = ONE FILL "fence.proxy.async;\n" BAR BULK_STORE BULK_COMMIT BULK_WAIT},
          same_512);
    clean(&(Kernel){.body = ONE FILL "fence.proxy.async.shared::cta;\n" BAR BULK_STORE BULK_COMMIT
                    BULK_WAIT_READ BAR "st.shared.b32 [%r2], 0;\n"}, same_512);
    faulty(&(Kernel){.body = ONE FILL BAR BULK_STORE BULK_COMMIT BULK_WAIT}, SIM_PROXY_FENCE);
    faulty(&(Kernel){.body = ONE FILL "fence.proxy.async;\n" BULK_STORE BULK_COMMIT BULK_WAIT,
                     .threads = 64},
           SIM_RACE_SHARED);
    /* The source is overwritten before the wait; the wait is missing.  */
    faulty(&(Kernel){.body = ONE FILL "fence.proxy.async;\n" BAR BULK_STORE BULK_COMMIT
                     "st.shared.b32 [%r2], 0;\n" BULK_WAIT_READ}, SIM_RACE_SHARED);
    faulty(&(Kernel){.body = ONE FILL "fence.proxy.async;\n" BAR BULK_STORE BULK_COMMIT},
           SIM_NOT_ARRIVED);
    faulty(&(Kernel){.body = ONE FILL "fence.proxy.async;\n" BAR BULK_STORE BULK_WAIT},
           SIM_NOT_ARRIVED);
    faulty(&(Kernel){.body = ONE FILL "fence.proxy.async;\n" BAR BULK_STORE BULK_COMMIT
                     "@%p5 cp.async.bulk.wait_group.read 1;\n"}, SIM_NOT_ARRIVED);
}

static void bulk_reductions(void **state) {
    (void)state;
    static const struct {
        const char *op;
        uint32_t from, to, result;    /* shared, global before, global after */
    } cases[] = {
        {"add.u32", 7, 0xfffffffe, 5},       {"add.s32", 7, 0xfffffffe, 5},
        {"min.u32", 7, 0xfffffffe, 7},       {"min.s32", 7, 0xfffffffe, 0xfffffffe},
        {"max.u32", 7, 0xfffffffe, 0xfffffffe}, {"max.s32", 7, 0xfffffffe, 7},
        {"inc.u32", 7, 6, 7},                {"inc.u32", 7, 7, 0},
        {"dec.u32", 7, 0, 7},                {"dec.u32", 7, 5, 4},
        {"and.b32", 0xff0f, 0xf0f0, 0xf000}, {"or.b32", 0xff0f, 0xf0f0, 0xffff},
        {"xor.b32", 0xff0f, 0xf0f0, 0x0fff}, {"add.f32", 0x3f800000, 0x40000000, 0x40400000},
        {"add.noftz.f16", 0x3c003c00, 0x40003800, 0x42003e00},
        {"add.noftz.bf16", 0x3f803f80, 0x40003f00, 0x40403fc0},
        {"min.f16", 0x3c003c00, 0x40003800, 0x3c003800},
        {"max.bf16", 0x3f803f80, 0x40003f00, 0x40003f80},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        PtxRun r;
        start(&r, &(Kernel){.body = NULL, .number = cases[k].from}, k);
        uint32_t *out = run_host(&r, 1);
        for (int j = 0; j < 32; j++) out[j] = cases[k].to;
        run_clean(
            &r,
            text(&r, arena_printf(
                         r.arena,
                         "setp.eq.u32 %%p5, %%t, 0;\ncvt.u32.u64 %%r3, %%a2;\nshl.b32 %%r4, %%t, "
                         "2;\nadd.u32 %%r4, %%r4, %%r0;\n"
                         "st.shared.b32 [%%r4], %%r3;\nfence.proxy.async;\n" BAR
                         "@%%p5 cp.reduce.async.bulk.global.shared::cta.bulk_group.%s [%%a1], "
                         "[%%r0], 128;\n"
                         "@%%p5 cp.async.bulk.commit_group;\n@%%p5 cp.async.bulk.wait_group 0;\n",
                         cases[k].op)));
        for (int j = 0; j < 32; j++) assert_int_equal(out[j], cases[k].result);
        run_close(&r);
    }
}

static void instructions_that_do_not_exist(void **state) {
    (void)state;
    static const char *const bad[] = {
        "cp.async.cg.shared.global [%r2], [%l0], 8;",
        "cp.async.ca.shared.global [%r2], [%l0], 32;",
        "cp.async.ca.global.global [%l0], [%l0], 16;",
        "mbarrier.init.global.b64 [%l0], 1;",
        "mbarrier.init.shared.b32 [%r0], 1;",
        "cp.async.bulk.shared::cluster.global.bulk_group [%r0], [%l0], 16;",
        "cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [%l0], [%r0], 16, [%r0];",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%l0], [%r0], 16;",
        "setmaxnreg.inc.sync.aligned.u32 20;",
        "setmaxnreg.inc.sync.aligned.u32 100;",
        "setmaxnreg.sync.aligned.u32 104;",
        "cp.async.wait_group.read 0;",
        "cp.async.wait_group %r0;",
        /* Registers of the wrong size, operands of the wrong kind.  */
        "mbarrier.arrive.shared.b64 %r1, [%r0];",
        "mbarrier.arrive.shared.b64 [%r0];",
        "mbarrier.test_wait.shared.b64 %p1, [%r0], %r1;",
        "mbarrier.try_wait.parity.shared.b64 %p1, [%r0], %l1;",
        "mbarrier.try_wait.parity.shared::cluster.b64 %p1, [%r0], 0;",
        "cp.async.cg.shared.global [%r2], [%l0], 16, %l1;",
        "cp.async.cg.shared.global %r2, [%l0], 16;",
        "cp.async.bulk.global.shared::cta.bulk_group [%l0], [%r0], %l1;",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%l0, {%l1, %l2}], [%r0];",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%l0, {%r1}], [%r0];",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%l1, %l2}, [%r0];",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r1, [%r0];",
        "elect.sync %p1, %r0;",
        "mapa.shared::cluster.u64 %r0, %l1, 0;",
        "barrier.cluster.wait.relaxed;",
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.f32 [%r0], "
         "%r1, [%r2];"),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r0], {%l0, %l1, %l2, "
         "%l3}, "
         "[%r2];"),
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        PtxRun r;
        run_open(&r);
        if (run_text(&r, run_kernel(r.arena, 0, bad[k]))) fail_msg("accepted: %s", bad[k]);
        assert_int_equal(diag_first_error(&r.diag)->status, ST_SIMULATOR);
        run_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_by_groups),
        cmocka_unit_test(copies_of_every_size),
        cmocka_unit_test(copies_fill_with_zeros),
        cmocka_unit_test(copies_are_waited_for),
        cmocka_unit_test(waits_are_followed_by_a_barrier),
        cmocka_unit_test(a_ring_of_stages),
        cmocka_unit_test(sources_are_read_late),
        cmocka_unit_test(copies_check_their_addresses),
        cmocka_unit_test(counts_what_copies_move),
        cmocka_unit_test(mbarriers_order_data),
        cmocka_unit_test(phases_alternate),
        cmocka_unit_test(states_tell_pending_arrivals),
        cmocka_unit_test(mbarriers_have_rules),
        cmocka_unit_test(waiting_for_ever_is_a_deadlock),
        cmocka_unit_test(transactions_hold_a_phase),
        cmocka_unit_test(copies_tell_an_mbarrier),
        cmocka_unit_test(bulk_loads),
        cmocka_unit_test(unfenced_mbarriers),
        cmocka_unit_test(bulk_stores),
        cmocka_unit_test(bulk_reductions),
        cmocka_unit_test(instructions_that_do_not_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
