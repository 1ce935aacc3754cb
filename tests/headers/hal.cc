/* What the library asks of the driver, NVRTC and CUPTI against the headers of a toolkit.  Here the
 * vendor's names without a version mean the newest form, which takes what the one used takes.  */
#include "alike.h"

#include <builtin_types.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <string>

namespace ours {
#include "hal/cuda_api.h"
#include "hal/cupti_api.h"
#include "hal/nvrtc_library.h"
/* The vendor's header gives these names other meanings.  */
#define X(name, since, need, parameters) typedef int Type_##name parameters;
CUDA_API(X)
#undef X
#define X(name, parameters) typedef int Type_##name parameters;
CUPTI_API(X)
#undef X
constexpr int attribute[] = {
#define X(name, number) number,
    CUDA_ATTRIBUTES(X)
#undef X
};
}

/* Names of the same meaning: ours, theirs.  */
#define VALUES(X)                                                                                  \
    X(CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING)                                            \
    X(CUDA_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)                              \
    X(CUDA_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER)                                                 \
    X(CUDA_JIT_ERROR_LOG_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)                                \
    X(CUDA_FUNC_MAX_THREADS, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)                              \
    X(CUDA_FUNC_STATIC_SMEM, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)                                  \
    X(CUDA_FUNC_LOCAL_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)                                   \
    X(CUDA_FUNC_REGISTERS, CU_FUNC_ATTRIBUTE_NUM_REGS)                                             \
    X(CUDA_FUNC_DYNAMIC_SMEM, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)                     \
    X(CUDA_LAUNCH_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)                                  \
    X(CUDA_LAUNCH_OVERLAP, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)                  \
    X(CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL)                                                    \
    X(CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)                              \
    X(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)                                        \
    X(CUPTI_PROFILER_OF_RANGES, CUPTI_PROFILER_TYPE_RANGE_PROFILER)                                \
    X(CUPTI_USER_RANGE, CUPTI_UserRange)                                                           \
    X(CUPTI_USER_REPLAY, CUPTI_UserReplay)                                                         \
    X(CUPTI_NOT_PERMITTED, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)                                    \
    X(CUPTI_NOT_PERMITTED_HERE, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)

#define MAP_VALUES(X)                                                                              \
    X(TM_U8, DATA_TYPE_UINT8) X(TM_U16, DATA_TYPE_UINT16) X(TM_U32, DATA_TYPE_UINT32)              \
    X(TM_S32, DATA_TYPE_INT32) X(TM_U64, DATA_TYPE_UINT64) X(TM_S64, DATA_TYPE_INT64)              \
    X(TM_F16, DATA_TYPE_FLOAT16) X(TM_F32, DATA_TYPE_FLOAT32) X(TM_F64, DATA_TYPE_FLOAT64)         \
    X(TM_BF16, DATA_TYPE_BFLOAT16) X(TM_F32_FTZ, DATA_TYPE_FLOAT32_FTZ)                            \
    X(TM_TF32, DATA_TYPE_TFLOAT32) X(TM_TF32_FTZ, DATA_TYPE_TFLOAT32_FTZ)                          \
    X(TM_SWIZZLE_NONE, SWIZZLE_NONE) X(TM_SWIZZLE_32, SWIZZLE_32B) X(TM_SWIZZLE_64, SWIZZLE_64B)   \
    X(TM_SWIZZLE_128, SWIZZLE_128B) X(TM_FILL_ZERO, FLOAT_OOB_FILL_NONE)                           \
    X(TM_FILL_NAN, FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)

