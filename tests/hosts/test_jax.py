"""roller under JAX, on the CPU: JAX's own functions and derivatives are the oracle."""
import os
import subprocess
import sys
import unittest

import jax
import jax.numpy as jnp
import numpy as np

import roller
import roller.jax

rng = np.random.default_rng(11)


def array(*shape):
    return jnp.asarray(rng.standard_normal(shape), "float32")


def op(text, **options):
    return roller.jax.op(text, profile="a100", **options)


MM = op("param M = 1..64; op mm(A: f32[M,16], B: f32[16,8], s: f32) -> C: f32[M,8] "
        "{ C[m,n] = s * sum[k](A[m,k] * B[k,n]); }")
SOFTMAX = op("op softmax(X: f32[4,7]) -> Y: f32[4,7] { m[i] max= X[i,j]; e[i,j] = exp(X[i,j] - m[i]); "
             "s[i] += e[i,j]; Y[i,j] = e[i,j] / s[i]; }")
NORM = op("op norm(X: f32[4,8], g: f32[8], b: f32[8], eps: f32) -> Y: f32[4,8] { "
          "m[i] = sum[j](X[i,j]) / 8; v[i] = sum[j]((X[i,j] - m[i]) * (X[i,j] - m[i])) / 8; "
          "Y[i,j] = (X[i,j] - m[i]) * rsqrt(v[i] + eps) * g[j] + b[j]; }")
GATHER = op("op gather(W: f32[9,4], I: i32[6]) -> Y: f32[6,4] { Y[t,d] = W[I[t],d] else 0; }")
CONV = op("op conv(X: f32[2,3,6,5], K: f32[4,3,3,3]) -> Y: f32[2,4,6,5] "
          "{ Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * K[f,c,r,s]; }")
TWO = op("op two(X: f32[5]) -> (Y: f32[5], Z: f32[]) { Y[i] = X[i] * X[i]; Z[] += Y[i] * X[i]; }")
NARROW = op("op narrow(X: bf16[4,8]) -> Y: bf16[4,8] { Y[i,j] = X[i,j] * X[i,j]; }")


class Kernels(unittest.TestCase):
    def test_outputs(self):
        """A kernel called with JAX's arrays makes JAX's arrays, each of its own memory."""
        for dtype in ("float32", "bfloat16", "int32"):
            te = {"float32": "f32", "bfloat16": "bf16", "int32": "i32"}[dtype]
            k = roller.compile(f"op f(X: {te}[4,3]) -> Y: {te}[4,3] {{ Y[i,j] = X[i,j] + X[i,j]; }}",
                               profile="a100")
            x = jnp.arange(12, dtype=dtype).reshape(4, 3)
            y, z = k(x), k(x + 1)
            self.assertIsInstance(y, jax.Array)
            np.testing.assert_array_equal(np.asarray(y), np.asarray(x + x))
            np.testing.assert_array_equal(np.asarray(z), np.asarray(x + x + 2))
            np.testing.assert_array_equal(np.asarray(jnp.zeros((4, 3), dtype)), 0)

    def test_wide(self):
        """JAX makes no 64-bit numbers by default."""
        k = roller.compile("op f(X: f32[4]) -> Y: f64[4] { Y[i] = f64(X[i]); }", profile="a100")
        with self.assertRaisesRegex(TypeError, "jax_enable_x64"):
            k(array(4))


def mm(a, b, s):
    return s * a @ b


def norm(x, g, b, eps):
    m = x.mean(1, keepdims=True)
    return (x - m) * jax.lax.rsqrt(((x - m) ** 2).mean(1, keepdims=True) + eps) * g + b


def conv(x, k):
    return jax.lax.conv_general_dilated(x, k, (1, 1), "SAME",
                                        dimension_numbers=("NCHW", "OIHW", "NCHW"))


