/* Result codes of the Driver API that the simulated driver knows by name; it returns and can be
 * told to return any of them.  */
#ifndef ROLLER_SIMDRIVER_DRIVER_RESULTS_H
#define ROLLER_SIMDRIVER_DRIVER_RESULTS_H

/*    name                                     code text */
#define SIMDRIVER_RESULTS(X)                                                                       \
    X(CUDA_SUCCESS,                               0, "no error")                                   \
    X(CUDA_ERROR_INVALID_VALUE,                   1, "invalid argument")                           \
    X(CUDA_ERROR_OUT_OF_MEMORY,                   2, "out of memory")                              \
    X(CUDA_ERROR_NOT_INITIALIZED,                 3, "initialization error")                       \
    X(CUDA_ERROR_DEINITIALIZED,                   4, "driver shutting down")                       \
    X(CUDA_ERROR_STUB_LIBRARY,                   34, "CUDA driver is a stub library")              \
    X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER,     36, "API call requires a newer CUDA driver")      \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE,             46,                                               \
      "CUDA-capable device is busy or unavailable")                                                \
    X(CUDA_ERROR_NO_DEVICE,                     100, "no CUDA-capable device is detected")         \
    X(CUDA_ERROR_INVALID_DEVICE,                101, "invalid device ordinal")                     \
    X(CUDA_ERROR_INVALID_IMAGE,                 200, "device kernel image is invalid")             \
    X(CUDA_ERROR_INVALID_CONTEXT,               201, "invalid device context")                     \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU,             209,                                               \
      "no kernel image is available for execution on the device")                                  \
    X(CUDA_ERROR_ECC_UNCORRECTABLE,             214, "uncorrectable ECC error encountered")        \
    X(CUDA_ERROR_UNSUPPORTED_LIMIT,             215, "limit is not supported")                     \
    X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE,        216, "context is in use by another thread")        \
    X(CUDA_ERROR_INVALID_PTX,                   218, "a PTX JIT compilation failed")               \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,       222,                                               \
      "the PTX was compiled with an unsupported toolchain")                                        \
    X(CUDA_ERROR_INVALID_SOURCE,                300, "device kernel source is invalid")            \
    X(CUDA_ERROR_FILE_NOT_FOUND,                301, "file not found")                             \
    X(CUDA_ERROR_OPERATING_SYSTEM,              304, "OS call failed")                             \
    X(CUDA_ERROR_INVALID_HANDLE,                400, "invalid resource handle")                    \
    X(CUDA_ERROR_ILLEGAL_STATE,                 401,                                               \
      "the operation cannot be performed in the present state")                                    \
    X(CUDA_ERROR_NOT_FOUND,                     500, "named symbol not found")                     \
    X(CUDA_ERROR_NOT_READY,                     600, "device not ready")                           \
    X(CUDA_ERROR_ILLEGAL_ADDRESS,               700, "an illegal memory access was encountered")   \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,       701, "too many resources requested for launch")    \
    X(CUDA_ERROR_LAUNCH_TIMEOUT,                702, "the launch timed out and was terminated")    \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,        708, "the primary context is already active")      \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED,          709, "context is destroyed")                       \
    X(CUDA_ERROR_ASSERT,                        710, "device-side assert triggered")               \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION,           715, "an illegal instruction was encountered")     \
    X(CUDA_ERROR_MISALIGNED_ADDRESS,            716, "misaligned address")                         \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE,         717,                                               \
      "operation not supported on global/shared address space")                                    \
    X(CUDA_ERROR_INVALID_PC,                    718, "invalid program counter")                    \
    X(CUDA_ERROR_LAUNCH_FAILED,                 719, "unspecified launch failure")                 \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712,                                              \
      "part or all of the requested memory range is already mapped")                               \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,    713,                                               \
      "pointer does not correspond to a registered memory region")                                 \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,  720, "too many blocks in cooperative launch")      \
    X(CUDA_ERROR_NOT_PERMITTED,                 800, "operation not permitted")                    \
    X(CUDA_ERROR_NOT_SUPPORTED,                 801, "operation not supported")                    \
    X(CUDA_ERROR_SYSTEM_NOT_READY,              802, "system not yet initialized")                 \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,        803,                                               \
      "system has unsupported display driver / cuda driver combination")                           \
    X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,804,                                               \
      "forward compatibility was attempted on non supported HW")                                   \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,    900,                                               \
      "operation not permitted when stream is capturing")                                          \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,    901,                                               \
      "operation failed due to a previous error during capture")                                   \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE,          902,                                               \
      "operation would result in a merge of separate capture sequences")                           \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,      903,                                               \
      "capture was not ended in the same stream as it began")                                      \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,       904, "capturing stream has unjoined work")         \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,      905,                                               \
      "dependency created on uncaptured work in another stream")                                   \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,       906,                                               \
      "operation would make the legacy stream depend on a capturing blocking stream")              \
    X(CUDA_ERROR_CAPTURED_EVENT,                907,                                               \
      "operation not permitted on an event last recorded in a capturing stream")                   \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,   908,                                               \
      "attempt to terminate a thread-local capture sequence from another thread")                  \
    X(CUDA_ERROR_TIMEOUT,                       909, "wait operation timed out")                   \
    X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,     910, "the graph update was not performed")         \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE,          912, "cluster misconfiguration")                   \
    X(CUDA_ERROR_UNKNOWN,                       999, "unknown error")
typedef enum {
#define X(name, code, text) name = code,
    SIMDRIVER_RESULTS(X)
#undef X
} CUresult;
#endif
