/* links: sim */
/* Chains of two products on the simulator against te_eval: a drawn part of them, or those whose
 * name has CHAIN_CASE; LONG=1 takes all.  CHAIN_SHOW=1 prints sources.  */
#include "base/hash.h"
#include "base/numeric.h"
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name, *profile, *text;
} Case;

/* Attention as it is written most often.  */
#define ATTENTION(b, l, n, d, e, type) SCORES(b, l, n, d, e, type, type)
/* ... scores of another type.  */
#define SCORES(b, l, n, d, e, narrow, type)                                                        \
    "param B = " #b ", L = " #l ", N = " #n ", D = " #d ", E = " #e ";\n"                          \
    "op fa(Q: " narrow "[B,L,D], K: " narrow "[B,N,D], V: " type "[B,N,E])"                        \
    " -> O: " type "[B,L,E] {\n"                                                                   \
    "  t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]) * 0.125;\n"                                          \
    "  m[b,i] = max[j](t[b,i,j]);\n"                                                               \
    "  z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));\n"                                                 \
    "  O[b,i,e] = sum[j](" type "(exp(t[b,i,j] - m[b,i])) * V[b,j,e]) / z[b,i];\n"                 \
    "}\n"

#define CAUSAL(l, n, d, type)                                                                      \
    "param L = " #l ", N = " #n ", D = " #d ";\n"                                                  \
    "op fa(Q: " type "[L,D], K: " type "[N,D], V: " type "[N,D]) -> O: " type "[L,D] {\n"          \
    "  s[i,j] = sum[d](Q[i,d] * K[j,d]);\n"                                                        \
    "  t[i,j] = j <= i ? s[i,j] * 0.125 : -inf;\n"                                                 \
    "  m[i] = max[j](t[i,j]);\n"                                                                   \
    "  z[i] = sum[j](exp(t[i,j] - m[i]));\n"                                                       \
    "  O[i,e] = sum[j](" type "(exp(t[i,j] - m[i])) * V[j,e]) / z[i];\n"                           \
    "}\n"

#define PAIR(m, k, n, e, type)                                                                     \
    "param M = " #m ", K = " #k ", N = " #n ", E = " #e ";\n"                                      \
    "op pair(X: " type "[M,K], A: " type "[N,K], B: " type "[E,N]) -> Y: " type "[M,E] {\n"        \
    "  s[i,j] = sum[d](X[i,d] * A[j,d]);\n"                                                        \
    "  Y[i,e] = sum[j](" type "(max(s[i,j], 0)) * B[e,j]);\n"                                      \
    "}\n"

/* Results that are requantised, and others for those behind them.  */
#define BYTES(m, k, n, e, type, sums, made)                                                        \
    "param M = " #m ", K = " #k ", N = " #n ", E = " #e ";\n"                                      \
    "op pair(X: " type "[M,K], A: " type "[N,K], B: " type "[E,N], c: " sums "[N])"                \
    " -> Y: " sums "[M,E] {\n"                                                                     \
    "  s[i,j] = sum[d](X[i,d] * A[j,d]);\n"                                                        \
    "  Y[i,e] = sum[j](" type "(" made ") * B[e,j]);\n"                                            \
    "}\n"
#define INTEGERS(m, k, n, e, type) BYTES(m, k, n, e, type, "i32", "(s[i,j] + c[j]) / 16")
#define SMALL_REALS(m, k, n, e, type) BYTES(m, k, n, e, type, "f32", "max(s[i,j] + c[j], 0)")
/* A mask cuts turns, whose columns of B that no row of a block has are cleared.  */
#define MASKED(m, k, n, e, type, sums)                                                             \
    "param M = " #m ", K = " #k ", N = " #n ", E = " #e ";\n"                                      \
    "op pair(X: " type "[M,K], A: " type "[N,K], B: " type "[E,N]) -> Y: " sums "[M,E] {\n"        \
    "  s[i,j] = sum[d](X[i,d] * A[j,d]);\n"                                                        \
    "  p[i,j] = j > i - 21 && j <= i ? " type "(s[i,j] / 16) : " type "(0);\n"                     \
    "  Y[i,e] = sum[j](p[i,j] * B[e,j]);\n"                                                       \
    "}\n"

/* The log of the sum of exponentials beside, and a map of results.  */
#define LOG_SUM(l, n, d)                                                                           \
    "param L = " #l ", N = " #n ", D = " #d ";\n"                                                  \
    "op fa(Q: f16[L,D], K: f16[N,D], V: f16[N,D], w: f32[L]) -> (O: f16[L,D], l: f32[L]) {\n"      \
    "  t[i,j] = sum[d](Q[i,d] * K[j,d]) * 0.125;\n"                                                \
    "  m[i] = max[j](t[i,j]);\n"                                                                   \
    "  z[i] = sum[j](exp2(t[i,j] - m[i]));\n"                                                      \
    "  l[i] = m[i] + log2(z[i]) + w[i];\n"                                                         \
    "  O[i,e] = sum[j](f16(exp2(t[i,j] - m[i])) * V[j,e]) / z[i] * w[i];\n"                        \
    "}\n"
/* Lengths of a batch, and a number for each score.  */
#define LENGTHS(b, l, n, d)                                                                        \
    "param B = " #b ", L = " #l ", N = " #n ", D = " #d ";\n"                                      \
    "op fa(Q: f16[B,L,D], K: f16[B,N,D], V: f16[B,N,D], len: i32[B], W: f32[L,N])"                 \
    " -> O: f16[B,L,D] {\n"                                                                        \
    "  s[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]);\n"                                                  \
    "  t[b,i,j] = j < len[b] ? s[b,i,j] * 0.125 + W[i,j] : -inf;\n"                                \
    "  m[b,i] = max[j](t[b,i,j]);\n"                                                               \
    "  z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));\n"                                                 \
    "  O[b,i,e] = sum[j](f16(exp(t[b,i,j] - m[b,i])) * V[b,j,e]) / z[b,i];\n"                      \
    "}\n"
