// roller-plan 1
// kernel 0
//   skeleton row
//   unit ffma
//   block 1 1 1024 1
//   thread 1 1 8 1
//   store 8
//   split 1
//   keep shared
//   blocks_per_sm 8
//
// arguments
//   0  bf16[8,4096]
//   1  f32[4096]
//   2  f32[4096]
//   3  f32
//   4  bf16[8,4096]  output
// launches
//   rk_59317a2b31a62c48_0  grid 8,1  block 128  dynamic shared memory 8192
//     takes 0, 1, 2, 3, 4

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

__device__ __forceinline__ void rl_cp_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> __device__ __forceinline__ void rl_cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
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

extern "C" __global__ void __launch_bounds__(128, 1)
rk_59317a2b31a62c48_0(const unsigned short *__restrict__ t0,
    const float *__restrict__ t1,
    const float *__restrict__ t2,
    const float t3,
    unsigned short *__restrict__ t4) {
    constexpr int M = 8;
    constexpr int N = 4096;
    constexpr int BM = 1;
    constexpr int LN = 128;
    constexpr int BN = 1024;
    constexpr int TN = 8;
    constexpr int VN = 8;
    extern __shared__ __align__(128) unsigned char smem[];
    // rows
    const int tid = threadIdx.x;
    const int lane = tid % 128u;
    const int m = (int)blockIdx.x * BM + tid / 128u;
    const int i0 = m;
    const unsigned short *const p0 = t0 + i0 * 4096ll;
    const float *const p1 = t1;
    const float *const p2 = t2;
    unsigned short *const q4 = t4 + i0 * 4096ll;
    constexpr int steps = 4;

    // hold: rows in shared memory, each thread its own columns
    unsigned short *const h0 = reinterpret_cast<unsigned short *>(smem) + tid / LN * 4096;
    #pragma unroll 4
    for (int col = lane * VN; col < N; col += LN * VN) {
        rl_cp_async_16(rl_shared(h0 + col), p0 + col, true);
    }
    rl_cp_async_commit();
    rl_cp_async_wait<0>();

    // pass 0
    float acc5 = 0.0f;
    #pragma unroll 1
    for (int step = 0; step < steps; step++) {
        #pragma unroll
        for (int u = 0; u < 1; u++) {
            const long long col = step * BN + lane * VN + u * (long long)(LN * VN);
            rl_vec<unsigned short, 8> x0[1];
            x0[0] = rl_load<8>(h0 + col);
            #pragma unroll
            for (int v = 0; v < VN; v++) {
                const int i1 = col + v;
                acc5 = acc5 + rl_bf16_to_f32(x0[0].v[v]);
            }
        }
    }

    // values of the rows
    #pragma unroll
    for (int f = 16; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc5, f);
        acc5 = acc5 + y;
    }
    __shared__ float part5[4];
    if (tid % 32u == 0u) {
        part5[tid / 32u] = acc5;
    }
    __syncthreads();
    acc5 = part5[tid / 128u * 4u + tid % 4u];
    #pragma unroll
    for (int f = 2; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc5, f);
        acc5 = acc5 + y;
    }
    const float e5 = acc5;
    const float e6 = e5 / (float)4096;

    // pass 1
    float acc7 = 0.0f;
    #pragma unroll 1
    for (int step = 0; step < steps; step++) {
        #pragma unroll
        for (int u = 0; u < 1; u++) {
            const long long col = step * BN + lane * VN + u * (long long)(LN * VN);
            rl_vec<unsigned short, 8> x0[1];
            x0[0] = rl_load<8>(h0 + col);
            #pragma unroll
            for (int v = 0; v < VN; v++) {
                const int i1 = col + v;
                acc7 = acc7 + (rl_bf16_to_f32(x0[0].v[v]) - e6) * (rl_bf16_to_f32(x0[0].v[v]) - e6);
            }
        }
    }

    // values of the rows
    #pragma unroll
    for (int f = 16; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc7, f);
        acc7 = acc7 + y;
    }
    __shared__ float part7[4];
    if (tid % 32u == 0u) {
        part7[tid / 32u] = acc7;
    }
    __syncthreads();
    acc7 = part7[tid / 128u * 4u + tid % 4u];
    #pragma unroll
    for (int f = 2; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc7, f);
        acc7 = acc7 + y;
    }
    const float e7 = acc7;
    const float e8 = e7 / (float)4096;

    // pass 2
    #pragma unroll 1
    for (int step = 0; step < steps; step++) {
        #pragma unroll
        for (int u = 0; u < 1; u++) {
            const long long col = step * BN + lane * VN + u * (long long)(LN * VN);
            rl_vec<unsigned short, 8> x0[1];
            x0[0] = rl_load<8>(h0 + col);
            rl_vec<float, 4> x1[2];
            #pragma unroll
            for (int p = 0; p < 2; p++) {
                x1[p] = rl_load<4>(p1 + (col + p * 4));
            }
            rl_vec<float, 4> x2[2];
            #pragma unroll
            for (int p = 0; p < 2; p++) {
                x2[p] = rl_load<4>(p2 + (col + p * 4));
            }
            float o4[8];
            #pragma unroll
            for (int v = 0; v < VN; v++) {
                const int i1 = col + v;
                o4[v] = (rl_bf16_to_f32(x0[0].v[v]) - e6) * rsqrtf(e8 + t3) * x1[v / 4].v[v % 4] + x2[v / 4].v[v % 4];
            }
            rl_store_bf16<8>(q4 + col, o4);
        }
    }


}
