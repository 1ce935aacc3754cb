// roller-plan 1
// kernel 0
//   skeleton contract
//   unit wgmma.f16.f32
//   block 1 128 128 64
//   warp 1 64 128 64
//   thread 1 64 128 16
//   vec 1 2
//   unroll 64
//   stages 4
//   a tile tma.tile vec 8 along k inner k swizzle 3 0 0
//   b tile tma.tile vec 8 along k inner k swizzle 3 0 0
//   store 2 boxes
//   raster row persistent
//   split 1 tail 28 blocks 112
//   blocks_per_sm 1
//
// arguments
//   0  f16[1160,256]
//   1  f16[2048,256]
//   2  f16[1160,2048]  output
//   w  workspace of 9109504 bytes
// launches
//   rk_fe35c555ffc1d02d_0  grid 132,1  block 384  dynamic shared memory 163904
//     takes w + 0, map0, map1, map2
//     map0  argument 0  box 64x128  swizzle 128
//     map1  argument 1  box 64x128  swizzle 128
//     map2  argument 2  box 64x16  swizzle 128
//   rk_fe35c555ffc1d02d_1  grid 896,1  block 128  dynamic shared memory 0
//     takes 2, w + 0

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

__device__ __forceinline__ bool rl_elect() {
    int one;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }"
                 : "=r"(one) :: "memory");
    return one;
}

__device__ __forceinline__ void rl_previous_wait() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

__device__ __forceinline__ void rl_next_may_begin() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

template <typename T> __device__ __forceinline__ T *rl_behind(T *p) {
    asm volatile("" : "+l"(p) :: "memory");
    return p;
}

__device__ __forceinline__ void rl_map_fetch(const rl_map *map) {
    asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}

__device__ __forceinline__ void rl_tile_2(unsigned to, const rl_map *map, unsigned bar, int x0, int x1) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(to), "l"(map), "r"(x0), "r"(x1), "r"(bar) : "memory");
}

__device__ __forceinline__ void rl_box_put_2(const rl_map *map, unsigned to, int x0, int x1) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
                 " [%1, {%2, %3}], [%0];"
                 :: "r"(to), "l"(map), "r"(x0), "r"(x1) : "memory");
}

__device__ __forceinline__ void rl_bulk_commit() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

template <int N> __device__ __forceinline__ void rl_bulk_wait() {
    asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(N) : "memory");
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

__device__ __forceinline__ unsigned rl_f32x2_to_f16(float x, float y) {
    unsigned z;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(z) : "f"(y), "f"(x));
    return z;
}

template <int N> __device__ __forceinline__ void rl_store_f16(unsigned short *p, const float *x) {
    rl_vec<unsigned, N / 2> y;
    #pragma unroll
    for (int i = 0; i < N / 2; i++)
        y.v[i] = rl_f32x2_to_f16(x[2 * i], x[2 * i + 1]);
    *reinterpret_cast<rl_vec<unsigned, N / 2> *>(p) = y;
}

template <int N, typename T> __device__ __forceinline__ void rl_store(T *p, const T *x) {
    rl_vec<T, N> y;
    #pragma unroll
    for (int i = 0; i < N; i++) y.v[i] = x[i];
    *reinterpret_cast<rl_vec<T, N> *>(p) = y;
}

template <int N, typename T>
__device__ __forceinline__ void rl_store_global(T *p, const T *x) {
    if constexpr (sizeof(T) == 2 && N == 1)
        asm volatile("st.global.b16 [%0], %1;"
                     :: "l"(p), "h"(x[0]) : "memory");
    else if constexpr (sizeof(T) == 4 && N == 1)
        asm volatile("st.global.b32 [%0], %1;"
                     :: "l"(p), "r"(x[0]) : "memory");
    else if constexpr (sizeof(T) == 4 && N == 2)
        asm volatile("st.global.v2.b32 [%0], {%1, %2};"
                     :: "l"(p), "r"(x[0]), "r"(x[1]) : "memory");
    else if constexpr (sizeof(T) == 4 && N == 4)
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                     :: "l"(p), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) : "memory");
    else rl_store<N>(p, x);
}
template <int N>
__device__ __forceinline__ void rl_store_global(float *p, const float *x) {
    if constexpr (N == 1)
        asm volatile("st.global.b32 [%0], %1;"
                     :: "l"(p), "f"(x[0]) : "memory");
    else if constexpr (N == 2)
        asm volatile("st.global.v2.b32 [%0], {%1, %2};"
                     :: "l"(p), "f"(x[0]), "f"(x[1]) : "memory");
    else if constexpr (N == 4)
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                     :: "l"(p), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]) : "memory");
    else rl_store<N>(p, x);
}