/* Keys and values of bytes, each row with its scale, rounded before a product or not.  */
#define SCALED(b, l, n, d)                                                                         \
    "param B = " #b ", L = " #l ", N = " #n ", D = " #d ";\n"                                      \
    "op fa(Q: f16[B,L,D], K: i8[B,N,D], ks: f16[B,N], V: i8[B,N,D], vs: f16[B,N], len: i32[B])"    \
    " -> O: f16[B,L,D] {\n"                                                                        \
    "  s[b,i,j] = sum[d](Q[b,i,d] * f16(f16(K[b,j,d]) * ks[b,j])) * 0.125;\n"                      \
    "  t[b,i,j] = j < len[b] ? s[b,i,j] : -inf;\n"                                                 \
    "  m[b,i] = max[j](t[b,i,j]);\n"                                                               \
    "  z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));\n"                                                 \
    "  O[b,i,e] = sum[j](f16(exp(t[b,i,j] - m[b,i])) * f16(f16(V[b,j,e]) * vs[b,j])) / z[b,i];\n"  \
    "}\n"
#define SCALED_APART(l, n, d)                                                                      \
    "param L = " #l ", N = " #n ", D = " #d ";\n"                                                  \
    "op fa(Q: i8[L,D], qs: f16[L], K: i8[N,D], ks: f16[N], V: i8[N,D], vs: f16[N])"                \
    " -> O: f16[L,D] {\n"                                                                          \
    "  s[i,j] = sum[d](f16(Q[i,d]) * f16(K[j,d]) * qs[i] * ks[j]);\n"                              \
    "  m[i] = max[j](s[i,j]);\n"                                                                   \
    "  z[i] = sum[j](exp(s[i,j] - m[i]));\n"                                                       \
    "  O[i,e] = sum[j](f16(exp(s[i,j] - m[i]) * vs[j]) * f16(V[j,e])) / z[i];\n"                   \
    "}\n"
/* Rows of both second operands that a condition chooses.  */
#define CHOSEN(l, n, d, e)                                                                         \
    "param L = " #l ", N = " #n ", D = " #d ", E = " #e ";\n"                                      \
    "op f(Q: f16[L,D], K: f16[D,N], V: f16[N,E]) -> O: f32[L,E] {\n"                               \
    "  s[i,j] = sum[d](Q[i,d] * K[d == 0 ? 0 : d - 1, j]);\n"                                      \
    "  O[i,e] = sum[j](f16(max(s[i,j], 0)) * V[j == 0 ? 0 : j - 1, e]);\n"                         \
    "}\n"
#define WINDOW(l, n, d, w)                                                                         \
    "param L = " #l ", N = " #n ", D = " #d ";\n"                                                  \
    "op fa(Q: bf16[L,D], K: bf16[N,D], V: bf16[N,D]) -> O: bf16[L,D] {\n"                          \
    "  s[i,j] = sum[d](Q[i,d] * K[j,d]);\n"                                                        \
    "  t[i,j] = j <= i && j > i - " #w " ? s[i,j] * 0.125 : -inf;\n"                               \
    "  m[i] = max[j](t[i,j]);\n"                                                                   \
    "  z[i] = sum[j](exp(t[i,j] - m[i]));\n"                                                       \
    "  O[i,e] = sum[j](bf16(exp(t[i,j] - m[i])) * V[j,e]) / z[i];\n"                               \
    "}\n"

/* Columns in chunks, of which the first that a row has is any; rows are not divided.  */
#define TURNED(m, n, d, w)                                                                         \
    "param M = " #m ", N = " #n ", D = " #d ";\n"                                                  \
    "op fa(Q: f16[D,M], K: f16[D,N], V: f16[D,N]) -> O: f32[M,D] {\n"                              \
    "  s[i,j] = sum[d](Q[d,i] * K[d,j]);\n"                                                        \
    "  t[i,j] = j + " #w " > i ? s[i,j] : -inf;\n"                                                 \
    "  m[i] = max[j](t[i,j]);\n"                                                                   \
    "  O[i,e] = sum[j](f16(exp(t[i,j] - m[i])) * V[e,j]);\n"                                       \
    "}\n"

/* G heads share keys and values.  */
#define GROUPED(h, g, l, n, d)                                                                     \
    "param H = " #h ", G = " #g ", L = " #l ", N = " #n ", D = " #d ";\n"                          \
    "op fa(Q: bf16[2,H,L,D], K: bf16[2,H/G,N,D], V: bf16[2,H/G,N,D]) -> O: bf16[2,H,L,D] {\n"      \
    "  t[b,h,i,j] = sum[d](Q[b,h,i,d] * K[b,h/G,j,d]) * 0.125;\n"                                  \
    "  m[b,h,i] = max[j](t[b,h,i,j]);\n"                                                           \
    "  z[b,h,i] = sum[j](exp(t[b,h,i,j] - m[b,h,i]));\n"                                           \
    "  O[b,h,i,e] = sum[j](bf16(exp(t[b,h,i,j] - m[b,h,i])) * V[b,h/G,j,e]) / z[b,h,i];\n"         \
    "}\n"

