/* links: sim */
/* Warps: exchanges between lanes, divergence, calls, loops, barriers.  Each thread of a kernel
 * stores its result to p0[tid].  */
#include "ptxrun.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef uint32_t u32;

/* Runs the body on `threads` threads; it leaves a 32-bit result in %r0.  %r1 holds p1[tid].  */
static void run(const char *body, u32 threads, const u32 *in, u32 *out) {
    for (uint64_t seed = 0; seed < 3; seed++) {
        PtxRun r;
        run_open(&r);
        r.options.seed = seed;
        r.launch.block[0] = threads;
        run_memory(&r, NULL, threads * 4);
        run_memory(&r, in, threads * 4);
        const char *text = arena_printf(r.arena,
            "mul.wide.u32 %%l0, %%t, 4;\nadd.u64 %%l1, %%a1, %%l0;\nld.global.u32 %%r1, [%%l1];\n"
            "%s\nadd.u64 %%l1, %%a0, %%l0;\nst.global.u32 [%%l1], %%r0;", body);
        run_clean(&r, run_kernel(r.arena, 2, text));
        u32 *now = run_host(&r, 0);
        if (seed > 0) assert_memory_equal(now, out, threads * 4);
        memcpy(out, now, threads * 4);
        run_close(&r);
    }
}

typedef u32 Want(const u32 *in, int lane);
typedef struct {
    const char *body;
    Want *want;
} Case;

static void check(const Case *c, int n, u32 threads) {
    u32 in[128], out[128];
    Rng rng = {7};
    for (int k = 0; k < n; k++) {
        for (u32 t = 0; t < threads; t++) in[t] = (u32)rng_next(&rng) >> (t % 3 * 12);
        run(c[k].body, threads, in, out);
        for (u32 t = 0; t < threads; t++) {
            u32 want = c[k].want(in, (int)t);
            if (out[t] != want)
                fail_msg("%s\nthread %u: got %x, expected %x", c[k].body, t, out[t], want);
        }
    }
}
#define CHECK(cases, threads) check(cases, (int)(sizeof(cases) / sizeof((cases)[0])), threads)
#define LANE(name, expr)                                                                           \
    static u32 name(const u32 *in, int lane) {                                                     \
        (void)in, (void)lane;                                                                      \
        return (u32)(expr);                                                                        \
    }

/* ---- shuffles: the segment of a lane is where the mask bits agree ---- */

LANE(up1, in[lane ? lane - 1 : 0])
LANE(up3_8, in[lane % 8 >= 3 ? lane - 3 : lane])
LANE(down4, in[lane < 28 ? lane + 4 : lane])
LANE(down2_16, in[lane % 16 < 14 ? lane + 2 : lane])
LANE(bfly, in[lane ^ 5])
LANE(bfly_8, in[lane ^ 3])
LANE(idx7, in[7])
LANE(idx_8, in[lane / 8 * 8 + 5])
LANE(in_range, lane % 8 >= 3)
static u32 total(const u32 *in, int lane) {
    u32 s = 0;
    (void)lane;
    for (int k = 0; k < 32; k++) s += in[k];
    return s;
}
#define STEP(n) "shfl.sync.bfly.b32 %r2, %r0, " #n ", 31, -1; add.u32 %r0, %r0, %r2;\n"

static void shuffles(void **state) {
    (void)state;
    static const Case cases[] = {
        {"shfl.sync.up.b32 %r0, %r1, 1, 0, -1;", up1},
        {"shfl.sync.up.b32 %r0, %r1, 3, 0x1800, -1;", up3_8},
        {"shfl.sync.down.b32 %r0, %r1, 4, 31, -1;", down4},
        {"shfl.sync.down.b32 %r0, %r1, 2, 0x101f, 0xffffffff;", down2_16},
        {"shfl.sync.bfly.b32 %r0, %r1, 5, 31, -1;", bfly},
        {"shfl.sync.bfly.b32 %r0, %r1, 3, 0x181f, -1;", bfly_8},
        {"shfl.sync.idx.b32 %r0, %r1, 7, 31, -1;", idx7},
        {"shfl.sync.idx.b32 %r0, %r1, 5, 0x181f, -1;", idx_8},
        {"shfl.sync.up.b32 %r2|%p0, %r1, 3, 0x1800, -1; selp.u32 %r0, 1, 0, %p0;", in_range},
        {"mov.u32 %r0, %r1;\n" STEP(16) STEP(8) STEP(4) STEP(2) STEP(1), total},
        {"mov.u32 %r3, %r1; shfl.sync.idx.b32 %r3, %r3, 7, 31, -1; mov.u32 %r0, %r3;", idx7},
    };
    CHECK(cases, 32);
}

