/* links: sim */
/* Reductions by columns and over windows, small and awkward, by several programs of the
 * skeleton each: what the emitted kernels compute on the simulator is what the reference
 * computes, bit for bit where every intermediate is exact, and they have no fault.  Every
 * program is legal and its text reads back.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "workers.h"

#include "base/hash.h"
#include "microperf/microperf.h"
#include "plan_fixture.h"
#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *name, *text;
    Skeleton skeleton;        /* some group's candidates must have programs of it */
} Small;

#define COLUMN(name, text) {name, text, SK_COLUMN}
#define WINDOW(name, text) {name, text, SK_WINDOW}
/* What reduces over one element, and is a map in its normal form.  */
#define MAP(name, text) {name, text, SK_STREAM}

/* Sums over the middle axis.  */
#define MIDDLE(o, r, i, in, out)                                                                   \
    COLUMN(in " sum " #o "," #r "," #i, "param O=" #o ", R=" #r ", I=" #i "; op f(X: " in          \
           "[O,R,I]) -> Y: " out "[O,I] { Y[o,i] = sum[r](X[o,r,i]); }")
#define REDUCE(red, in, out)                                                                       \
    COLUMN(#red " of " in, "param R=53, I=24; op f(X: " in "[R,I]) -> Y: " out                     \
           "[I] { Y[i] = " #red "[r](X[r,i]); }")
#define REDUCE_ODD(red, in, out)                                                                   \
    COLUMN(#red " of odd " in, "param R=37, I=17; op f(X: " in "[R,I]) -> Y: " out                 \
           "[I] { Y[i] = " #red "[r](X[r,i]); }")

/* Sizes of windows: N, C, H, W, R, S, stride, padding, dilation.  */
#define SIZES(n, c, h, w, r, s, st, pad, dil)                                                      \
    "param N=" #n ", C=" #c ", H=" #h ", W=" #w ", R=" #r ", S=" #s ", st=" #st ", pad=" #pad      \
    ", dil=" #dil "; let P = (H + 2*pad - dil*(R-1) - 1) / st + 1;"                                \
    "let Q = (W + 2*pad - dil*(S-1) - 1) / st + 1; "
#define DEEP_NCHW(t, o, ...)                                                                       \
    WINDOW("depthwise nchw " t " " #__VA_ARGS__, SIZES(__VA_ARGS__)                                \
           "op f(X: " t "[N,C,H,W], K: " t "[C,R,S]) -> Y: " o "[N,C,P,Q] { Y[n,c,p,q] += "        \
           "(X[n,c,p*st+r*dil-pad,q*st+s*dil-pad] else 0) * K[c,r,s]; }")
#define DEEP_NHWC(t, o, ...)                                                                       \
    WINDOW("depthwise nhwc " t " " #__VA_ARGS__, SIZES(__VA_ARGS__)                                \
           "op f(X: " t "[N,H,W,C], K: " t "[R,S,C]) -> Y: " o "[N,P,Q,C] { Y[n,p,q,c] += "        \
           "(X[n,p*st+r*dil-pad,q*st+s*dil-pad,c] else 0) * K[r,s,c]; }")
#define MAX_NCHW(t, low, ...)                                                                      \
    WINDOW("max nchw " t " " #__VA_ARGS__, SIZES(__VA_ARGS__)                                      \
           "op f(X: " t "[N,C,H,W]) -> Y: " t "[N,C,P,Q] { Y[n,c,p,q] max= "                       \
           "X[n,c,p*st+r*dil-pad,q*st+s*dil-pad] else " low " where r in R, s in S; }")
#define MAX_NHWC(t, low, ...)                                                                      \
    WINDOW("max nhwc " t " " #__VA_ARGS__, SIZES(__VA_ARGS__)                                      \
           "op f(X: " t "[N,H,W,C]) -> Y: " t "[N,P,Q,C] { Y[n,p,q,c] max= "                       \
           "X[n,p*st+r*dil-pad,q*st+s*dil-pad,c] else " low " where r in R, s in S; }")
#define AVG_NCHW(t, ...)                                                                           \
    WINDOW("avg nchw " t " " #__VA_ARGS__, SIZES(__VA_ARGS__)                                      \
           "op f(X: " t "[N,C,H,W]) -> Y: " t "[N,C,P,Q] { Y[n,c,p,q] = sum[r,s]("                 \
           "X[n,c,p*st+r*dil-pad,q*st+s*dil-pad] else 0) * 0.25 where r in R, s in S; }")

/* Four neighbours and the middle, outside of the tensor `low`.  */
#define FIVE(t, o, h, w, low)                                                                      \
    WINDOW("five points " t " " #h "," #w, "param H=" #h ", W=" #w "; op f(X: " t "[H,W]) -> Y: "  \
           o "[H,W] { Y[i,j] = (X[i-1,j] else " low ") + (X[i+1,j] else " low ") + (X[i,j-1]"      \
           " else " low ") + (X[i,j+1] else " low ") - 4 * X[i,j]; }")

static const Small table[] = {
    MIDDLE(1, 64, 64, "f32", "f32"), MIDDLE(3, 37, 20, "f32", "f32"),
    MIDDLE(2, 300, 8, "f32", "f32"), MIDDLE(5, 7, 33, "f32", "f32"),
    MIDDLE(1, 1000, 4, "f32", "f32"), MIDDLE(7, 2, 12, "f32", "f32"),
    MAP("f32 sum 7,1,12", "param O=7, R=1, I=12; op f(X: f32[O,R,I]) -> Y: f32[O,I] {"
        " Y[o,i] = sum[r](X[o,r,i]); }"),
    MAP("max nchw f32 1x1", "op f(X: f32[1,3,9,9]) -> Y: f32[1,3,5,5] {"
        " Y[n,c,p,q] = max[r,s](X[n,c,p*2+r,q*2+s]) where r in 1, s in 1; }"),
    MIDDLE(1, 2, 3, "f32", "f32"), MIDDLE(2, 64, 40, "f16", "f16"),
    MIDDLE(3, 29, 24, "bf16", "f32"), MIDDLE(2, 33, 48, "i8", "i32"),
    MIDDLE(2, 33, 31, "u8", "i32"), MIDDLE(2, 40, 20, "f64", "f64"),
    MIDDLE(2, 40, 20, "i64", "i64"), MIDDLE(2, 40, 32, "f8e4m3", "f32"),
    REDUCE(argmax, "f32", "i32"), REDUCE(argmin, "f16", "i32"), REDUCE(argmax, "i8", "i32"),
    REDUCE_ODD(argmin, "f32", "i32"), REDUCE_ODD(argmax, "i64", "i32"),
    REDUCE(max, "f32", "f32"), REDUCE(min, "i16", "i16"), REDUCE(any, "bool", "bool"),
    REDUCE_ODD(all, "bool", "bool"), REDUCE(prod, "i32", "i32"), REDUCE_ODD(max, "u8", "u8"),
    COLUMN("argmax over two axes", "param A=5, B=7, I=12; op f(X: f32[A,B,I]) -> Y: i32[I] {"
           " Y[i] = argmax[a,b](X[a,b,i]); }"),
    COLUMN("argmax over axes in another order", "param A=5, B=7, I=12; op f(X: f32[A,B,I]) ->"
           " Y: i32[I] { Y[i] = argmax[b,a](X[a,b,i]); }"),
    COLUMN("channels last", "param N=3, H=5, W=7, C=16; op f(X: f32[N,H,W,C]) -> Y: f32[C] {"
           " Y[c] = sum[n,h,w](X[n,h,w,c]); }"),
    COLUMN("first and last axis stay", "param A=3, B=9, C=4, D=11, E=6; op f(X: f32[A,B,C,D,E])"
           " -> Y: f32[E,C,A] { Y[e,c,a] = sum[b,d](X[a,b,c,d,e]); }"),
    COLUMN("vector matrix", "param K=99, N=40; op f(x: f32[K], W: f32[K,N]) -> y: f32[N] {"
           " y[n] += x[k] * W[k,n]; }"),
    COLUMN("mean and scale", "param R=64, C=24; op f(X: f16[R,C], g: f32[C], b: f32[C]) ->"
           " (Y: f16[C], Z: f32[C]) { t[c] = sum[r](X[r,c]); Y[c] = t[c] * g[c] + b[c];"
           " Z[c] = max(t[c], 0); }"),
    COLUMN("strides", "param R=30, C=20; op f(X: f32[R,C] strides(23,1)) -> Y: f32[C] strides(3) {"
           " Y[c] = sum[r](X[r,c]); }"),
    COLUMN("squares of a difference", "param R=30, C=20; op f(X: f32[R,C], m: f32[C]) -> Y: f32[C]"
           " { Y[c] = sum[r]((X[r,c] - m[c]) * (X[r,c] - m[c])); }"),
    COLUMN("guarded rows", "param R=30, C=20; op f(X: f32[R,C]) -> Y: f32[C] {"
           " Y[c] = sum[r](X[r-3,c] else 2) where r in 0:36; }"),
    COLUMN("positions", "param R=30, C=20; op f(X: i32[R,C]) -> Y: i32[C] {"
           " Y[c] = sum[r](r % 5 == 0 ? X[r,c] * 3 : X[r,c])"
           " where r in R; }"),
    COLUMN("wide sums of bytes", "param R=40, C=32; op f(X: i8[R,C]) -> Y: i64[C] {"
           " Y[c] = sum[r](X[r,c]) @accum(i64); }"),
    COLUMN("two reductions", "param R=40, C=32; op f(X: f32[R,C]) -> (S: f32[C], M: f32[C]) {"
           " S[c] = sum[r](X[r,c]); M[c] = max[r](X[r,c]); }"),
    COLUMN("mean and variance", "param N=3, H=5, W=7, C=24; op f(X: f16[N,H,W,C]) -> (M: f32[C],"
           " V: f32[C]) { M[c] = sum[n,h,w](X[n,h,w,c]) * 0.25; V[c] = sum[n,h,w](f32(X[n,h,w,c])"
           " * X[n,h,w,c]) - M[c] * M[c]; }"),
    COLUMN("four reductions", "param R=300, C=40; op f(X: f32[R,C]) -> (S: f32[C], Q: f32[C],"
           " L: f32[C], A: i32[C]) { S[c] = sum[r](X[r,c]); Q[c] = sum[r](X[r,c] * X[r,c]);"
           " L[c] = max[r](X[r,c]); A[c] = sum[r](i32(X[r,c] > 0.0)); }"),
    COLUMN("reductions of other widths", "param R=70, C=17; op f(X: i8[R,C]) -> (S: bool[C],"
           " Q: i64[C], B: bool[C], D: f64[C]) { S[c] = any[r](X[r,c] > 2); Q[c] ="
           " sum[r](i64(X[r,c])); B[c] = all[r](X[r,c] > -4); D[c] = sum[r](f64(X[r,c])); }"),
    COLUMN("gradients of a norm", "param R=90, C=40; op f(X: f16[R,C], G: f16[R,C], m: f32[R]) ->"
           " (S: f32[C], B: f32[C]) { S[c] = sum[r](G[r,c] * (X[r,c] - m[r])); B[c] ="
           " sum[r](f32(G[r,c])); }"),
    COLUMN("reductions of planes", "param B=4, R=50, C=24; op f(X: f32[B,R,C]) -> (S: f32[C,B],"
           " L: f32[C,B]) { S[c,b] = sum[r](X[b,r,c]); L[c,b] = min[r](X[b,r,c]); }"),
    DEEP_NCHW("f32", "f32", 2, 3, 9, 16, 3, 3, 1, 1, 1),
    DEEP_NCHW("f32", "f32", 2, 3, 11, 13, 3, 3, 2, 1, 1),
    DEEP_NCHW("f32", "f32", 1, 2, 12, 20, 5, 5, 1, 2, 1),
    DEEP_NCHW("f32", "f32", 1, 2, 17, 17, 7, 7, 2, 3, 1),
    DEEP_NCHW("f32", "f32", 1, 2, 16, 16, 3, 3, 1, 2, 2),
    DEEP_NCHW("f32", "f32", 1, 2, 13, 15, 3, 3, 3, 0, 1),
    DEEP_NCHW("f32", "f32", 1, 2, 14, 14, 3, 3, 2, 3, 3),
    DEEP_NCHW("f16", "f16", 2, 3, 10, 16, 3, 3, 1, 1, 1),
    DEEP_NCHW("bf16", "f32", 1, 3, 8, 24, 3, 5, 1, 1, 1),
    DEEP_NCHW("i8", "i32", 1, 3, 9, 32, 3, 3, 2, 1, 1),
    DEEP_NCHW("f64", "f64", 1, 2, 7, 10, 3, 3, 1, 1, 1),
    DEEP_NHWC("f32", "f32", 2, 8, 9, 9, 3, 3, 1, 1, 1),
    DEEP_NHWC("f32", "f32", 2, 20, 9, 8, 3, 3, 2, 1, 1),
    DEEP_NHWC("f32", "f32", 1, 5, 9, 9, 3, 3, 1, 2, 2),
    DEEP_NHWC("f16", "f16", 1, 16, 8, 9, 5, 5, 1, 2, 1),
    DEEP_NHWC("i8", "i32", 1, 32, 6, 7, 3, 3, 1, 1, 1),
    MAX_NCHW("f32", "-inf", 2, 3, 12, 12, 3, 3, 2, 1, 1),
    MAX_NCHW("f16", "-inf", 1, 3, 11, 11, 2, 2, 2, 0, 1),
    MAX_NCHW("i8", "-128", 1, 2, 10, 16, 3, 3, 1, 1, 1),
    MAX_NHWC("f32", "-inf", 1, 12, 9, 9, 3, 3, 2, 1, 1),
    MAX_NHWC("f16", "-inf", 2, 24, 7, 7, 3, 3, 1, 1, 1),
    MAX_NHWC("u8", "0", 1, 9, 7, 7, 3, 3, 1, 1, 1),
    AVG_NCHW("f32", 2, 3, 11, 11, 3, 3, 1, 1, 1), AVG_NCHW("f32", 1, 3, 12, 16, 2, 2, 2, 0, 1),
    AVG_NCHW("f16", 1, 3, 8, 9, 7, 7, 1, 0, 1),
    COLUMN("global average, channels last", "param N=2, H=7, W=7, C=40; op f(X: f16[N,H,W,C]) ->"
           " Y: f16[N,1,1,C] { Y[n,p,q,c] = sum[r,s](X[n,p+r,q+s,c]) * 0.5"
           " where r in H, s in W; }"),
    WINDOW("1-d", "param N=3, W=37, S=5; op f(X: f32[N,W], K: f32[S]) -> Y: f32[N,W] {"
           " Y[n,q] += (X[n,q+s-2] else 0) * K[s]; }"),
    WINDOW("1-d by channels", "param N=2, W=30, C=12, S=4; op f(X: f32[N,W,C], K: f32[S,C]) ->"
           " Y: f32[N,W,C] { Y[n,q,c] += (X[n,q+s-3,c] else 0) * K[s,c]; }"),
    WINDOW("2-d", "param H=13, W=24; op f(X: f32[H,W], K: f32[3,3]) -> Y: f32[H,W] {"
           " Y[p,q] += (X[p+r-1,q+s-1] else 0) * K[r,s]; }"),
    WINDOW("3-d", "param D=6, H=7, W=12; op f(X: f32[D,H,W], K: f32[3,3,3]) -> Y: f32[D,H,W] {"
           " Y[d,p,q] += (X[d+t-1,p+r-1,q+s-1] else 0) * K[t,r,s]; }"),
    WINDOW("3-d pool", "param C=3, D=6, H=7, W=8; op f(X: f32[C,D,H,W]) -> Y: f32[C,D/2,H/2,W/2] {"
           " Y[c,d,p,q] = max[t,r,s](X[c,2*d+t,2*p+r,2*q+s]) where t in 2, r in 2, s in 2; }"),
    WINDOW("valid without padding", "param H=12, W=19; op f(X: f32[H,W], K: f32[3,3]) ->"
           " Y: f32[10,17] { Y[p,q] += X[p+r,q+s] * K[r,s]; }"),
    WINDOW("groups of few channels", "param N=2, G=3, C=2, F=2, H=6, W=8; op f(X: f32[N,G,C,H,W],"
           " K: f32[G,F,C,3,3]) -> Y: f32[N,G,F,H,W] { Y[n,g,f,p,q] +="
           " (X[n,g,c,p+r-1,q+s-1] else 0) * K[g,f,c,r,s]; }"),
    WINDOW("filters side by side", SIZES(2, 3, 13, 11, 3, 3, 2, 1, 1) "op f(X: f32[N,H,W,C],"
           " K: f32[R,S,C,16], b: f32[16]) -> Y: f32[N,P,Q,16] { t[n,p,q,f] +="
           " (X[n,p*st+r-pad,q*st+s-pad,c] else 0) * K[r,s,c,f];"
           " Y[n,p,q,f] = max(t[n,p,q,f] + b[f], 0); }"),
    WINDOW("dilated filters side by side", SIZES(4, 2, 16, 19, 5, 3, 2, 3, 2)
           "op f(X: f64[N,H,W,C], K: f64[R,S,C,12]) -> Y: f64[N,P,Q,12] { Y[n,p,q,f] +="
           " (X[n,p*st+r*dil-pad,q*st+s*dil-pad,c] else 0) * K[r,s,c,f]; }"),
    WINDOW("filters of halves side by side", "op f(X: f16[5,41,2], K: f16[4,2,24]) ->"
           " Y: f16[5,41,24] { Y[n,q,f] += (X[n,q+s-2,c] else 0) * K[s,c,f]; }"),
    WINDOW("erosion by several, side by side", "op f(X: i8[9,13,2], K: i8[3,2,8]) -> Y: i32[9,11,8]"
           " { Y[n,q,f] = min[c,s](i32(X[n,q+s,c]) - i32(K[s,c,f])); }"),
    WINDOW("bias and relu", SIZES(1, 4, 9, 16, 3, 3, 1, 1, 1) "op f(X: f16[N,C,H,W],"
           " K: f16[C,R,S], b: f16[C], R2: f16[N,C,P,Q]) -> (Y: f16[N,C,P,Q], Z: f32[N,P,Q,C]) {"
           " t[n,c,p,q] += (X[n,c,p*st+r-pad,q*st+s-pad] else 0) * K[c,r,s];"
           " Y[n,c,p,q] = max(t[n,c,p,q] + b[c], 0) + R2[n,c,p,q];"
           " Z[n,p,q,c] = t[n,c,p,q]; }"),
    WINDOW("a mask beside the window", "param H=9, W=10; op f(X: f32[H,W], M: f32[H,W],"
           " K: f32[3,3]) -> Y: f32[H,W] { Y[p,q] = sum[r,s]((X[p+r-1,q+s-1] else 0)"
           " * K[r,s] * M[p,q]); }"),
    WINDOW("one element under a wide window", "op f(X: i8[4,1,8]) -> Y: i64[4,3,8] {"
           " Y[n,x,c] = min[r](X[n,x*2+r-2,c] else 0) where r in 0:17; }"),
    WINDOW("erosion", "param H=9, W=16; op f(X: f32[H,W], K: f32[3,3]) -> Y: f32[H,W] {"
           " Y[p,q] = min[r,s]((X[p+r-1,q+s-1] else inf) - K[r,s]); }"),
    WINDOW("any in the neighbourhood", "param H=9, W=16; op f(X: bool[H,W]) -> Y: bool[H,W] {"
           " Y[p,q] = any[r,s](X[p+r-1,q+s-1] else false) where r in 3, s in 3; }"),
    FIVE("f32", "f32", 13, 24, "0"), FIVE("f16", "f16", 11, 40, "1"),
    FIVE("bf16", "f32", 7, 33, "0"), FIVE("f64", "f64", 9, 14, "2"),
    FIVE("i8", "i32", 9, 48, "3"), FIVE("u8", "i32", 1, 16, "0"),
    FIVE("i64", "i64", 8, 9, "0"), FIVE("i32", "i32", 37, 1, "0"),
    FIVE("f8e4m3", "f32", 6, 32, "0"), FIVE("i16", "i32", 10, 20, "7"),
    WINDOW("neighbours alive", "param H=9, W=16; op f(X: bool[H,W]) -> Y: bool[H,W] {"
           " Y[i,j] = (X[i-1,j] else false) || (X[i+1,j] else false) || (X[i,j-1] else true); }"),
    WINDOW("interior alone", "param H=12, W=20; op f(X: f32[H,W]) -> Y: f32[H,W] {"
           " Y[i,j] = i > 0 && i < H-1 && j > 0 && j < W-1 ? 0.25 * (X[i-1,j] + X[i+1,j]"
           " + X[i,j-1] + X[i,j+1]) : X[i,j]; }"),
    WINDOW("blur without edges", "param H=10, W=22; op f(X: f16[H+2,W+2]) -> Y: f16[H,W] {"
           " Y[i,j] = X[i,j] + 2*X[i,j+1] + X[i,j+2] + 2*X[i+1,j] + 4*X[i+1,j+1] + 2*X[i+1,j+2]"
           " + X[i+2,j] + 2*X[i+2,j+1] + X[i+2,j+2] where i in H, j in W; }"),
    WINDOW("heat in three dimensions", "param A=6, B=7, C=20; op f(X: f32[A,B,C]) ->"
           " Y: f32[A,B,C] { Y[i,j,k] = X[i,j,k] + 0.5 * ((X[i-1,j,k] else 1) + (X[i+1,j,k] else 1)"
           " + (X[i,j-1,k] else 1) + (X[i,j+1,k] else 1) + (X[i,j,k-1] else 1)"
           " + (X[i,j,k+1] else 1) - 6 * X[i,j,k]); }"),
    WINDOW("several planes", "param A=5, B=6, C=16; op f(X: f32[A,B,C]) -> Y: f32[A,B,C] {"
           " Y[i,j,k] = (X[i-1,j-1,k] else 0) + 2 * (X[i-1,j+1,k] else 0) + 4 * (X[i,j,k-1] else"
           " 0)"
           " + 8 * (X[i,j-1,k+1] else 0) + (X[i+1,j,k-2] else 0) - (X[i+1,j+2,k+1] else 0); }"),
    WINDOW("neighbours, channels last", "param N=2, H=7, W=9, C=16; op f(X: f16[N,H,W,C]) ->"
           " Y: f16[N,H,W,C] { Y[n,h,w,c] = (X[n,h-1,w,c] else 0) + (X[n,h+1,w,c] else 0)"
           " + (X[n,h,w-1,c] else 0) + (X[n,h,w+1,c] else 0) - 4 * X[n,h,w,c]; }"),
    WINDOW("neighbours of odd channels", "param H=7, W=9, C=5; op f(X: f32[H,W,C], b: f32[C]) ->"
           " Y: f32[H,W,C] { Y[h,w,c] = (X[h-2,w,c] else -1) + (X[h,w+2,c] else -1) + b[c]; }"),
    WINDOW("columns of neighbours", "param H=17, W=12; op f(X: f32[H,W]) -> Y: f32[H,W] {"
           " Y[i,j] = (X[i-1,j] else 0) - (X[i+1,j] else 0); }"),
    WINDOW("halves", "param H=9, W=16; op f(X: i8[2*H,2*W]) -> Y: i32[H,W] { Y[i,j] ="
           " X[2*i,2*j] + X[2*i+1,2*j] + X[2*i,2*j+1] + X[2*i+1,2*j+1] where i in H, j in W; }"),
    WINDOW("two fields, two outputs", "param H=11, W=12; op f(X: f32[H,W], K: f32[H,W],"
           " V: f32[H,W]) -> (Y: f32[H,W], G: f16[H,W]) { Y[i,j] = 2 * X[i,j] - V[i,j] + K[i,j]"
           " * ((X[i-1,j] else 0) + (X[i+1,j] else 0)) + (K[i,j-1] else 1) + (K[i+1,j] else 1);"
           " G[i,j] = (X[i,j+1] else 0) - (X[i,j-1] else 0); }"),
    WINDOW("waves in one dimension", "param W=70; op f(X: f32[W], V: f32[W]) -> Y: f32[W] {"
           " Y[i] = 2 * X[i] - V[i] + 0.5 * ((X[i-1] else 0) - 2 * X[i] + (X[i+1] else 0)); }"),
    WINDOW("other edges for each", "param H=8, W=12; op f(X: f32[H,W]) -> Y: f32[H,W] {"
           " Y[i,j] = (X[i,j-1] else 1) + (X[i,j+1] else 1) + (X[i-1,j] else 2)"
           " * (X[i+1,j] else 2); }"),
    WINDOW("rows with gaps", "param H=9, W=14; op f(X: f32[H,W] strides(20,1)) -> Y: f32[H,W]"
           " strides(16,1) { Y[i,j] = (X[i-1,j-1] else 0) + (X[i+1,j+1] else 0) * X[i,j]; }"),
    WINDOW("rows with strides", "param H=9, W=14; op f(X: f32[H,W] strides(20,1), K: f32[3,3]) ->"
           " Y: f32[H,W] strides(16,1) { Y[p,q] += (X[p+r-1,q+s-1] else 0) * K[r,s]; }"),
};
enum { CASES = sizeof table / sizeof *table };

typedef struct {
    const char *profile;
    int optional;             /* 1: some cases may have no program of the skeleton */
    int plans;                /* the skeleton's best by the model, then random ones; one is drawn */
    uint64_t seed;
    Nvrtc *nvrtc;
    int ran[CASES];
} Check;

typedef struct {
    Check *check;
    Arena *arena;
    int i;
    const char *wrong;
} Task;

/* Candidates of the skeleton alone.  */
static RProgSet only(Arena *a, const RProgSet *set, Skeleton skeleton) {
    RProgSet out = {.prog = ARENA_ARRAY(a, RProg, set->n + 1), .epsilon = set->epsilon};
    for (int i = 0; i < set->n; i++) {
        if (set->prog[i].skeleton == skeleton) out.prog[out.n++] = set->prog[i];
    }
    return out;
}

static const char *run_plan(Task *t, const Device *dev, int plan) {
    const Check *c = t->check;
    const Small *small = &table[t->i];
    KernelCase k;
    const char *wrong = kernel_open(&k, t->arena, dev, small->text, NULL);
    uint64_t seed = c->seed + (uint64_t)(100 * t->i + plan);
    bool found = plan < c->optional;
    for (int g = 0; !wrong && g < k.plan.n; g++) {
        RProgSet some = only(t->arena, &k.set[g], small->skeleton);
        if (some.n) k.set[g] = some;
        found |= some.n > 0;
    }
    if (!wrong && !found) wrong = "no program of the skeleton";
    if (!wrong) wrong = kernel_pick(&k, plan == 0 ? 0 : seed);
    if (!wrong) wrong = kernel_examine(&k);
    if (!wrong) wrong = kernel_emit(&k);
    if (!wrong) wrong = kernel_compile(&k, c->nvrtc, false);
    if (!wrong) wrong = kernel_run(&k, TE_FILL_INTEGERS, seed, te_exact(k.te));
    return wrong ? kernel_report(&k, small->name, wrong) : NULL;
}

static void run_task(Task *t) {
    Device *dev;
    Diag d = diag_new(t->arena);
    if (hal_profile_find(t->arena, &d, t->check->profile, "profiles", NULL, &dev)) {
        t->wrong = "no profile";
        return;
    }
    for (int plan = 0; plan < t->check->plans && !t->wrong; plan++) {
        if (!effort_drawn(t->i + plan, t->check->plans)) continue;
        t->wrong = run_plan(t, dev, plan);
        t->check->ran[t->i]++;
    }
}

static const char *check_one(void *user, Arena *a, int i) {
    Task t = {.check = user, .arena = a, .i = i};
    run_task(&t);
    return t.wrong;
}

static void check_all(const char *profile, int plans, int optional, uint64_t seed) {
    static Check c;
    Arena *a = arena_create(NULL);
    assert_non_null(a);
    c = (Check){.profile = profile, .optional = optional, .plans = plans, .seed = seed};
    Diag d = diag_new(a);
    if (nvrtc_open(a, &d, NULL, NULL, &c.nvrtc) != ST_OK) fail_msg("%s", d.messages[0].message);
    assert_int_equal(workers_check(CASES, check_one, &c), 0);
    for (int i = 0; i < CASES; i++) assert_true(c.ran[i] > 0);
    arena_destroy(a);
}

static void check_h200(void **state) {
    (void)state;
    check_all("h200", 4, 0, 1);
}

/* Limits that make odd tiles common.  */
static void check_tiny(void **state) {
    (void)state;
    check_all("tiny", 1, 1, 3);
}

/* Every broken rule has its own words.  */
static void broken_rules_are_named(void **state) {
    (void)state;
    const Small *from[] = {&table[0], &table[CASES - 1]};      /* by columns, over windows */
    Arena *a = arena_create(NULL);
    Device *dev;
    Diag d = diag_new(a);
    assert_int_equal(hal_profile_find(a, &d, "h200", "profiles", NULL, &dev), ST_OK);
    for (int i = 0; i < 2; i++) {
        KernelCase k;
        assert_null(kernel_open(&k, a, dev, from[i]->text, NULL));
        RProgSet some = only(a, &k.set[0], from[i]->skeleton);
        int at = 0;
        while (at < some.n && some.prog[at].keep != KEEP_REGISTERS) at++;
        assert_true(at < some.n);
        const Problem *p = &k.plan.problem[0];
        const RProg good = some.prog[at];
        assert_null(rprog_check(p, dev, &good));
#define BREAK(change, words)                                                                       \
    {                                                                                              \
        RProg r = good;                                                                            \
        change;                                                                                    \
        const char *why = rprog_check(p, dev, &r);                                                 \
        assert_non_null(why);                                                                      \
        if (!strstr(why, words)) fail_msg("'%s' does not say '%s'", why, words);                   \
    }
        BREAK(r.unit = 1000, "unit")
        BREAK(r.split = 0, "split")
        BREAK(r.threads++, "derived")
        if (good.skeleton == SK_COLUMN) {
            BREAK(r.block.extent[AX_N] = 2, "columns and rows only")
            BREAK(r.block.extent[AX_M] *= 3, "powers of two")
            BREAK(r.store_vec = 16, "store_vec")
        } else {
            BREAK(r.block.extent[AX_K] = 2, "column of patches")
            BREAK(r.keep = KEEP_MEMORY, "not kept")
            BREAK(r.vec_n = 3, "power of two")
            BREAK(r.thread.extent[AX_K] = 2, "not dealt out evenly")
        }
#undef BREAK
    }
    arena_destroy(a);
}

/* Many slices of few columns: a warp adds them.  */
static void slices_meet(void **state) {
    (void)state;
    static const char *const cases[] = {
        "op f(X: f32[3000,12]) -> Y: f32[12] { Y[i] = 2 * sum[r](X[r,i]); }",
        "op f(X: i8[3000,7]) -> Y: i32[7] { Y[i] = sum[r](X[r,i]); }",
        "op f(X: f64[2000,3]) -> Y: f64[3] { Y[i] = max[r](X[r,i]); }",
        "op f(X: i64[2000,5]) -> Y: i64[5] { Y[i] = min[r](X[r,i]); }",
        "op f(X: f32[3000,12]) -> Y: i32[12] { Y[i] = argmax[r](X[r,i]); }",
        "op f(X: i64[2000,6]) -> Y: i32[6] { Y[i] = argmin[r](X[r,i]); }",
        "op f(X: bool[3000,12]) -> Y: bool[12] { Y[i] = all[r](X[r,i]); }",
    };
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Device *dev = fixture_device(a, "h200");
    Nvrtc *nvrtc;
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        KernelCase k;
        const char *wrong = kernel_open(&k, a, dev, cases[i], NULL);
        bool found = false;
        for (int j = 0; !wrong && !found && j < k.set[0].n; j++) {
            k.plan.prog[0] = k.set[0].prog[j];
            found = k.plan.prog[0].skeleton == SK_COLUMN && k.plan.prog[0].split >= 40;
        }
        if (!wrong && !found) wrong = "no program of many slices";
        k.plan.prog[0].lanes = 32;
        if (!wrong) wrong = kernel_emit(&k);
        if (!wrong) wrong = kernel_compile(&k, nvrtc, false);
        if (!wrong) wrong = kernel_run(&k, TE_FILL_INTEGERS, 5, te_exact(k.te));
        if (wrong) fail_msg("%s", kernel_report(&k, cases[i], wrong));
    }
    arena_destroy(a);
}

/* ---- filters ---- */

/* Outputs alike, as several filters at one place, share what they read of the window.  */
static const char *const alike[] = {
    SIZES(2, 3, 7, 16, 3, 3, 1, 1, 1) "op f(X: f16[N,C,H,W], K: f16[4,C,R,S], b: f32[4]) ->"
    " Y: f16[N,4,P,Q] { t[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * K[f,c,r,s];"
    " Y[n,f,p,q] = max(t[n,f,p,q] + b[f], 0); }",
    SIZES(2, 3, 13, 22, 3, 2, 2, 1, 3) "op f(X: f32[N,C,H,W], K: f32[6,C,R,S]) -> Y: f32[N,P,Q,6] {"
    " Y[n,p,q,f] += (X[n,c,p*st+r*dil-pad,q*st+s*dil-pad] else 0) * K[f,c,r,s]; }",
    "op f(X: f16[2,3,4,8,8], K: f16[3,4,4,3,3]) -> Y: f16[2,3,4,8,8] { Y[n,g,f,p,q] +="
    " (X[n,g,c,p+r-1,q+s-1] else 0) * K[g,f,c,r,s]; }",
    "op f(X: f32[4,9,17,3], K: f32[4,3,3,3,8]) -> Y: f32[4,4,9,17,8] { Y[n,e,p,q,f] +="
    " (X[n,p+r-1,q+s-1,c] else 0) * K[e,r,s,c,f]; }",
    "op f(X: i8[2,9,16], K: i8[4,3,3]) -> Y: i32[2,4,9,16] { Y[n,f,p,q] = max[r,s]("
    "i32(X[n,p+r-1,q+s-1] else -3) - i32(K[f,r,s])); }",
    "op f(X: bf16[3,40], K: f32[2,5]) -> Y: f32[3,2,40] { Y[n,f,q] += (X[n,q+s-2] else 0)"
    " * K[f,s]; }",
};
enum { ALIKE = sizeof alike / sizeof *alike };

/* A program whose threads have several of them; `nth` tells which.  */
static bool pick_alike(KernelCase *k, RowKeep keep, int nth) {
    RProgSet *set = &k->set[0], some = {.prog = ARENA_ARRAY(k->arena, RProg, set->n + 1)};
    for (int i = 0; i < set->n; i++) {
        const RProg *r = &set->prog[i];
        if (r->skeleton == SK_WINDOW && r->keep == keep && r->thread.extent[AX_K] > 1)
            some.prog[some.n++] = *r;
    }
    *set = some;
    return some.n > 0 && !kernel_pick(k, (uint64_t)nth);
}

static const char *check_alike(void *user, Arena *a, int i) {
    static const char *const devices[] = {"h200", "a100", "rtx4090"};
    (void)user;
    KernelCase k;
    Nvrtc *nvrtc;
    Diag d = diag_new(a);
    RowKeep keep = i / ALIKE % 2 ? KEEP_SHARED : KEEP_REGISTERS;
    Device *dev = fixture_device(a, devices[(i + i / ALIKE) % 3]);
    const char *wrong = kernel_open(&k, a, dev, alike[i % ALIKE], NULL);
    if (nvrtc_open(a, &d, NULL, dev->arch, &nvrtc)) return "no NVRTC";
    if (!wrong && !k.plan.problem[0].window.along) keep = KEEP_REGISTERS;
    if (!wrong && !pick_alike(&k, keep, i / ALIKE)) wrong = "no program for several filters";
    if (!wrong) wrong = kernel_examine(&k);
    if (!wrong) wrong = kernel_emit(&k);
    if (!wrong) wrong = kernel_compile(&k, nvrtc, false);
    if (!wrong) wrong = kernel_run(&k, TE_FILL_INTEGERS, 3, te_exact(k.te));
    return wrong ? kernel_report(&k, alike[i % ALIKE], wrong) : NULL;
}

static void filters_share_the_window(void **state) {
    (void)state;
    assert_int_equal(workers_check((effort_long() ? 8 : 2) * ALIKE, check_alike, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_rules_are_named),
        cmocka_unit_test(slices_meet),
        cmocka_unit_test(filters_share_the_window),
        cmocka_unit_test(check_h200),
        cmocka_unit_test(check_tiny),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