static const Case cases[] = {
    {"pair", "a100", PAIR(64, 32, 48, 64, "f16")},
    {"odd pair", "a100", PAIR(67, 40, 43, 24, "bf16")},
    {"few results", "a100", ATTENTION(1, 20, 40, 16, 10, "f16")},
    {"pair on turing", "t4", PAIR(67, 40, 43, 24, "f16")},
    {"pair on ada", "rtx4090", PAIR(96, 64, 80, 32, "f16")},
    {"bytes on turing", "t4", INTEGERS(67, 40, 43, 24, "i8")},
    {"bytes on ampere", "a100", INTEGERS(67, 100, 75, 24, "u8")},
    {"bytes on ada", "rtx4090", SMALL_REALS(96, 64, 80, 32, "f8e5m2")},
    {"pair on hopper", "h200", PAIR(96, 64, 80, 32, "bf16")},
    {"causal", "a100", CAUSAL(80, 80, 32, "f16")},
    {"causal odd", "a100", CAUSAL(77, 83, 40, "bf16")},
    {"log sum", "a100", LOG_SUM(70, 90, 32)},
    {"lengths", "rtx4090", LENGTHS(3, 50, 70, 32)},
    {"window", "a10", WINDOW(150, 150, 32, 20)},
    {"columns in chunks", "a100", TURNED(64, 64, 64, 3)},
    {"far columns in chunks", "h200", TURNED(80, 136, 32, 11)},
    {"blackwell", "rtx5090", ATTENTION(1, 40, 100, 96, 32, "bf16")},
    {"one turn", "a100", ATTENTION(2, 64, 16, 64, 64, "f16")},
    {"attention", "a100", ATTENTION(2, 64, 128, 64, 64, "f16")},
    {"odd", "a100", ATTENTION(2, 77, 83, 40, 24, "bf16")},
    {"scores of f8", "rtx4090", SCORES(2, 77, 83, 40, 24, "f8e4m3", "bf16")},
    {"turing", "t4", ATTENTION(1, 40, 80, 32, 64, "f16")},
    {"hopper", "h200", ATTENTION(1, 80, 160, 64, 128, "bf16")},
    {"bytes with scales", "a100", SCALED(2, 40, 150, 32)},
    {"bytes with scales on turing", "t4", SCALED(1, 40, 100, 40)},
    {"bytes with scales on hopper", "h200", SCALED(2, 20, 150, 32)},
    {"bytes, scales apart", "rtx4090", SCALED_APART(40, 150, 32)},
    {"chosen rows", "a100", CHOSEN(40, 150, 32, 24)},
    {"chosen rows on turing", "t4", CHOSEN(40, 72, 16, 24)},
};
/* By units of warpgroups.  */
static const Case groups[] = {
    {"groups", "h200", ATTENTION(2, 130, 400, 64, 64, "f16")},
    {"groups odd", "h200", ATTENTION(2, 77, 83, 40, 24, "bf16")},
    {"groups scores of f8", "h200", SCORES(2, 130, 200, 64, 64, "f8e5m2", "f16")},
    {"groups causal", "h200", CAUSAL(300, 300, 64, "bf16")},
    {"groups causal odd", "h200", CAUSAL(150, 170, 40, "f16")},
    {"groups log sum", "h200", LOG_SUM(70, 190, 64)},
    {"groups lengths", "h100", LENGTHS(3, 50, 170, 64)},
    {"groups window", "h200", WINDOW(300, 300, 64, 70)},
    {"groups of bytes", "h200", INTEGERS(130, 64, 160, 64, "i8")},
    {"groups of small reals", "h200", SMALL_REALS(130, 64, 96, 64, "f8e4m3")},
    {"groups of bytes masked", "h200", MASKED(130, 64, 160, 64, "i8", "i32")},
    {"groups pair", "h200", PAIR(130, 64, 160, 64, "bf16")},
    {"groups columns in chunks", "h200", TURNED(136, 264, 64, 11)},
    {"groups of heads", "h200", GROUPED(4, 2, 70, 130, 64)},
    {"tensor", "b200", ATTENTION(2, 130, 200, 64, 64, "f16")},
    {"tensor odd", "b200", ATTENTION(2, 77, 83, 40, 24, "bf16")},
    {"tensor wide", "b200", ATTENTION(1, 130, 150, 128, 136, "bf16")},
    {"tensor scores of f8", "b200", SCORES(2, 130, 100, 64, 64, "f8e5m2", "f16")},
    {"tensor causal odd", "b200", CAUSAL(150, 170, 40, "f16")},
    {"tensor log sum", "b200", LOG_SUM(70, 190, 64)},
    {"tensor lengths", "b200", LENGTHS(3, 50, 170, 64)},
    {"tensor window", "b200", WINDOW(300, 300, 64, 70)},
    {"tensor bytes", "b200", INTEGERS(130, 64, 160, 64, "i8")},
    {"tensor small reals", "b200", SMALL_REALS(130, 64, 96, 64, "f8e4m3")},
    {"tensor bytes masked", "b200", MASKED(130, 64, 160, 64, "i8", "i32")},
    {"tensor small reals masked", "b200", MASKED(130, 64, 160, 64, "f8e4m3", "f32")},
    {"tensor pair", "b200", PAIR(130, 64, 160, 64, "bf16")},
    {"tensor of heads", "b200", GROUPED(4, 2, 70, 130, 64)},
};
/* ... of several warpgroups that fold.  */
static const Case teams[] = {
    {"teams", "b200", ATTENTION(2, 250, 200, 128, 128, "f16")},
    {"teams odd", "b200", ATTENTION(1, 251, 183, 72, 40, "bf16")},
    {"teams causal", "b200", CAUSAL(250, 270, 64, "bf16")},
    {"teams log sum", "b200", LOG_SUM(255, 190, 64)},
    {"teams lengths", "b200", LENGTHS(2, 250, 170, 64)},
    {"teams window", "b200", WINDOW(500, 500, 64, 70)},
    {"teams of heads", "b200", GROUPED(4, 2, 250, 130, 64)},
    {"teams pair", "b200", PAIR(500, 64, 160, 64, "f16")},
};
/* Several maps behind, of which the first one alone reads values of the row, or none; results pass
 * through shared memory.  */
