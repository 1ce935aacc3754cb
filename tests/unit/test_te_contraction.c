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

static const char params[] =
    "param M=6, N=5, K=7, B=3, C=4, H=9, W=8, F=6, R=3, S=2, st=2, pad=1, dil=1, G=2, D=5, T=2;\n"
    "let P = (H + 2*pad - dil*(R-1) - 1) / st + 1;\n"
    "let Q = (W + 2*pad - dil*(S-1) - 1) / st + 1;\n";

/* An op and what its first reduction must be.  Classes: B, M, N, K; digits by '|', the indices of a
 * digit by ','.  Operands as text.  */
typedef struct {
    const char *op;
    const char *axes;
    const char *a, *b;
    bool product, separates;
} Kind;

static const Kind kinds[] = {
    {"op f(A: f32[M,K], X: f32[K,N]) -> Y: f32[M,N] { Y[m,n] += A[m,k] * X[k,n]; }",
     "M=m N=n K=k", "A[m,k]", "X[k,n]", true, true},
    {"op f(A: f32[K,M], X: f32[K,N]) -> Y: f32[M,N] { Y[m,n] += A[k,m] * X[k,n]; }",
     "M=m N=n K=k", "A[k,m]", "X[k,n]", true, true},
    {"op f(A: f32[M,K], X: f32[N,K]) -> Y: f32[M,N] { Y[m,n] += A[m,k] * X[n,k]; }",
     "M=m N=n K=k", "A[m,k]", "X[n,k]", true, true},
    {"op f(A: f32[K,M], X: f32[N,K]) -> Y: f32[M,N] { Y[m,n] += A[k,m] * X[n,k]; }",
     "M=m N=n K=k", "A[k,m]", "X[n,k]", true, true},
    /* The output's fastest index belongs to N, whichever operand has it.  */
    {"op f(A: f32[M,K], X: f32[K,N]) -> Y: f32[N,M] { Y[n,m] += A[m,k] * X[k,n]; }",
     "M=n N=m K=k", "X[k,n]", "A[m,k]", true, true},
    {"op f(A: f32[M,K], X: f32[K,N]) -> Y: f32[M,N] strides(1,M) { Y[m,n] += A[m,k] * X[k,n]; }",
     "M=n N=m K=k", "X[k,n]", "A[m,k]", true, true},
    {"op f(A: f32[B,M,K], X: f32[B,K,N]) -> Y: f32[B,M,N] { Y[b,m,n] += A[b,m,k] * X[b,k,n]; }",
     "B=b M=m N=n K=k", "A[b,m,k]", "X[b,k,n]", true, true},
    {"op f(A: f32[B,M,K], X: f32[K,N]) -> Y: f32[B,M,N] { Y[b,m,n] += A[b,m,k] * X[k,n]; }",
     "M=b,m N=n K=k", "A[b,m,k]", "X[k,n]", true, true},
    {"op f(A: f32[M,K], x: f32[K]) -> Y: f32[M] { Y[m] += A[m,k] * x[k]; }",
     "N=m K=k", "x[k]", "A[m,k]", true, true},
    {"op f(A: f32[M,K]) -> Y: f32[M] { Y[m] += A[m,k]; }", "M=m K=k", "A[m,k]", NULL, true, true},
    {"op f(A: f32[M,K], X: f32[M,K]) -> Y: f32[M] { Y[m] += A[m,k] * X[m,k]; }",
     "M=m K=k", "A[m,k] * X[m,k]", NULL, true, true},
    {"op f(A: f32[K], X: f32[K]) -> Y: f32 { Y[] += A[k] * X[k]; }",
     "K=k", "A[k] * X[k]", NULL, true, true},
    /* Summed once for all n.  */
    {"op f(A: f32[M,K]) -> Y: f32[M,N] { Y[m,n] += A[m,k]; }",
     "M=m K=k", "A[m,k]", NULL, true, true},
    {"op f(A: f32[M,N,K]) -> Y: f32[M,N] { Y[m,n] max= A[m,n,k]; }",
     "M=m,n K=k", "A[m,n,k]", NULL, false, true},
    {"op f(A: f32[M,K,N]) -> Y: i32[M] { Y[m] = argmax[k,n](A[m,k,n]); }",
     "M=m K=k,n", "A[m,k,n]", NULL, false, true},
    {"op f(A: f32[M,K,N]) -> Y: i32[M] { Y[m] = argmax[n,k](A[m,k,n]); }",
     "M=m K=k|n", "A[m,k,n]", NULL, false, true},
    /* Integers: i8 by i8 in i32.  */
    {"op f(A: i8[M,K], X: i8[N,K]) -> Y: i32[M,N] { Y[m,n] += i32(A[m,k]) * X[n,k]; }",
     "M=m N=n K=k", "A[m,k]", "X[n,k]", true, true},
    /* Not products.  */
    {"op f(A: f32[M,K], X: f32[N,K]) -> Y: f32[M,N] { Y[m,n] = sum[k](abs(A[m,k] - X[n,k])); }",
     "M=m N=n K=k", "A[m,k]", "X[n,k]", false, true},
    {"op f(A: f32[M,K], X: f32[N,K]) -> Y: f32[M,N] {"
     " Y[m,n] = sum[k]((A[m,k] - X[n,k]) * (A[m,k] - X[n,k])); }",
     "M=m N=n K=k", "A[m,k]", "X[n,k]", false, true},
    {"op f(A: f32[M,K], X: f32[K,N]) -> Y: f32[M,N] { Y[m,n] max= A[m,k] + X[k,n]; }",
     "M=m N=n K=k", "A[m,k]", "X[k,n]", false, true},
    {"op f(A: bool[M,K], X: bool[K,N]) -> Y: bool[M,N] { Y[m,n] = any[k](A[m,k] && X[k,n]); }",
     "M=m N=n K=k", "A[m,k]", "X[k,n]", false, true},
    /* Factors of one side, of the reduction, of nothing; those behind the sum are no operands.  */
    {"op f(A: f32[M,K], X: f32[K,N], w: f32[K]) -> Y: f32[M,N] {"
     " Y[m,n] += A[m,k] * w[k] * X[k,n]; }",
     "M=m N=n K=k", "A[m,k] * w[k]", "X[k,n]", true, true},
    {"op f(A: f32[M,K], X: f32[K,N], w: f32[N]) -> Y: f32[M,N] {"
     " Y[m,n] += A[m,k] * (w[n] * X[k,n]); }",
     "M=m N=n K=k", "A[m,k]", "X[k,n]", true, true},
    {"op f(A: f32[M,K], X: f32[K,N], w: f32) -> Y: f32[M,N] { Y[m,n] += A[m,k] * X[k,n] * w; }",
     "M=m N=n K=k", "A[m,k]", "X[k,n]", true, true},
    {"op f(A: f32[M,K], X: f32[K,N], w: f32) -> Y: f32[M,N] { Y[m,n] += w * A[m,k] * X[k,n]; }",
     "M=m N=n K=k", "A[m,k]", "X[k,n]", true, true},
    {"op f(A: f32[M,K], X: f32[K,N], w: f32[N]) -> Y: f32[M,N] {"
     " Y[m,n] += A[m,k] * X[k,n] * w[n]; }",
     "M=m N=n K=k", "A[m,k]", "X[k,n]", true, true},
    {"op f(A: f32[M,K], X: f32[K,N], w: f32[K]) -> Y: f32[M,N] {"
     " Y[m,n] += A[m,k] * X[k,n] * w[k]; }",
     "M=m N=n K=k", "A[m,k] * w[k]", "X[k,n]", true, true},
    {"op f(A: f32[M,K], X: f32[N,K], Z: f32[B,K]) -> Y: f32[M,N,B] {"
     " Y[m,n,b] += A[m,k] * X[n,k] * Z[b,k]; }",
     "M=m|n N=b K=k", "A[m,k] * X[n,k]", "Z[b,k]", true, true},
    /* Convolutions.  */
    {"op f(X: f16[N,C,W], Z: f16[F,C,S]) -> Y: f16[N,F,W-S+1] {"
     " Y[n,f,q] += X[n,c,q+s] * Z[f,c,s]; }",
     "M=f N=n|q K=c|s", "Z[f,c,s]", "X[n,c,q+s]", true, true},
    {"op f(X: f16[N,C,H,W], Z: f16[F,C,R,S]) -> Y: f16[N,F,P,Q] {"
     " Y[n,f,p,q] += (X[n,c,p*st+r*dil-pad,q*st+s*dil-pad] else 0) * Z[f,c,r,s]; }",
     "M=f N=n|p|q K=c|r|s", "Z[f,c,r,s]", "X[n,c,2*p+r-1,2*q+s-1] else 0", true,
     true},
    {"op f(X: f16[N,H,W,C], Z: f16[R,S,C,F]) -> Y: f16[N,P,Q,F] {"
     " Y[n,p,q,f] += (X[n,p*st+r*dil-pad,q*st+s*dil-pad,c] else 0) * Z[r,s,c,f]; }",
     "M=n|p|q N=f K=r|s|c", "X[n,2*p+r-1,2*q+s-1,c] else 0", "Z[r,s,c,f]", true,
     true},
    {"op f(X: f16[N,H,W,C], Z: f16[F,C]) -> Y: f16[N,H,W,F] { Y[n,h,w,f] += X[n,h,w,c] * Z[f,c]; }",
     "M=n,h,w N=f K=c", "X[n,h,w,c]", "Z[f,c]", true, true},
    {"op f(X: f16[N,C,H,W], Z: f16[F,C]) -> Y: f16[N,F,H,W] { Y[n,f,h,w] += X[n,c,h,w] * Z[f,c]; }",
     "M=f N=n|h,w K=c", "Z[f,c]", "X[n,c,h,w]", true, true},
    {"op f(X: f16[N,C,D,H,W], Z: f16[F,C,T,R,S]) -> Y: f16[N,F,D-T+1,H-R+1,W-S+1] {"
     " Y[n,f,d,p,q] += X[n,c,d+t,p+r,q+s] * Z[f,c,t,r,s]; }",
     "M=f N=n|d|p|q K=c|t|r|s", "Z[f,c,t,r,s]", "X[n,c,d+t,p+r,q+s]", true, true},
    /* Rows of the window lie together in the input when it is as wide as the window.  */
    {"op f(X: f16[N,C,R,S], Z: f16[F,C,R,S]) -> Y: f16[N,F] { Y[n,f] += X[n,c,r,s] * Z[f,c,r,s]; }",
     "M=n N=f K=c,r,s", "X[n,c,r,s]", "Z[f,c,r,s]", true, true},
    {"op f(X: f16[N,G,C,H,W], Z: f16[G,F,C,R,S]) -> Y: f16[N,G,F,P,Q] {"
     " Y[n,g,f,p,q] += (X[n,g,c,p*st+r*dil-pad,q*st+s*dil-pad] else 0) * Z[g,f,c,r,s]; }",
     "B=g M=f N=n|p|q K=c|r|s", "Z[g,f,c,r,s]",
     "X[n,g,c,2*p+r-1,2*q+s-1] else 0", true, true},
    {"op f(X: f16[N,G*C,H,W], Z: f16[G*F,C,R,S]) -> Y: f16[N,G,F,P,Q] {"
     " Y[n,g,f,p,q] += (X[n,g*C+c,p*st+r*dil-pad,q*st+s*dil-pad] else 0) * Z[g*F+f,c,r,s]"
     " where c in C; }",
     "B=g M=f N=n|p|q K=c|r|s", "Z[6*g+f,c,r,s]",
     "X[n,4*g+c,2*p+r-1,2*q+s-1] else 0", true, true},
    {"op f(X: f16[N,C,H,W], Z: f16[C,R,S]) -> Y: f16[N,C,P,Q] {"
     " Y[n,c,p,q] += (X[n,c,p*st+r*dil-pad,q*st+s*dil-pad] else 0) * Z[c,r,s]; }",
     "B=c N=n|p|q K=r|s", "Z[c,r,s]", "X[n,c,2*p+r-1,2*q+s-1] else 0", true, true},
    {"op f(X: f16[N,H,W,C], Z: f16[R,S,C]) -> Y: f16[N,P,Q,C] {"
     " Y[n,p,q,c] += (X[n,p*st+r*dil-pad,q*st+s*dil-pad,c] else 0) * Z[r,s,c]; }",
     "B=c M=n|p|q K=r|s", "X[n,2*p+r-1,2*q+s-1,c] else 0", "Z[r,s,c]", true, true},
    {"op f(X: f16[N,H,W,T,T,C], Z: f16[R,S,T,T,C,F]) -> Y: f16[N,P,Q,T,T,F] {"
     " Y[n,p,q,i,j,f] += (X[n,2*p+r-1,2*q+s-1,i,k,c] else 0) * Z[r,s,k,j,c,f]; }",
     "M=n|p|q|i N=j|f K=r|s|k|c", "X[n,2*p+r-1,2*q+s-1,i,k,c] else 0", "Z[r,s,k,j,c,f]", true,
     true},
    /* Transposed: a condition, or a read of what a stride does not divide.  */
    {"op f(X: f16[N,C,H,W], Z: f16[C,F,R,S]) -> Y: f16[N,F,H*2-1,W*2] { Y[n,f,p,q] +="
     " ((p+1-r) % 2 == 0 && (q+1-s) % 2 == 0 ? (X[n,c,(p+1-r)/2,(q+1-s)/2] else 0) : 0)"
     " * Z[c,f,r,s]; }",
     "M=f N=n|p|q K=c|r|s", "Z[c,f,r,s]",
     "(p + 1 - r) % 2 == 0 && (q + 1 - s) % 2 == 0 ? (X[n,c,(p+1-r)/2,(q+1-s)/2] else 0) : 0", true,
     true},
    {"op f(X: f16[N,C,H,W], Z: f16[C,R,S]) -> Y: f16[N,C,H*2-1,W*2] { Y[n,c,p,q] +="
     " ((p+1-r) % 2 == 0 && (q+1-s) % 2 == 0 ? (X[n,c,(p+1-r)/2,(q+1-s)/2] else 0) : 0)"
     " * Z[c,r,s]; }",
     "B=c N=n|p|q K=r|s", "Z[c,r,s]",
     "(p + 1 - r) % 2 == 0 && (q + 1 - s) % 2 == 0 ? (X[n,c,(p+1-r)/2,(q+1-s)/2] else 0) : 0", true,
     true},
    /* Attention scores: heads are a batch in both, wherever they lie.  */
    {"op f(X: f16[B,M,G,D], Z: f16[B,N,G,D]) -> Y: f16[B,G,M,N] {"
     " Y[b,h,i,j] = sum[d](X[b,i,h,d] * Z[b,j,h,d]) / 8.0; }",
     "B=b|h M=i N=j K=d", "X[b,i,h,d]", "Z[b,j,h,d]", true, true},
    /* The epilogue's output decides, and its reads keep digits apart.  */
    {"op f(X: f16[N,H,W,C], Z: f16[F,C]) -> Y: f16[N,F,H,W] {"
     " a[n,h,w,f] += X[n,h,w,c] * Z[f,c]; Y[n,f,h,w] = max(a[n,h,w,f], 0); }",
     "M=f N=n|h,w K=c", "Z[f,c]", "X[n,h,w,c]", true, true},
    {"op f(X: f16[N,H,W,C], Z: f16[F,C], b: f16[W]) -> Y: f16[N,H,W,F] {"
     " a[n,h,w,f] += X[n,h,w,c] * Z[f,c]; Y[n,h,w,f] = a[n,h,w,f] + b[w]; }",
     "M=n,h|w N=f K=c", "X[n,h,w,c]", "Z[f,c]", true, true},
    {"op f(X: f16[N,H,W,C], Z: f16[F,C]) -> Y: f16[N,H,W,F] {"
     " a[n,h,w,f] += X[n,h,w,c] * Z[f,c]; Y[n,h,w,f] = a[n,h,w,f] + h; }",
     "M=n|h|w N=f K=c", "X[n,h,w,c]", "Z[f,c]", true, true},
    /* Extents of 1 come first and join.  */
    {"op f(X: f16[N,C,1,W], Z: f16[F,C,1,1]) -> Y: f16[N,F,1,W] {"
     " Y[n,f,p,q] += X[n,c,p+r,q+s] * Z[f,c,r,s]; }",
     "M=f N=n|q K=c", "Z[f,c]", "X[n,c,q]", true, true},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static Te *normal_of(Arena *a, const char *op) {
    const char *text = arena_printf(a, "%s%s", params, op);
    return fixture_normal(a, fixture_te(a, text));
}

static int first_reduction(const Te *te) {
    int i = 0;
    while (te->stmt[i].rhs->kind != TE_REDUCE)
        i++;
    return i;
}

static const char *axes_text(Arena *a, const TeStmt *s, const Contraction *c) {
    Buf b = buf_new(a);
    for (int k = 0; k < AX_CLASSES; k++) {
        const FusedAxis *x = &c->axis[k];
        if (x->n == 0) continue;
        buf_printf(&b, "%s%c=", b.len ? " " : "", "BMNK"[k]);
        for (int d = 0; d < x->n_digit; d++) {
            for (int i = 0; i < x->digit[d].n; i++)
                buf_printf(&b, "%s%s", i ? "," : d ? "|" : "",
                           s->index[x->index[x->digit[d].first + i]].name);
        }
    }
    return buf_str(&b);
}

static void check_operand(Arena *a, const Te *te, const TeStmt *s, const Operand *o,
                          const char *want) {
    if (!want) {
        assert_null(o->expr);
        return;
    }
    Buf b = buf_new(a);
    te_print_expr(te, s, o->expr, &b);
    assert_string_equal(buf_str(&b), want);
}

static void kinds_are_recognised(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    for (int i = 0; i < KINDS; i++) {
        const Kind *k = &kinds[i];
        Te *te = normal_of(a, k->op);
        int at = first_reduction(te);
        Contraction c;
        const char *why = NULL;
        bool separates = access_contraction(te, at, &c, &why);
        if (separates != k->separates) fail_msg("%s: %s", k->op, why ? why : "separates");
        assert_true(separates || why);
        const char *axes = axes_text(a, &te->stmt[at], &c);
        if (strcmp(axes, k->axes) != 0) fail_msg("%s: %s, not %s", k->op, axes, k->axes);
        check_operand(a, te, &te->stmt[at], &c.operand[0], k->a);
        check_operand(a, te, &te->stmt[at], &c.operand[1], k->b);
        assert_int_equal(c.product, k->product);
    }
    arena_destroy(a);
}

/* -- facts against brute force ----------------------------------------------------------------- */

/* At every point an access is where its subscripts say, and never outside without a guard.  */
static void check_access(const Te *te, const TeStmt *s, const Access *x, const int64_t *at) {
    const TeTensor *t = &te->tensor[x->tensor];
    int64_t offset = 0;
    for (int d = 0; d < t->rank; d++) {
        int64_t sub = x->read ? points_direct(te, x->read->args[d], at) : at[d];
        assert_int_equal(sub, points_apply(&x->sub[d], at));
        if (!x->guard[d]) assert_in_range(sub, 0, t->shape[d].value - 1);
        offset += sub * t->stride[d].value;
    }
    assert_int_equal(offset, points_apply(&x->offset, at));
    for (int i = 0; i < s->n_index; i++) {
        if (x->offset.coef[i] != 0) assert_true(x->uses >> i & 1);
    }
}

/* The offset by digits: each digit's stride is that of its last index.  */
static void check_digits(const TeStmt *s, const Contraction *c, const Access *x,
                         const int64_t *at) {
    int64_t offset = x->offset.c;
    for (int k = 0; k < AX_CLASSES; k++) {
        const FusedAxis *f = &c->axis[k];
        for (int d = 0; d < f->n_digit; d++) {
            int64_t value = 0;
            int last = 0;
            for (int i = 0; i < f->digit[d].n; i++) {
                last = f->index[f->digit[d].first + i];
                value = value * s->index[last].hi.value + at[last];
            }
            assert_in_range(value, 0, f->digit[d].extent - 1);
            offset += value * x->offset.coef[last];
        }
    }
    assert_int_equal(offset, points_apply(&x->offset, at));
}

static void check_statement(const Te *te, int stmt) {
    const TeStmt *s = &te->stmt[stmt];
    ReadList reads = access_reads(s->rhs);
    Access x[17];
    int n = reads.n;
    assert_in_range(n, 1, 16);
    for (int i = 0; i < n; i++) access_read(te, s, reads.at[i], &x[i]);
    access_write(te, s, &x[n]);
    Contraction c;
    const char *why;
    bool reduction = s->rhs->kind == TE_REDUCE;
    if (reduction) access_contraction(te, stmt, &c, &why);
    int64_t at[TE_MAX_INDICES] = {0};
    do {
        for (int i = 0; i <= n; i++) {
            if (!x[i].affine) continue;
            check_access(te, s, &x[i], at);
            if (reduction && (i < n || te->tensor[s->tensor].role == TE_OUTPUT))
                check_digits(s, &c, &x[i], at);
        }
    } while (points_next(s, at));
}

static void accesses_hold_at_every_point(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    for (int i = 0; i < KINDS; i++) {
        Te *te = normal_of(a, kinds[i].op);
        for (int k = 0; k < te->n_stmt; k++) check_statement(te, k);
    }
    arena_destroy(a);
}

/* Every index is in one class, extents multiply, operands use their own side's axes only.  */
static void axes_are_a_partition(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    for (int i = 0; i < KINDS; i++) {
        Te *te = normal_of(a, kinds[i].op);
        int at = first_reduction(te);
        const TeStmt *s = &te->stmt[at];
        Contraction c;
        const char *why;
        uint32_t in[AX_CLASSES] = {0};
        int n = 0;
        access_contraction(te, at, &c, &why);
        for (int k = 0; k < AX_CLASSES; k++) {
            int64_t extent = 1, digits = 1;
            for (int j = 0; j < c.axis[k].n; j++) {
                in[k] |= 1u << c.axis[k].index[j];
                extent *= s->index[c.axis[k].index[j]].hi.value;
            }
            for (int j = 0; j < c.axis[k].n_digit; j++) digits *= c.axis[k].digit[j].extent;
            n += c.axis[k].n;
            assert_int_equal(extent, c.axis[k].extent);
            assert_int_equal(digits, extent);
        }
        assert_int_equal(n, s->n_index);
        assert_int_equal(in[AX_B] | in[AX_M] | in[AX_N] | in[AX_K], (1u << s->n_index) - 1);
        assert_int_equal(access_uses(c.operand[0].expr) & in[AX_N], 0);
        if (c.operand[1].expr) assert_int_equal(access_uses(c.operand[1].expr) & in[AX_M], 0);
    }
    arena_destroy(a);
}

/* -- operands ---------------------------------------------------------------------------------- */

static void operands_tell_how_they_are_stored(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Contraction c;
    const char *why;
    Te *te = normal_of(a, "op f(A: i8[M,K], X: i8[N,K]) -> Y: i32[M,N] {"
                          " Y[m,n] += i32(A[m,k]) * X[n,k]; }");
    assert_true(access_contraction(te, 0, &c, &why));
    assert_int_equal(c.operand[0].storage, TE_I8);
    assert_int_equal(c.operand[0].compute, TE_I32);
    assert_int_equal(c.acc, TE_I32);
    assert_non_null(c.operand[0].read);
    te = normal_of(a, "op f(A: f16[M,K], X: f32[N,K]) -> Y: f64[M,N] {"
                      " Y[m,n] += A[m,k] * exp(X[n,k]) @accum(f64); }");
    assert_true(access_contraction(te, 0, &c, &why));
    assert_int_equal(c.operand[0].storage, TE_F16);
    assert_int_equal(c.operand[1].storage, TE_F32);
    assert_null(c.operand[1].read);
    assert_int_equal(c.acc, TE_F64);
    /* Padding with anything but zero is no copy.  */
    te = normal_of(a, "op f(A: f16[M,K]) -> Y: f16[M] {"
                      " Y[m] max= A[m,k-1] else -inf where k in K; }");
    assert_true(access_contraction(te, 0, &c, &why));
    assert_null(c.operand[0].read);
    te = normal_of(a, "op f(A: f16[M]) -> Y: f16[M] { Y[m] = A[m]; }");
    assert_false(access_contraction(te, 0, &c, &why));
    assert_non_null(why);
    arena_destroy(a);
}

static void repeated_operands_are_the_same(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = normal_of(a, "op f(A: f32[M,K], X: f32[N,K]) -> Y: f32[M,N] {"
                          " Y[m,n] = sum[k]((A[m,k] - X[n,k]) * (A[m,k] - X[n,k])); }");
    Contraction c;
    const char *why;
    assert_true(access_contraction(te, 0, &c, &why));
    ReadList reads = access_reads(c.body);
    assert_int_equal(reads.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(access_same(reads.at[i], c.operand[0].expr), i % 2 == 0);
        assert_int_equal(access_same(reads.at[i], c.operand[1].expr), i % 2 == 1);
    }
    arena_destroy(a);
}

/* ---- scales of blocks ---- */

static bool is_scaled(Arena *a, const char *body, Contraction *c, const char **why) {
    const char *text = arena_printf(
        a, "op f(A: f8e4m3[6,64], SA: f8ue8m0[6,2], X: f8e5m2[5,64], SX: f8ue8m0[5,2],"
               " t: f8ue8m0[1], w: f32[6]) -> Y: f32[6,5] { Y[m,n] += %s; }", body);
    const Te *te = normal_of(a, text);
    KernelGroup *group;
    assert_int_equal(access_groups(a, te, &group), 1);
    return access_scaled(te, &group[0], c, why);
}

static void scales_belong_to_elements(void **state) {
    (void)state;
    static const char *const good[] = {
        "(A[m,k] * SA[m,k/32]) * (X[n,k] * SX[n,k/32])",
        "A[m,k] * X[n,k] * SA[m,k/32] * SX[n,k/32]",
        "SX[n,k/32] * (X[n,k] * (A[m,k] * SA[m,k/32]))",
        "bf16(A[m,k] * SA[m,k/32]) * bf16(X[n,k] * SX[n,k/32])",
    };
    Arena *a = arena_create(NULL);
    Contraction c;
    const char *why;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!is_scaled(a, good[i], &c, &why)) fail_msg("not taken for scaled: %s", good[i]);
        assert_true(c.product);
        for (int side = 0; side < 2; side++) {
            const Operand *o = &c.operand[side];
            assert_true(o->read && o->scale);
            assert_int_equal(access_uses(o->scale) & 3, access_uses(o->expr) & 3);
        }
    }
    assert_true(is_scaled(a, "A[m,k] * (X[n,k] * SX[n,k/32])", &c, &why));
    assert_true(!c.operand[0].scale != !c.operand[1].scale);
    /* One that both may have, before and behind another.  */
    static const char *const body[] = {"A[m,k] * X[n,k] * t[k/64] * SA[m,k/32]",
                                       "A[m,k] * X[n,k] * SA[m,k/32] * t[k/64]",
                                       "A[m,k] * X[n,k] * t[k/64] * SX[n,k/32]"};
    for (size_t i = 0; i < sizeof body / sizeof *body; i++) {
        if (!is_scaled(a, body[i], &c, &why)) fail_msg("not taken for scaled: %s", body[i]);
        assert_true(c.operand[0].scale && c.operand[1].scale);
    }
    arena_destroy(a);
}

