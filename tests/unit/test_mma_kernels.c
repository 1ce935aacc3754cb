/* links: sim */
/* Matrix units on the simulator against te_eval: every unit, operand layout, family of tiles and
 * ragged shape, bit for bit.  LONG=1 takes all of them, MMA_CASE=TEXT those whose name has it.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Extents of tiles in instructions (along k: slices), warps of a block, and the rest of a plan.  */
typedef struct {
    const char *name;
    int tiles[3], warps[3];
    int stages, split;
    bool swapped;
    StoreVia via;
} Family;
static const Family family[] = {
    {"1x1", {1, 1, 1}, {1, 1, 1}, 2, 1, false, VIA_DIRECT},
    {"2x4", {2, 4, 2}, {2, 1, 1}, 3, 1, false, VIA_DIRECT},
    {"2x4 shared", {2, 4, 2}, {1, 2, 1}, 4, 1, false, VIA_SHARED},
    {"1x3", {1, 3, 3}, {1, 2, 1}, 3, 1, false, VIA_SHARED},
    {"swapped", {2, 1, 2}, {1, 2, 1}, 3, 1, true, VIA_DIRECT},
    {"swapped shared", {3, 2, 4}, {1, 1, 1}, 2, 1, true, VIA_SHARED},
    {"slices", {1, 2, 1}, {1, 1, 3}, 3, 1, false, VIA_DIRECT},
    {"slices shared", {1, 4, 2}, {1, 1, 2}, 3, 1, false, VIA_SHARED},
    {"split", {2, 2, 2}, {1, 1, 1}, 3, 2, false, VIA_DIRECT},
    {"split shared", {1, 2, 2}, {1, 2, 1}, 2, 3, false, VIA_SHARED},
    {"split swapped", {1, 1, 2}, {1, 1, 2}, 2, 2, true, VIA_SHARED},
    {"one stage", {2, 2, 2}, {1, 1, 1}, 1, 1, false, VIA_DIRECT},
    {"slices of parts of chunks", {1, 1, 7}, {1, 1, 8}, 2, 1, false, VIA_DIRECT},
};
enum { FAMILIES = sizeof family / sizeof *family };