#define ATTENTION_MAPS(b, l, n, d, e)                                                              \
    "param B = " #b ", L = " #l ", N = " #n ", D = " #d ", E = " #e ";\n"                          \
    "op fa(Q: f16[B,L,D], K: f16[B,N,D], V: f16[B,N,E], X: f16[B,L,E], w: f32[E])"                 \
    " -> (O: f16[B,L,E], R: f16[B,L,E]) {\n"                                                       \
    "  t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]) * 0.125;\n"                                          \
    "  m[b,i] = max[j](t[b,i,j]);\n"                                                               \
    "  z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));\n"                                                 \
    "  O[b,i,e] = sum[j](f16(exp(t[b,i,j] - m[b,i])) * V[b,j,e]) / z[b,i];\n"                      \
    "  S[b,i,e] = O[b,i,e] + X[b,i,e];\n"                                                          \
    "  R[b,i,e] = S[b,i,e] * w[e];\n"                                                              \
    "}\n"
#define PAIR_MAPS(m, k, n, e)                                                                      \
    "param M = " #m ", K = " #k ", N = " #n ", E = " #e ";\n"                                      \
    "op pair(X: f16[M,K], A: f16[N,K], B: f16[E,N], u: f16[N], v: f16[E]) -> Y: f16[M,E] {\n"      \
    "  s[i,j] = sum[d](X[i,d] * A[j,d]);\n"                                                        \
    "  a[i,j] = s[i,j] + u[j];\n"                                                                  \
    "  h[i,j] = f16(max(a[i,j], 0));\n"                                                            \
    "  p[i,e] = sum[j](h[i,j] * B[e,j]);\n"                                                        \
    "  q[i,e] = p[i,e] + v[e];\n"                                                                  \
    "  Y[i,e] = max(q[i,e], 0);\n"                                                                 \
    "}\n"
/* A second map needs the sums, too, or they are stored: none takes their place.  */
#define ATTENTION_SUMS(out, more)                                                                  \
    "param B = 2, L = 37, N = 50, D = 32, E = 40;\n"                                               \
    "op fa(Q: f16[B,L,D], K: f16[B,N,D], V: f16[B,N,E]) -> (" out "O: f16[B,L,E]) {\n"             \
    "  t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]) * 0.125;\n"                                          \
    "  m[b,i] = max[j](t[b,i,j]);\n"                                                               \
    "  z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));\n"                                                 \
    "  P[b,i,e] = sum[j](f16(exp(t[b,i,j] - m[b,i])) * V[b,j,e]);\n"                               \
    "  O[b,i,e] = P[b,i,e] / z[b,i];\n" more                                                       \
    "}\n"
static const Case passing[] = {
    {"passing attention", "a100", ATTENTION_MAPS(2, 37, 50, 32, 40)},
    {"passing pair on turing", "t4", PAIR_MAPS(67, 104, 43, 24)},
    {"passing groups", "h200", ATTENTION_MAPS(2, 77, 83, 64, 40)},
    {"passing groups pair", "h200", PAIR_MAPS(130, 200, 48, 72)},
};
static const Case held[] = {
    {"held stored", "a100", ATTENTION_SUMS("P: f32[B,L,E], ", "")},
    {"held for a second map", "h200",
     ATTENTION_SUMS("R: f16[B,L,E], ", "  R[b,i,e] = O[b,i,e] + P[b,i,e];\n")},
};
/* K in steps, of rows that one turn has.  */
static const Case streams[] = {
    {"streamed odd pair", "rtx4090", PAIR(67, 100, 43, 24, "bf16")},
    {"streamed pair on turing", "t4", PAIR(67, 104, 43, 24, "f16")},
    {"streamed attention", "a100", ATTENTION(2, 77, 43, 136, 24, "f16")},
    {"streamed log sum", "h200", LOG_SUM(70, 64, 96)},
};
/* ... whose first operand is a region, of one image and of several.  */
#define PIXELS(n, size, channels)                                                                  \
    "op f(X: f16[" #n "," #size "," #size "," #channels "], K: f16[3,3," #channels ",24], "        \
    "W: f16[24,16]) -> Y: f16[" #n "," #size "," #size ",16] { "                                   \
    "S[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * K[r,s,c,f]; "                                     \
    "Y[n,p,q,g] += f16(S[n,p,q,f]) * W[f,g]; }"
