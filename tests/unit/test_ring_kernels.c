/* links: sim */
/* Units of warpgroups on the simulator against te_eval: every type, operand layout, family of
 * tiles, number of stages and ragged shape, bit for bit, compiled without spills and without
 * products that the assembler serialises.  LONG=1 takes all of them, RING_CASE=TEXT those whose
 * name has it.  */
#include "effort.h"
#include "plan_fixture.h"
#include "ring_fixture.h"
#include "text_pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* Aligned, ragged in every axis, and less than a tile.  */
static const struct {
    int m, n, k;
} shape[] = {{512, 384, 256}, {208, 144, 336}, {48, 32, 48}};
enum { SHAPES = sizeof shape / sizeof *shape };

static const char *const layout[] = {"A[m,k] * B[n,k]", "A[m,k] * B[k,n]", "A[k,m] * B[n,k]",
                                     "A[k,m] * B[k,n]"};
enum { LAYOUTS = 4 };

static const char *op_text(Arena *a, int u, int s, int l) {
    const char *ta = l < 2 ? "M,K" : "K,M", *tb = l % 2 ? "K,N" : "N,K";
    return arena_printf(a, "param M = %d, N = %d, K = %d; op f(A: %s[%s], B: %s[%s]) -> C: %s[M,N]"
                           " { C[m,n] += %s %s; }",
                        shape[s].m, shape[s].n, shape[s].k, ring_unit[u].type, ta,
                        ring_unit[u].type, tb, ring_unit[u].out, layout[l], ring_unit[u].note);
}

/* What the grid above does not have.  */
static const char *const special[][2] = {
    {"bias, activation", "op f(A: f16[136,96], B: f16[80,96], b: f16[80]) -> C: f16[136,80] {"
     " t[m,n] += A[m,k] * B[n,k]; C[m,n] = max(t[m,n] + b[n], 0); }"},
    {"residual, two outputs", "op f(A: f16[72,64], B: f16[64,72], R: f32[72,72], s: f32[72]) ->"
     " (C: f32[72,72], D: f16[72,72]) { t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] + R[m,n];"
     " D[m,n] = C[m,n] * s[m]; }"},
    {"turned output", "op f(A: f16[48,64], B: f16[64,64]) -> C: f16[64,48] {"
     " C[n,m] += A[m,k] * B[n,k]; }"},
    {"batch", "op f(A: f16[3,72,96], B: f16[3,24,96]) -> C: f32[3,72,24] {"
     " C[b,m,n] += A[b,m,k] * B[b,n,k]; }"},
    {"grouped batch", "op f(A: f16[2,3,72,64], B: f16[2,64,40]) -> C: f32[2,3,72,40] {"
     " C[b,h,m,n] += A[b,h,m,k] * B[b,k,n]; }"},
    {"two batches", "op f(A: f16[2,72,3,64], B: f16[2,3,64,40]) -> C: f32[2,3,72,40] {"
     " C[b,h,m,n] += A[b,m,h,k] * B[b,h,k,n]; }"},
    {"conv nhwc 1x1", "op f(X: f16[2,9,9,32], W: f16[48,32]) -> Y: f16[2,9,9,48] {"
     " Y[n,p,q,f] += X[n,p,q,c] * W[f,c]; }"},
    {"strided, part", "op f(A: f16[40,64] strides(72,1), B: f16[48,80]) -> C: f16[40,48]"
     " strides(56,1) { C[m,n] += A[m,k] * B[n,k+8]; }"},
    {"conv 3x3, padded", "op f(X: f16[2,9,7,64], W: f16[40,3,3,64]) -> Y: f16[2,9,7,40] {"
     " Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * W[f,r,s,c]; }"},
    {"conv 3x2, stride 2, bias", "op f(X: f16[3,11,12,128], W: f16[3,2,128,72], b: f16[72]) ->"
     " Y: f16[3,5,6,72] { t[n,p,q,f] += (X[n,2*p+r-1,2*q+s,c] else 0) * W[r,s,c,f];"
     " Y[n,p,q,f] = max(t[n,p,q,f] + b[f], 0); }"},
    {"conv 3x3, dilated, of the second operand", "op f(X: f16[2,10,9,64], W: f16[64,3,3,64]) ->"
     " Y: f16[2,64,10,9] { Y[n,f,p,q] += W[f,r,s,c] * (X[n,p+3*r-3,q+2*s-2,c] else 0); }"},
    {"conv 1x1, stride 2", "op f(X: f16[2,12,9,64], W: f16[64,48]) -> Y: f32[2,6,5,48] {"
     " Y[n,p,q,f] += X[n,2*p,2*q,c] * W[c,f]; }"},
    {"conv of one dimension", "op f(X: f16[2,40,64], W: f16[24,5,64]) -> Y: f16[2,40,24] {"
     " Y[n,p,f] += (X[n,p+r-2,c] else 0) * W[f,r,c]; }"},
    {"conv of three", "op f(X: f16[4,5,6,64], W: f16[32,2,3,2,64]) -> Y: f16[4,4,4,32] {"
     " Y[o,p,q,f] += (X[o+v-1,p+r-1,q+2*s-1,c] else 0) * W[f,v,r,s,c]; }"},
    {"conv of a part", "op f(X: f16[2,9,9,160], W: f16[40,2,2,64]) -> Y: f16[2,7,6,40] {"
     " Y[n,p,q,f] += X[n,p+r+1,q+2*s+1,c+32] * W[f,r,s,c]; }"},
    {"channels in two dimensions", "op f(X: f16[2,3,9,8,64], W: f16[24,3,3,3,64]) ->"
     " Y: f16[2,9,8,24] { Y[n,p,q,f] += (X[n,d,p+r-1,q+s-1,c] else 0) * W[f,d,r,s,c]; }"},
    {"conv of 32 channels", "op f(X: f16[2,9,7,32], W: f16[40,3,3,32]) -> Y: f16[2,9,7,40] {"
     " Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * W[f,r,s,c]; }"},
    {"conv of 48 channels, stride 2", "op f(X: f16[3,12,9,48], W: f16[3,3,48,72]) ->"
     " Y: f16[3,6,5,72] { Y[n,p,q,f] += (X[n,2*p+r-1,2*q+s-1,c] else 0) * W[r,s,c,f]; }"},
    {"conv of 40 channels, of the second operand", "op f(X: f16[2,10,9,40], W: f16[64,3,3,40]) ->"
     " Y: f16[2,64,10,9] { Y[n,f,p,q] += W[f,r,s,c] * (X[n,p+r-1,q+s-1,c] else 0); }"},
    {"conv of a part of 24 channels", "op f(X: f16[2,9,9,160], W: f16[40,2,2,24]) ->"
     " Y: f16[2,7,6,40] { Y[n,p,q,f] += X[n,p+r+1,q+2*s+1,c+32] * W[f,r,s,c]; }"},
    {"conv of groups", "op f(X: f16[2,9,7,120], W: f16[3,24,3,3,40]) -> Y: f16[2,9,7,72] {"
     " t[n,p,q,g,f] += (X[n,p+r-1,q+s-1,40*g+c] else 0) * W[g,f,r,s,c];"
     " Y[n,p,q,o] = t[n,p,q,o/24,o%24]; }"},
    {"conv of groups, a dimension", "op f(X: f16[2,9,7,3,64], W: f16[3,24,3,3,64]) ->"
     " Y: f16[2,9,7,3,24] {"
     " Y[n,p,q,g,f] += (X[n,p+r-1,q+s-1,g,c] else 0) * W[g,f,r,s,c]; }"},
    {"rows of a part", "op f(A: f16[3,6,40,64], B: f16[48,64]) -> C: f16[3,30,48] {"
     " C[b,m,n] += A[b,2,m+5,k] * B[n,k]; }"},
    {"rows", "op f(A: f16[136,96], B: f16[80,96], g: f16[80]) -> (C: f32[136,80], S: f32[136],"
     " Y: f16[136,80]) { C[m,n] += A[m,k] * B[n,k]; S[m] = max[n](C[m,n]);"
     " Y[m,n] = (C[m,n] - S[m]) * g[n]; }"},
    {"rows of a batch", "op f(Q: f16[2,72,128], K: f16[2,200,128]) -> S: f32[2,72,200] {"
     " t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]) - 3; m[b,i] = max[j](t[b,i,j]);"
     " u[b,i] = sum[j](max(t[b,i,j] - m[b,i], -4)); S[b,i,j] = t[b,i,j] - m[b,i] + u[b,i]; }"},
    {"sums of rows alone", "op f(A: f16[700,96], B: f16[144,96]) -> S: f32[700] {"
     " t[m,n] += A[m,k] * B[n,k]; S[m] = sum[n](max(t[m,n], 0)); }"},
    {"output of f64", "op f(A: f16[48,112], B: f16[80,112]) -> C: f64[48,80] {"
     " C[m,n] += A[m,k] * B[n,k]; }"},
    {"rows by a table", "op f(A: f16[300,144], row: i32[136], B: f16[144,80]) ->"
     " C: f32[136,80] { C[m,n] = sum[k]((A[row[m],k] else 0) * B[k,n]); }"},
    {"rows of both by tables", "op f(A: f16[90,336], row: i32[200], B: f16[70,336], col: i32[96])"
     " -> C: f32[200,96] { C[m,n] = sum[k]((A[row[m],k] else 0) * (B[col[n],k] else 0)); }"},
    {"k by a table", "op f(A: f16[136,208], B: f16[90,144], row: i32[208]) -> C: f32[136,144] {"
     " C[m,n] = sum[k](A[m,k] * (B[row[k],n] else 0)); }"},
    {"conv of wide strides", "op f(X: f16[2,70,66,24], W: f16[40,3,3,24]) -> Y: f16[2,8,7,40] {"
     " Y[n,p,q,f] += (X[n,9*p+r-1,10*q+s-1,c] else 0) * W[f,r,s,c]; }"},
    {"rows that begin anywhere", "op f(A: f16[264,133], B: f16[264,133]) -> C: f16[264,264] {"
     " t[m,n] += A[m,k] * B[n,k]; C[m,n] = max(t[m,n], 0); }"},
    {"rows of the first that begin at halves of 16 bytes", "op f(A: f16[136,100], B: f16[100,72],"
     " b: f32[72]) -> C: f32[136,72] { t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] + b[n]; }"},
    {"rows of the second that begin anywhere, batch", "op f(A: f16[2,70,72], B: f16[2,204,70]) ->"
     " C: f16[2,72,204] { C[b,m,n] += A[b,k,m] * B[b,n,k]; }"},
    {"rows of a part that begin anywhere", "op f(A: f16[2,72,77], B: f16[2,88,93]) ->"
     " C: f16[2,72,88] { C[b,m,n] += A[b,m,k] * B[b,n,k+8]; }"},
    {"own product", "op f(A: f16[72,64]) -> C: f32[72,72] { C[m,n] += A[m,k] * A[n,k]; }"},
};
enum { SPECIALS = sizeof special / sizeof *special };