static const struct {
    const char *unit, *profile, *a, *b, *note, *out;      /* a NULL: with scales alone */
    bool bytes;               /* operands of one byte are converted in the fragments */
} unit[] = {
    {"mma.m16n8k16.f16.f32", "a100", "f16", "f16", "", "f32", false},
    {"mma.m16n8k16.bf16.f32", "a100", "bf16", "bf16", "", "f32", false},
    {"mma.m16n8k16.f16.f16", "a100", "f16", "f16", "@accum(f16)", "f16", false},
    {"mma.m16n8k8.tf32.f32", "a100", "f32", "f32", "@tf32", "f32", false},
    {"mma.m16n8k8.tf32.f32", "a100", "f32", "f32", "@fp32x3", "f32", false},
    {"mma.m16n8k32.i8.i32", "a100", "i8", "i8", "", "i32", false},
    {"mma.m16n8k32.u8.i32", "a100", "u8", "u8", "", "i32", false},
    {"mma.m16n8k32.f8e4m3.f32", "rtx4090", "f8e4m3", "f8e4m3", "", "f32", false},
    {"mma.m16n8k32.f8e5m2.f32", "rtx4090", "f8e5m2", "f8e5m2", "", "f32", false},
    {"mma.m8n8k4.f64.f64", "a100", "f64", "f64", "", "f64", false},
    {"mma.m16n8k4.f64.f64", "h200", "f64", "f64", "", "f64", false},
    {"mma.m16n8k8.f64.f64", "h200", "f64", "f64", "", "f64", false},
    {"mma.m16n8k16.f64.f64", "h200", "f64", "f64", "", "f64", false},
    {"mma.m16n8k16.f16.f32", "a100", "f8e4m3", "f16", "", "f32", false},
    {"mma.m16n8k16.f16.f32", "a100", "f16", "i8", "", "f32", false},
    {"mma.m16n8k8.f16.f32", "turing", "f16", "f16", "", "f32", false},
    {"mma.m16n8k8.f16.f16", "turing", "f16", "f16", "@accum(f16)", "f16", false},
    {"mma.m8n8k16.i8.i32", "turing", "i8", "i8", "", "i32", false},
    {"mma.m8n8k16.u8.i32", "turing", "u8", "u8", "", "i32", false},
    {"mma.m16n8k16.f16.f32", "a100", "f8e4m3", "f8e4m3", "", "f32", true},
    {"mma.m16n8k16.f16.f32", "a100", "f8e5m2", "f8e5m2", "", "f32", true},
    {"mma.m16n8k16.f16.f32", "a100", "f8e4m3", "f8e5m2", "", "f32", true},
    {"mma.m16n8k16.f16.f16", "a100", "f8e4m3", "f8e4m3", "@accum(f16)", "f16", true},
    {"mma.m16n8k16.f16.f32", "a100", "f16", "f8e4m3", "", "f32", true},
    {"mma.m16n8k16.f16.f32", "a100", "u8", "f16", "", "f32", true},
    {"mma.m16n8k16.f16.f32", "rtx4090", "f16", "f8e5m2", "", "f32", true},
    {"mma.m16n8k16.bf16.f32", "a100", "bf16", "i8", "", "f32", true},
    {"mma.m16n8k16.bf16.f32", "a100", "i8", "bf16", "", "f32", true},
    {"mma.m16n8k16.bf16.f32", "a100", "bf16", "u8", "", "f32", true},
    {"mma.m16n8k16.bf16.f32", "rtx4090", "bf16", "f8e4m3", "", "f32", true},
    {"mma.m16n8k16.bf16.f32", "a100", "f8e5m2", "bf16", "", "f32", true},
    {"mma.m16n8k32.mxf8f6f4.f8e4m3.f32", "rtx5090", "f8e4m3", "f8e4m3", "", "f32", false},
    {"mma.m16n8k32.mxf8f6f4.f8e5m2.f32", "rtx5090", "f8e5m2", "f8e5m2", "", "f32", false},
    {"mma.m16n8k32.mxf8f6f4.f8e4m3.f8e5m2.f32", "rtx5090", "f8e4m3", "f8e5m2", "", "f32", false},
    {"mma.m16n8k32.mxf8f6f4.f8e5m2.f8e4m3.f32", "rtx5090", "f8e5m2", "f8e4m3", "", "f32", false},
    {"mma.m16n8k32.mxf8f6f4.f6e3m2.f32", "rtx5090", "f6e3m2", "f6e3m2", "", "f32", false},
    {"mma.m16n8k32.mxf8f6f4.f6e2m3.f32", "rtx5090", "f6e2m3", "f6e2m3", "", "f32", false},
    {"mma.m8n8k4.f16.f32", "volta", "f16", "f16", "", "f32", false},
    {"mma.m8n8k4.f16.f16", "volta", "f16", "f16", "@accum(f16)", "f16", false},
    {"mma.m8n8k4.f16.f32", "volta", "f8e5m2", "f16", "", "f32", false},
    {"mma.m16n8k64.mxf4.f4e2m1.f32", "rtx5090", NULL, NULL, "", "f32", false},
    {"mma.m16n8k64.mxf4nvf4.f4e2m1.f32", "rtx5090", NULL, NULL, "", "f32", false},
};
enum { UNITS = sizeof unit / sizeof *unit, PAIRS = UNITS - 2, VOLTA = UNITS - 5, MX = UNITS - 11 };

/* Aligned, ragged in every axis with whole vectors, and odd.  */
static const struct {
    int m, n, k;
} shape[] = {{64, 64, 128}, {72, 40, 112}, {33, 51, 75}, {8, 128, 96}};
enum { SHAPES = sizeof shape / sizeof *shape };

static const char *const layout[] = {"A[m,k] * B[n,k]", "A[m,k] * B[k,n]", "A[k,m] * B[n,k]",
                                     "A[k,m] * B[k,n]"};
enum { LAYOUTS = 4 };

static const char *op_text(Arena *a, int u, int s, int l) {
    const char *ta = l < 2 ? "M,K" : "K,M", *tb = l % 2 ? "K,N" : "N,K";
    return arena_printf(a, "param M = %d, N = %d, K = %d; op f(A: %s[%s], B: %s[%s]) -> C: %s[M,N]"
                           " { C[m,n] += %s %s; }",
                        shape[s].m, shape[s].n, shape[s].k, unit[u].a, ta, unit[u].b, tb,
                        unit[u].out, layout[l], unit[u].note);
}

/* ---- devices ---- */

/* The first compute capability with ldmatrix: half as many k in an instruction, no cp.async.  */
static Device *turing(Arena *a) {
    static const struct {
        const char *from, *name;
        int m, k;
    } change[] = {
        {"mma.m16n8k16.f16.f32", "mma.m16n8k8.f16.f32", 16, 8},
        {"mma.m16n8k16.f16.f16", "mma.m16n8k8.f16.f16", 16, 8},
        {"mma.m16n8k32.i8.i32", "mma.m8n8k16.i8.i32", 8, 16},
        {"mma.m16n8k32.u8.i32", "mma.m8n8k16.u8.i32", 8, 16},
    };
    Device *dev = fixture_device(a, "a100");
    dev->arch = "sm_75";
    dev->cc_major = 7;
    dev->cc_minor = 5;
    for (int i = 0; i < dev->n_unit; i++) {
        ComputeUnit *u = &dev->unit[i];
        for (size_t c = 0; c < sizeof change / sizeof *change; c++) {
            if (strcmp(u->name, change[c].from) != 0) continue;
            u->name = change[c].name;
            u->m.from = u->m.to = change[c].m;
            u->k.from = u->k.to = change[c].k;
        }
    }
    int n = 0;
    for (int i = 0; i < dev->n_mover; i++) {
        if (strncmp(dev->mover[i].name, "cp.async", 8) != 0) dev->mover[n++] = dev->mover[i];
    }
    dev->n_mover = n;
    return dev;
}

