// roller-plan 1
// statement 2 joined
// kernel 0
//   skeleton contract
//   unit mma.m16n8k16.f16.f32
//   block 1 32 64 32
//   warp 1 32 32 32
//   thread 1 16 8 16
//   vec 1 2
//   unroll 32
//   stages 2
//   a async cp.async.16 vec 8 along k inner k swizzle 2 1 0
//   b async cp.async.16 vec 8 along k inner k swizzle 2 1 0
//   store 4 shared
//   raster row
//   split 1
//   rows whole
//   blocks_per_sm 2
//
// arguments
//   0  f16[40,32]
//   1  f16[56,32]
//   2  f32[40,56]
//   3  f32[40,56]  output
//   4  f32[40]  output
// launches
//   rk_bca9058358e3c2b9_0  grid 2,1  block 64  dynamic shared memory 12544
//     takes 0, 1, 2, 3, 4

template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };

template <int N, typename T> __device__ __forceinline__ rl_vec<T, N> rl_load(const T *p) {
    return *reinterpret_cast<const rl_vec<T, N> *>(p);
}

__device__ __forceinline__ float rl_max_f32(float x, float y) {
    float z;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
    return z;
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

extern "C" __global__ void __launch_bounds__(64, 1)
rk_bca9058358e3c2b9_0(const unsigned short *__restrict__ t0,
    const unsigned short *__restrict__ t1,
    const float *__restrict__ t2,
    float *__restrict__ t3,
    float *__restrict__ t4) {
    constexpr int M = 40;
    constexpr int N = 56;
    constexpr int K = 32;
    constexpr int BM = 32;
    constexpr int BN = 64;
    constexpr int BK = 32;
    constexpr int WM = 32;
    constexpr int WN = 32;
    constexpr int WK = 32;
    constexpr int TM = 16;
    constexpr int TN = 8;
    constexpr int TK = 16;
    constexpr int IM = 2;
    constexpr int IN = 4;
    constexpr int THREADS = 64;
    constexpr int STAGES = 2;
    constexpr int STAGE = 6144;
    constexpr int A_TILE = 0;
    constexpr int A_ROW = 32;
    constexpr int B_TILE = 2048;
    constexpr int B_ROW = 32;
    constexpr int steps = 1;
    extern __shared__ __align__(128) unsigned char smem[];

    const unsigned shared = rl_shared(smem);
    // place: tiles of the grid with n fastest
    const unsigned tile = blockIdx.x;
    const unsigned tile_m = tile;
    const unsigned tile_n = tile % 1u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x;
    const int lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane / 4u;
    const int lane_n = lane % 4u * 2;
    const int row = 0;
    const int col = (int)(warp % 2u) * WN;
    int k_next = 0;
    int put = 0;
    int take = 0;

    // address: operand a, 2 x 8 elements per thread along k
    const int a_mn = tid / 4u;
    const int a_k = tid % 4u * 8u;
    const int a_to = a_mn * A_ROW + (a_k ^ (a_mn >> 1 & 3) << 3);
    const unsigned short *a_src = t0 + (long long)(m0 + a_mn) * 32 + (long long)(k_next + a_k);

    // address: operand b, 4 x 8 elements per thread along k
    const int b_mn = tid / 4u;
    const int b_k = tid % 4u * 8u;
    const int b_to = b_mn * B_ROW + (b_k ^ (b_mn >> 1 & 3) << 3);
    const unsigned short *b_src = t1 + (long long)(n0 + b_mn) * 32 + (long long)(k_next + b_k);

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
    const int a_at = a_r * 64 + (a_e ^ (a_r >> 1 & 3) << 4);
    unsigned b_frag[2][8];
    // operand b: row of the lane, byte in it
    const int b_r = col + lane / 16u * 8 + lane % 8u;
    const int b_e = lane / 8u % 2u * 8 * 2;
    const int b_at = b_r * 64 + (b_e ^ (b_r >> 1 & 3) << 4);

    // fill: the first step
    {
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            rl_cp_async_16(shared + put + A_TILE + (a_to + i * 512) * 2, a_src + i * 512, m0 + (a_mn + i * 16) < M);
        }
        a_src += BK;
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            rl_cp_async_16(shared + put + B_TILE + (b_to + i * 512) * 2, b_src + i * 512, n0 + (b_mn + i * 16) < N);
        }
        b_src += BK;
        k_next += BK;
    }
    rl_cp_async_commit();
    put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
    rl_cp_async_wait<0>();
    __syncthreads();

    // fragment: registers of the first slice
    #pragma unroll
    for (int g = 0; g < 8; g += 4) {
        rl_ldmatrix_x4(a_frag[0] + g, shared + take + A_TILE + (a_at ^ 0) + g / 2 * 8 * 64);
    }
    #pragma unroll
    for (int g = 0; g < 8; g += 4) {
        rl_ldmatrix_x4(b_frag[0] + g, shared + take + B_TILE + (b_at ^ 0) + g / 2 * 8 * 64);
    }

    int step = 0;
    #pragma unroll 1
    do {
        // load: step + 1, between the products
        const bool more = step + 1 < steps;
        // compute: slices of 16 k
        #pragma unroll
        for (int kk = 0; kk < 16; kk += 16) {
            #pragma unroll
            for (int g = 0; g < 8; g += 4) {
                rl_ldmatrix_x4(a_frag[(kk / TK + 1) % 2] + g, shared + take + A_TILE + (a_at ^ (kk + TK) * 2) + g / 2 * 8 * 64);
            }
            #pragma unroll
            for (int g = 0; g < 8; g += 4) {
                rl_ldmatrix_x4(b_frag[(kk / TK + 1) % 2] + g, shared + take + B_TILE + (b_at ^ (kk + TK) * 2) + g / 2 * 8 * 64);
            }
            #pragma unroll
            for (int r = 0; r < 2; r++) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    rl_mma_m16n8k16_f16_f32(acc[r][j], a_frag[kk / TK % 2] + r * 4, b_frag[kk / TK % 2] + j * 2);
                }
                #pragma unroll
                for (int i = 0; i < 2; i++) {
                    if (i == r) {
                        rl_cp_async_16_if(more, shared + put + A_TILE + (a_to + i * 512) * 2, a_src + i * 512, m0 + (a_mn + i * 16) < M);
                    }
                }
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    if (i * 2 / 4 == r) {
                        rl_cp_async_16_if(more, shared + put + B_TILE + (b_to + i * 512) * 2, b_src + i * 512, n0 + (b_mn + i * 16) < N);
                    }
                }
            }
        }
        a_src += BK;
        b_src += BK;
        k_next += BK;
        rl_cp_async_commit();
        // wait: the next stage is complete
        rl_cp_async_wait<0>();
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
            rl_ldmatrix_x4(a_frag[0] + g, shared + take + A_TILE + (a_at ^ 0) + g / 2 * 8 * 64);
        }
        #pragma unroll
        for (int g = 0; g < 8; g += 4) {
            rl_ldmatrix_x4(b_frag[0] + g, shared + take + B_TILE + (b_at ^ 0) + g / 2 * 8 * 64);
        }
        #pragma unroll
        for (int r = 0; r < 2; r++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                rl_mma_m16n8k16_f16_f32(acc[r][j], a_frag[1] + r * 4, b_frag[1] + j * 2);
            }
        }
    } while (++step < steps);
    // rows: where their values lie
    float *const part7 = reinterpret_cast<float *>(smem);
    float *const value7 = reinterpret_cast<float *>(smem + 12288);
    float *const part4 = reinterpret_cast<float *>(smem + 256);
    float *const value4 = reinterpret_cast<float *>(smem + 12416);

    // pass 0 over the rows
    float f7[4];
    #pragma unroll
    for (int x = 0; x < 4; x++) {
        f7[x] = (-__int_as_float(0x7f800000));
    }
    {
        {
            const int m_at = m0 + row + lane_m;
            const int n_at = n0 + col + lane_n;
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
                                    const int i0 = m;
                                    const int i1 = n;
                                    rl_vec<float, 2> x0[1];
                                    #pragma unroll
                                    for (int p = 0; p < 1; p++) {
                                        x0[p] = rl_load<2>(t2 + (i0 * 56 + i1) + p * 2);
                                    }
                                    #pragma unroll
                                    for (int v = 0; v < 2; v++) {
                                        const float e5 = acc[i][j][f * 2 + g + v];
                                        const float e6 = e5 + x0[v / 2].v[v % 2];
                                        f7[i * 2 + f] = rl_max_f32(f7[i * 2 + f], e6);
                                        acc[i][j][f * 2 + g + v] = e6;
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    #pragma unroll
    for (int x = 0; x < 4; x++) {
        #pragma unroll
        for (int f = 2; f > 0; f /= 2) {
            const float y = __shfl_xor_sync(0xffffffffu, f7[x], f);
            f7[x] = rl_max_f32(f7[x], y);
        }
    }
    __syncthreads();  // stages become parts of rows
    if ((lane & 3) == 0) {
        #pragma unroll
        for (int x = 0; x < 4; x++) {
            part7[col / 32 * 32 + row + lane_m + x / 2 * 16 + x % 2 * 8] = f7[x];
        }
    }
    __syncthreads();
    #pragma unroll 1
    for (int at = tid; at < 32; at += 64) {
        const int m = m0 + at;
        if (m >= M) break;
        float acc7 = (-__int_as_float(0x7f800000));
        #pragma unroll 4
        for (int s = 0; s < 2; s++) {
            const float x7 = part7[s * 32 + at];
            acc7 = rl_max_f32(acc7, x7);
        }
        const int i0 = m;
        const float e7 = acc7;
        value7[at] = e7;
    }
    __syncthreads();

    // pass 1 over the rows
    float f4[4];
    #pragma unroll
    for (int x = 0; x < 4; x++) {
        f4[x] = 0.0f;
    }
    {
        {
            const int m_at = m0 + row + lane_m;
            const int n_at = n0 + col + lane_n;
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int f = 0; f < 2; f++) {
                    const int m = m_at + (i * TM + f * 8);
                    if (m < M) {
                        const float r7 = value7[(int)(m - m0)];
                        #pragma unroll
                        for (int j = 0; j < 4; j++) {
                            #pragma unroll
                            for (int g = 0; g < 2; g += 2) {
                                const int n = n_at + (j * TN + g);
                                if (n < N) {
                                    const int i0 = m;
                                    const int i1 = n;
                                    #pragma unroll
                                    for (int v = 0; v < 2; v++) {
                                        f4[i * 2 + f] = f4[i * 2 + f] + (acc[i][j][f * 2 + g + v] - r7);
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    #pragma unroll
    for (int x = 0; x < 4; x++) {
        #pragma unroll
        for (int f = 2; f > 0; f /= 2) {
            const float y = __shfl_xor_sync(0xffffffffu, f4[x], f);
            f4[x] = f4[x] + y;
        }
    }
    if ((lane & 3) == 0) {
        #pragma unroll
        for (int x = 0; x < 4; x++) {
            part4[col / 32 * 32 + row + lane_m + x / 2 * 16 + x % 2 * 8] = f4[x];
        }
    }
    __syncthreads();
    #pragma unroll 1
    for (int at = tid; at < 32; at += 64) {
        const int m = m0 + at;
        if (m >= M) break;
        float acc4 = 0.0f;
        #pragma unroll 4
        for (int s = 0; s < 2; s++) {
            const float x4 = part4[s * 32 + at];
            acc4 = acc4 + x4;
        }
        const int i0 = m;
        const float e4 = acc4;
        value4[at] = e4;
        t4[i0] = e4;
    }
    __syncthreads();

    // elements: 4 outputs of the thread at a time, through shared memory
    {
        float *const piece = reinterpret_cast<float *>(smem + warp * 2560);
        float *const to = piece + (lane_m * 40 + lane_n);
        const float *const from = piece + ((unsigned)lane / 8u * 40 + (unsigned)lane % 8u * 4);
        const int m_at = m0 + row + (int)(lane / 8u);
        const int n_at = n0 + col + (int)(lane % 8u * 4);
        float *const p3 = t3 + (m_at * 56 + n_at);
        #pragma unroll 1
        for (int i = 0; i < 2; i++) {
            if (i > 0) {
                __syncwarp();
            }
            #pragma unroll
            for (int r = 0; r < 2; r++) {
                if (r == i) {
                    #pragma unroll
                    for (int j = 0; j < 4; j++) {
                        #pragma unroll
                        for (int f = 0; f < 4; f += 2) {
                            rl_store_shared<2>(to, f * 160 + j * TN, acc[r][j] + f);
                        }
                    }
                }
            }
            __syncwarp();
            #pragma unroll 1
            for (int s = 0; s < 4; s++) {
                const int m = m_at + (i * TM + s * 4);
                if (m < M) {
                    const float r7 = value7[(int)(m - m0)];
                    const int n = n_at;
                    if (n < N) {
                        rl_vec<float, 4> value[1];
                        #pragma unroll
                        for (int p = 0; p < 1; p++) {
                            value[p] = rl_load<4>(from + s * 160 + p * 4);
                        }
                        const int i0 = m;
                        const int i1 = n;
                        float o3[4];
                        #pragma unroll
                        for (int v = 0; v < 4; v++) {
                            const float e6 = value[v / 4].v[v % 4];
                            o3[v] = e6 - r7;
                        }
                        rl_store<4>(p3 + (i * TM + s * 4) * 56, o3);
                    }
                }
            }
        }
    }
}