/* Operands that registers are made of.  */
static const char *const made[][3] = {
    {"of f32", "wgmma.f16.f32", "op f(A: f32[136,128], B: f16[80,128]) -> C: f32[136,80] {"
     " C[m,n] += f16(A[m,k]) * B[n,k]; }"},
    {"of f32, the second", "wgmma.bf16.f32", "op f(A: bf16[128,72], B: f32[200,128]) ->"
     " C: bf16[72,200] { C[m,n] += A[k,m] * bf16(B[n,k]); }"},
    {"of i8", "wgmma.f16.f32", "op f(A: f16[72,112], B: i8[136,112]) -> C: f32[72,136] {"
     " C[m,n] += A[m,k] * B[n,k]; }"},
    {"of u8, the first", "wgmma.bf16.f32", "op f(A: u8[136,336], B: bf16[336,96]) ->"
     " C: f32[136,96] { C[m,n] += A[m,k] * B[k,n]; }"},
    {"of f8", "wgmma.f16.f32", "op f(A: f16[40,192], B: f8e4m3[136,192], b: f16[136]) ->"
     " C: f16[40,136] { t[m,n] += A[m,k] * B[n,k]; C[m,n] = max(t[m,n] + b[n], 0); }"},
    {"of i8 with scales", "wgmma.bf16.f32", "op f(A: bf16[136,320], B: i8[136,320], s: f32[136]) ->"
     " C: f32[136,136] { C[m,n] += A[m,k] * bf16(B[n,k] * s[n]); }"},
    {"of i8 with scales and zeros of groups", "wgmma.f16.f32", "op f(A: f16[40,384],"
     " B: u8[80,384], s: f16[80,3], z: i8[80,3]) -> C: f16[40,80] {"
     " C[m,n] += A[m,k] * f16((B[n,k] - z[n,k/128]) * s[n,k/128]); }"},
    {"of nibbles with scales of groups", "wgmma.f16.f32", "op f(A: f16[40,256], B: u8[136,128],"
     " s: f16[136,2]) -> C: f16[40,136] { C[m,n] += A[m,k] *"
     " f16(((k % 2 == 0 ? B[n,k/2] % 16 : B[n,k/2] / 16) - 8) * s[n,k/128]); }"},
    {"of signed nibbles, the first", "wgmma.bf16.f32", "op f(A: i8[72,64], B: bf16[128,80]) ->"
     " C: f32[72,80] { C[m,n] += bf16((k % 2 != 0 ? A[m,k/2] / 16 : A[m,k/2] % 16) + 1) * B[k,n];"
     " }"},
    {"of f16, f8", "wgmma.f8e4m3.f32", "op f(A: f16[136,256], B: f8e4m3[80,256], s: f16[136]) ->"
     " C: f16[136,80] { C[m,n] += f8e4m3(A[m,k] * s[m]) * B[n,k]; }"},
    {"of i8, i8", "wgmma.i8.i32", "op f(A: i8[72,128], B: i8[136,128], z: i8[136]) ->"
     " C: i32[72,136] { C[m,n] += A[m,k] * i8(B[n,k] - z[n]); }"},
    {"of nibbles, i8", "wgmma.i8.i32", "op f(A: i8[72,256], B: u8[136,128]) -> C: i32[72,136] {"
     " C[m,n] += A[m,k] * i8((k % 2 == 0 ? B[n,k/2] % 16 : B[n,k/2] / 16) - 8); }"},
    {"by a map", "wgmma.f16.f32", "op f(A: f16[136,192], B: f16[192,72], s: f16[136]) ->"
     " C: f32[136,72] { C[m,n] += f16(max(A[m,k], 0) * s[m]) * B[k,n]; }"},
    {"of a batch", "wgmma.f16.f32", "op f(A: f16[3,40,128], B: i8[3,72,128], s: f16[3,72]) ->"
     " C: f16[3,40,72] { C[b,m,n] += A[b,m,k] * f16(B[b,n,k] * s[b,n]); }"},
    {"of f16, tf32", "wgmma.tf32.f32", "op f(A: f16[72,96], B: f32[40,96]) -> C: f32[72,40] {"
     " C[m,n] += A[m,k] * B[n,k] @tf32; }"},
    {"of i8 times a factor, tf32", "wgmma.tf32.f32", "op f(A: f32[72,96], B: i8[72,96],"
     " s: f32[72]) -> C: f32[72,72] { C[m,n] += A[m,k] * (B[n,k] * s[n]) @tf32; }"},
};
enum { MADE = sizeof made / sizeof *made };