/* Four products in an instruction, no ldmatrix, no cp.async.  NVRTC may have given up sm_70; the
 * instruction is the same on sm_75.  */
static Device *volta(Arena *a) {
    Device *dev = fixture_device(a, "v100");
    dev->arch = "sm_75";
    dev->cc_minor = 5;
    return dev;
}

/* ---- plans ---- */

static int16_t unit_of(const Device *dev, const char *name) {
    for (int i = 0; i < dev->n_unit; i++) {
        if (strcmp(dev->unit[i].name, name) == 0) return (int16_t)i;
    }
    return -1;
}

static int16_t mover_of(Arena *a, const Device *dev, const char *name, int bytes) {
    name = arena_printf(a, "%s.%d", name, bytes);
    for (int i = 0; i < dev->n_mover; i++) {
        if (strcmp(dev->mover[i].name, name) == 0) return (int16_t)i;
    }
    return -1;
}

static int narrowed(int vec, int32_t extent) {
    while (extent % vec) vec /= 2;
    return vec;
}

/* Bytes that stay such, if the unit's row says so and both operands lie along k.  */
static void choose_bytes(const KernelCase *c, RProg *r) {
    for (int side = 0; side < 2; side++) {
        const ROperand *op = &c->plan.problem[0].op[side];
        if (op->vec_k <= op->vec_mn && op->stride_k != 1) return;
    }
    for (int side = 0; side < 2; side++)
        r->load[side].bytes = c->plan.problem[0].op[side].bytes == 1;
}

/* The operand as it lies in memory; rows without bank conflicts where a swizzle fits.  */
static void choose_load(Arena *a, const KernelCase *c, RProg *r, int side) {
    const Problem *p = &c->plan.problem[0];
    const ROperand *op = &p->op[side];
    RLoad *l = &r->load[side];
    int own = side ? AX_N : AX_M;
    l->along = op->vec_k > op->vec_mn || op->stride_k == 1 ? AX_K : (uint8_t)own;
    l->vec = (uint8_t)narrowed(l->along == AX_K ? op->vec_k : op->vec_mn,
                               r->block.extent[l->along]);
    int elem = rprog_elem(p, c->dev, r, side);
    l->layout = (RLayout){.inner = elem == 1 ? AX_K : l->along};
    int bytes = l->vec * op->bytes;
    bool turns = l->along != l->layout.inner && l->vec > 1;
    l->mover = mover_of(a, c->dev, "cp.async", bytes);
    bool copies = rprog_copyable(p, c->dev, r, side) && l->mover >= 0 && r->stages > 1;
    l->kind = copies && !turns ? LOAD_ASYNC : LOAD_STAGED;
    if (l->kind == LOAD_STAGED) l->mover = mover_of(a, c->dev, "ldg_sts", bytes);
    int row = r->block.extent[l->layout.inner] * elem;
    if (rprog_reads_fours(r, side) && row % 128 == 0) l->layout.bits = 2, l->layout.base = 1;
    else if (row % 128 == 0) l->layout.bits = 3;
    else if (row % 64 == 0) l->layout.bits = 2, l->layout.shift = 1;
    else if (row % 32 == 0) l->layout.bits = 1, l->layout.shift = 2;
    else l->layout.pad = (int16_t)(row % 16 ? (16 - row % 16) / elem : 16 / elem);
    if (l->kind == LOAD_STAGED && r->stages > 2) r->stages = 2;
}

static bool fits(const KernelCase *c, const RProg *r) {
    return rprog_check(&c->plan.problem[0], c->dev, r) == NULL;
}

/* Stores as wide as they may be.  */
static void choose_store(const KernelCase *c, RProg *r) {
    const Problem *p = &c->plan.problem[0];
    for (int vec = 16; vec >= 1; vec /= 2) {
        r->store_vec = (uint8_t)vec;
        if (r->via == VIA_DIRECT && r->vec_n % vec) continue;
        rprog_derive(p, c->dev, r);
        if (fits(c, r)) return;
    }
}

