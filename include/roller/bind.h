/* For hosts that own module, context and stream: a kernel and arguments become launches, ready for
 * cuLaunchKernel and cuLaunchKernelEx.  No JSON, no NVRTC, no context of roller's.  */
#ifndef ROLLER_BIND_H
#define ROLLER_BIND_H
#include "roller/context.h"

#ifdef __cplusplus
extern "C" {
#endif
typedef struct RollerBinding RollerBinding;
/* All may be zero.  */
typedef struct {
    size_t struct_size;
    int device;               /* that the tensors lie on */
    void *workspace;          /* on the device, aligned to 256 bytes; NULL where none is needed */
    size_t workspace_bytes;
    /* Blocks of each kernel that the device holds at a time, in the order of
     * roller_kernel_launch_info; looked at where `resident` is set there.  NULL, and 0: as many as
     * the profile's device (docs/artefacts.md).  */
    const int64_t *resident;
    int n_resident;
    /* The driver's cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, for kernels that take tensor
     * maps; NULL: those of the driver that is found by its name.  */
    void (*encode_tiled)(void);
    void (*encode_im2col)(void);
} RollerBindOptions;
/* What cuLaunchKernel takes, but for function and stream.  */
typedef struct {
    size_t struct_size;
    const char *symbol;       /* of the kernel in cubin and PTX */
    uint32_t grid[3], block[3], cluster[3];   /* cluster: 1, 1, 1 where there is none */
    uint32_t dynamic_smem;    /* with static shared memory above 48 KB raise the function's limit */
    int overlap;              /* may begin before the launch before it has ended: programmatic
                               * stream serialization */
    int kernel;               /* of roller_kernel_launch_info */
    void **params;            /* pointers to the values, tensor maps of 128 bytes among them */
    const size_t *param_bytes;            /* of each value */
    int n_params;
} RollerLaunch;
/* Bytes of workspace that launches with these shapes need; data is not looked at.  */
ROLLER_API RollerStatus roller_bind_workspace(const RollerKernel *k, const RollerTensor *in,
                                              int nin, const RollerTensor *out, int nout,
                                              size_t *bytes);
/* The launches of a kernel with these arguments, which are checked as in roller_launch.  Addresses,
 * sizes and the values of scalars are taken now.  The tensors' memory must live on, their
 * descriptions need not.  The kernel need not have been compiled.  Errors: roller_error(NULL).  */
ROLLER_API RollerStatus roller_bind(const RollerKernel *k, const RollerTensor *in, int nin,
                                    const RollerTensor *out, int nout, const RollerBindOptions *o,
                                    RollerBinding **made);
/* How many launches there are, in the order for a stream; 0 if no output has an element.  */
ROLLER_API int roller_binding_launches(const RollerBinding *b);
/* What it points to lives as long as the binding, and never changes.  */
ROLLER_API RollerStatus roller_binding_launch(const RollerBinding *b, int i, RollerLaunch *out);
ROLLER_API void roller_binding_destroy(RollerBinding *b);

#ifdef __cplusplus
}
#endif
#endif