/* Operands of two types, or with scales of blocks.  */
static const char *const scaled[][3] = {
    {"two types of f8", "wgmma.f8e4m3.f8e5m2.f32", "op f(A: f8e4m3[200,160], B: f8e5m2[136,160]) ->"
     " C: f32[200,136] { C[m,n] += A[m,k] * B[n,k]; }"},
    {"two types of f8", "tcgen05.f8e5m2.f8e4m3.f32", "op f(A: f8e5m2[200,160], B: f8e4m3[136,160])"
     " -> C: f32[200,136] { C[m,n] += A[m,k] * B[n,k]; }"},
    {"two types of f8, by pairs", "tcgen05.f8e4m3.f8e5m2.f32.pair", "op f(A: f8e4m3[256,160],"
     " B: f8e5m2[136,160]) -> C: f32[256,136] { C[m,n] += A[m,k] * B[n,k]; }"},
    {"scaled sums", "wgmma.f8e4m3.f32", "op f(A: f8e4m3[512,256], s: f32[512,2],"
     " B: f8e4m3[384,256], t: f32[3,2]) -> C: bf16[512,384] {"
     " C[m,n] += A[m,k] * B[n,k] * s[m,k/128] * t[n/128,k/128]; }"},
    {"scaled sums, ragged, of columns", "wgmma.f8e4m3.f32", "op f(A: f8e4m3[208,512],"
     " s: f32[4,208], B: f8e4m3[144,512], t: f32[144,2], c: f32[144]) -> C: f32[208,144] {"
     " t0[m,n] += (A[m,k] * s[k/128,m]) * (B[n,k] * t[n,k/256]); C[m,n] = t0[m,n] + c[n]; }"},
    {"scaled sums, four of a row at once", "wgmma.f8e4m3.f32", "op f(A: f8e4m3[136,1024],"
     " s: f32[136,8], B: f8e4m3[72,1024], t: bf16[4,72]) -> C: f32[136,72] {"
     " C[m,n] += A[m,k] * B[n,k] * s[m,k/128] * t[k/256,n]; }"},
    {"scaled sums of bytes", "wgmma.i8.i32", "op f(A: i8[136,512], s: f32[136,4], B: i8[72,512],"
     " t: f32[72,4]) -> C: f32[136,72] {"
     " C[m,n] += A[m,k] * B[n,k] * s[m,k/128] * t[n,k/128]; }"},
    {"scaled sums of one operand, turned", "wgmma.f16.f32", "op f(A: f16[192,96], B: f16[192,160],"
     " t: f32[160,3]) -> C: f32[160,96] { C[n,m] += A[k,m] * (B[k,n] * t[n,k/64]); }"},
    {"scales", "tcgen05.mxf8f6f4.f8e4m3.f32", "op f(A: f8e4m3[512,256], SA: f8ue8m0[512,8],"
     " B: f8e4m3[384,256], SB: f8ue8m0[384,8]) -> C: f32[512,384] {"
     " C[m,n] += (A[m,k] * SA[m,k/32]) * (B[n,k] * SB[n,k/32]); }"},
    {"scales, ragged", "tcgen05.mxf8f6f4.f8e4m3.f32", "op f(A: f8e4m3[208,416],"
     " SA: f8ue8m0[208,13], B: f8e4m3[144,416], SB: f8ue8m0[144,13], c: f32[144]) ->"
     " C: f32[208,144] { t[m,n] += (A[m,k] * SA[m,k/32]) * (B[n,k] * SB[n,k/32]);"
     " C[m,n] = max(t[m,n] + c[n], 0); }"},
    {"scales of one operand, turned", "tcgen05.mxf8f6f4.f8e5m2.f32", "op f(A: f8e5m2[96,48],"
     " B: f8e5m2[96,160], SB: f8ue8m0[160,3]) -> C: f32[48,160] {"
     " C[m,n] += A[k,m] * (B[k,n] * SB[n,k/32]); }"},
    {"scales behind", "tcgen05.mxf8f6f4.f8e4m3.f32", "op f(A: f8e4m3[272,544],"
     " SA: f8ue8m0[17,272], B: f8e4m3[544,64], SB: f8ue8m0[17,64]) -> C: f32[272,64] {"
     " C[m,n] += A[m,k] * B[k,n] * SA[k/32,m] * SB[k/32,n]; }"},
    {"scales of longer blocks, batch", "tcgen05.mxf8f6f4.f8e4m3.f32", "op f(A: f8e4m3[2,40,256],"
     " SA: f8ue8m0[2,40,2], B: f8e4m3[2,24,256], SB: f8ue8m0[24]) -> C: f32[2,24,40] {"
     " C[b,n,m] += (A[b,m,k] * SA[b,m,k/128]) * (B[b,n,k] * SB[n]); }"},
    {"scales in tiles of 128 x 4", "tcgen05.mxf8f6f4.f8e4m3.f32", "op f(A: f8e4m3[256,256],"
     " SA: f8ue8m0[2,2,32,4,4], B: f8e4m3[224,256], SB: f8ue8m0[2,2,32,4,4]) -> C: f32[256,224] {"
     " C[m,n] += (A[m,k] * SA[m/128,k/128,m%32,m/32%4,k/32%4]) *"
     " (B[n,k] * SB[n/128,k/128,n%32,n/32%4,k/32%4]); }"},
    {"scales of pairs of numbers", "tcgen05.mxf4.f4e2m1.f32", "op f(A: f4e2m1[272,576],"
     " SA: f8ue8m0[272,18], B: f4e2m1[144,576], SB: f8ue8m0[144,18], c: f32[144]) ->"
     " C: f32[272,144] { t[m,n] += (A[m,k] * SA[m,k/32]) * (B[n,k] * SB[n,k/32]);"
     " C[m,n] = max(t[m,n] + c[n], 0); }"},
    {"scales of pairs by sixteens", "tcgen05.mxf4nvf4.f4e2m1.f32", "op f(A: f4e2m1[256,544],"
     " SA: f8ue4m3[256,34], B: f4e2m1[160,544], SB: f8ue4m3[160,34], s: f32) ->"
     " C: bf16[256,160] { t[m,n] += bf16(A[m,k] * SA[m,k/16]) * bf16(B[n,k] * SB[n,k/16]);"
     " C[m,n] = t[m,n] * s; }"},
    {"scales of pairs, sixteen of a row at once", "tcgen05.mxf4nvf4.f4e2m1.f32", "op"
     " f(A: f4e2m1[208,768], SA: f8ue4m3[208,48], B: f4e2m1[144,768], SB: f8ue4m3[144,48]) ->"
     " C: f32[208,144] { C[m,n] += (A[m,k] * SA[m,k/16]) * (B[n,k] * SB[n,k/16]); }"},
    {"scales of pairs in tiles, by pairs", "tcgen05.mxf4nvf4.f4e2m1.f32.pair", "op"
     " f(A: f4e2m1[256,512], SA: f8ue4m3[2,8,32,4,4], B: f4e2m1[128,512],"
     " SB: f8ue4m3[1,8,32,4,4]) -> C: f32[256,128] {"
     " C[m,n] += (A[m,k] * SA[m/128,k/64,m%32,m/32%4,k/16%4]) *"
     " (B[n,k] * SB[n/128,k/64,n%32,n/32%4,k/16%4]); }"},
    {"scales, by pairs", "tcgen05.mxf8f6f4.f8e4m3.f32.pair", "op f(A: f8e4m3[256,288],"
     " SA: f8ue8m0[256,9], B: f8e4m3[160,288], SB: f8ue8m0[160,9]) -> C: f32[256,160] {"
     " C[m,n] += (A[m,k] * SA[m,k/32]) * (B[n,k] * SB[n,k/32]); }"},
    {"scales in tiles, turned, by pairs", "tcgen05.mxf8f6f4.f8e5m2.f32.pair", "op"
     " f(A: f8e5m2[256,256], SA: f8ue8m0[2,2,32,4,4], B: f8e5m2[256,128],"
     " SB: f8ue8m0[1,2,32,4,4]) -> C: f32[256,128] {"
     " C[m,n] += (A[k,m] * SA[m/128,k/128,m%32,m/32%4,k/32%4]) *"
     " (B[k,n] * SB[n/128,k/128,n%32,n/32%4,k/32%4]); }"},
};
enum { SCALED = sizeof scaled / sizeof *scaled };