static const char *build(Arena *a, KernelCase *c, const ComputeUnit *x, const Family *f,
                         bool bytes) {
    const Problem *p = &c->plan.problem[0];
    RProg *r = &c->plan.prog[0];
    int16_t which = (int16_t)(x - c->dev->unit);
    *r = (RProg){.skeleton = SK_CONTRACT, .unit = which, .swapped = f->swapped, .via = f->via,
                 .stages = (uint8_t)f->stages, .split = f->split};
    for (int i = 0; i < RT_AXES; i++)
        r->thread.extent[i] = r->warp.extent[i] = r->block.extent[i] = 1;
    const FragShape s = fragment_shape(x);
    const int size[3] = {f->swapped ? s.n : s.m, f->swapped ? s.m : s.n, s.k};
    for (int i = 0; i < 3; i++) {
        r->thread.extent[AX_M + i] = size[i];
        r->warp.extent[AX_M + i] = size[i] * f->tiles[i];
        r->block.extent[AX_M + i] = size[i] * f->tiles[i] * f->warps[i];
    }
    r->unroll = (int16_t)r->warp.extent[AX_K];
    const Fragment results = rprog_results(c->dev, r);
    r->vec_m = (uint8_t)fragment_run(&results, FRAG_ROW);
    r->vec_n = (uint8_t)fragment_run(&results, FRAG_COL);
    if (bytes) choose_bytes(c, r);
    for (int side = 0; side < 2; side++) choose_load(a, c, r, side);
    for (int side = 0; side < 2; side++) {
        if (r->load[side].kind == LOAD_STAGED && r->stages > 2) r->stages = 2;
    }
    int64_t steps = rprog_tiles(p, r, AX_K);
    if (r->split > steps) r->split = steps > 0 ? (int32_t)steps : 1;
    choose_store(c, r);
    return rprog_check(p, c->dev, r);
}

/* Swapped, a unit whose operands differ in type computes what its mirror image does otherwise.  */
static int mirrored(int u, bool swapped) {
    return swapped && (u == MX + 2 || u == MX + 3) ? 2 * MX + 5 - u : u;
}

/* The family's plan; where loads would need too many registers, with shorter steps.  */
static const char *plan(Arena *a, KernelCase *c, int u, const Family *f) {
    int16_t which = unit_of(c->dev, unit[mirrored(u, f->swapped)].unit);
    if (which < 0) return "no such unit";
    Problem *p = &c->plan.problem[0], scaled;
    Family tried = *f;
    const char *why;
    if (rtile_as_scaled(a, p, p->align, &scaled, &why)) *p = scaled;
    why = build(a, c, &c->dev->unit[which], &tried, unit[u].bytes);
    while (why && tried.tiles[2] > 1) {
        tried.tiles[2]--;
        why = build(a, c, &c->dev->unit[which], &tried, unit[u].bytes);
    }
    return why;
}