static void other_factors_are_no_scales(void **state) {
    (void)state;
    static const struct {
        const char *body, *why;
    } bad[] = {
        {"A[m,k] * X[n,k]", NULL},                             /* none */
        {"A[m,k] * SA[m,k/32] * w[k%6] * X[n,k]", "no product of two elements"},   /* not exact */
        {"f16(A[m,k] * SA[m,k/32]) * X[n,k]", "cast"},         /* f16 has a shorter range */
        {"A[m,k] * SA[m,k/32] * SA[m,0+k/32] * SX[n,k/32] * X[n,k]", "no product of two elements"},
        {"A[m,k] * SA[m,k/32] + X[n,k]", "no product of two elements"},
        {"max(A[m,k], 0) * SA[m,k/32] * X[n,k]", "no product of two elements"},
    };
    Arena *a = arena_create(NULL);
    Contraction c;
    const char *why;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (is_scaled(a, bad[i].body, &c, &why)) fail_msg("taken for scaled: %s", bad[i].body);
        assert_int_equal(why != NULL, bad[i].why != NULL);
        if (why && !strstr(why, bad[i].why)) fail_msg("%s: %s", bad[i].body, why);
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_recognised),
        cmocka_unit_test(accesses_hold_at_every_point),
        cmocka_unit_test(axes_are_a_partition),
        cmocka_unit_test(operands_tell_how_they_are_stored),
        cmocka_unit_test(repeated_operands_are_the_same),
        cmocka_unit_test(scales_belong_to_elements),
        cmocka_unit_test(other_factors_are_no_scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
