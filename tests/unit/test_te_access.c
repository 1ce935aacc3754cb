/* links: te */
#include "te/access/access.h"
#include "te_fixture.h"
#include "te_points.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char params[] = "param M=6, N=5, K=7, B=3;\n";

static Te *normal_of(Arena *a, const char *op) {
    const char *text = arena_printf(a, "%s%s", params, op);
    return fixture_normal(a, fixture_te(a, text));
}

/* -- affine forms ------------------------------------------------------------------------------ */

static void quotients_are_affine_when_they_can_be(void **state) {
    (void)state;
    static const struct {
        const char *subscript;
        bool affine;
    } cases[] = {
        {"i*4+j", true}, {"(i*4+j)/4", true}, {"(i*4+j)%4", true}, {"(i*8+j*4+3)/4", true},
        {"i/2", false}, {"i%3", false}, {"j/4", true}, {"j%4", true}, {"i*j", false},
        {"-(2-i)+2", true},
        {"2*(i+1)*3-6", true}, {"(i-i+7)/2", true}, {"(4*i-1)/4+1", true}, {"(i*6+j)/3", false},
        {"(i*5)/4", false}, {"(j*5)/4", true}, {"(j*5+16)%4", true}, {"(8-j*5+3)/4", true},
        {"min(i,j)", false}, {"i64(j)", true}, {"(0-i)/1+5", true}, {"7/2*j", true},
    };
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = arena_printf(
            a, "op f(X: f32[100]) -> Y: f32[6,4] { Y[i,j] = X[%s] else 0; }", cases[i].subscript);
        Te *te = fixture_te(a, text);
        const TeStmt *s = &te->stmt[0];
        Affine f;
        bool affine = access_affine(te, s, s->rhs->args[0], &f);
        if (affine != cases[i].affine) fail_msg("%s: affine is %d", cases[i].subscript, affine);
        int64_t at[TE_MAX_INDICES] = {0}, lo, hi, least = INT64_MAX, most = INT64_MIN;
        if (!affine) continue;
        do {
            int64_t v = points_direct(te, s->rhs->args[0], at);
            assert_int_equal(v, points_apply(&f, at));
            least = v < least ? v : least;
            most = v > most ? v : most;
        } while (points_next(s, at));
        access_range(s, &f, &lo, &hi);
        assert_int_equal(lo, least);
        assert_int_equal(hi, most);
    }
    arena_destroy(a);
}

static void guards_only_where_needed(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = fixture_te(a, "op f(X: f32[8,8], t: i32[4]) -> Y: f32[4,8] { Y[i,j] ="
                           " (X[i+4,j] else 0) + (X[i+5,j] else 0) + (X[i,t[i]] else 0); }");
    ReadList reads = access_reads(te->stmt[0].rhs);
    assert_int_equal(reads.n, 4);
    Access x;
    access_read(te, &te->stmt[0], reads.at[0], &x);
    assert_true(x.affine && !x.guard[0] && !x.guard[1]);
    access_read(te, &te->stmt[0], reads.at[1], &x);
    assert_true(x.affine && x.guard[0] && !x.guard[1]);
    access_read(te, &te->stmt[0], reads.at[2], &x);
    assert_true(!x.affine && !x.guard[0] && x.guard[1]);
    assert_int_equal(x.uses, 1);
    arena_destroy(a);
}

/* Are dimensions side by side that have a number's digits one, at the offset of the read?  */
static void check_joined(const char *op, uint16_t joined) {
    Arena *a = arena_create(NULL);
    Te *te = fixture_te(a, op);
    const TeStmt *s = &te->stmt[0];
    const TeTensor *t = &te->tensor[s->rhs->v.ref];
    int64_t at[TE_MAX_INDICES] = {0};
    Access x;
    access_read(te, s, s->rhs, &x);
    if (x.joined != joined || x.affine != (joined != 0)) fail_msg("%s: joined %x", op, x.joined);
    if (joined) {
        do {
            int64_t offset = 0;
            for (int d = 0; d < t->rank; d++)
                offset += points_direct(te, s->rhs->args[d], at) * t->stride[d].value;
            assert_int_equal(points_apply(&x.offset, at), offset);
        } while (points_next(s, at));
    }
    arena_destroy(a);
}

