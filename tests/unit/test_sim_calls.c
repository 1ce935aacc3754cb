/* links: sim */
/* Calls by name, by address and of a function by itself; what the simulator does not know and is
 * not reached; printf and assert.  */
#include "ptxrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { N = 64 };
typedef uint32_t u32;

#define KERNEL                                                                                     \
    ".visible .entry k(.param .u64 p0)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<20>, %t;\n"             \
    ".reg .b64 %l<20>, %a0;\n.reg .b16 %h<4>;\nmov.u32 %t, %tid.x;\nld.param.u64 %a0, [p0];\n"     \
    "mul.wide.u32 %l0, %t, 4;\nadd.u64 %a0, %a0, %l0;\n"
#define PASS "{\n.param .b32 i;\n.param .b32 o;\nst.param.b32 [i], %r1;\n"
#define TAKE "ld.param.b32 %r2, [o];\n}\n"
#define END "st.global.b32 [%a0], %r2;\nret;\n}\n"
#define UNARY(name, body)                                                                          \
    ".func (.param .b32 o) " name "(.param .b32 i)\n{\n.reg .b32 %r<9>;\n.reg .b64 %l<9>;\n"       \
    ".reg .pred %p<3>;\nld.param.b32 %r1, [i];\n" body "st.param.b32 [o], %r2;\nret;\n}\n"
#define TWICE UNARY("twice", "add.u32 %r2, %r1, %r1;\n")
#define PLUS UNARY("plus", "add.u32 %r2, %r1, 5;\n")

/* Runs with 64 threads whose cells hold their numbers, and compares with what they should.  */
static void values(const char *ptx, u32 (*want)(u32 t)) {
    PtxRun r;
    u32 cell[N];
    for (u32 t = 0; t < N; t++) cell[t] = t;
    run_open(&r);
    r.launch.block[0] = N;
    run_memory(&r, cell, sizeof cell);
    run_clean(&r, ptx);
    const u32 *got = run_host(&r, 0);
    for (u32 t = 0; t < N; t++) {
        if (got[t] != want(t)) fail_msg("thread %u: %u, not %u\n%s", t, got[t], want(t), ptx);
    }
    run_close(&r);
}

static u32 twice_or_plus(u32 t) { return t % 3 == 1 ? 2 * t : t + 5; }

/* The address comes from a table in memory, from mov, or from a table of bytes.  */
static void by_address(void **state) {
    (void)state;
    static const char *const addresses[] = {
        "mov.u64 %l1, table; rem.u32 %r3, %t, 3; mul.wide.u32 %l2, %r3, 8; add.u64 %l1, %l1, %l2;\n"
        "ld.global.u64 %l3, [%l1];\n",
        "rem.u32 %r3, %t, 3; setp.eq.u32 %p0, %r3, 1; mov.u64 %l3, plus;\n"
        "@%p0 mov.u64 %l3, twice;\n",
        "mov.u64 %l1, bytes; rem.u32 %r3, %t, 3; mul.wide.u32 %l2, %r3, 8; add.u64 %l1, %l1, %l2;\n"
        "ld.global.u64 %l3, [%l1];\n",
    };
    static const char *const prototypes[] = {
        "p: .callprototype (.param .b32 _) _ (.param .b32 _);\n", "p: .calltargets twice, plus;\n"};
#define BYTES(f)                                                                                   \
    "0xFF(" f "), 0xFF00(" f "), 0xFF0000(" f "), 0xFF000000(" f "), 0xFF00000000(" f "), "        \
    "0xFF0000000000(" f "), 0xFF000000000000(" f "), 0xFF00000000000000(" f ")"
    for (int a = 0; a < 3; a++) {
        for (int p = 0; p < 2; p++) {
            Arena *arena = arena_create(NULL);
            values(arena_printf(arena, "%s%s%s%s%s", PTX_HEAD TWICE PLUS
                                ".global .u64 table[3] = {plus, twice, plus};\n"
                                ".global .align 8 .u8 bytes[24] = {" BYTES("plus") ", "
                                BYTES("twice") ", " BYTES("plus") "};\n" KERNEL
                                "mov.b32 %r1, %t;\n", addresses[a], PASS, prototypes[p],
                                "call (o), %l3, (i), p;\n" TAKE END), twice_or_plus);
            arena_destroy(arena);
        }
    }
}

static u32 factorial(u32 t) {
    u32 v = 1;
    for (u32 k = 2; k <= t % 9; k++) v *= k;
    return v;
}

