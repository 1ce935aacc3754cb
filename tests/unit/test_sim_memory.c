/* links: sim */
/* Memory: every space, width and vector; variables with initialisers; generic addresses;
 * atomics.  */
#include "ptxrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef uint32_t u32;
typedef uint64_t u64;

enum { BYTES = 4096 };
static unsigned char input[BYTES];

static void fill(void) {
    Rng rng = {3};
    for (int k = 0; k < BYTES; k++) input[k] = (unsigned char)rng_next(&rng);
}

/* p0 holds the input, p1 gets 32 bytes per lane; %l0 = p0 + 32 tid, %l1 = p1 + 32 tid.  */
static void start(PtxRun *r) {
    fill();
    run_open(r);
    run_memory(r, input, BYTES);
    run_memory(r, NULL, BYTES);
}

static const char *text(PtxRun *r, const char *body) {
    return run_kernel(
        r->arena, 2,
        arena_printf(
            r->arena,
            "mul.wide.u32 %%l9, %%t, 32;\nadd.u64 %%l0, %%a0, %%l9;\nadd.u64 %%l1, %%a1, %%l9;\n%s",
            body));
}

/* ---- copies: load in one way, store in another, the bytes are the same ---- */

typedef struct {
    const char *body;
    int bytes;                /* copied per lane */
} Copy;

