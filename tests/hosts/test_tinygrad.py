"""roller's kernels between tinygrad's, on its CUDA device, which is the simulated driver's."""
import unittest

import numpy as np
from tinygrad import Device, Tensor, TinyJit

import roller
import roller.tinygrad

rng = np.random.default_rng(5)


def array(*shape):
    return rng.standard_normal(shape).astype("f4")


def op(text, **options):
    return roller.tinygrad.op(text, profile="a100", **options)


MM = op("op mm(A: f32[64,32], B: f32[32,48]) -> C: f32[64,48] { C[m,n] += A[m,k] * B[k,n]; }")
CHAIN = op("op chain(A: f32[12,32], B: f32[32,48], D: f32[48,48]) -> C: f32[12,48] "
           "{ t[m,n] += A[m,k] * B[k,n]; C[m,n] += t[m,k] * D[k,n]; }")


class Tinygrad(unittest.TestCase):
    def close(self, got, want):
        np.testing.assert_allclose(got.numpy(), want, 1e-3, 1e-3)

    def test_device(self):
        self.assertEqual(Device.DEFAULT, "CUDA")

    def test_between_its_own_kernels(self):
        a, b = array(64, 32), array(32, 48)
        y = (MM(Tensor(a) + 1, Tensor(b)).relu() + 1).sum(0)
        self.close(y, (np.maximum((a + 1) @ b, 0) + 1).sum(0))

    def test_several_kernels(self):
        """Which hand each other temporaries."""
        self.assertGreater(len(CHAIN.kernel.launches), 1)
        a, b, d = array(12, 32), array(32, 48), array(48, 48)
        self.close(CHAIN(Tensor(a), Tensor(b), Tensor(d)) * 2, 2 * a @ b @ d)

    def test_graph(self):
        b, d = array(32, 48), array(48, 48)
        tb, td = Tensor(b).realize(), Tensor(d).realize()

        @TinyJit
        def f(a):
            return (CHAIN(a + 1, tb, td) * 2).sum(1).realize()

        for _ in range(4):
            a = array(12, 32)
            self.close(f(Tensor(a).realize()), (2 * (a + 1) @ b @ d).sum(1))

    def test_outputs_scalars_and_types(self):
        f = op("op two(X: f16[8,16], I: i32[8], s: f32) -> (Y: f16[8,16], n: i32[8], t: f32[]) { "
               "Y[i,j] = X[i,j] * s; n[i] = I[i] + 1; t[] += X[i,j]; }")
        x, i = rng.integers(-3, 4, (8, 16)).astype("f2"), np.arange(8, dtype="i4")
        y, n, t = f(Tensor(x), Tensor(i), 2.0)
        self.close(y, 2 * x)
        self.close(f(Tensor(x), Tensor(i), Tensor(3.0))[0], 3 * x)
        self.close(MM(Tensor.ones(64, 32), Tensor.full((32, 48), 2.0)), np.full((64, 48), 64.0))
        self.close(n, i + 1)
        self.close(t, x.astype("f4").sum())

    def test_views(self):
        """What lies otherwise, or begins anywhere, is made contiguous."""
        a, b = array(33, 65), array(48, 32)
        self.close(MM(Tensor(a)[1:, 1:].T, Tensor(b).T), a[1:, 1:].T @ b.T)

    def test_derivative(self):
        g = op(roller.gradient_te(MM.te))
        a, b, c = array(64, 32), array(32, 48), array(64, 48)
        da, db = g(Tensor(a), Tensor(b), Tensor(c))
        self.close(da, c @ b.T)
        self.close(db, a.T @ c)

    def test_refusals(self):
        a = Tensor(array(64, 32))
        with self.assertRaisesRegex(roller.ArgumentError, r"'B' of mm has shape \(64, 32\), not \(32, 48\)"):
            MM(a, a)
        with self.assertRaisesRegex(roller.ArgumentError, "'A' of mm is .*half.*, not f32|'A' of mm is .*float16"):
            MM(a.half(), a)
        with self.assertRaisesRegex(roller.ArgumentError, "takes 2 inputs"):
            MM(a)
        with self.assertRaisesRegex(roller.UsageError, "'X' has a size that is known at run time"):
            op("param N = 1..9; op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i]; }")
        self.assertEqual(op("param N = 1..9; op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i]; }",
                            sizes={"N": 4})(Tensor(array(4))).shape, (4,))


if __name__ == "__main__":
    unittest.main()
