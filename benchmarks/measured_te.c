/* What a published time is of: expressions by operator.  `u` behind an operator's name: with a
 * number for its second operand.  */
#include "measured_row.h"
#include <string.h>

typedef struct {
    const char *in, *out, *factors;       /* types; factors: an annotation of products, or "" */
} Types;

static bool types_of(const MeasuredRow *r, Types *t) {
    static const struct {
        const char *name;
        Types types;
    } known[] = {{"f32", {"f32", "f32", ""}},
                 {"f16", {"f16", "f16", ""}},
                 {"f16f32", {"f16", "f32", ""}},
                 {"bf16xbf16->bf16", {"bf16", "bf16", ""}},
                 {"f32xf32->f32", {"f32", "f32", " @tf32"}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, r->dtype) != 0) continue;
        *t = known[i].types;
        return true;
    }
    return false;
}

static void params(const MeasuredRow *r, Buf *out) {
    buf_puts(out, "param ");
    for (int i = 0; i < r->n_size; i++)
        buf_printf(out, "%s%s = %lld", i ? ", " : "", r->name[i], (long long)r->value[i]);
    buf_puts(out, ";\n");
}

/* Products: how B lies, whether there are batches and a bias.  */
static bool product(const MeasuredRow *r, const Types *t, Buf *out) {
    static const struct {
        const char *op, *a, *b, *at, *bt;
        bool batch, bias;
    } rule[] = {{"linear", "M,K", "N,K", "m,k", "n,k", false, true},
                {"linear_nobias", "M,K", "N,K", "m,k", "n,k", false, false},
                {"bmm", "B,M,K", "B,K,N", "b,m,k", "b,k,n", true, false},
                {"gemm_nn", "M,K", "K,N", "m,k", "k,n", false, false},
                {"gemm_nt", "M,K", "N,K", "m,k", "n,k", false, false},
                {"gemm_tn", "K,M", "K,N", "k,m", "k,n", false, false}};
    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++) {
        if (strcmp(rule[i].op, r->op) != 0) continue;
        const char *b = rule[i].batch ? "B," : "", *at = rule[i].batch ? "b," : "";
        buf_printf(out, "op f(A: %s[%s], W: %s[%s]", t->in, rule[i].a, t->in, rule[i].b);
        if (rule[i].bias) buf_printf(out, ", c: %s[N]", t->in);
        buf_printf(out, ") -> C: %s[%sM,N] {\n", t->out, b);
        buf_printf(out, "  %s[%sm,n] += A[%s] * W[%s]%s;\n", rule[i].bias ? "t" : "C", at,
                   rule[i].at, rule[i].bt, t->factors);
        if (rule[i].bias) buf_puts(out, "  C[m,n] = t[m,n] + c[n];\n");
        buf_puts(out, "}\n");
        return true;
    }
    return false;
}

/* Products of elements with block scales, in tiles of 128 rows by 4 blocks (docs/block-scales.md),
 * and of f8e4m3 with one factor.  */
