// roller-plan 1
// kernel 0
//   skeleton contract
//   unit wgmma.bf16.f32
//   block 1 128 224 64
//   warp 1 64 224 64
//   thread 1 64 224 16
//   vec 1 2
//   unroll 64
//   stages 5
//   a tile tma.tile vec 8 along k inner k swizzle 3 0 0
//   b tile tma.tile vec 8 along k inner k swizzle 3 0 0
//   store 8 shared
//   raster grouped 16 cluster 2
//   split 1
//   blocks_per_sm 1
//
// parameters
//   t0  bf16[8192,8192]
//   t1  bf16[8192,8192]
//   t2  bf16[8192,8192]  output
// launches
//   rk_d529f4ade36c6dd1_0  grid 2368,1  block 384  dynamic shared memory 225360
//     map0  t0  box 64x128  swizzle 128
//     map1  t1  box 64x112  swizzle 128

template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };

template <int N, typename T> __device__ __forceinline__ rl_vec<T, N> rl_load(const T *p) {
    return *reinterpret_cast<const rl_vec<T, N> *>(p);
}

struct __align__(64) rl_map { unsigned long long v[16]; };

__device__ __forceinline__ unsigned rl_shared(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ int rl_hidden(int x) {
    int y;
    asm volatile("mov.s32 %0, %1;" : "=r"(y) : "r"(x));
    return y;
}

__device__ __forceinline__ void rl_barrier_init(unsigned bar, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(bar), "r"(count) : "memory");
}

__device__ __forceinline__ void rl_fence_proxy() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void rl_barrier_expect(unsigned bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(bar), "r"(bytes) : "memory");
}

__device__ __forceinline__ void rl_barrier_arrive_at(unsigned bar, int rank) {
    asm volatile("{ .reg .b32 at; mapa.shared::cluster.u32 at, %0, %1;"
                 " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [at]; }"
                 :: "r"(bar), "r"(rank) : "memory");
}

__device__ __forceinline__ int rl_cluster_rank() {
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ void rl_cluster_sync() {
    asm volatile("barrier.cluster.arrive.release;"
                 " barrier.cluster.wait.acquire;" ::: "memory");
}

__device__ __forceinline__ bool rl_barrier_over(unsigned bar, unsigned phase) {
    int over;
    asm volatile("{ .reg .pred p;"
                 " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                 " selp.b32 %0, 1, 0, p; }"
                 : "=r"(over) : "r"(bar), "r"(phase) : "memory");
    return over;
}

__device__ __forceinline__ void rl_barrier_wait(unsigned bar, unsigned phase) {
    while (!rl_barrier_over(bar, phase)) continue;
}

template <int BAR, int THREADS> __device__ __forceinline__ void rl_bar_sync() {
    asm volatile("bar.sync %0, %1;" :: "n"(BAR), "n"(THREADS) : "memory");
}

__device__ __forceinline__ bool rl_elect() {
    int one;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }"
                 : "=r"(one) :: "memory");
    return one;
}

__device__ __forceinline__ void rl_map_fetch(const rl_map *map) {
    asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}

__device__ __forceinline__ void rl_tile_2(unsigned to, const rl_map *map, unsigned bar, int x0, int x1) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(to), "l"(map), "r"(x0), "r"(x1), "r"(bar) : "memory");
}

__device__ __forceinline__ void rl_tile_2_all(unsigned to, const rl_map *map, unsigned bar, int mask, int x0, int x1) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%2, %3}], [%4], %5;"
                 :: "r"(to), "l"(map), "r"(x0), "r"(x1), "r"(bar), "h"((short)mask) : "memory");
}

template <int LEADING, int STRIDE> __device__ __forceinline__ unsigned long long rl_wgmma_tile(unsigned at) {
    const unsigned leading = LEADING >> 4, stride = STRIDE >> 4 | 1u << 30;
    return (unsigned long long)stride << 32 | (leading << 16 | (at >> 4 & 0x3fffu));
}

__device__ __forceinline__ void rl_wgmma_begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void rl_wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int N> __device__ __forceinline__ void rl_wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
}

template <int N> __device__ __forceinline__ void rl_wgmma_settle(float (&d)[N]) {
    #pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(d[i]) :: "memory");
}
template <typename T, int N> __device__ __forceinline__ void rl_wgmma_settle(T (&d)[N]) {
    #pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+r"(d[i]) :: "memory");
}

__device__ __forceinline__ unsigned rl_f32x2_to_bf16(float x, float y) {
    unsigned z;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(z) : "f"(y), "f"(x));
    return z;
}

