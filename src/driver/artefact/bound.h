/* What the kernels of a launch are given: values of parameters, and tensor maps.  Nothing here
 * takes memory.  */
#ifndef ROLLER_DRIVER_ARTEFACT_BOUND_H
#define ROLLER_DRIVER_ARTEFACT_BOUND_H
#include "codegen/kernel.h"
#include "driver/handle/arguments.h"
#include "hal/cuda.h"

enum { WORKSPACE_ALIGN = 256 };

/* The arguments of a launch, which are checked.  */
typedef struct {
    Arguments args;
    ArgumentReport fit;
    void *workspace;
    CudaEncoders encoders;    /* NULL where no kernel takes tensor maps */
} Bound;

typedef union {
    void *pointer;
    int32_t size;
    unsigned char scalar[8];
} BoundValue;

/* What one kernel is given, in rooms of its n_param and n_map.  */
typedef struct {
    BoundValue *value;
    CudaTensorMap *map;
    void **param;             /* points to both */
} BoundKernel;

/* Is the workspace large enough, and aligned?  Else fit.why says so.  */
bool bound_has(const void *workspace, size_t bytes, int64_t need);
Status bound_workspace(Bound *b, int64_t need, size_t has);
/* Gives the driver's code for a tensor map; 0: all are made.  */
int bound_kernel(const Bound *b, const KernelLaunch *k, const BoundKernel *to);
#endif