/* ---- votes, matches, reductions ---- */

static u32 ballot_of(const u32 *in, u32 bit) {
    u32 m = 0;
    for (int k = 0; k < 32; k++) m |= (in[k] >> bit & 1) << k;
    return m;
}
LANE(ballot, ballot_of(in, 0))
LANE(ballot_not, ~ballot_of(in, 0))
LANE(vote_any, ballot_of(in, 0) != 0)
LANE(vote_all, ballot_of(in, 0) == 0xffffffff)
LANE(vote_uni, ballot_of(in, 0) == 0xffffffff || ballot_of(in, 0) == 0)
static u32 same(const u32 *in, int lane, u32 mask) {
    u32 m = 0;
    for (int k = 0; k < 32; k++) m |= (u32)((in[k] & mask) == (in[lane] & mask)) << k;
    return m;
}
LANE(match3, same(in, lane, 3))
LANE(match_none, 0)
LANE(match_all, 0xffffffff)
#define FOLD(name, expr)                                                                           \
    static u32 name(const u32 *in, int lane) {                                                     \
        u32 a = in[0];                                                                             \
        (void)lane;                                                                                \
        for (int k = 1; k < 32; k++) {                                                             \
            u32 b = in[k];                                                                         \
            a = (u32)(expr);                                                                       \
        }                                                                                          \
        return a;                                                                                  \
    }
FOLD(red_min_u, a < b ? a : b)
FOLD(red_max_s, (int32_t)a > (int32_t)b ? a : b)
FOLD(red_min_s, (int32_t)a < (int32_t)b ? a : b)
FOLD(red_and, a &b)
FOLD(red_or, a | b)
FOLD(red_xor, a ^ b)
LANE(half_mask, lane < 16 ? 0xffff : 0xffff0000)
static u32 half_sum(const u32 *in, int lane) {
    u32 sum = 0;
    for (int k = lane / 16 * 16; k < lane / 16 * 16 + 16; k++) sum += in[k];
    return sum;
}

static void votes(void **state) {
    (void)state;
    static const Case cases[] = {
        {"and.b32 %r2, %r1, 1; setp.eq.u32 %p0, %r2, 1; vote.sync.ballot.b32 %r0, %p0, -1;",
         ballot},
        {"and.b32 %r2, %r1, 1; setp.eq.u32 %p0, %r2, 1; vote.sync.ballot.b32 %r0, !%p0, -1;",
         ballot_not},
        {"and.b32 %r2, %r1, 1; setp.eq.u32 %p0, %r2, 1; xor.pred %p0, %p0, -1; "
         "and.pred %p0, %p0, 1; vote.sync.ballot.b32 %r0, %p0, -1;",
         ballot_not},
        {"and.b32 %r2, %r1, 1; setp.eq.u32 %p0, %r2, 1; vote.sync.any.pred %p1, %p0, -1; "
         "selp.u32 %r0, 1, 0, %p1;",
         vote_any},
        {"and.b32 %r2, %r1, 1; setp.eq.u32 %p0, %r2, 1; vote.sync.all.pred %p1, %p0, -1; "
         "selp.u32 %r0, 1, 0, %p1;",
         vote_all},
        {"and.b32 %r2, %r1, 1; setp.eq.u32 %p0, %r2, 1; vote.sync.uni.pred %p1, %p0, -1; "
         "selp.u32 %r0, 1, 0, %p1;",
         vote_uni},
        {"and.b32 %r2, %r1, 3; match.any.sync.b32 %r0, %r2, -1;", match3},
        {"and.b32 %r2, %r1, 3; cvt.u64.u32 %l2, %r2; match.any.sync.b64 %r0, %l2, -1;", match3},
        {"match.all.sync.b32 %r0, %r1, -1;", match_none},
        {"mov.u32 %r2, 5; match.all.sync.b32 %r0|%p0, %r2, -1;", match_all},
        {"redux.sync.add.u32 %r0, %r1, -1;", total},
        {"redux.sync.min.u32 %r0, %r1, -1;", red_min_u},
        {"redux.sync.max.s32 %r0, %r1, -1;", red_max_s},
        {"redux.sync.min.s32 %r0, %r1, -1;", red_min_s},
        {"redux.sync.and.b32 %r0, %r1, -1;", red_and},
        {"redux.sync.or.b32 %r0, %r1, -1;", red_or},
        {"redux.sync.xor.b32 %r0, %r1, -1;", red_xor},
        {"activemask.b32 %r0;", match_all},
        {"setp.lt.u32 %p0, %t, 16; @%p0 bra A; activemask.b32 %r0; bra B; A: activemask.b32 %r0; "
         "B:",
         half_mask},
        {"setp.lt.u32 %p0, %t, 16; @%p0 bra A; redux.sync.add.u32 %r0, %r1, 0xffff0000; bra B;\n"
         "A: redux.sync.add.u32 %r0, %r1, 0xffff; B:",
         half_sum},
    };
    CHECK(cases, 32);
}