static const Case region_streams[] = {
    {"streamed pixels", "a100", PIXELS(2, 16, 16)},
    {"streamed images", "rtx4090", PIXELS(3, 14, 24)},
    {"streamed pixels on turing", "t4", PIXELS(1, 15, 16)},
};
/* ... of blocks of pixels.  */
static const Case block_regions[] = {
    {"streamed blocks", "a100", PIXELS(1, 16, 16)},
    {"groups streamed blocks", "h200", PIXELS(2, 24, 96)},
};
static const Case group_regions[] = {
    {"groups streamed images", "h200", PIXELS(3, 11, 64)},
    {"groups streamed planes", "h200", PIXELS(2, 13, 96)},
};
/* ... of f columns, and of e behind them.  */
#define PIXELS_MAPS(n, size, channels, f, e)                                                       \
    "op f(X: f16[" #n "," #size "," #size "," #channels "], K: f16[3,3," #channels "," #f "], "    \
    "W: f16[" #f "," #e "], u: f16[" #e "]) -> Y: f16[" #n "," #size "," #size "," #e "] { "       \
    "S[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * K[r,s,c,f]; "                                     \
    "T[n,p,q,g] += f16(max(S[n,p,q,f], 0)) * W[f,g]; "                                             \
    "Y[n,p,q,g] = max(T[n,p,q,g] + u[g], 0); }"
/* Results leave by boxes: several of a row, one that is wider than the row, behind values of
 * rows.  */
static const Case boxed[] = {
    {"boxes of planes", "h200", PIXELS_MAPS(2, 13, 64, 64, 96)},
    {"boxes of narrow rows", "h200", PIXELS_MAPS(3, 11, 48, 48, 40)},
    {"boxes of a pair", "h200", PAIR(200, 200, 48, 96, "bf16")},
    {"boxes of bytes", "h200", INTEGERS(200, 400, 64, 72, "i8")},
    {"boxes of attention", "h200", ATTENTION(3, 200, 150, 64, 128, "bf16")},
    {"boxes of heads", "h200", GROUPED(4, 2, 70, 130, 64)},
    {"boxes of tensor", "b200", ATTENTION(3, 250, 150, 64, 40, "bf16")},
};
static const Case boxed_blocks[] = {
    {"boxes of blocks", "h200", PIXELS_MAPS(1, 24, 64, 64, 96)},
};
/* ... while the second operand's steps stay in shared memory.  */
static const Case kept[] = {
    {"kept planes", "h200", PIXELS_MAPS(2, 13, 64, 64, 96)},
    {"kept narrow planes", "h200", PIXELS_MAPS(3, 11, 48, 48, 40)},
};
static const Case group_streams[] = {
    {"groups streamed bytes", "h200", INTEGERS(130, 400, 64, 72, "u8")},
    {"groups streamed pair", "h200", PAIR(130, 200, 48, 72, "bf16")},
};
/* ... by blocks that stay for several tiles.  */
static const Case staying[] = {
    {"staying bytes", "h200", INTEGERS(200, 400, 64, 72, "i8")},
    {"staying pair", "h200", PAIR(200, 200, 48, 72, "bf16")},
    {"staying log sum", "h200", LOG_SUM(180, 60, 136)},
};
/* ... whose clusters share the second operand, whose lines lie along k or along columns.  */
#define PAIR_ACROSS(m, k, n, e)                                                                    \
    "param M = " #m ", K = " #k ", N = " #n ", E = " #e ";\n"                                      \
    "op pair(X: f16[M,K], A: f16[K,N], B: f16[N,E]) -> Y: f16[M,E] {\n"                            \
    "  s[i,j] = sum[d](X[i,d] * A[d,j]);\n"                                                        \
    "  Y[i,e] = sum[j](f16(max(s[i,j], 0)) * B[j,e]);\n"                                           \
    "}\n"
static const Case clusters[] = {
    {"clusters pair", "h200", PAIR(500, 200, 64, 72, "bf16")},
    {"clusters pair across", "h200", PAIR_ACROSS(384, 136, 128, 40)},
    {"clusters attention", "h200", ATTENTION(2, 256, 44, 136, 24, "f16")},
    {"clusters of lines", "h200", PIXELS_MAPS(4, 16, 64, 48, 64)},
};
/* ... with turns: all have as many, or a mask says how many, in groups of batches.  */
#define CAUSAL_HEADS(b, l, d)                                                                      \
    "param B = " #b ", L = " #l ", D = " #d ";\n"                                                  \
    "op fa(Q: f16[B,L,D], K: f16[B,L,D], V: f16[B,L,D]) -> O: f16[B,L,D] {\n"                      \
    "  s[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]);\n"                                                  \
    "  t[b,i,j] = j <= i ? s[b,i,j] * 0.125 : -inf;\n"                                             \
    "  m[b,i] = max[j](t[b,i,j]);\n"                                                               \
    "  z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));\n"                                                 \
    "  O[b,i,e] = sum[j](f16(exp(t[b,i,j] - m[b,i])) * V[b,j,e]) / z[b,i];\n"                      \
    "}\n"
static const Case staying_turns[] = {
    {"staying attention", "h200", ATTENTION(3, 200, 150, 64, 40, "bf16")},
    {"staying causal", "h200", CAUSAL_HEADS(5, 200, 64)},
    {"staying window", "h200", WINDOW(500, 500, 64, 70)},
    {"staying tensor", "b200", ATTENTION(3, 250, 150, 64, 40, "bf16")},
    {"staying tensor causal", "b200", CAUSAL_HEADS(3, 256, 64)},
    {"staying tensor window", "b200", WINDOW(760, 760, 64, 70)},
};
enum {
    CASES = sizeof cases / sizeof *cases,
    GROUPS = sizeof groups / sizeof *groups,
    TEAMS = sizeof teams / sizeof *teams,
    PASSING = sizeof passing / sizeof *passing,
    HELD = sizeof held / sizeof *held,
    STREAMS = sizeof streams / sizeof *streams,
    REGION_STREAMS = sizeof region_streams / sizeof *region_streams,
    BOXED = sizeof boxed / sizeof *boxed,
    KEPT = sizeof kept / sizeof *kept,
    GROUP_STREAMS = sizeof group_streams / sizeof *group_streams,
    GROUP_REGIONS = sizeof group_regions / sizeof *group_regions,
    BLOCK_REGIONS = sizeof block_regions / sizeof *block_regions,
    BOXED_BLOCKS = sizeof boxed_blocks / sizeof *boxed_blocks,
    CLUSTERS = sizeof clusters / sizeof *clusters,
    STAYING = sizeof staying / sizeof *staying,
    STAYING_TURNS = sizeof staying_turns / sizeof *staying_turns
};

