// roller-plan 1
// kernel 0
//   skeleton contract
//   unit ffma
//   block 1 128 128 16
//   warp 1 64 32 16
//   thread 1 8 8 1
//   vec 4 4
//   unroll 16
//   stages 4
//   a async cp.async.4 vec 1 along k inner m pad 4
//   b async cp.async.16 vec 4 along n inner n
//   store 4
//   raster grouped 8
//   split 1
//   blocks_per_sm 2
//
// arguments
//   0  f32[1024,512]
//   1  f32[512,1024]
//   2  f32[1024,1024]  output
// launches
//   rk_ea7f950e2b7f5600_0  grid 64,1  block 256  dynamic shared memory 66560
//     takes 0, 1, 2

template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };

template <int N, typename T> __device__ __forceinline__ rl_vec<T, N> rl_load(const T *p) {
    return *reinterpret_cast<const rl_vec<T, N> *>(p);
}

__device__ __forceinline__ unsigned rl_shared(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void rl_cp_async_16(unsigned to, const void *from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

__device__ __forceinline__ void rl_cp_async_4(unsigned to, const void *from, bool inside) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(to), "l"(from), "r"(inside ? 4 : 0) : "memory");
}

__device__ __forceinline__ void rl_cp_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> __device__ __forceinline__ void rl_cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
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

