"""cuda.bindings: the Driver API and NVRTC as they are: a product, a graph built node by node, streams
that wait for each other, functions of the host."""
import ctypes
import numpy as np
from cuda.bindings import driver, nvrtc


def ok(result):
    assert result[0] == 0, result[0]
    return result[1] if len(result) == 2 else result[1:] or None


ok(driver.cuInit(0))
device = ok(driver.cuDeviceGet(0))
name = ok(driver.cuDeviceGetName(100, device)).split(b"\0")[0].decode()
assert name.endswith("(simulated)"), name
context = ok(driver.cuDevicePrimaryCtxRetain(device))
ok(driver.cuCtxSetCurrent(context))
major, minor = (ok(driver.cuDeviceGetAttribute(a, device)) for a in (
    driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
    driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))

source = br"""extern "C" __global__ void product(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
extern "C" __global__ void scale(float *x, float by) { x[blockIdx.x * blockDim.x + threadIdx.x] *= by; }
"""
program = ok(nvrtc.nvrtcCreateProgram(source, b"product.cu", 0, [], []))
ok(nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture=sm_{major}{minor}".encode()]))
cubin = b" " * ok(nvrtc.nvrtcGetCUBINSize(program))
ok(nvrtc.nvrtcGetCUBIN(program, cubin))
module = ok(driver.cuModuleLoadData(cubin))
product, scale = (ok(driver.cuModuleGetFunction(module, f)) for f in (b"product", b"scale"))

n = 64
a, b = (np.random.default_rng(k).random((n, n), "f") for k in range(2))
at = [ok(driver.cuMemAlloc(a.nbytes)) for _ in range(3)]
stream, other = (ok(driver.cuStreamCreate(1)) for _ in range(2))
ok(driver.cuMemcpyHtoDAsync(at[0], a.ctypes.data, a.nbytes, stream))
ok(driver.cuMemcpyHtoDAsync(at[1], b.ctypes.data, b.nbytes, other))
event = ok(driver.cuEventCreate(0))
ok(driver.cuEventRecord(event, other))
ok(driver.cuStreamWaitEvent(stream, event, 0))


def packed(*values):
    """Parameters as an array of pointers to them."""
    kept = [np.array([v], t) for v, t in values]
    pointers = np.array([k.ctypes.data for k in kept], np.uint64)
    pointers.setflags(write=False)
    packed.kept = getattr(packed, "kept", []) + [kept, pointers]
    return pointers.ctypes.data


args = packed((int(at[0]), "u8"), (int(at[1]), "u8"), (int(at[2]), "u8"), (n, "i4"))
ok(driver.cuLaunchKernel(product, 4, 4, 1, 16, 16, 1, 0, stream, args, 0))
c = np.zeros_like(a)
ok(driver.cuMemcpyDtoHAsync(c.ctypes.data, at[2], c.nbytes, stream))
ok(driver.cuStreamSynchronize(stream))
assert np.allclose(c, a @ b, rtol=1e-4)

graph = ok(driver.cuGraphCreate(0))
params = driver.CUDA_KERNEL_NODE_PARAMS()
params.func = scale
params.gridDimX, params.gridDimY, params.gridDimZ = n, 1, 1
params.blockDimX, params.blockDimY, params.blockDimZ = n, 1, 1
params.kernelParams = packed((int(at[2]), "u8"), (2, "f4"))
node = ok(driver.cuGraphAddKernelNode(graph, None, 0, params))
last = ok(driver.cuGraphAddKernelNode(graph, [node], 1, params))
run = ok(driver.cuGraphInstantiate(graph, 0))
ok(driver.cuGraphLaunch(run, stream))
params.kernelParams = packed((int(at[2]), "u8"), (0.5, "f4"))
ok(driver.cuGraphExecKernelNodeSetParams(run, last, params))
ok(driver.cuGraphLaunch(run, stream))
seen = []
call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda user: seen.append(user))
fn = driver.CUhostFn(ctypes.cast(call, ctypes.c_void_p).value)
ok(driver.cuLaunchHostFunc(stream, fn, 7))
ok(driver.cuMemcpyDtoHAsync(c.ctypes.data, at[2], c.nbytes, stream))
ok(driver.cuStreamSynchronize(stream))
assert np.allclose(c, a @ b * 4, rtol=1e-4) and seen == [7]
for p in at:
    ok(driver.cuMemFree(p))
ok(driver.cuModuleUnload(module))
ok(driver.cuDevicePrimaryCtxRelease(device))
print("cuda.bindings: ok")
