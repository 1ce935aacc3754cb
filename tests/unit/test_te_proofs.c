/* links: te */
/* What the front end proves and infers, against enumeration of every size and every index.  */
#include "base/hash.h"
#include "te/te.h"

#include "arena_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIZES = 3 };

/* -- an evaluator that shares nothing with the prover ------------------------------------------ */
typedef struct {
    const int64_t *size, *index, *data;   /* data[t]: what tensor t holds everywhere */
} World;

static int64_t floor_quotient(int64_t a, int64_t b) {
    if (b == 0) return 0;
    int64_t q = a / b;
    return q * b > a || (q * b < a && (a < 0) != (b < 0)) ? q - 1 : q;
}

static int64_t value(const TeExpr *e, const World *w) {
    int64_t x = e->n_args > 0 ? value(e->args[0], w) : 0;
    int64_t y = e->n_args > 1 ? value(e->args[1], w) : 0;
    switch (e->kind) {
    case TE_INT: return e->v.i;
    case TE_SIZE: return w->size[e->v.ref];
    case TE_INDEX: return w->index[e->v.ref];
    case TE_READ: return w->data[e->v.ref];
    case TE_NEG: return -x;
    case TE_NOT: return !x;
    case TE_ADD: return x + y;
    case TE_SUB: return x - y;
    case TE_MUL: return x * y;
    case TE_DIV: return floor_quotient(x, y);
    case TE_MOD: return y == 0 ? 0 : x - y * floor_quotient(x, y);
    case TE_SHL: return x * (INT64_C(1) << (y & 31));
    case TE_SHR: return floor_quotient(x, INT64_C(1) << (y & 31));
    case TE_BITAND: return x & y;
    case TE_BITXOR: return x ^ y;
    case TE_BITOR: return x | y;
    case TE_EQ: return x == y;
    case TE_NE: return x != y;
    case TE_LT: return x < y;
    case TE_LE: return x <= y;
    case TE_GT: return x > y;
    case TE_GE: return x >= y;
    case TE_AND: return x && y;
    case TE_OR: return x || y;
    case TE_CALL:
        if (e->v.fn == TE_FN_ABS) return x < 0 ? -x : x;
        return (e->v.fn == TE_FN_MIN) == (x < y) ? x : y;
    default: fail_msg("kind %d", (int)e->kind);
    }
    return 0;
}

/* -- random expressions ------------------------------------------------------------------------ */
static void number(Rng *r, Buf *b, const char *const *names, int n, int depth) {
    static const char *const ops[] = {" + ", " - ", " * ", " / ", " % ", " + ", " - "};
    uint32_t what = depth == 0 ? rng_below(r, 4) : rng_below(r, 12);
    if (what < 3) {
        buf_puts(b, names[rng_below(r, (uint32_t)n)]);
    } else if (what == 3) {
        buf_printf(b, "%d", (int)rng_below(r, 6));
    } else if (what == 4) {
        buf_puts(b, rng_below(r, 2) ? "min(" : "max(");
        number(r, b, names, n, depth - 1);
        buf_puts(b, ", ");
        number(r, b, names, n, depth - 1);
        buf_puts(b, ")");
    } else {
        buf_puts(b, "(");
        number(r, b, names, n, depth - 1);
        buf_puts(b, ops[rng_below(r, 7)]);
        if (rng_below(r, 2))
            buf_printf(b, "%d", 1 + (int)rng_below(r, 5));
        else
            number(r, b, names, n, depth - 1);
        buf_puts(b, ")");
    }
}

static void condition(Rng *r, Buf *b, const char *const *names, int n) {
    static const char *const ops[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};
    int terms = 1 + (int)rng_below(r, 3);
    const char *join = rng_below(r, 3) ? " && " : " || ";
    for (int i = 0; i < terms; i++) {
        if (i) buf_puts(b, join);
        buf_puts(b, rng_below(r, 5) ? "(" : "!(");
        number(r, b, names, n, 1);
        buf_puts(b, ops[rng_below(r, 6)]);
        number(r, b, names, n, 1);
        buf_puts(b, ")");
    }
}

/* -- proofs ------------------------------------------------------------------------------------ */
static const char *const names[] = {"i", "j", "i", "j", "M", "N", "K", "I[0]"};

