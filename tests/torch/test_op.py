"""kernel.torch_op: PyTorch's own checks of operators, on the gallery of examples and ops like them."""
import copy
import pathlib
import pickle
import unittest

import torch
from torch.library import opcheck

import roller
import roller.torch

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
SMALL = {                       # name: (op, sizes)
    "attention": (None, dict(B=1, H=2, M=8, N=8, D=16)), "bmm_nt": (None, dict(B=2, M="1..32%8",
                                                                            N=8, K=16)),
    "conv2d": (None, dict(N=1, C=2, H=6, W=5, F=3)),
    "conv2d_bias_relu": (None, dict(N=1, H=4, W=4, C=8, F=8)),
    "cumsum": ("cumsum", dict(N=3, C=8)), "depthwise": (None, dict(N=1, C=4, H=8, W=6)),
    "gather": (None, dict(V=9, D=8, T=5)), "layernorm": (None, dict(N=4, C=16)),
    "matmul": (None, dict(M="1..32", N=8, K=16)), "matmul_gelu": (None, dict(M=8, N=8, K=16)),
    "pool": ("maxpool", dict(N=1, C=2, H=6, W=6)), "qlinear": (None, dict(M=8, N=8, K=16)),
    "reduce": (None, dict(N=4, C=8)), "softmax": (None, dict(N="1..16", C=8)),
    "transpose": ("split_heads", dict(N=4, H=8)), "weights_i8": (None, dict(M=8, N=8, K=16))}
TYPES = {"f16": torch.float16, "f32": torch.float32, "bf16": torch.bfloat16, "i32": torch.int32,
         "i8": torch.int8}


def example(name):
    op, sizes = SMALL[name]
    kernel = roller.compile(EXAMPLES / f"{name}.te", op=op, sizes=sizes, profile="a100")
    return kernel.torch_op(f"gallery::{name}")


def inputs(op, grad=True):
    """Real ones want gradients."""
    torch.manual_seed(0)
    made = []
    for a in op.ins:
        dtype = TYPES[a.dtype]
        if a.role != "input":
            made.append(1e-5)
        elif dtype.is_floating_point:
            made.append((torch.randn(a.shape) / 2).to(dtype).requires_grad_(grad))
        else:
            made.append(torch.randint(0, 5, a.shape).to(dtype))
    return made


