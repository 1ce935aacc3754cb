// roller-plan 1
// kernel 0
//   skeleton row
//   unit ffma
//   block 1 1 4096 1
//   thread 1 1 16 1
//   store 4
//   split 20
//   keep memory
//   blocks_per_sm 4
//
// arguments
//   0  f32[2,100000]
//   1  f32[2]  output
//   w  workspace of 256 bytes
// launches
//   rk_31cfface3f219a53_0  grid 2,20  block 256  dynamic shared memory 32
//     takes 0, w + 0
//   rk_31cfface3f219a53_1  grid 2,1  block 256  dynamic shared memory 32
//     takes 0, 1, w + 0

template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };

template <int N, typename T> __device__ __forceinline__ rl_vec<T, N> rl_load(const T *p) {
    return *reinterpret_cast<const rl_vec<T, N> *>(p);
}

extern "C" __global__ void __launch_bounds__(256, 1)
rk_31cfface3f219a53_0(const float *__restrict__ t0,
    unsigned char *__restrict__ w) {
    constexpr int M = 2;
    constexpr int N = 100000;
    constexpr int BM = 1;
    constexpr int LN = 256;
    constexpr int BN = 4096;
    constexpr int TN = 16;
    constexpr int VN = 4;
    extern __shared__ __align__(128) unsigned char smem[];
    // rows
    const int tid = threadIdx.x;
    const int lane = tid % 256u;
    const int m = (int)blockIdx.x * BM + tid / 256u;
    const int i0 = m;
    const float *const p0 = t0 + i0 * 100000ll;
    const int first = (int)blockIdx.y * 2;
    const int steps = min(first + 2, 25);
    float *const part2 = reinterpret_cast<float *>(smem);

    // pass 0
    float acc2 = 0.0f;
    #pragma unroll 1
    for (int step = first; step < steps; step++) {
        rl_vec<float, 4> x0[4];
        #pragma unroll
        for (int u = 0; u < 4; u++) {
            const int col = step * BN + (u * LN + lane) * VN;
            if (col < N) {
                x0[u] = rl_load<4>(p0 + col);
            }
        }
        #pragma unroll
        for (int u = 0; u < 4; u++) {
            const int col = step * BN + (u * LN + lane) * VN;
            if (col < N) {
                #pragma unroll
                for (int v = 0; v < VN; v++) {
                    const int i1 = col + v;
                    acc2 = acc2 + x0[u].v[v];
                }
            }
        }
    }

    // values of the slice
    #pragma unroll
    for (int f = 16; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc2, f);
        acc2 = acc2 + y;
    }
    if (tid % 32u == 0u) {
        part2[tid / 32u] = acc2;
    }
    __syncthreads();
    acc2 = part2[tid / 256u * 8u + tid % 8u];
    #pragma unroll
    for (int f = 4; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc2, f);
        acc2 = acc2 + y;
    }
    float *const left2 = reinterpret_cast<float *>(w) + m * 20ll;
    if (lane == 0) {
        left2[blockIdx.y] = acc2;
    }
}

extern "C" __global__ void __launch_bounds__(256, 1)
rk_31cfface3f219a53_1(const float *__restrict__ t0,
    float *__restrict__ t1,
    unsigned char *__restrict__ w) {
    constexpr int M = 2;
    constexpr int N = 100000;
    constexpr int BM = 1;
    constexpr int LN = 256;
    constexpr int BN = 4096;
    constexpr int TN = 16;
    constexpr int VN = 4;
    extern __shared__ __align__(128) unsigned char smem[];
    // rows
    const int tid = threadIdx.x;
    const int lane = tid % 256u;
    const int m = (int)blockIdx.x * BM + tid / 256u;
    const int i0 = m;
    const float *const p0 = t0 + i0 * 100000ll;
    const int first = (int)blockIdx.y * 2;
    const int steps = min(first + 2, 25);
    float *const part2 = reinterpret_cast<float *>(smem);

    // combine: the slices of pass 0
    float *const left2 = reinterpret_cast<float *>(w) + m * 20ll;
    float acc2 = 0.0f;
    #pragma unroll 4
    for (int s = lane; s < 20; s += 256) {
        const float x2 = left2[s];
        acc2 = acc2 + x2;
    }
    #pragma unroll
    for (int f = 16; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc2, f);
        acc2 = acc2 + y;
    }
    if (tid % 32u == 0u) {
        part2[tid / 32u] = acc2;
    }
    __syncthreads();
    acc2 = part2[tid / 256u * 8u + tid % 8u];
    #pragma unroll
    for (int f = 4; f > 0; f /= 2) {
        const float y = __shfl_xor_sync(0xffffffffu, acc2, f);
        acc2 = acc2 + y;
    }
    const float e2 = acc2;
    const float e1 = sqrtf(e2);
    if (lane == 0) {
        t1[i0] = e1;
    }

}
