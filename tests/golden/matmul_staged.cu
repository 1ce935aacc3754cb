// roller-plan 1
// kernel 0
//   skeleton contract
//   unit ffma
//   block 1 64 64 16
//   warp 1 16 64 16
//   thread 1 4 8 1
//   vec 4 4
//   unroll 8
//   stages 2
//   a staged ldg_sts.16 vec 8 along k inner m pad 4
//   b staged ldg_sts.16 vec 8 along k inner n pad 4
//   store 4
//   raster row
//   split 1
//   blocks_per_sm 4
//
// arguments
//   0  f16[500,256]
//   1  f16[512,256]
//   2  f16[512]
//   3  f16[500,512]  output
// launches
//   rk_d65bda14f00425fa_0  grid 64,1  block 128  dynamic shared memory 17408
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

__device__ __forceinline__ unsigned short rl_f32_to_f16(float x) {
    unsigned short y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float rl_max_f32(float x, float y) {
    return x > y || x != x ? x : y;
}

__device__ __forceinline__ unsigned rl_f32x2_to_f16(float x, float y) {
    return rl_f32_to_f16(x) | (unsigned)rl_f32_to_f16(y) << 16;
}

template <int N> __device__ __forceinline__ void rl_store_f16(unsigned short *p, const float *x) {
    rl_vec<unsigned, N / 2> y;
    #pragma unroll
    for (int i = 0; i < N / 2; i++)
        y.v[i] = rl_f32x2_to_f16(x[2 * i], x[2 * i + 1]);
    *reinterpret_cast<rl_vec<unsigned, N / 2> *>(p) = y;
}

extern "C" __global__ void __launch_bounds__(128, 1)
rk_d65bda14f00425fa_0(const unsigned short *__restrict__ t0,
    const unsigned short *__restrict__ t1,
    const unsigned short *__restrict__ t2,
    unsigned short *__restrict__ t3) {
    constexpr int M = 500;
    constexpr int N = 512;
    constexpr int K = 256;
    constexpr int BM = 64;
    constexpr int BN = 64;
    constexpr int BK = 16;
    constexpr int WM = 16;
    constexpr int WN = 64;
    constexpr int WK = 16;
    constexpr int TM = 4;
    constexpr int TN = 8;
    constexpr int TK = 1;
    constexpr int LM = 4;
    constexpr int LN = 8;
    constexpr int VM = 4;
    constexpr int VN = 4;
    constexpr int THREADS = 128;
    constexpr int STAGES = 2;
    constexpr int STAGE = 8704;
    constexpr int A_TILE = 0;
    constexpr int A_ROW = 68;
    constexpr int B_TILE = 4352;
    constexpr int B_ROW = 68;
    constexpr int steps = 16;
    extern __shared__ __align__(128) unsigned char smem[];

    // place: tiles of the grid with n fastest
    const unsigned tile = blockIdx.x;
    const unsigned tile_m = tile / 8u;
    const unsigned tile_n = tile % 8u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x;
    const int lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane >> 1 & 1 | lane >> 2 & 2;
    const int lane_n = lane & 1 | lane >> 1 & 2 | lane >> 2 & 4;
    const int row = (int)(warp % 4u) * WM + lane_m * VM;
    const int col = lane_n * VN;
    int k_next = 0;
    int put = 0;
    int take = 0;

    // address: operand a, 1 x 8 elements per thread along k
    const int a_mn = tid / 2u;
    const int a_k = tid % 2u * 8u;
    const int a_to = a_k * A_ROW + a_mn;
    const unsigned short *a_src = t0 + (long long)(m0 + a_mn) * 256 + (long long)(k_next + a_k);

    // address: operand b, 1 x 8 elements per thread along k
    const int b_mn = tid / 2u;
    const int b_k = tid % 2u * 8u;
    const int b_to = b_k * B_ROW + b_mn;
    const unsigned short *b_src = t1 + (long long)(n0 + b_mn) * 256 + (long long)(k_next + b_k);

    float acc[4][8];
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            acc[i][j] = 0.0f;
        }
    }
    rl_vec<unsigned, 4> a_reg[1];
    rl_vec<unsigned, 4> b_reg[1];
    float a_frag[2][4];
    float b_frag[2][8];

    // fill: the first step
    {
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            a_reg[i] = {};
            if (m0 + a_mn < M) {
                a_reg[i] = rl_load<4>(reinterpret_cast<const unsigned *>(a_src));
            }
        }
        a_src += BK;
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            b_reg[i] = rl_load<4>(reinterpret_cast<const unsigned *>(b_src));
        }
        b_src += BK;
        k_next += BK;
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            float *const to = reinterpret_cast<float *>(smem + put + A_TILE);
            #pragma unroll
            for (int v = 0; v < 8; v++) {
                to[a_to + v * 68] = rl_f16_to_f32((unsigned short)(a_reg[i].v[v / 2] >> v % 2 * 16));
            }
        }
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            float *const to = reinterpret_cast<float *>(smem + put + B_TILE);
            #pragma unroll
            for (int v = 0; v < 8; v++) {
                to[b_to + v * 68] = rl_f16_to_f32((unsigned short)(b_reg[i].v[v / 2] >> v % 2 * 16));
            }
        }
    }
    put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
    __syncthreads();

    // fragment: registers of the first k
    {
        const float *const from = reinterpret_cast<const float *>(smem + take + A_TILE) + row;
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
        // load: step + 1
        if (step + 1 < steps) {
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                a_reg[i] = {};
                if (m0 + a_mn < M) {
                    a_reg[i] = rl_load<4>(reinterpret_cast<const unsigned *>(a_src));
                }
            }
            a_src += BK;
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                b_reg[i] = rl_load<4>(reinterpret_cast<const unsigned *>(b_src));
            }
            b_src += BK;
            k_next += BK;
        }
        #pragma unroll 1
        for (int kb = 0; kb < WK; kb += 8) {
            // compute: 7 k
            #pragma unroll
            for (int kk = 0; kk < 7; kk++) {
                {
                    const float *const from = reinterpret_cast<const float *>(smem + take + A_TILE) + (kb * A_ROW + row);
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
                    const float *const from = reinterpret_cast<const float *>(smem + take + B_TILE) + (kb * B_ROW + col);
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
                for (int i = 0; i < 4; i++) {
                    #pragma unroll
                    for (int j = 0; j < 8; j++) {
                        acc[i][j] = fmaf(a_frag[kk & 1][i], b_frag[kk & 1][j], acc[i][j]);
                    }
                }
            }
            int next = kb + 8;
            if (next == WK) {
                next = 0;
                // keep: what was loaded for the next step
                if (step + 1 < steps) {
                    #pragma unroll
                    for (int i = 0; i < 1; i++) {
                        float *const to = reinterpret_cast<float *>(smem + put + A_TILE);
                        #pragma unroll
                        for (int v = 0; v < 8; v++) {
                            to[a_to + v * 68] = rl_f16_to_f32((unsigned short)(a_reg[i].v[v / 2] >> v % 2 * 16));
                        }
                    }
                    #pragma unroll
                    for (int i = 0; i < 1; i++) {
                        float *const to = reinterpret_cast<float *>(smem + put + B_TILE);
                        #pragma unroll
                        for (int v = 0; v < 8; v++) {
                            to[b_to + v * 68] = rl_f16_to_f32((unsigned short)(b_reg[i].v[v / 2] >> v % 2 * 16));
                        }
                    }
                }
                // wait: the next stage is complete
                __syncthreads();
                put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
                take = take + STAGE < STAGES * STAGE ? take + STAGE : 0;
            }
            // compute: the last k, with fragments of the next stage under way
            if (next > 0 || step + 1 < steps) {
                {
                    const float *const from = reinterpret_cast<const float *>(smem + take + A_TILE) + (next * A_ROW + row);
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
            if (next > 0 || step + 1 < steps) {
                {
                    const float *const from = reinterpret_cast<const float *>(smem + take + B_TILE) + (next * B_ROW + col);
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
            for (int i = 0; i < 4; i++) {
                #pragma unroll
                for (int j = 0; j < 8; j++) {
                    acc[i][j] = fmaf(a_frag[7 & 1][i], b_frag[7 & 1][j], acc[i][j]);
                }
            }
        }
    } while (++step < steps);
    // elements: 4 outputs of the thread at a time
    {
        const int m_at = m0 + row;
        const int n_at = n0 + col;
        unsigned short *const p3 = t3 + (m_at * 512 + n_at);
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            const int m = m_at + (i / VM * (LM * VM) + i % VM);
            if (m < M) {
                #pragma unroll
                for (int j = 0; j < 8; j += 4) {
                    const int n = n_at + (j / VN * (LN * VN) + j % VN);
                    const int i0 = m;
                    const int i1 = n;
                    rl_vec<unsigned short, 4> x0[1];
                    #pragma unroll
                    for (int p = 0; p < 1; p++) {
                        x0[p] = rl_load<4>(t2 + i1 + p * 4);
                    }
                    float o3[4];
                    #pragma unroll
                    for (int v = 0; v < 4; v++) {
                        const float e4 = acc[i][j + v];
                        o3[v] = rl_max_f32(e4 + rl_f16_to_f32(x0[v / 4].v[v % 4]), 0.0f);
                    }
                    rl_store_f16<4>(p3 + ((i / VM * (LM * VM) + i % VM) * 512 + (j / VN * (LN * VN) + j % VN)), o3);
                }
            }
        }
    }
}
