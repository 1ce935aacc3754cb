// roller-plan 1
// kernel 0
//   skeleton stream
//   unit imad
//   block 1 32 1 1
//   thread 1 1 1 1
//   store 1
//   blocks_per_sm 1
// kernel 1
//   skeleton stream
//   unit ffma
//   block 1 512 1 1
//   thread 1 4 1 1
//   store 4
//   blocks_per_sm 1
//
// arguments
//   0  f32[64,96]
//   1  f32[96,64]  output
//   w  workspace of 512 bytes
// launches
//   rk_fa5a1ea04dacc548_0  grid 3,1  block 32  dynamic shared memory 0
//     takes 0, w + 0
//   rk_fa5a1ea04dacc548_1  grid 12,1  block 128  dynamic shared memory 0
//     takes 0, w + 0, 1

template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };

template <typename T> __device__ __forceinline__ void rl_argmax_next(T &best, int &where, T x, int at) {
    if (where == 2147483647 || (best == best && !(x <= best))) {
        best = x;
        where = at;
    }
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

extern "C" __global__ void __launch_bounds__(32)
rk_fa5a1ea04dacc548_0(const float *__restrict__ t0,
    int *__restrict__ t1) {
    rl_next_may_begin();
    const unsigned tid = threadIdx.x;
    const int g0 = (int)blockIdx.x * 32;
    // elements: 1 at a time
    #pragma unroll
    for (int u = 0; u < 1; u++) {
        const unsigned n = u * 32u + tid;
        const int at = g0 + (int)n;
        const int i0 = at;
        // fold: the reduction
        float acc1[1];
        #pragma unroll
        for (int x = 0; x < 1; x++) {
            acc1[x] = (-__int_as_float(0x7f800000));
        }
        int where1[1];
        #pragma unroll
        for (int x = 0; x < 1; x++) {
            where1[x] = 2147483647;
        }
        for (int i1 = 0; i1 < 64; i1++) {
            rl_argmax_next(acc1[0], where1[0], t0[i1 * 96 + i0], i1);
        }
        int o1[1];
        o1[0] = where1[0];
        t1[at] = o1[0];
    }
}

extern "C" __global__ void __launch_bounds__(128)
rk_fa5a1ea04dacc548_1(const float *__restrict__ t0,
    int *__restrict__ t1,
    float *__restrict__ t2) {
    rl_previous_wait();
    t1 = rl_behind(t1);
    const unsigned tid = threadIdx.x;
    const int g0 = (int)blockIdx.x * 512;
    // elements: 4 at a time
    #pragma unroll
    for (int u = 0; u < 1; u++) {
        const unsigned n = (u * 128u + tid) * 4u;
        const int at = g0 + (int)n;
        const int i1 = at % 64u;
        const int i0 = at / 64u;
        float o2[4];
        #pragma unroll
        for (int v = 0; v < 4; v++) {
            o2[v] = expf(t0[(int)(at / 64u) * (-6143) + at * 96 + v * 96] - t0[i0]) * (float)t1[i0];
        }
        rl_store<4>(t2 + at, o2);
    }
}
