"""PyCUDA: a module through nvcc, arrays with their generated kernels, a reduction, streams."""
import numpy as np
import pycuda.autoinit
import pycuda.driver as driver
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

assert pycuda.autoinit.device.name().endswith("(simulated)"), pycuda.autoinit.device.name()
r = np.random.default_rng(0)
a, b = r.random((64, 64), "f"), r.random((64, 64), "f")

product = SourceModule("""__global__ void product(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}""").get_function("product")
c = np.zeros_like(a)
product(driver.In(a), driver.In(b), driver.Out(c), np.int32(64), block=(16, 16, 1), grid=(4, 4))
assert np.allclose(c, a @ b, rtol=1e-4)

x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
assert np.allclose((2 * x + y).get(), 2 * a + b, rtol=1e-5)
assert np.isclose(gpuarray.sum(x).get(), a.sum(), rtol=1e-4)

stream, begin, end = driver.Stream(), driver.Event(), driver.Event()
pinned = driver.pagelocked_empty((64, 64), np.float32)
begin.record(stream)
driver.memcpy_dtoh_async(pinned, y.gpudata, stream)
end.record(stream)
stream.synchronize()
assert (pinned == b).all() and end.time_since(begin) > 0
print("PyCUDA: ok")