template <int N> __device__ __forceinline__ void rl_store_bf16(unsigned short *p, const float *x) {
    rl_vec<unsigned, N / 2> y;
    #pragma unroll
    for (int i = 0; i < N / 2; i++)
        y.v[i] = rl_f32x2_to_bf16(x[2 * i], x[2 * i + 1]);
    *reinterpret_cast<rl_vec<unsigned, N / 2> *>(p) = y;
}

template <int N, typename T> __device__ __forceinline__ void rl_store(T *p, const T *x) {
    rl_vec<T, N> y;
    #pragma unroll
    for (int i = 0; i < N; i++) y.v[i] = x[i];
    *reinterpret_cast<rl_vec<T, N> *>(p) = y;
}

template <int N, typename T>
__device__ __forceinline__ void rl_store_shared(T *p, int at, const T *x) {
    if constexpr (sizeof(T) == 2 && N == 1)
        asm volatile("st.shared.b16 [%0], %1;"
                     :: "r"(rl_shared(p) + at * (int)sizeof *p), "h"(x[0]) : "memory");
    else if constexpr (sizeof(T) == 4 && N == 1)
        asm volatile("st.shared.b32 [%0], %1;"
                     :: "r"(rl_shared(p) + at * (int)sizeof *p), "r"(x[0]) : "memory");
    else if constexpr (sizeof(T) == 4 && N == 2)
        asm volatile("st.shared.v2.b32 [%0], {%1, %2};"
                     :: "r"(rl_shared(p) + at * (int)sizeof *p), "r"(x[0]), "r"(x[1]) : "memory");
    else if constexpr (sizeof(T) == 4 && N == 4)
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
                     :: "r"(rl_shared(p) + at * (int)sizeof *p), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) : "memory");
    else rl_store<N>(p + at, x);
}
template <int N>
__device__ __forceinline__ void rl_store_shared(float *p, int at, const float *x) {
    if constexpr (N == 1)
        asm volatile("st.shared.b32 [%0], %1;"
                     :: "r"(rl_shared(p) + at * (int)sizeof *p), "f"(x[0]) : "memory");
    else if constexpr (N == 2)
        asm volatile("st.shared.v2.b32 [%0], {%1, %2};"
                     :: "r"(rl_shared(p) + at * (int)sizeof *p), "f"(x[0]), "f"(x[1]) : "memory");
    else if constexpr (N == 4)
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
                     :: "r"(rl_shared(p) + at * (int)sizeof *p), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]) : "memory");
    else rl_store<N>(p + at, x);
}

template <int A_TURNED, int B_TURNED>
__device__ __forceinline__ void rl_wgmma_m64n224k16_bf16_f32(float *d, unsigned long long a, unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n224k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111}, "
                 "%112, %113, 1, 1, 1, %114, %115;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                   "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                   "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                   "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
                   "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
                   "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
                   "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
                   "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
                   "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
                   "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
                 : "l"(a), "l"(b), "n"(A_TURNED), "n"(B_TURNED));
}