static void program(Rng *r, Buf *b, bool guarded) {
    bool runtime = rng_below(r, 3) != 0;
    int n = rng_below(r, 3) ? 7 : 8;
    buf_puts(b, runtime ? "param M = 1..5, N = 0..6 % 2, K = 3;\n"
                        : "param M = 4, N = 6, K = 3;\n");
    buf_puts(b, "op f(A: f32[max(0, ");
    number(r, b, names + 4, 3, 2);
    buf_puts(b, ")], Z: f32[M,N], I: i32[8]) -> Y: f32[M,N+2] {\n  Y[i,j] = ");
    if (guarded) {
        condition(r, b, names, n);
        buf_puts(b, " ? A[");
    } else {
        buf_puts(b, "A[");
    }
    number(r, b, names, n, 2);
    buf_puts(b, guarded ? "] : 0;\n}\n" : "];\n}\n");
}

/* The read of A that is not part of a condition.  */
static const TeExpr *find_read(const TeExpr *e) {
    if (e->kind == TE_SELECT) return find_read(e->args[1]);
    return e;
}

/* What the data tensors hold in the p-th world: small integers, and the two extremes.  */
static int64_t datum(int64_t p) {
    return p % 9 == 7 ? INT32_MIN : p % 9 == 8 ? INT32_MAX : p % 9 - 3;
}

static void enumerate(const Te *te, const char *text) {
    const TeExpr *rhs = te->stmt[0].rhs, *read = find_read(rhs);
    const TeExpr *cond = rhs->args[0];
    for (int64_t m = te->size[0].extent.min; m <= te->size[0].extent.value; m++) {
        for (int64_t n = te->size[1].extent.min; n <= te->size[1].extent.value; n += 2) {
            int64_t size[TE_MAX_SIZES] = {m, n, 3};
            int64_t extent = te_extent_eval(te, &te->tensor[0].shape[0], size);
            for (int64_t p = 0; p < m * (n + 2) * 9; p++) {
                int64_t index[TE_MAX_INDICES] = {p / 9 / (n + 2), p / 9 % (n + 2)};
                int64_t data[8] = {0, 0, datum(p)};
                World w = {size, index, data};
                if (read->inside == TE_INSIDE_GIVEN && !value(cond, &w)) continue;
                int64_t at = value(read->args[0], &w);
                if (at < 0 || at >= extent)
                    fail_msg("M %d N %d i %d j %d: reads %ld of %ld\n%s", (int)m, (int)n,
                             (int)index[0], (int)index[1], (long)at, (long)extent, text);
            }
        }
    }
}

static int prove(uint64_t seed, bool guarded, int count) {
    Rng r = {seed};
    int proved = 0;
    for (int i = 0; i < count; i++) {
        ArenaMark mark = arena_mark(arena);
        Buf b = buf_new(arena);
        Diag d = diag_new(arena);
        Te *te;
        program(&r, &b, guarded);
        if (te_parse(arena, &d, (DiagText){"x.te", b.text, b.len}, NULL, NULL, &te) == ST_OK &&
            find_read(te->stmt[0].rhs)->inside != TE_INSIDE_TESTED) {
            enumerate(te, b.text);
            proved++;
        }
        arena_reset(arena, mark);
    }
    return proved;
}

static void test_proofs_hold(void **state) {
    (void)state;
    assert_true(prove(1, false, 6000) > 300);
}

static void test_conditional_proofs_hold(void **state) {
    (void)state;
    assert_true(prove(2, true, 6000) > 500);
}

/* -- what must be provable --------------------------------------------------------------------- */
static const char runtime_head[] =
    "param M = 1..100, N = 8..4096 % 8, H = 2..64 % 2, G = 1..8, B = 0..9;\n"
    "op f(X: f32[M,N,H,G,B], I: i32[M], J: i64[M], A: f32[";

static bool provable(const char *extent, const char *rhs, bool checked) {
    Diag d = diag_new(arena);
    Te *te;
    const char *text = arena_printf(
        arena, "%s%s]) -> Y: f32[M,N,H,G,B] { Y[m,n,h,g,b] = %s; }", runtime_head, extent, rhs);
    bool ok = te_parse(arena, &d, diag_text("x.te", text), NULL, NULL, &te) == ST_OK;
    for (int i = 0; i < d.count && ok; i++)
        if (strcmp(d.messages[i].tag, "bounds") == 0) ok = checked;
    return ok;
}

