// roller-plan 1
// kernel 0
//   skeleton contract
//   unit wgmma.bf16.f32 swapped
//   block 1 40 128 64
//   warp 1 40 64 64
//   thread 1 40 64 16
//   vec 2 1
//   unroll 64
//   stages 3
//   a tile tma.tile vec 8 along k inner k swizzle 3 0 0
//   b tile tma.tile vec 16 raw along k inner k swizzle 2 1 0
//   store 8 shared
//   raster row
//   split 1
//   blocks_per_sm 1
//
// arguments
//   0  bf16[40,128]
//   1  i8[136,128]
//   2  bf16[136,2]
//   3  bf16[40,136]  output
// launches
//   rk_517a6abaf5eab00a_0  grid 2,1  block 384  dynamic shared memory 39984
//     takes 2, 3, map0, map1
//     map0  argument 0  box 64x40  swizzle 128
//     map1  argument 1  box 64x128  swizzle 64

template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };

template <int N, typename T> __device__ __forceinline__ rl_vec<T, N> rl_load(const T *p) {
    return *reinterpret_cast<const rl_vec<T, N> *>(p);
}

__device__ __forceinline__ float rl_bf16_to_f32(unsigned short x) {
    return __uint_as_float((unsigned)x << 16);
}

__device__ __forceinline__ float rl_small_to_f32(int x) {
    return __int_as_float(x + 0x4b400000) - 12582912.0f;
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

__device__ __forceinline__ void rl_barrier_arrive(unsigned bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :: "r"(bar) : "memory");
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

__device__ __forceinline__ unsigned rl_uniform(unsigned x) {
    return __shfl_sync(0xffffffffu, x, 0);
}

template <int LEADING> __device__ __forceinline__ unsigned rl_wgmma_tile(unsigned at) {
    return LEADING >> 4 << 16 | at >> 4;
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

template <int B_TURNED, unsigned B_HIGH = 0x40000040>
__device__ __forceinline__ void rl_wgmma_m64n40k16_bf16_f32_made(float *d, const unsigned *a, unsigned b, bool adds) {
    asm volatile("{ .reg .b64 a, b; .reg .pred p;"
                 " setp.ne.b32 p, %25, 0; mov.b64 b, {%24, %26};"
                 " wgmma.mma_async.sync.aligned.m64n40k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19}, "
                 "{%20, %21, %22, %23}, b, p, 1, 1, %27; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)adds), "n"(B_HIGH), "n"(B_TURNED));
}

extern "C" __global__ void __launch_bounds__(384, 1)
rk_517a6abaf5eab00a_0(const unsigned short *__restrict__ t2,
    unsigned short *__restrict__ t3,
    const __grid_constant__ rl_map map0,
    const __grid_constant__ rl_map map1) {
    constexpr int M = 40;
    constexpr int N = 136;
    constexpr int K = 128;
    constexpr int BM = 40;
    constexpr int BN = 128;
    constexpr int BK = 64;
    constexpr int WM = 40;
    constexpr int WN = 64;
    constexpr int WK = 64;
    constexpr int TM = 40;
    constexpr int TN = 64;
    constexpr int TK = 16;
    constexpr int IM = 1;
    constexpr int IN = 1;
    constexpr int THREADS = 384;
    constexpr int STAGES = 3;
    constexpr int STAGE = 13312;
    constexpr int A_TILE = 0;
    constexpr int A_ROW = 64;
    constexpr int B_TILE = 5120;
    constexpr int B_ROW = 64;
    const int steps = rl_hidden(2);
    constexpr int BARRIERS = 39936;
    extern __shared__ __align__(1024) unsigned char smem[];

    const unsigned shared = rl_hidden(rl_shared(smem));
    // place: tiles of the grid with n fastest
    const unsigned tile = blockIdx.x;
    const unsigned tile_m = tile / 2u;
    const unsigned tile_n = tile % 2u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x;
    const int lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane % 4u * 2;
    const int lane_n = lane / 4u;
    const int row = 0;
    const int col = (int)(warp / 4u % 2u) * WN + (int)(warp % 4u) * 16;
    int k_next = 0;

    // barriers: of each slot, for copies that are done and for reads that are
    if (tid < STAGES) {
        rl_barrier_init(shared + BARRIERS + tid * 8, 1);
    }
    if (tid < STAGES) {
        rl_barrier_init(shared + BARRIERS + (STAGES + tid) * 8, 8);
    }
    rl_fence_proxy();
    __syncthreads();

    if (warp >= 8u) {
        if (warp == 8u && rl_elect()) {
            rl_map_fetch(&map0);
            rl_map_fetch(&map1);
            unsigned stage = 0;
            unsigned phase = 0;
            int done = 0;
            #pragma unroll 1
            do {
                rl_barrier_wait(shared + BARRIERS + (STAGES + stage) * 8, phase ^ 1);
                rl_barrier_expect(shared + BARRIERS + stage * 8, 13312);
                rl_tile_2(shared + stage * STAGE + A_TILE, &map0, shared + BARRIERS + stage * 8, k_next, m0);
                rl_tile_2(shared + stage * STAGE + B_TILE, &map1, shared + BARRIERS + stage * 8, k_next, n0);
                k_next += BK;
                stage += 1;
                if (stage == STAGES) {
                    stage = 0;
                    phase ^= 1;
                }
            } while (++done < steps);
        }
    }
    if (warp < 8u) {
        const unsigned a_low = rl_wgmma_tile<16>(shared + A_TILE);
        const int b_lane = (col + lane_n) * 64 + (lane % 4u * 2 ^ (lane_n >> 1 & 3) << 4);
        unsigned b_made[4][1][4];
        float acc[1][1][20];
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            #pragma unroll
            for (int j = 0; j < 20; j++) {
                acc[i][j / 20][j % 20] = 0;
            }
        }
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            rl_wgmma_settle(acc[i][0]);
        }

        unsigned stage = 0;
        unsigned phase = 0;
        unsigned last = 0;
        int taken = 0;
        #pragma unroll 1
        do {
            float b_o0[1][2];
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                #pragma unroll
                for (int h = 0; h < 2; h++) {
                    const int at_own = n0 + col + lane_n + i * 64 + h * 8;
                    b_o0[i][h] = 0;
                    if (at_own < N) {
                        const int i1 = at_own;
                        const int at_k = taken * BK;
                        const int i2 = at_k;
                        b_o0[i][h] = rl_bf16_to_f32(t2[i1 * 2 + i2 / 64]);
                    }
                }
            }
            const unsigned a_at = rl_uniform(a_low + stage * (STAGE / 16));
            rl_barrier_wait(shared + BARRIERS + stage * 8, phase);
            // read: what the operand is made of
            const unsigned char *const b_from = smem + stage * STAGE + B_TILE;
            rl_vec<signed char, 2> b_raw[4][1][4];
            #pragma unroll
            for (int kk = 0; kk < 4; kk++) {
                #pragma unroll
                for (int i = 0; i < 1; i++) {
                    #pragma unroll
                    for (int f = 0; f < 4; f++) {
                        b_raw[kk][i][f] = rl_load<2>(reinterpret_cast<const signed char *>(b_from + (b_lane ^ (kk * TK + f * 2 / 4 * 8) % 64) + (i * 64 + f * 2 / 2 % 2 * 8) * 64));
                    }
                }
            }
            #pragma unroll
            for (int kk = 0; kk < WK; kk += 16) {
                #pragma unroll
                for (int i = 0; i < 1; i++) {
                    #pragma unroll
                    for (int f = 0; f < 4; f++) {
                        float x[2];
                        #pragma unroll
                        for (int v = 0; v < 2; v++) {
                            x[v] = rl_small_to_f32((int)b_raw[kk / TK][i][f].v[v]) * b_o0[i][f % 2];
                        }
                        b_made[kk / TK][i][f] = rl_f32x2_to_bf16(x[0], x[1]);
                    }
                }
                rl_wgmma_begin();
                #pragma unroll
                for (int i = 0; i < 1; i++) {
                    rl_wgmma_m64n40k16_bf16_f32_made<0>(acc[i][0], b_made[kk / TK][i], a_at + kk / TK * 2, true);
                }
                rl_wgmma_commit();
                rl_wgmma_wait<3>();
            }
            __syncwarp();
            if (lane == 0 && taken > 0) {
                rl_barrier_arrive(last);
            }
            last = shared + BARRIERS + (STAGES + stage) * 8;
            stage += 1;
            if (stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        } while (++taken < steps);
        rl_wgmma_wait<0>();
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            rl_wgmma_settle(acc[i][0]);
        }

        // elements: 8 outputs of the thread at a time, through shared memory
        rl_bar_sync<1, 256>();
        {
            float *const piece = reinterpret_cast<float *>(smem + warp * 3200);
            float *const to = piece + (lane_m * 20 + lane_n);
            const float *const from = piece + ((unsigned)lane / 2u * 20 + (unsigned)lane % 2u * 8);
            const int m_at = m0 + row + (int)(lane / 2u);
            const int n_at = n0 + col + (int)(lane % 2u * 8);
            unsigned short *const p3 = t3 + (m_at * 136 + n_at);
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                #pragma unroll
                for (int j = 0; j < 1; j++) {
                    #pragma unroll
                    for (int f = 0; f < 20; f++) {
                        rl_store_shared<1>(to, f % 2 * 20 + f / 4 * 160 + j * TN + f / 2 % 2 * 8, &acc[i][j][f]);
                    }
                }
                __syncwarp();
                #pragma unroll
                for (int s = 0; s < 3; s++) {
                    const unsigned u = lane + s * 32;
                    if (u < 80u) {
                        const int m = m_at + (i * TM + s * 16);
                        const int n = n_at;
                        if (n < N) {
                            rl_vec<float, 4> value[2];
                            #pragma unroll
                            for (int p = 0; p < 2; p++) {
                                value[p] = rl_load<4>(from + s * 320 + p * 4);
                            }
                            const int i0 = m;
                            const int i1 = n;
                            float o3[8];
                            #pragma unroll
                            for (int v = 0; v < 8; v++) {
                                o3[v] = value[v / 4].v[v % 4];
                            }
                            rl_store_bf16<8>(p3 + (i * TM + s * 16) * 136, o3);
                        }
                    }
                }
            }
        }
    }
}
