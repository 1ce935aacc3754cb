// C = A * B', bf16, both operands with k innermost, bf16 result; sizes are multiples of the tile.
// Tile 128 x 128 x 64: one producer warpgroup (TMA into a ring of STAGES tiles), two consumer
// warpgroups of 64 x 128 (wgmma), result through shared memory (stmatrix) and TMA.  Persistent blocks.
// With CLUSTER 2 the two blocks of a cluster work on tiles above each other: each loads half of the
// tile of B into both.
#define BM 128
#define BN 128
#define BK 64
#ifndef STAGES
#define STAGES 4
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 0           // steps whose products may be in flight while the next one is issued
#endif
#define A_BYTES (BM * BK * 2)
#define STAGE (A_BYTES + BN * BK * 2)
#define OUT_BYTES (64 * BN * 2)
#define SMEM (STAGES * STAGE + 2 * OUT_BYTES)

typedef unsigned long long u64;
struct __align__(64) TensorMap {
    u64 v[16];
};

__device__ __forceinline__ unsigned shared_address(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void mbarrier_init(unsigned at, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(count) : "memory");
}
__device__ __forceinline__ void mbarrier_expect(unsigned at, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(at),
                 "r"(bytes) : "memory");
}
__device__ __forceinline__ void mbarrier_arrive(unsigned at) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
}
__device__ __forceinline__ void mbarrier_wait(unsigned at, int parity) {
    asm volatile("{\n.reg .pred done;\nWAIT_%=:\n"
                 "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra WAIT_%=;\n}" ::"r"(at), "r"(parity) : "memory");
}
__device__ __forceinline__ void tma_load(unsigned to, const TensorMap *map, int c0, int c1,
                                         unsigned bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(c0), "r"(c1), "r"(bar)
                 : "memory");
}
__device__ __forceinline__ void tma_load_multicast(unsigned to, const TensorMap *map, int c0, int c1,
                                                   unsigned bar, unsigned short mask) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(map), "r"(c0),
                 "r"(c1), "r"(bar), "h"(mask) : "memory");
}
__device__ __forceinline__ void mbarrier_arrive_at(unsigned at, int rank) {
    asm volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}" ::"r"(at),
                 "r"(rank) : "memory");
}
// A consumer has read a stage: every block that writes it must know.
__device__ __forceinline__ void release(unsigned bar) {
    if (CLUSTER == 1) mbarrier_arrive(bar);
    for (int r = 0; CLUSTER > 1 && r < CLUSTER; r++) mbarrier_arrive_at(bar, r);
}
// Everybody of the cluster (or of the block).
__device__ __forceinline__ void sync_all() {
    if (CLUSTER == 1) __syncthreads();
    else asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ __forceinline__ void tma_store(const TensorMap *map, int c0, int c1, unsigned from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::
                 "l"(map), "r"(c0), "r"(c1), "r"(from) : "memory");
}
// K-major, 128-byte swizzle: 8 rows of 128 bytes are an atom.
__device__ __forceinline__ u64 descriptor(unsigned at) {
    return (u64)(at >> 4 & 0x3fff) | 1ULL << 16 | (u64)(1024 >> 4) << 32 | 1ULL << 62;
}
__device__ __forceinline__ unsigned pack_bf16(float low, float high) {
    unsigned r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}
#define R8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), \
                 "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], u64 a, u64 b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, 1, 1, 1, 0, 0;"
        : R8(d, 0), R8(d, 8), R8(d, 16), R8(d, 24), R8(d, 32), R8(d, 40), R8(d, 48), R8(d, 56)
        : "l"(a), "l"(b));
}

__device__ __forceinline__ void produce(const TensorMap *a, const TensorMap *b, unsigned base,
                                        unsigned full, unsigned empty, int rank, int tiles,
                                        int tiles_n, int steps) {
    int stage = 0, phase = 0;
    for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER) {
        int row = (tile / tiles_n * CLUSTER + rank) * BM, col = tile % tiles_n * BN;
        for (int step = 0; step < steps; step++) {
            unsigned to = base + stage * STAGE, bar = full + 8 * stage;
            mbarrier_wait(empty + 8 * stage, phase ^ 1);
            mbarrier_expect(bar, STAGE);
            tma_load(to, a, step * BK, row, bar);
            to += A_BYTES + rank * (BN / CLUSTER) * BK * 2;
            col = tile % tiles_n * BN + rank * (BN / CLUSTER);
            if (CLUSTER == 1) tma_load(to, b, step * BK, col, bar);
            else tma_load_multicast(to, b, step * BK, col, bar, (1 << CLUSTER) - 1);
            if (++stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
    }
}

__device__ __forceinline__ void consume(const TensorMap *c, unsigned base, unsigned full,
                                        unsigned empty, int consumer, int rank, int tiles,
                                        int tiles_n, int steps) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    bool leader = threadIdx.x % 128 == 0;
    unsigned out = base + STAGES * STAGE + consumer * OUT_BYTES;
    int stage = 0, phase = 0;
    for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER) {
        int row = (tile / tiles_n * CLUSTER + rank) * BM + consumer * 64, col = tile % tiles_n * BN;
        float acc[64];
#pragma unroll
        for (int i = 0; i < 64; i++) acc[i] = 0;
        for (int step = 0; step < steps; step++) {
            mbarrier_wait(full + 8 * stage, phase);
            u64 da = descriptor(base + stage * STAGE + consumer * 64 * BK * 2);
            u64 db = descriptor(base + stage * STAGE + A_BYTES);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int kk = 0; kk < BK / 16; kk++) wgmma_m64n128k16(acc, da + 2 * kk, db + 2 * kk);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(IN_FLIGHT) : "memory");
            int read = (stage + STAGES - IN_FLIGHT) % STAGES;
            if (leader && step >= IN_FLIGHT) release(empty + 8 * read);
            if (++stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
        if (IN_FLIGHT) {
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (leader) release(empty + 8 * ((stage + STAGES - 1) % STAGES));
        }
        // The previous tile's result must have been read before its place is written again.
        if (leader) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(consumer + 1) : "memory");
#pragma unroll
        for (int j = 0; j < BN / 16; j++) {
            unsigned at = out + (warp * 16 + lane % 16) * BN * 2 + (j * 16 + lane / 16 * 8) * 2;
            const float *d = acc + 8 * j;
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                         "r"(pack_bf16(d[0], d[1])), "r"(pack_bf16(d[2], d[3])),
                         "r"(pack_bf16(d[4], d[5])), "r"(pack_bf16(d[6], d[7])) : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(consumer + 1) : "memory");
        if (leader) {
            tma_store(c, col, row, out);
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    if (leader) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(384, 1)
    gemm(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
         const __grid_constant__ TensorMap c, int m, int n, int k) {
    extern __shared__ __align__(1024) unsigned char smem[];
    __shared__ __align__(8) u64 bars[2 * STAGES];
    unsigned base = shared_address(smem), full = shared_address(bars), empty = full + 8 * STAGES;
    int group = threadIdx.x / 128, steps = k / BK, rank = blockIdx.x % CLUSTER;
    int tiles_n = n / BN, tiles = m / BM / CLUSTER * tiles_n;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(full + 8 * s, 1);
            mbarrier_init(empty + 8 * s, 2 * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    sync_all();
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) produce(&a, &b, base, full, empty, rank, tiles, tiles_n, steps);
        __syncwarp();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(&c, base, full, empty, group - 1, rank, tiles, tiles_n, steps);
        __syncwarp();
    }
    // No block ends while the other may still signal its mbarriers.
    if (CLUSTER > 1) sync_all();
}