static void digits_of_a_number_are_one_subscript(void **state) {
    (void)state;
    check_joined("op f(X: f32[3,2]) -> Y: f32[6] { Y[i] = X[i/2,i%2]; }", 1);
    check_joined("op f(X: f32[5,3,2,4,2]) -> Y: f32[5,6,8]"
                 " { Y[n,i,j] = X[n,i/2,i%2,j/2,j%2]; }", 10);
    check_joined("op f(X: f32[4,4]) -> Y: f32[3,5] { Y[i,j] = X[(i*5+j)/4,(i*5+j)%4]; }", 1);
    check_joined("op f(X: f32[3,3]) -> Y: f32[6] { Y[i] = X[i/2,i%2]; }", 0);
    check_joined("op f(X: f32[6,2]) -> Y: f32[6] { Y[i] = X[i/2,(i+1)%2]; }", 0);
    check_joined("op f(X: f32[2,3]) -> Y: f32[6] { Y[i] = X[i%2,i/2]; }", 0);
    check_joined("op f(X: f32[3,2]) -> Y: f32[7] { Y[i] = (X[i/2,i%2] else 0); }", 0);
}

/* Elements between neighbours of the read along index i at these sizes.  */
static int64_t step_at(const Te *te, const Access *x, int i, const int64_t *size) {
    int64_t step = 0;
    for (int d = 0; d < te->tensor[x->tensor].rank; d++)
        step += x->sub[d].coef[i] * te_extent_eval(te, &te->tensor[x->tensor].stride[d], size);
    return step;
}

/* The pairs of indices that access_as_one finds, as "nh hw "; each is one at all sizes.  */
static const char *pairs_as_one(Arena *a, const Te *te) {
    const TeStmt *s = &te->stmt[0];
    Buf out = buf_new(a);
    Access x;
    access_read(te, s, s->rhs, &x);
    for (int i = 0; i < s->n_index; i++) {
        for (int j = 0; j < s->n_index; j++) {
            if (i == j || !access_as_one(te, s, &x, i, j)) continue;
            buf_printf(&out, "%s%s ", s->index[i].name, s->index[j].name);
            for (int64_t n = 0; n < 27; n++) {
                int64_t size[TE_MAX_SIZES] = {1 + n % 3, 1 + n / 3 % 3, 1 + n / 9};
                int64_t long_j = te_extent_eval(te, &s->index[j].hi, size);
                assert_int_equal(step_at(te, &x, i, size), step_at(te, &x, j, size) * long_j);
            }
        }
    }
    return buf_str(&out);
}

static void neighbours_are_one_at_all_sizes(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"X: f32[N,H,W]", "X[n,h,w]", "nh hw "},
        {"X: f32[N,W,H]", "X[n,w,h]", "nw wh "},
        {"X: f32[N,H,W+1]", "X[n,h,w]", "nh "},
        {"X: f32[N,H+1,W]", "X[n,h,w]", "hw "},
        {"X: f32[N,H,3*W]", "X[n,h,w]", "nh "},
                {"X: f32[N,2*H,W]", "X[n,2*h,w]", ""},
        {"X: f32[N,H+W]", "X[n,h+w]", ""},
        {"X: f32[N,H,3,W]", "X[n,h,2,w]", "nh "},
    };
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Te *te = fixture_te(
            a, arena_printf(a, "param N = 1..3, H = 1..3, W = 1..3; op f(%s) -> Y: f32[N,H,W]"
                               " { Y[n,h,w] = %s where n in 0:N, h in 0:H, w in 0:W; }",
                            cases[i][0], cases[i][1]));
        assert_string_equal(pairs_as_one(a, te), cases[i][2]);
    }
    arena_destroy(a);
}

static void empty_ranges_have_no_values(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = fixture_te(a, "op f(X: f32[0,8]) -> Y: f32[8] { Y[j] += X[i,j]; }");
    Affine f;
    int64_t lo, hi;
    assert_true(access_affine(te, &te->stmt[0], te->stmt[0].rhs->args[0]->args[0], &f));
    access_range(&te->stmt[0], &f, &lo, &hi);
    assert_true(lo > hi);
    Contraction c;
    const char *why;
    assert_true(access_contraction(te, 0, &c, &why));
    assert_int_equal(c.axis[AX_K].extent, 0);
    arena_destroy(a);
}