static void copies(void **state) {
    (void)state;
    static const Copy cases[] = {
        {"ld.global.b8 %h0, [%l0]; st.global.b8 [%l1], %h0;", 1},
        {"ld.global.u8 %r0, [%l0]; st.global.u8 [%l1], %r0;", 1},
        {"ld.global.b16 %h0, [%l0+2]; ld.global.b16 %h1, [%l0]; st.global.v2.b16 [%l1], {%h1, "
         "%h0};",
         4},
        {"ld.global.nc.u32 %r0, [%l0]; st.global.u32 [%l1], %r0;", 4},
        {"ld.global.L1::no_allocate.L2::128B.f32 %r0, [%l0]; st.global.wb.f32 [%l1], %r0;", 4},
        {"ld.global.u64 %l2, [%l0]; st.global.u64 [%l1], %l2;", 8},
        {"ld.global.f64 %d0, [%l0]; st.global.f64 [%l1], %d0;", 8},
        {"ld.global.v2.u32 {%r0, %r1}, [%l0]; st.global.v2.u32 [%l1], {%r0, %r1};", 8},
        {"ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%l0]; st.global.v4.u32 [%l1], {%r0, %r1, %r2, "
         "%r3};",
         16},
        {"ld.global.v2.u64 {%l2, %l3}, [%l0]; st.global.v2.u64 [%l1], {%l2, %l3};", 16},
        {"ld.global.v4.u8 {%r0, %r1, %r2, %r3}, [%l0]; st.global.v4.u8 [%l1], {%r0, %r1, %r2, "
         "%r3};",
         4},
        {"ld.global.v4.u16 {%h0, %h1, %h2, %h3}, [%l0]; st.global.v4.b16 [%l1], {%h0, %h1, %h2, "
         "%h3};",
         8},
        {"ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%l0];\n"
         "st.global.v8.b32 [%l1], {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7};",
         32},
        {"ld.global.v4.b64 {%l2, %l3, %l4, %l5}, [%l0]; st.global.v4.b64 [%l1], {%l2, %l3, %l4, "
         "%l5};",
         32},
        {".reg .b128 %q; ld.global.b128 %q, [%l0+0]; st.global.b128 [%l1], %q;", 16},
        {"ld.u32 %r0, [%l0]; st.u32 [%l1], %r0;", 4},
        {"ld.relaxed.gpu.global.u32 %r0, [%l0]; st.release.gpu.global.u32 [%l1], %r0;", 4},
        {"ld.volatile.global.u32 %r0, [%l0]; st.volatile.global.u32 [%l1], %r0;", 4},
        {"ldu.global.u32 %r0, [%l0]; st.global.cs.u32 [%l1], %r0;", 4},
        /* Through shared memory, direct and generic. */
        {".shared .align 16 .b8 s[1024]; shl.b32 %r9, %t, 5; mov.u32 %r8, s; add.u32 %r8, %r8, "
         "%r9;\n"
         "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%l0]; st.shared.v4.u32 [%r8], {%r0, %r1, %r2, "
         "%r3};\n"
         "ld.shared.v2.u64 {%l2, %l3}, [%r8]; st.global.v2.u64 [%l1], {%l2, %l3};",
         16},
        {".shared .align 8 .b8 s[1024]; mov.u64 %l2, s; add.u64 %l2, %l2, %l9; cvta.shared.u64 "
         "%l3, %l2;\n"
         "ld.global.u64 %l4, [%l0]; st.u64 [%l3], %l4; ld.shared::cta.u64 %l5, [%l2]; "
         "st.global.u64 [%l1], %l5;",
         8},
        {".shared .align 8 .b8 s[1024]; mov.u64 %l2, s; add.u64 %l2, %l2, %l9; cvta.shared.u64 "
         "%l3, %l2;\n"
         "cvta.to.shared.u64 %l4, %l3; ld.global.u64 %l5, [%l0]; st.shared.u64 [%l4], %l5;\n"
         "ld.u64 %l6, [%l3]; st.global.u64 [%l1], %l6;",
         8},
        {"mov.u32 %r8, smem; mad.lo.u32 %r8, %t, 4, %r8; ld.global.u32 %r0, [%l0]; st.shared.u32 "
         "[%r8], %r0;\n"
         "ld.volatile.shared.u32 %r1, [%r8]; st.global.u32 [%l1], %r1;",
         4},
        /* Local memory, direct and generic. */
        {".local .align 16 .b8 x[64]; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%l0];\n"
         "st.local.v4.u32 [x+16], {%r0, %r1, %r2, %r3}; ld.local.u64 %l2, [x+16]; ld.local.u64 "
         "%l3, [x+24];\n"
         "st.global.v2.u64 [%l1], {%l2, %l3};",
         16},
        {".local .align 4 .b8 x[64]; mov.u64 %l2, x; cvta.local.u64 %l3, %l2; ld.global.u32 %r0, "
         "[%l0];\n"
         "st.u32 [%l3+4], %r0; ld.local.u32 %r1, [%l2+4]; st.global.u32 [%l1], %r1;",
         4},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        PtxRun r;
        start(&r);
        r.launch.dynamic_smem = 1024;
        run_clean(&r, text(&r, cases[k].body));
        const unsigned char *out = run_host(&r, 1);
        for (int t = 0; t < 32; t++) {
            if (memcmp(out + 32 * t, input + 32 * t, (size_t)cases[k].bytes))
                fail_msg("%s", cases[k].body);
            if (cases[k].bytes < 32) assert_int_equal(out[32 * t + cases[k].bytes], 0xff);
        }
        run_close(&r);
    }
}

/* ---- values: sign and zero extension, variables, parameters, spaces ---- */

typedef struct {
    const char *body;         /* leaves a 64-bit result in %l4 */
    u64 (*want)(int lane);
} Value;

static u64 in64(int lane, int at) {
    u64 v;
    memcpy(&v, input + 32 * lane + at, sizeof v);
    return v;
}
#define LANE(name, expr)                                                                           \
    static u64 name(int lane) {                                                                    \
        (void)lane;                                                                                \
        return (u64)(expr);                                                                        \
    }
LANE(s8, (int8_t)input[32 * lane])
LANE(u8, input[32 * lane])
LANE(s16, (int16_t)in64(lane, 0))
LANE(s32, (int32_t)in64(lane, 0))
LANE(u32_, (u32)in64(lane, 0))
LANE(sum_of_table, 10 + 20 + 30 + 40 + 0)
LANE(eleven, 11)
LANE(minus_two, (u64)-2)
LANE(pi_bits, 0x40490fdb)
LANE(second, in64(0, 8))
LANE(yes, 1)
LANE(no, 0)
LANE(bytes_abc, 'a' | 'b' << 8 | 'c' << 16)

