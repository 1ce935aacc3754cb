/* Programs whose plans are given, so that only code generation can change what becomes of them.  Of
 * each form of kernel one has its tree and its source kept in tests/golden: loads through registers
 * and without, warpgroups, rows of a product, rows, columns, elements.  */
#ifndef GOLDEN_PLANS_H
#define GOLDEN_PLANS_H
#include <stdbool.h>

static const struct {
    const char *name, *profile, *text, *plan;
    bool kept;
} golden[] = {
    {"matmul_async", "h200",
     "param M = 1024, N = 1024, K = 512; op f(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] {"
     " C[m,n] += A[m,k] * B[k,n]; }",
     "kernel 0\n skeleton contract\n unit ffma\n block 1 128 128 16\n warp 1 64 32 16\n"
     " thread 1 8 8 1\n vec 4 4\n unroll 16\n stages 4\n"
     " a async cp.async.4 vec 1 along k inner m pad 4\n"
     " b async cp.async.16 vec 4 along n inner n\n store 4\n raster grouped 8\n split 1\n"
     " blocks_per_sm 2\n", false},
    {"matmul_staged", "v100",
     "param M = 500, N = 512, K = 256; op f(A: f16[M,K], B: f16[N,K], b: f16[N]) -> C: f16[M,N] {"
     " t[m,n] += A[m,k] * B[n,k]; C[m,n] = max(t[m,n] + b[n], 0); }",
     "kernel 0\n skeleton contract\n unit ffma\n block 1 64 64 16\n warp 1 16 64 16\n"
     " thread 1 4 8 1\n vec 4 4\n unroll 8\n stages 2\n"
     " a staged ldg_sts.16 vec 8 along k inner m pad 4\n"
     " b staged ldg_sts.16 vec 8 along k inner n pad 4\n store 4\n raster row\n split 1\n"
     " blocks_per_sm 4\n", true},
    {"conv_split", "a100",
     "param N=1, C=16, H=14, W=14, F=32; op f(X: f32[N,C,H,W], K: f32[F,C,3,3]) -> Y: f32[N,F,H,W]"
     " { Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * K[f,c,r,s]; }",
     "kernel 0\n skeleton contract\n unit ffma\n block 1 32 32 16\n warp 1 16 32 8\n"
     " thread 1 4 4 1\n vec 4 4\n unroll 8\n stages 3\n"
     " a async cp.async.4 vec 1 along k inner m pad 4\n"
     " b async cp.async.4 vec 1 along n inner n table\n store 4\n raster column\n split 3\n"
     " blocks_per_sm 2\n", false},
    {"qlinear", "h200",
     "param M = 256, N = 256, K = 512; op f(A: i8[M,K], B: i8[N,K], s: f32[N]) -> Y: f16[M,N] {"
     " t[m,n] += A[m,k] * B[n,k]; Y[m,n] = f32(t[m,n]) * s[n]; }",
     "kernel 0\n skeleton contract\n unit dp4a\n block 1 64 64 64\n warp 1 32 32 64\n"
     " thread 1 4 8 16\n vec 1 4\n unroll 32\n stages 3\n"
     " a async cp.async.16 vec 16 along k inner k swizzle 2 1 0\n"
     " b async cp.async.16 vec 16 along k inner k swizzle 2 1 0\n store 4\n raster row\n split 1\n"
     " blocks_per_sm 2\n", false},
    {"matmul_mma", "a100",
     "param M = 200, N = 256, K = 160; op f(A: f16[M,K], B: f16[K,N], b: f16[N]) -> C: f16[M,N]"
     " { t[m,n] += A[m,k] * B[k,n]; C[m,n] = max(t[m,n] + b[n], 0); }",
     "kernel 0\n skeleton contract\n unit mma.m16n8k16.f16.f32\n block 1 128 256 32\n"
     " warp 1 64 64 32\n thread 1 16 8 16\n vec 1 2\n unroll 32\n stages 4\n"
     " a async cp.async.16 vec 8 along k inner k swizzle 2 1 0\n"
     " b async cp.async.16 vec 8 along n inner n swizzle 3 0 0\n store 8 shared\n"
     " raster grouped 8\n split 1\n blocks_per_sm 1\n", true},
    {"weights_converted", "a100",
     "param M = 20, N = 64, K = 256; op f(A: bf16[M,K], B: i8[N,K], s: bf16[N]) -> Y: bf16[M,N] {"
     " t[m,n] += A[m,k] * bf16(B[n,k]); Y[m,n] = t[m,n] * s[n]; }",
     "kernel 0\n skeleton contract\n unit mma.m16n8k16.bf16.f32\n block 1 16 8 64\n"
     " warp 1 16 8 32\n thread 1 16 8 16\n vec 1 2\n unroll 32\n stages 2\n"
     " a async cp.async.16 vec 8 along k inner k swizzle 3 0 0\n"
     " b staged ldg_sts.8 vec 8 along k inner k swizzle 3 0 0\n store 8 shared\n"
     " raster row\n split 1\n blocks_per_sm 6\n", false},
    {"conv_mma", "h200",
     "param N=1, C=64, H=9, W=9, F=72; op f(X: f16[N,H,W,C], K: f16[F,3,3,C]) ->"
     " Y: f16[N,H,W,F] { Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * K[f,r,s,c]; }",
     "kernel 0\n skeleton contract\n unit mma.m16n8k16.f16.f32\n block 1 64 64 64\n"
     " warp 1 32 32 64\n thread 1 16 8 16\n vec 1 2\n unroll 64\n stages 3\n"
     " a async cp.async.16 vec 8 along k inner k swizzle 3 0 0 table\n"
     " b async cp.async.16 vec 8 along k inner k swizzle 3 0 0\n store 2\n raster row\n split 2\n"
     " blocks_per_sm 2\n", false},
    {"matmul_tail", "a100",
     "param M = 72, N = 200, K = 256; op f(A: f16[M,K], B: f16[N,K], e: f32[N]) -> C: f16[M,N] {"
     " t[m,n] += A[m,k] * B[n,k]; C[m,n] = max(t[m,n] + e[n], 0); }",
     "kernel 0\n skeleton contract\n unit mma.m16n8k16.f16.f32\n block 1 32 64 32\n"
     " warp 1 32 32 32\n thread 1 16 8 16\n vec 1 2\n unroll 32\n stages 3\n"
     " a async cp.async.16 vec 8 along k inner k swizzle 2 1 0\n"
     " b async cp.async.16 vec 8 along k inner k swizzle 2 1 0\n store 4 shared\n"
     " raster grouped 2\n split 1 tail 4 units 11\n blocks_per_sm 2\n", false},
    {"rows_whole", "a100",
     "param M = 40, N = 56, K = 32; op f(A: f16[M,K], B: f16[N,K], R: f32[M,N]) ->"
     " (Y: f32[M,N], S: f32[M]) { t[m,n] += A[m,k] * B[n,k]; u[m,n] = t[m,n] + R[m,n];"
     " h[m] = max[n](u[m,n]); S[m] = sum[n](u[m,n] - h[m]); Y[m,n] = u[m,n] - h[m]; }",
     "split joined\nkernel 0\n skeleton contract\n unit mma.m16n8k16.f16.f32\n block 1 32 64 32\n"
     " warp 1 32 32 32\n thread 1 16 8 16\n vec 1 2\n unroll 32\n stages 2\n"
     " a async cp.async.16 vec 8 along k inner k swizzle 2 1 0\n"
     " b async cp.async.16 vec 8 along k inner k swizzle 2 1 0\n store 4 shared\n"
     " raster row\n split 1\n rows whole\n blocks_per_sm 2\n", false},
    {"rows_parts", "h200",
     "param M = 40, N = 60, K = 16; op f(A: f32[M,K], B: f32[N,K]) -> Y: f32[M,N] {"
     " t[m,n] += A[m,k] * B[n,k]; s[m] = sum[n](t[m,n]); Y[m,n] = t[m,n] - s[m]; }",
     "split joined\nkernel 0\n skeleton contract\n unit ffma\n block 1 32 32 8\n"
     " warp 1 32 16 8\n thread 1 4 4 4\n vec 1 4\n unroll 8\n stages 2\n"
     " a async cp.async.16 vec 4 along k inner k\n b async cp.async.16 vec 4 along k inner k\n"
     " store 4\n raster row\n split 1\n rows parts\n blocks_per_sm 8\n", true},
    {"rows_in_turn", "h200",
     "param B = 40, M = 1000, N = 800, K = 64; op f(Q: bf16[B,M,K], V: bf16[B,N,K]) ->"
     " S: bf16[B,M,N] { t[b,m,n] += Q[b,m,k] * V[b,n,k]; h[b,m] = max[n](t[b,m,n]);"
     " z[b,m] = sum[n](exp(t[b,m,n] - h[b,m])); S[b,m,n] = exp(t[b,m,n] - h[b,m]) / z[b,m]; }",
     "split joined\nkernel 0\n skeleton contract\n unit wgmma.bf16.f32\n block 1 128 128 64\n"
     " warp 1 128 128 64\n thread 1 64 128 16\n vec 1 2\n unroll 64\n stages 4\n"
     " a tile tma.tile vec 8 along k inner k swizzle 3 0 0\n"
     " b tile tma.tile vec 8 along k inner k swizzle 3 0 0\n"
     " store 2 boxes\n raster row pingpong\n split 1\n rows parts\n blocks_per_sm 1\n", false},
    {"rows_stay", "h200",
     "param M = 40000, N = 250, K = 200; op f(A: f16[M,K], B: f16[N,K]) -> Y: f32[M,N] {"
     " t[m,n] += A[m,k] * B[n,k]; s[m] = sum[n](t[m,n]) / 250;"
     " v[m] = sum[n]((t[m,n] - s[m]) * (t[m,n] - s[m])); Y[m,n] = (t[m,n] - s[m]) * v[m]; }",
     "split joined\nkernel 0\n skeleton contract\n unit wgmma.f16.f32\n block 1 64 256 64\n"
     " warp 1 64 128 64\n thread 1 64 128 16\n vec 1 2\n unroll 64\n stages 4\n"
     " a tile tma.tile vec 8 along k inner k swizzle 3 0 0\n"
     " b tile tma.tile vec 8 along k inner k swizzle 3 0 0\n"
     " store 2\n raster row persistent\n split 1\n rows whole\n blocks_per_sm 1\n", false},
    {"rows_alone", "h200",
     "param M = 40000, N = 250, K = 200; op f(A: f16[M,K], B: f16[N,K]) -> S: f32[M] {"
     " t[m,n] += A[m,k] * B[n,k]; S[m] = sum[n](max(t[m,n], 0)); }",
     "split joined\nkernel 0\n skeleton contract\n unit wgmma.f16.f32\n block 1 64 256 64\n"
     " warp 1 64 256 64\n thread 1 64 256 16\n vec 1 2\n unroll 64\n stages 4\n"
     " a tile tma.tile vec 8 along k inner k swizzle 3 0 0\n"
     " b tile tma.tile vec 8 along k inner k swizzle 3 0 0\n"
     " store 1\n raster row persistent\n split 1\n rows whole\n blocks_per_sm 1\n", false},
    {"weights_made", "h200",
     "param M = 40, N = 136, K = 128;"
     " op f(X: bf16[M,K], W: i8[N,K], s: bf16[N,2]) -> Y: bf16[M,N] {"
     " Y[m,n] += X[m,k] * bf16(W[n,k] * s[n,k/64]); }",
     "kernel 0\n skeleton contract\n unit wgmma.bf16.f32 swapped\n block 1 40 128 64\n"
     " warp 1 40 64 64\n thread 1 40 64 16\n vec 2 1\n unroll 64\n stages 3\n"
     " a tile tma.tile vec 8 along k inner k swizzle 3 0 0\n"
     " b tile tma.tile vec 16 raw along k inner k swizzle 2 1 0\n"
     " store 8 shared\n raster row\n split 1\n blocks_per_sm 1\n", false},
    {"ring_tail", "h200",
     "param M = 1160, N = 2048, K = 256; op f(A: f16[M,K], B: f16[N,K]) -> C: f16[M,N] {"
     " C[m,n] += A[m,k] * B[n,k]; }",
     "kernel 0\n skeleton contract\n unit wgmma.f16.f32\n block 1 128 128 64\n"
     " warp 1 64 128 64\n thread 1 64 128 16\n vec 1 2\n unroll 64\n stages 4\n"
     " a tile tma.tile vec 8 along k inner k swizzle 3 0 0\n"
     " b tile tma.tile vec 8 along k inner k swizzle 3 0 0\n"
     " store 2 boxes\n raster row persistent\n split 1 tail 28 blocks 112\n"
     " blocks_per_sm 1\n", true},
    {"ring_gathered", "h200",
     "param M = 1160, N = 2048, K = 256; op f(A: f16[M,K], row: i32[M], B: f16[N,K]) ->"
     " C: f16[M,N] { C[m,n] = sum[k]((A[row[m],k] else 0) * B[n,k]); }",
     "kernel 0\n skeleton contract\n unit wgmma.f16.f32\n block 1 128 128 64\n"
     " warp 1 64 128 64\n thread 1 64 128 16\n vec 1 2\n unroll 64\n stages 3\n"
     " a async cp.async.16 vec 8 team 4 along k inner k swizzle 3 0 0\n"
     " b tile tma.tile vec 8 along k inner k swizzle 3 0 0\n"
     " store 2 boxes\n raster row persistent\n split 1\n blocks_per_sm 1\n", false},
    {"scales_tensor", "b200",
     "param M = 256, N = 128, K = 1024; op f(A: f8e4m3[M,K], SA: f8ue8m0[M,K/32], B: f8e4m3[N,K],"
     " SB: f8ue8m0[N,K/32]) -> C: f32[M,N] { C[m,n] += (A[m,k] * SA[m,k/32]) *"
     " (B[n,k] * SB[n,k/32]); }",
     "kernel 0\n skeleton contract\n unit tcgen05.mxf8f6f4.f8e4m3.f32\n block 1 128 128 128\n"
     " warp 1 128 64 128\n thread 1 128 64 32\n vec 1 2\n unroll 128\n stages 4\n"
     " a tile tma.tile vec 16 along k inner k swizzle 3 0 0\n"
     " b tile tma.tile vec 16 along k inner k swizzle 3 0 0\n"
     " store 4 shared\n raster row\n split 1\n blocks_per_sm 1\n", false},
    {"softmax", "a100",
     "param N = 63, C = 520; op f(X: f16[N,C]) -> (Y: f16[N,C], I: i32[N]) {"
     " m[n] = max[c](X[n,c]); z[n] = sum[c](exp(X[n,c] - m[n]));"
     " I[n] = argmax[c](X[n,c]); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }",
     "kernel 0\n skeleton row\n unit ffma\n block 1 2 1024 1\n thread 1 1 16 1\n store 8\n"
     " split 1\n keep registers\n blocks_per_sm 4\n", true},
    {"layernorm", "h200",
     "param N = 8, C = 4096; op f(X: bf16[N,C], g: f32[C], b: f32[C], e: f32) -> Y: bf16[N,C] {"
     " u[n] = sum[c](X[n,c]) / C; v[n] = sum[c]((X[n,c] - u[n]) * (X[n,c] - u[n])) / C;"
     " Y[n,c] = (X[n,c] - u[n]) * rsqrt(v[n] + e) * g[c] + b[c]; }",
     "kernel 0\n skeleton row\n unit ffma\n block 1 1 1024 1\n thread 1 1 8 1\n store 8\n"
     " split 1\n keep shared\n blocks_per_sm 8\n", false},
    {"sum_split", "v100",
     "param N = 2, C = 100000; op f(X: f32[N,C]) -> Y: f32[N] { Y[n] = sqrt(sum[c](X[n,c])); }",
     "kernel 0\n skeleton row\n unit ffma\n block 1 1 4096 1\n thread 1 1 16 1\n store 4\n"
     " split 20\n keep memory\n blocks_per_sm 4\n", true},
    {"softmax_online", "h200",
     "param N = 2, C = 100000; op f(X: bf16[N,C]) -> Y: bf16[N,C] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }",
     "kernel 0\n skeleton row\n unit ffma\n block 1 1 2048 1\n thread 1 1 16 1\n store 8\n"
     " split 20\n keep online\n blocks_per_sm 8\n", false},
    {"argmax_first", "h200",
     "param N = 96, C = 64; op f(X: f32[C,N]) -> Y: f32[N,C] { m[n] = argmax[c](X[c,n]);"
     " Y[n,c] = exp(X[c,n] - X[0,n]) * m[n]; }",
     "kernel 0\n skeleton stream\n unit imad\n block 1 32 1 1\n thread 1 1 1 1\n store 1\n"
     " blocks_per_sm 1\n"
     "kernel 1\n skeleton stream\n unit ffma\n block 1 512 1 1\n thread 1 4 1 1\n store 4\n"
     " blocks_per_sm 1\n", true},
};

enum { GOLDEN = sizeof golden / sizeof *golden };
#endif
