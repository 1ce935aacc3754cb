// roller-plan 1
// kernel 0
//   skeleton contract
//   unit mma.m16n8k16.f16.f32
//   block 1 256 96 64
//   warp 1 64 48 64
//   thread 1 16 8 16
//   vec 1 2
//   unroll 64 late
//   stages 2
//   a async cp.async.16 vec 8 along k inner k swizzle 3 0 0
//   b staged ldg_sts.2 vec 1 along n inner n swizzle 2 1 0
//   store 4 shared
//   raster row
//   split 1
//   blocks_per_sm 1
//
// parameters
//   t0  f16[64,256,14,14]
//   t1  f16[256,256,3,3]
//   t2  f16[64,256,14,14]  output
// launches
//   rk_95a099873be5c2a2_0  grid 131,1  block 256  dynamic shared memory 90112

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
rk_95a099873be5c2a2_0(const unsigned short *__restrict__ t0,
    const unsigned short *__restrict__ t1,
    unsigned short *__restrict__ t2) {
    constexpr int M = 256;
    constexpr int N = 12544;
    constexpr int K = 2304;
    constexpr int BM = 256, BN = 96, BK = 64;  // tile of a block in one k-step
    constexpr int WM = 64, WN = 48, WK = 64;  // of a warp
    constexpr int TM = 16, TN = 8, TK = 16;  // of an instruction
    constexpr int IM = 4, IN = 6;  // instructions of a warp
    constexpr int THREADS = 256, STAGES = 2, STAGE = 45056;  // STAGE in bytes
    constexpr int A_TILE = 0, A_ROW = 64;  // place in a stage, row of its tile
    constexpr int B_TILE = 32768, B_ROW = 96;  // place in a stage, row of its tile
    const int steps = rl_hidden(36);
    extern __shared__ __align__(128) unsigned char smem[];

    const unsigned shared = rl_shared(smem);
    // place: tiles of the grid with n fastest
    const unsigned tile = blockIdx.x;
    const unsigned tile_m = tile / 131u, tile_n = tile % 131u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x, lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane / 4u, lane_n = lane % 4u * 2;
    const int row = (int)(warp / 2u % 4u) * WM;
    const int col = (int)(warp % 2u) * WN;
    int k_next = 0;
    int put = 0, take = 0;

    // address: operand a, 8 x 8 elements per thread along k
    const int a_mn = tid / 8u, a_k = tid % 8u * 8;
    const int a_to = a_mn * A_ROW + (a_k ^ (a_mn >> 0 & 7) << 3);
    const unsigned short *a_src = t1 + (long long)(m0 + a_mn) * 2304 + (long long)(k_next + a_k);

    // address: operand b, 24 x 1 elements per thread along n
    int b_mn[3], b_k[3];
    #pragma unroll
    for (int i = 0; i < 3; i++) {
        b_k[i] = (tid + i * THREADS) / 96u;
        b_mn[i] = (tid + i * THREADS) % 96u;
    }
    int b_to[3];
    #pragma unroll
    for (int i = 0; i < 3; i++) {
        b_to[i] = (b_k[i % 3] + i / 3 * 8) * B_ROW + (b_mn[i % 3] ^ ((b_k[i % 3] + i / 3 * 8) >> 1 & 3) << 3);
    }
    const unsigned short *b_src = t0;
    int b_off[3];
    int b_at2[3];
    int b_at3[3];
    #pragma unroll
    for (int i = 0; i < 3; i++) {
        const int b_mn2 = (n0 + b_mn[i]) % 14u;
        const int b_mn1 = (n0 + b_mn[i]) / 14u % 14u;
        const int b_mn0 = (n0 + b_mn[i]) / 196u;
        b_off[i] = b_mn0 * 50176 + b_mn1 * 14 + b_mn2 - 15;
        b_at2[i] = b_mn1 - 1;
        b_at3[i] = b_mn2 - 1;
    }

    float acc[IM][IN][4];
    #pragma unroll
    for (int i = 0; i < IM; i++) {
        #pragma unroll
        for (int j = 0; j < IN * 4; j++)
            acc[i][j / 4][j % 4] = 0;
    }
    rl_vec<unsigned short, 1> b_reg[24];
    unsigned a_frag[1][16];
    const int a_r = row + lane / 8u % 2u * 8 + lane % 8u, a_e = (lane / 16u % 2u * 8) * 2;  // row of the lane, byte in it
    const int a_at = a_r * 128 + (a_e ^ (a_r >> 0 & 7) << 4);
    unsigned b_frag[1][12];
    const int b_r = lane / 8u % 2u * 8 + lane % 8u, b_e = (col + lane / 16u * 8) * 2;  // row of the lane, byte in it
    int b_at[4];
    #pragma unroll
    for (int i = 0; i < 4; i++) b_at[i] = b_r * 192 + ((b_e + i * 16) ^ (b_r >> 1 & 3) << 4);

    // fill: the first step
    {
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            rl_cp_async_16(shared + put + A_TILE + (a_to + i * 2048) * 2, (a_src + i * 73728), true);
        }
        a_src += BK;
        #pragma unroll
        for (int i = 0; i < 24; i++) {
            const int b_k2 = (k_next + (b_k[i % 3] + i / 3 * 8)) % 3u;
            const int b_k1 = (k_next + (b_k[i % 3] + i / 3 * 8)) / 3u % 3u;
            const int b_k0 = (k_next + (b_k[i % 3] + i / 3 * 8)) / 9u;
            const int b_koff = b_k0 * 196 + b_k1 * 14 + b_k2;
            const int b_kat2 = b_k1;
            const int b_kat3 = b_k2;
            b_reg[i] = {};
            if (n0 + b_mn[i % 3] < N && (unsigned)(b_at2[i % 3] + b_kat2) < 14u && (unsigned)(b_at3[i % 3] + b_kat3) < 14u) b_reg[i] = rl_load<1>(b_src + (b_off[i % 3] + b_koff));
        }
        k_next += BK;
        #pragma unroll
        for (int i = 0; i < 24; i++) {
            unsigned short *const to = reinterpret_cast<unsigned short *>(smem + put + B_TILE);
            const unsigned short x = b_reg[i].v[0];
            rl_store_shared<1>(to, (b_to[i % 3] + i / 3 * 768), &x);
        }
    }
    rl_cp_async_commit();
    put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
    rl_cp_async_wait<0>();
    __syncthreads();

    int step = 0;
    #pragma unroll 1
    do {
        // load: step + 1, between the products
        const bool more = step + 1 < steps;
        if (more) {
            #pragma unroll
            for (int i = 0; i < 24; i++) {
                const int b_k2 = (k_next + (b_k[i % 3] + i / 3 * 8)) % 3u;
                const int b_k1 = (k_next + (b_k[i % 3] + i / 3 * 8)) / 3u % 3u;
                const int b_k0 = (k_next + (b_k[i % 3] + i / 3 * 8)) / 9u;
                const int b_koff = b_k0 * 196 + b_k1 * 14 + b_k2;
                const int b_kat2 = b_k1;
                const int b_kat3 = b_k2;
                b_reg[i] = {};
                if (n0 + b_mn[i % 3] < N && (unsigned)(b_at2[i % 3] + b_kat2) < 14u && (unsigned)(b_at3[i % 3] + b_kat3) < 14u) b_reg[i] = rl_load<1>(b_src + (b_off[i % 3] + b_koff));
            }
        }
        // compute: slices of 16 k
        #pragma unroll
        for (int kk = 0; kk < 64; kk += TK) {
            #pragma unroll
            for (int g = 0; g < 16; g += 4)
                rl_ldmatrix_x4(a_frag[0] + g, shared + take + A_TILE + (a_at ^ (kk * 2)) + (g / 2 * 8) * 128);
            #pragma unroll
            for (int g = 0; g < 12; g += 4)
                rl_ldmatrix_x4_trans(b_frag[0] + g, shared + take + B_TILE + b_at[((g / 2 * 8) * 2) / 16 % 4] + ((g / 2 * 8) * 2) / 64 * 64 + kk * 192);
            #pragma unroll
            for (int r = 0; r < IM; r++) {
                #pragma unroll
                for (int j = 0; j < IN; j++)
                    rl_mma_m16n8k16_f16_f32(acc[r][j], a_frag[0] + r * 4, b_frag[0] + j * 2);
                #pragma unroll
                for (int i = 0; i < 8; i++) {
                    if (i * 2 == kk / TK * IM + r) {
                        rl_cp_async_16_if(more, shared + put + A_TILE + (a_to + i * 2048) * 2, (a_src + i * 73728), true);
                    }
                }
            }
        }
        a_src += BK;
        k_next += BK;
        rl_cp_async_commit();
        // keep: what was loaded for the next step
        #pragma unroll
        for (int i = 0; i < 24; i++) {
            unsigned short *const to = reinterpret_cast<unsigned short *>(smem + put + B_TILE);
            const unsigned short x = b_reg[i].v[0];
            rl_store_shared<1>(to, (b_to[i % 3] + i / 3 * 768), &x);
        }
        // wait: the next stage is complete
        rl_cp_async_wait<0>();
        __syncthreads();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
        take = take + STAGE < STAGES * STAGE ? take + STAGE : 0;
    } while (++step < steps);
    // elements: 4 outputs of the thread at a time, through shared memory
    __syncthreads();
    {
        float *const piece = reinterpret_cast<float *>(smem + warp * 3584);
        float *const to = piece + (lane_m * 56 + lane_n);
        const int m_at = m0 + row;
        const int n_at = n0 + col;
        const float *from[6];
        int m_by[6];
        int n_by[6];
        unsigned short *p2[6];
        #pragma unroll
        for (int s = 0; s < 6; s++) {
            const unsigned u = lane + s * 32;
            const int m = m_at + ((int)(u / 12u));
            const int n = n_at + ((int)(u % 12u * 4));
            from[s] = piece + (u / 12u * 56 + u % 12u * 4);
            m_by[s] = m, n_by[s] = n;
            p2[s] = t2 + (m * 196 + (n % 196u) + (n / 196u) * 50176);
        }
        #pragma unroll 1
        for (int i = 0; i < 4; i++) {
            if (i > 0) __syncwarp();
            #pragma unroll
            for (int r = 0; r < IM; r++) {
                if (r == i) {
                    #pragma unroll
                    for (int j = 0; j < IN; j++) {
                        #pragma unroll
                        for (int f = 0; f < 4; f += 2)
                            rl_store_shared<2>(to, f * 224 + j * TN, acc[r][j] + f);
                    }
                }
            }
            __syncwarp();
            #pragma unroll
            for (int s = 0; s < 6; s++) {
                const int m = m_by[s] + i * TM;
                const int n = n_by[s];
                if (n < N) {
                    rl_vec<float, 4> value[1];
                    #pragma unroll
                    for (int p = 0; p < 1; p++) value[p] = rl_load<4>(from[s] + p * 4);
                    const int i1 = m;
                    const int i3 = n % 14u;
                    const int i2 = n / 14u % 14u;
                    const int i0 = n / 196u;
                    float o2[4];
                    #pragma unroll
                    for (int v = 0; v < 4; v++) {
                        const int i3 = (n + v) % 14u;
                        const int i2 = (n + v) / 14u % 14u;
                        const int i0 = (n + v) / 196u;
                        o2[v] = value[v / 4].v[v % 4];
                    }
                    rl_store_f16<4>(p2[s] + ((i * TM) * 196), o2);
                }
            }
        }
    }
}