/* ---- divergence ---- */

static u32 collatz(const u32 *in, int lane) {
    u32 n = 0;
    for (u32 v = in[lane] % 1000 + 1; v != 1; n++) v = v & 1 ? 3 * v + 1 : v / 2;
    return n;
}
LANE(nested, lane & 1 ? (lane & 2 ? 10 : 20) : (lane & 4 ? 30 : 40))
LANE(table, lane % 4 == 1 ? 200 : lane % 4 == 2 ? 300 : 100)
LANE(early, lane < 8 ? 1 : 2)
LANE(lock_step, 32)
LANE(handshake, lane == 0 ? 31 : (u32)lane)
LANE(first_two, lane < 2 ? 7 : lane)

static void divergence(void **state) {
    (void)state;
    static const Case cases[] = {
        {"rem.u32 %r2, %r1, 1000; add.u32 %r2, %r2, 1; mov.u32 %r0, 0;\n"
         "LOOP: setp.eq.u32 %p0, %r2, 1; @%p0 bra DONE;\n"
         "and.b32 %r3, %r2, 1; setp.eq.u32 %p1, %r3, 1; @%p1 bra ODD;\n"
         "shr.u32 %r2, %r2, 1; bra NEXT;\nODD: mad.lo.u32 %r2, %r2, 3, 1;\n"
         "NEXT: add.u32 %r0, %r0, 1; bra LOOP;\nDONE:", collatz},
        {"and.b32 %r2, %t, 1; setp.eq.u32 %p0, %r2, 1; and.b32 %r2, %t, 2;\n"
         "setp.eq.u32 %p1, %r2, 2; and.b32 %r2, %t, 4; setp.eq.u32 %p2, %r2, 4;\n"
         "@%p0 bra A; @%p2 bra B; mov.u32 %r0, 40; bra E; B: mov.u32 %r0, 30; bra E;\n"
         "A: @%p1 bra C; mov.u32 %r0, 20; bra E; C: mov.u32 %r0, 10; E:", nested},
        {"and.b32 %r2, %t, 3; T: .branchtargets X, Y, Z, X; brx.idx %r2, T;\n"
         "X: mov.u32 %r0, 100; bra E; Y: mov.u32 %r0, 200; bra E; Z: mov.u32 %r0, 300; E:", table},
        /* After the join the warp is whole again. */
        {"and.b32 %r2, %t, 1; setp.eq.u32 %p0, %r2, 1; @%p0 bra A; mov.u32 %r3, 3; bra E;\n"
         "A: mov.u32 %r3, 4; E: mov.u32 %r4, 0; activemask.b32 %r2; popc.b32 %r0, %r2;", lock_step},
        {"mov.u32 %r0, 2; setp.lt.u32 %p0, %t, 8; @%p0 mov.u32 %r0, 1;", early},
    };
    CHECK(cases, 32);
}

/* Lanes of one warp that wait for each other make progress.  */
static void lanes_wait_for_each_other(void **state) {
    (void)state;
    static const Case cases[] = {
        {".shared .u32 flag; mov.u32 %r2, 0; mov.u32 %r6, flag; setp.eq.u32 %p0, %t, 0;\n"
         "@%p0 st.shared.u32 [%r6], %r2; bar.warp.sync -1; mov.u32 %r0, %t; @!%p0 bra GIVE;\n"
         "WAIT: ld.volatile.shared.u32 %r0, [%r6]; setp.lt.u32 %p1, %r0, 31; @%p1 bra WAIT; bra "
         "E;\n"
         "GIVE: atom.shared.add.u32 %r3, [%r6], 1; E:",
         handshake},
        /* Two lanes wait for the rest of the warp, which ends and does not wait for them.  */
        {"mov.u32 %r0, %t; setp.gt.u32 %p0, %t, 1; @%p0 bra E; bar.warp.sync -1;\n"
         "mov.u32 %r0, 7; E:", first_two},
    };
    CHECK(cases, 32);
}