template <int A_TURNED, int B_TURNED, unsigned A_HIGH = 0x40000040, unsigned B_HIGH = 0x40000040>
__device__ __forceinline__ void rl_wgmma_m64n128k16_f16_f32(float *d, unsigned a, unsigned b, bool adds) {
    asm volatile("{ .reg .b64 a, b; .reg .pred p;"
                 " setp.ne.b32 p, %66, 0; mov.b64 a, {%64, %67}; mov.b64 b, {%65, %68};"
                 " wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "a, b, p, 1, 1, %69, %70; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                   "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                   "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                   "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                 : "r"(a), "r"(b), "r"((int)adds), "n"(A_HIGH), "n"(B_HIGH), "n"(A_TURNED), "n"(B_TURNED));
}

extern "C" __global__ void __launch_bounds__(384, 1)
rk_fe35c555ffc1d02d_0(unsigned char *__restrict__ w,
    const __grid_constant__ rl_map map0,
    const __grid_constant__ rl_map map1,
    const __grid_constant__ rl_map map2) {
    constexpr int M = 1160;
    constexpr int N = 2048;
    constexpr int K = 256;
    constexpr int BM = 128;
    constexpr int BN = 128;
    constexpr int BK = 64;
    constexpr int WM = 64;
    constexpr int WN = 128;
    constexpr int WK = 64;
    constexpr int TM = 64;
    constexpr int TN = 128;
    constexpr int TK = 16;
    constexpr int IM = 1;
    constexpr int IN = 1;
    constexpr int THREADS = 384;
    constexpr int STAGES = 4;
    constexpr int STAGE = 32768;
    constexpr int A_TILE = 0;
    constexpr int A_ROW = 64;
    constexpr int B_TILE = 16384;
    constexpr int B_ROW = 64;
    constexpr int BARRIERS = 163840;
    const unsigned GRID = gridDim.x;
    extern __shared__ __align__(1024) unsigned char smem[];

    const unsigned shared = rl_hidden(rl_shared(smem));
    rl_next_may_begin();
    // place: tiles of the grid with n fastest
    const int tid = threadIdx.x;
    const int lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane / 4u;
    const int lane_n = lane % 4u * 2;
    const int row = (int)(warp / 4u % 2u) * WM + (int)(warp % 4u) * 16;
    const int col = 0;

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
            rl_map_fetch(&map2);
            // segments: whole tiles, then k-steps of the last 28 of 160, 1 to a share
            unsigned next = blockIdx.x;
            unsigned from = 0;
            int own = (int)blockIdx.x;
            int at = 528 + min(own, 112);
            int end = min(528 + min(own + 1, 112), 640);
            int steps = 0;
            #pragma unroll 1
            for (; next < 132u || at < end; from += steps) {
                const bool whole = next < 132u;
                const unsigned number = whole ? next : at / 4u;
                const int u = own;
                const int first = whole ? 0 : at % 4u;
                steps = whole ? 4 : min(4 - first, end - at);
                if (whole) {
                    next += GRID;
                } else {
                    at += steps;
                    if (at == end) {
                        own += GRID;
                        at = 528 + min(own, 112);
                        end = min(528 + min(own + 1, 112), 640);
                    }
                }
                const unsigned tile = number;
                const unsigned tile_m = tile / 16u;
                const unsigned tile_n = tile % 16u;
                const int m0 = (int)tile_m * BM;
                const int n0 = (int)tile_n * BN;
                int k_next = first * BK;

                unsigned stage = from % STAGES;
                unsigned phase = from / STAGES & 1;
                int done = 0;
                #pragma unroll 1
                do {
                    rl_barrier_wait(shared + BARRIERS + (STAGES + stage) * 8, phase ^ 1);
                    rl_barrier_expect(shared + BARRIERS + stage * 8, 32768);
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
    }
    if (warp < 8u) {
        // segments: whole tiles, then k-steps of the last 28 of 160, 1 to a share
        unsigned next = blockIdx.x;
        unsigned from = 0;
        int own = (int)blockIdx.x;
        int at = 528 + min(own, 112);
        int end = min(528 + min(own + 1, 112), 640);
        int steps = 0;
        #pragma unroll 1
        for (; next < 132u || at < end; from += steps) {
            const bool whole = next < 132u;
            const unsigned number = whole ? next : at / 4u;
            const int u = own;
            const int first = whole ? 0 : at % 4u;
            steps = whole ? 4 : min(4 - first, end - at);
            if (whole) {
                next += GRID;
            } else {
                at += steps;
                if (at == end) {
                    own += GRID;
                    at = 528 + min(own, 112);
                    end = min(528 + min(own + 1, 112), 640);
                }
            }
            const unsigned tile = number;
            const unsigned tile_m = tile / 16u;
            const unsigned tile_n = tile % 16u;
            const int m0 = (int)tile_m * BM;
            const int n0 = (int)tile_n * BN;
            int k_next = first * BK;

            const unsigned a_low = rl_wgmma_tile<16>(shared + A_TILE + warp / 4u % 2u * 8192);
            const unsigned b_low = rl_wgmma_tile<16>(shared + B_TILE);
            float acc[1][1][64];
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                #pragma unroll
                for (int j = 0; j < 64; j++) {
                    acc[i][j / 64][j % 64] = 0;
                }
            }
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                rl_wgmma_settle(acc[i][0]);
            }

            unsigned stage = from % STAGES;
            unsigned phase = from / STAGES & 1;
            unsigned last = 0;
            int taken = 0;
            #pragma unroll 1
            do {
                const unsigned a_at = rl_uniform(a_low + stage * (STAGE / 16));
                const unsigned b_at = rl_uniform(b_low + stage * (STAGE / 16));
                rl_barrier_wait(shared + BARRIERS + stage * 8, phase);
                // compute: slices of 16 k
                rl_wgmma_begin();
                #pragma unroll
                for (int kk = 0; kk < WK; kk += 16) {
                    #pragma unroll
                    for (int i = 0; i < 1; i++) {
                        rl_wgmma_m64n128k16_f16_f32<0, 0>(acc[i][0], a_at + kk / TK * 2, b_at + kk / TK * 2, true);
                    }
                }
                rl_wgmma_commit();
                rl_wgmma_wait<1>();
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
            if (lane == 0) {
                rl_barrier_arrive(last);
            }
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                rl_wgmma_settle(acc[i][0]);
            }

            if (steps < 4) {
                // partial: sums of this segment to the workspace
                float *const sums = reinterpret_cast<float *>(w) + (u + (long long)number - 132) * 16384;
                {
                    const int m_at = m0 + row + lane_m;
                    const int n_at = n0 + col + lane_n;
                    float *const part = sums + ((-m0 + m_at) * BN + (-n0 + n_at));
                    #pragma unroll
                    for (int i = 0; i < 1; i++) {
                        #pragma unroll
                        for (int f = 0; f < 2; f++) {
                            const int m = m_at + (i * TM + f * 8);
                            if (m < M) {
                                #pragma unroll
                                for (int j = 0; j < 1; j++) {
                                    #pragma unroll
                                    for (int g = 0; g < 32; g += 2) {
                                        const int n = n_at + (j * TN + g % 2 + g / 2 * 8);
                                        rl_store_global<2>(part + ((long long)(i * TM + f * 8) * BN + (long long)(j * TN + g % 2 + g / 2 * 8)), &acc[i][j][g / 2 * 4 + f * 2 + g % 2]);
                                    }
                                }
                            }
                        }
                    }
                }
            }
            if (steps == 4) {
                // elements: 2 outputs of the thread at a time
                {
                    // bytes: to boxes, of one, of those of a warp
                    constexpr int OUTPUTS = 131072;
                    constexpr int BOX = 2048;
                    constexpr int BOXES = 4096;
                    const int lane_at = lane_m * 128 + (lane_m % 8 * 16 ^ lane_n * 2);
                    const int box_at = OUTPUTS + (int)warp * BOXES;
                    const int m_at = m0 + row + lane_m;
                    const int n_at = n0 + col + lane_n;
                    #pragma unroll
                    for (int i = 0; i < 1; i++) {
                        #pragma unroll
                        for (int c = 0; c < 2; c++) {
                            const int box = box_at + c % 2 * BOX;
                            if (lane == 0) {
                                rl_bulk_wait<1>();
                            }
                            __syncwarp();
                            #pragma unroll
                            for (int f = 0; f < 2; f++) {
                                const int m = m_at + (i * TM + f * 8);
                                if (m < M) {
                                    #pragma unroll
                                    for (int h = 0; h < 16; h += 2) {
                                        const int j = 0;
                                        const int g = c * 16 + h;
                                        const int n = n_at + (c * 64 + h % 2 + h / 2 * 8);
                                        const int i0 = m;
                                        const int i1 = n;
                                        float o2[2];
                                        #pragma unroll
                                        for (int v = 0; v < 2; v++) {
                                            o2[v] = acc[i][j][g / 2 * 4 + f * 2 + g % 2 + v];
                                        }
                                        rl_store_f16<2>(reinterpret_cast<unsigned short *>(smem + box + f * 8 * 128 + (lane_at ^ (h % 2 + h / 2 * 8) * 2)), o2);
                                    }
                                }
                            }
                            rl_fence_proxy();
                            __syncwarp();
                            if (lane == 0) {
                                rl_box_put_2(&map2, shared + box, n0 + col + c * 64, m0 + row + i * TM);
                            }
                            if (lane == 0) {
                                rl_bulk_commit();
                            }
                        }
                    }
                }
            }
        }
        if (lane == 0) {
            rl_bulk_wait<0>();
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
rk_fe35c555ffc1d02d_1(unsigned short *__restrict__ t2,
    unsigned char *__restrict__ w) {
    rl_previous_wait();
    w = rl_behind(w);
    // elements: 4 at a time, of tiles that several blocks have steps of
    constexpr int BM = 128;
    constexpr int BN = 128;
    float *const sums = reinterpret_cast<float *>(w);
    const int y = blockIdx.x / 32u;
    const unsigned number = y + 132;
    const unsigned tile = number;
    const unsigned tile_m = tile / 16u;
    const unsigned tile_n = tile % 16u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int at = blockIdx.x % 32u * 512 + threadIdx.x * 4;
    const int m = m0 + at / 128;
    const int n = n0 + at % 128;
    const int first = y * 4 / 1u;
    const int total = (y * 4 + 3) / 1u;
    if (first < total && at < 16384 && m < 1160 && n < 2048) {
        const int i0 = m;
        const int i1 = n;
        // gather: the units in order
        float *left = sums + (y + first) * 16384ll + at;
        float sum[4];
        #pragma unroll
        for (int p = 0; p < 1; p++) {
            const rl_vec<float, 4> x = rl_load<4>(left + p * 4);
            #pragma unroll
            for (int v = 0; v < 4; v++) {
                sum[p * 4 + v] = x.v[v];
            }
        }
        #pragma unroll 4
        for (int s = first; s < total; s++) {
            left += 16384;
            #pragma unroll
            for (int p = 0; p < 1; p++) {
                const rl_vec<float, 4> x = rl_load<4>(left + p * 4);
                #pragma unroll
                for (int v = 0; v < 4; v++) {
                    sum[p * 4 + v] = sum[p * 4 + v] + x.v[v];
                }
            }
        }
        float o2[4];
        #pragma unroll
        for (int v = 0; v < 4; v++) {
            o2[v] = sum[v];
        }
        rl_store_f16<4>(t2 + (i0 * 2048 + i1), o2);
    }
}
