/* How statements part into kernels: what is decided has the least predicted time, and a plan text
 * says what that is.  */
#include "decide.h"
#include "driver/pipeline/compile.h"
#include "driver/plan/fusion.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    Arena *a;
    Diag d;
    const Device *dev;
    Te *te;
    CompileOptions o;
    PlanSet set;
    WholePlan plan;
    Buf text;
} Case;

/* The op for sizes N, planned; the best plan as text.  */
static void plan(Case *c, const char *op, int64_t n) {
    c->a = arena_create(NULL);
    assert_non_null(c->a);
    c->d = diag_new(c->a);
    c->dev = fixture_device(c->a, "h200");
    c->o = (CompileOptions){.top = 1, .align = 16, .workspace_limit = -1};
    const char *text = arena_printf(c->a, "param N = %lld; %s", (long long)n, op);
    assert_int_equal(te_parse(c->a, &c->d, diag_text("t.te", text), NULL, NULL, &c->te),
                     ST_OK);
    assert_int_equal(compile_plan(c->a, &c->d, &(PlanRequest){c->te, c->dev, &c->o}, &c->set),
                     ST_OK);
    compile_choose(c->a, &c->set, 0, &c->plan);
    c->text = buf_new(c->a);
    rprog_print(&c->plan.rplan, c->dev, &c->text);
}

static Status read_back(Case *c, const char *text, PlanSet *set) {
    return compile_read_plan(c->a, &c->d, &(PlanRequest){c->te, c->dev, &c->o},
                             diag_text("plan", text), set);
}

/* A statement that needs another one transposed: fused, it would write or read across rows.  */
static const char turned[] = "op f(X: f32[N,N]) -> (Y: f32[N,N], Z: f32[N,N]) {"
                             " Y[i,j] = exp(X[i,j]); Z[i,j] = X[i,j] + Y[j,i]; }";

static void large_transposes_part(void **state) {
    (void)state;
    Case c;
    PlanSet again;
    plan(&c, turned, 2048);
    assert_int_equal(decided(c.set.normal), APART);
    assert_int_equal(c.set.n_group, 2);
    assert_int_equal(c.plan.rplan.prog[1].skeleton, SK_PERMUTE);
    assert_non_null(strstr(buf_str(&c.text), "\nstatement 1 apart\nkernel 0\n"));
    assert_int_equal(read_back(&c, buf_str(&c.text), &again), ST_OK);
    WholePlan other;
    Buf text = buf_new(c.a);
    compile_choose(c.a, &again, 0, &other);
    rprog_print(&other.rplan, c.dev, &text);
    assert_string_equal(buf_str(&text), buf_str(&c.text));
    arena_destroy(c.a);
}

static void small_ones_stay_together(void **state) {
    (void)state;
    Case c;
    plan(&c, turned, 32);
    assert_int_equal(decided(c.set.normal), USUAL);
    assert_int_equal(c.set.n_group, 1);
    assert_null(strstr(buf_str(&c.text), "statement"));
    arena_destroy(c.a);
}

/* Rows of two tensors: large ones share a kernel where that is faster.  */
static void rows_join_beside(void **state) {
    (void)state;
    static const char sums[] = "op f(X: f32[N,1024], Z: f32[N,1024]) -> (Y: f32[N], V: f32[N])"
                               " { Y[i] = sum[j](X[i,j]); V[i] = max[j](Z[i,j]); }";
    for (int64_t n = 8; n <= 4096; n *= 512) {
        Case c;
        PlanSet again;
        plan(&c, sums, n);
        assert_int_equal(decided(c.set.normal), n > 64 ? JOINED : USUAL);
        assert_int_equal(c.set.n_group, 1);
        assert_int_equal(c.set.normal->decisions->possible[1] & (1 << TE_APART | 1 << TE_JOINED),
                         n > 64 ? 1 << TE_JOINED : 1 << TE_APART);
        assert_int_equal(read_back(&c, buf_str(&c.text), &again), ST_OK);
        assert_int_equal(again.n_group, 1);
        arena_destroy(c.a);
    }
}

/* Maps of one domain share a kernel, as many as there are; where their vectors would not fit in
 * registers, accesses are narrower.  */
