"""Kernels in TileLang, compiled ahead of time on a machine without a GPU, against NumPy.

TileLang compiles its CUDA source with NVRTC and launches it through cuda.bindings by itself.
"""
import types
import unittest

import numpy as np
import tilelang
import tilelang.language as T
from cuda.bindings import driver

from device import DeviceTest, call


class Array:
    """An array on the device, with what TileLang asks of a tensor."""

    def __init__(self, host, device):
        self.host, self.at = host, call(driver.cuMemAlloc, host.nbytes)
        self.device = types.SimpleNamespace(index=int(device))
        call(driver.cuMemcpyHtoD, self.at, host.ctypes.data, host.nbytes)

    def data_ptr(self):
        return int(self.at)

    def fetch(self):
        call(driver.cuMemcpyDtoH, self.host.ctypes.data, self.at, self.host.nbytes)
        call(driver.cuMemFree, self.at)


def matmul(m, n, k, kind, accumulated, stages, threads=128, transposed=False):
    bm, bn, bk = 64, 64, 32
    shape, tile = ((n, k), (bn, bk)) if transposed else ((k, n), (bk, bn))

    @T.prim_func
    def kernel(a: T.Tensor((m, k), kind), b: T.Tensor(shape, kind),
               c: T.Tensor((m, n), accumulated)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (bx, by):
            sa, sb = T.alloc_shared((bm, bk), kind), T.alloc_shared(tile, kind)
            acc = T.alloc_fragment((bm, bn), accumulated)
            T.clear(acc)
            for step in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                T.copy(a[by * bm, step * bk], sa)
                if transposed:
                    T.copy(b[bx * bn, step * bk], sb)
                else:
                    T.copy(b[step * bk, bx * bn], sb)
                T.gemm(sa, sb, acc, transpose_B=transposed)
            T.copy(acc, c[by * bm, bx * bn])
    return kernel


def softmax(rows, columns):
    @T.prim_func
    def kernel(x: T.Tensor((rows, columns), "float32"), y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(T.ceildiv(rows, 4), threads=128) as block:
            v = T.alloc_fragment((4, columns), "float32")
            most, total = T.alloc_fragment((4,), "float32"), T.alloc_fragment((4,), "float32")
            T.copy(x[block * 4, 0], v)
            T.reduce_max(v, most, dim=1)
            for i, j in T.Parallel(4, columns):
                v[i, j] = T.exp(v[i, j] - most[i])
            T.reduce_sum(v, total, dim=1)
            for i, j in T.Parallel(4, columns):
                v[i, j] = v[i, j] / total[i]
            T.copy(v, y[block * 4, 0])
    return kernel


def rms_norm(rows, columns):
    @T.prim_func
    def kernel(x: T.Tensor((rows, columns), "float32"), w: T.Tensor((columns,), "float32"),
               y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows, threads=128) as row:
            v, square = T.alloc_fragment((columns,), "float32"), T.alloc_fragment((columns,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(x[row, 0], v)
            for i in T.Parallel(columns):
                square[i] = v[i] * v[i]
            T.reduce_sum(square, total, dim=0)
            for i in T.Parallel(columns):
                y[row, i] = v[i] * T.rsqrt(total[0] / columns + 1e-5) * w[i]
    return kernel


def cumsum(rows, columns, reverse):
    @T.prim_func
    def kernel(x: T.Tensor((rows, columns), "float32"), y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows // 8, threads=128) as block:
            s = T.alloc_shared((8, columns), "float32")
            T.copy(x[block * 8, 0], s)
            T.cumsum(s, dim=1, reverse=reverse)
            T.copy(s, y[block * 8, 0])
    return kernel


def attention(heads, length, depth, causal):
    bm = bn = 64
    scale = depth ** -0.5 * 1.44269504

    @T.prim_func
    def kernel(q: T.Tensor((heads, length, depth), "float16"),
               k: T.Tensor((heads, length, depth), "float16"),
               v: T.Tensor((heads, length, depth), "float16"),
               out: T.Tensor((heads, length, depth), "float16")):
        with T.Kernel(T.ceildiv(length, bm), heads, threads=128) as (block, head):
            sq, sk = T.alloc_shared((bm, depth), "float16"), T.alloc_shared((bn, depth), "float16")
            sv = T.alloc_shared((bn, depth), "float16")
            s, p = T.alloc_fragment((bm, bn), "float"), T.alloc_fragment((bm, bn), "float16")
            acc = T.alloc_fragment((bm, depth), "float")
            most, before = T.alloc_fragment((bm,), "float"), T.alloc_fragment((bm,), "float")
            keep, part = T.alloc_fragment((bm,), "float"), T.alloc_fragment((bm,), "float")
            total = T.alloc_fragment((bm,), "float")
            T.copy(q[head, block * bm:(block + 1) * bm, :], sq)
            T.clear(acc)
            T.clear(total)
            T.fill(most, -T.infinity("float"))
            steps = T.ceildiv(length, bn)
            if causal:
                steps = T.min(steps, T.ceildiv((block + 1) * bm, bn))
            for step in T.Pipelined(steps, num_stages=2):
                T.copy(k[head, step * bn:(step + 1) * bn, :], sk)
                if causal:
                    for i, j in T.Parallel(bm, bn):
                        s[i, j] = T.if_then_else(block * bm + i >= step * bn + j, 0,
                                                 -T.infinity("float"))
                else:
                    T.clear(s)
                T.gemm(sq, sk, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(most, before)
                T.reduce_max(s, most, dim=1, clear=False)
                for i in T.Parallel(bm):
                    most[i] = T.max(most[i], before[i])
                    keep[i] = T.exp2(before[i] * scale - most[i] * scale)
                for i, j in T.Parallel(bm, bn):
                    s[i, j] = T.exp2(s[i, j] * scale - most[i] * scale)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(bm):
                    total[i] = total[i] * keep[i] + part[i]
                T.copy(s, p)
                for i, j in T.Parallel(bm, depth):
                    acc[i, j] *= keep[i]
                T.copy(v[head, step * bn:(step + 1) * bn, :], sv)
                T.gemm(p, sv, acc, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(bm, depth):
                acc[i, j] /= total[i]
            T.copy(acc, out[head, block * bm:(block + 1) * bm, :])
    return kernel


def normal(*shape, kind=np.float16, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


class Kernels:
    def run_kernel(self, kernel, *hosts):
        """Compiles and launches a kernel, brings the arrays back, and gives its source."""
        target = {"kind": "cuda", "arch": f"sm_{self.sm}{'a' if self.sm >= 90 else ''}"}
        with tilelang.tvm.target.Target(target):
            made = tilelang.compile(kernel, target=target, execution_backend="nvrtc")
        arrays = [Array(host, self.device) for host in hosts]
        made.adapter.pymodule.call(made.adapter.kernels, *arrays, stream=0)
        call(driver.cuCtxSynchronize)
        for array in arrays:
            array.fetch()
        return made.get_kernel_source()

    def product(self, m, n, k, kind="float16", stages=3, threads=128, transposed=False):
        a, b = normal(m, k, kind=np.float32), normal(k, n, kind=np.float32, seed=2)
        a, b = (np.round(v * 4).astype(kind) for v in (a, b))
        accumulated = "int32" if kind == "int8" else "float32"
        c = np.zeros((m, n), accumulated)
        given = np.ascontiguousarray(b.T) if transposed else b
        source = self.run_kernel(matmul(m, n, k, kind, accumulated, stages, threads, transposed),
                              a, given, c)
        np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5)
        return source

    def test_matmul(self):
        source = self.product(128, 64, 128)
        self.assertIn("wgmma" if self.sm == 90 else "mma_sync", source)
        self.assertIn("tma_load" if self.sm == 90 else "cp_async", source)

    def test_matmul_one_stage(self):
        self.product(64, 64, 96, stages=1)

    def test_matmul_ragged(self):
        self.product(100, 72, 80)

    def test_matmul_transposed(self):
        self.product(64, 64, 128, transposed=True, threads=256)

    def test_matmul_i8(self):
        self.product(64, 64, 128, kind="int8", transposed=True)

    def test_softmax(self):
        x = normal(8, 512, kind=np.float32) * 10
        y = np.zeros_like(x)
        self.run_kernel(softmax(8, 512), x, y)
        e = np.exp(x - x.max(1, keepdims=True))
        np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-4, atol=1e-7)

    def test_rms_norm(self):
        x, w = normal(4, 1024, kind=np.float32), normal(1024, kind=np.float32, seed=2)
        y = np.zeros_like(x)
        self.run_kernel(rms_norm(4, 1024), x, w, y)
        v = x.astype(np.float64)
        v /= np.sqrt((v * v).mean(1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(y, v * w, rtol=1e-4, atol=1e-5)

    def test_cumsum(self):
        x = normal(16, 256, kind=np.float32)
        for reverse in (False, True):
            y = np.zeros_like(x)
            self.run_kernel(cumsum(16, 256, reverse), x, y)
            way = slice(None, None, -1 if reverse else 1)
            np.testing.assert_allclose(y[:, way], np.cumsum(x[:, way].astype(np.float64), 1),
                                       rtol=1e-4, atol=1e-4)

    def attend(self, causal):
        q, k, v = (normal(2, 192, 64, seed=s) for s in (1, 2, 3))
        out = np.zeros_like(q)
        self.run_kernel(attention(2, 192, 64, causal), q, k, v, out)
        s = 0.125 * np.einsum("hqd,hkd->hqk", q.astype(np.float64), k.astype(np.float64))
        if causal:
            s = np.where(np.tri(192, dtype=bool), s, -np.inf)
        p = np.exp(s - s.max(2, keepdims=True))
        p /= p.sum(2, keepdims=True)
        np.testing.assert_allclose(out, p @ v.astype(np.float64), rtol=1e-2, atol=1e-2)

    def test_attention(self):
        self.attend(False)

    def test_attention_causal(self):
        self.attend(True)


class Sm80(Kernels, DeviceTest):
    sm = 80


class Sm90(Kernels, DeviceTest):
    sm = 90


if __name__ == "__main__":
    unittest.main()