class Jax(unittest.TestCase):
    def close(self, got, want):
        for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
            self.assertEqual(x.shape, y.shape)
            self.assertEqual(x.dtype, y.dtype)
            np.testing.assert_allclose(np.asarray(x, "f4"), np.asarray(y, "f4"), 1e-4, 1e-4)

    def alike(self, own, theirs, args, by):
        """Values, jit, and derivatives of a sum with weights."""
        self.close(own(*args), theirs(*args))
        self.close(jax.jit(own)(*args), theirs(*args))
        weight = array(*jnp.shape(theirs(*args)))

        def total(f):
            return jax.grad(lambda *xs: (f(*xs) * weight).sum(), by)

        self.close(jax.jit(total(own))(*args), total(theirs)(*args))

    def test_products(self):
        self.alike(MM, mm, (array(5, 16), array(16, 8), jnp.float32(2)), (0, 1, 2))
        self.alike(MM, mm, (array(64, 16), array(16, 8), jnp.float32(2)), 1)

    def test_softmax(self):
        self.alike(SOFTMAX, jax.nn.softmax, (array(4, 7),), 0)

    def test_norm(self):
        self.alike(NORM, norm, (array(4, 8), array(8), array(8), jnp.float32(1e-5)), (0, 1, 2))

    def test_gather(self):
        index = jnp.asarray([3, 0, 8, 3, 3, 1], "int32")
        self.alike(GATHER, lambda w, i: w[i], (array(9, 4), index), 0)

    def test_convolution(self):
        self.alike(CONV, conv, (array(2, 3, 6, 5), array(4, 3, 3, 3)), (0, 1))

    def test_outputs(self):
        x = array(5)

        def theirs(x):
            return x * x, (x ** 3).sum()

        self.close(TWO(x), theirs(x))
        for pick in (0, 1):                     # the other's derivative is a zero that JAX knows
            self.close(jax.grad(lambda x: TWO(x)[pick].sum())(x),
                       jax.grad(lambda x: theirs(x)[pick].sum())(x))

    def test_batches(self):
        a, b, s = array(3, 5, 16), array(16, 8), jnp.float32(2)
        self.close(jax.vmap(MM, (0, None, None))(a, b, s), 2 * a @ b)
        for axes in ((2, 1, 0), (0, None, 0), (None, 2, None)):
            args = [array(*x[:d], 3, *x[d:]) if d is not None else array(*x)
                    for x, d in zip(((5, 16), (16, 8), ()), axes)]
            self.close(jax.jit(jax.vmap(MM, axes))(*args), jax.vmap(mm, axes)(*args))
        twice = jax.vmap(jax.vmap(MM, (0, None, None)), (0, None, 0))
        c = array(2, 3, 5, 16)
        self.close(twice(c, b, jnp.asarray([1.0, 3.0])), c @ b * jnp.asarray([1.0, 3.0])[:, None, None, None])

        def total(f):
            return jax.vmap(jax.grad(lambda a, b, s: jnp.tanh(f(a, b, s)).sum(), (0, 1)), (0, None, None))

        self.close(total(MM)(a, b, s), total(mm)(a, b, s))

    def test_second_derivatives(self):
        a, b, s = array(5, 16), array(16, 8) / 4, jnp.float32(1)

        def second(f):
            first = jax.grad(lambda a: jnp.tanh(f(a, b, s)).sum())
            return jax.grad(lambda a: (first(a) ** 2).sum())(a)

        self.close(second(MM), second(mm))

    def test_training(self):
        """A step of descent under jit, between JAX's own operations."""
        x, y, w = array(32, 16), array(32, 8), array(16, 8)

        def step(f):
            @jax.jit
            def run(w):
                loss, d = jax.value_and_grad(lambda w: ((jnp.tanh(f(x, w, 1.0)) - y) ** 2).mean())(w)
                return loss, w - 0.5 * d
            return run

        own, theirs = w, w
        for _ in range(3):
            loss, own = step(MM)(own)
            other, theirs = step(mm)(theirs)
            self.close(loss, other)
        self.close(own, theirs)

    def test_types(self):
        x = array(4, 8).astype(jnp.bfloat16)
        self.close(NARROW(x), x * x)
        self.close(jax.grad(lambda x: NARROW(x).astype("float32").sum())(x), 2 * x)

    def test_the_same_expression_is_the_same_function(self):
        text = "op f(X: f32[4]) -> Y: f32[4] { Y[i] = X[i]; }"
        self.assertIs(op(text), op(text))
        self.assertEqual(op("param N; op f(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i]; }",
                            sizes={"N": 3})(jnp.ones(3)).shape, (3,))

    def test_refusals(self):
        a, b = array(5, 16), array(16, 8)
        with self.assertRaisesRegex(roller.ArgumentError, r"'A' of mm has shape \(16, 8\), not \(16, 16\)"):
            MM(b, b, 1.0)
        with self.assertRaisesRegex(roller.ArgumentError, "M = 65 of mm is not in 1..64"):
            jax.jit(MM)(array(65, 16), b, 1.0)
        with self.assertRaisesRegex(roller.ArgumentError, "'A' of mm is int32, not float32"):
            MM(a.astype("int32"), b, 1.0)
        with self.assertRaisesRegex(roller.ArgumentError, "takes 3 inputs"):
            MM(a, b)
        with self.assertRaisesRegex(roller.ArgumentError, "'A' of mm has rank 1, not 2"):
            MM(a[0], b, 1.0)
        with self.assertRaisesRegex(roller.ExpressionError, r"\n +\^\n"):
            op("op f(A: f32[4]) -> C: f32[4] { C[i] = A[i+1]; }")
        with self.assertRaisesRegex(Exception, "forward-mode"):
            jax.jvp(lambda a: MM(a, b, 1.0), (a,), (a,))

    def test_without_tvm_ffi(self):
        """By jax.pure_callback."""
        lines = ("import sys; sys.modules['tvm_ffi'] = None\n"
                 "import test_jax; assert test_jax.roller.jax.tvm_ffi is None\n"
                 "t = test_jax.Jax(); t.test_products(); t.test_types(); t.test_outputs()\n")
        subprocess.run([sys.executable, "-c", lines], check=True, timeout=300,
                       cwd=os.path.dirname(os.path.abspath(__file__)))