/* ---- runs ---- */

typedef struct {
    Arena *a;
    Nvrtc *nvrtc;
    Device *of[2], *dev;      /* Hopper, Blackwell; the one with the unit at hand */
    const char *only;
    double sms[2];
    int kernels, failed;
} Run;

static Run open_run(void) {
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Run run = {.a = a, .only = getenv("RING_CASE"),
               .of = {fixture_device(a, "h100"), fixture_device(a, "b200")}};
    for (int i = 0; i < 2; i++) run.sms[i] = run.of[i]->limits.sm_count.value;
    assert_int_equal(nvrtc_open(a, &d, NULL, run.of[1]->arch, &run.nvrtc), ST_OK);
    return run;
}

/* Takes the GPU that has the unit; few SMs, so that blocks which stay have several tiles.  Returns
 * the number of the unit.  */
static int16_t choose_device(Run *run, const char *unit, int few) {
    int i = ring_unit_of(run->of[0], unit) < 0;
    run->dev = run->of[i];
    run->dev->limits.sm_count.value = few ? few : run->sms[i];
    return ring_unit_of(run->dev, unit);
}

static const char *compiled(Run *run, KernelCase *c) {
    const char *wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, run->nvrtc, true);
    if (wrong) return wrong;
    for (int i = 0; i < c->code.n_kernel; i++) {
        if (c->code.kernel[i].spill_loads) return "it spills";
    }
    return NULL;
}

static void one(Run *run, const char *which, const RingFamily *f, const char *name,
                const char *text) {
    KernelCase c = {0};
    int16_t unit = choose_device(run, which, f->grid == GRID_TILES ? 0 : 4);
    if ((run->only && !strstr(name, run->only)) || !ring_has(run->dev, unit, f)) return;
    uint64_t seed = (uint64_t)effort_seed() + (unsigned)run->kernels++;
    const char *wrong = kernel_open_decided(&c, run->a, run->dev, text, NULL, JOINED);
    if (!wrong) wrong = ring_plan(&c, unit, f, 256);
    if (!wrong) wrong = compiled(run, &c);
    c.resident = (int64_t)(seed % 9);     /* blocks that stay: fewer or more than planned */
    if (!wrong) wrong = kernel_run(&c, TE_FILL_INTEGERS, seed, true);
    if (!wrong) return;
    run->failed++;
    print_error("%s\n", kernel_report(&c, name, wrong));
    if (run->only && c.program.source) fputs(c.program.source, stderr);
}

static void one_matrix(Run *run, int u, int s, int l, int f) {
    ArenaMark mark = arena_mark(run->a);
    const char *name = arena_printf(run->a, "%s, %dx%dx%d, %s, %s", ring_unit[u].unit, shape[s].m,
                                    shape[s].n, shape[s].k, layout[l], ring_family[f].name);
    one(run, ring_unit[u].unit, &ring_family[f], name, op_text(run->a, u, s, l));
    arena_reset(run->a, mark);
}