/* What the grid above does not have: epilogues, operands that are no plain matrix, batches.  */
static const struct {
    const char *name, *text;
    int unit;
} special[] = {
    {"bias, activation", "op f(A: f16[72,96], B: f16[80,96], b: f16[80]) -> C: f16[72,80] {"
     " t[m,n] += A[m,k] * B[n,k]; C[m,n] = max(t[m,n] + b[n], 0); }", 0},
    {"residual, two outputs", "op f(A: f16[40,64], B: f16[64,72], R: f32[40,72], s: f32[40]) ->"
     " (C: f32[40,72], D: f16[40,72]) { t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] + R[m,n];"
     " D[m,n] = C[m,n] * s[m]; }", 0},
    {"turned output", "op f(A: f16[48,64], B: f16[64,64]) -> C: f16[64,48] {"
     " C[n,m] += A[m,k] * B[n,k]; }", 0},
    {"batch", "op f(A: bf16[3,40,32], B: bf16[3,24,32]) -> C: f32[3,40,24] {"
     " C[b,m,n] += A[b,m,k] * B[b,n,k]; }", 1},
    {"grouped batch", "op f(A: f16[2,3,16,32], B: f16[2,32,24]) -> C: f32[2,3,16,24] {"
     " C[b,h,m,n] += A[b,h,m,k] * B[b,k,n]; }", 0},
    {"conv nhwc", "op f(X: f16[2,9,9,32], W: f16[48,3,3,32]) -> Y: f16[2,9,9,48] {"
     " Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * W[f,r,s,c]; }", 0},
    {"conv nhwc strided", "op f(X: f16[1,11,13,16], W: f16[24,3,3,16]) -> Y: f16[1,5,6,24] {"
     " Y[n,p,q,f] += X[n,2*p+r,2*q+s,c] * W[f,r,s,c]; }", 0},
    {"conv nhwc few channels", "op f(X: f16[1,12,12,4], W: f16[16,3,3,4]) -> Y: f16[1,12,12,16] {"
     " Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * W[f,r,s,c]; }", 0},
    {"conv nhwc three channels", "op f(X: f16[1,12,12,3], W: f16[16,3,3,3]) -> Y: f16[1,12,12,16]"
     " { Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * W[f,r,s,c]; }", 0},
    {"conv nchw", "op f(X: f16[2,16,8,8], W: f16[24,16,3,3]) -> Y: f16[2,24,8,8] {"
     " Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * W[f,c,r,s]; }", 0},
    {"conv nchw 1x1", "op f(X: f16[2,32,8,8], W: f16[24,32]) -> Y: f16[2,24,8,8] {"
     " Y[n,f,p,q] += X[n,c,p,q] * W[f,c]; }", 0},
    {"conv bias relu", "op f(X: i8[1,8,8,32], W: i8[16,3,3,32], e: f32[16]) -> Y: i8[1,8,8,16] {"
     " t[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * W[f,r,s,c];"
     " Y[n,p,q,f] = i8(f32(t[n,p,q,f]) * e[f]); }", 5},
    {"expression", "op f(A: f16[40,64], B: f16[48,64]) -> C: f32[40,48] {"
     " C[m,n] += f16(max(A[m,k], 0) + 1) * B[n,k]; }", 0},
    {"weights of bytes", "op f(A: f16[24,64], W: u8[40,64], z: f16[40]) -> C: f16[24,40] {"
     " C[m,n] += A[m,k] * f16(f32(W[n,k]) - z[n]); }", 0},
    {"weights of bytes, cast", "op f(A: f16[24,64], W: i8[40,64]) -> C: f16[24,40] {"
     " C[m,n] += A[m,k] * f16(W[n,k]); }", 0},
    {"weights of bytes along n, cast", "op f(A: bf16[24,64], W: f8e5m2[64,40]) -> C: bf16[24,40] {"
     " C[m,n] += A[m,k] * bf16(W[k,n]); }", 1},
    {"weights of half bytes", "op f(A: f16[24,64], W: u8[40,32]) -> C: f16[24,40] {"
     " C[m,n] += A[m,k] * f16((k % 2 == 0 ? W[n,k/2] % 16 : W[n,k/2] / 16) - 8); }", 0},
    {"weights of bytes, scales of groups", "op f(A: f16[24,96], W: i8[40,96], s: f16[40,96/32]) ->"
     " C: f16[24,40] { C[m,n] += A[m,k] * f16(W[n,k] * s[n,k/32]); }", 0},
    {"weights of bytes along n", "op f(A: f16[24,96], W: i8[96,40], s: f16[3,40]) -> C: f16[24,40]"
     " { C[m,n] += A[m,k] * f16(W[k,n] * s[k/32,n]); }", 0},
    {"weights of half bytes, scales", "op f(A: f16[24,96], W: u8[40,48], s: f16[40,3]) ->"
     " C: f16[24,40] { C[m,n] += A[m,k] * f16((k % 2 == 0 ? W[n,k/2] % 16 : W[n,k/2] / 16) *"
     " s[n,k/32]); }", 0},
    {"strided", "op f(A: f16[40,64] strides(72,1), B: f16[48,64] strides(80,1)) -> C: f16[40,48]"
     " strides(56,1) { C[m,n] += A[m,k] * B[n,k]; }", 0},
    {"own product", "op f(A: f16[40,64]) -> C: f32[40,40] { C[m,n] += A[m,k] * A[n,k]; }", 0},
    {"conv nhwc, four products", "op f(X: f16[2,9,9,32], W: f16[48,3,3,32]) -> Y: f16[2,9,9,48] {"
     " Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * W[f,r,s,c]; }", VOLTA},
    {"conv nchw, four products", "op f(X: f16[2,16,8,8], W: f16[24,16,3,3]) -> Y: f16[2,24,8,8] {"
     " Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * W[f,c,r,s]; }", VOLTA},
    {"long rows, four products", "op f(A: f16[20,224], B: f16[24,224]) -> C: f32[20,24] {"
     " C[m,n] += A[m,k] * B[n,k]; }", VOLTA},
    {"scales", "op f(A: f8e4m3[40,192], SA: f8ue8m0[40,6], B: f8e4m3[48,192], SB: f8ue8m0[48,6]) ->"
     " C: f32[40,48] { C[m,n] += (A[m,k] * SA[m,k/32]) * (B[n,k] * SB[n,k/32]); }", MX},
    {"scales by fours, cast", "op f(A: f8e4m3[72,384], SA: f8ue8m0[72,12], B: f8e4m3[40,384],"
     " SB: f8ue8m0[40,12]) -> C: bf16[72,40] { C[m,n] += bf16(A[m,k] * SA[m,k/32]) *"
     " bf16(B[n,k] * SB[n,k/32]); }", MX},
    {"scales of one operand", "op f(A: f8e5m2[40,96], B: f8e5m2[24,96], SB: f8ue8m0[24,3]) ->"
     " C: f32[40,24] { C[m,n] += A[m,k] * (B[n,k] * SB[n,k/32]); }", MX + 1},
    {"scales of two types of elements", "op f(A: f8e5m2[40,96], SA: f8ue8m0[40,3],"
     " B: f8e4m3[24,96], SB: f8ue8m0[24,3]) -> C: f32[40,24] { C[m,n] += A[m,k] * SA[m,k/32] *"
     " (B[n,k] * SB[n,k/32]); }", MX + 3},
    {"scales behind", "op f(A: f8e4m3[33,160], SA: f8ue8m0[5,33], B: f8e4m3[56,160],"
     " SB: f8ue8m0[56,5]) -> C: f32[33,56] { C[m,n] += A[m,k] * B[n,k] * SA[k/32,m] *"
     " SB[n,k/32]; }", MX},
    {"scales of six bits", "op f(A: f6e3m2[40,96], SA: f8ue8m0[40,3], B: f6e3m2[24,96],"
     " SB: f8ue8m0[24,3]) -> C: f32[40,24] { C[m,n] += A[m,k] * SA[m,k/32] *"
     " (B[n,k] * SB[n,k/32]); }", MX + 4},
    {"scales of longer blocks, batch", "op f(A: f8e4m3[2,40,256], SA: f8ue8m0[2,40,2],"
     " B: f8e4m3[2,24,256], SB: f8ue8m0[24]) -> C: f32[2,24,40] { C[b,n,m] += (A[b,m,k] *"
     " SA[b,m,k/128]) * (B[b,n,k] * SB[n]); }", MX},
    {"scales in tiles of 128 x 4", "op f(A: f8e4m3[160,256], SA: f8ue8m0[2,2,32,4,4],"
     " B: f8e4m3[40,256], SB: f8ue8m0[1,2,32,4,4]) -> C: f32[160,40] { C[m,n] +="
     " (A[m,k] * SA[m/128,k/128,m%32,m/32%4,k/32%4]) *"
     " (B[n,k] * SB[n/128,k/128,n%32,n/32%4,k/32%4]); }", MX},
    {"scales of pairs", "op f(A: f4e2m1[40,320], SA: f8ue8m0[40,10], B: f4e2m1[48,320],"
     " SB: f8ue8m0[48,10]) -> C: f32[40,48] { C[m,n] += (A[m,k] * SA[m,k/32]) *"
     " (B[n,k] * SB[n,k/32]); }", PAIRS},
    {"scales of pairs, of one operand, longer blocks", "op f(A: f4e2m1[24,256],"
     " B: f4e2m1[2,40,256], SB: f8ue8m0[2,40,2]) -> C: f32[2,24,40] { C[b,m,n] += A[m,k] *"
     " (B[b,n,k] * SB[b,n,k/128]); }", PAIRS},
    {"scales of pairs by sixteens, cast", "op f(A: f4e2m1[72,288], SA: f8ue4m3[72,18],"
     " B: f4e2m1[40,288], SB: f8ue4m3[40,18], s: f32) -> C: bf16[72,40] {"
     " t[m,n] += bf16(A[m,k] * SA[m,k/16]) * bf16(B[n,k] * SB[n,k/16]);"
     " C[m,n] = t[m,n] * s; }", PAIRS + 1},
    {"scales of pairs in tiles of 128 x 4", "op f(A: f4e2m1[160,256], SA: f8ue4m3[2,4,32,4,4],"
     " B: f4e2m1[40,256], SB: f8ue4m3[1,4,32,4,4]) -> C: f32[160,40] { C[m,n] +="
     " (A[m,k] * SA[m/128,k/64,m%32,m/32%4,k/16%4]) *"
     " (B[n,k] * SB[n/128,k/64,n%32,n/32%4,k/16%4]); }", PAIRS + 1},
    {"scaled sums", "op f(A: f8e4m3[72,256], s: f32[72,2], B: f8e4m3[136,256], t: f32[2,2]) ->"
     " C: bf16[72,136] { C[m,n] += A[m,k] * B[n,k] * s[m,k/128] * t[n/128,k/128]; }", 7},
    {"scaled sums of columns, odd", "op f(A: f8e4m3[33,256], s: f32[2,33], B: f8e4m3[51,256],"
     " t: f32[51,2]) -> C: f32[33,51] { C[m,n] += (A[m,k] * s[k/128,m]) * (B[n,k] * t[n,k/128]);"
     " }", 7},
    {"scaled sums, four of a row at once", "op f(A: f8e4m3[40,1024], B: f8e4m3[24,1024],"
     " s: f32[40,8], t: f16[24,4]) -> C: f32[24,40] { C[n,m] += A[m,k] * B[n,k] * s[m,k/128] *"
     " t[n,k/256]; }", 7},
    {"scaled sums of 16 bits, one operand", "op f(A: f16[40,384], B: f16[56,384], t: f16[56,6]) ->"
     " C: f32[40,56] { C[m,n] += A[m,k] * (B[n,k] * t[n,k/64]); }", 0},
    {"scaled sums of bytes, batch", "op f(A: i8[2,40,256], B: i8[2,24,256], s: f32[2,40,2],"
     " t: f32[24,2]) -> C: f32[2,24,40] { C[b,n,m] += A[b,m,k] * B[b,n,k] * s[b,m,k/128] *"
     " t[n,k/128]; }", 0},
    {"scaled sums of bytes, exact", "op f(A: i8[40,512], B: i8[24,512], s: f32[40,4],"
     " t: f16[24,4]) -> C: f32[24,40] { C[n,m] += A[m,k] * B[n,k] * s[m,k/128] * t[n,k/128]; }", 5},
    {"scaled sums of two indices", "op f(A: f16[40,3,128], B: f16[24,3,128], s: f32[40,3],"
     " t: f32[3]) -> C: f32[40,24] { C[m,n] += A[m,g,j] * B[n,g,j] * s[m,g] * t[g]; }", 0},
    {"scaled sums of four products", "op f(A: f16[40,128], B: f16[56,128], s: f32[40,2],"
     " t: f32[4,2]) -> C: f32[40,56] { C[m,n] += A[m,k] * B[n,k] * s[m,k/64] * t[n/16,k/64]; }",
     VOLTA},
    {"gathered rows", "op f(A: f16[50,96], row: i32[56], B: f16[96,40]) -> C: f16[56,40] {"
     " C[m,n] = sum[k]((A[row[m]/7,k] else 0) * B[k,n]); }", 0},
    {"gathered along k", "op f(A: f16[32,48], at: i32[32], B: f16[50,40]) ->"
     " C: f16[24,40] { C[m,n] = sum[k](A[k,2*m] * (B[at[k]-1,n] else 0)); }", 0},
    {"gathered pages", "op f(A: i8[2,40,64], page: i32[2,5], B: i8[9,8,64]) -> C: i32[2,40,40] {"
     " C[b,m,n] = sum[k](A[b,m,k] * (B[page[b,n/8],n%8,k] else 0)); }", 5},
    {"f64 sums", "op f(A: f64[20,30], B: f64[30,24], R: f64[20,24]) -> C: f64[20,24] {"
     " t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] + R[m,n]; }", 9},
};
enum { SPECIALS = sizeof special / sizeof *special };

