"""Loaded before the tests of tinygrad are forked: what each of them would import, and the patterns
that tinygrad compiles when it uses them first.  It computes on a device that is no GPU."""
import tinygrad.runtime.ops_cpu
import tinygrad.runtime.ops_cuda
from tinygrad import Tensor

x = Tensor([[1., 2.], [3., 4.]], device="PYTHON")
y = (x @ x.exp()).relu().sum()
Tensor.realize(y, y.gradient(x)[0])