static void maps_share_a_kernel(void **state) {
    (void)state;
    enum { MAPS = 20 };
    for (int64_t n = 1 << 10; n <= 1 << 20; n <<= 10) {
        Case c;
        Arena *a = arena_create(NULL);
        Buf in = buf_new(a), out = buf_new(a), body = buf_new(a);
        for (int i = 0; i < MAPS; i++) {
            buf_printf(&in, "%sX%d: f32[N]", i ? ", " : "", i);
            buf_printf(&out, "%sY%d: f32[N]", i ? ", " : "", i);
            buf_printf(&body, " Y%d[j] = exp(X%d[j]) + X%d[j];", i, i, (i + 1) % MAPS);
        }
        plan(&c, arena_printf(a, "op f(%s) -> (%s) {%s }", buf_str(&in), buf_str(&out),
                              buf_str(&body)), n);
        const RProg *r = &c.plan.rplan.prog[0];
        assert_int_equal(decided(c.set.normal), USUAL);
        assert_int_equal(c.set.n_group, 1);
        assert_int_equal(r->skeleton, SK_STREAM);
        assert_true(r->store_vec == 1 || r->store_vec * 2 * MAPS < r->registers);
        arena_destroy(c.a);
        arena_destroy(a);
    }
}

/* Computing a producer in each of many readers costs more than storing it, or less, as it is large
 * or small beside them; the model decides.  */
static void producers_are_stored_or_repeated(void **state) {
    (void)state;
    static const char op[] = "op f(X: f32[N], W: f32[N,4096]) -> Y: f32[N,4096] {"
                             " t[i] = exp(X[i]) / (1.0 + X[i]); Y[i,j] = W[i,j] * t[i]; }";
    for (int64_t n = 64; n <= 65536; n *= 1024) {
        Case c;
        plan(&c, op, n);
        assert_int_equal(c.set.n_group, decided(c.set.normal) == REPEATED ? 1 : 2);
        if (n == 64) assert_int_equal(decided(c.set.normal), REPEATED);
        arena_destroy(c.a);
    }
}

/* Sums of very short rows compete as loops of a thread with rows of a block, matrix-vector products
 * as tiles; longer rows do not.  */
static void short_rows_need_no_rows(void **state) {
    (void)state;
    static const char op[] = "let K = N; op f(X: f32[1000000,K]) -> Y: f32[1000000] {"
                             " Y[m] = sqrt(sum[k](X[m,k] * X[m,k])); }";
    for (int64_t n = 3; n < 2000; n *= 500) {
        Case c;
        PlanSet again;
        plan(&c, op, n);
        bool tiled = decided(c.set.normal) == TILED;
        assert_int_equal(tiled, n == 3);
        assert_int_equal(c.plan.rplan.prog[0].skeleton, tiled ? SK_STREAM : SK_ROW);
        assert_int_equal(read_back(&c, buf_str(&c.text), &again), ST_OK);
        arena_destroy(c.a);
    }
}

/* What a reduction needs of each row is made before it: it is no end of tiles.  */
static void needed_rows_are_not_tiled(void **state) {
    (void)state;
    static const char *const ops[] = {
        "op f(A: f32[N], X: f32[N,4]) -> (Z: f32[N], Y: f32[N]) {"
        " Z[i] = exp(A[i]); Y[i] = sum[j](X[i,j] * Z[i]); }",
        "op f(A: f32[N], X: f32[N,4]) -> (Y: f32[N], Z: f32[N]) {"
        " Y[i] = sum[j](X[i,j] * A[i]); Z[i] = exp(Y[i]); }"};
    for (int before = 1; before >= 0; before--) {
        Case c;
        plan(&c, ops[!before], 1000000);
        const TeDecisions *x = c.set.normal->decisions;
        bool tiles = false;
        for (int i = 0; i < x->n; i++) tiles |= x->possible[i] >> TE_TILED & 1;
        assert_int_equal(tiles, !before);
        arena_destroy(c.a);
    }
}

/* Channels in the middle: rows are reduced first, by a kernel that reads the input once, then what
 * is left of each image.  */