class Op(unittest.TestCase):
    def gallery(self, name):
        op = example(name)
        self.assertEqual(set(opcheck(op.default, inputs(op)).values()), {"SUCCESS"})

    def alike(self, op, theirs, args, tolerance=1e-4):
        """Values and derivatives, by PyTorch's own."""
        ours, want = op(*args), theirs(*args)
        torch.testing.assert_close(ours, want, rtol=tolerance, atol=tolerance)
        by = [x for x in args if isinstance(x, torch.Tensor) and x.requires_grad]
        weight = torch.randn_like(want)
        for x, y in zip(torch.autograd.grad(ours, by, weight), torch.autograd.grad(
                want, by, weight), strict=True):
            torch.testing.assert_close(x, y, rtol=tolerance, atol=tolerance)

    def test_derivatives(self):
        """Products, norms, softmax, convolutions and gathers against PyTorch's functions."""
        f = torch.nn.functional
        for name, theirs in (("matmul", torch.matmul), ("softmax", lambda x: x.softmax(1)),
                             ("cumsum", lambda x: x.cumsum(1)),
                             ("conv2d", lambda x, k: f.conv2d(x, k, padding=1)),
                             ("depthwise", lambda x, k: f.conv2d(
                                 x, k[:, None], stride=2, padding=1, groups=4)),
                             ("pool", lambda x: f.max_pool2d(x, 3, 2, 1))):
            op = example(name)
            self.alike(op, theirs, inputs(op))
        for name, theirs in (
                ("matmul_gelu", lambda a, w, b: f.gelu(f.linear(a.float(), w.float(), b.float())).half()),
                ("layernorm", lambda x, g, b, eps: f.layer_norm(
                    x.float(), (16,), g, b, eps).half()),
                ("attention", lambda q, k, v: f.scaled_dot_product_attention(
                    q.float(), k.float(), v.float(), scale=0.125).half())):
            op = example(name)
            self.alike(op, theirs, inputs(op), 4e-3)

    def test_twice(self):
        """A derivative can be derived: by finite differences, in f64."""
        op = roller.torch.op("mine::cube", "op cube(x: f64[3]) -> y: f64[3] { y[i] = x[i] * x[i] * x[i]; }",
                             profile="a100")
        x = torch.randn(3, dtype=torch.float64, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(op, (x,)))
        self.assertTrue(torch.autograd.gradgradcheck(op, (x,)))

    def test_batches(self):
        op = example("matmul")
        a, b = torch.randn(3, 5, 16), torch.randn(16, 8)
        torch.testing.assert_close(torch.vmap(op, (0, None))(a, b), a @ b)
        torch.testing.assert_close(torch.vmap(op, (1, 1), 1)(a.movedim(0, 1), b.expand(3, -1, -1)
                                                             .movedim(0, 1)), (a @ b).movedim(0, 1))

    def test_transforms(self):
        """torch.func: a gradient of each of a batch, and a Jacobian."""
        op = roller.torch.op("mine::product", "op product(x: f32[4], W: f32[3,4]) -> y: f32[3]"
                             " { y[i] += W[i,j] * x[j]; }", profile="a100")
        W, xs = torch.randn(3, 4), torch.randn(5, 4)

        def gradients(product):
            return torch.vmap(torch.func.grad(lambda W, x: product(x, W).square().sum()),
                              (None, 0))(W, xs)
        torch.testing.assert_close(gradients(op), gradients(lambda x, W: W @ x))
        torch.testing.assert_close(torch.func.jacrev(lambda x: op(x, W=W))(xs[0]), W)

    def test_copies(self):
        """A module that has an operator can be copied and pickled."""
        op = example("softmax")
        self.assertIs(copy.deepcopy(op), op)
        self.assertIs(pickle.loads(pickle.dumps(op)), op)

    def test_sizes(self):
        """One kernel for all sizes of its range, under torch.compile too; others are refused."""
        op = example("matmul")
        call = torch.compile(lambda a, b: op(a, b) + 1, backend="aot_eager", dynamic=True)
        for m in (3, 7, 32):
            a, b = torch.randn(m, 16), torch.randn(16, 8)
            torch.testing.assert_close(call(a, b), a @ b + 1)
        for a in (torch.randn(33, 16), torch.randn(3, 15), torch.randn(3, 16).double()):
            with self.assertRaises((roller.Error, RuntimeError)):
                op(a, torch.randn(16, 8))

    def test_arguments(self):
        """Views that are not row-major, numbers, several results, given results."""
        op = roller.torch.op("mine::two", "op two(X: f32[4,3], s: f32, n: i64) -> (Y: f32[4,3], Z: f32[])"
                             " { Y[i,j] = s * X[i,j] + f32(n); Z[] += X[i,j]; }", profile="a100")
        x = torch.randn(3, 4).T
        y, z = op(x, 2.0, 3)
        torch.testing.assert_close((y, z), (2 * x + 3, x.sum()))
        y2, z2 = torch.empty(4, 3), torch.empty(())
        op.out(x, 2.0, 3, y2, z2)
        torch.testing.assert_close((y2, z2), (y, z))
        half = torch.randn(4, 6, dtype=torch.complex64).conj().imag[:, ::2]
        torch.testing.assert_close(op(half, 1.0, 0)[0], half.resolve_neg())

    def test_autocast(self):
        op = example("matmul_gelu")
        a, w, b = (x.detach().float() for x in inputs(op))
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(op(a, w, b).dtype, torch.float16)

    def test_names(self):
        kernel = roller.compile("op f(x: f32[2]) -> y: f32[2] { y[i] = x[i]; }", profile="a100")
        with self.assertRaisesRegex(ValueError, "write it as 'mine::f'"):
            kernel.torch_op("f")
        self.assertIs(kernel.torch_op("mine::f"), kernel.torch_op("mine::f"))
        other = roller.compile("op f(x: f32[3]) -> y: f32[3] { y[i] = x[i]; }", profile="a100")
        with self.assertRaisesRegex(roller.Error, "is an operator already"):
            other.torch_op("mine::f")


for each in SMALL:
    setattr(Op, f"test_gallery_{each}", lambda self, name=each: self.gallery(name))
