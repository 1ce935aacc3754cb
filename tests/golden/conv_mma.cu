// roller-plan 1
// kernel 0
//   skeleton contract
//   unit mma.m16n8k16.f16.f32
//   block 1 64 64 64
//   warp 1 32 32 64
//   thread 1 16 8 16
//   vec 1 2
//   unroll 64
//   stages 3
//   a async cp.async.16 vec 8 along k inner k swizzle 3 0 0 table
//   b async cp.async.16 vec 8 along k inner k swizzle 3 0 0
//   store 2
//   raster row
//   split 2
//   blocks_per_sm 2
//
// arguments
//   0  f16[9,9,64]
//   1  f16[72,3,3,64]
//   2  f16[9,9,72]  output
//   w  workspace of 46848 bytes
// launches
//   rk_9cf008b9b57b90dc_0  grid 4,2  block 128  dynamic shared memory 49792
//     takes 0, 1, w + 0
//   rk_9cf008b9b57b90dc_1  grid 12,1  block 128  dynamic shared memory 0
//     takes 2, w + 0

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

__device__ __forceinline__ void rl_cp_async_16_if(bool wanted, unsigned to, const void *from, bool inside) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %0, 0;"
                 " @p cp.async.cg.shared.global [%1], [%2], 16, %3; }"
                 :: "r"((int)wanted), "r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

__device__ __forceinline__ void rl_cp_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> __device__ __forceinline__ void rl_cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}

__device__ __forceinline__ void rl_ldmatrix_x4(unsigned *x, unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from) : "memory");
}

