/* links: sim */
#include "simdriver_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

const char steps_source[] =
    "extern \"C\" __global__ void affine(int *p, int by, int plus) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    p[i] = p[i] * by + plus;\n"
    "}\n"
    "extern \"C\" __global__ void empty() {}\n";

CUdeviceptr data;
int *pinned;
CUfunction empty;
static CUfunction affine;

static int load(void) {
    CUmodule module = simdriver_module(steps_source, "sm_80");
    affine = simdriver_function(module, "affine");
    empty = simdriver_function(module, "empty");
    data = simdriver_alloc(BYTES);
    void *host;
    OK(cu.cuMemAllocHost_v2(&host, BYTES));
    pinned = host;
    OK(cu.cuMemsetD32_v2(data, 1, N));
    OK(cu.cuCtxSynchronize());
    return 0;
}

int steps_fresh(void **state) { return simdriver_fresh(state) ? -1 : load(); }

void step(CUstream s, int by, int plus) {
    void *params[] = {&data, &by, &plus};
    OK(cu.cuLaunchKernel(affine, 1, 1, 1, N, 1, 1, 0, s, params, NULL));
}

int value(void) {
    int v;
    OK(cu.cuMemcpyDtoH_v2(&v, data + 4, 4));
    return v;
}

CUstream stream(unsigned flags) {
    CUstream s;
    OK(cu.cuStreamCreate(&s, flags));
    return s;
}

CUevent event(void) {
    CUevent e;
    OK(cu.cuEventCreate(&e, 0));
    return e;
}
