// roller-plan 1
// kernel 0
//   skeleton row
//   unit ffma
//   block 1 2 1024 1
//   thread 1 1 16 1
//   store 8
//   split 1
//   keep registers
//   blocks_per_sm 4
//
// arguments
//   0  f16[63,520]
//   1  f16[63,520]  output
//   2  i32[63]  output
// launches
//   rk_b8f5870f6ee635a9_0  grid 32,1  block 128  dynamic shared memory 64
//     takes 0, 1, 2

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

template <typename T> __device__ __forceinline__ void rl_argmax(T &best, int &where, T x, int at) {
    const bool was = best != best, is = x != x, first = at < where;
    if (was ? is && first : is || x > best || (x == best && first)) {
        best = x;
        where = at;
    }
}

__device__ __forceinline__ float rl_exp_low(float x) {
    const float y = rl_max_f32(x, -104.0f), t = y * 1.442695041f;
    float z;
    asm("ex2.approx.f32 %0, %1;" : "=f"(z) : "f"(t));
    const float r = fmaf(t, -0.6931471825f, y);
    return fmaf(z, fmaf(t, 1.904654300e-9f, r), z);
}

__device__ __forceinline__ float rl_div_by(float x, float y, float r) {
    const float q = x * r;
    return fmaf(fmaf(q, -y, x), r, q);
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
rk_b8f5870f6ee635a9_0(const unsigned short *__restrict__ t0,
    unsigned short *__restrict__ t1,
    int *__restrict__ t2) {
    constexpr int M = 63;
    constexpr int N = 520;
    constexpr int BM = 2;
    constexpr int LN = 64;
    constexpr int BN = 1024;
    constexpr int TN = 16;
    constexpr int VN = 8;
    extern __shared__ __align__(128) unsigned char smem[];
    // rows
    const int tid = threadIdx.x;
    const int lane = tid % 64u;
    const int m = (int)blockIdx.x * BM + tid / 64u;
    const int row = min(m, M + (-1));
    const int i0 = row;
    const unsigned short *const p0 = t0 + i0 * 520ll;
    unsigned short *const q1 = t1 + i0 * 520ll;
    float *const part3 = reinterpret_cast<float *>(smem);
    float *const part2 = reinterpret_cast<float *>(smem + 32ll);
    int *const part_at2 = reinterpret_cast<int *>(smem + 48ll);
    float *const part4 = reinterpret_cast<float *>(smem + 16ll);

    // pass 0
    float acc3 = (-__int_as_float(0x7f800000));
    float acc2 = (-__int_as_float(0x7f800000));
    int where2 = 2147483647;
    rl_vec<unsigned short, 8> x0[2];
    float wide0[16];
    #pragma unroll
    for (int u = 0; u < 2; u++) {
        const int col = (u * LN + lane) * VN;
        if (m < M && col < N) {
            x0[u] = rl_load<8>(p0 + col);
        }
    }
    #pragma unroll
    for (int u = 0; u < 2; u++) {
        const int col = (u * LN + lane) * VN;
        if (m < M && col < N) {
            #pragma unroll
            for (int v = 0; v < VN; v++) {
                wide0[u * 8 + v] = rl_f16_to_f32(x0[u].v[v]);
            }
            #pragma unroll
            for (int v = 0; v < VN; v++) {
                const int i1 = col + v;
                acc3 = rl_max_f32(acc3, wide0[u * 8 + v]);
                rl_argmax(acc2, where2, wide0[u * 8 + v], i1);
            }
        }
    }

    // values of the rows
    #pragma unroll
    for (int f = 16; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc3, f);
        acc3 = rl_max_f32(acc3, y);
    }
    #pragma unroll
    for (int f = 16; f > 0; f /= 2) {
        const int at = __shfl_xor_sync(0xffffffffu, where2, f);
        const float y = __shfl_xor_sync(0xffffffffu, acc2, f);
        rl_argmax(acc2, where2, y, at);
    }
    if (tid % 32u == 0u) {
        part3[tid / 32u] = acc3;
        part2[tid / 32u] = acc2;
        part_at2[tid / 32u] = where2;
    }
    __syncthreads();
    acc3 = part3[tid / 64u * 2u + tid % 2u];
    acc2 = part2[tid / 64u * 2u + tid % 2u];
    where2 = part_at2[tid / 64u * 2u + tid % 2u];
    #pragma unroll
    for (int f = 1; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc3, f);
        acc3 = rl_max_f32(acc3, y);
    }
    #pragma unroll
    for (int f = 1; f > 0; f /= 2) {
        const int at = __shfl_xor_sync(0xffffffffu, where2, f);
        const float y = __shfl_xor_sync(0xffffffffu, acc2, f);
        rl_argmax(acc2, where2, y, at);
    }
    const float e3 = acc3;
    const int e2 = where2;
    if (lane == 0 && m < M) {
        t2[i0] = e2;
    }

    // pass 1
    float acc4 = 0.0f;
    float kept0[16];
    #pragma unroll
    for (int u = 0; u < 2; u++) {
        const int col = (u * LN + lane) * VN;
        if (m < M && col < N) {
            #pragma unroll
            for (int v = 0; v < VN; v++) {
                const int i1 = col + v;
                kept0[u * 8 + v] = rl_exp_low(wide0[u * 8 + v] - e3);
                acc4 = acc4 + kept0[u * 8 + v];
            }
        }
    }

    // values of the rows
    #pragma unroll
    for (int f = 16; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc4, f);
        acc4 = acc4 + y;
    }
    if (tid % 32u == 0u) {
        part4[tid / 32u] = acc4;
    }
    __syncthreads();
    acc4 = part4[tid / 64u * 2u + tid % 2u];
    #pragma unroll
    for (int f = 1; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc4, f);
        acc4 = acc4 + y;
    }
    const float e4 = acc4;

    // pass 2
    {
        const float inverse4 = 1.0f / e4;
        if (e4 >= 5.421010862427522e-20f && e4 <= 1.8446744073709552e19f) {
            #pragma unroll
            for (int u = 0; u < 2; u++) {
                const int col = (u * LN + lane) * VN;
                if (m < M && col < N) {
                    float o1[8];
                    #pragma unroll
                    for (int v = 0; v < VN; v++) {
                        const int i1 = col + v;
                        o1[v] = rl_div_by(kept0[u * 8 + v], e4, inverse4);
                    }
                    rl_store_f16<8>(q1 + col, o1);
                }
            }
        } else {
            #pragma unroll
            for (int u = 0; u < 2; u++) {
                const int col = (u * LN + lane) * VN;
                if (m < M && col < N) {
                    float o1[8];
                    #pragma unroll
                    for (int v = 0; v < VN; v++) {
                        const int i1 = col + v;
                        o1[v] = kept0[u * 8 + v] / e4;
                    }
                    rl_store_f16<8>(q1 + col, o1);
                }
            }
        }
    }


}