__device__ __forceinline__ void rl_mma_m16n8k16_f16_f32(float *d, const unsigned *a, const unsigned *b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ int rl_hidden(int x) {
    int y;
    asm volatile("mov.s32 %0, %1;" : "=r"(y) : "r"(x));
    return y;
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

extern "C" __global__ void __launch_bounds__(128, 1)
rk_9cf008b9b57b90dc_0(const unsigned short *__restrict__ t0,
    const unsigned short *__restrict__ t1,
    unsigned char *__restrict__ w) {
    constexpr int M = 81;
    constexpr int N = 72;
    constexpr int K = 576;
    constexpr int BM = 64;
    constexpr int BN = 64;
    constexpr int BK = 64;
    constexpr int WM = 32;
    constexpr int WN = 32;
    constexpr int WK = 64;
    constexpr int TM = 16;
    constexpr int TN = 8;
    constexpr int TK = 16;
    constexpr int IM = 2;
    constexpr int IN = 4;
    constexpr int THREADS = 128;
    constexpr int STAGES = 3;
    constexpr int STAGE = 16384;
    constexpr int A_TILE = 0;
    constexpr int A_ROW = 64;
    constexpr int A_KTABLE = 49152;
    constexpr int A_KENTRIES = 8;
    constexpr int A_RTABLE = 49280;
    constexpr int A_RENTRIES = 64;
    constexpr int B_TILE = 8192;
    constexpr int B_ROW = 64;
    extern __shared__ __align__(128) unsigned char smem[];

    const unsigned shared = rl_shared(smem);
    rl_next_may_begin();
    // place: tiles of the grid with n fastest
    const unsigned tile = blockIdx.x;
    const unsigned tile_m = tile / 2u;
    const unsigned tile_n = tile % 2u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x;
    const int lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane / 4u;
    const int lane_n = lane % 4u * 2;
    const int row = (int)(warp / 2u % 2u) * WM;
    const int col = (int)(warp % 2u) * WN;
    const int first = blockIdx.y * 5;
    const int steps = min(9 - first, rl_hidden(5));
    int k_next = first * BK;
    int put = 0;
    int take = 0;
    int turn = 0;

    // address: operand a, 4 x 8 elements per thread along k
    const int a_mn = tid / 8u;
    const int a_k = tid % 8u * 8u;
    const int a_to = a_mn * A_ROW + (a_k ^ (a_mn >> 0 & 7) << 3);
    const unsigned short *a_src = t0;
    for (int r = tid; r < A_RENTRIES; r += THREADS) {
        int entry[2];
        const int at = m0 + r;
        const int a_mn1 = at % 9u;
        const int a_mn0 = at / 9u;
        unsigned bits = (at < M ? 0u : 2147483648u) | 1073741824u;
        #pragma unroll
        for (int q0 = 0; q0 < 3; q0++) {
            if (!((unsigned)(a_mn0 - 1 + q0) < 9u)) {
                bits |= 1u << q0;
            }
        }
        #pragma unroll
        for (int q0 = 0; q0 < 3; q0++) {
            if (!((unsigned)(a_mn1 - 1 + q0) < 9u)) {
                bits |= 1u << 3 + q0;
            }
        }
        entry[0] = a_mn0 * 576 + a_mn1 * 64 - 640;
        entry[1] = (int)bits;
        rl_store<2>(reinterpret_cast<int *>(smem + A_RTABLE) + r * 2, entry);
    }

    // address: operand b, 4 x 8 elements per thread along k
    const int b_mn = tid / 8u;
    const int b_k = tid % 8u * 8u;
    const int b_to = b_mn * B_ROW + (b_k ^ (b_mn >> 0 & 7) << 3);
    const unsigned short *b_src = t1 + (long long)(n0 + b_mn) * 576 + (long long)(k_next + b_k);

    float acc[2][4][4];
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        #pragma unroll
        for (int j = 0; j < 16; j++) {
            acc[i][j / 4][j % 4] = 0;
        }
    }
    unsigned a_frag[2][8];
    // operand a: row of the lane, byte in it
    const int a_r = row + lane / 8u % 2u * 8 + lane % 8u;
    const int a_e = lane / 16u % 2u * 8 * 2;
    const int a_at = a_r * 128 + (a_e ^ (a_r >> 0 & 7) << 4);
    unsigned b_frag[2][8];
    // operand b: row of the lane, byte in it
    const int b_r = col + lane / 16u * 8 + lane % 8u;
    const int b_e = lane / 8u % 2u * 8 * 2;
    const int b_at = b_r * 128 + (b_e ^ (b_r >> 0 & 7) << 4);

    // fill: the first steps
    if (tid < A_KENTRIES) {
        const int at = k_next + tid * 8;
        const int a_k2 = at % 64u;
        const int a_k1 = at / 64u % 3u;
        const int a_k0 = at / 192u;
        int entry[2];
        entry[0] = a_k0 * 576 + a_k1 * 64 + a_k2;
        entry[1] = (int)(2147483648u | 1u << a_k0 | 1u << 3 + a_k1);
        rl_store<2>(reinterpret_cast<int *>(smem + A_KTABLE) + (turn * A_KENTRIES + tid) * 2, entry);
    }
    __syncthreads();
    #pragma unroll 1
    for (int step = 0; step < 2; step++) {
        if (step < steps) {
            const rl_vec<int, 2> a_e_2 = rl_load<2>(reinterpret_cast<int *>(smem + A_KTABLE) + (turn * A_KENTRIES + a_k / 8) * 2);
            #pragma unroll
            for (int g = 0; g < 4; g += 4) {
                const unsigned short *from[4];
                bool inside[4];
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    const int i = g + j;
                    const rl_vec<int, 2> a_r_2 = rl_load<2>(reinterpret_cast<int *>(smem + A_RTABLE) + (a_mn + i * 16) * 2);
                    from[j] = a_src + (a_r_2.v[0] + a_e_2.v[0]);
                    inside[j] = (a_r_2.v[1] & a_e_2.v[1]) == 0;
                }
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    const int i = g + j;
                    rl_cp_async_16(shared + put + A_TILE + (a_to + i * 1024) * 2, from[j], inside[j]);
                }
            }
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                rl_cp_async_16(shared + put + B_TILE + (b_to + i * 1024) * 2, b_src + i * 9216, n0 + (b_mn + i * 16) < N);
            }
            b_src += BK;
            k_next += BK;
            turn ^= 1;
            if (tid < A_KENTRIES) {
                const int at = k_next + tid * 8;
                const int a_k2 = at % 64u;
                const int a_k1 = at / 64u % 3u;
                const int a_k0 = at / 192u;
                int entry[2];
                entry[0] = a_k0 * 576 + a_k1 * 64 + a_k2;
                entry[1] = (int)(2147483648u | 1u << a_k0 | 1u << 3 + a_k1);
                rl_store<2>(reinterpret_cast<int *>(smem + A_KTABLE) + (turn * A_KENTRIES + tid) * 2, entry);
            }
        }
        rl_cp_async_commit();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
        __syncthreads();
    }
    rl_cp_async_wait<1>();
    __syncthreads();

    // fragment: registers of the first slice
    #pragma unroll
    for (int g = 0; g < 8; g += 4) {
        rl_ldmatrix_x4(a_frag[0] + g, shared + take + A_TILE + (a_at ^ 0) + g / 2 * 8 * 128);
    }
    #pragma unroll
    for (int g = 0; g < 8; g += 4) {
        rl_ldmatrix_x4(b_frag[0] + g, shared + take + B_TILE + (b_at ^ 0) + g / 2 * 8 * 128);
    }

    int step = 0;
    #pragma unroll 1
    do {
        // load: step + 2, between the products
        const bool more = step + 2 < steps;
        const rl_vec<int, 2> a_e_2 = rl_load<2>(reinterpret_cast<int *>(smem + A_KTABLE) + (turn * A_KENTRIES + a_k / 8) * 2);
        // compute: slices of 16 k
        #pragma unroll
        for (int kk = 0; kk < 48; kk += 16) {
            #pragma unroll
            for (int g = 0; g < 8; g += 4) {
                rl_ldmatrix_x4(a_frag[(kk / TK + 1) % 2] + g, shared + take + A_TILE + (a_at ^ (kk + TK) * 2) + g / 2 * 8 * 128);
            }
            #pragma unroll
            for (int g = 0; g < 8; g += 4) {
                rl_ldmatrix_x4(b_frag[(kk / TK + 1) % 2] + g, shared + take + B_TILE + (b_at ^ (kk + TK) * 2) + g / 2 * 8 * 128);
            }
            #pragma unroll
            for (int r = 0; r < 2; r++) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    rl_mma_m16n8k16_f16_f32(acc[r][j], a_frag[kk / TK % 2] + r * 4, b_frag[kk / TK % 2] + j * 2);
                }
                #pragma unroll
                for (int g = 0; g < 4; g += 4) {
                    const unsigned short *from[4];
                    bool inside[4];
                    #pragma unroll
                    for (int j = 0; j < 4; j++) {
                        const int i = g + j;
                        if (i * 6 / 4 == kk / TK * 2 + r) {
                            const rl_vec<int, 2> a_r_2 = rl_load<2>(reinterpret_cast<int *>(smem + A_RTABLE) + (a_mn + i * 16) * 2);
                            from[j] = a_src + (a_r_2.v[0] + a_e_2.v[0]);
                            inside[j] = (a_r_2.v[1] & a_e_2.v[1]) == 0;
                        }
                    }
                    #pragma unroll
                    for (int j = 0; j < 4; j++) {
                        const int i = g + j;
                        if (i * 6 / 4 == kk / TK * 2 + r) {
                            rl_cp_async_16_if(more, shared + put + A_TILE + (a_to + i * 1024) * 2, from[j], inside[j]);
                        }
                    }
                }
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    if (i * 6 / 4 == kk / TK * 2 + r) {
                        rl_cp_async_16_if(more, shared + put + B_TILE + (b_to + i * 1024) * 2, b_src + i * 9216, n0 + (b_mn + i * 16) < N);
                    }
                }
            }
        }
        b_src += BK;
        k_next += BK;
        turn ^= 1;
        if (tid < A_KENTRIES) {
            const int at = k_next + tid * 8;
            const int a_k2 = at % 64u;
            const int a_k1 = at / 64u % 3u;
            const int a_k0 = at / 192u;
            int entry[2];
            entry[0] = a_k0 * 576 + a_k1 * 64 + a_k2;
            entry[1] = (int)(2147483648u | 1u << a_k0 | 1u << 3 + a_k1);
            rl_store<2>(reinterpret_cast<int *>(smem + A_KTABLE) + (turn * A_KENTRIES + tid) * 2, entry);
        }
        rl_cp_async_commit();
        // wait: the next stage is complete
        rl_cp_async_wait<1>();
        __syncthreads();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
        // the last step stays where it is, and fetches once more for nobody
        const bool next = step + 1 < steps;
        if (next) {
            take = take + STAGE < STAGES * STAGE ? take + STAGE : 0;
        }
        // compute: the last slice, with fragments of the next stage under way
        #pragma unroll
        for (int g = 0; g < 8; g += 4) {
            rl_ldmatrix_x4(a_frag[0] + g, shared + take + A_TILE + (a_at ^ 0) + g / 2 * 8 * 128);
        }
        #pragma unroll
        for (int g = 0; g < 8; g += 4) {
            rl_ldmatrix_x4(b_frag[0] + g, shared + take + B_TILE + (b_at ^ 0) + g / 2 * 8 * 128);
        }
        #pragma unroll
        for (int r = 0; r < 2; r++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                rl_mma_m16n8k16_f16_f32(acc[r][j], a_frag[1] + r * 4, b_frag[1] + j * 2);
            }
        }
    } while (++step < steps);
    // partial: sums of this slice to the workspace
    float *const sums = reinterpret_cast<float *>(w);
    {
        const int m_at = m0 + row + lane_m;
        const int n_at = n0 + col + lane_n;
        float *const part = sums + (((long long)blockIdx.y * M + m_at) * N + n_at);
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int f = 0; f < 2; f++) {
                const int m = m_at + (i * TM + f * 8);
                if (m < M) {
                    #pragma unroll
                    for (int j = 0; j < 4; j++) {
                        #pragma unroll
                        for (int g = 0; g < 2; g += 2) {
                            const int n = n_at + (j * TN + g);
                            if (n < N) {
                                rl_store_global<2>(part + ((long long)(i * TM + f * 8) * N + (long long)(j * TN + g)), &acc[i][j][f * 2 + g]);
                            }
                        }
                    }
                }
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
rk_9cf008b9b57b90dc_1(unsigned short *__restrict__ t2,
    unsigned char *__restrict__ w) {
    rl_previous_wait();
    w = rl_behind(w);
    // elements: 4 at a time, the domain is [B][M][N]
    constexpr int TOTAL = 5832;
    float *const left = reinterpret_cast<float *>(w);
    #pragma unroll 1
    for (int u = threadIdx.x; u < 128; u += 128) {
        const int at = (int)blockIdx.x * 512 + u * 4;
        if (at >= TOTAL) break;
        const int b = 0;
        const int m = at / 72u;
        const int n = at % 72u;
        const int i1 = m % 9u;
        const int i0 = m / 9u;
        const int i2 = n;
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
        for (int s = 1; s < 2; s++) {
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
            o2[v] = sum[v];
        }
        rl_store_f16<4>(t2 + (i0 * 648 + i1 * 72 + i2), o2);
    }
}