/* -- groups ------------------------------------------------------------------------------------ */

/* "root+fused+fused;..." by tensor name, '*' for what is in memory.  */
static const char *groups_text(Arena *a, const Te *te) {
    KernelGroup *g;
    int n = access_groups(a, te, &g);
    Buf b = buf_new(a);
    for (int k = 0; k < n; k++) {
        for (int i = -1; i < g[k].n_fused; i++) {
            int t = te->stmt[i < 0 ? g[k].root : g[k].fused[i]].tensor;
            buf_printf(&b, "%s%s%s", i >= 0 ? "+" : k ? ";" : "", te->tensor[t].name,
                       access_materialized(te, g, n, t) ? "*" : "");
        }
    }
    return buf_str(&b);
}

static void groups_are_kernels(void **state) {
    (void)state;
    static const struct {
        const char *op, *groups;
    } cases[] = {
        {"op f(A: f32[M,K], X: f32[K,N], b: f32[N]) -> Y: f32[M,N] { t[m,n] += A[m,k] * X[k,n];"
         " u[m,n] = t[m,n] + b[n]; Y[m,n] = u[m,n] * tanh(u[m,n]); }", "t+u+Y*"},
        /* Transposed at its own point is still its own point; a shifted one is not.  */
        {"op f(A: f32[M,K], X: f32[K,M]) -> Y: f32[M,M] { t[m,n] += A[m,k] * X[k,n];"
         " Y[n,m] = 2 * t[m,n]; }", "t+Y*"},
        {"op f(A: f32[M,K], X: f32[K,M]) -> Y: f32[M,M] { t[m,n] += A[m,k] * X[k,n];"
         " Y[m,n] = t[m,n] + t[n,m]; }", "t*;Y*"},
        {"op f(A: f32[M,K], X: f32[K,M]) -> Y: f32[M,M] { t[m,n] += A[m,k] * X[k,n];"
         " Y[m,n] = t[m,n] + (t[m-1,n] else 0); }", "t*;Y*"},
        /* A map waits for the last thing it reads.  */
        {"op f(A: f32[M,K], X: f32[M,K]) -> Y: f32[M] { s[m] += A[m,k]; t[m] += X[m,k];"
         " Y[m] = s[m] - t[m]; }", "s+t+Y*"},
        {"op f(X: f32[M,N]) -> Y: f32[M,N] {"
         " m[i] = max[j](X[i,j]); z[i] = sum[j](exp(X[i,j] - m[i]));"
         " Y[i,j] = exp(X[i,j] - m[i]) / z[i]; }", "m+z+Y*"},
        {"op f(A: f32[M,K], X: f32[K,N]) -> (Y: f32[M,N], Z: f32[M,N]) { Y[m,n] += A[m,k] * X[k,n];"
         " Z[m,n] = Y[m,n] * 2; }", "Y*+Z*"},
        {"op f(X: f32[M]) -> (Y: f32[M], Z: f32[M]) {"
         " Y[m] = exp(X[m]); Z[m] = Y[m] * Y[m]; }", "Y*+Z*"},
        {"op f(X: f32[M]) -> Y: f32 { s[] += X[m]; Y[] = sqrt(s[]); }", "s+Y*"},
        /* Whatever the order: a map follows the product, though another sum comes behind that; */
        {"op f(A: f32[M,K], X: f32[K,N], V: f32[K,N]) -> Y: f32[M,N] { t[m,n] += A[m,k] * X[k,n];"
         " b[n] = max[k](V[k,n]); Y[m,n] = t[m,n] + b[n]; }", "b*;t+Y*"},
        {"op f(A: f32[M,K], X: f32[K,N], V: f32[K,N]) -> Y: f32[M,N] { b[n] = max[k](V[k,n]);"
         " t[m,n] += A[m,k] * X[k,n]; Y[m,n] = t[m,n] + b[n]; }", "b*;t+Y*"},
        /* maps share a kernel, though one needs a sum behind the other; */
        {"op f(X: f32[M], A: f32[K]) -> (Y: f32[M], Z: f32[M]) { Y[m] = exp(X[m]); s[] += A[k];"
         " Z[m] = X[m] * s[]; }", "s*;Y*+Z*"},
        {"op f(X: f32[M], A: f32[K]) -> (Y: f32[M], Z: f32[M]) { s[] += A[k]; Y[m] = exp(X[m]);"
         " Z[m] = X[m] * s[]; }", "s*;Y*+Z*"},
        /* and a row's kernel takes in what it needs of each row.  */
        {"op f(X: f32[M,N], A: f32[M]) -> (Z: f32[M], Y: f32[M]) { Z[m] = exp(A[m]);"
         " s[m] = sum[n](X[m,n]); Y[m] = s[m] * Z[m]; }", "s+Z*+Y*"},
        {"op f(X: f32[M,N], A: f32[M]) -> (Z: f32[M], Y: f32[M]) { s[m] = sum[n](X[m,n]);"
         " Z[m] = exp(A[m]); Y[m] = s[m] * Z[m]; }", "s+Z*+Y*"},
        /* What is read of another map elsewhere, or stands between, keeps them apart.  */
        {"op f(X: f32[M]) -> (Y: f32[M], Z: f32[M]) { Y[m] = exp(X[m]); Z[m] = X[m] * Y[M-1-m]; }",
         "Y*;Z*"},
        {"op f(X: f32[M]) -> (Y: f32[M], Z: f32[M]) { Y[m] = exp(X[m]); s[n] = Y[M-1-n] * X[n];"
         " q[] = prod[k](s[M-1-k]) where k in 3; Z[m] = Y[m] * q[]; }", "Y*;q*;Z*"},
    };
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(groups_text(a, normal_of(a, cases[i].op)), cases[i].groups);
    arena_destroy(a);
}