static void test_kernels(void **state) {
    (void)state;
    enum { DRAWN = 199 };
    Run run = open_run();
    Arena *a = run.a;
    bool all = effort_long() || run.only;
    int at = 0;
    for (int u = 0; u < RING_UNITS; u++)
        for (int s = 0; s < SHAPES; s++)
            for (int l = 0; l < (ring_unit[u].turns ? LAYOUTS : 1); l++)
                for (int f = 0; f < RING_FAMILIES; f++)
                    if (all || effort_drawn(at++, DRAWN)) one_matrix(&run, u, s, l, f);
    for (int i = 0; i < 2 * SPECIALS; i++) {
        const char *unit = i % 2 ? "tcgen05.f16.f32" : "wgmma.f16.f32";
        const char *const *x = special[i / 2];
        for (int f = 0; f < RING_FAMILIES; f++) {
            ArenaMark mark = arena_mark(a);
            const char *name = arena_printf(a, "%s, %s, %s", unit, x[0], ring_family[f].name);
            if (all || effort_drawn(at++, DRAWN)) one(&run, unit, &ring_family[f], name, x[1]);
            arena_reset(a, mark);
        }
    }
    for (int i = 0; i < MADE + SCALED; i++) {
        const char *const *x = i < MADE ? made[i] : scaled[i - MADE];
        for (int f = 0; f < RING_FAMILIES; f++) {
            ArenaMark mark = arena_mark(a);
            const char *what = i < MADE ? "made " : "";
            const char *name = arena_printf(a, "%s%s, %s", what, x[0], ring_family[f].name);
            if (all || effort_drawn(at++, DRAWN)) one(&run, x[1], &ring_family[f], name, x[2]);
            arena_reset(a, mark);
        }
    }
    print_message("%d kernels\n", run.kernels);
    assert_int_equal(run.failed, 0);
    arena_destroy(a);
}

/* ---- mutants ---- */

/* Kernels that are changed: of one tile to a block, of blocks that stay, of such in pingpong, of
 * columns of pixels, with a first operand that is made in registers, of
 * segments of tiles, of columns of few channels, the last of which lie beyond the end,
 * with registers that are made of nibbles, with an odd number of boxes to a tile; with results in
 * Tensor Memory, of blocks that stay, of such that share copies, of pairs that multiply together,
 * of bytes, the second operand turned, and with scales of blocks, of one block and of pairs; with
 * rows that threads copy, with results in registers and in Tensor Memory.  */
enum { ALONE, STAYS, TURNS, PIXELS, REGISTERS, SEGMENTS, NARROW, NIBBLES, ODD, TENSOR,
       TENSOR_STAYS, TENSOR_SHARES, TENSOR_PAIRS, TENSOR_BYTES, TENSOR_SCALES, TENSOR_SCALED_PAIRS,
       TEAM, TENSOR_TEAM, CHANGED };
static const RingFamily changed[] = {
    {"mutant", 1, 128, {2, 1}, 2, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false},
    {"mutant", 1, 128, {2, 1}, 2, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT, false, false},
    {"mutant", 1, 128, {1, 1}, 2, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PINGPONG, false, false},
    {"mutant", 1, 64, {2, 1}, 2, 1, VIA_DIRECT, RASTER_ROW, 2, GRID_TILES, false, false},
    {"mutant", 1, 128, {1, 2}, 2, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, true, false},
    {"mutant", 1, 128, {2, 1}, 2, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT, false, true},
    {"mutant", 1, 64, {2, 1}, 2, 1, VIA_DIRECT, RASTER_ROW, 2, GRID_TILES, false, false},
    {"mutant", 1, 128, {1, 2}, 2, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, true, false},
    {"mutant", 1, 96, {2, 1}, 2, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT, false, false},
    {"mutant", 1, 64, {2, 1}, 2, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false},
    {"mutant", 1, 64, {1, 1}, 2, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT, false, false},
    {"mutant", 1, 64, {1, 1}, 2, 1, VIA_BOXES, RASTER_ROW, 2, GRID_PERSISTENT, false, false},
    {"mutant", 1, 64, {1, 1}, 2, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT, false, false},
    {"mutant", 1, 128, {1, 1}, 2, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false},
    {"mutant", 1, 64, {2, 1}, 2, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false},
    {"mutant", 1, 64, {1, 2}, 2, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false},
    {"mutant", 1, 64, {2, 1}, 2, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false},
    {"mutant", 1, 64, {1, 1}, 2, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false},
};

