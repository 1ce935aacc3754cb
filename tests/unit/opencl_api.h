/* OpenCL's functions and numbers, as declarations of our own: they have the layout of the Khronos
 * specification, version 1.2.  Handles are pointers to nothing known.  */
#ifndef TEST_OPENCL_API_H
#define TEST_OPENCL_API_H
#include <stddef.h>
#include <stdint.h>

enum {
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_CORRECTLY_ROUNDED_DIVIDE_SQRT = 1 << 7,
    CL_MEM_READ_WRITE = 1 << 0,
    CL_MEM_USE_HOST_PTR = 1 << 3,
    CL_MAP_READ = 1 << 0,
    CL_BUFFER_CREATE_TYPE_REGION = 0x1220
};
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFu

typedef struct {
    size_t origin, size;
} ClRegion;
typedef void ClNotify(void *handle, void *user);
typedef void ClContextNotify(const char *text, const void *info, size_t n, void *user);

/*    result    name                      parameters */
#define CL_API(X)                                                                                  \
    X(int32_t, clGetPlatformIDs,          (uint32_t most, void **platform, uint32_t *n))           \
    X(int32_t, clGetDeviceIDs,            (void *platform, uint64_t type, uint32_t most,           \
                                           void **device, uint32_t *n))                            \
    X(int32_t, clGetDeviceInfo,           (void *device, uint32_t what, size_t room, void *value,  \
                                           size_t *bytes))                                         \
    X(void *,  clCreateContext,           (const intptr_t *properties, uint32_t n, void **device,  \
                                           ClContextNotify *notify, void *user, int32_t *error))   \
    X(void *,  clCreateCommandQueue,      (void *context, void *device, uint64_t properties,       \
                                           int32_t *error))                                        \
    X(void *,  clCreateProgramWithSource, (void *context, uint32_t n, const char **text,           \
                                           const size_t *length, int32_t *error))                  \
    X(int32_t, clBuildProgram,            (void *program, uint32_t n, void **device,               \
                                           const char *options, ClNotify *notify, void *user))     \
    X(int32_t, clGetProgramBuildInfo,     (void *program, void *device, uint32_t what,             \
                                           size_t room, void *value, size_t *bytes))               \
    X(void *,  clCreateKernel,            (void *program, const char *name, int32_t *error))       \
    X(int32_t, clSetKernelArg,            (void *kernel, uint32_t number, size_t bytes,            \
                                           const void *value))                                     \
    X(void *,  clCreateBuffer,            (void *context, uint64_t flags, size_t bytes,            \
                                           void *host, int32_t *error))                            \
    X(void *,  clCreateSubBuffer,         (void *buffer, uint64_t flags, uint32_t type,            \
                                           const void *region, int32_t *error))                    \
    X(int32_t, clEnqueueNDRangeKernel,    (void *queue, void *kernel, uint32_t rank,               \
                                           const size_t *offset, const size_t *global,             \
                                           const size_t *local, uint32_t n, void *const *wait,     \
                                           void **event))                                          \
    X(void *,  clEnqueueMapBuffer,        (void *queue, void *buffer, uint32_t blocking,           \
                                           uint64_t flags, size_t at, size_t bytes, uint32_t n,    \
                                           void *const *wait, void **event, int32_t *error))       \
    X(int32_t, clFinish,                  (void *queue))

typedef struct {
#define X(result, name, parameters) result (*name) parameters;
    CL_API(X)
#undef X
} ClApi;
#endif
