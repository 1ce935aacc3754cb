// roller-plan 1
// kernel 0
//   skeleton contract
//   unit mma.m16n8k16.bf16.f32
//   block 1 16 8 64
//   warp 1 16 8 32
//   thread 1 16 8 16
//   vec 1 2
//   unroll 32
//   stages 2
//   a async cp.async.16 vec 8 along k inner k swizzle 3 0 0
//   b staged ldg_sts.8 vec 8 along k inner k swizzle 3 0 0
//   store 8 shared
//   raster row
//   split 1
//   blocks_per_sm 6
//
// arguments
//   0  bf16[20,256]
//   1  i8[64,256]
//   2  bf16[64]
//   3  bf16[20,64]  output
// launches
//   rk_60ed22231fbb6437_0  grid 16,1  block 64  dynamic shared memory 6144
//     takes 0, 1, 2, 3

template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };

template <int N, typename T> __device__ __forceinline__ rl_vec<T, N> rl_load(const T *p) {
    return *reinterpret_cast<const rl_vec<T, N> *>(p);
}

__device__ __forceinline__ float rl_bf16_to_f32(unsigned short x) {
    return __uint_as_float((unsigned)x << 16);
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

__device__ __forceinline__ void rl_ldmatrix_x2(unsigned *x, unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(x[0]), "=r"(x[1]) : "r"(from) : "memory");
}

__device__ __forceinline__ void rl_ldmatrix_x4(unsigned *x, unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from) : "memory");
}