typedef const char *Keep(KernelCase *c);

typedef bool Is(const KernelCase *c, const RProg *r);

/* Keeps the programs that are so.  */
static const char *keep_where(KernelCase *c, Is *is, const char *none) {
    RProgSet *set = &c->set[0];
    int n = 0;
    for (int i = 0; i < set->n; i++)
        if (is(c, &set->prog[i])) set->prog[n++] = set->prog[i];
    set->n = n;
    return n > 0 ? NULL : none;
}

static bool streams_k(const KernelCase *c, const RProg *r) {
    return rprog_chain_streams(&c->plan.problem[0], r);
}

static bool has_region(const KernelCase *c, const RProg *r) {
    (void)c;
    return r->load[LOAD_A].region;
}

static bool passes_through(const KernelCase *c, const RProg *r) {
    (void)c;
    return r->via == VIA_SHARED;
}

static bool leaves_by_boxes(const KernelCase *c, const RProg *r) {
    (void)c;
    return r->via == VIA_BOXES;
}

static bool keeps_steps(const KernelCase *c, const RProg *r) {
    return rprog_keeps_steps(&c->plan.problem[0], r);
}

static bool has_teams(const KernelCase *c, const RProg *r) {
    (void)c;
    return r->block.extent[AX_M] > r->warp.extent[AX_M];
}

static bool stays(const KernelCase *c, const RProg *r) {
    (void)c;
    return rprog_persistent(r);
}

static bool has_cluster(const KernelCase *c, const RProg *r) {
    (void)c;
    return r->cluster > 1;
}

static const char *keep_streams(KernelCase *c) {
    return keep_where(c, streams_k, "no program streams k");
}

static const char *keep_region_streams(KernelCase *c) {
    return keep_where(c, has_region, "no program has a region");
}

static const char *keep_group_streams(KernelCase *c) {
    const char *bad = kernel_keep_groups(c);
    return bad ? bad : keep_streams(c);
}

static const char *keep_passing(KernelCase *c) {
    return keep_where(c, passes_through, "no results pass through shared memory");
}

static const char *keep_boxes(KernelCase *c) {
    return keep_where(c, leaves_by_boxes, "no results leave by boxes");
}

static const char *keep_kept(KernelCase *c) { return keep_where(c, keeps_steps, "no steps stay"); }

static const char *keep_held(KernelCase *c) {
    for (int i = 0; i < c->set[0].n; i++)
        if (c->set[0].prog[i].via == VIA_SHARED) return "a map takes the place of what others need";
    return NULL;
}

static const char *keep_teams(KernelCase *c) {
    const char *bad = kernel_keep_groups(c);
    return bad ? bad : keep_where(c, has_teams, "no block has several warpgroups");
}

static const char *keep_staying(KernelCase *c) {
    const char *bad = kernel_keep_groups(c);
    return bad ? bad : keep_where(c, stays, "no block stays");
}

static const char *keep_staying_streams(KernelCase *c) {
    const char *bad = keep_streams(c);
    return bad ? bad : keep_staying(c);
}

static const char *keep_group_regions(KernelCase *c) {
    const char *bad = kernel_keep_groups(c);
    return bad ? bad : keep_region_streams(c);
}

static const char *keep_staying_regions(KernelCase *c) {
    const char *bad = keep_group_regions(c);
    return bad ? bad : keep_staying(c);
}

static const char *keep_blocks(KernelCase *c) {
    bool staged = strcmp(c->dev->arch, "sm_80") == 0;
    if (!(decided(c->normal) & BLOCKED)) return "its rows are no blocks of pixels";
    return staged ? keep_region_streams(c) : keep_staying_regions(c);
}

static const char *keep_boxed_blocks(KernelCase *c) {
    const char *bad = keep_blocks(c);
    return bad ? bad : keep_boxes(c);
}

static const char *keep_clusters(KernelCase *c) {
    return keep_where(c, has_cluster, "no block has copies in common with others");
}

/* The program that the model ranks first, or a drawn one.  */
static const char *prove(KernelCase *c, Nvrtc *nvrtc, uint64_t seed) {
    const char *bad = kernel_pick(c, seed);
    if (!bad) bad = kernel_emit(c);
    if (getenv("CHAIN_SHOW") && c->program.source) puts(c->program.source);
    if (!bad) bad = kernel_compile(c, nvrtc, true);
    return bad ? bad : kernel_prove(c, seed + 1);
}

/* sms: of the device; 0: as its profile says.  */
static const char *try(Arena *a, Nvrtc *nvrtc, const Case *x, Keep *keep, int sms) {
    bool blocks = keep == keep_blocks || keep == keep_boxed_blocks;
    unsigned taken = JOINED | CHAINS | (blocks ? BLOCKED : 0);
    enum { SEEDS = 20 };
    KernelCase c;
    Device *dev = fixture_device(a, x->profile);
    if (sms) dev->limits.sm_count.value = sms;
    const char *bad = kernel_open_decided(&c, a, dev, x->text, NULL, taken);
    if (!bad && c.plan.n != 1) bad = "it is not one kernel";
    if (!bad && keep) bad = keep(&c);
    for (int seed = 0; seed < SEEDS && !bad; seed++)
        if (effort_drawn(seed, SEEDS)) bad = prove(&c, nvrtc, (uint64_t)seed);
    return bad ? kernel_report(&c, x->name, bad) : NULL;
}

