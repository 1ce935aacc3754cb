// roller-plan 1
// kernel 0
//   skeleton row
//   unit ffma
//   block 1 1 2048 1
//   thread 1 1 16 1
//   store 8
//   split 20
//   keep online
//   blocks_per_sm 8
//
// arguments
//   0  bf16[2,100000]
//   1  bf16[2,100000]  output
//   w  workspace of 512 bytes
// launches
//   rk_af10689c5d91b793_0  grid 2,20  block 128  dynamic shared memory 0
//     takes 0, 1, w + 0
//   rk_af10689c5d91b793_1  grid 2,20  block 128  dynamic shared memory 0
//     takes 0, 1, w + 0

template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };

template <int N, typename T> __device__ __forceinline__ rl_vec<T, N> rl_load(const T *p) {
    return *reinterpret_cast<const rl_vec<T, N> *>(p);
}

__device__ __forceinline__ float rl_bf16_to_f32(unsigned short x) {
    return __uint_as_float((unsigned)x << 16);
}

__device__ __forceinline__ float rl_max_f32(float x, float y) {
    float z;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
    return z;
}

__device__ __forceinline__ float rl_exp_term(float x) {
    float z;
    asm("ex2.approx.f32 %0, %1;" : "=f"(z) : "f"(x * 1.442695041f));
    return z;
}

__device__ __forceinline__ float rl_div_low(float x, float y, float r) {
    const float many = 72057594037927936.0f, rest = fmaf(r, -y, 1.0f) * r;
    const float q = x * r, left = fmaf(q, -y * many, x * many);
    return fmaf(fmaf(left, r, left * rest), 1.0f / many, q);
}

__device__ __forceinline__ bool rl_not_ones(float y) {
    return (__float_as_uint(y) & 0x7fffffu) != 0x7fffffu;
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
rk_af10689c5d91b793_0(const unsigned short *__restrict__ t0,
    unsigned short *__restrict__ t1,
    unsigned char *__restrict__ w) {
    constexpr int M = 2;
    constexpr int N = 100000;
    constexpr int BM = 1;
    constexpr int LN = 128;
    constexpr int BN = 2048;
    constexpr int TN = 16;
    constexpr int VN = 8;
    rl_next_may_begin();
    // rows
    const int tid = threadIdx.x;
    const int lane = tid % 128u;
    const int m = (int)blockIdx.x * BM + tid / 128u;
    const int i0 = m;
    const unsigned short *const p0 = t0 + i0 * 100000ll;
    unsigned short *const q1 = t1 + i0 * 100000ll;
    const int first = (int)blockIdx.y * 3;
    const int steps = min(first + 3, 49);

    // pass 0
    float acc2 = (-__int_as_float(0x7f800000));
    float acc3 = 0.0f;
    #pragma unroll 1
    for (int step = first; step < steps; step++) {
        rl_vec<unsigned short, 8> x0[2];
        #pragma unroll
        for (int u = 0; u < 2; u++) {
            const int col = step * BN + (u * LN + lane) * VN;
            if (col < N) {
                x0[u] = rl_load<8>(p0 + col);
            }
        }
        const float past2 = acc2;
        #pragma unroll
        for (int u = 0; u < 2; u++) {
            const int col = step * BN + (u * LN + lane) * VN;
            if (col < N) {
                #pragma unroll
                for (int v = 0; v < VN; v++) {
                    const int i1 = col + v;
                    acc2 = rl_max_f32(acc2, rl_bf16_to_f32(x0[u].v[v]));
                }
            }
        }
        acc3 *= past2 == acc2 ? 1.0f : expf(past2 - acc2);
        const float base3 = acc2 == (-__int_as_float(0x7f800000)) ? 0.0f : acc2;
        #pragma unroll
        for (int u = 0; u < 2; u++) {
            const int col = step * BN + (u * LN + lane) * VN;
            if (col < N) {
                #pragma unroll
                for (int v = 0; v < VN; v++) {
                    const int i1 = col + v;
                    acc3 = acc3 + rl_exp_term(rl_bf16_to_f32(x0[u].v[v]) - base3);
                }
            }
        }
    }

    // values of the slice
    const float own2 = acc2;
    #pragma unroll
    for (int f = 16; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc2, f);
        acc2 = rl_max_f32(acc2, y);
    }
    __shared__ float part2[4];
    if (tid % 32u == 0u) {
        part2[tid / 32u] = acc2;
    }
    __syncthreads();
    acc2 = part2[tid / 128u * 4u + tid % 4u];
    #pragma unroll
    for (int f = 2; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc2, f);
        acc2 = rl_max_f32(acc2, y);
    }
    {
        acc3 = acc3 * (own2 == acc2 ? 1.0f : expf(own2 - acc2));
    }
    #pragma unroll
    for (int f = 16; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc3, f);
        acc3 = acc3 + y;
    }
    __shared__ float part3[4];
    if (tid % 32u == 0u) {
        part3[tid / 32u] = acc3;
    }
    __syncthreads();
    acc3 = part3[tid / 128u * 4u + tid % 4u];
    #pragma unroll
    for (int f = 2; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc3, f);
        acc3 = acc3 + y;
    }
    float *const left2 = reinterpret_cast<float *>(w) + m * 20ll;
    float *const left3 = reinterpret_cast<float *>(w + 160ll) + m * 20ll;
    if (lane == 0) {
        left2[blockIdx.y] = acc2;
    }
    if (lane == 0) {
        left3[blockIdx.y] = acc3;
    }
}