static bool scaled(const MeasuredRow *r, Buf *out) {
    static const struct {
        const char *name, *element, *scale;
        int block;            /* elements along k that share a scale; 0: one factor for all */
    } known[] = {{"mxfp8", "f8e4m3", "f8ue8m0", 32}, {"mxfp4", "f4e2m1", "f8ue8m0", 32},
                 {"nvfp4", "f4e2m1", "f8ue4m3", 16}, {"fp8", "f8e4m3", "f32", 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *e = known[i].element, *s = known[i].scale;
        int block = known[i].block;
        if (strcmp(known[i].name, r->dtype) != 0 || strcmp(r->op, "gemm_nt") != 0) continue;
        params(r, out);
        if (block == 0)
            buf_printf(out, "op f(A: %s[M,K], W: %s[N,K], s: %s) -> C: bf16[M,N] {\n"
                       "  t[m,n] += A[m,k] * W[n,k];\n  C[m,n] = t[m,n] * s;\n}\n", e, e, s);
        else
            buf_printf(out,
                       "let P = (M + 127) / 128; let Q = (N + 127) / 128; let S = K / %d;\n"
                       "op f(A: %s[M,K], SA: %s[P,S,32,4,4], W: %s[N,K], SW: %s[Q,S,32,4,4])"
                       " -> C: bf16[M,N] {\n"
                       "  C[m,n] += bf16(A[m,k] * SA[m/128,k/%d,m%%32,m/32%%4,k/%d%%4]) *\n"
                       "    bf16(W[n,k] * SW[n/128,k/%d,n%%32,n/32%%4,k/%d%%4]);\n}\n",
                       4 * block, e, s, e, s, 4 * block, block, 4 * block, block);
        return true;
    }
    return false;
}

static bool convolution(const MeasuredRow *r, const Types *t, Buf *out) {
    bool general = strcmp(r->op, "conv2") == 0;
    if (!general && strcmp(r->op, "conv") != 0) return false;
    const char *w = general ? "W" : "H", *s = general ? "S" : "R";
    const char *ph = general ? "ph" : "pad", *pw = general ? "pw" : "pad";
    const char *sh = general ? "sh" : "stride", *sw = general ? "sw" : "stride";
    buf_printf(out, "let P = (H + 2 * %s - R) / %s + 1;\n", ph, sh);
    buf_printf(out, "let Q = (%s + 2 * %s - %s) / %s + 1;\n", w, pw, s, sw);
    buf_printf(out, "op f(X: %s[N,C,H,%s], K: %s[F,C,R,%s]) -> Y: %s[N,F,P,Q] {\n", t->in, w,
               t->in, s, t->out);
    buf_printf(out, "  Y[n,f,p,q] += (X[n,c,p*%s+r-%s,q*%s+s-%s] else 0) * K[f,c,r,s];\n}\n", sh,
               ph, sw, pw);
    return true;
}

static bool rows(const MeasuredRow *r, const Types *t, Buf *out) {
    static const struct {
        const char *op, *inputs, *body;   /* %T: the type */
    } rule[] = {
        {"add", "A: %T[M,N], B: %T[M,N]", "Y[m,n] = A[m,n] + B[m,n];"},
        {"mul", "A: %T[M,N], B: %T[M,N]", "Y[m,n] = A[m,n] * B[m,n];"},
        {"div", "A: %T[M,N], B: %T[M,N]", "Y[m,n] = A[m,n] / B[m,n];"},
        {"pow", "A: %T[M,N], B: %T[M,N]", "Y[m,n] = pow(A[m,n], B[m,n]);"},
        {"addu", "A: %T[M,N]", "Y[m,n] = A[m,n] + 3;"},
        {"mulu", "A: %T[M,N]", "Y[m,n] = A[m,n] * 3;"},
        {"divu", "A: %T[M,N]", "Y[m,n] = A[m,n] / 3;"},
        {"powu", "A: %T[M,N]", "Y[m,n] = A[m,n] * A[m,n];"},
        {"relu", "A: %T[M,N]", "Y[m,n] = max(A[m,n], 0);"},
        {"tanh", "A: %T[M,N]", "Y[m,n] = tanh(A[m,n]);"},
        {"gelu", "A: %T[M,N]", "Y[m,n] = A[m,n] * (1 + erf(A[m,n] * 0.7071067811865476)) / 2;"},
        {"add3", "A: %T[M,N], B: %T[M,N], D: %T[M,N]", "Y[m,n] = A[m,n] + B[m,n] + D[m,n];"},
        {"silu_mul", "A: %T[M,2*N]",
         "Y[m,n] = A[m,n] / (1 + exp(-A[m,n])) * A[m,n+N] where n in 0:N;"},
        {"softmax", "A: %T[M,N]",
         "x[m] max= A[m,n]; s[m] += exp(A[m,n] - x[m]); Y[m,n] = exp(A[m,n] - x[m]) / s[m];"},
        {"ln", "A: %T[M,N], g: %T[N], b: %T[N]",
         "u[m] = sum[n](f32(A[m,n])) / f32(N);"
         " v[m] = sum[n]((A[m,n] - u[m]) * (A[m,n] - u[m])) / f32(N);"
         " Y[m,n] = (A[m,n] - u[m]) * rsqrt(v[m] + 0.00001) * g[n] + b[n];"},
        {"rmsnorm", "A: %T[M,N], g: %T[N]",
         "v[m] = sum[n](f32(A[m,n]) * f32(A[m,n])) / f32(N);"
         " Y[m,n] = A[m,n] * rsqrt(v[m] + 0.00001) * g[n];"}};
    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++) {
        if (strcmp(rule[i].op, r->op) != 0) continue;
        buf_puts(out, "op f(");
        for (const char *c = rule[i].inputs; *c; c++) {
            if (c[0] == '%') buf_puts(out, t->in), c++;
            else buf_putc(out, *c);
        }
        buf_printf(out, ") -> Y: %s[M,N] { %s }\n", t->out, rule[i].body);
        return true;
    }
    return false;
}

/* Softmax of scores, and values by it; B is a batch of heads.  */
static bool attention(const MeasuredRow *r, const Types *t, Buf *out) {
    bool causal = strcmp(r->op, "attention_causal") == 0;
    if (!causal && strcmp(r->op, "attention") != 0) return false;
    buf_printf(out, "op f(Q: %s[B,L,D], K: %s[B,L,D], V: %s[B,L,D]) -> O: %s[B,L,D] {\n", t->in,
               t->in, t->in, t->out);
    buf_puts(out, "  s[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]) * rsqrt(f32(D));\n");
    buf_printf(out, "  t[b,i,j] = %s;\n", causal ? "j <= i ? s[b,i,j] : -inf" : "s[b,i,j]");
    buf_puts(out, "  m[b,i] = max[j](t[b,i,j]);\n  z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));\n");
    buf_printf(out, "  O[b,i,e] = sum[j](%s(exp(t[b,i,j] - m[b,i])) * V[b,j,e]) / z[b,i];\n}\n",
               t->in);
    return true;
}

bool measured_te(const MeasuredRow *r, Buf *out) {
    Types t;
    if (scaled(r, out)) return true;
    if (!types_of(r, &t)) return false;
    params(r, out);
    return product(r, &t, out) || convolution(r, &t, out) || attention(r, &t, out) ||
           rows(r, &t, out);
}

double measured_flop(const MeasuredRow *r) {
    double m = (double)measured_size(r, "M", 1), n = (double)measured_size(r, "N", 1);
    if (strncmp(r->op, "conv", 4) == 0) {
        bool general = strcmp(r->op, "conv2") == 0;
        const char *ph = general ? "ph" : "pad", *sh = general ? "sh" : "stride";
        int64_t h = measured_size(r, "H", 1), w = measured_size(r, "W", h);
        int64_t kh = measured_size(r, "R", 1), kw = measured_size(r, "S", kh);
        int64_t p = (h + 2 * measured_size(r, ph, 0) - kh) / measured_size(r, sh, 1) + 1;
        int64_t q = (w + 2 * measured_size(r, general ? "pw" : "pad", 0) - kw) /
                        measured_size(r, general ? "sw" : "stride", 1) + 1;
        return 2 * n * (double)(p * q * measured_size(r, "F", 1) * measured_size(r, "C", 1)) *
               (double)(kh * kw);
    }
    double k = (double)measured_size(r, "K", 0);
    return 2 * (double)measured_size(r, "B", 1) * m * n * k;
}
