#include "operators.h"
#include "workload.h"

#include <string.h>

const char *const form_name[FORM_COUNT] = {
#define X(id, name) name,
    OPERATOR_FORMS(X)
#undef X
};

enum {
#define X(id, name, bytes, compute, class) T_##id = 1 << TE_##id,
    TE_DTYPES(X)
#undef X
#define X(id, name) IN_##id = 1 << FORM_##id,
    OPERATOR_FORMS(X)
#undef X
    FLOATS = T_F64 | T_F32 | T_F16 | T_BF16, REALS = FLOATS | T_F8E4M3 | T_F8E5M2,
    INTEGERS = T_I64 | T_I32 | T_I16 | T_I8 | T_U8, NUMBERS = REALS | INTEGERS,
    ALL = NUMBERS | T_BOOL,
    PACKS = T_I8 | T_U8,
    MULTIPLIES = T_F64 | T_F16 | T_BF16 | T_F8E4M3 | T_F8E5M2 | T_I8 | T_U8,
    LOOPS = IN_CONTRACT | IN_STREAM, TILES = LOOPS | IN_MATRIX,
    SLIDES = TILES | IN_WINDOW
};

const Operator operators[] = {
    /* products */
    {"matmul", "M=37;N=29;K=70", NUMBERS, TILES},
    {"matmul nt", "M=24;N=40;K=48;tb=1", NUMBERS, TILES | IN_PACKED},
    {"matmul tn", "M=33;N=17;K=31;ta=1", NUMBERS, TILES},
    {"bmm", "B=3;M=19;N=21;K=23", NUMBERS, TILES},
    {"gemm_bias_act", "M=18;N=35;K=33;bias=1;res=1;act=gelu", REALS, TILES},
    {"b2b_gemm", "M=21;N0=18;K0=35;N1=20;bias=1;act=relu", NUMBERS, TILES},
    {"attention_scores", "B=2;L=18;HEADS=3;D=20;softmax=1", REALS, TILES | IN_ROW},
    {"capsule", "N=2;C=3;H=5;W=5;F=4;R=3;S=3;stride=2;pad=1;CAP=2", NUMBERS, SLIDES},
    {"matvec", "op f(A: $T[45,70], x: $T[70]) -> y: $S[45] { y[m] += A[m,k] * x[k]; }", NUMBERS,
     TILES | IN_ROW},
    {"gathered rows", "op f(A: $T[19,48], row: i32[24], B: $T[48,32]) -> C: $S[24,32] {"
     " C[m,n] = sum[k]((A[row[m],k] else 0) * B[k,n]); }", NUMBERS, TILES},
    {"qlinear", "op f(A: $T[21,40], B: $T[19,40], s: f32[19]) -> Y: f16[21,19] {"
     " t[m,n] += A[m,k] * B[n,k]; Y[m,n] = f32(t[m,n]) * s[n]; }", NUMBERS, TILES | IN_PACKED},
    {"matmul tf32", "op f(A: $T[33,24], B: $T[24,17]) -> C: f32[33,17] {"
     " C[m,n] += A[m,k] * B[k,n] @tf32; }", T_F32, TILES},
    {"matmul fp32x3", "op f(A: $T[33,24], B: $T[24,17]) -> C: f32[33,17] {"
     " C[m,n] += A[m,k] * B[k,n] @fp32x3; }", T_F32, TILES},
    {"matmul dropout", "op f(A: $T[33,24], B: $T[24,17]) -> C: $S[33,17] {"
     " t[m,n] += A[m,k] * B[k,n]; C[m,n] = philox(7, m*17 + n) % 4 == 0 ? 0 : t[m,n]; }", NUMBERS,
     TILES},
    /* convolutions */
    {"conv1d", "N=2;C=5;W=19;F=6;S=3;stride=2;pad=1;dil=1", NUMBERS, SLIDES},
    {"conv2d", "N=2;C=5;H=7;W=9;F=6;R=3;S=3;stride=1;pad=1;dil=1", NUMBERS, SLIDES},
    {"conv2d last", "N=2;C=6;H=7;W=5;F=9;R=3;S=3;stride=2;pad=1;dil=1;layout=NHWC", NUMBERS, TILES},
    {"conv3d", "N=1;C=3;D=5;H=5;W=5;F=4;T=3;R=3;S=3;stride=1;pad=1;dil=1", NUMBERS, SLIDES},
    {"dilated_conv", "N=2;C=4;H=9;W=9;F=5;R=3;S=3;stride=1;pad=2;dil=2", NUMBERS, SLIDES},
    {"grouped_conv", "N=2;C=6;H=7;W=7;F=8;R=3;S=3;stride=1;pad=1;dil=1;groups=2", NUMBERS, SLIDES},
    {"transposed_conv", "N=1;C=4;H=5;W=5;F=3;R=4;S=4;stride=2;pad=1;dil=1;opad=0", NUMBERS, TILES},
    {"transposed_conv odd", "N=1;C=4;H=5;W=5;F=3;R=3;S=3;stride=2;pad=1;dil=1;opad=0", NUMBERS,
     TILES},
    {"transposed_conv odd last", "op f(X: $T[2,3,4,16], W: $T[3,3,16,8], b: $T[8]) ->"
     " Y: $S[2,5,7,8] { t[n,p,q,f] = sum[k,s,u](((p+1-s) % 2 == 0 && (q+1-u) % 2 == 0"
     " ? (X[n,(p+1-s)/2,(q+1-u)/2,k] else 0) : 0) * W[s,u,k,f]) where p in 5, q in 7, s in 3,"
     " u in 3; Y[n,p,q,f] = t[n,p,q,f] + b[f]; }", NUMBERS, TILES},
    {"conv_bn_relu", "N=2;C=4;H=7;W=7;F=5;R=3;S=3;stride=1;pad=1;dil=1;bn=1", NUMBERS, SLIDES},
    {"depthwise", "N=2;C=5;H=9;W=11;R=3;S=3;stride=1;pad=1;dil=1", NUMBERS, SLIDES | IN_COLUMN},
    {"depthwise last", "N=2;C=10;H=7;W=9;R=3;S=3;stride=2;pad=1;dil=1;layout=NHWC", NUMBERS,
     SLIDES | IN_COLUMN},
    /* windows */
    {"avgpool", "N=2;C=3;H=9;W=11;R=3;S=3;stride=2;pad=1", REALS, LOOPS | IN_WINDOW},
    {"maxpool", "N=2;C=9;H=7;W=9;R=3;S=3;stride=1;pad=1;layout=NHWC", REALS,
     LOOPS | IN_WINDOW | IN_COLUMN},
    {"maxpool edge", "op f(X: $T[2,13,15]) -> Y: $T[2,6,7] {"
     " Y[n,p,q] = max[r,s](X[n,2*p+r,2*q+s]) where r in 0:2, s in 0:2; }", NUMBERS,
     LOOPS | IN_WINDOW},
    {"dilation", "op f(X: $T[17,23]) -> Y: $T[17,23] {"
     " Y[p,q] = any[r,s](X[p+r-1,q+s-1] else false) where r in 0:3, s in 0:3; }", T_BOOL,
     LOOPS | IN_WINDOW | IN_COLUMN},
    /* under conditions */
    {"sum of a part", "op f(A: $T[9,12]) -> Y: $S[17] { Y[i] = sum[r](i < 9 ? A[i,r] : 0); }",
     NUMBERS, LOOPS},
    {"joined, summed", "op f(A: $T[5,24], B: $T[5,41]) -> Y: $S[5] {"
     " Y[n] = sum[i](i < 24 ? A[n,i] : B[n,i-24]) where i in 65; }", NUMBERS, LOOPS},
    {"joined rows, summed", "op f(A: $T[2,6,4,4], B: $T[2,10,4,4]) -> Y: $S[2,16] {"
     " c[n,i,h,w] = i < 6 ? A[n,i,h,w] : B[n,i-6,h,w]; Y[n,i] = sum[h,w](c[n,i,h,w]); }", NUMBERS,
     LOOPS},
    {"joined columns, summed", "op f(A: $T[19,24], B: $T[19,40]) -> Y: $S[64] {"
     " Y[i] = sum[r](i < 24 ? A[r,i] : B[r,i-24]); }", NUMBERS, LOOPS},
    {"joined, product", "op f(A: $T[18,24], B: $T[18,40], W: $T[64,24]) -> Y: $S[18,24] {"
     " Y[n,j] = sum[k]((k < 24 ? A[n,k] : B[n,k-24]) * W[k,j]); }", NUMBERS, TILES},
    {"joined rows, product", "op f(A: $T[16,32], B: $T[21,32], W: $T[32,24]) -> Y: $S[37,24] {"
     " Y[i,j] = sum[k]((i < 16 ? A[i,k] : B[i-16,k]) * W[k,j]); }", NUMBERS, TILES},
    {"part of a product", "op f(A: $T[18,24], W: $T[40,24]) -> Y: $S[18,24] {"
     " Y[n,j] = sum[k](k < 24 ? A[n,k] * W[k,j] : 0) where k in 40; }", NUMBERS, LOOPS},
    {"joined, softmax", "op f(A: $T[6,32], B: $T[6,64]) -> Y: $T[6,96] {"
     " c[n,i] = i < 32 ? A[n,i] : B[n,i-32]; m[n] = max[i](c[n,i]);"
     " z[n] = sum[i](exp(c[n,i]-m[n]));"
     " Y[n,i] = exp(c[n,i]-m[n])/z[n]; }", REALS, IN_ROW},
    {"joined, pooled", "op f(A: $T[3,9,9], B: $T[4,9,9]) -> Y: $T[7,9,9] {"
     " Y[c,h,w] = max[r,s](h + r < 9 && w + s < 9 ? c < 3 ? A[c,h+r,w+s] : B[c-3,h+r,w+s] : 0)"
     " where r in 2, s in 2; }", NUMBERS, LOOPS},
    {"joined, turned", "op f(A: $T[24,20], B: $T[40,20]) -> Y: $T[20,64] {"
     " Y[i,j] = j < 24 ? A[j,i] : B[j-24,i]; }", ALL, IN_STREAM | IN_PERMUTE},
    {"joined twice", "op f(A: $T[64], B: $T[64]) -> Y: $T[128] {"
     " Y[i] = i < 64 ? (A[i]+A[i])*(A[i]+A[i]) : B[i-64]; }",
     REALS | T_I64 | T_I32, IN_STREAM},
    /* rows */
    {"softmax", "ROWS=7;COLS=121", REALS, IN_ROW},
    {"softmax short", "ROWS=66;COLS=8", REALS, IN_ROW},
    {"softmax dropout", "op f(X: $T[6,96]) -> Y: $T[6,96] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); d[n,c] = exp(X[n,c] - m[n]) / z[n];"
     " Y[n,c] = philox(7, n*96 + c) >= 858993459 ? d[n,c] / 0.8 : 0; }", REALS, IN_ROW},
    {"layernorm", "ROWS=5;COLS=99;affine=1", REALS, IN_ROW},
    {"rmsnorm", "ROWS=6;COLS=88;res=1", REALS, IN_ROW},
    {"norm", "B=5;M=9;N=11", REALS, IN_ROW},
    {"reduce_sum", "OUTER=9;RED=77;INNER=1", NUMBERS, IN_ROW},
    {"reduce", "op f(X: $T[9,75]) -> (S: $S[9], M: $T[9], I: i32[9]) {"
     " S[n] += X[n,c]; M[n] max= X[n,c]; I[n] = argmax[c](X[n,c]); }", NUMBERS, IN_ROW},
    {"cross entropy", "op f(X: $T[6,50], y: i32[6]) -> L: f32[6] { m[n] = max[c](X[n,c]);"
     " l[n] = log(sum[c](exp(X[n,c] - m[n])));"
     " t[n] = sum[c](c == y[n] ? X[n,c] : 0.0) where c in 0:50;"
     " L[n] = f32(l[n] + m[n] - t[n]); }", REALS, IN_ROW},
    {"flags", "op f(X: $T[9,75]) -> (E: $T[9], A: $T[9]) { E[n] = any[c](X[n,c]);"
     " A[n] = all[c](X[n,c]); }", T_BOOL, IN_ROW},
    /* columns */
    {"reduce_sum inner", "OUTER=2;RED=37;INNER=45", NUMBERS, LOOPS | IN_COLUMN},
    {"argmin", "op f(X: $T[41,35]) -> Y: i32[35] { Y[c] = argmin[r](X[r,c]); }", NUMBERS,
     IN_STREAM | IN_COLUMN},
    {"batch statistics", "op f(X: $T[3,5,5,21]) -> (M: $T[21], V: $T[21]) {"
     " m[c] = sum[n,h,w](X[n,h,w,c]) / 75.0; M[c] = m[c];"
     " V[c] = sum[n,h,w]((X[n,h,w,c] - m[c]) * (X[n,h,w,c] - m[c])) / 75.0; }", REALS,
     LOOPS | IN_COLUMN},
    {"softmax inner", "op f(X: $T[41,35]) -> Y: $T[41,35] { m[c] = max[r](X[r,c]);"
     " z[c] = sum[r](exp(X[r,c] - m[c])); Y[r,c] = exp(X[r,c] - m[c]) / z[c]; }", REALS,
     LOOPS | IN_COLUMN},
    {"flags by column", "op f(X: $T[41,35]) -> Y: $T[35] { Y[c] = all[r](X[r,c]); }", T_BOOL,
     LOOPS | IN_COLUMN},
    /* scans */
    {"cumsum", "op f(X: $T[5,133]) -> Y: $S[5,133] { Y[m,i] = sum[r](r <= i ? X[m,r] : 0)"
     " where r in 133; }", NUMBERS, IN_STREAM | IN_SCAN},
    {"cumsum inner", "op f(X: $T[2,57,20]) -> Y: $S[2,57,20] {"
     " Y[b,i,c] = sum[r](r > i ? X[b,r,c] : 0) where r in 57; }", NUMBERS, IN_STREAM | IN_SCAN},
    {"cummax", "op f(X: $T[5,133]) -> (Y: $T[5,133], I: i32[5,133]) {"
     " Y[m,i] = max[r](r <= i ? X[m,r] : -inf) where r in 133;"
     " I[m,i] = argmax[r](r <= i ? X[m,r] : -inf) where r in 133; }", REALS,
     IN_STREAM | IN_SCAN},
    {"flags so far", "op f(X: $T[5,133]) -> Y: $T[5,133] { Y[m,i] = any[r](r <= i && X[m,r])"
     " where r in 133; }", T_BOOL, IN_STREAM | IN_SCAN},
    /* maps */
    {"elementwise relu", "SIZE=1031;fn=relu", NUMBERS, IN_STREAM},
    {"elementwise silu", "SIZE=1031;fn=silu_mul", REALS, IN_STREAM},
    {"dropout", "op f(X: $T[37,68]) -> Y: $T[37,68] {"
     " Y[m,n] = philox(7, m*68 + n) >= 858993459 ? X[m,n] : 0; }", NUMBERS, IN_STREAM},
    {"elementwise rope", "T=5;HEADS=3;D=14;fn=rope", REALS | T_I64 | T_I32, IN_STREAM},
    {"transpose", "RANK=2;D0=37;D1=45;P0=1;P1=0", ALL, IN_STREAM | IN_PERMUTE},
    {"transpose inner", "RANK=4;D0=3;D1=7;D2=9;D3=11;P0=0;P1=3;P2=1;P3=2", ALL,
     IN_STREAM | IN_PERMUTE},
    {"broadcast", "op f(X: $T[13,27], b: $T[27], a: $T[13]) -> Y: $T[13,27] {"
     " Y[m,n] = max(X[m,n], b[n], a[m]); }", NUMBERS, IN_STREAM},
    {"concat", "op f(X: $T[7,13], Z: $T[7,9]) -> Y: $T[7,22] {"
     " Y[m,n] = n < 13 ? X[m,n] : Z[m,n-13]; }", ALL, IN_STREAM},
    {"stencil", "op f(X: $T[14,27]) -> Y: $S[14,27] { Y[i,j] = $S((X[i-1,j] else 0)"
     " + (X[i+1,j] else 0) + (X[i,j-1] else 1) + (X[i,j+1] else 1) - X[i,j]); }", NUMBERS,
     IN_STREAM | IN_WINDOW},
    {"stencil last", "op f(X: $T[7,9,12]) -> Y: $T[7,9,12] { Y[i,j,c] = max(X[i,j,c],"
     " (X[i-1,j,c] else 0), (X[i,j+1,c] else 0)); }", NUMBERS, IN_STREAM | IN_WINDOW},
    {"stencil of flags", "op f(X: $T[14,27]) -> Y: $T[14,27] { Y[i,j] = X[i,j] &&"
     " (X[i-1,j] else true) && (X[i,j+2] else true); }", T_BOOL, IN_STREAM | IN_WINDOW},
    {"gather", "op f(E: $T[19,33], id: i32[11]) -> Y: $T[11,33] {"
     " Y[t,d] = id[t] >= 0 && id[t] < 19 ? E[id[t],d] : E[0,d]; }", ALL, IN_STREAM},
    {"cast", "op f(X: $T[13,31]) -> Y: f32[13,31] { Y[m,n] = f32(X[m,n]); }", ALL, IN_STREAM},
    {"quantise", "op f(X: $T[13,31]) -> Y: i8[13,31] { Y[m,n] = i8(X[m,n] * 2); }", NUMBERS,
     IN_STREAM},
    {"split heads", "op f(X: $T[6,4*15]) -> Y: $T[6,4,15] { Y[n,h,g] = X[n,h*15+g]; }", ALL,
     IN_STREAM},
};
const int n_operators = sizeof operators / sizeof *operators;

