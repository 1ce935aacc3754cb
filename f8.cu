// roller-plan 1
// kernel 0
//   skeleton contract
//   unit mma.m16n8k32.f8e4m3.f32
//   block 1 64 64 64
//   warp 1 32 64 64
//   thread 1 16 8 32
//   vec 1 2
//   unroll 64 late
//   stages 3
//   a async cp.async.16 vec 16 along k inner k swizzle 2 1 0
//   b async cp.async.16 vec 16 along k inner k swizzle 2 1 0
//   store 8 shared
//   raster row
//   split 1
//   blocks_per_sm 4
//
// parameters
//   t0  f8e4m3[8192,1024]
//   t1  f8e4m3[8192,1024]
//   t2  bf16[8192,8192]  output
// launches
//   rk_99ac59a8b109e84d_0  grid 16384,1  block 64  dynamic shared memory 24576

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

__device__ __forceinline__ void rl_mma_m16n8k32_e4m3_f32(float *d, const unsigned *a, const unsigned *b) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ int rl_hidden(int x) {
    int y;
    asm volatile("mov.s32 %0, %1;" : "=r"(y) : "r"(x));
    return y;
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

extern "C" __global__ void __launch_bounds__(64, 4)
rk_99ac59a8b109e84d_0(const unsigned char *__restrict__ t0,
    const unsigned char *__restrict__ t1,
    unsigned short *__restrict__ t2) {
    constexpr int M = 8192;
    constexpr int N = 8192;
    constexpr int K = 1024;
    constexpr int BM = 64, BN = 64, BK = 64;  // tile of a block in one k-step
    constexpr int WM = 32, WN = 64, WK = 64;  // of a warp
    constexpr int TM = 16, TN = 8, TK = 32;  // of an instruction
    constexpr int IM = 2, IN = 8;  // instructions of a warp
    constexpr int THREADS = 64, STAGES = 3, STAGE = 8192;  // STAGE in bytes
    constexpr int A_TILE = 0, A_ROW = 64;  // place in a stage, row of its tile
    constexpr int B_TILE = 4096, B_ROW = 64;  // place in a stage, row of its tile
    const int steps = rl_hidden(16);
    extern __shared__ __align__(128) unsigned char smem[];

    const unsigned shared = rl_shared(smem);
    // place: tiles of the grid with n fastest
    const unsigned tile = blockIdx.x;
    const unsigned tile_m = tile / 128u, tile_n = tile % 128u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x, lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane / 4u, lane_n = lane % 4u * 2;
    const int row = (int)(warp % 2u) * WM;
    const int col = (int)(0) * WN;
    int k_next = 0;
    int put = 0, take = 0;

    // address: operand a, 4 x 16 elements per thread along k
    const int a_mn = tid / 4u, a_k = tid % 4u * 16;
    const int a_to = a_mn * A_ROW + (a_k ^ (a_mn >> 1 & 3) << 4);
    const unsigned char *a_src = t0 + (long long)(m0 + a_mn) * 1024 + (long long)(k_next + a_k);

    // address: operand b, 4 x 16 elements per thread along k
    const int b_mn = tid / 4u, b_k = tid % 4u * 16;
    const int b_to = b_mn * B_ROW + (b_k ^ (b_mn >> 1 & 3) << 4);
    const unsigned char *b_src = t1 + (long long)(n0 + b_mn) * 1024 + (long long)(k_next + b_k);

    float acc[IM][IN][4];
    #pragma unroll
    for (int i = 0; i < IM; i++) {
        #pragma unroll
        for (int j = 0; j < IN * 4; j++)
            acc[i][j / 4][j % 4] = 0;
    }
    unsigned a_frag[1][8];
    const int a_r = row + lane / 8u % 2u * 8 + lane % 8u, a_e = lane / 16u % 2u * 16;  // row of the lane, byte in it
    const int a_at = a_r * 64 + (a_e ^ (a_r >> 1 & 3) << 4);
    unsigned b_frag[1][16];
    const int b_r = col + lane / 16u * 8 + lane % 8u, b_e = lane / 8u % 2u * 16;  // row of the lane, byte in it
    const int b_at = b_r * 64 + (b_e ^ (b_r >> 1 & 3) << 4);

    // fill: the first steps
    #pragma unroll 1
    for (int step = 0; step < 2; step++) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            rl_cp_async_16(shared + put + A_TILE + (a_to + i * 1024), (a_src + i * 16384), true);
        }
        a_src += BK;
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            rl_cp_async_16(shared + put + B_TILE + (b_to + i * 1024), (b_src + i * 16384), true);
        }
        b_src += BK;
        k_next += BK;
        rl_cp_async_commit();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
    }
    rl_cp_async_wait<1>();
    __syncthreads();

    int step = 0;
    #pragma unroll 1
    do {
        float part[IM][IN][4];
        #pragma unroll
        for (int i = 0; i < IM; i++) {
            #pragma unroll
            for (int j = 0; j < IN * 4; j++)
                part[i][j / 4][j % 4] = 0;
        }
        // load: step + 2, between the products
        const bool more = step + 2 < steps;
        // compute: slices of 32 k
        #pragma unroll
        for (int kk = 0; kk < 64; kk += TK) {
            #pragma unroll
            for (int g = 0; g < 8; g += 4)
                rl_ldmatrix_x4(a_frag[0] + g, shared + take + A_TILE + (a_at ^ kk) + (g / 2 * 8) * 64);
            #pragma unroll
            for (int g = 0; g < 16; g += 4)
                rl_ldmatrix_x4(b_frag[0] + g, shared + take + B_TILE + (b_at ^ kk) + (g / 2 * 8) * 64);
            #pragma unroll
            for (int r = 0; r < IM; r++) {
                #pragma unroll
                for (int j = 0; j < IN; j++)
                    rl_mma_m16n8k32_e4m3_f32(part[r][j], a_frag[0] + r * 4, b_frag[0] + j * 2);
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    if (i == kk / TK * IM + r) {
                        rl_cp_async_16_if(more, shared + put + A_TILE + (a_to + i * 1024), (a_src + i * 16384), true);
                    }
                }
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    if (i == kk / TK * IM + r) {
                        rl_cp_async_16_if(more, shared + put + B_TILE + (b_to + i * 1024), (b_src + i * 16384), true);
                    }
                }
            }
        }
        #pragma unroll
        for (int i = 0; i < IM; i++) {
            #pragma unroll
            for (int j = 0; j < IN * 4; j++)
                acc[i][j / 4][j % 4] += part[i][j / 4][j % 4];
        }
        a_src += BK;
        b_src += BK;
        k_next += BK;
        rl_cp_async_commit();
        // wait: the next stage is complete
        rl_cp_async_wait<1>();
        __syncthreads();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
        take = take + STAGE < STAGES * STAGE ? take + STAGE : 0;
    } while (++step < steps);
    // elements: 8 outputs of the thread at a time, through shared memory
    __syncthreads();
    {
        float *const piece = reinterpret_cast<float *>(smem + warp * 4608);
        float *const to = piece + (lane_m * 72 + lane_n / 4 * 36 + lane_n % 4);
        const float *const from = piece + ((unsigned)lane / 8u * 72 + (unsigned)lane % 8u * 4);
        const int m_at = m0 + row + (int)(lane / 8u);
        const int n_at = n0 + col + (int)(lane % 8u * 8);
        unsigned short *const p2 = t2 + (m_at * 8192 + n_at);
        #pragma unroll 1
        for (int i = 0; i < 2; i++) {
            if (i > 0) __syncwarp();
            #pragma unroll
            for (int r = 0; r < IM; r++) {
                if (r == i) {
                    #pragma unroll
                    for (int j = 0; j < IN; j++) {
                        #pragma unroll
                        for (int f = 0; f < 4; f += 2)
                            rl_store_shared<2>(to, f * 288 + j * TN / 2, acc[r][j] + f);
                    }
                }
            }
            __syncwarp();
            #pragma unroll
            for (int s = 0; s < 4; s++) {
                const int m = m_at + (i * TM + s * 4);
                const int n = n_at;
                rl_vec<float, 4> value[2];
                #pragma unroll
                for (int p = 0; p < 2; p++) value[p] = rl_load<4>(from + s * 288 + p * 36);
                const int i0 = m;
                const int i1 = n;
                float o2[8];
                #pragma unroll
                for (int v = 0; v < 8; v++) {
                    o2[v] = value[v / 4].v[v % 4];
                }
                rl_store_bf16<8>(p2 + ((i * TM + s * 4) * 8192), o2);
            }
        }
    }
}