/* ---- barriers ---- */

LANE(rotated, in[(lane + 33) % 128])
LANE(group_rotated, in[lane / 64 * 64 + (lane + 40) % 64])
static u32 count_odd(const u32 *in, int lane) {
    u32 n = 0;
    (void)lane;
    for (int k = 0; k < 128; k++) n += in[k] & 1;
    return n;
}
static u32 any_big(const u32 *in, int lane) {
    u32 n = 0;
    (void)lane;
    for (int k = 0; k < 128; k++) n |= in[k] > 0xf0000000;
    return n;
}
static u32 all_positive(const u32 *in, int lane) {
    u32 n = 1;
    (void)lane;
    for (int k = 0; k < 128; k++) n &= (int32_t)in[k] >= 0;
    return n;
}
LANE(produced, lane < 64 ? 0 : in[lane - 64])

#define EXCHANGE(bar, target)                                                                      \
    ".shared .u32 s[128]; mov.u32 %r2, s; shl.b32 %r3, %t, 2; add.u32 %r4, %r2, %r3;\n"          \
    "st.shared.u32 [%r4], %r1;\n" bar target " shl.b32 %r3, %r3, 2; add.u32 %r4, %r2, %r3;\n"      \
    "ld.shared.u32 %r0, [%r4];"

static void barriers(void **state) {
    (void)state;
    static const Case cases[] = {
        {EXCHANGE("bar.sync 0;\n", "add.u32 %r3, %t, 33; and.b32 %r3, %r3, 127;"), rotated},
        {EXCHANGE("barrier.sync 3;\n", "add.u32 %r3, %t, 33; and.b32 %r3, %r3, 127;"), rotated},
        {EXCHANGE("barrier.cta.sync.aligned 0, 128;\n",
                  "add.u32 %r3, %t, 33; and.b32 %r3, %r3, 127;"),
         rotated},
        {EXCHANGE("shr.u32 %r5, %t, 6; add.u32 %r5, %r5, 1; bar.sync %r5, 64;\n",
                  "add.u32 %r3, %t, 40; and.b32 %r3, %r3, 63; and.b32 %r6, %t, 64; "
                  "or.b32 %r3, %r3, %r6;"),
         group_rotated},
        {"and.b32 %r2, %r1, 1; setp.eq.u32 %p0, %r2, 1; bar.red.popc.u32 %r0, 0, %p0;", count_odd},
        {"setp.gt.u32 %p0, %r1, 0xf0000000; bar.red.or.pred %p1, 1, 128, %p0; selp.u32 %r0, 1, 0, "
         "%p1;",
         any_big},
        {"setp.lt.s32 %p0, %r1, 0; barrier.red.and.pred %p1, 0, !%p0; selp.u32 %r0, 1, 0, %p1;",
         all_positive},
        /* Half of the warps produce and go on, the other half waits for them. */
        {".shared .u32 s[64]; mov.u32 %r2, s; mov.u32 %r0, 0; setp.lt.u32 %p0, %t, 64; @%p0 bra "
         "GIVE;\n"
         "bar.sync 2, 128; sub.u32 %r3, %t, 64; shl.b32 %r3, %r3, 2; add.u32 %r3, %r3, %r2;\n"
         "ld.shared.u32 %r0, [%r3]; bra E;\n"
         "GIVE: shl.b32 %r3, %t, 2; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1;\n"
         "bar.arrive 2, 128; E:",
         produced},
    };
    CHECK(cases, 128);
}

/* ---- functions ---- */