extern "C" __global__ void __launch_bounds__(128, 1)
rk_af10689c5d91b793_1(const unsigned short *__restrict__ t0,
    unsigned short *__restrict__ t1,
    unsigned char *__restrict__ w) {
    constexpr int M = 2;
    constexpr int N = 100000;
    constexpr int BM = 1;
    constexpr int LN = 128;
    constexpr int BN = 2048;
    constexpr int TN = 16;
    constexpr int VN = 8;
    rl_previous_wait();
    w = rl_behind(w);
    // rows
    const int tid = threadIdx.x;
    const int lane = tid % 128u;
    const int m = (int)blockIdx.x * BM + tid / 128u;
    const int i0 = m;
    const unsigned short *const p0 = t0 + i0 * 100000ll;
    unsigned short *const q1 = t1 + i0 * 100000ll;
    const int first = (int)blockIdx.y * 3;
    const int steps = min(first + 3, 49);

    // combine: the slices of pass 0
    float *const left2 = reinterpret_cast<float *>(w) + m * 20ll;
    float *const left3 = reinterpret_cast<float *>(w + 160ll) + m * 20ll;
    float acc2 = (-__int_as_float(0x7f800000));
    float acc3 = 0.0f;
    #pragma unroll 4
    for (int s = lane; s < 20; s += 128) {
        const float x2 = left2[s];
        const float x3 = left3[s];
        const float now2 = rl_max_f32(acc2, x2);
        {
            const float d = acc2 == now2 ? x2 : acc2;
            const float f = d == now2 ? 1.0f : expf(d - now2);
            acc3 = acc3 * (acc2 == now2 ? 1.0f : f) + x3 * (x2 == now2 ? 1.0f : f);
        }
        acc2 = now2;
    }
    const float own2 = acc2;
    #pragma unroll
    for (int f = 16; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc2, f);
        acc2 = rl_max_f32(acc2, y);
    }
    __shared__ float part2[4];
    if (tid % 32u == 0u) {
        part2[tid / 32u] = acc2;
    }
    __syncthreads();
    acc2 = part2[tid / 128u * 4u + tid % 4u];
    #pragma unroll
    for (int f = 2; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc2, f);
        acc2 = rl_max_f32(acc2, y);
    }
    {
        acc3 = acc3 * (own2 == acc2 ? 1.0f : expf(own2 - acc2));
    }
    #pragma unroll
    for (int f = 16; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc3, f);
        acc3 = acc3 + y;
    }
    __shared__ float part3[4];
    if (tid % 32u == 0u) {
        part3[tid / 32u] = acc3;
    }
    __syncthreads();
    acc3 = part3[tid / 128u * 4u + tid % 4u];
    #pragma unroll
    for (int f = 2; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc3, f);
        acc3 = acc3 + y;
    }
    if (acc2 == (-__int_as_float(0x7f800000))) {
        acc3 = (__int_as_float(0x7fc00000));
    }
    const float e2 = acc2;
    const float e3 = acc3;

    // pass 1
    #pragma unroll 1
    for (int step = steps + (-1); step >= first; step -= 1) {
        rl_vec<unsigned short, 8> x0[2];
        #pragma unroll
        for (int u = 0; u < 2; u++) {
            const int col = step * BN + (u * LN + lane) * VN;
            if (col < N) {
                x0[u] = rl_load<8>(p0 + col);
            }
        }
        {
            const float inverse3 = 1.0f / e3;
            if (e3 >= 2.3283064365386963e-10f && e3 <= 4294967296.0f && rl_not_ones(e3)) {
                #pragma unroll
                for (int u = 0; u < 2; u++) {
                    const int col = step * BN + (u * LN + lane) * VN;
                    if (col < N) {
                        float o1[8];
                        #pragma unroll
                        for (int v = 0; v < VN; v++) {
                            const int i1 = col + v;
                            o1[v] = rl_div_low(rl_exp_term(rl_bf16_to_f32(x0[u].v[v]) - e2), e3, inverse3);
                        }
                        rl_store_bf16<8>(q1 + col, o1);
                    }
                }
            } else {
                #pragma unroll
                for (int u = 0; u < 2; u++) {
                    const int col = step * BN + (u * LN + lane) * VN;
                    if (col < N) {
                        float o1[8];
                        #pragma unroll
                        for (int v = 0; v < VN; v++) {
                            const int i1 = col + v;
                            o1[v] = rl_exp_term(rl_bf16_to_f32(x0[u].v[v]) - e2) / e3;
                        }
                        rl_store_bf16<8>(q1 + col, o1);
                    }
                }
            }
        }
    }

}
