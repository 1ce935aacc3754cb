// roller-plan 1
// statement 1 joined
// kernel 0
//   skeleton contract
//   unit ffma
//   block 1 32 32 8
//   warp 1 32 16 8
//   thread 1 4 4 4
//   vec 1 4
//   unroll 8
//   stages 2
//   a async cp.async.16 vec 4 along k inner k
//   b async cp.async.16 vec 4 along k inner k
//   store 4
//   raster row
//   split 1
//   rows partial lanes 2
//   blocks_per_sm 8
//
// arguments
//   0  f32[40,16]
//   1  f32[60,16]
//   2  f32[40,60]  output
//   w  workspace of 512 bytes
// launches
//   rk_4d0976bf9aedda5c_0  grid 4,1  block 64  dynamic shared memory 4224
//     takes 0, 1, w + 0
//   rk_4d0976bf9aedda5c_1  grid 1,1  block 128  dynamic shared memory 0
//     takes w + 0
//   rk_4d0976bf9aedda5c_2  grid 4,1  block 64  dynamic shared memory 4224
//     takes 0, 1, 2, w + 0

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

template <int N, typename T> __device__ __forceinline__ void rl_store(T *p, const T *x) {
    rl_vec<T, N> y;
    #pragma unroll
    for (int i = 0; i < N; i++) y.v[i] = x[i];
    *reinterpret_cast<rl_vec<T, N> *>(p) = y;
}