static const char functions[] = PTX_HEAD
    ".func (.param .b32 out) twice(.param .b32 x)\n{\n.reg .b32 %r<3>;\nld.param.b32 %r1, [x];\n"
    "add.u32 %r2, %r1, %r1;\nst.param.b32 [out], %r2;\nret;\n}\n"
    ".func (.param .b32 out) fact(.param .b32 x, .param .b64 extra)\n{\n.reg .b32 %r<6>;\n"
    ".reg .b64 %l<2>;\n.reg .pred %p;\nld.param.b32 %r1, [x];\nld.param.b64 %l1, [extra];\n"
    "mov.u32 %r2, 1;\nL: setp.lt.u32 %p, %r1, 2;\n@%p bra E;\nmul.lo.u32 %r2, %r2, %r1;\n"
    "sub.u32 %r1, %r1, 1;\nbra L;\nE: {.param .b32 a; .param .b32 b; st.param.b32 [a], %r2;\n"
    "call (b), twice, (a); ld.param.b32 %r3, [b];}\ncvt.u32.u64 %r4, %l1;\nadd.u32 %r3, %r3, %r4;\n"
    "st.param.b32 [out+0], %r3;\nret;\n}\n"
    ".visible .entry k(.param .u64 p0)\n{\n.reg .b32 %r<6>;\n.reg .b64 %l<4>;\n.reg .pred %p;\n"
    "mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 7;\nmov.u32 %r3, 5;\nsetp.ne.u32 %p, %r2, 3;\n"
    "{.param .b32 a; .param .b64 c; .param .b32 b; st.param.b32 [a], %r2;\nmov.u64 %l3, 1000;\n"
    "st.param.b64 [c], %l3;\n@%p call.uni (b), fact, (a, c);\n@%p ld.param.b32 %r3, [b];}\n"
    "ld.param.u64 %l1, [p0];\nmul.wide.u32 %l2, %r1, 4;\nadd.u64 %l1, %l1, %l2;\n"
    "st.global.u32 [%l1], %r3;\nret;\n}\n";

static void calls(void **state) {
    (void)state;
    PtxRun r;
    run_open(&r);
    run_memory(&r, NULL, 32 * 4);
    run_clean(&r, functions);
    const u32 *out = run_host(&r, 0);
    static const u32 factorial[] = {1, 1, 2, 6, 24, 120, 720, 5040};
    for (u32 t = 0; t < 32; t++) {
        assert_int_equal(out[t], t % 8 == 3 ? 5 : 2 * factorial[t % 8] + 1000);
    }
    run_close(&r);
}

/* ---- special registers ---- */

LANE(coordinates, lane % 4 | lane / 4 % 8 << 8 | lane / 32 << 16)
LANE(lane_of, lane % 32)
LANE(warp_of, lane / 32)
LANE(masks, (1u << lane % 32) - 1)
LANE(one_block, 1)

static void special_registers(void **state) {
    (void)state;
    static const Case cases[] = {
        {"mov.u32 %r0, %laneid;", lane_of},
        {"mov.u32 %r0, %warpid;", warp_of},
        {"mov.u32 %r0, %lanemask_lt;", masks},
        {"mov.u32 %r0, %nctaid.z;", one_block},
        {"add.u32 %r0, %laneid, 0;", lane_of},
        {"mov.u64 %l2, %clock64; mov.u64 %l3, %clock64; setp.ge.u64 %p0, %l3, %l2; selp.u32 %r0, "
         "1, 0, %p0;",
         one_block},
    };
    CHECK(cases, 128);
    PtxRun r;
    run_open(&r);
    r.launch.block[0] = 4;
    r.launch.block[1] = 8;
    r.launch.block[2] = 4;
    run_memory(&r, NULL, 128 * 4);
    run_clean(&r, run_kernel(r.arena, 1,
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;\n"
        "mad.lo.u32 %r4, %r3, 8, %r2; mad.lo.u32 %r4, %r4, 4, %r1; mul.wide.u32 %l0, %r4, 4;\n"
        "add.u64 %l0, %l0, %a0; shl.b32 %r2, %r2, 8; shl.b32 %r3, %r3, 16; or.b32 %r1, %r1, %r2;\n"
        "or.b32 %r1, %r1, %r3; st.global.u32 [%l0], %r1;"));
    const u32 *out = run_host(&r, 0);
    for (int t = 0; t < 128; t++) assert_int_equal(out[t], coordinates(NULL, t));
    run_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles),
        cmocka_unit_test(votes),
        cmocka_unit_test(divergence),
        cmocka_unit_test(lanes_wait_for_each_other),
        cmocka_unit_test(barriers),
        cmocka_unit_test(calls),
        cmocka_unit_test(special_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
