"""cuda.core: C++ through NVRTC as a cubin and as PTX, linked code, a graph, events, memory pools."""
import numpy as np
from cuda.bindings import driver
from cuda.core import (Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions,
                       launch)

device = Device(0)
device.set_current()
assert device.name.endswith("(simulated)"), device.name
arch = "sm_" + "".join(map(str, device.compute_capability))
stream = device.create_stream()
pool = device.memory_resource


def compiled(code, kind, **options):
    return Program(code, code_type="c++",
                   options=ProgramOptions(arch=arch, **options)).compile(kind)


def done(result):
    assert result[0] == 0, result[0]


def run(kernel, n, *arrays):
    """Launches over copies of the arrays; returns them as they are then."""
    buffers = [pool.allocate(a.nbytes, stream=stream) for a in arrays]
    for b, a in zip(buffers, arrays):
        done(driver.cuMemcpyHtoDAsync(int(b.handle), a.ctypes.data, a.nbytes, stream.handle))
    launch(stream, LaunchConfig(grid=(n + 127) // 128, block=128), kernel, *buffers, np.int32(n))
    out = [np.empty_like(a) for a in arrays]
    for b, a in zip(buffers, out):
        done(driver.cuMemcpyDtoHAsync(a.ctypes.data, int(b.handle), a.nbytes, stream.handle))
    stream.sync()
    for b in buffers:
        b.close(stream)
    return out


add = r"""extern "C" __global__ void add(const float *x, const float *y, float *z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}"""
n = 1000
x, y = np.random.rand(n).astype("f"), np.random.rand(n).astype("f")
for kind in "cubin", "ptx":
    z = run(compiled(add, kind).get_kernel("add"), n, x, y, np.zeros(n, "f"))[2]
    assert (z == x + y).all(), kind

calls = r"""extern __device__ float square(float x);
extern "C" __global__ void squares(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = square(x[i]);
}"""
square = "__device__ float square(float x) { return x * x; }"
parts = [compiled(c, "ptx", relocatable_device_code=True) for c in (calls, square)]
linked = Linker(*parts, options=LinkerOptions(arch=arch)).link("cubin")
assert (run(linked.get_kernel("squares"), n, x)[0] == x * x).all()

builder = stream.create_graph_builder()
buffer = pool.allocate(4 * n, stream=stream)
done(driver.cuMemcpyHtoDAsync(int(buffer.handle), x.ctypes.data, x.nbytes, stream.handle))
stream.sync()
kernel = linked.get_kernel("squares")
builder.begin_building()
for k in range(2):
    launch(builder, LaunchConfig(grid=8, block=128), kernel, buffer, np.int32(n))
graph = builder.end_building().complete()
graph.launch(stream)
out = np.empty_like(x)
done(driver.cuMemcpyDtoHAsync(out.ctypes.data, int(buffer.handle), x.nbytes, stream.handle))
stream.sync()
assert (out == (x * x) * (x * x)).all()
print("cuda.core: ok")