static const char variables[] =
    PTX_HEAD ".const .align 4 .u32 table[5] = {10, 20, 30, 40};\n.global .align 4 .u32 deep[3] = "
             "{7, 11, 13};\n"
             ".global .align 8 .u64 where = generic(deep)+4;\n.global .align 4 .s32 neg = -2;\n"
             ".const .align 4 .f32 pi = 0f40490fdb;\n.global .u64 list[3] = {deep, deep[0], "
             "deep[0] + 4};\n"
             ".global .align 1 .b8 name[4] = {97, 98, 99, 0};\n";

static void check_values(const char *head, const Value *c, int n) {
    for (int k = 0; k < n; k++) {
        PtxRun r;
        start(&r);
        const char *kernel =
            text(&r, arena_printf(r.arena, "%s\nst.global.u64 [%%l1], %%l4;", c[k].body));
        if (head) kernel = arena_printf(r.arena, "%s%s", head, kernel + strlen(PTX_HEAD));
        run_clean(&r, kernel);
        const u64 *out = run_host(&r, 1);
        for (int t = 0; t < 32; t++) {
            if (out[4 * t] == c[k].want(t)) continue;
            fail_msg("%s\nlane %d: got %llx, expected %llx", c[k].body, t,
                     (unsigned long long)out[4 * t], (unsigned long long)c[k].want(t));
        }
        run_close(&r);
    }
}

static void values(void **state) {
    (void)state;
    static const Value cases[] = {
        {"ld.global.s8 %r0, [%l0]; cvt.s64.s32 %l4, %r0;", s8},
        {"ld.global.s8 %l4, [%l0];", s8},
        {"ld.global.u8 %l4, [%l0];", u8},
        {"ld.global.s16 %l4, [%l0];", s16},
        {"ld.global.s16 %r0, [%l0]; cvt.s64.s32 %l4, %r0;", s16},
        {"ld.global.s32 %l4, [%l0];", s32},
        {"ld.global.u32 %l4, [%l0];", u32_},
        {"ld.param.u64 %l2, [p0+0]; ld.global.u64 %l4, [%l2+8];", second},
        {"mov.b64 %l2, p0; cvta.param.u64 %l3, %l2; ld.u64 %l2, [%l3]; ld.global.u64 %l4, [%l2+8];",
         second},
        {"cvta.to.global.u64 %l2, %a0; cvta.global.u64 %l3, %l2; ld.u64 %l4, [%l3+8];", second},
        {"isspacep.global %p0, %a0; selp.u64 %l4, 1, 0, %p0;", yes},
        {"isspacep.shared %p0, %a0; selp.u64 %l4, 1, 0, %p0;", no},
        {".shared .u32 s; mov.u64 %l2, s; cvta.shared.u64 %l2, %l2; isspacep.shared %p0, %l2; "
         "selp.u64 %l4, 1, 0, %p0;",
         yes},
        {".local .u32 x; mov.u64 %l2, x; cvta.local.u64 %l2, %l2; isspacep.local %p0, %l2; "
         "selp.u64 %l4, 1, 0, %p0;",
         yes},
        {"prefetch.global.L2 [%l0]; prefetchu.L1 [%l0]; mov.u64 %l4, 1;", yes},
        {"membar.gl; fence.acq_rel.gpu; fence.sc.sys; membar.cta; mov.u64 %l4, 1;", yes},
        {"createpolicy.fractional.L2::evict_first.b64 %l2, 0f3f800000; "
         "ld.global.L2::cache_hint.u32 %l4, [%l0], %l2;",
         u32_},
    };
    check_values(NULL, cases, (int)(sizeof cases / sizeof *cases));
    static const Value named[] = {
        {"ld.const.u32 %r0, [table]; ld.const.u32 %r1, [table+4]; ld.const.v2.u32 {%r2, %r3}, "
         "[table+8];\n"
         "add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2; add.u32 %r0, %r0, %r3; ld.const.u32 %r1, "
         "[table+16];\n"
         "add.u32 %r0, %r0, %r1; cvt.u64.u32 %l4, %r0;",
         sum_of_table},
        {"ld.global.u64 %l2, [where]; ld.u32 %l4, [%l2];", eleven},
        {"mov.u64 %l2, deep; ld.global.u32 %l4, [%l2+4];", eleven},
        {"ld.global.u64 %l2, [list+8]; ld.global.u32 %l4, [%l2+4];", eleven},
        {"ld.global.s32 %l4, [neg];", minus_two},
        {"ld.global.u64 %l2, [list+16]; ld.global.u32 %l4, [%l2];", eleven},
        /* Elements of arrays, in elements: ptxas makes the same code of table[2] and table+8.  */
        {"mov.u64 %l2, deep[1]; ld.global.u32 %l4, [%l2];", eleven},
        {"cvta.global.u64 %l2, deep[0]; ld.u32 %l4, [%l2+4];", eleven},
        {"ld.global.u32 %l4, deep[1];", eleven},
        {"ld.global.u64 %l2, list[1+0]; ld.global.u32 %l4, [%l2+4];", eleven},
        {"ld.const.f32 %r0, [pi]; cvt.u64.u32 %l4, %r0;", pi_bits},
        {"ld.global.u8 %r0, [name]; ld.global.u8 %r1, [name+1]; ld.global.u8 %r2, [name+2];\n"
         "bfi.b32 %r0, %r1, %r0, 8, 8; bfi.b32 %r0, %r2, %r0, 16, 8; cvt.u64.u32 %l4, %r0;",
         bytes_abc},
        {"mov.u64 %l2, table; cvta.const.u64 %l3, %l2; ld.u32 %r0, [%l3+4]; sub.u32 %r0, %r0, 9; "
         "cvt.u64.u32 %l4, %r0;",
         eleven},
    };
    check_values(variables, named, (int)(sizeof named / sizeof *named));
}