/* A piece of the text of a kernel, and what takes its place (text_pattern.h).  */
static const struct {
    int of;
    const char *piece, *other;
} mutant[] = {
    {ALONE, "rl_barrier_wait(~1 + ~2 + ~3 * 8", "rl_barrier_over(~1 + ~2 + ~3 * 8"},
    {ALONE, "rl_barrier_wait(~1 + ~2 + (~3 +", "rl_barrier_over(~1 + ~2 + (~3 +"},
    {ALONE, "~1 * 8, ~2)", "~1 * 8, ~2 ^ 1)"},
    {ALONE, "~1 ^ 1)", "~1)"},
    {ALONE, "rl_wgmma_begin();", ""},
    {ALONE, "rl_wgmma_wait<1>();", ""},
    {ALONE, "        rl_wgmma_wait<0>();", ""},
    {ALONE, "~1 > 0", "~1 >= 0"},
    {ALONE, "~1 ^= 1;", ""},
    {ALONE, "if (~1 == ~2)", "if (~1 == ~2 - 1)"},
    {ALONE, "~1 = ~2 + ~3 + (", "~1 = 8 + ~2 + ~3 + ("},
    {STAYS, "~1 / ~2 & 1", "0"},
    {STAYS, "~1 % ~2", "0"},
    {ALONE, "rl_fence_proxy();", ""},
    {ALONE, "rl_bar_sync<1, 256>();", ""},
    {ALONE, "~1 = 0x40000040", "~1 = 0x40000020"},
    {ALONE, ", 32768);", ", 32752);"},
    {ALONE, ", 32768);", ", 32784);"},
    {ALONE, "~1 += ~2;", ""},
    {ALONE, "~1 % 4u) * 16", "~1 % 4u) * 8"},
    {STAYS, "~1 > 0", "~1 >= 0"},
    {STAYS, "            if (~1 == 0) {\n                rl_barrier_arrive",
     "if (~1 > 32) {\n rl_barrier_arrive"},
    {STAYS, "rl_bulk_wait<1>();", "rl_bulk_wait<2>();"},
    {STAYS, "rl_bulk_wait<0>();", ""},
    {STAYS, "}\n                        __syncwarp();", "}"},
    {REGISTERS, "__syncwarp();", ""},
    {NIBBLES, "__syncwarp();", ""},
    {STAYS, "                        rl_fence_proxy();", ""},
    {STAYS, "rl_bulk_commit();", ""},
    {STAYS, "~1 % 8 * 16 ^", "~1 % 4 * 16 ^"},
    {STAYS, "~1, ~2 + ~3 + ~4 * 64", "~1, ~2 + ~3 + ~4 * 32"},
    {STAYS, "< ~1);\n                ~2 += ~1;", "< ~1);"},
    {TURNS, "rl_bar_sync_at<256>(~1 + 3);", ""},
    {TURNS, "rl_bar_arrive_at<256>(4 - ~1);", ""},
    {TURNS, "~1 = ~2 * ~3;\n        #pragma", "~1 = 0;\n        #pragma"},
    {TURNS, "~1 += 2 * ~2;\n        }\n        if", "~1 += ~2;\n        }\n        if"},
    {PIXELS, "% 9u) * 2 + (-1),", "% 9u) * 2,"},
    {PIXELS, "/ 9u % 10u) + (-1),", "/ 9u % 9u) + (-1),"},
    {PIXELS, "/ 90u)", "/ 60u)"},
    {PIXELS, "~1 / 64u % 3u", "~1 / 64u % 2u"},
    {PIXELS, "~1 / 192u) * 2", "~1 / 192u)"},
    {PIXELS, "~1 * 64) %", "~1 * 32) %"},
    {PIXELS, "~1 * 8192", "0"},
    {REGISTERS, "rl_wgmma_wait<3>();", ""},
    {REGISTERS, "rl_wgmma_wait<3>();", "rl_wgmma_wait<4>();"},
    {REGISTERS, "rl_wgmma_begin();", ""},
    {REGISTERS, "~1 ^ (", "~1 + ("},
    {REGISTERS, "(~1 >> 1 & 3", "(~1 >> 1 & 1"},
    {REGISTERS, "~1[~2][~3 % 2]", "~1[~2][~3 / 2]"},
    {REGISTERS, "~1 * 2 / 4 * 8", "~1 * 2 / 4 * 4"},
    {REGISTERS, "~1 % 4u) * 16", "~1 % 4u) * 8"},
    {SEGMENTS, "~1 += ~2;", "~1 += 1;"},
    {SEGMENTS, "~1 = ~2 * ~3", "~1 = 0"},
    {SEGMENTS, "(~1 + (long long)~2", "((long long)~2"},
    {SEGMENTS, "~1 += ~2)", "~1 += 0)"},
    {SEGMENTS, "~1 > 0", "~1 >= 0"},
    {NARROW, "~1 + 40 < ~2", "~1 + 40 < ~2 + 64"},
    {NARROW, "(~1 + 8) / 40u", "~1 / 48u"},
    {NARROW, "(~1 + 16) % 40u", "(~1 + 8) % 40u"},
    {NARROW, "~1 * 1024 + 2048", "~1 * 2048 + 2048"},
    {NARROW, "0, 0, 0x8,", "0, 0, 0x10,"},
    {NARROW, "0, 0, 0x8,", "0, 0, 0xc0000008,"},
    {NARROW, "rl_wgmma_tile<2048>", "rl_wgmma_tile<1024>"},
    {NARROW, "~1 / 8 * 128", "~1 / 8 * 64"},
    {NIBBLES, "~1 / 2,", "~1,"},
    {NIBBLES, ") / 2 % 32", ") / 4 % 32"},
    {NIBBLES, "~1 % 2 == 0", "~1 % 2 != 0"},
    {NIBBLES, "(~1 >> 2 & 1", "(~1 >> 1 & 1"},
    {ODD, "rl_bulk_wait<0>();", ""},
    {ODD, "rl_bulk_wait<1>();", "rl_bulk_wait<2>();"},
    {TENSOR, "rl_tcgen05_commit(", "rl_barrier_arrive("},
    {TENSOR, "steps);\n                rl_tcgen05_commit(", "steps);\n rl_barrier_arrive("},
    {TENSOR, "0 < ~1 + ~2)", "true)"},
    {TENSOR, "0 < ~1 + ~2)", "0 < ~2)"},
    {TENSOR, "rl_barrier_wait(~1 + ~2 + ~3 * 8, ~4);\n        rl_tcgen05_after();",
     "rl_tcgen05_after();"},
    {TENSOR, "~1);\n        rl_tcgen05_after();", "~1);"},
    {TENSOR, "~1 % 4u * 2097152u", "~1 % 4u * 1048576u"},
    {TENSOR, "~1 / 4u % 2u", "~1 / 8u % 2u"},
    {TENSOR, "(~1 + ~2) * 64", "(~1 + ~2) * 32"},
    {TENSOR, "rl_tcgen05_free<128>(~1);", ""},
    {TENSOR, "rl_tcgen05_free<128>(~1);", "rl_tcgen05_free<64>(~1);"},
    {TENSOR, "rl_tcgen05_take<128>(", "rl_tcgen05_take<64>("},
    {TENSOR, "~1 = 0x8100490", "~1 = 0x8100410"},
    {TENSOR, "~1 = 0x8100490", "~1 = 0x8080490"},
    {TENSOR, "A_HIGH | 0x4000", "A_HIGH"},
    {TENSOR, "~1 + kk / TK * 2", "~1 + kk / TK * 4"},
    {TENSOR, "rl_fence_proxy();", ""},
    {TENSOR_STAYS, "rl_barrier_wait(~1 + ~2 + (~3 + ~4) * 8, ~5 ^ 1);\n"
                   "                    rl_tcgen05_after();", "rl_tcgen05_after();"},
    {TENSOR_STAYS, "~1 ^ 1);\n                    rl_tcgen05_after();", "~1 ^ 1);"},
    {TENSOR_STAYS, "~1 ^ 1);\n                    rl_tcgen05_after();",
     "~1);\n rl_tcgen05_after();"},
    {TENSOR_STAYS, "rl_tcgen05_before();", ""},
    {TENSOR_STAYS, "rl_barrier_wait(~1 + ~2 + ~3 * 8, ~4);\n            rl_tcgen05_after();",
     "rl_tcgen05_after();"},
    {TENSOR_STAYS, "tensor + ~1 * 64", "tensor"},
    {TENSOR_STAYS, "tensor + ~1 * 64", "tensor + ~1 * 32"},
    {TENSOR_STAYS, "~1 / ~2 & 1", "0"},
    {TENSOR_SHARES, "* 8, 3);", "* 8, 1);"},
    {TENSOR_SHARES, "* 8, 3);", "* 8, 2);"},
    {TENSOR_SHARES, "* 8, 2);", "* 8, 1);"},
    {TENSOR_PAIRS, "expect_at(rl_leading(~1 + ~2 + ~3 * 8)", "expect_at((~1 + ~2 + ~3 * 8)"},
    {TENSOR_PAIRS, "&map0, rl_leading(~1 + ~2 + ~3 * 8)", "&map0, (~1 + ~2 + ~3 * 8)"},
    {TENSOR_PAIRS, "&map1, rl_leading(~1 + ~2 + ~3 * 8)", "&map1, (~1 + ~2 + ~3 * 8)"},
    {TENSOR_PAIRS, "(~1 + ~2) * 8, 3);", "(~1 + ~2) * 8, 1);"},
    {TENSOR_PAIRS, "(~1 + ~2) * 8, 3);", "(~1 + ~2) * 8, 2);"},
    {TENSOR_PAIRS, "~1 * 8, 3);", "~1 * 8, 1);"},
    {TENSOR_PAIRS, "~1 * 8, 3);", "~1 * 8, 2);"},
    {TENSOR_PAIRS, "_rank() == 0", "_rank() >= 0"},
    {TENSOR_PAIRS, "_rank() == 0", "_rank() == 1"},
    {TENSOR_PAIRS, "(~1 + ~2) * 8, 0);", "(~1 + ~2) * 8, 1);"},
    {TENSOR_PAIRS, "~1 * 32", "0"},
    {TENSOR_PAIRS, "~1 = 0x10100490", "~1 = 0x8100490"},
    {TENSOR_PAIRS, "~1 = 0x10100490", "~1 = 0x10080490"},
    {TENSOR_PAIRS, "bytes.cta_group::2", "bytes"},
    {TENSOR_PAIRS, "rl_tcgen05_before();", ""},
    {TENSOR_PAIRS, "rl_tcgen05_free_pair<128>(~1);", ""},
    {TENSOR_PAIRS, "    rl_cluster_sync();\n    rl_tcgen05_after();", "    __syncthreads();\n"},
    {TENSOR_BYTES, "~1 = 0x82004a0", "~1 = 0x8200420"},
    {TENSOR_BYTES, "~1 = 0x82004a0", "~1 = 0x8200490"},
    {TENSOR_BYTES, "B_TURNED << 16", "B_TURNED << 15"},
    {TENSOR_BYTES, "kind::i8", "kind::f8f6f4"},
    {TENSOR_SCALES, " | byte << 4", ""},
    {TENSOR_SCALES, " | byte << 29", ""},
    {TENSOR_SCALES, "~1 = 0x8900000", "~1 = 0x8100000"},
    {TENSOR_SCALES, "kk / TK % 4)", "0)"},
    {TENSOR_SCALES, "~1 * 4), tensor", "~1 * 2), tensor"},
    {TENSOR_SCALES, "rl_tcgen05_copy_scales(tensor + 132u, ~1 + #1u + ~2 * 1024u);", ""},
    {TENSOR_SCALES, "(tensor + 132u, ~1", "(tensor + 140u, ~1"},
    {TENSOR_SCALES, "(tensor + 132u + 4u, ~1 + #1u + ~2 * 1024u + 512u",
     "(tensor + 132u + 4u, ~1 + #1u + ~2 * 1024u"},
    {TENSOR_SCALES, "(tensor + 132u, ~1 + #1u + ~2 * 1024u", "(tensor + 132u, ~1 + #1u"},
    {TENSOR_SCALES, "0x4008", "0x4010"},
    {TENSOR_SCALES, "~1[2][0], ~1[3][0]);", "~1[3][0], ~1[2][0]);"},
    {TENSOR_SCALES, "~1[~2][~3] = ~4[~2][~3];", ""},
    {TENSOR_SCALES, "rl_fence_proxy();\n                __syncwarp();", "__syncwarp();"},
    {TENSOR_SCALES, "rl_fence_proxy();\n                __syncwarp();", "rl_fence_proxy();"},
    {TENSOR_SCALES, "rl_barrier_wait(~1 + ~2 + (~3 + ~4) * 8, ~5 ^ 1);\n"
                    "                rl_tcgen05_put", "rl_tcgen05_put"},
    {TENSOR_SCALES, "__syncwarp();\n                if (~1 == 0) {\n"
                    "                    rl_barrier_arrive(~2 + ~3 + ~4 * 8);\n                }",
     "__syncwarp();"},
    {TENSOR_SCALED_PAIRS, "rl_tcgen05_copy_scales_pair(tensor + 132u, ~1 + #1u + ~2 * 512u);", ""},
    {TENSOR_SCALED_PAIRS, "cta_group::2.32x128b", "cta_group::1.32x128b"},
    {TENSOR_SCALED_PAIRS, "~1 = 0x10a00000", "~1 = 0x8a00000"},
    {TENSOR_SCALED_PAIRS, "~1[1][0], b_scale[2][0], ", "~1[1][0], b_scale[0][0], "},
    {TENSOR_SCALED_PAIRS, "rl_fence_proxy();\n                __syncwarp();", "__syncwarp();"},
    {TENSOR_SCALED_PAIRS,
     "if (~1 == 0) {\n                    rl_barrier_arrive_at(~2 + ~3 + ~4 * 8, 0);",
     "if (~1 == 0) {\n rl_barrier_arrive_at(~2 + ~3 + ~4 * 8, 1);"},
    {TEAM, "* 8, ~1);\n            rl_fence_proxy();", "* 8, ~1);"},
    {TEAM, "rl_cp_async_arrive(", "rl_barrier_arrive("},
    {TEAM, ", 129);", ", 128);"},
    {TEAM, "rl_barrier_wait(~1 + ~2 + (~3 + ~4) * 8, ~5 ^ 1);", ""},
    {TEAM, "(~1 - 256) / 8u", "~1 / 8u"},
    {TEAM, ">> 0 & 7) << 3", ">> 0 & 3) << 3"},
    {TENSOR_TEAM, "* 8, ~1);\n                    rl_fence_proxy();", "* 8, ~1);"},
    {TENSOR_TEAM, "rl_cp_async_arrive(", "rl_barrier_arrive("},
    {TENSOR_TEAM, ", 65);", ", 64);"},
};
enum { MUTANTS = sizeof mutant / sizeof *mutant };