/* ---- runs ---- */

typedef struct {
    Arena *a;
    Nvrtc *nvrtc[UNITS];
    Device *dev[UNITS];
    const char *only;
    int kernels, failed;
} Run;

static const char *compute(Run *run, KernelCase *c, int u, uint64_t seed) {
    const char *wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, run->nvrtc[u], false);
    return wrong ? wrong : kernel_run(c, TE_FILL_INTEGERS, seed, true);
}

static const char *run_one(Run *run, KernelCase *c, int u, int f, const char *text, uint64_t seed) {
    const char *wrong = kernel_open(c, run->a, run->dev[u], text, NULL);
    if (!wrong && !c->plan.problem[0].contraction) wrong = "not a contraction";
    if (!wrong) wrong = plan(run->a, c, u, &family[f]);
    return wrong ? wrong : compute(run, c, u, seed);
}

static void one(Run *run, int u, int f, const char *name, const char *text) {
    KernelCase c = {0};
    if (run->only && !strstr(name, run->only)) return;
    uint64_t seed = (uint64_t)f + 1;
    const char *wrong = run_one(run, &c, u, f, text, seed);
    run->kernels++;
    if (!wrong) return;
    run->failed++;
    print_error("%s\n", kernel_report(&c, name, wrong));
    if (run->only && c.program.source) fputs(c.program.source, stderr);
    if (run->only && c.code.ptx) fputs(c.code.ptx, stderr);
}