/* Integers narrower than their sums are summed to i32, f8e4m3 to bf16.  */
static TeDtype sum_type(TeDtype t) {
    if (t == TE_F8E4M3) return TE_BF16;
    return te_dtype_class(t) == TE_CLASS_INT ? te_dtype_compute(t) : t;
}

const char *operator_fill(Arena *a, const char *text, TeDtype t) {
    Buf out = buf_new(a);
    for (const char *s = text; *s; s++) {
        if (*s != '$') {
            buf_putc(&out, *s);
            continue;
        }
        s++;
        buf_puts(&out, te_dtype_name(*s == 'S' ? sum_type(t) : t));
    }
    return buf_str(&out);
}

/* A row of a workload set, as its reader makes it.  */
static Workload workload(Arena *a, const Operator *o) {
    Workload w = {.id = "row", .set = "small"};
    char *text = arena_strdup(a, o->text), *op = arena_strdup(a, o->name);
    op[strcspn(op, " ")] = 0;
    w.op = op;
    workload_params(text, &w);
    return w;
}

const char *operator_te(Arena *a, const Operator *o, TeDtype t) {
    Buf out = buf_new(a);
    if (strncmp(o->text, "op ", 3) == 0) return operator_fill(a, o->text, t);
    Workload w = workload(a, o);
    return workload_te(&w, te_dtype_name(t), &out) ? buf_str(&out) : NULL;
}

unsigned operator_forms(const Operator *o, TeDtype t) {
    unsigned forms = o->forms;
    if (!(PACKS >> t & 1)) forms &= ~(unsigned)IN_PACKED;
    if (!(MULTIPLIES >> t & 1) && !strchr(o->text, '@')) forms &= ~(unsigned)IN_MATRIX;
    return forms;
}