/* A .global variable keeps its value from one launch to the next.  */
static void variables_persist(void **state) {
    (void)state;
    PtxRun r;
    start(&r);
    static const char ptx[] = PTX_HEAD
        ".global .u32 n = 5;\n.visible .entry k(.param .u64 p0, .param .u64 p1)\n"
        "{\n.reg .b32 %r<3>;\n.reg .b64 %l;\nld.global.u32 %r0, [n];\nadd.u32 %r1, %r0, 1;\n"
        "st.global.u32 [n], %r1;\nld.param.u64 %l, [p1];\nst.global.u32 [%l], %r0;\nret;\n}\n";
    SimModule *m;
    assert_int_equal(sim_parse(r.arena, &r.diag, "v.ptx", ptx, strlen(ptx), &m), ST_OK);
    r.launch.block[0] = 1;
    r.launch.params = r.arg;
    r.launch.params_bytes = 16;
    for (u32 n = 0; n < 3; n++) {
        assert_int_equal(run_parsed(&r, m, "k"), ST_OK);
        assert_int_equal(*(u32 *)run_host(&r, 1), 5 + n);
    }
    run_close(&r);
}

/* ---- atomics: all lanes of 4 blocks act on one cell ---- */

typedef struct {
    const char *op;           /* atom{.space}%s.OP [%a0], value */
    const char *type, *value; /* value: a register */
    u64 init, want;
} Atomic;

/* %r1: thread number 0 .. 127 of the grid; %l2 the same in 64 bits; %r2: its f32; %d1: its f64.  */
static const char prologue[] = "mov.u32 %r0, %ctaid.x; mad.lo.u32 %r1, %r0, 32, %t; cvt.u64.u32 "
                               "%l2, %r1; cvt.rn.f32.u32 %r2, %r1;\n"
                               "cvt.rn.f64.u32 %d1, %r1; shl.b32 %r3, 1, %t; cvt.rn.f16x2.f32 %r4, "
                               "%r2, %r2; neg.s32 %r5, %r1;\n";