extern "C" __global__ void __launch_bounds__(64, 1)
rk_4d0976bf9aedda5c_0(const float *__restrict__ t0,
    const float *__restrict__ t1,
    unsigned char *__restrict__ w) {
    constexpr int M = 40;
    constexpr int N = 60;
    constexpr int K = 16;
    constexpr int BM = 32;
    constexpr int BN = 32;
    constexpr int BK = 8;
    constexpr int WM = 32;
    constexpr int WN = 16;
    constexpr int WK = 8;
    constexpr int TM = 4;
    constexpr int TN = 4;
    constexpr int TK = 4;
    constexpr int LM = 8;
    constexpr int LN = 4;
    constexpr int VM = 1;
    constexpr int VN = 4;
    constexpr int THREADS = 64;
    constexpr int STAGES = 2;
    constexpr int STAGE = 2048;
    constexpr int A_TILE = 0;
    constexpr int A_ROW = 8;
    constexpr int B_TILE = 1024;
    constexpr int B_ROW = 8;
    constexpr int steps = 2;
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
    const int lane_m = lane >> 1 & 1 | lane >> 2 & 2 | lane >> 2 & 4;
    const int lane_n = lane & 1 | lane >> 1 & 2;
    const int row = lane_m * VM;
    const int col = (int)(warp % 2u) * WN + lane_n * VN;
    int k_next = 0;
    int put = 0;
    int take = 0;

    // address: operand a, 1 x 4 elements per thread along k
    const int a_mn = tid / 2u;
    const int a_k = tid % 2u * 4u;
    const int a_to = a_mn * A_ROW + a_k;
    const float *a_src = t0 + (long long)(m0 + a_mn) * 16 + (long long)(k_next + a_k);

    // address: operand b, 1 x 4 elements per thread along k
    const int b_mn = tid / 2u;
    const int b_k = tid % 2u * 4u;
    const int b_to = b_mn * B_ROW + b_k;
    const float *b_src = t1 + (long long)(n0 + b_mn) * 16 + (long long)(k_next + b_k);

    float acc[4][4];
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            acc[i][j] = 0.0f;
        }
    }
    float a_frag[4][4];
    float b_frag[4][4];

    // fill: the first step
    {
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            rl_cp_async_16(shared + put + A_TILE + a_to * 4, a_src, m0 + a_mn < M);
        }
        a_src += BK;
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            rl_cp_async_16(shared + put + B_TILE + b_to * 4, b_src, n0 + b_mn < N);
        }
        b_src += BK;
        k_next += BK;
    }
    rl_cp_async_commit();
    put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
    rl_cp_async_wait<0>();
    __syncthreads();

    int step = 0;
    #pragma unroll 1
    do {
        // load: step + 1
        if (step + 1 < steps) {
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                rl_cp_async_16(shared + put + A_TILE + a_to * 4, a_src, m0 + a_mn < M);
            }
            a_src += BK;
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                rl_cp_async_16(shared + put + B_TILE + b_to * 4, b_src, n0 + b_mn < N);
            }
            b_src += BK;
            k_next += BK;
        }
        rl_cp_async_commit();
        // compute: 8 k
        #pragma unroll
        for (int kk = 0; kk < 8; kk++) {
            if (kk % 4 == 0) {
                {
                    const float *const from = reinterpret_cast<const float *>(smem + take + A_TILE) + row * A_ROW;
                    #pragma unroll
                    for (int i = 0; i < 4; i++) {
                        const rl_vec<float, 4> x = rl_load<4>(from + (i * LM * A_ROW + kk));
                        #pragma unroll
                        for (int f = 0; f < 4; f++) {
                            a_frag[f][i] = x.v[f];
                        }
                    }
                }
            }
            if (kk % 4 == 0) {
                {
                    const float *const from = reinterpret_cast<const float *>(smem + take + B_TILE) + col * B_ROW;
                    #pragma unroll
                    for (int i = 0; i < 4; i++) {
                        const rl_vec<float, 4> x = rl_load<4>(from + ((i / VN * (LN * VN) + i % VN) * B_ROW + kk));
                        #pragma unroll
                        for (int f = 0; f < 4; f++) {
                            b_frag[f][i] = x.v[f];
                        }
                    }
                }
            }
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    acc[i][j] = fmaf(a_frag[kk % 4][i], b_frag[kk % 4][j], acc[i][j]);
                }
            }
        }
        // wait: the next stage is complete
        rl_cp_async_wait<0>();
        __syncthreads();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
        take = take + STAGE < STAGES * STAGE ? take + STAGE : 0;
    } while (++step < steps);
    // rows: where their values lie
    float *const part4 = reinterpret_cast<float *>(smem);
    float *const left4 = reinterpret_cast<float *>(w);

    // pass 0 over the rows
    float f4[4];
    #pragma unroll
    for (int x = 0; x < 4; x++) {
        f4[x] = 0.0f;
    }
    {
        {
            const int m_at = m0 + row;
            const int n_at = n0 + col;
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                const int m = m_at + (i / VM * (LM * VM) + i % VM);
                if (m < M) {
                    #pragma unroll
                    for (int j = 0; j < 4; j += 4) {
                        const int n = n_at + (j / VN * (LN * VN) + j % VN);
                        if (n < N) {
                            const int i0 = m;
                            const int i1 = n;
                            #pragma unroll
                            for (int v = 0; v < 4; v++) {
                                const float e3 = acc[i][j + v];
                                f4[i] = f4[i] + e3;
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
        for (int f = 4; f > 2; f /= 2) {
            const float y = __shfl_xor_sync(0xffffffffu, f4[x], f);
            f4[x] = f4[x] + y;
        }
        #pragma unroll
        for (int f = 1; f > 0; f /= 2) {
            const float y = __shfl_xor_sync(0xffffffffu, f4[x], f);
            f4[x] = f4[x] + y;
        }
    }
    __syncthreads();  // stages become parts of rows
    #pragma unroll
    for (int x = 0; x < 4; x++) {
        if ((lane & 5) == 0) {
            part4[col / 16 * 32 + row + x * 8] = f4[x];
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
        left4[tile_n * 40ll + m] = acc4;
    }

}

extern "C" __global__ void __launch_bounds__(128)
rk_4d0976bf9aedda5c_1(unsigned char *__restrict__ w) {
    rl_previous_wait();
    w = rl_behind(w);
    rl_next_may_begin();
    // combine: the parts of pass 0, 2 threads to a row
    const int lane = threadIdx.x % 2u;
    const int id = (int)blockIdx.x * 64 + threadIdx.x / 2u;
    const int row = min(id, 39);
    const int b = row / 40;
    const int m = row % 40;
    const int i0 = m;
    float *const left4 = reinterpret_cast<float *>(w);
    float *const value4 = reinterpret_cast<float *>(w + 320ll);
    float acc4 = 0.0f;
    #pragma unroll 4
    for (int s = lane; s < 2; s += 2) {
        const float x4 = left4[s * 40ll + row];
        acc4 = acc4 + x4;
    }
    #pragma unroll
    for (int f = 1; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc4, f);
        acc4 = acc4 + y;
    }
    const int at = rl_hidden(row);
    const float e4 = acc4;
    if (lane == 0 && id < 40) {
        value4[at] = e4;
    }
}

extern "C" __global__ void __launch_bounds__(64, 1)
rk_4d0976bf9aedda5c_2(const float *__restrict__ t0,
    const float *__restrict__ t1,
    float *__restrict__ t2,
    unsigned char *__restrict__ w) {
    constexpr int M = 40;
    constexpr int N = 60;
    constexpr int K = 16;
    constexpr int BM = 32;
    constexpr int BN = 32;
    constexpr int BK = 8;
    constexpr int WM = 32;
    constexpr int WN = 16;
    constexpr int WK = 8;
    constexpr int TM = 4;
    constexpr int TN = 4;
    constexpr int TK = 4;
    constexpr int LM = 8;
    constexpr int LN = 4;
    constexpr int VM = 1;
    constexpr int VN = 4;
    constexpr int THREADS = 64;
    constexpr int STAGES = 2;
    constexpr int STAGE = 2048;
    constexpr int A_TILE = 0;
    constexpr int A_ROW = 8;
    constexpr int B_TILE = 1024;
    constexpr int B_ROW = 8;
    constexpr int steps = 2;
    extern __shared__ __align__(128) unsigned char smem[];

    const unsigned shared = rl_shared(smem);
    rl_previous_wait();
    w = rl_behind(w);
    // place: tiles of the grid with n fastest
    const unsigned tile = blockIdx.x;
    const unsigned tile_m = tile / 2u;
    const unsigned tile_n = tile % 2u;
    const int m0 = (int)tile_m * BM;
    const int n0 = (int)tile_n * BN;
    const int tid = threadIdx.x;
    const int lane = tid % 32u;
    const unsigned warp = tid / 32u;
    const int lane_m = lane >> 1 & 1 | lane >> 2 & 2 | lane >> 2 & 4;
    const int lane_n = lane & 1 | lane >> 1 & 2;
    const int row = lane_m * VM;
    const int col = (int)(warp % 2u) * WN + lane_n * VN;
    int k_next = 0;
    int put = 0;
    int take = 0;

    // address: operand a, 1 x 4 elements per thread along k
    const int a_mn = tid / 2u;
    const int a_k = tid % 2u * 4u;
    const int a_to = a_mn * A_ROW + a_k;
    const float *a_src = t0 + (long long)(m0 + a_mn) * 16 + (long long)(k_next + a_k);

    // address: operand b, 1 x 4 elements per thread along k
    const int b_mn = tid / 2u;
    const int b_k = tid % 2u * 4u;
    const int b_to = b_mn * B_ROW + b_k;
    const float *b_src = t1 + (long long)(n0 + b_mn) * 16 + (long long)(k_next + b_k);

    float acc[4][4];
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            acc[i][j] = 0.0f;
        }
    }
    float a_frag[4][4];
    float b_frag[4][4];

    // fill: the first step
    {
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            rl_cp_async_16(shared + put + A_TILE + a_to * 4, a_src, m0 + a_mn < M);
        }
        a_src += BK;
        #pragma unroll
        for (int i = 0; i < 1; i++) {
            rl_cp_async_16(shared + put + B_TILE + b_to * 4, b_src, n0 + b_mn < N);
        }
        b_src += BK;
        k_next += BK;
    }
    rl_cp_async_commit();
    put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
    rl_cp_async_wait<0>();
    __syncthreads();

    int step = 0;
    #pragma unroll 1
    do {
        // load: step + 1
        if (step + 1 < steps) {
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                rl_cp_async_16(shared + put + A_TILE + a_to * 4, a_src, m0 + a_mn < M);
            }
            a_src += BK;
            #pragma unroll
            for (int i = 0; i < 1; i++) {
                rl_cp_async_16(shared + put + B_TILE + b_to * 4, b_src, n0 + b_mn < N);
            }
            b_src += BK;
            k_next += BK;
        }
        rl_cp_async_commit();
        // compute: 8 k
        #pragma unroll
        for (int kk = 0; kk < 8; kk++) {
            if (kk % 4 == 0) {
                {
                    const float *const from = reinterpret_cast<const float *>(smem + take + A_TILE) + row * A_ROW;
                    #pragma unroll
                    for (int i = 0; i < 4; i++) {
                        const rl_vec<float, 4> x = rl_load<4>(from + (i * LM * A_ROW + kk));
                        #pragma unroll
                        for (int f = 0; f < 4; f++) {
                            a_frag[f][i] = x.v[f];
                        }
                    }
                }
            }
            if (kk % 4 == 0) {
                {
                    const float *const from = reinterpret_cast<const float *>(smem + take + B_TILE) + col * B_ROW;
                    #pragma unroll
                    for (int i = 0; i < 4; i++) {
                        const rl_vec<float, 4> x = rl_load<4>(from + ((i / VN * (LN * VN) + i % VN) * B_ROW + kk));
                        #pragma unroll
                        for (int f = 0; f < 4; f++) {
                            b_frag[f][i] = x.v[f];
                        }
                    }
                }
            }
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    acc[i][j] = fmaf(a_frag[kk % 4][i], b_frag[kk % 4][j], acc[i][j]);
                }
            }
        }
        // wait: the next stage is complete
        rl_cp_async_wait<0>();
        __syncthreads();
        put = put + STAGE < STAGES * STAGE ? put + STAGE : 0;
        take = take + STAGE < STAGES * STAGE ? take + STAGE : 0;
    } while (++step < steps);
    // rows: where their values lie
    float *const value4 = reinterpret_cast<float *>(w + 320ll);

    // elements: 4 outputs of the thread at a time
    {
        const int m_at = m0 + row;
        const int n_at = n0 + col;
        float *const p2 = t2 + (m_at * 60 + n_at);
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            const int m = m_at + (i / VM * (LM * VM) + i % VM);
            if (m < M) {
                const float r4 = value4[m];
                #pragma unroll
                for (int j = 0; j < 4; j += 4) {
                    const int n = n_at + (j / VN * (LN * VN) + j % VN);
                    if (n < N) {
                        const int i0 = m;
                        const int i1 = n;
                        float o2[4];
                        #pragma unroll
                        for (int v = 0; v < 4; v++) {
                            const float e3 = acc[i][j + v];
                            o2[v] = e3 - r4;
                        }
                        rl_store<4>(p2 + ((i / VM * (LM * VM) + i % VM) * 60 + (j / VN * (LN * VN) + j % VN)), o2);
                    }
                }
            }
        }
    }
}
