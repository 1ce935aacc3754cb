/* What the code of a kernel says of it.  */
#include "simdriver/image.h"
#include "simdriver/work.h"

enum { LEAST_REGISTERS = 16 };

/* The registers of a cubin are known; those of PTX are an estimate by the simulator.  */
static int registers_of(const Image *image, const char *name, const SimKernelInfo *info,
                        const Device *dev) {
    int most = (int)dev->limits.registers_per_thread.value, n = info->registers;
    if (image->cubin) {
        int told = cubin_registers(image->cubin, image->cubin_len, name);
        if (told > 0) return told;
    }
    if (n < LEAST_REGISTERS) n = LEAST_REGISTERS;
    return n < most ? n : most;
}

bool function_describe(const Image *image, const char *name, const Device *dev, Function *out) {
    if (!sim_kernel_info(image->code, name, &out->info)) return false;
    out->name = out->info.name;
    out->registers = registers_of(image, name, &out->info, dev);
    return true;
}

CUresult code_param(const Image *image, const char *kernel, size_t index, size_t *offset,
                    size_t *size) {
    const SimParam *p;
    int n = sim_kernel_params(image->code, kernel, &p);
    if (!offset || index >= (size_t)n) return CUDA_ERROR_INVALID_VALUE;
    *offset = (size_t)p[index].offset;
    if (size) *size = (size_t)p[index].bytes;
    return CUDA_SUCCESS;
}
