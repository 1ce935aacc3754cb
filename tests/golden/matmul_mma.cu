// roller-plan 1
// kernel 0
//   skeleton contract
//   unit mma.m16n8k16.f16.f32
//   block 1 128 256 32
//   warp 1 64 64 32
//   thread 1 16 8 16
//   vec 1 2
//   unroll 32
//   stages 4
//   a async cp.async.16 vec 8 along k inner k swizzle 2 1 0
//   b async cp.async.16 vec 8 along n inner n swizzle 3 0 0
//   store 8 shared
//   raster grouped 8
//   split 1
//   blocks_per_sm 1
//
// arguments
//   0  f16[200,160]
//   1  f16[160,256]
//   2  f16[256]
//   3  f16[200,256]  output
// launches
//   rk_7ac6670f00947cfd_0  grid 2,1  block 256  dynamic shared memory 98304
//     takes 0, 1, 2, 3

template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };

template <int N, typename T> __device__ __forceinline__ rl_vec<T, N> rl_load(const T *p) {
    return *reinterpret_cast<const rl_vec<T, N> *>(p);
}

__device__ __forceinline__ float rl_f16_to_f32(unsigned short x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
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

__device__ __forceinline__ void rl_ldmatrix_x4_trans(unsigned *x, unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
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

extern "C" __global__ void __launch_bounds__(256, 1)
rk_7ac6670f00947cfd_0(const unsigned short *__restrict__ t0,
    const unsigned short *__restrict__ t1,
    const unsigned short *__restrict__ t2,
    unsigned short *__restrict__ t3) {
    constexpr int M = 200;
    constexpr int N = 256;
    constexpr int K = 160;
    constexpr int BM = 128;
    constexpr int BN = 256;
    constexpr int BK = 32;
    constexpr int WM = 64;
    constexpr int WN = 64;
    constexpr int WK = 32;
    constexpr int TM = 16;
    constexpr int TN = 8;
    constexpr int TK = 16;
    constexpr int IM = 4;
    constexpr int IN = 8;
    constexpr int THREADS = 256;
    constexpr int STAGES = 4;
    constexpr int STAGE = 24576;
    constexpr int A_TILE = 0;
    constexpr int A_ROW = 32;
    constexpr int B_TILE = 8192;
    constexpr int B_ROW = 256;
    const int steps = rl_hidden(5);
    extern __shared__ __align__(128) unsigned char smem[];

    const unsigned shared = rl_shared(smem);
    // place: tiles of the grid with groups of tile rows, m fastest
    const unsigned tile = blockIdx.x;
    const unsigned tile_m = tile % 2u;
    const unsigned tile_n = tile / 2u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x;
    const int lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane / 4u;
    const int lane_n = lane % 4u * 2;
    const int row = (int)(warp / 4u % 2u) * WM;
    const int col = (int)(warp % 4u) * WN;
    int k_next = 0;
    int put = 0;
    int take = 0;

    // address: operand a, 2 x 8 elements per thread along k
    const int a_mn = tid / 4u;
    const int a_k = tid % 4u * 8u;
    const int a_to = a_mn * A_ROW + (a_k ^ (a_mn >> 1 & 3) << 3);
    const unsigned short *a_src = t0 + (long long)(m0 + a_mn) * 160 + (long long)(k_next + a_k);

    // address: operand b, 4 x 8 elements per thread along n
    const int b_k = tid / 32u;
    const int b_mn = tid % 32u * 8u;
    const int b_to = b_k * B_ROW + (b_mn ^ (b_k >> 0 & 7) << 3);
    const unsigned short *b_src = t1 + (long long)(n0 + b_mn) + (long long)(k_next + b_k) * 256;

    float acc[4][8][4];
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 32; j++) {
            acc[i][j / 4][j % 4] = 0;
        }
    }
    unsigned a_frag[2][16];
    // operand a: row of the lane, byte in it
    const int a_r = row + lane / 8u % 2u * 8 + lane % 8u;
    const int a_e = lane / 16u % 2u * 8 * 2;
    const int a_at = a_r * 64 + (a_e ^ (a_r >> 1 & 3) << 4);
    unsigned b_frag[2][16];
    // operand b: row of the lane, byte in it
    const int b_r = lane / 8u % 2u * 8 + lane % 8u;
    const int b_e = (col + lane / 16u * 8) * 2;
    const int b_at = b_r * 512 + (b_e ^ (b_r >> 0 & 7) << 4);

    // fill: the first steps
    #pragma unroll 1
    for (int step = 0; step < 3; step++) {
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            rl_cp_async_16(shared + put + A_TILE + (a_to + i * 2048) * 2, a_src + i * 10240, m0 + (a_mn + i * 64) < M);
        }
        a_src += BK;
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            rl_cp_async_16(shared + put + B_TILE + (b_to + i * 2048) * 2, b_src + i * 2048, true);
        }
        b_src += BK * 256;
        k_next += BK;
        rl_cp_async_commit();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
    }
    rl_cp_async_wait<2>();
    __syncthreads();

    // fragment: registers of the first slice
    #pragma unroll
    for (int g = 0; g < 16; g += 4) {
        rl_ldmatrix_x4(a_frag[0] + g, shared + take + A_TILE + a_at + g / 2 * 8 * 64);
    }
    #pragma unroll
    for (int g = 0; g < 16; g += 4) {
        rl_ldmatrix_x4_trans(b_frag[0] + g, shared + take + B_TILE + (b_at ^ g / 2 * 8 * 2));
    }

    int step = 0;
    #pragma unroll 1
    do {
        // load: step + 3, between the products
        const bool more = step + 3 < steps;
        // compute: slices of 16 k
        #pragma unroll
        for (int kk = 0; kk < 16; kk += 16) {
            #pragma unroll
            for (int g = 0; g < 16; g += 4) {
                rl_ldmatrix_x4(a_frag[(kk / TK + 1) % 2] + g, shared + take + A_TILE + (a_at ^ (kk + TK) * 2) + g / 2 * 8 * 64);
            }
            #pragma unroll
            for (int g = 0; g < 16; g += 4) {
                rl_ldmatrix_x4_trans(b_frag[(kk / TK + 1) % 2] + g, shared + take + B_TILE + (b_at ^ g / 2 * 8 * 2) + (kk + TK) * 512);
            }
            #pragma unroll
            for (int r = 0; r < 4; r++) {
                #pragma unroll
                for (int j = 0; j < 8; j++) {
                    rl_mma_m16n8k16_f16_f32(acc[r][j], a_frag[kk / TK % 2] + r * 4, b_frag[kk / TK % 2] + j * 2);
                }
                #pragma unroll
                for (int i = 0; i < 2; i++) {
                    if (i * 2 == r) {
                        rl_cp_async_16_if(more, shared + put + A_TILE + (a_to + i * 2048) * 2, a_src + i * 10240, m0 + (a_mn + i * 64) < M);
                    }
                }
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    if (i == r) {
                        rl_cp_async_16_if(more, shared + put + B_TILE + (b_to + i * 2048) * 2, b_src + i * 2048, true);
                    }
                }
            }
        }
        a_src += BK;
        b_src += BK * 256;
        k_next += BK;
        rl_cp_async_commit();
        // wait: the next stage is complete
        rl_cp_async_wait<2>();
        __syncthreads();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
        // the last step stays where it is, and fetches once more for nobody
        const bool next = step + 1 < steps;
        if (next) {
            take = take + STAGE < STAGES * STAGE ? take + STAGE : 0;
        }
        // compute: the last slice, with fragments of the next stage under way
        #pragma unroll
        for (int g = 0; g < 16; g += 4) {
            rl_ldmatrix_x4(a_frag[0] + g, shared + take + A_TILE + a_at + g / 2 * 8 * 64);
        }
        #pragma unroll
        for (int g = 0; g < 16; g += 4) {
            rl_ldmatrix_x4_trans(b_frag[0] + g, shared + take + B_TILE + (b_at ^ g / 2 * 8 * 2));
        }
        #pragma unroll
        for (int r = 0; r < 4; r++) {
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                rl_mma_m16n8k16_f16_f32(acc[r][j], a_frag[1] + r * 4, b_frag[1] + j * 2);
            }
        }
    } while (++step < steps);
    // elements: 8 outputs of the thread at a time, through shared memory
    __syncthreads();
    {
        float *const piece = reinterpret_cast<float *>(smem + warp * 4608);
        float *const to = piece + (lane_m * 72 + lane_n / 4 * 36 + lane_n % 4);
        const float *const from = piece + ((unsigned)lane / 8u * 72 + (unsigned)lane % 8u * 4);
        const int m_at = m0 + row + (int)(lane / 8u);
        const int n_at = n0 + col + (int)(lane % 8u * 8);
        unsigned short *const p3 = t3 + (m_at * 256 + n_at);
        #pragma unroll 1
        for (int i = 0; i < 4; i++) {
            if (i > 0) {
                __syncwarp();
            }
            #pragma unroll
            for (int r = 0; r < 4; r++) {
                if (r == i) {
                    #pragma unroll
                    for (int j = 0; j < 8; j++) {
                        #pragma unroll
                        for (int f = 0; f < 4; f += 2) {
                            rl_store_shared<2>(to, f * 288 + j * TN / 2, acc[r][j] + f);
                        }
                    }
                }
            }
            __syncwarp();
            #pragma unroll
            for (int s = 0; s < 4; s++) {
                const int m = m_at + (i * TM + s * 4);
                if (m < M) {
                    const int n = n_at;
                    rl_vec<float, 4> value[2];
                    #pragma unroll
                    for (int p = 0; p < 2; p++) {
                        value[p] = rl_load<4>(from + s * 288 + p * 36);
                    }
                    const int i0 = m;
                    const int i1 = n;
                    rl_vec<unsigned short, 8> x0[1];
                    #pragma unroll
                    for (int p = 0; p < 1; p++) {
                        x0[p] = rl_load<8>(t2 + i1 + p * 8);
                    }
                    float o3[8];
                    #pragma unroll
                    for (int v = 0; v < 8; v++) {
                        const float e4 = value[v / 4].v[v % 4];
                        o3[v] = rl_max_f32(e4 + rl_f16_to_f32(x0[v / 8].v[v % 8]), 0.0f);
                    }
                    rl_store_f16<8>(p3 + (i * TM + s * 4) * 256, o3);
                }
            }
        }
    }
}