static void an_epilogue_knows_its_permutation(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = normal_of(a, "op f(A: f32[B,M,K], X: f32[K,N]) -> Y: f32[N,B,M] {"
                          " t[b,m,n] += A[b,m,k] * X[k,n]; u[m,n,b] = exp(t[b,m,n]);"
                          " Y[n,b,m] = u[m,n,b] * u[m,n,b]; }");
    KernelGroup *g;
    assert_int_equal(access_groups(a, te, &g), 1);
    assert_int_equal(g->n_fused, 2);
    static const uint8_t want[2][3] = {{1, 2, 0}, {2, 0, 1}};
    for (int i = 0; i < 2; i++) assert_memory_equal(g->perm[i], want[i], 3);
    arena_destroy(a);
}

static void the_dump_names_everything(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = normal_of(a, "op f(A: f16[K,M], X: f16[K-2], b: f32[M]) -> Y: f16[M] {"
                          " t[m] += A[k,m] * (X[k-1] else 0); Y[m] = t[m] + b[m]; }");
    KernelGroup *g;
    int n = access_groups(a, te, &g);
    Buf b = buf_new(a);
    access_print(te, g, n, &b);
    assert_string_equal(buf_str(&b),
                        "group 0: reduction of t\n"
                        "  contraction in f32, of a product\n"
                        "  N 6 = m:6\n"
                        "  K 7 = k:7\n"
                        "  a: X[k-1] else 0 (f16)\n"
                        "  b: A[k,m] (f16)\n"
                        "  root\n"
                        "    t = sum[k](A[k,m] * (X[k-1] else 0))\n"
                        "      reads A f16 at m + 6*k\n"
                        "      reads X f16 at k - 1, if 0 <= k - 1 < 5\n"
                        "      writes t f32 at m\n"
                        "  then\n"
                        "    Y = t[m] + b[m]\n"
                        "      reads t f32 at m\n"
                        "      reads b f32 at m\n"
                        "      writes Y f16 at m\n");
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotients_are_affine_when_they_can_be),
        cmocka_unit_test(guards_only_where_needed),
        cmocka_unit_test(digits_of_a_number_are_one_subscript),
        cmocka_unit_test(neighbours_are_one_at_all_sizes),
        cmocka_unit_test(empty_ranges_have_no_values),
        cmocka_unit_test(groups_are_kernels),
        cmocka_unit_test(an_epilogue_knows_its_permutation),
        cmocka_unit_test(the_dump_names_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
