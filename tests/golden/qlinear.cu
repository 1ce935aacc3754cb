// roller-plan 1
// kernel 0
//   skeleton contract
//   unit dp4a
//   block 1 64 64 64
//   warp 1 32 32 64
//   thread 1 4 8 16
//   vec 1 4
//   unroll 32
//   stages 3
//   a async cp.async.16 vec 16 along k inner k swizzle 2 1 0
//   b async cp.async.16 vec 16 along k inner k swizzle 2 1 0
//   store 4
//   raster row
//   split 1
//   blocks_per_sm 2
//
// arguments
//   0  i8[256,512]
//   1  i8[256,512]
//   2  f32[256]
//   3  f16[256,256]  output
// launches
//   rk_2a730f928034dc44_0  grid 16,1  block 128  dynamic shared memory 24576
//     takes 0, 1, 2, 3

template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };

template <int N, typename T> __device__ __forceinline__ rl_vec<T, N> rl_load(const T *p) {
    return *reinterpret_cast<const rl_vec<T, N> *>(p);
}

__device__ __forceinline__ int rl_dp4a_ss(int x, int y, int z) {
    int d;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
    return d;
}

__device__ __forceinline__ unsigned rl_shared(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void rl_cp_async_16(unsigned to, const void *from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

__device__ __forceinline__ void rl_cp_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> __device__ __forceinline__ void rl_cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
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

extern "C" __global__ void __launch_bounds__(128, 1)
rk_2a730f928034dc44_0(const signed char *__restrict__ t0,
    const signed char *__restrict__ t1,
    const float *__restrict__ t2,
    unsigned short *__restrict__ t3) {
    constexpr int M = 256;
    constexpr int N = 256;
    constexpr int K = 512;
    constexpr int BM = 64;
    constexpr int BN = 64;
    constexpr int BK = 64;
    constexpr int WM = 32;
    constexpr int WN = 32;
    constexpr int WK = 64;
    constexpr int TM = 4;
    constexpr int TN = 8;
    constexpr int TK = 16;
    constexpr int LM = 8;
    constexpr int LN = 4;
    constexpr int VM = 1;
    constexpr int VN = 4;
    constexpr int THREADS = 128;
    constexpr int STAGES = 3;
    constexpr int STAGE = 8192;
    constexpr int A_TILE = 0;
    constexpr int A_ROW = 64;
    constexpr int B_TILE = 4096;
    constexpr int B_ROW = 64;
    constexpr int steps = 8;
    extern __shared__ __align__(128) unsigned char smem[];

    const unsigned shared = rl_shared(smem);
    // place: tiles of the grid with n fastest
    const unsigned tile = blockIdx.x;
    const unsigned tile_m = tile / 4u;
    const unsigned tile_n = tile % 4u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x;
    const int lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane >> 1 & 1 | lane >> 2 & 2 | lane >> 2 & 4;
    const int lane_n = lane & 1 | lane >> 1 & 2;
    const int row = (int)(warp / 2u % 2u) * WM + lane_m * VM;
    const int col = (int)(warp % 2u) * WN + lane_n * VN;
    int k_next = 0;
    int put = 0;
    int take = 0;

    // address: operand a, 2 x 16 elements per thread along k
    const int a_mn = tid / 4u;
    const int a_k = tid % 4u * 16u;
    const int a_to = a_mn * A_ROW + (a_k ^ (a_mn >> 1 & 3) << 4);
    const signed char *a_src = t0 + (long long)(m0 + a_mn) * 512 + (long long)(k_next + a_k);

    // address: operand b, 2 x 16 elements per thread along k
    const int b_mn = tid / 4u;
    const int b_k = tid % 4u * 16u;
    const int b_to = b_mn * B_ROW + (b_k ^ (b_mn >> 1 & 3) << 4);
    const signed char *b_src = t1 + (long long)(n0 + b_mn) * 512 + (long long)(k_next + b_k);

    int acc[4][8];
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            acc[i][j] = 0;
        }
    }
    int a_frag[4][4];
    int b_frag[4][8];

    // fill: the first steps
    #pragma unroll 1
    for (int step = 0; step < 2; step++) {
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            rl_cp_async_16(shared + put + A_TILE + (a_to + i * 2048), a_src + i * 16384, true);
        }
        a_src += BK;
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            rl_cp_async_16(shared + put + B_TILE + (b_to + i * 2048), b_src + i * 16384, true);
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
        // load: step + 2
        if (step + 2 < steps) {
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                rl_cp_async_16(shared + put + A_TILE + (a_to + i * 2048), a_src + i * 16384, true);
            }
            a_src += BK;
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                rl_cp_async_16(shared + put + B_TILE + (b_to + i * 2048), b_src + i * 16384, true);
            }
            b_src += BK;
            k_next += BK;
        }
        rl_cp_async_commit();
        #pragma unroll 1
        for (int kb = 0; kb < WK; kb += 32) {
            // compute: 32 k, four at a time
            #pragma unroll
            for (int kk = 0; kk < 32; kk += 16) {
                {
                    const signed char *const from = reinterpret_cast<const signed char *>(smem + take + A_TILE) + row * A_ROW;
                    #pragma unroll
                    for (int i = 0; i < 4; i++) {
                        const rl_vec<int, 4> x = rl_load<4>(reinterpret_cast<const int *>(from + (kb + kk ^ (row >> 1 & 3) << 4) + i * LM * A_ROW));
                        #pragma unroll
                        for (int f = 0; f < 4; f++) {
                            a_frag[f][i] = x.v[f];
                        }
                    }
                }
                {
                    const signed char *const from = reinterpret_cast<const signed char *>(smem + take + B_TILE) + col * B_ROW;
                    #pragma unroll
                    for (int i = 0; i < 8; i++) {
                        const rl_vec<int, 4> x = rl_load<4>(reinterpret_cast<const int *>(from + (kb + kk ^ (col + (i / VN * (LN * VN) + i % VN) >> 1 & 3) << 4) + (i / VN * (LN * VN) + i % VN) * B_ROW));
                        #pragma unroll
                        for (int f = 0; f < 4; f++) {
                            b_frag[f][i] = x.v[f];
                        }
                    }
                }
                #pragma unroll
                for (int f = 0; f < 4; f++) {
                    #pragma unroll
                    for (int i = 0; i < 4; i++) {
                        #pragma unroll
                        for (int j = 0; j < 8; j++) {
                            acc[i][j] = rl_dp4a_ss(a_frag[f][i], b_frag[f][j], acc[i][j]);
                        }
                    }
                }
            }
        }
        // wait: the next stage is complete
        rl_cp_async_wait<1>();
        __syncthreads();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
        take = take + STAGE < STAGES * STAGE ? take + STAGE : 0;
    } while (++step < steps);
    // elements: 4 outputs of the thread at a time
    {
        const int m_at = m0 + row;
        const int n_at = n0 + col;
        unsigned short *const p3 = t3 + (m_at * 256 + n_at);
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            const int m = m_at + (i / VM * (LM * VM) + i % VM);
            #pragma unroll
            for (int j = 0; j < 8; j += 4) {
                const int n = n_at + (j / VN * (LN * VN) + j % VN);
                const int i0 = m;
                const int i1 = n;
                rl_vec<float, 4> x0[1];
                #pragma unroll
                for (int p = 0; p < 1; p++) {
                    x0[p] = rl_load<4>(t2 + i1 + p * 4);
                }
                float o3[4];
                #pragma unroll
                for (int v = 0; v < 4; v++) {
                    const int e4 = acc[i][j + v];
                    o3[v] = (float)e4 * x0[v / 4].v[v % 4];
                }
                rl_store_f16<4>(p3 + ((i / VM * (LM * VM) + i % VM) * 256 + (j / VN * (LN * VN) + j % VN)), o3);
            }
        }
    }
}