__device__ __forceinline__ void rl_mma_m16n8k16_bf16_f32(float *d, const unsigned *a, const unsigned *b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
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

__device__ __forceinline__ void rl_i8x4_to_bf16x4(unsigned *y, unsigned x) {
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        const unsigned one = 0x3f803f80u;
        const unsigned z = __byte_perm(x, 0, i ? 0x4342 : 0x4140);
        const unsigned f = (z & 0x007f007fu) | 0x43004300u;
        const unsigned g = (z & 0x00800080u) | 0xc300c300u;
        asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(y[i]) : "r"(f), "r"(one), "r"(g));
    }
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
rk_60ed22231fbb6437_0(const unsigned short *__restrict__ t0,
    const signed char *__restrict__ t1,
    const unsigned short *__restrict__ t2,
    unsigned short *__restrict__ t3) {
    constexpr int M = 20;
    constexpr int N = 64;
    constexpr int K = 256;
    constexpr int BM = 16;
    constexpr int BN = 8;
    constexpr int BK = 64;
    constexpr int WM = 16;
    constexpr int WN = 8;
    constexpr int WK = 32;
    constexpr int TM = 16;
    constexpr int TN = 8;
    constexpr int TK = 16;
    constexpr int IM = 1;
    constexpr int IN = 1;
    constexpr int THREADS = 64;
    constexpr int STAGES = 2;
    constexpr int STAGE = 3072;
    constexpr int A_TILE = 0;
    constexpr int A_ROW = 64;
    constexpr int B_TILE = 2048;
    constexpr int B_ROW = 64;
    const int steps = rl_hidden(4);
    extern __shared__ __align__(128) unsigned char smem[];

    const unsigned shared = rl_shared(smem);
    // place: tiles of the grid with n fastest
    const unsigned tile = blockIdx.x;
    const unsigned tile_m = tile / 8u;
    const unsigned tile_n = tile % 8u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x;
    const int lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane / 4u;
    const int lane_n = lane % 4u * 2;
    const int row = 0;
    const int col = 0;
    const int k_warp = (int)warp * WK;
    int k_next = 0;
    int put = 0;
    int take = 0;

    // address: operand a, 2 x 8 elements per thread along k
    const int a_mn = tid / 8u;
    const int a_k = tid % 8u * 8u;
    const int a_to = a_mn * A_ROW + (a_k ^ (a_mn >> 0 & 7) << 3);
    const unsigned short *a_src = t0 + (long long)(m0 + a_mn) * 256 + (long long)(k_next + a_k);

    // address: operand b, 1 x 8 elements per thread along k
    const int b_mn = tid / 8u;
    const int b_k = tid % 8u * 8u;
    const int b_to = b_mn * B_ROW + (b_k ^ (b_mn >> 0 & 7) << 3);
    const signed char *b_src = t1 + (long long)(n0 + b_mn) * 256 + (long long)(k_next + b_k);

    float acc[1][1][4];
    #pragma unroll
    for (int i = 0; i < 1; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            acc[i][j / 4][j % 4] = 0;
        }
    }
    rl_vec<unsigned, 2> b_reg[1];
    unsigned a_frag[2][4];
    // operand a: row of the lane, byte in it
    const int a_r = row + lane / 8u % 2u * 8 + lane % 8u;
    const int a_e = (k_warp + lane / 16u % 2u * 8) * 2;
    const int a_at = a_r * 128 + (a_e ^ (a_r >> 0 & 7) << 4);
    unsigned b_frag[2][2];
    // operand b: row of the lane, byte in it
    const int b_r = col + lane / 16u * 8 + lane % 8u;
    const int b_e = (k_warp + lane / 8u % 2u * 8) * 2;
    const int b_at = b_r * 128 + (b_e ^ (b_r >> 0 & 7) << 4);

    // fill: the first step
    {
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            rl_cp_async_16(shared + put + A_TILE + (a_to + i * 512) * 2, a_src + i * 2048, m0 + (a_mn + i * 8) < M);
        }
        a_src += BK;
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            b_reg[i] = rl_load<2>(reinterpret_cast<const unsigned *>(b_src));
        }
        b_src += BK;
        k_next += BK;
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            unsigned short *const to = reinterpret_cast<unsigned short *>(smem + put + B_TILE);
            unsigned x[4];
            #pragma unroll
            for (int w = 0; w < 2; w++) {
                rl_i8x4_to_bf16x4(x + 2 * w, b_reg[i].v[w]);
            }
            rl_store<4>(reinterpret_cast<unsigned *>(to + b_to), x);
        }
    }
    rl_cp_async_commit();
    put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
    rl_cp_async_wait<0>();
    __syncthreads();

    // fragment: registers of the first slice
    rl_ldmatrix_x4(a_frag[0], shared + take + A_TILE + (a_at ^ 0));
    rl_ldmatrix_x2(b_frag[0], shared + take + B_TILE + (b_at ^ 0));

    int step = 0;
    #pragma unroll 1
    do {
        // load: step + 1, between the products
        const bool more = step + 1 < steps;
        if (more) {
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                b_reg[i] = rl_load<2>(reinterpret_cast<const unsigned *>(b_src));
            }
            b_src += BK;
        }
        // compute: slices of 16 k
        #pragma unroll
        for (int kk = 0; kk < 16; kk += 16) {
            rl_ldmatrix_x4(a_frag[(kk / TK + 1) % 2], shared + take + A_TILE + (a_at ^ (kk + TK) * 2));
            rl_ldmatrix_x2(b_frag[(kk / TK + 1) % 2], shared + take + B_TILE + (b_at ^ (kk + TK) * 2));
            #pragma unroll
            for (int r = 0; r < 1; r++) {
                #pragma unroll
                for (int j = 0; j < 1; j++) {
                    rl_mma_m16n8k16_bf16_f32(acc[r][j], a_frag[kk / TK % 2] + r * 4, b_frag[kk / TK % 2] + j * 2);
                }
                #pragma unroll
                for (int i = 0; i < 2; i++) {
                    if (i / 2 == r) {
                        rl_cp_async_16_if(more, shared + put + A_TILE + (a_to + i * 512) * 2, a_src + i * 2048, m0 + (a_mn + i * 8) < M);
                    }
                }
            }
        }
        a_src += BK;
        k_next += BK;
        rl_cp_async_commit();
        // keep: what was loaded for the next step
        if (step + 1 < steps) {
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                unsigned short *const to = reinterpret_cast<unsigned short *>(smem + put + B_TILE);
                unsigned x[4];
                #pragma unroll
                for (int w = 0; w < 2; w++) {
                    rl_i8x4_to_bf16x4(x + 2 * w, b_reg[i].v[w]);
                }
                rl_store<4>(reinterpret_cast<unsigned *>(to + b_to), x);
            }
        }
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
        rl_ldmatrix_x4(a_frag[0], shared + take + A_TILE + (a_at ^ 0));
        rl_ldmatrix_x2(b_frag[0], shared + take + B_TILE + (b_at ^ 0));
        #pragma unroll
        for (int r = 0; r < 1; r++) {
            #pragma unroll
            for (int j = 0; j < 1; j++) {
                rl_mma_m16n8k16_bf16_f32(acc[r][j], a_frag[1] + r * 4, b_frag[1] + j * 2);
            }
        }
    } while (++step < steps);
    // elements: 8 outputs of the thread at a time, through shared memory
    __syncthreads();
    {
        float *const piece = reinterpret_cast<float *>(smem + warp % 1 * 2304);
        float *const to = piece + (k_warp / WK * 576 + lane_m * 36 + lane_n / 4 * 16 + lane_n % 4);
        const float *const from = piece + ((unsigned)(k_warp / WK * 32 + lane) * 36 + (unsigned)(k_warp / WK * 32 + lane) % 1u * 4);
        const int m_at = m0 + row + (int)((k_warp / WK * 32 + lane) / 1u);
        const int n_at = n0 + col + (int)((k_warp / WK * 32 + lane) % 1u * 8);
        unsigned short *const p3 = t3 + (m_at * 64 + n_at);
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            #pragma unroll
            for (int j = 0; j < 1; j++) {
                #pragma unroll
                for (int f = 0; f < 4; f += 2) {
                    rl_store_shared<2>(to, f * 144 + j * TN / 2, acc[i][j] + f);
                }
            }
            __syncthreads();
            #pragma unroll
            for (int s = 0; s < 1; s++) {
                const unsigned u = k_warp / WK * 32 + lane + s * 64;
                if (u < 16u) {
                    const int m = m_at + (i * TM + s * 64);
                    if (m < M) {
                        const int n = n_at;
                        rl_vec<float, 4> value[2];
                        #pragma unroll
                        for (int p = 0; p < 2; p++) {
                            value[p] = rl_load<4>(from + s * 2304 + p * 16);
                            #pragma unroll
                            for (int w = 1; w < 2; w++) {
                                const rl_vec<float, 4> x = rl_load<4>(from + s * 2304 + (w * 576 + p * 16));
                                #pragma unroll
                                for (int v = 0; v < 4; v++) {
                                    value[p].v[v] = value[p].v[v] + x.v[v];
                                }
                            }
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
                            o3[v] = e4 * rl_bf16_to_f32(x0[v / 8].v[v % 8]);
                        }
                        rl_store_bf16<8>(p3 + (i * TM + s * 64) * 64, o3);
                    }
                }
            }
        }
    }
}