static void strided_rows_go_in_steps(void **state) {
    (void)state;
    Case c;
    PlanSet again;
    plan(&c, "op f(X: f16[N,64,56,56]) -> (S: f32[64], Q: f32[64]) {"
             " S[c] = sum[n,h,w](X[n,c,h,w]);"
             " Q[c] = sum[n,h,w](f32(X[n,c,h,w]) * X[n,c,h,w]); }", 32);
    const RPlan *p = &c.plan.rplan;
    assert_int_equal(decided(c.set.normal), TWO_STEP);
    assert_int_equal(c.set.n_group, 2);
    assert_int_equal(p->prog[0].skeleton, SK_ROW);
    assert_int_equal(p->problem[0].extent[AX_M], 32 * 64);
    assert_int_equal(p->problem[0].read_bytes, 32 * 64 * 56 * 56 * 2);
    assert_int_equal(p->problem[1].extent[AX_N], 32);
    assert_int_equal(read_back(&c, buf_str(&c.text), &again), ST_OK);
    assert_int_equal(again.n_group, 2);
    char *earlier = arena_strdup(c.a, buf_str(&c.text)), *word = strstr(earlier, "two-step");
    assert_non_null(word);
    memcpy(word, "staged  ", 8);
    assert_int_equal(read_back(&c, earlier, &again), ST_OK);
    assert_int_equal(decided(again.normal), TWO_STEP);
    arena_destroy(c.a);
}

static void wrong_decisions_are_errors(void **state) {
    (void)state;
    Case c;
    PlanSet set;
    plan(&c, turned, 2048);
    const char *kernels = strstr(buf_str(&c.text), "kernel 0");
    assert_int_equal(read_back(&c, arena_printf(c.a, "roller-plan 1\n%s", kernels), &set),
                     ST_PLAN_TEXT);
    assert_int_equal(
        read_back(&c, arena_printf(c.a, "roller-plan 1\nsplit sideways\n%s", kernels), &set),
        ST_PLAN_TEXT);
    assert_int_equal(
        read_back(&c, arena_printf(c.a, "roller-plan 1\nsplit apart\nsplit usual\n%s", kernels),
                  &set),
        ST_PLAN_TEXT);
    arena_destroy(c.a);
}

/* Three quarters of the products of such a convolution are with 0: fewer are worth a plan of their
 * own, which is one kernel as before where the stride divides the result.  */
static void transposed_convolutions_go_by_phases(void **state) {
    (void)state;
    Case c;
    PlanSet again;
    plan(&c, "op f(X: f16[4,N,N,64], K: f16[4,4,64,64], b: f16[64]) -> Y: f16[4,2*N,2*N,64] {"
             " t[n,p,q,f] += ((p + 1 - r) % 2 == 0 && (q + 1 - s) % 2 == 0"
             " ? (X[n,(p+1-r)/2,(q+1-s)/2,c] else 0) : 0) * K[r,s,c,f];"
             " Y[n,p,q,f] = max(t[n,p,q,f] + b[f], 0); }", 32);
    assert_int_equal(decided(c.set.normal), PHASED);
    assert_int_equal(c.set.n_group, 1);
    const RProg *r = &c.plan.rplan.prog[0];
    assert_int_equal(r->skeleton, SK_CONTRACT);
    assert_true(rprog_matrix(c.dev, r));
    assert_non_null(strstr(buf_str(&c.text), "\n  a async cp.async.16 "));
    assert_non_null(strstr(buf_str(&c.text), "\n  b async cp.async.16 "));
    assert_int_equal(read_back(&c, buf_str(&c.text), &again), ST_OK);
    assert_int_equal(decided(again.normal), PHASED);
    arena_destroy(c.a);
}

/* Partial sums of two statistics, which one kernel adds: it goes where both are written out.  */
static void sums_of_one_kernel_go_together(void **state) {
    (void)state;
    Case c;
    plan(&c, "op f(X: f32[4,64,16,16]) -> Y: f32[4,64,16,16] {"
             " S[c] = sum[n,h,w](X[n,c,h,w]); Q[c] = sum[n,h,w](X[n,c,h,w] * X[n,c,h,w]);"
             " Y[n,c,h,w] = (X[n,c,h,w] - S[c]) * rsqrt(Q[c] + 0.5); }", 1);
    assert_int_equal(decided(c.set.normal), TWO_STEP | UNROLLED | REPEATED);
    assert_int_equal(c.set.n_group, 2);
    arena_destroy(c.a);
}

