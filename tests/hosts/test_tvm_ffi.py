"""roller under the TVM-FFI that PyPI has."""
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import ml_dtypes
import numpy as np
import tvm_ffi

import roller

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
import gpu  # noqa: E402

BUILD = os.path.dirname(os.path.dirname(os.path.dirname(roller.__file__)))
MM = ("param M = 1..64; op mm(A: f32[M,32], B: f32[32,48], s: f32) -> C: f32[M,48] "
      "{ t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] * s; }")
CHAIN = ("op chain(A: f32[12,32], B: f32[32,48], D: f32[48,48]) -> C: f32[12,48] "
         "{ t[m,n] += A[m,k] * B[k,n]; C[m,n] += t[m,k] * D[k,n]; }")
NARROW = ("op narrow(X: bf16[8,16], I: i64[8], on: bool[8]) -> (Y: bf16[8,16], n: i64[8]) "
          "{ Y[i,j] = on[i] ? X[i,j] + X[i,j] : X[i,j]; n[i] = I[i] + 1; }")


def integers(*shape, dtype="f4"):
    return np.random.default_rng(7).integers(-3, 4, shape).astype(dtype)


kept = []                    # what DLPack's capsules of these tests point to


def view(x):
    kept.append(x)
    return tvm_ffi.from_dlpack(x)


def emitted(te):
    """The module that roller-gen writes for the simulated driver's device."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "op.tvmffi.so")
        subprocess.run([os.path.join(BUILD, "roller-gen"), "-q", "--profile", "a100", "--emit",
                        "tvmffi", "-", "-o", out], input=te.encode(), check=True)
        return tvm_ffi.load_module(out)


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        gpu.begin()
        cls.module = tvm_ffi.load_module(roller.tvm_ffi_library())
        cls.mm = cls.module.compile(MM, "a100")

    def test_host_arrays(self):
        a, b, c = integers(8, 32), integers(32, 48), np.zeros((8, 48), "f4")
        self.mm(a, b, 2, c)
        np.testing.assert_array_equal(c, 2 * a @ b)

    def test_types(self):
        x = integers(8, 16, dtype=ml_dtypes.bfloat16)
        i, on = np.arange(8), np.arange(8) % 2 == 0
        y, n = np.zeros_like(x), np.zeros_like(i)
        self.module.compile(NARROW, "a100")(view(Bits(x)), i, on, view(Bits(y)), n)
        np.testing.assert_array_equal(y, np.where(on[:, None], x + x, x))
        np.testing.assert_array_equal(n, i + 1)

    def test_device_arrays(self):
        a, b = integers(8, 32), integers(32, 48)
        da, db, dc = gpu.Array(a), gpu.Array(b), gpu.Array(np.zeros((8, 48), "f4"))
        with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda:0"), gpu.stream()):
            self.mm(view(da), view(db), 0.5, view(dc))
        np.testing.assert_array_equal(dc.numpy(), 0.5 * a @ b)

    def test_workspace(self):
        a, b, d = integers(12, 32), integers(32, 48), integers(48, 48)
        out = gpu.Array(np.zeros((12, 48), "f4"))
        f = self.module.compile(CHAIN, "a100")
        f(view(gpu.Array(a)), view(gpu.Array(b)), view(gpu.Array(d)), view(out))
        np.testing.assert_array_equal(out.numpy(), a @ b @ d)

    def test_files(self):
        k = roller.compile(MM, profile="a100")
        f = self.module.read(k.json, k.cubin, k.ptx)
        a, b, c = integers(3, 32), integers(32, 48), np.zeros((3, 48), "f4")
        f(a, b, 1.0, c)
        np.testing.assert_array_equal(c, a @ b)

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, r"1:39: error: 'A' is read at 1\.\.4(.|\n)*\n +\^\n"):
            self.module.compile("op f(A: f32[4]) -> C: f32[4] { C[i] = A[i+1]; }")
        a, b, c = integers(8, 32), integers(32, 48), np.zeros((8, 48), "f4")
        with self.assertRaisesRegex(ValueError, "dimension 1 of argument 'A' is 48, not 32"):
            self.mm(b, a, 1.0, c)
        with self.assertRaisesRegex(TypeError, "argument 'A' is f64, not f32"):
            self.mm(a.astype("f8"), b, 1.0, c)
        with self.assertRaisesRegex(TypeError, "argument 2 is no number"):
            self.mm(a, b, "1", c)
        with self.assertRaisesRegex(TypeError, "argument 1 is no tensor"):
            self.mm(a, 3, 1.0, c)
        with self.assertRaisesRegex(ValueError, "outputs must be given"):
            self.mm(a, b, 1.0)
        with self.assertRaisesRegex(ValueError, "the file has no such param"):
            self.module.compile(MM, "a100", "X=3")

    def test_threads(self):
        f, failed = self.module.compile(MM, "a100"), []

        def work(i):
            a, b = integers(8, 32) + i, integers(32, 48)
            da, db, dc = gpu.Array(a), gpu.Array(b), gpu.Array(np.zeros((8, 48), "f4"))
            for _ in range(3):
                f(view(da), view(db), 1.0, view(dc))
            if (dc.numpy() != a @ b).any():
                failed.append(i)

        def enter(i):
            gpu.begin()
            work(i)

        threads = [threading.Thread(target=enter, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])


class Emitted(unittest.TestCase):
    def test_module(self):
        gpu.begin()
        m = emitted(MM)
        a, b = integers(8, 32), integers(32, 48)
        da, db, dc = gpu.Array(a), gpu.Array(b), gpu.Array(np.zeros((8, 48), "f4"))
        m.mm(view(da), view(db), 3.0, view(dc))
        np.testing.assert_array_equal(dc.numpy(), 3 * a @ b)
        with self.assertRaisesRegex(ValueError, "no tensor is on a CUDA device"):
            m.mm(a, b, 3.0, dc.numpy())

    def test_workspace(self):
        gpu.begin()
        a, b, d = integers(12, 32), integers(32, 48), integers(48, 48)
        out = gpu.Array(np.zeros((12, 48), "f4"))
        emitted(CHAIN).chain(view(gpu.Array(a)), view(gpu.Array(b)), view(gpu.Array(d)), view(out))
        np.testing.assert_array_equal(out.numpy(), a @ b @ d)


class Bits:
    """NumPy's arrays of bfloat16 do not say so by DLPack."""

    def __init__(self, x):
        self.x = x
        self.shape = (gpu.ctypes.c_int64 * x.ndim)(*x.shape)
        self.managed = gpu._Managed(x.ctypes.data, 1, 0, x.ndim, 4, 16, 1,
                                    gpu.ctypes.addressof(self.shape))

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, stream=None):
        return gpu._new(gpu.ctypes.addressof(self.managed), b"dltensor", None)
