"""numba-cuda: maps, shared memory, a reduction, atomics, streams, mapped and managed arrays."""
import math
import numpy as np
from numba import cuda, float32


@cuda.jit
def axpy(a, x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = a * x[i] + math.sin(y[i])


@cuda.jit
def matmul(a, b, c):
    s = cuda.shared.array((16, 16), float32)
    t = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 16 + y, cuda.blockIdx.x * 16 + x
    sum = float32(0)
    for k in range(0, a.shape[1], 16):
        s[y, x] = a[row, k + x]
        t[y, x] = b[k + y, column]
        cuda.syncthreads()
        for i in range(16):
            sum += s[y, i] * t[i, x]
        cuda.syncthreads()
    c[row, column] = sum


@cuda.jit
def histogram(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)


@cuda.jit
def total(x, out):
    part = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    sum = float32(0)
    for i in range(t, x.size, 128):
        sum += x[i]
    part[t] = sum
    width = 64
    while width:
        cuda.syncthreads()
        if t < width:
            part[t] += part[t + width]
        width //= 2
    if t == 0:
        out[0] = part[0]


assert "simulated" in str(cuda.get_current_device().name), cuda.get_current_device().name
r = np.random.default_rng(0)
x, y = r.random(1000, "f"), r.random(1000, "f")
out = np.zeros_like(x)
axpy[8, 128](np.float32(3), x, y, out)
assert np.allclose(out, 3 * x + np.sin(y), rtol=1e-5)

a, b = r.random((32, 48), "f"), r.random((48, 64), "f")
c = cuda.device_array((32, 64), "f")
stream = cuda.stream()
with stream.auto_synchronize():
    matmul[(4, 2), (16, 16), stream](cuda.to_device(a, stream), cuda.to_device(b, stream), c)
assert np.allclose(c.copy_to_host(), a @ b, rtol=1e-4)

v = r.integers(0, 10, 500)
bins = np.zeros(10, "i4")
histogram[4, 128](v, bins)
assert (bins == np.bincount(v, minlength=10)).all()
sum = np.zeros(1, "f")
total[1, 128](x, sum)
assert np.isclose(sum[0], x.sum(), rtol=1e-4)

mapped = cuda.mapped_array(1000, "f")
mapped[:] = x
axpy[8, 128](np.float32(2), mapped, y, out)
assert np.allclose(out, 2 * x + np.sin(y), rtol=1e-5)
managed = cuda.managed_array(1000, "f")
axpy[8, 128](np.float32(1), x, y, managed)
cuda.synchronize()
assert np.allclose(managed, x + np.sin(y), rtol=1e-5)
begin, end = cuda.event(), cuda.event()
begin.record()
axpy[8, 128](np.float32(1), x, y, out)
end.record()
end.synchronize()
assert cuda.event_elapsed_time(begin, end) > 0
print("numba-cuda: ok")