extern "C" __global__ void __launch_bounds__(384, 1)
__cluster_dims__(2, 1, 1)
rk_d529f4ade36c6dd1_0(const unsigned short *__restrict__ t0,
    const unsigned short *__restrict__ t1,
    unsigned short *__restrict__ t2,
    const __grid_constant__ rl_map map0,
    const __grid_constant__ rl_map map1) {
    constexpr int M = 8192;
    constexpr int N = 8192;
    constexpr int K = 8192;
    constexpr int BM = 128, BN = 224, BK = 64;  // tile of a block in one k-step
    constexpr int WM = 64, WN = 224, WK = 64;  // of a warp
    constexpr int TM = 64, TN = 224, TK = 16;  // of an instruction
    constexpr int IM = 1, IN = 1;  // instructions of a warp
    constexpr int THREADS = 384, STAGES = 5, STAGE = 45056;  // STAGE in bytes
    constexpr int A_TILE = 0, A_ROW = 64;  // place in a stage, row of its tile
    constexpr int B_TILE = 16384, B_ROW = 64;  // place in a stage, row of its tile
    const int steps = rl_hidden(128);
    constexpr int BARRIERS = 225280;  // bytes to those of stages
    extern __shared__ __align__(1024) unsigned char smem[];

    const unsigned shared = rl_shared(smem);
    // place: tiles of the grid with groups of tile rows, m fastest
    const unsigned tile = blockIdx.x;
    const unsigned top = tile / 592u * 16u, in_group = tile % 592u;
    constexpr unsigned rows = 16u;
    const unsigned tile_m = top + in_group % rows, tile_n = in_group / rows;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x, lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane / 4u, lane_n = lane % 4u * 2;
    const int row = (int)(warp / 4u % 2u) * WM + (int)(warp % 4u) * 16;
    const int col = (int)(0) * WN;
    int k_next = 0;

    // barriers: of each stage, for copies that are done and for reads that are
    if (tid < STAGES) rl_barrier_init(shared + BARRIERS + (0 * STAGES + tid) * 8, 1);
    if (tid < STAGES) rl_barrier_init(shared + BARRIERS + (1 * STAGES + tid) * 8, 16);
    rl_fence_proxy();
    rl_cluster_sync();

    if (warp >= 8u) {
        if (warp == 8u && rl_elect()) {
            const int part = rl_cluster_rank();
            rl_map_fetch(&map0);
            rl_map_fetch(&map1);
            int done = 0;
            #pragma unroll 1
            do {
                rl_barrier_wait(shared + BARRIERS + (1 * STAGES + (done) % STAGES) * 8, (done / STAGES + 1) & 1);
                rl_barrier_expect(shared + BARRIERS + (0 * STAGES + (done) % STAGES) * 8, 45056);
                rl_tile_2(shared + done % STAGES * STAGE + A_TILE, &map0,
                          shared + BARRIERS + done % STAGES * 8, k_next, m0);
                rl_tile_2_all(shared + done % STAGES * STAGE + B_TILE + part * 14336, &map1,
                          shared + BARRIERS + done % STAGES * 8, 3, k_next, n0 + part * 112);
                k_next += BK;
            } while (++done < steps);
        }
    }
    if (warp < 8u) {
        float acc[IM][IN][112];
        #pragma unroll
        for (int i = 0; i < IM; i++) {
            #pragma unroll
            for (int j = 0; j < IN * 112; j++)
                acc[i][j / 112][j % 112] = 0;
        }
        #pragma unroll
        for (int i = 0; i < IM; i++) rl_wgmma_settle(acc[i][0]);

        int taken = 0;
        #pragma unroll 1
        do {
            rl_barrier_wait(shared + BARRIERS + (0 * STAGES + (taken) % STAGES) * 8, taken / STAGES & 1);
            // compute: slices of 16 k
            const unsigned long long a_at =
                rl_wgmma_tile<16, 1024>(shared + taken % STAGES * STAGE + A_TILE + warp / 4u % 2u * 8192);
            const unsigned long long b_at =
                rl_wgmma_tile<16, 1024>(shared + taken % STAGES * STAGE + B_TILE);
            rl_wgmma_begin();
            #pragma unroll
            for (int kk = 0; kk < WK; kk += TK) {
                #pragma unroll
                for (int i = 0; i < IM; i++)
                    rl_wgmma_m64n224k16_bf16_f32<0, 0>(acc[i][0], a_at + kk / TK * 2 + i * 512, b_at + kk / TK * 2);
            }
            rl_wgmma_commit();
            rl_wgmma_wait<1>();
            if (lane < 2 && taken >= 1) rl_barrier_arrive_at(shared + BARRIERS + (1 * STAGES + (taken - 1) % STAGES) * 8, lane);
        } while (++taken < steps);
        rl_wgmma_wait<0>();
        #pragma unroll
        for (int i = 0; i < IM; i++) rl_wgmma_settle(acc[i][0]);

        // elements: 8 outputs of the thread at a time, through shared memory
        rl_bar_sync<1, 256>();
        {
            float *const piece = reinterpret_cast<float *>(smem + warp * 14848);
            float *const to = piece + (lane_m * 232 + lane_n / 4 * 116 + lane_n % 4);
            const int m_at = m0 + row;
            const int n_at = n0 + col;
            unsigned short *const p2 = t2 + (m_at * 8192 + n_at);
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                #pragma unroll
                for (int j = 0; j < IN; j++) {
                    #pragma unroll
                    for (int f = 0; f < 112; f += 2)
                        rl_store_shared<2>(to, f / 2 % 2 * 1856 + j * TN / 2 + (f / 4 * 8) / 2, acc[i][j] + f);
                }
                __syncwarp();
                #pragma unroll 1
                for (int s = 0; s < 14; s++) {
                    const unsigned u = lane + s * 32;
                    const int m = m_at + (i * TM + (int)(u / 28u));
                    const int n = n_at + ((int)(u % 28u * 8));
                    if (n < N) {
                        rl_vec<float, 4> value[2];
                        #pragma unroll
                        for (int p = 0; p < 2; p++) value[p] = rl_load<4>(piece + (u / 28u * 232 + u % 28u * 4) + p * 116);
                        const int i0 = m;
                        const int i1 = n;
                        float o2[8];
                        #pragma unroll
                        for (int v = 0; v < 8; v++) {
                            o2[v] = value[v / 4].v[v % 4];
                        }
                        rl_store_bf16<8>(p2 + ((i * TM + (int)(u / 28u)) * 8192 + ((int)(u % 28u * 8))), o2);
                    }
                }
            }
        }
    }
    rl_cluster_sync();
}