static void try_all(const Case *x, int n, Keep *keep, int sms) {
    enum { DRAWN = 3 };
    const char *only = getenv("CHAIN_CASE");
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    int failed = 0;
    if (nvrtc_open(a, &d, NULL, NULL, &nvrtc)) skip();
    for (int i = 0; i < n; i++) {
        if (only ? !strstr(x[i].name, only) : !effort_drawn(i, DRAWN)) continue;
        const char *bad = try(a, nvrtc, &x[i], keep, sms);
        if (bad) printf("%s\n", bad);
        failed += bad != NULL;
    }
    assert_int_equal(failed, 0);
    arena_destroy(a);
}

static void chains_are_right(void **state) {
    (void)state;
    try_all(cases, CASES, NULL, 0);
    try_all(passing, PASSING, keep_passing, 0);
    try_all(held, HELD, keep_held, 0);
}

static void chains_of_warpgroups_are_right(void **state) {
    (void)state;
    try_all(groups, GROUPS, kernel_keep_groups, 0);
    try_all(teams, TEAMS, keep_teams, 0);
}

static void chains_that_stream_k_are_right(void **state) {
    (void)state;
    try_all(streams, STREAMS, keep_streams, 0);
    try_all(region_streams, REGION_STREAMS, keep_region_streams, 2);
    try_all(group_streams, GROUP_STREAMS, keep_group_streams, 0);
    try_all(group_regions, GROUP_REGIONS, keep_group_regions, 0);
    try_all(group_regions, GROUP_REGIONS, keep_staying_regions, 1);
    try_all(block_regions, BLOCK_REGIONS, keep_blocks, 1);
    try_all(staying, STAYING, keep_staying_streams, 1);
    try_all(clusters, CLUSTERS, keep_clusters, 4);
    try_all(kept, KEPT, keep_kept, 1);
}

static void results_leave_by_boxes(void **state) {
    (void)state;
    try_all(boxed, BOXED, keep_boxes, 1);
    try_all(boxed_blocks, BOXED_BLOCKS, keep_boxed_blocks, 1);
}

static void chains_of_blocks_that_stay_are_right(void **state) {
    (void)state;
    try_all(staying_turns, STAYING_TURNS, keep_staying, 2);
}

/* Units of 8 bits have results as their operand only where rows of A lie in another order: copies
 * of threads bring them so, and boxes.  Every run tries both.  */
static void rows_lie_in_order(void **state) {
    static const Case ordered[] = {{"order of threads", "t4", INTEGERS(32, 32, 32, 16, "i8")},
                                   {"order of boxes", "h200", INTEGERS(64, 64, 32, 32, "i8")}};
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    (void)state;
    if (nvrtc_open(a, &d, NULL, NULL, &nvrtc)) skip();
    for (int boxes = 0; boxes < 2; boxes++) {
        KernelCase c;
        const Case *x = &ordered[boxes];
        const char *bad = kernel_open_decided(&c, a, fixture_device(a, x->profile), x->text, NULL,
                                              JOINED | CHAINS);
        if (!bad && boxes) bad = kernel_keep_groups(&c);
        if (!bad) bad = prove(&c, nvrtc, 0);
        if (bad) printf("%s\n", kernel_report(&c, x->name, bad));
        assert_null(bad);
    }
    arena_destroy(a);
}

static uint16_t half(double x) { return num_f16_encode(x, ROUND_NEAREST_EVEN, false); }

static double whole(Rng *rng) { return (int)rng_below(rng, 81) - 40; }

/* Scores of some thousands, and beyond each length NaN in keys and values; a length is 0.  */
static void try_hidden(const char *profile, bool by_groups) {
    enum { B = 3, L = 50, N = 170, D = 64 };
    static const int32_t length[B] = {141, 0, 170};
    static uint16_t q[B * L * D], k[B * N * D], v[B * N * D];
    static float w[L * N];
    static TeValue got[B * L * D], *const all[] = {got};
    const TeData in[] = {{q, sizeof q}, {k, sizeof k}, {v, sizeof v},
                         {(void *)(uintptr_t)length, sizeof length}, {w, sizeof w}};
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Rng rng = {1};
    Nvrtc *nvrtc;
    KernelCase c;
    const Device *dev = fixture_device(a, profile);
    for (int i = 0; i < B * L * D; i++) q[i] = half(whole(&rng));
    for (int i = 0; i < B * N * D; i++) {
        bool there = i / D % N < length[i / (N * D)];
        k[i] = there ? half(whole(&rng)) : 0x7e00;
        v[i] = there ? half(rng_below(&rng, 100) / 100.0) : 0x7e00;
    }
    if (nvrtc_open(a, &d, NULL, dev->arch, &nvrtc)) skip();
    const char *text = LENGTHS(3, 50, 170, 64);
    const char *bad = kernel_open_decided(&c, a, dev, text, NULL, JOINED | CHAINS);
    if (!bad && by_groups) bad = kernel_keep_groups(&c);
    c.in = in;
    c.got = all;
    for (uint64_t seed = 0; seed < 4 && !bad; seed++) {
        bad = kernel_pick(&c, seed);
        if (!bad) bad = kernel_emit(&c);
        if (!bad) bad = kernel_compile(&c, nvrtc, true);
        if (!bad) bad = kernel_run(&c, TE_FILL_REALS, 1, false);
        for (int i = 0; i < B * L * D && !bad; i++)
            if (isnan(got[i].v) != (length[i / (L * D)] == 0)) bad = "NaN, or none";
    }
    if (bad) fail_msg("%s", kernel_report(&c, "hidden", bad));
    arena_destroy(a);
}