/* Parts of ops, each of which is the fastest by decisions of its own.  */
static const struct {
    const char *in, *out, *body;
    unsigned decided;
} part[] = {
    {"A: i8[2048,2047], W: i8[2048,2047]", "C: i32[2048,2048]", "C[a,c] += A[a,k] * W[c,k];",
     PACKED},
    {"Q: bf16[32,2048,128], T: bf16[32,2048,128]", "S: bf16[32,2048,2048]",
     "t[b,i,j] = sum[d](Q[b,i,d] * T[b,j,d]); m[b,i] = max[j](t[b,i,j]);"
     " z[b,i] = sum[j](exp(t[b,i,j] - m[b,i])); S[b,i,j] = exp(t[b,i,j] - m[b,i]) / z[b,i];",
     JOINED},
    {"X: f16[4,32,32,64], K: f16[4,4,64,64]", "Y: f16[4,64,64,64]",
     "Y[n,p,q,f] += ((p + 1 - r) % 2 == 0 && (q + 1 - s) % 2 == 0"
     " ? (X[n,(p+1-r)/2,(q+1-s)/2,c] else 0) : 0) * K[r,s,c,f];", PHASED},
    {"I: f16[32,64,56,56]", "(U: f32[64], V: f32[64])",
     "U[c] = sum[n,h,w](I[n,c,h,w]); V[c] = sum[n,h,w](f32(I[n,c,h,w]) * I[n,c,h,w]);", TWO_STEP},
    {"L: f16[64,256,14,14], G: f16[256,256,3,3]", "O: f16[64,256,14,14]",
     "O[n,f,p,q] += (L[n,c,p+r-1,q+s-1] else 0) * G[f,c,r,s];", PACKED},
    {"R: f32[2048,2048]", "(E: f32[2048,2048], Z: f32[2048,2048])",
     "E[i,j] = exp(R[i,j]); Z[i,j] = R[i,j] + E[j,i];", APART},
    {"B8: f16[32,56,56,48], K8: f16[3,3,48,48], L8: f16[48,48]", "O8: f16[32,56,56,48]",
     "t8[n,p,q,f] += (B8[n,p+r-1,q+s-1,c] else 0) * K8[r,s,c,f];"
     " v8[n,p,q,f] = f16(max(t8[n,p,q,f], 0)); O8[n,p,q,e] += v8[n,p,q,f] * L8[f,e];",
     BLOCKED | JOINED},
    {"D: f32[64], H: f32[64,4096]", "F: f32[64,4096]",
     "u[i] = exp(D[i]) / (1.0 + D[i]); F[i,j] = H[i,j] * u[i];", REPEATED},
    {"a: f32[2048,2048], b: f32[2048,2048], c: f32[2048,2048]", "(g: f32[2048], h: f32[2048])",
     "v[i,j] = a[i,j] * b[i,j] + c[i,j]; g[i] = sum[j](v[i,j]); h[j] = sum[i](v[i,j]);", STORED},
    {"J: f32[65536,4,4], j4: f32[65536,4,4]", "J4: f32[65536,4,4]",
     "J4[o,p,q] += J[o,p,k] * j4[o,k,q];", UNROLLED},
    {"B: f16[16384,4096], x: f16[4096]", "y: f16[16384]", "y[o] += B[o,k] * x[k];", USUAL},
};
enum { PARTS = sizeof part / sizeof *part };

/* What is decided for the parts that `which` has bits of, in one op, and its predicted time.  */
static double planned_parts(unsigned which, unsigned *taken) {
    Case c;
    Arena *a = arena_create(NULL);
    Buf text[3] = {buf_new(a), buf_new(a), buf_new(a)};
    for (int i = 0; i < PARTS; i++) {
        if (!(which >> i & 1)) continue;
        const char *comma = which & ((1u << i) - 1) ? ", " : "", *out = part[i].out;
        size_t n = strlen(out);
        bool several = *out == '(';
        buf_printf(&text[0], "%s%s", comma, part[i].in);
        buf_printf(&text[1], "%s%.*s", comma, (int)(several ? n - 2 : n), out + several);
        buf_printf(&text[2], " %s", part[i].body);
    }
    plan(&c, arena_printf(a, "op f(%s) -> (%s) {%s }", buf_str(&text[0]), buf_str(&text[1]),
                          buf_str(&text[2])), 1);
    double us = 0;
    for (int g = 0; g < c.set.n_group; g++) us += c.set.plans[g].ranked->estimate.us;
    *taken = decided(c.set.normal);
    arena_destroy(c.a);
    arena_destroy(a);
    return us;
}