#define ATTRIBUTES(X)                                                                              \
    X(THREADS_PER_BLOCK, MAX_THREADS_PER_BLOCK) X(GRID_X, MAX_GRID_DIM_X)                          \
    X(SMEM_PER_BLOCK, MAX_SHARED_MEMORY_PER_BLOCK) X(WARP_SIZE, WARP_SIZE)                         \
    X(REGISTERS_PER_BLOCK, MAX_REGISTERS_PER_BLOCK) X(CLOCK_KHZ, CLOCK_RATE)                       \
    X(SM_COUNT, MULTIPROCESSOR_COUNT) X(MEMORY_CLOCK_KHZ, MEMORY_CLOCK_RATE)                       \
    X(MEMORY_BUS_BITS, GLOBAL_MEMORY_BUS_WIDTH) X(L2_BYTES, L2_CACHE_SIZE)                         \
    X(THREADS_PER_SM, MAX_THREADS_PER_MULTIPROCESSOR)                                              \
    X(CC_MAJOR, COMPUTE_CAPABILITY_MAJOR) X(CC_MINOR, COMPUTE_CAPABILITY_MINOR)                    \
    X(SMEM_PER_SM, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)                                           \
    X(REGISTERS_PER_SM, MAX_REGISTERS_PER_MULTIPROCESSOR)                                          \
    X(SMEM_PER_BLOCK_OPTIN, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                                     \
    X(BLOCKS_PER_SM, MAX_BLOCKS_PER_MULTIPROCESSOR)                                                \
    X(SMEM_RESERVED, RESERVED_SHARED_MEMORY_PER_BLOCK) X(CLUSTER_LAUNCH, CLUSTER_LAUNCH)           \
    X(TENSOR_MAPS, TENSOR_MAP_ACCESS_SUPPORTED)

namespace behind {
#define X(name, parameters) constexpr Absent name{};
CUPTI_API(X)
#undef X
#define X(name, parameters, last) constexpr Absent name{};
CUPTI_COUNTER_API(X)
#undef X
#define X(name, theirs) constexpr Absent theirs{};
VALUES(X)
#undef X
namespace installed {
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <nvrtc.h>

/* Place and size of each member of a structure of plain members.  */
struct Shape {
    int n = 0;
    size_t at[16], size[16];
};
struct Anything {
    template <class T> operator T() const;
};
template <class T, class... A> constexpr int members() {
    if constexpr (requires { T{A()..., Anything()}; })
        return members<T, A..., Anything>();
    else return sizeof...(A);
}
template <class T, class... M> Shape shape_of(const T *whole, const M &...member) {
    Shape s;
    ((s.at[s.n] = (size_t)((const char *)&member - (const char *)whole),
      s.size[s.n++] = sizeof member), ...);
    return s;
}
template <class T> Shape shape() {
    static T v{};
    constexpr int n = members<T>();
#define BIND(count, ...)                                                                           \
    if constexpr (n == count) {                                                                    \
        auto &[__VA_ARGS__] = v;                                                                   \
        return shape_of(&v, __VA_ARGS__);                                                          \
    }
    BIND(2, a, b) BIND(3, a, b, c) BIND(4, a, b, c, d) BIND(5, a, b, c, d, e)
    BIND(6, a, b, c, d, e, f) BIND(7, a, b, c, d, e, f, g) BIND(8, a, b, c, d, e, f, g, h)
    BIND(9, a, b, c, d, e, f, g, h, i)
    BIND(14, a, b, c, d, e, f, g, h, i, j, k, l, m, o)
#undef BIND
    return {};
}

template <class T> struct Parameter;
template <class T> struct Parameter<CUptiResult(T *)> { using type = T; };
template <class Ours, class Theirs> void compare_parameters(const char *name, size_t size) {
    if constexpr (std::is_same_v<Theirs, const Absent>) is_absent(name);
    else {
        using Type = typename Parameter<Theirs>::type;
        Shape a = shape<Ours>(), b = shape<Type>();
        compared++;
        bool same = a.n > 0 && a.n <= b.n;
        for (int i = 0; i < a.n && same; i++) same = a.at[i] == b.at[i] && a.size[i] == b.size[i];
        if (same && size == b.at[a.n - 1] + b.size[a.n - 1]) return;
        different++;
        std::printf("# the parameters of %s have another layout\n", name);
    }
}

void functions() {
#define X(name, since, need, parameters) compare<ours::Type_##name, decltype(name)>(#name);
    CUDA_API(X)
#undef X
#define X(name, type, parameters)                                                                  \
    compare<std::remove_pointer_t<decltype(ours::Nvrtc::name)>, decltype(nvrtc##name)>(#name);
    NVRTC_API(X)
#undef X
#define X(name, parameters) compare<ours::Type_##name, decltype(name)>(#name);
    CUPTI_API(X)
#undef X
#define X(name, type, last)                                                                        \
    compare_parameters<ours::type, decltype(name)>(#name, offsetof(ours::type, last) +             \
                                                              sizeof(ours::type::last));
    CUPTI_COUNTER_API(X)
#undef X
}
void values() {
#define X(name, theirs) compare(#name, ours::name, theirs);
    VALUES(X)
#undef X
#define X(name, theirs) compare(#name, ours::name, CU_TENSOR_MAP_##theirs);
    MAP_VALUES(X)
#undef X
#define X(name, theirs)                                                                            \
    compare(#name, ours::attribute[ours::CUDA_ATTR_##name], CU_DEVICE_ATTRIBUTE_##theirs);
    ATTRIBUTES(X)
#undef X
}
void layouts() {
#define SIZE(type, theirs) compare(#type, sizeof(ours::type), sizeof(theirs));
#define FIELD(type, field, theirs, member)                                                         \
    compare(#type "." #field, offsetof(ours::type, field), offsetof(theirs, member));              \
    compare(#type "." #field, sizeof(ours::type::field), sizeof(theirs::member));
    SIZE(CudaTensorMap, CUtensorMap)
    SIZE(CudaLaunchAttribute, CUlaunchAttribute)
    FIELD(CudaLaunchAttribute, id, CUlaunchAttribute, id)
    FIELD(CudaLaunchAttribute, value, CUlaunchAttribute, value)
    SIZE(CudaLaunchConfig, CUlaunchConfig)
    compare("grid", offsetof(ours::CudaLaunchConfig, grid), offsetof(CUlaunchConfig, gridDimX));
    compare("block", offsetof(ours::CudaLaunchConfig, block), offsetof(CUlaunchConfig, blockDimX));
    FIELD(CudaLaunchConfig, smem, CUlaunchConfig, sharedMemBytes)
    FIELD(CudaLaunchConfig, stream, CUlaunchConfig, hStream)
    FIELD(CudaLaunchConfig, attribute, CUlaunchConfig, attrs)
    FIELD(CudaLaunchConfig, n_attribute, CUlaunchConfig, numAttrs)
#define KERNEL(field, member) FIELD(CuptiKernelRecord, field, CUpti_ActivityKernel9, member)
    KERNEL(kind, kind) KERNEL(cache, cacheConfig) KERNEL(shared, sharedMemoryConfig)
    KERNEL(registers, registersPerThread) KERNEL(start, start) KERNEL(end, end)
    KERNEL(requested, partitionedGlobalCacheRequested)
    KERNEL(executed, partitionedGlobalCacheExecuted)
}
}
}

int main() {
    behind::installed::functions();
    behind::installed::values();
    behind::installed::layouts();
    return close("the library and the headers of the driver, NVRTC and CUPTI");
}