static void one_matrix(Run *run, int u, int s, int l, int f) {
    ArenaMark mark = arena_mark(run->a);
    const char *name = arena_printf(run->a, "%s %s %s, %dx%dx%d, %s, %s", unit[u].unit, unit[u].a,
                                    unit[u].note, shape[s].m, shape[s].n, shape[s].k, layout[l],
                                    family[f].name);
    one(run, u, f, name, op_text(run->a, u, s, l));
    arena_reset(run->a, mark);
}

static void all_special(Run *run, bool all) {
    int at = 0;
    for (int i = 0; i < SPECIALS; i++) {
        for (int f = 0; f < FAMILIES; f++) {
            ArenaMark mark = arena_mark(run->a);
            const char *name = arena_printf(run->a, "%s, %s", special[i].name, family[f].name);
            if (all || effort_drawn(at++, 29)) one(run, special[i].unit, f, name, special[i].text);
            arena_reset(run->a, mark);
        }
    }
}

/* Rows that are read as vectors of eight lie in halves where lanes and slots allow it, which those
 * of four products do not.  */
static void vectors_of_eight(Run *run) {
    static const int of[] = {0, VOLTA};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        for (int f = 0; f < FAMILIES; f++) {
            if (family[f].via != VIA_SHARED || family[f].swapped) continue;
            ArenaMark mark = arena_mark(run->a);
            one(run, of[i], f, arena_printf(run->a, "vectors of eight, %s", family[f].name),
                "op f(A: f16[48,64], B: f16[64,64]) -> C: f16[48,64] {"
                " C[m,n] += A[m,k] * B[n,k]; }");
            arena_reset(run->a, mark);
        }
    }
}