/* i < 2 ? 1 : i * f(i - 1), each activation with a variable of its own and a pointer to that of its
 * caller; straight, by way of another function, and by address.  */
#define FACTORIAL(call)                                                                            \
    ".func (.param .b32 o) f(.param .b32 i);\n"                                                    \
    UNARY("by", PASS "call (o), f, (i);\n" TAKE)                                                   \
    UNARY("f", ".local .align 4 .b8 v[4];\nst.local.b32 [v], %r1;\nmov.u64 %l1, v;\n"              \
               "mov.b32 %r2, 1;\nsetp.lt.u32 %p1, %r1, 2;\n@%p1 bra OUT;\nsub.u32 %r1, %r1, 1;\n"  \
               PASS call TAKE                                                                      \
               "ld.local.b32 %r3, [%l1];\nmul.lo.u32 %r2, %r2, %r3;\nOUT:\n")

static void recursive(void **state) {
    (void)state;
#define CALL_F "rem.u32 %r1, %t, 9;\n" PASS "call (o), f, (i);\n" TAKE END
    values(PTX_HEAD FACTORIAL("call (o), f, (i);\n") KERNEL CALL_F, factorial);
    values(PTX_HEAD FACTORIAL("call (o), by, (i);\n") KERNEL CALL_F, factorial);
    values(PTX_HEAD FACTORIAL("mov.u64 %l2, f;\nand.b32 %r4, %r1, 1;\nsetp.eq.u32 %p2, %r4, 0;\n"
                              "@%p2 mov.u64 %l2, by;\n"
                              "p: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                              "call (o), %l2, (i), p;\n") KERNEL CALL_F, factorial);
}

static void wrong_calls(void **state) {
    (void)state;
    static const char *const bodies[] = {
        PTX_HEAD TWICE ".global .u64 taken = twice;\n" KERNEL "mov.u64 %l3, 4096;\n" PASS
        "p: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (o), %l3, (i), p;\n" TAKE END,
        /* another shape than the function has */
        PTX_HEAD TWICE KERNEL "mov.u64 %l3, twice;\n{\n.param .b64 i;\n.param .b32 o;\n"
        "p: .callprototype (.param .b32 _) _ (.param .b64 _);\ncall (o), %l3, (i), p;\n" TAKE END,
        /* without an end */
        PTX_HEAD ".func (.param .b32 o) f(.param .b32 i);\n"
        UNARY("f", PASS "call (o), f, (i);\n" TAKE) KERNEL PASS "call (o), f, (i);\n" TAKE END,
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        PtxRun r;
        run_open(&r);
        run_memory(&r, NULL, 128);
        run_faulty(&r, bodies[k], SIM_BAD_JUMP);
        run_close(&r);
    }
}

/* ---- alloca ---- */

static u32 same(u32 t) { return t; }

static u32 sum_of_squares(u32 t) {
    u32 v = 0;
    for (u32 k = 0; k < t; k++) v += k * k;
    return v;
}

/* i values on the stack, then their sum; the function gives its memory back when it returns: 512 KB
 * would not do for all of the calls.  */
#define SQUARES                                                                                    \
    UNARY("f", "cvt.u64.u32 %l1, %r1;\nshl.b64 %l1, %l1, 2;\nadd.u64 %l1, %l1, 4096;\n"            \
               "alloca.u64 %l2, %l1, 16;\nmov.u64 %l3, %l2;\nmov.b32 %r3, 0;\nA:\n"                \
               "setp.ge.u32 %p1, %r3, %r1;\n@%p1 bra B;\nmul.lo.u32 %r4, %r3, %r3;\n"             \
               "st.local.b32 [%l3], %r4;\nadd.u64 %l3, %l3, 4;\nadd.u32 %r3, %r3, 1;\nbra A;\n"   \
               "B:\nmov.b32 %r2, 0;\nC:\nsetp.eq.u64 %p1, %l3, %l2;\n@%p1 bra D;\n"              \
               "sub.u64 %l3, %l3, 4;\nld.local.b32 %r4, [%l3];\nadd.u32 %r2, %r2, %r4;\nbra C;\n" \
               "D:\n")

static void memory_of_the_stack(void **state) {
    (void)state;
    values(PTX_HEAD SQUARES KERNEL "mov.b32 %r9, 0;\nAGAIN:\nmov.b32 %r1, %t;\n" PASS
           "call (o), f, (i);\n" TAKE "add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p0, %r9, 200;\n"
           "@%p0 bra AGAIN;\n" END, sum_of_squares);
    values(PTX_HEAD KERNEL "mov.b32 %r9, 0;\nAGAIN:\nstacksave.u64 %l1;\nalloca.u64 %l2, 8000;\n"
           "st.local.b32 [%l2+7996], %t;\nld.local.b32 %r2, [%l2+7996];\nstackrestore.u64 %l1;\n"
           "add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p0, %r9, 200;\n@%p0 bra AGAIN;\n" END, same);
    PtxRun r;
    run_open(&r);
    run_memory(&r, NULL, 128);
    run_faulty(&r, PTX_HEAD KERNEL "AGAIN:\nalloca.u64 %l2, 8000;\nbra AGAIN;\n}\n", SIM_BAD_JUMP);
    run_close(&r);
}

/* ---- what is not known ---- */

#define UNKNOWN                                                                                    \
    ".extern .func (.param .b32 o) elsewhere(.param .b32 i);\n"                                    \
    UNARY("odd", "frob.x.b32 %r2, %r1;\n")

static void unreached(void **state) {
    (void)state;
    static const char *const steps[] = {
        "@%p0 frob.b32 %r2, {%r1}, [here, then];\n", "@%p0 add.frob.u32 %r2, %r1, %r1;\n",
        "@%p0 add.ftz.u32 %r2, %r1, %r1;\n", "@!%p1 bra OVER;\nfrob;\nOVER:\n",
        "@!%p0 bra OVER;\n" PASS "call (o), odd, (i);\n" TAKE "OVER:\n",
        "@!%p0 bra OVER;\n" PASS "call (o), elsewhere, (i);\n" TAKE "OVER:\n",
        "@%p0 tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f0}, [t, {%f0, %f1}];\n",
        "@%p0 add.sat.u32 %r1, %tid.x, %laneid;\n",
        "@%p0 mov.u32 %r1, %a_register_to_come;\n",
    };
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        Arena *a = arena_create(NULL);
        const char *text = arena_printf(a, "%s%s%s", PTX_HEAD UNKNOWN KERNEL
                                        "mov.b32 %r1, %t; mov.b32 %r2, %t;\n"
                                        "setp.gt.u32 %p0, %t, 1000; setp.gt.u32 %p1, %t, 2000;\n",
                                        steps[k], END);
        values(text, same);
        /* The same where thread 40 gets there.  */
        char *reached = arena_strdup(a, text), *number;
        while ((number = strstr(reached, "000;"))) memcpy(number - 1, "  39", 4);
        PtxRun r;
        run_open(&r);
        r.launch.block[0] = N;
        run_memory(&r, NULL, 4 * N);
        if (run_text(&r, reached)) fail_msg("not refused:\n%s", reached);
        assert_non_null(diag_first_error(&r.diag));
        assert_true(diag_first_error(&r.diag)->line > 4);
        run_close(&r);
        arena_destroy(a);
    }
}

/* ---- printf and assert ---- */

static void keep(void *user, const char *text, size_t n) { buf_add(user, text, n); }

/* The format as the compiler has it, the arguments in local memory.  */
static void prints(const char *format, const char *arguments, const char *want) {
    PtxRun r;
    run_open(&r);
    Buf got = buf_new(r.arena), text = buf_new(r.arena);
    r.options.print = keep;
    r.options.print_user = &got;
    r.options.threads = 3;
    r.launch.grid[0] = 3;
    r.launch.block[0] = 2;
    buf_puts(&text,
             PTX_HEAD ".extern .func (.param .b32 o) vprintf(.param .b64 f, .param .b64 a);\n"
                      ".global .align 1 .b8 word[] = \"abc\";\n.global .align 1 .b8 s[] = {");
    for (const char *c = format;; c++) {
        buf_printf(&text, "%d%s", *c, *c ? ", " : "};\n");
        if (!*c) break;
    }
    buf_printf(&text, "%s.local .align 8 .b8 v[64];\nmov.u64 %%l1, v; cvta.local.u64 %%l1, %%l1;\n"
                      "mov.u64 %%l2, s; cvta.global.u64 %%l2, %%l2; mov.u32 %%r1, %%ctaid.x;\n%s\n"
                      "{\n.param .b64 f;\n.param .b64 a;\n.param .b32 o;\nst.param.b64 [f], %%l2;\n"
                      "st.param.b64 [a], %%l1;\ncall (o), vprintf, (f, a);\n"
                      "ld.param.b32 %%r2, [o];\n}\nret;\n}\n", KERNEL, arguments);
    run_memory(&r, NULL, 64);
    run_clean(&r, buf_str(&text));
    assert_string_equal(buf_str(&got), want);
    run_close(&r);
}

static void printf_of_kernels(void **state) {
    (void)state;
    prints("%d.%d ", "st.local.b32 [v], %r1; st.local.b32 [v+4], %t;",
           "0.0 0.1 1.0 1.1 2.0 2.1 ");
    const char *once = "setp.ne.u32 %%p0, %%r1, 0; @%%p0 exit; setp.ne.u32 %%p0, %%t, 0; "
                       "@%%p0 exit;\n%s";
    static const struct {
        const char *format, *arguments, *want;
    } cases[] = {
        {"no %% argument\n", "", "no % argument\n"},
        {"[%5d|%-5d|%05d|%+d]", "st.local.v4.b32 [v], {7, 7, 7, 7};", "[    7|7    |00007|+7]"},
        {"%u %x %X %o", "st.local.v4.b32 [v], {-1, 255, 255, 8};", "4294967295 ff FF 10"},
        {"%d %lld %i", "st.local.b32 [v], -3; st.local.b64 [v+8], 1099511627776; "
                       "st.local.b32 [v+16], 5;", "-3 1099511627776 5"},
        {"%hd %hhd %hu", "st.local.v4.b32 [v], {65537, 257, 65538, 0};", "1 1 2"},
        {"%f %.2f %8.3e %g", "st.local.b64 [v], 0d3ff8000000000000; st.local.b64 [v+8], "
         "0d400921fb54442d18; st.local.b64 [v+16], 0d40f86a0000000000; st.local.b64 [v+24], "
         "0d3fd0000000000000;", "1.500000 3.14 1.000e+05 0.25"},
        {"%*d %.*f", "st.local.v2.b32 [v], {4, 42}; st.local.b32 [v+8], 1; "
         "st.local.b64 [v+16], 0d3ff4000000000000;", "  42 1.2"},
        {"%c%c <%s> <%5s> %p", "st.local.v2.b32 [v], {104, 105}; mov.u64 %l3, word; "
         "st.local.b64 [v+8], %l3; st.local.b64 [v+16], %l3; st.local.b64 [v+24], 255;",
         "hi <abc> <  abc> 0xff"},
        {"%zu %ld %q %", "st.local.b64 [v], 3; st.local.b64 [v+8], -4;", "3 -4 %q %"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Arena *a = arena_create(NULL);
        prints(cases[k].format, arena_printf(a, once, cases[k].arguments), cases[k].want);
        arena_destroy(a);
    }
}

static void assert_of_kernels(void **state) {
    (void)state;
    static const char ptx[] = PTX_HEAD
        ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "
        ".param .b64 c);\n.global .align 1 .b8 m[] = \"x < 3\";\n.global .align 1 .b8 f[] = "
        "\"a.cu\";\n.global .align 1 .b8 n[] = \"void k(int *)\";\n" KERNEL
        "setp.lt.u32 %p0, %t, 37;\n@%p0 bra GOOD;\n{\n.param .b64 q0;\n.param .b64 q1;\n"
        ".param .b32 q2;\n.param .b64 q3;\n.param .b64 q4;\nmov.u64 %l1, m;\nmov.u64 %l2, f;\n"
        "mov.u64 %l3, n;\nst.param.b64 [q0], %l1;\nst.param.b64 [q1], %l2;\n"
        "st.param.b32 [q2], 12;\nst.param.b64 [q3], %l3;\nst.param.b64 [q4], 1;\n"
        "call __assertfail, (q0, q1, q2, q3, q4);\n"
        "}\nGOOD:\nret;\n}\n";
    PtxRun r;
    run_open(&r);
    run_memory(&r, NULL, 64);
    r.launch.block[0] = 32;
    run_clean(&r, ptx);
    r.launch.block[0] = N;
    run_faulty(&r, ptx, SIM_ASSERT);
    assert_int_equal(r.report.fault[0].thread[0], 37);
    assert_string_equal(r.report.fault[0].text, "a.cu:12: void k(int *): `x < 3`");
    run_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_address),        cmocka_unit_test(recursive),
        cmocka_unit_test(memory_of_the_stack),
        cmocka_unit_test(wrong_calls),       cmocka_unit_test(unreached),
        cmocka_unit_test(printf_of_kernels), cmocka_unit_test(assert_of_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