static const Atomic atomics[] = {
    {"add", "u32", "%r1", 5, 5 + 127 * 64},
    {"add", "s32", "%r5", 5, (u32)(5 - 127 * 64)},
    {"add", "u64", "%l2", (u64)1 << 40, ((u64)1 << 40) + 127 * 64},
    {"add", "f32", "%r2", 0, 0x45fe0000},
    {"add", "f64", "%d1", 0, 0x40bfc00000000000},
    {"min", "u32", "%r1", 50, 0},
    {"max", "u32", "%r1", 50, 127},
    {"min", "s32", "%r5", 50, (u32)-127},
    {"max", "s32", "%r5", (u32)-50, 0},
    {"max", "u64", "%l2", 50, 127},
    {"min", "s64", "%l2", 50, 0},
    {"and", "b32", "%r3", 0xffffffff, 0},
    {"or", "b32", "%r3", 0, 0xffffffff},
    {"xor", "b32", "%r3", 0x1234, 0x1234},
    {"or", "b64", "%l2", 0, 127},
    {"inc", "u32", "%r6", 0, 128 % 11},
    {"dec", "u32", "%r6", 3, (10 + 11 * 20 + 4 - 128) % 11},
    {"exch", "b32", "%r6", 0, 10},
    {"add.noftz", "f16x2", "%r7", 0, 0x58005800},
};

static void run_atomic(const Atomic *a, const char *form, bool shared) {
    PtxRun r;
    run_open(&r);
    u64 cell[32] = {a->init};
    run_memory(&r, cell, sizeof cell);
    r.launch.grid[0] = shared ? 1 : 4;
    r.launch.block[0] = shared ? 128 : 32;
    const char *body = arena_printf(
        r.arena,
        shared
            ? "%s\n.shared .align 8 .b64 s; mov.u64 %%l5, s; ld.global.u64 %%l6, [%%a0]; "
              "setp.eq.u32 %%p1, %%t, 0;\n"
              "mov.u32 %%r1, %%t; @%%p1 st.shared.u64 [%%l5], %%l6; bar.sync 0;\n%s\nbar.sync 0;\n"
              "ld.shared.u64 %%l6, [%%l5]; @%%p1 st.global.u64 [%%a0], %%l6;"
            : "%s\nmov.u64 %%l5, %%a0;\n%s\n",
        arena_printf(r.arena, "%s mov.u32 %%r6, 10; mov.u32 %%r7, 0x3c003c00;", prologue), form);
    run_clean(&r, run_kernel(r.arena, 1, body));
    u64 got = *(u64 *)run_host(&r, 0), mask = strstr(a->type, "64") ? UINT64_MAX : UINT32_MAX;
    if ((got & mask) != a->want) {
        fail_msg("%s: got %llx, expected %llx", form, (unsigned long long)got,
                 (unsigned long long)a->want);
    }
    assert_true(r.report.total.atomics > 0);
    run_close(&r);
}

static void atomic_operations(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof atomics / sizeof *atomics; k++) {
        const Atomic *a = &atomics[k];
        char form[200];
        const char *to = strstr(a->type, "64") ? (a->type[0] == 'f' ? "%d5" : "%l7") : "%r9";
        snprintf(form, sizeof form, "atom.global.%s.%s %s, [%%l5], %s;", a->op, a->type, to,
                 a->value);
        run_atomic(a, form, false);
        if (strcmp(a->op, "exch")) {
            snprintf(form, sizeof form, "red.relaxed.gpu.global.%s.%s [%%l5], %s;", a->op, a->type,
                     a->value);
            run_atomic(a, form, false);
        }
    }
    /* On shared memory the 128 threads of one block give the same sums. */
    static const Atomic shared[] = {
        {"add", "u32", "%r1", 5, 5 + 127 * 64}, {"max", "u32", "%r1", 50, 127},
        {"inc", "u32", "%r6", 0, 128 % 11}, {"or", "b32", "%r1", 0, 127},
    };
    for (size_t k = 0; k < sizeof shared / sizeof *shared; k++) {
        char form[200];
        snprintf(form, sizeof form, "atom.shared.%s.%s %%r9, [%%l5], %s;", shared[k].op,
                 shared[k].type, shared[k].value);
        run_atomic(&shared[k], form, true);
        snprintf(form, sizeof form, "red.shared.%s.%s [%%l5], %s;", shared[k].op, shared[k].type,
                 shared[k].value);
        run_atomic(&shared[k], form, true);
    }
}

