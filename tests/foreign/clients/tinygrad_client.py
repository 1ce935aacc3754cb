"""tinygrad's CUDA device, with the renderer that the environment names: products, a softmax, a
reduction, a graph of its JIT."""
import numpy as np
from tinygrad import Device, Tensor, TinyJit

assert Device.DEFAULT == "CUDA", Device.DEFAULT
r = np.random.default_rng(0)
a, b = r.random((64, 48), "f"), r.random((48, 32), "f")
assert np.allclose((Tensor(a) @ Tensor(b)).numpy(), a @ b, rtol=1e-4)
e = np.exp(a - a.max(1, keepdims=True))
assert np.allclose(Tensor(a).softmax().numpy(), e / e.sum(1, keepdims=True), rtol=1e-4)
assert np.isclose(Tensor(a).sum().numpy(), a.sum(), rtol=1e-4)


@TinyJit
def step(x, y):
    z = (x @ y).relu().realize()
    return ((z + 1).sum(0) * 2).realize()


for k in range(4):
    x = r.random((64, 48), "f") - 0.5
    want = (np.maximum(x @ b, 0) + 1).sum(0) * 2
    assert np.allclose(step(Tensor(x).realize(), Tensor(b).realize()).numpy(), want, rtol=1e-4), k
print("tinygrad: ok")