/* What the kernels that are changed compute.  */
static const char *const changed_op[] = {
    "op f(A: bf16[128,512], B: bf16[128,512]) -> C: bf16[128,128] {"
    " C[m,n] += A[m,k] * B[n,k]; }",
    "op f(A: bf16[512,192], B: bf16[256,192]) -> C: bf16[512,256] {"
    " C[m,n] += A[m,k] * B[n,k]; }",
    "op f(A: bf16[256,192], B: bf16[256,192]) -> C: bf16[256,256] {"
    " C[m,n] += A[m,k] * B[n,k]; }",
    "op f(X: bf16[3,12,18,64], W: bf16[128,3,3,64]) -> Y: bf16[3,10,9,128] {"
    " Y[n,p,q,f] += (X[n,p+2*r-1,2*q+s-1,c] else 0) * W[f,r,s,c]; }",
    "op f(A: bf16[128,512], B: i8[128,512], s: bf16[128]) -> C: bf16[128,128] {"
    " C[m,n] += A[m,k] * bf16(B[n,k] * s[n]); }",
    "op f(A: bf16[512,192], B: bf16[256,192]) -> C: bf16[512,256] {"
    " C[m,n] += A[m,k] * B[n,k]; }",
    "op f(X: bf16[3,12,18,40], W: bf16[128,3,3,40]) -> Y: bf16[3,10,9,128] {"
    " Y[n,p,q,f] += (X[n,p+2*r-1,2*q+s-1,c] else 0) * W[f,r,s,c]; }",
    "op f(A: bf16[128,512], B: u8[128,256]) -> C: bf16[128,128] { C[m,n] += A[m,k] *"
    " bf16(k % 2 == 0 ? B[n,k/2] % 16 : B[n,k/2] / 16); }",
    "op f(A: bf16[512,192], B: bf16[192,192]) -> C: bf16[512,192] {"
    " C[m,n] += A[m,k] * B[n,k]; }",
    "op f(A: bf16[256,512], B: bf16[64,512]) -> C: bf16[256,64] { C[m,n] += A[m,k] * B[n,k]; }",
    "op f(A: bf16[512,192], B: bf16[256,192]) -> C: bf16[512,256] {"
    " C[m,n] += A[m,k] * B[n,k]; }",
    "op f(A: bf16[512,192], B: bf16[256,192]) -> C: bf16[512,256] {"
    " C[m,n] += A[m,k] * B[n,k]; }",
    "op f(A: bf16[512,192], B: bf16[256,192]) -> C: bf16[512,256] {"
    " C[m,n] += A[m,k] * B[n,k]; }",
    "op f(A: i8[256,512], B: i8[512,128]) -> C: i32[256,128] { C[m,n] += A[m,k] * B[k,n]; }",
    "op f(A: f8e4m3[256,512], SA: f8ue8m0[256,16], B: f8e4m3[128,512], SB: f8ue8m0[128,16]) ->"
    " C: f32[256,128] { C[m,n] += (A[m,k] * SA[m,k/32]) * (B[n,k] * SB[n,k/32]); }",
    "op f(A: f8e4m3[256,512], SA: f8ue8m0[256,16], B: f8e4m3[128,512], SB: f8ue8m0[128,16]) ->"
    " C: f32[256,128] { C[m,n] += (A[m,k] * SA[m,k/32]) * (B[n,k] * SB[n,k/32]); }",
    "op f(A: bf16[90,512], row: i32[120], B: bf16[64,512]) -> C: bf16[120,64] {"
    " C[m,n] = sum[k]((A[row[m],k] else 0) * B[n,k]); }",
    "op f(A: bf16[90,512], row: i32[120], B: bf16[64,512]) -> C: bf16[120,64] {"
    " C[m,n] = sum[k]((A[row[m],k] else 0) * B[n,k]); }",
};

