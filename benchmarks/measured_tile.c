/* Tiles of libraries, from the names of their kernels and from their grids:
 *
 *   volta_sgemm_128x64_tn, ampere_sgemm_32x32_sliced1x4_nn   two buffers through registers, k 8
 *   xmma_sgemm_128x128x8_nn_stage3_warps2x2x1                asynchronous copies
 *   cutlass_80_simt_sgemm_256x128_8x4_tn_align1              the same: k 8, 4 stages
 *   s1688_128x64x32x2x2                        m16n8k8, warps 2x2, 2 stages, 4 at once
 *
 * Sizes are of the library's own matrix, by columns: which of them lies along our N, and along
 * which axis neighbouring blocks lie, follows from the grid, where that tells.  */
#include "measured_row.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

static int64_t parts(int64_t n, int64_t tile) { return (n + tile - 1) / tile; }

static bool by_name(const char *name, MeasuredTile *t) {
    int x = 0, y = 0, k = 8, stages = 2, slices = 1;
    const char *tail = strstr(name, "gemm_");
    *t = (MeasuredTile){.slices = 1, .k = 8, .stages = 2, .group = 1};
    if (sscanf(name, "s1688_%dx%dx%dx%dx%d", &t->n, &t->m, &t->k, &t->warps_n, &t->warps_m) == 5) {
        t->matrix = true;
        t->align = 4;
        t->group = 8;                     /* GemmIdentityThreadblockSwizzle<8> */
        t->threads = 32 * t->warps_m * t->warps_n;
        return true;
    }
    if (!tail || sscanf(tail, "gemm_%dx%d", &x, &y) != 2) return false;
    if (strncmp(name, "xmma", 4) == 0) {
        sscanf(tail, "gemm_%*dx%*dx%d", &k);
        sscanf(strstr(tail, "stage") ? strstr(tail, "stage") : "", "stage%d", &stages);
    } else if (strncmp(name, "cutlass", 7) == 0) {
        sscanf(tail, "gemm_%*dx%*d_%dx%d", &k, &stages);
    }
    if (strstr(tail, "sliced1x")) sscanf(strstr(tail, "sliced1x"), "sliced1x%d", &slices);
    t->n = x;
    t->m = y;
    t->k = k;
    t->stages = stages;
    t->slices = slices;
    return true;
}

/* The size that is named first lies along x of the grid, which runs along our N or, always in
 * `xmma`, along our M.  Grids that are neither put several tiles of y into x.  */
static void orient(MeasuredTile *t, int64_t m, int64_t n, int64_t gx, int64_t gy, bool xmma) {
    bool along_n = gx == parts(n, t->n) && gy == parts(m, t->m);
    bool along_m = gx == parts(m, t->n) && gy == parts(n, t->m);
    bool as_named = parts(m, t->m) * parts(n, t->n) == gx * gy;
    bool turned = parts(m, t->n) * parts(n, t->m) == gx * gy;
    if (along_m && (xmma || !along_n)) t->group = INT_MAX;
    if (t->group == 1 && (as_named || !turned)) return;
    int other = t->m;
    t->m = t->n;
    t->n = other;
}

bool measured_tile(const MeasuredRow *r, MeasuredTile *t) {
    long long gx = 0, gy = 0, gz = 0;
    if (!by_name(r->kernel, t)) return false;
    t->split = 1;
    int64_t m = measured_size(r, "M", 0), n = measured_size(r, "N", 0);
    if (m <= 0 || n <= 0) return false;
    if (t->matrix) return true;
    if (sscanf(r->grid, "%lldx%lldx%lld/%d", &gx, &gy, &gz, &t->threads) != 4) return false;
    orient(t, m, n, gx, gy, strncmp(r->kernel, "xmma", 4) == 0);
    if (strcmp(r->op, "linear") == 0 && gz > 1) t->split = gz;
    return true;
}
