// C = A * B, f16 row-major operands, f32 result; sizes are multiples of the tile.  Tile 128 x 128 x 32,
// 8 warps of 64 x 32, a ring of STAGES tiles filled by cp.async, ldmatrix, mma.sync m16n8k16.
#define BM 128
#define BN 128
#define BK 32
#ifndef STAGES
#define STAGES 4
#endif
#define A_ROW 80              // bytes of a row of the A tile, padded against bank conflicts
#define B_ROW 272
#define A_BYTES (BM * A_ROW)
#define STAGE (A_BYTES + BK * B_ROW)

typedef unsigned short f16;

__device__ __forceinline__ unsigned shared_address(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void cp_async_16(unsigned to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void ldmatrix_x4(unsigned (&r)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}
__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&r)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const unsigned (&a)[4], unsigned b0,
                                             unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void load_stage(unsigned to, const f16 *a, const f16 *b, int n, int k) {
    int t = threadIdx.x;
    for (int i = 0; i < 2; i++) {
        int chunk = t + 256 * i, row = chunk / 4, part = chunk % 4;
        cp_async_16(to + row * A_ROW + part * 16, a + (long long)row * k + part * 8);
    }
    for (int i = 0; i < 2; i++) {
        int chunk = t + 256 * i, row = chunk / 16, part = chunk % 16;
        cp_async_16(to + A_BYTES + row * B_ROW + part * 16, b + (long long)row * n + part * 8);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    gemm(const f16 *a, const f16 *b, float *c, int m, int n, int k) {
    extern __shared__ __align__(128) unsigned char smem[];
    unsigned base = shared_address(smem);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, wm = warp / 4 * 64, wn = warp % 4 * 32;
    int steps = k / BK;
    a += (long long)blockIdx.y * BM * k;
    b += (long long)blockIdx.x * BN;
    float acc[4][4][4];
#pragma unroll
    for (int i = 0; i < 64; i++) acc[i / 16][i / 4 % 4][i % 4] = 0;
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps) load_stage(base + s * STAGE, a + s * BK, b + (long long)s * BK * n, n, k);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        int ahead = step + STAGES - 1;
        if (ahead < steps) {
            load_stage(base + ahead % STAGES * STAGE, a + ahead * BK, b + (long long)ahead * BK * n, n,
                       k);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        unsigned at = base + step % STAGES * STAGE;
#pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            unsigned af[4][4], bf[2][4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                ldmatrix_x4(af[i], at + (wm + i * 16 + lane % 16) * A_ROW + (kk + lane / 16 * 8) * 2);
            }
#pragma unroll
            for (int j = 0; j < 2; j++) {
                ldmatrix_x4_trans(bf[j], at + A_BYTES + (kk + lane % 16) * B_ROW +
                                             (wn + j * 16 + lane / 16 * 8) * 2);
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    mma_m16n8k16(acc[i][j], af[i], bf[j / 2][j % 2 * 2], bf[j / 2][j % 2 * 2 + 1]);
                }
            }
        }
    }
    c += (long long)(blockIdx.y * BM + wm) * n + blockIdx.x * BN + wn;
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float *to = c + (long long)(i * 16 + lane / 4) * n + j * 8 + lane % 4 * 2;
            *(float2 *)to = make_float2(acc[i][j][0], acc[i][j][1]);
            *(float2 *)(to + 8LL * n) = make_float2(acc[i][j][2], acc[i][j][3]);
        }
    }
}
