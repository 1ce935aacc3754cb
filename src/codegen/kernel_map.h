/* The tensor map that a kernel takes: its address is that of a tensor, and its extents and strides
 * may be expressions of run-time sizes.  */
#ifndef ROLLER_CODEGEN_KERNEL_MAP_H
#define ROLLER_CODEGEN_KERNEL_MAP_H
#include "hal/tensor_map.h"
#include "te/te.h"

typedef struct {
    int tensor;               /* an argument of the op; -1: the workspace */
    TeExtent offset;          /* bytes from its address to element 0 of the map */
    TeExtent dim[TM_RANK], stride[TM_RANK - 1];
    TeExtent lower[3], upper[3];
    TensorMap fixed;          /* the rest; what is named above, and the address, is not looked at */
} KernelMap;

/* A rule that the map breaks at some sizes where tensors are aligned to `align` bytes; NULL: at all
 * sizes the driver takes it, or it has no elements.  */
const char *kernel_map_wrong(const KernelMap *m, int align);
/* The map at these sizes, with `base` as the address of its tensor.  False: it has no elements, so
 * there is none; a kernel is then given TM_BYTES zeros, and copies nothing by them.  */
bool kernel_map_at(const Te *te, const KernelMap *m, uint64_t base, const int64_t *size,
                   TensorMap *out);
#endif
