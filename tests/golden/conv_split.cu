// roller-plan 1
// kernel 0
//   skeleton contract
//   unit ffma
//   block 1 32 32 16
//   warp 1 16 32 8
//   thread 1 4 4 1
//   vec 4 4
//   unroll 8
//   stages 3
//   a async cp.async.4 vec 1 along k inner m pad 4
//   b async cp.async.4 vec 1 along n inner n table
//   store 4
//   raster column
//   split 3
//   blocks_per_sm 2
//
// arguments
//   0  f32[16,14,14]
//   1  f32[32,16,3,3]
//   2  f32[32,14,14]  output
//   w  workspace of 75264 bytes
// launches
//   rk_5b4e66e9e9f7421c_0  grid 7,3  block 128  dynamic shared memory 13312
//     takes 0, 1, w + 0
//   rk_5b4e66e9e9f7421c_1  grid 13,1  block 128  dynamic shared memory 0
//     takes 2, w + 0

template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };

template <int N, typename T> __device__ __forceinline__ rl_vec<T, N> rl_load(const T *p) {
    return *reinterpret_cast<const rl_vec<T, N> *>(p);
}

__device__ __forceinline__ unsigned rl_shared(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
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

__device__ __forceinline__ int rl_hidden(int x) {
    int y;
    asm volatile("mov.s32 %0, %1;" : "=r"(y) : "r"(x));
    return y;
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

extern "C" __global__ void __launch_bounds__(128, 1)
rk_5b4e66e9e9f7421c_0(const float *__restrict__ t0,
    const float *__restrict__ t1,
    unsigned char *__restrict__ w) {
    constexpr int M = 32;
    constexpr int N = 196;
    constexpr int K = 144;
    constexpr int BM = 32;
    constexpr int BN = 32;
    constexpr int BK = 16;
    constexpr int WM = 16;
    constexpr int WN = 32;
    constexpr int WK = 8;
    constexpr int TM = 4;
    constexpr int TN = 4;
    constexpr int TK = 1;
    constexpr int LM = 4;
    constexpr int LN = 8;
    constexpr int VM = 4;
    constexpr int VN = 4;
    constexpr int THREADS = 128;
    constexpr int STAGES = 3;
    constexpr int STAGE = 4352;
    constexpr int A_TILE = 0;
    constexpr int A_ROW = 36;
    constexpr int B_TILE = 2304;
    constexpr int B_ROW = 32;
    constexpr int B_KTABLE = 13056;
    constexpr int B_KENTRIES = 16;
    extern __shared__ __align__(128) unsigned char smem[];

    const unsigned shared = rl_shared(smem);
    // place: tiles of the grid with m fastest
    const unsigned tile = blockIdx.x;
    const unsigned tile_m = tile / 7u;
    const unsigned tile_n = tile % 7u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x;
    const int lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane >> 1 & 1 | lane >> 2 & 2;
    const int lane_n = lane & 1 | lane >> 1 & 2 | lane >> 2 & 4;
    const int row = (int)(warp % 2u) * WM + lane_m * VM;
    const int col = lane_n * VN;
    const int k_warp = (int)(warp / 2u) * WK;
    const int first = blockIdx.y * 3;
    const int steps = min(9 - first, 3);
    int k_next = first * BK;
    int put = 0;
    int take = 0;
    int turn = 0;

    // address: operand a, 4 x 1 elements per thread along k
    const int a_mn = tid / 16u;
    const int a_k = tid % 16u;
    const int a_to = a_k * A_ROW + a_mn;
    const float *a_src = t1 + (long long)(m0 + a_mn) * 144 + (long long)(k_next + a_k);

    // address: operand b, 4 x 1 elements per thread along n
    const int b_k = tid / 32u;
    const int b_mn = tid % 32u;
    const int b_to = b_k * B_ROW + b_mn;
    const float *b_src = t0;
    rl_vec<int, 2> b_row[1];
    {
        const int at = n0 + b_mn;
        const int b_mn1 = at % 14u;
        const int b_mn0 = at / 14u;
        unsigned bits = (at < N ? 0u : 2147483648u) | 1073741824u;
        #pragma unroll
        for (int q0 = 0; q0 < 3; q0++) {
            if (!((unsigned)(b_mn0 - 1 + q0) < 14u)) {
                bits |= 1u << q0;
            }
        }
        #pragma unroll
        for (int q0 = 0; q0 < 3; q0++) {
            if (!((unsigned)(b_mn1 - 1 + q0) < 14u)) {
                bits |= 1u << 3 + q0;
            }
        }
        b_row[0].v[0] = b_mn0 * 14 + b_mn1 - 15;
        b_row[0].v[1] = (int)bits;
    }

    float acc[4][4];
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            acc[i][j] = 0.0f;
        }
    }
    float a_frag[2][4];
    float b_frag[2][4];

    // fill: the first steps
    if (tid < B_KENTRIES) {
        const int at = k_next + tid;
        const int b_k2 = at % 3u;
        const int b_k1 = at / 3u % 3u;
        const int b_k0 = at / 9u;
        int entry[2];
        entry[0] = b_k0 * 196 + b_k1 * 14 + b_k2;
        entry[1] = (int)(2147483648u | 1u << b_k1 | 1u << 3 + b_k2);
        rl_store<2>(reinterpret_cast<int *>(smem + B_KTABLE) + (turn * B_KENTRIES + tid) * 2, entry);
    }
    __syncthreads();
    #pragma unroll 1
    for (int step = 0; step < 2; step++) {
        if (step < steps) {
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                rl_cp_async_4(shared + put + A_TILE + (a_to + i * 8) * 4, a_src + i * 1152, true);
            }
            a_src += BK;
            #pragma unroll
            for (int g = 0; g < 4; g += 4) {
                const float *from[4];
                bool inside[4];
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    const int i = g + j;
                    const rl_vec<int, 2> b_e = rl_load<2>(reinterpret_cast<int *>(smem + B_KTABLE) + (turn * B_KENTRIES + (b_k + i * 4)) * 2);
                    const rl_vec<int, 2> b_r = b_row[0];
                    from[j] = b_src + (b_r.v[0] + b_e.v[0]);
                    inside[j] = (b_r.v[1] & b_e.v[1]) == 0;
                }
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    const int i = g + j;
                    rl_cp_async_4(shared + put + B_TILE + (b_to + i * 128) * 4, from[j], inside[j]);
                }
            }
            k_next += BK;
            turn ^= 1;
            if (tid < B_KENTRIES) {
                const int at = k_next + tid;
                const int b_k2 = at % 3u;
                const int b_k1 = at / 3u % 3u;
                const int b_k0 = at / 9u;
                int entry[2];
                entry[0] = b_k0 * 196 + b_k1 * 14 + b_k2;
                entry[1] = (int)(2147483648u | 1u << b_k1 | 1u << 3 + b_k2);
                rl_store<2>(reinterpret_cast<int *>(smem + B_KTABLE) + (turn * B_KENTRIES + tid) * 2, entry);
            }
        }
        rl_cp_async_commit();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
        __syncthreads();
    }
    rl_cp_async_wait<1>();
    __syncthreads();

    // fragment: registers of the first k
    {
        const float *const from = reinterpret_cast<const float *>(smem + take + A_TILE) + (k_warp * A_ROW + row);
        #pragma unroll
        for (int i = 0; i < 4; i += 4) {
            const rl_vec<float, 4> x = rl_load<4>(from + i * LM);
            #pragma unroll
            for (int v = 0; v < 4; v++) {
                a_frag[0][i + v] = x.v[v];
            }
        }
    }
    {
        const float *const from = reinterpret_cast<const float *>(smem + take + B_TILE) + (k_warp * B_ROW + col);
        #pragma unroll
        for (int i = 0; i < 4; i += 4) {
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
        // load: step + 2
        if (step + 2 < steps) {
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                rl_cp_async_4(shared + put + A_TILE + (a_to + i * 8) * 4, a_src + i * 1152, true);
            }
            a_src += BK;
            #pragma unroll
            for (int g = 0; g < 4; g += 4) {
                const float *from[4];
                bool inside[4];
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    const int i = g + j;
                    const rl_vec<int, 2> b_e = rl_load<2>(reinterpret_cast<int *>(smem + B_KTABLE) + (turn * B_KENTRIES + (b_k + i * 4)) * 2);
                    const rl_vec<int, 2> b_r = b_row[0];
                    from[j] = b_src + (b_r.v[0] + b_e.v[0]);
                    inside[j] = (b_r.v[1] & b_e.v[1]) == 0;
                }
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    const int i = g + j;
                    rl_cp_async_4(shared + put + B_TILE + (b_to + i * 128) * 4, from[j], inside[j]);
                }
            }
            k_next += BK;
            turn ^= 1;
            if (tid < B_KENTRIES) {
                const int at = k_next + tid;
                const int b_k2 = at % 3u;
                const int b_k1 = at / 3u % 3u;
                const int b_k0 = at / 9u;
                int entry[2];
                entry[0] = b_k0 * 196 + b_k1 * 14 + b_k2;
                entry[1] = (int)(2147483648u | 1u << b_k1 | 1u << 3 + b_k2);
                rl_store<2>(reinterpret_cast<int *>(smem + B_KTABLE) + (turn * B_KENTRIES + tid) * 2, entry);
            }
        }
        rl_cp_async_commit();
        // compute: 7 k
        #pragma unroll
        for (int kk = 0; kk < 7; kk++) {
            {
                const float *const from = reinterpret_cast<const float *>(smem + take + A_TILE) + (k_warp * A_ROW + row);
                #pragma unroll
                for (int i = 0; i < 4; i += 4) {
                    const rl_vec<float, 4> x = rl_load<4>(from + ((kk + 1) * A_ROW + i * LM));
                    #pragma unroll
                    for (int v = 0; v < 4; v++) {
                        a_frag[kk + 1 & 1][i + v] = x.v[v];
                    }
                }
            }
            {
                const float *const from = reinterpret_cast<const float *>(smem + take + B_TILE) + (k_warp * B_ROW + col);
                #pragma unroll
                for (int i = 0; i < 4; i += 4) {
                    const rl_vec<float, 4> x = rl_load<4>(from + ((kk + 1) * B_ROW + i * LN));
                    #pragma unroll
                    for (int v = 0; v < 4; v++) {
                        b_frag[kk + 1 & 1][i + v] = x.v[v];
                    }
                }
            }
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    acc[i][j] = fmaf(a_frag[kk & 1][i], b_frag[kk & 1][j], acc[i][j]);
                }
            }
        }
        // wait: the next stage is complete
        rl_cp_async_wait<1>();
        __syncthreads();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
        take = take + STAGE < STAGES * STAGE ? take + STAGE : 0;
        // compute: the last k, with fragments of the next stage under way
        if (step + 1 < steps) {
            {
                const float *const from = reinterpret_cast<const float *>(smem + take + A_TILE) + (k_warp * A_ROW + row);
                #pragma unroll
                for (int i = 0; i < 4; i += 4) {
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
                const float *const from = reinterpret_cast<const float *>(smem + take + B_TILE) + (k_warp * B_ROW + col);
                #pragma unroll
                for (int i = 0; i < 4; i += 4) {
                    const rl_vec<float, 4> x = rl_load<4>(from + i * LN);
                    #pragma unroll
                    for (int v = 0; v < 4; v++) {
                        b_frag[0][i + v] = x.v[v];
                    }
                }
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                acc[i][j] = fmaf(a_frag[7 & 1][i], b_frag[7 & 1][j], acc[i][j]);
            }
        }
    } while (++step < steps);
    // reduce: 2 slices of warps
    float *copies = reinterpret_cast<float *>(smem) + tid % 64 * 4;
    __syncthreads();
    if (k_warp > 0) {
        copies += (k_warp / 8 + (-1)) * 1024;
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int p = 0; p < 1; p++) {
                rl_store_shared<4>(copies, i * 256 + p * 4 * 64, acc[i] + p * 4);
            }
        }
    }
    __syncthreads();
    if (k_warp > 0) return;
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int p = 0; p < 1; p++) {
            const rl_vec<float, 4> x = rl_load<4>(copies + (i * 256 + p * 4 * 64));
            #pragma unroll
            for (int v = 0; v < 4; v++) {
                acc[i][p * 4 + v] = acc[i][p * 4 + v] + x.v[v];
            }
        }
    }

    // partial: sums of this slice to the workspace
    float *const sums = reinterpret_cast<float *>(w);
    {
        const int m_at = m0 + row;
        const int n_at = n0 + col;
        float *const part = sums + (((long long)blockIdx.y * M + m_at) * N + n_at);
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            const int m = m_at + (i / VM * (LM * VM) + i % VM);
            #pragma unroll
            for (int j = 0; j < 4; j += 4) {
                const int n = n_at + (j / VN * (LN * VN) + j % VN);
                if (n < N) {
                    rl_store_global<4>(part + ((long long)(i / VM * (LM * VM) + i % VM) * N + (long long)(j / VN * (LN * VN) + j % VN)), &acc[i][j]);
                }
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
rk_5b4e66e9e9f7421c_1(float *__restrict__ t2,
    unsigned char *__restrict__ w) {
    // elements: 4 at a time, the domain is [B][M][N]
    constexpr int TOTAL = 6272;
    float *const left = reinterpret_cast<float *>(w);
    #pragma unroll 1
    for (int u = threadIdx.x; u < 128; u += 128) {
        const int at = (int)blockIdx.x * 512 + u * 4;
        if (at >= TOTAL) break;
        const int b = 0;
        const int m = at / 196u;
        const int n = at % 196u;
        const int i0 = m;
        const int i2 = n % 14u;
        const int i1 = n / 14u;
        // gather: the slices in order
        const long long take = at + rl_hidden(0);
        float sum[4];
        #pragma unroll
        for (int p = 0; p < 1; p++) {
            const rl_vec<float, 4> x = rl_load<4>(left + (take + p * 4));
            #pragma unroll
            for (int v = 0; v < 4; v++) {
                sum[p * 4 + v] = x.v[v];
            }
        }
        #pragma unroll 4
        for (int s = 1; s < 3; s++) {
            #pragma unroll
            for (int p = 0; p < 1; p++) {
                const rl_vec<float, 4> x = rl_load<4>(left + ((long long)s * TOTAL + take + p * 4));
                #pragma unroll
                for (int v = 0; v < 4; v++) {
                    sum[p * 4 + v] = sum[p * 4 + v] + x.v[v];
                }
            }
        }
        float o2[4];
        #pragma unroll
        for (int v = 0; v < 4; v++) {
            const int i2_2 = (n + v) % 14u;
            const int i1_2 = (n + v) / 14u;
            o2[v] = sum[v];
        }
        rl_store<4>(t2 + (i0 * 196 + i1 * 14 + i2), o2);
    }
}