/* ---- selectors of scales ---- */

enum { SELECTORS = 4 };                   /* byte and lane of a, then of b */

/* The text with another value for one selector of the instruction at `mma`.  */
static const char *with_other(Arena *a, const char *ptx, const char *mma, int which) {
    static const char declared[] = "\t.reg .b16 \t%rs";
    const char *registers = strstr(ptx, declared), *at = strstr(mma, "%rs"), *line = mma;
    for (int i = 0; i < which; i++) at = strstr(at + 1, "%rs");
    int name = (int)(strspn(at + 3, "0123456789") + 3);
    const char *set = strstr(ptx, arena_printf(a, "mov.b16 \t%.*s, ", name, at));
    assert_true(registers && set && at < strchr(mma, ';'));
    while (line[-1] != '\n') line--;
    int value = atoi(strchr(set, ',') + 1);
    return arena_printf(a, "%.*s\t.reg .b16 \t%%other<2>;\n%.*s\tmov.b16 \t%%other1, %d;\n"
                           "%.*s%%other1%s", (int)(registers - ptx), ptx, (int)(line - registers),
                        registers, value ^ 1, (int)(at - line), line, at + name);
}

/* Each selector of each instruction matters: the simulator tells whichever is another.  */
static void test_selectors(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Run run = {.a = a};
    KernelCase c = {0};
    run.dev[MX] = fixture_device(a, unit[MX].profile);
    Diag d = diag_new(a);
    assert_int_equal(nvrtc_open(a, &d, NULL, run.dev[MX]->arch, &run.nvrtc[MX]), ST_OK);
    enum { FAMILY = 1 };      /* several tiles along all axes */
    const char *text = "op f(A: f8e4m3[64,128], SA: f8ue8m0[64,4], B: f8e4m3[64,128],"
                       " SB: f8ue8m0[64,4]) -> C: f32[64,64] {"
                       " C[m,n] += A[m,k] * SA[m,k/32] * (B[n,k] * SB[n,k/32]); }";
    assert_null(run_one(&run, &c, MX, FAMILY, text, 1));
    const char *ptx = c.code.ptx;
    int n = 0, instruction = 0;
    for (const char *p = ptx; (p = strstr(p, ".block_scale")); p++, instruction++) {
        for (int which = 0; which < SELECTORS; which++, n++) {
            c.code.ptx = with_other(a, ptx, p, which);
            c.code.ptx_len = strlen(c.code.ptx);
            if (!kernel_run(&c, TE_FILL_INTEGERS, 1, true))
                fail_msg("selector %d of instruction %d may be any", which, instruction);
        }
    }
    print_message("%d selectors\n", n);
    assert_true(instruction > 1);
    arena_destroy(a);
}

static void test_kernels(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Run run = {.a = a, .only = getenv("MMA_CASE")};
    bool all = effort_long() || run.only;
    for (int u = 0; u < UNITS; u++) {
        const char *name = unit[u].profile;
        run.dev[u] = !strcmp(name, "turing") ? turing(a)
                     : !strcmp(name, "volta") ? volta(a) : fixture_device(a, name);
        assert_int_equal(nvrtc_open(a, &d, NULL, run.dev[u]->arch, &run.nvrtc[u]), ST_OK);
    }
    int at = 0;
    for (int u = 0; u < UNITS; u++) {
        for (int s = 0; s < SHAPES && unit[u].a; s++) {
            for (int l = 0; l < (unit[u].bytes ? 1 : LAYOUTS); l++) {
                for (int f = 0; f < FAMILIES; f++) {
                    if (all || effort_drawn(at++, 61)) one_matrix(&run, u, s, l, f);
                }
            }
        }
    }
    all_special(&run, all);
    vectors_of_eight(&run);
    print_message("%d kernels\n", run.kernels);
    assert_int_equal(run.failed, 0);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selectors),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