/* Parts of an op that have nothing in common are decided as if each were an op of its own.  */
static void parts_add_up(void **state) {
    (void)state;
    double us[PARTS];
    unsigned taken;
    for (int i = 0; i < PARTS; i++) {
        us[i] = planned_parts(1u << i, &taken);
        assert_int_equal(taken, part[i].decided);
    }
    for (int i = 0; i < PARTS; i++) {
        int next = (i + 1) % PARTS;
        double both = planned_parts(1u << i | 1u << next, &taken);
        if (both > (us[i] + us[next]) * 1.0001)
            fail_msg("%s %s: %.2f us, apart %.2f and %.2f us", part[i].body, part[next].body, both,
                     us[i], us[next]);
        assert_int_equal(taken & (part[i].decided | part[next].decided),
                         part[i].decided | part[next].decided);
    }
}

/* Stored as f64, both operands keep a product from its matrix unit: to repeat one of them alone is
 * no gain.  */
static void operands_are_decided_together(void **state) {
    (void)state;
    Case c;
    PlanSet again;
    plan(&c, "op f(X: bf16[N,1024], Y: bf16[N,1024]) -> C: bf16[N,N] {"
             " A[m,k] = max(X[m,k], 0) where m in N, k in 1024 @type(f64);"
             " B[n,k] = max(Y[n,k], 0) where n in N, k in 1024 @type(f64);"
             " C[m,n] += bf16(A[m,k]) * bf16(B[n,k]); }", 1024);
    const TeDecisions *x = c.set.normal->decisions;
    assert_int_equal(c.set.n_group, 1);
    assert_int_equal(te_taken(x, 0), REPEATED);
    assert_int_equal(te_taken(x, 1), REPEATED);
    assert_true(c.dev->unit[c.plan.rplan.prog[0].unit].scope == SCOPE_WARP);
    double both = c.set.plans[0].ranked[0].estimate.us;
    for (unsigned one = 0; one < 3; one++) {          /* none, A, B */
        TeDecisions few = {.taken = {one & 1 ? REPEATED : 0, one & 2 ? REPEATED : 0}};
        PlanSet set;
        assert_int_equal(fusion_open(c.a, &c.d, &(PlanRequest){c.te, c.dev, &c.o}, &few, &set),
                         ST_OK);
        double us = 0;
        for (int g = 0; g < set.n_group; g++) {
            RProgSet all;
            Ranked *best;
            RPlanOptions o = {.align = 16, .workspace_limit = -1};
            const Problem *p = &set.plans[g].problem;
            assert_int_equal(rprog_candidates(c.a, &c.d, p, c.dev, &o, &all), ST_OK);
            assert_int_equal(mp_rank(c.a, p, c.dev, &all, 1, &best), 1);
            us += best[0].estimate.us;
        }
        assert_true(us > 1.5 * both);
    }
    assert_int_equal(read_back(&c, buf_str(&c.text), &again), ST_OK);
    arena_destroy(c.a);
}

/* Earlier texts name one split of a few for the whole op.  */
static void earlier_texts_are_read(void **state) {
    (void)state;
    static const char *const split[] = {"usual", "apart", "repeated", "staged", "joined"};
    for (size_t i = 0; i < sizeof split / sizeof *split; i++) {
        Case c;
        PlanSet set;
        plan(&c, turned, 2048);
        const char *kernels = strstr(buf_str(&c.text), "kernel 0");
        Status s = read_back(&c, arena_printf(c.a, "roller-plan 1\nsplit %s\n%s", split[i],
                                              kernels), &set);
        assert_int_equal(s, i == 1 ? ST_OK : ST_PLAN_TEXT);
        arena_destroy(c.a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_transposes_part),
        cmocka_unit_test(small_ones_stay_together),
        cmocka_unit_test(rows_join_beside),
        cmocka_unit_test(maps_share_a_kernel),
        cmocka_unit_test(producers_are_stored_or_repeated),
        cmocka_unit_test(strided_rows_go_in_steps),
        cmocka_unit_test(short_rows_need_no_rows),
        cmocka_unit_test(needed_rows_are_not_tiled),
        cmocka_unit_test(wrong_decisions_are_errors),
        cmocka_unit_test(transposed_convolutions_go_by_phases),
        cmocka_unit_test(sums_of_one_kernel_go_together),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(operands_are_decided_together),
        cmocka_unit_test(earlier_texts_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