extern "C" __global__ void __launch_bounds__(256, 1)
rk_ea7f950e2b7f5600_0(const float *__restrict__ t0,
    const float *__restrict__ t1,
    float *__restrict__ t2) {
    constexpr int M = 1024;
    constexpr int N = 1024;
    constexpr int K = 512;
    constexpr int BM = 128;
    constexpr int BN = 128;
    constexpr int BK = 16;
    constexpr int WM = 64;
    constexpr int WN = 32;
    constexpr int WK = 16;
    constexpr int TM = 8;
    constexpr int TN = 8;
    constexpr int TK = 1;
    constexpr int LM = 8;
    constexpr int LN = 4;
    constexpr int VM = 4;
    constexpr int VN = 4;
    constexpr int THREADS = 256;
    constexpr int STAGES = 4;
    constexpr int STAGE = 16640;
    constexpr int A_TILE = 0;
    constexpr int A_ROW = 132;
    constexpr int B_TILE = 8448;
    constexpr int B_ROW = 128;
    constexpr int steps = 32;
    extern __shared__ __align__(128) unsigned char smem[];

    const unsigned shared = rl_shared(smem);
    // place: tiles of the grid with groups of tile rows, m fastest
    const unsigned tile = blockIdx.x;
    const unsigned tile_m = tile % 8u;
    const unsigned tile_n = tile / 8u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x;
    const int lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane >> 1 & 1 | lane >> 2 & 2 | lane >> 2 & 4;
    const int lane_n = lane & 1 | lane >> 1 & 2;
    const int row = (int)(warp / 4u % 2u) * WM + lane_m * VM;
    const int col = (int)(warp % 4u) * WN + lane_n * VN;
    int k_next = 0;
    int put = 0;
    int take = 0;

    // address: operand a, 8 x 1 elements per thread along k
    const int a_mn = tid / 16u;
    const int a_k = tid % 16u;
    const int a_to = a_k * A_ROW + a_mn;
    const float *a_src = t0 + (long long)(m0 + a_mn) * 512 + (long long)(k_next + a_k);

    // address: operand b, 2 x 4 elements per thread along n
    const int b_k = tid / 32u;
    const int b_mn = tid % 32u * 4u;
    const int b_to = b_k * B_ROW + b_mn;
    const float *b_src = t1 + (long long)(n0 + b_mn) + (long long)(k_next + b_k) * 1024;

    float acc[8][8];
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            acc[i][j] = 0.0f;
        }
    }
    float a_frag[2][8];
    float b_frag[2][8];

    // fill: the first steps
    #pragma unroll 1
    for (int step = 0; step < 3; step++) {
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            rl_cp_async_4(shared + put + A_TILE + (a_to + i * 16) * 4, a_src + i * 8192, true);
        }
        a_src += BK;
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            rl_cp_async_16(shared + put + B_TILE + (b_to + i * 1024) * 4, b_src + i * 8192, true);
        }
        b_src += BK * 1024;
        k_next += BK;
        rl_cp_async_commit();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
    }
    rl_cp_async_wait<2>();
    __syncthreads();

    // fragment: registers of the first k
    {
        const float *const from = reinterpret_cast<const float *>(smem + take + A_TILE) + row;
        #pragma unroll
        for (int i = 0; i < 8; i += 4) {
            const rl_vec<float, 4> x = rl_load<4>(from + i * LM);
            #pragma unroll
            for (int v = 0; v < 4; v++) {
                a_frag[0][i + v] = x.v[v];
            }
        }
    }
    {
        const float *const from = reinterpret_cast<const float *>(smem + take + B_TILE) + col;
        #pragma unroll
        for (int i = 0; i < 8; i += 4) {
            const rl_vec<float, 4> x = rl_load<4>(from + i * LN);
            #pragma unroll
            for (int v = 0; v < 4; v++) {
                b_frag[0][i + v] = x.v[v];
            }
        }
    }

    int step = 0;
    #pragma unroll 1
    do {
        // load: step + 3
        if (step + 3 < steps) {
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                rl_cp_async_4(shared + put + A_TILE + (a_to + i * 16) * 4, a_src + i * 8192, true);
            }
            a_src += BK;
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                rl_cp_async_16(shared + put + B_TILE + (b_to + i * 1024) * 4, b_src + i * 8192, true);
            }
            b_src += BK * 1024;
            k_next += BK;
        }
        rl_cp_async_commit();
        // compute: 15 k
        #pragma unroll
        for (int kk = 0; kk < 15; kk++) {
            {
                const float *const from = reinterpret_cast<const float *>(smem + take + A_TILE) + row;
                #pragma unroll
                for (int i = 0; i < 8; i += 4) {
                    const rl_vec<float, 4> x = rl_load<4>(from + ((kk + 1) * A_ROW + i * LM));
                    #pragma unroll
                    for (int v = 0; v < 4; v++) {
                        a_frag[kk + 1 & 1][i + v] = x.v[v];
                    }
                }
            }
            {
                const float *const from = reinterpret_cast<const float *>(smem + take + B_TILE) + col;
                #pragma unroll
                for (int i = 0; i < 8; i += 4) {
                    const rl_vec<float, 4> x = rl_load<4>(from + ((kk + 1) * B_ROW + i * LN));
                    #pragma unroll
                    for (int v = 0; v < 4; v++) {
                        b_frag[kk + 1 & 1][i + v] = x.v[v];
                    }
                }
            }
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                #pragma unroll
                for (int j = 0; j < 8; j++) {
                    acc[i][j] = fmaf(a_frag[kk & 1][i], b_frag[kk & 1][j], acc[i][j]);
                }
            }
        }
        // wait: the next stage is complete
        rl_cp_async_wait<2>();
        __syncthreads();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
        take = take + STAGE < STAGES * STAGE ? take + STAGE : 0;
        // compute: the last k, with fragments of the next stage under way
        if (step + 1 < steps) {
            {
                const float *const from = reinterpret_cast<const float *>(smem + take + A_TILE) + row;
                #pragma unroll
                for (int i = 0; i < 8; i += 4) {
                    const rl_vec<float, 4> x = rl_load<4>(from + i * LM);
                    #pragma unroll
                    for (int v = 0; v < 4; v++) {
                        a_frag[0][i + v] = x.v[v];
                    }
                }
            }
        }
        if (step + 1 < steps) {
            {
                const float *const from = reinterpret_cast<const float *>(smem + take + B_TILE) + col;
                #pragma unroll
                for (int i = 0; i < 8; i += 4) {
                    const rl_vec<float, 4> x = rl_load<4>(from + i * LN);
                    #pragma unroll
                    for (int v = 0; v < 4; v++) {
                        b_frag[0][i + v] = x.v[v];
                    }
                }
            }
        }
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                acc[i][j] = fmaf(a_frag[15 & 1][i], b_frag[15 & 1][j], acc[i][j]);
            }
        }
    } while (++step < steps);
    // elements: 4 outputs of the thread at a time
    {
        const int m_at = m0 + row;
        const int n_at = n0 + col;
        float *const p2 = t2 + (m_at * 1024 + n_at);
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            const int m = m_at + (i / VM * (LM * VM) + i % VM);
            #pragma unroll
            for (int j = 0; j < 8; j += 4) {
                const int n = n_at + (j / VN * (LN * VN) + j % VN);
                const int i0 = m;
                const int i1 = n;
                float o2[4];
                #pragma unroll
                for (int v = 0; v < 4; v++) {
                    o2[v] = acc[i][j + v];
                }
                rl_store_global<4>(p2 + ((i / VM * (LM * VM) + i % VM) * 1024 + (j / VN * (LN * VN) + j % VN)), o2);
            }
        }
    }
}