/* Tickets: every thread gets a different old value.  A lock by compare-and-swap guards a plain
 * sum.  */
static void atomic_results(void **state) {
    (void)state;
    PtxRun r;
    run_open(&r);
    u32 zero[128] = {0};
    run_memory(&r, zero, sizeof zero);
    run_memory(&r, zero, sizeof zero);
    r.launch.grid[0] = 4;
    run_clean(&r, run_kernel(r.arena, 2,
        "atom.global.add.u32 %r0, [%a0], 1; mul.wide.u32 %l0, %r0, 4; add.u64 %l0, %l0, %a1;\n"
        "mov.u32 %r1, 1; st.global.u32 [%l0], %r1;"));
    for (int k = 0; k < 128; k++) assert_int_equal(((u32 *)run_host(&r, 1))[k], 1);
    run_close(&r);
    run_open(&r);
    run_memory(&r, zero, sizeof zero);
    r.launch.grid[0] = 4;
    run_clean(&r, run_kernel(r.arena, 1,
                             "mov.u32 %r5, 0;\n"
                             "TRY: atom.acquire.gpu.global.cas.b32 %r0, [%a0], 0, 1; setp.ne.u32 "
                             "%p0, %r0, 0; @%p0 bra TRY;\n"
                             "ld.volatile.global.u32 %r1, [%a0+4]; add.u32 %r1, %r1, 3; "
                             "st.volatile.global.u32 [%a0+4], %r1;\n"
                             "membar.gl; atom.release.gpu.global.exch.b32 %r2, [%a0], 0;"));
    assert_int_equal(((u32 *)run_host(&r, 0))[1], 3 * 128);
    run_close(&r);
    run_open(&r);
    u64 pair[4] = {1, 2, 0, 0};
    run_memory(&r, pair, sizeof pair);
    r.launch.block[0] = 1;
    run_clean(&r, run_kernel(r.arena, 1,
                             ".reg .b128 %q<3>; mov.u64 %l0, 1; mov.u64 %l1, 2; mov.b128 %q0, "
                             "{%l0, %l1}; mov.u64 %l2, 9;\n"
                             "mov.b128 %q1, {%l2, %l0}; atom.global.cas.b128 %q2, [%a0], %q0, %q1; "
                             "st.global.b128 [%a0+16], %q2;"));
    const u64 *out = run_host(&r, 0);
    assert_int_equal(out[0], 9);
    assert_int_equal(out[1], 1);
    assert_int_equal(out[2], 1);
    assert_int_equal(out[3], 2);
    run_close(&r);
}

/* Vector reductions of sm_90.  */
static void atomic_vectors(void **state) {
    (void)state;
    PtxRun r;
    run_open(&r);
    u32 zero[8] = {0};
    run_memory(&r, zero, sizeof zero);
    run_clean(&r, run_kernel(r.arena, 1,
        "mov.u32 %r0, 0f3f800000; mov.u32 %r1, 0f40000000; mov.u32 %r2, 0x3c004000;\n"
        "red.global.v4.f32.add [%a0], {%r0, %r1, %r0, %r1};\n"
        "red.global.v2.f16x2.add.noftz [%a0+16], {%r2, %r2};"));
    const float *f = run_host(&r, 0);
    assert_true(f[0] == 32 && f[1] == 64 && f[2] == 32 && f[3] == 64);
    assert_int_equal(((u32 *)run_host(&r, 0))[4], 0x50005400);
    run_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies),
        cmocka_unit_test(values),
        cmocka_unit_test(variables_persist),
        cmocka_unit_test(atomic_operations),
        cmocka_unit_test(atomic_results),
        cmocka_unit_test(atomic_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