static void test_known_proofs(void **state) {
    (void)state;
    static const struct {
        const char *extent, *rhs;
        bool proved;
    } table[] = {
        {"M*N", "A[m*N+n]", true},
        {"M*N", "A[n*M+m]", true},
        {"M*N", "A[m*M+n]", false},
        {"H*G*B", "A[(h*G+g)*B+b]", true},
        {"H/2", "A[h/2]", true},
        {"H/2*2", "A[h]", true},
        {"N/8", "A[n/8]", true},
        {"N/16", "A[n/16]", false},
        {"N/16+1", "A[n/16]", true},
        {"N", "A[n-n%8]", true},
        {"N", "A[n/8*8+7]", true},
        {"N", "A[n/16*16+15]", false},
        {"G", "A[n%G]", true},
        {"G", "A[(n+3)%G]", true},
        {"N/G+1", "A[n/G]", true},
        {"M+N-1", "A[m+n]", true},
        {"M+N-2", "A[m+n]", false},
        {"M", "A[M-1-m]", true},
        {"min(M,N)", "A[min(m,n)]", true},
        {"min(M,N)", "A[m]", false},
        {"max(M,N)", "A[m+0] + A[n+0]", true},
        {"M", "A[max(m-1,0)]", true},
        {"M", "A[min(m+1,M-1)]", true},
        {"M", "A[abs(m)]", true},
        {"M*M", "A[m*m]", true},
        {"M+1", "A[M/2]", true},
        {"M", "A[M/2]", true},
        {"M", "m > 0 ? A[m-1] : 0", true},
        {"M", "m != 0 ? A[m-1] : 0", true},
        {"M", "m == 0 ? 0 : A[m-1]", true},
        {"M", "m < M - 1 ? A[m+1] : 0", true},
        {"M", "m + 1 < M ? A[m+1] : 0", true},
        {"M", "m != M - 1 ? A[m+1] : 0", true},
        {"M", "m + n < M ? A[m+n] : 0", true},
        {"M", "n < M ? A[n] : A[0]", true},
        {"M", "n >= M ? A[0] : A[n]", true},
        {"M", "!(n >= M || m > 5) ? A[n] : 0", true},
        {"M", "n < M || A[n] > 0 ? 1 : 0", false},
        {"M", "n >= M || A[n] > 0 ? 1 : 0", true},
        {"M", "I[m] >= 0 && I[m] < M ? A[I[m]] : 0", true},
        {"M", "J[m] >= 0 && J[m] < M ? A[J[m]] : 0", true},
        {"M", "I[m] >= 0 && J[m] < M ? A[J[m]] : 0", false},
        {"2*M", "0 <= I[m] && I[m] < M ? A[2*I[m]+1] : 0", true},
        {"M", "A[I[m]%M]", true},
        {"M", "A[J[m]%M]", true},
        {"M", "A[min(max(I[m],0),M-1)]", true},
        {"M", "I[m] - 1 >= 0 && I[m] - 1 < M ? A[I[m]-1] : 0", true},
        {"M", "I[m] - 5 >= 0 && I[m] < M ? A[I[m]] : 0", false},
        {"N", "A[n-n%8]", true},
        {"N", "A[n-n%8+7]", true},
        {"N", "A[n-n%8+8]", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (provable(table[i].extent, table[i].rhs, false) != table[i].proved)
            fail_msg("A[%s]: %s: %s", table[i].extent, table[i].rhs,
                     table[i].proved ? "not proved" : "proved");
    }
}

/* Data are reals, limited by what is made of sizes.  */
static void test_real_proofs(void **state) {
    (void)state;
    static const struct {
        const char *most, *body;
        bool proved;
    } table[] = {
        {"4096", "Y[i] = A[i32(min(max(F[i], 0), f32(M - 1)))];", true},
        {"4096", "Y[i] = A[i32(min(max(F[i], 0.0), M - 1))];", true},
        {"4096", "Y[i] = A[i32(floor(min(max(F[i], 0), f32(M) - 1)))];", true},
        {"4096", "Y[i] = A[i32(max(min(round(F[i] * 2), f32(M - 1)), 0))];", true},
        {"4096", "Y[i] = A[i32(f32(M - 1) * min(max(F[i], 0), 1))];", true},
        {"4096", "Y[i] = A[i64(min(max(D[i], 0), f64(M - 1)))];", true},
        {"4096", "Y[i] = A[M - 1 - i32(min(max(F[i], 0), f32(M - 1)))];", true},
        {"4096", "Y[i] = A[min(i32(min(max(F[i], 0), f32(M - 1))) + 1, M - 1)];", true},
        {"4096", "t[i] = min(max(F[i], 0), f32(M - 1)); Y[i] = A[i32(t[i])];", true},
        {"4096", "t[i] = floor(min(max(F[i], 0), M - 1)); u[i] = i32(t[i]); Y[i] = A[u[i]];", true},
        {"4096", "Y[i] = A[i32(min(max(F[i], 0), f32(M)))];", false},
        {"4096", "Y[i] = A[i32(min(F[i], f32(M - 1)))];", false},
        {"4096", "Y[i] = A[i32(min(max(F[i], 0), f32(M - 1)) + 0.5)];", false},
        {"4096", "Y[i] = A[i32(max(F[i], f32(M - 1)))];", false},
        {"4096", "Y[i] = A[M - 1 - i32(max(F[i], f32(M - 1)))];", false},
        /* NaN becomes 0, which is not M - 1.  */
        {"4096", "Y[i] = A[i32(min(max(F[i], f32(M - 1)), f32(M - 1))) - M + 1];", false},
        {"4096", "Y[i] = A[i32(min(max(f32(i), f32(M - 1)), f32(M - 1))) - M + 1];", true},
        {"4096", "Y[i] = A[i32(min(max(F[i], -f32(M)), -1)) + M];", false},
        {"4096", "Y[i] = A[i32(min(max(f32(i), -f32(M)), -1)) + M];", true},
        /* Beyond i8 are its ends.  */
        {"4096", "Y[i] = A[i8(f32(-200 - i)) + 200];", false},
        {"4096", "Y[i] = A[200 - i8(f32(200 + i))];", false},
        {"16777217", "Y[i] = A[i32(min(max(F[i], 0), f32(M - 1)))];", true},
        {"16777218", "Y[i] = A[i32(min(max(F[i], 0), f32(M - 1)))];", false},
        {"33554432", "Y[i] = A[i32(min(max(F[i], 0), M - 1))];", false},
        {"33554432", "Y[i] = A[i32(min(max(D[i], 0), M - 1))];", true},
        {"33554432", "Y[i] = A[i32(min(max(D[i], 0), f64(f32(M - 1))))];", false},
        {"33554432", "Y[i] = A[min(max(i32(F[i]), 0), M - 1)];", true},
        {"2049", "Y[i] = A[i32(min(max(F[i], 0), f16(M - 1)))];", true},
        {"2050", "Y[i] = A[i32(min(max(F[i], 0), f16(M - 1)))];", false},
        {"257", "Y[i] = A[i32(bf16(min(max(F[i], 0), f32(M - 1))))];", true},
        {"258", "Y[i] = A[i32(bf16(min(max(F[i], 0), f32(M - 1))))];", false},
        {"2049", "t[i] = min(max(F[i], 0), M - 1) @type(f16); Y[i] = A[i32(t[i])];", true},
        {"2050", "t[i] = min(max(F[i], 0), M - 1) @type(f16); Y[i] = A[i32(t[i])];", false},
        {"8", "Y[i] = A[i32(f8e4m3(min(max(F[i], 0), f32(M - 1))))];", false},
        {"4096", "Y[i] = A[u8(min(max(F[i], -1), f32(M - 1)))];", true},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        Diag d = diag_new(arena);
        Te *te;
        const char *text = arena_printf(
            arena, "param M = 1..%s; op f(F: f32[64], D: f64[64], A: f32[M]) -> "
            "(X: f64[64], Y: f32[64]) { X[i] = F[i] + D[i]; %s }", table[i].most, table[i].body);
        bool ok = te_parse(arena, &d, diag_text("x.te", text), NULL, NULL, &te) == ST_OK;
        if (ok != table[i].proved)
            fail_msg("%s\n%s", text, ok ? "proved" : d.messages[0].message);
    }
}

/* -- ranges ------------------------------------------------------------------------------------ */
/* Rule 4: the longest range from 0 in which a*k + b*i + c stays inside for all i.  */
static int64_t longest(int a, int b, int c, int64_t extent, int64_t range) {
    int64_t n = 0;
    for (;; n++) {
        for (int64_t i = 0; i < range; i++) {
            int64_t at = a * n + b * i + c;
            if (at < 0 || at >= extent) return n;
        }
    }
}

static void test_windows(void **state) {
    (void)state;
    Rng r = {3};
    int seen = 0;
    for (int t = 0; t < 2000; t++) {
        int a = 1 + (int)rng_below(&r, 3), b = (int)rng_below(&r, 4), c = (int)rng_below(&r, 4);
        int extent = 1 + (int)rng_below(&r, 40), range = 1 + (int)rng_below(&r, 8);
        if (rng_below(&r, 4) == 0) {
            c = extent - 1 - c;
            a = -a;
            b = -b;
        }
        Diag d = diag_new(arena);
        Te *te;
        const char *text = arena_printf(
            arena, "op f(A: f32[%d]) -> Y: f32[%d] { Y[i] += A[%d*k+%d*i+%d]; }", extent, range, a,
            b, c);
        int64_t want = longest(a, b, c, extent, range);
        bool ok = te_parse(arena, &d, diag_text("x.te", text), NULL, NULL, &te) == ST_OK;
        if (c < 0 || want == 0) continue;
        if (!ok) fail_msg("%s: %s", d.messages[0].message, text);
        assert_int_equal(te->stmt[0].index[1].lo.value, 0);
        if (te->stmt[0].index[1].hi.value != want)
            fail_msg("%ld, not %ld: %s", (long)te->stmt[0].index[1].hi.value, (long)want, text);
        seen++;
    }
    assert_true(seen > 1000);
}

static const struct {
    const char *text;         /* over A[64], B[20,10], K[3] and R[T], T in 1..50 */
    int stmt;
    const char *index;
    int64_t lo, hi;
} found[] = {
    {"Y[] += A[i];", 0, "i", 0, 64},
    {"Y[] += A[i] where i in 3:9;", 0, "i", 3, 9},
    {"Y[] += A[i] where i in 9;", 0, "i", 0, 9},
    {"Y[] += A[i] * (K[i] else 0) where i in 5;", 0, "i", 0, 5},
    {"t[i] += A[2*i+r] * K[r]; Y[] += t[i];", 0, "i", 0, 31},
    {"t[i] += A[2*i+r] * K[r]; Y[] += t[j];", 1, "j", 0, 31},
    {"t[i] += (A[i+r-1] else 0) * K[r]; Y[] = sum[i](t[i]) where i in 7;", 0, "i", 0, 7},
    {"t[i] += (A[i+r-1] else 0) * K[r]; u[i] = t[i] + A[i]; Y[] += u[j];", 0, "i", 0, 64},
    {"t[i,j] = B[j,i]; Y[] += t[p,q];", 1, "p", 0, 10},
    {"t[i,j] = B[j,i]; Y[] += t[p,q];", 1, "q", 0, 20},
    {"Y[] += B[i,j] * A[i+10*k];", 0, "k", 0, 5},
    {"Y[] += B[i,j] * (i < 5 ? A[i+40] : 0);", 0, "i", 0, 20},
    {"Y[] += R[i];", 0, "i", 0, 50},
    {"Y[] += R[T-1-i] where i in T;", 0, "i", 0, 50},
    {"Y[] += R[i+k] where k in 1;", 0, "i", 0, 50},
    {"t[i] = R[i]; Y[] max= t[j];", 1, "j", 0, 50},
    {"Y[] += K[r] * K[s] * A[r+s+i];", 0, "i", 0, 60},
    {"Y[] += A[63-i];", 0, "i", 0, 64},
    {"Y[] += A[63-2*i];", 0, "i", 0, 32},
};

static void test_inferred(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof found / sizeof found[0]; n++) {
        Diag d = diag_new(arena);
        Te *te;
        const char *text = arena_printf(
            arena,
            "param T = 1..50;"
            "op f(A: f32[64], B: f32[20,10], K: f32[3], R: f32[T]) -> Y: f32 { %s }",
            found[n].text);
        if (te_parse(arena, &d, diag_text("x.te", text), NULL, NULL, &te) != ST_OK)
            fail_msg("%s: %s", d.messages[0].message, text);
        const TeStmt *s = &te->stmt[found[n].stmt];
        bool seen = false;
        for (int i = 0; i < s->n_index; i++) {
            if (strcmp(s->index[i].name, found[n].index) != 0) continue;
            seen = true;
            if (s->index[i].lo.value != found[n].lo || s->index[i].hi.value != found[n].hi)
                fail_msg("%s: %s in %ld:%ld", text, found[n].index, (long)s->index[i].lo.value,
                         (long)s->index[i].hi.value);
        }
        assert_true(seen);
    }
}

/* Of these subscripts' coefficients one product is -2^63, whose negative is no i64.  */
static void coefficients_can_be_negated(void **state) {
    (void)state;
    Diag d = diag_new(arena);
    Te *te;
    const char *text =
        "op f(T: f16[20,4,24], V: f16[24,4]) -> Y: f32[4] {"
        " Y[i] = sum[j,k](0 <= j - i*2147483648 && j - i*2147483648 < 20 && 0 <= i-2 && i-2 < 4 &&"
        " 0 <= k + j*4294967296 && k + j*4294967296 < 24"
        " ? T[j - i*2147483648, i-2, k + j*4294967296] : V[k,i]) where j in 1:20, k in 0:24; }";
    assert_int_equal(te_parse(arena, &d, diag_text("x.te", text), NULL, NULL, &te), ST_OK);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_proofs_hold), TEST(test_conditional_proofs_hold), TEST(test_known_proofs),
        TEST(test_real_proofs), TEST(test_windows), TEST(test_inferred),
        TEST(coefficients_can_be_negated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