/* The unit of the kernel that is changed.  */
static const char *changed_unit(int of) {
    static const char *const bytes[] = {"tcgen05.i8.i32", "tcgen05.mxf8f6f4.f8e4m3.f32",
                                        "tcgen05.mxf8f6f4.f8e4m3.f32.pair"};
    if (of == TENSOR_PAIRS) return "tcgen05.bf16.f32.pair";
    if (of == TENSOR_TEAM) return "tcgen05.bf16.f32";
    return of < TENSOR || of == TEAM ? "wgmma.bf16.f32" : of < TENSOR_BYTES ? "tcgen05.bf16.f32"
                                                              : bytes[of - TENSOR_BYTES];
}

/* The kernel that is changed, as it is right.  */
static KernelCase right_kernel(Run *run, int of) {
    KernelCase c = {0};
    int few = changed[of].grid == GRID_TILES ? 0 : 2;
    int16_t unit = choose_device(run, changed_unit(of), few);
    assert_null(kernel_open(&c, run->a, run->dev, changed_op[of], NULL));
    assert_null(ring_plan(&c, unit, &changed[of], 256));
    assert_null(kernel_emit(&c));
    return c;
}

/* Its text with mutant i's piece changed.  */
static const char *changed_text(Arena *a, const KernelCase *c, int i) {
    const char *text = pattern_replaced(a, c->program.source, mutant[i].piece, mutant[i].other);
    if (!text) fail_msg("no '%s' to change", mutant[i].piece);
    return text;
}

/* Does any of some orders of events find the kernel wrong?  */
static bool is_caught(Run *run, KernelCase *c, int of) {
    enum { SEEDS = 12 };
    if (kernel_compile(c, run->nvrtc, false)) return true;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        if (kernel_run(c, TE_FILL_INTEGERS, seed, true)) return true;
    return of == NARROW && kernel_run(c, TE_FILL_EXTREMES, 1, true);
}

/* Every mutant has its piece in the text of today: those that are not drawn, too.  */
static void test_pieces(void **state) {
    (void)state;
    Run run = open_run();
    for (int of = ALONE; of < CHANGED; of++) {
        ArenaMark mark = arena_mark(run.a);
        KernelCase c = right_kernel(&run, of);
        for (int i = 0; i < MUTANTS; i++)
            if (mutant[i].of == of) changed_text(run.a, &c, i);
        arena_reset(run.a, mark);
    }
    arena_destroy(run.a);
}

static bool is_mutant_caught(Run *run, int i) {
    KernelCase c = right_kernel(run, mutant[i].of);
    c.program.source = changed_text(run->a, &c, i);
    c.program.source_len = strlen(c.program.source);
    return is_caught(run, &c, mutant[i].of);
}

static bool is_right_caught(Run *run, int of) {
    KernelCase c = right_kernel(run, of);
    return is_caught(run, &c, of);
}

static void test_mutants(void **state) {
    (void)state;
    Run run = open_run();
    Arena *a = run.a;
    for (int of = ALONE; of < CHANGED; of++)
        if (effort_drawn(of, CHANGED)) assert_false(is_right_caught(&run, of));
    for (int i = 0; i < MUTANTS; i++) {
        ArenaMark mark = arena_mark(a);
        if (effort_drawn(i, 23) && !is_mutant_caught(&run, i))
            fail_msg("nobody notices '%s' as '%s'\n", mutant[i].piece, mutant[i].other);
        arena_reset(a, mark);
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_mutants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