static void what_a_mask_hides_is_not_read(void **state) {
    (void)state;
    try_hidden("a100", false);
    try_hidden("h200", true);
    try_hidden("b200", true);
}

/* Within two in a hundred.  */
static void is_near(const char *what, double got, double want) {
    if (got < 0.98 * want || got > 1.02 * want) fail_msg("%s: %g, not %g", what, got, want);
}

/* The best program of those that have no slices, and no columns behind the last in a turn.  */
static const char *pick_whole(KernelCase *c, int columns) {
    RProgSet *set = &c->set[0];
    int n = 0;
    for (int i = 0; i < set->n; i++) {
        const RProg *r = &set->prog[i];
        if (r->split == 1 && columns % r->block.extent[AX_N] == 0) set->prog[n++] = *r;
    }
    set->n = n;
    return kernel_pick(c, 0);
}

/* The products of both, in instructions of a warp: by those of a warpgroup, four of which take 64
 * rows, a turn's columns or all of V's.  */
static double products(const KernelCase *c, double rows, double n, double d, double e) {
    const RProg *r = &c->plan.prog[0];
    if (!c->dev->unit[r->unit].b_smem) return 2 * rows * n * (d + e) / (2 * 16 * 8 * 16);
    double turns = n / r->block.extent[AX_N];
    return rows / 16 * turns * (d + r->block.extent[AX_N]) / 16;
}

/* Instructions of the matrix unit are those of both products, powers one for each score; inputs and
 * outputs move once.  */
static void try_counts(const char *profile, bool by_groups) {
    enum { L = 64, N = 1024, D = 64 };
    const char *text = ATTENTION(1, 64, 1024, 64, 64, "f16");
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    KernelCase c;
    const Device *dev = fixture_device(a, profile);
    if (nvrtc_open(a, &d, NULL, dev->arch, &nvrtc)) skip();
    const char *bad = kernel_open_decided(&c, a, dev, text, NULL, JOINED | CHAINS);
    if (!bad && by_groups) bad = kernel_keep_groups(&c);
    if (!bad) bad = pick_whole(&c, N);
    if (!bad) bad = kernel_emit(&c);
    if (!bad) bad = kernel_compile(&c, nvrtc, true);
    if (!bad) bad = kernel_run(&c, TE_FILL_REALS, 1, false);
    if (bad) fail_msg("%s", kernel_report(&c, "counts", bad));
    const SimCounters *x = &c.counted;
    is_near("products", (double)x->pipe[SIM_PIPE_TENSOR], products(&c, L, N, D, D));
    is_near("powers", (double)x->pipe[SIM_PIPE_MUFU], (double)(L * N) / WARP);
    is_near("read", (double)x->unique_load_sectors, 2.0 * (L * D + 2 * N * D) / SECTOR);
    is_near("written", (double)x->unique_store_sectors, 2.0 * L * D / SECTOR);
    assert_int_equal(c.code.kernel[0].spill_stores, 0);
    assert_int_equal(c.program.workspace_bytes, 0);
    arena_destroy(a);
}

static void counts_are_those_of_the_formulas(void **state) {
    (void)state;
    try_counts("a100", false);
    try_counts("h200", true);
}

/* Of a pair that streams k: A, B and V are read from memory once, and nothing lies in between.  */
static void streams_read_once(void **state) {
    (void)state;
    enum { M = 128, K = 512, N = 64, E = 32 };
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    KernelCase c;
    const Device *dev = fixture_device(a, "a100");
    if (nvrtc_open(a, &d, NULL, dev->arch, &nvrtc)) skip();
    const char *bad = kernel_open_decided(&c, a, dev, PAIR(128, 512, 64, 32, "f16"), NULL,
                                          JOINED | CHAINS);
    if (!bad) bad = keep_streams(&c);
    if (!bad) bad = kernel_pick(&c, 0);
    if (!bad) bad = kernel_emit(&c);
    if (!bad) bad = kernel_compile(&c, nvrtc, true);
    if (!bad) bad = kernel_run(&c, TE_FILL_REALS, 1, false);
    if (bad) fail_msg("%s", kernel_report(&c, "stream", bad));
    const SimCounters *x = &c.counted;
    is_near("products", (double)x->pipe[SIM_PIPE_TENSOR], (double)M * N * (K + E) / (16 * 8 * 16));
    is_near("read", (double)x->unique_load_sectors, 2.0 * (M * K + K * N + N * E) / SECTOR);
    is_near("written", (double)x->unique_store_sectors, 2.0 * M * E / SECTOR);
    assert_int_equal(c.code.kernel[0].spill_stores, 0);
    assert_int_equal(c.program.workspace_bytes, 0);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_are_right),
                                       cmocka_unit_test(rows_lie_in_order),
                                       cmocka_unit_test(chains_of_warpgroups_are_right),
                                       cmocka_unit_test(chains_that_stream_k_are_right),
                                       cmocka_unit_test(results_leave_by_boxes),
                                       cmocka_unit_test(chains_of_blocks_that_stay_are_right),
                                       cmocka_unit_test(what_a_mask_hides_is_not_read),
                                       cmocka_unit_test(streams_read_once),
                                       cmocka_unit_test(counts_are_those_of_the_formulas)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
