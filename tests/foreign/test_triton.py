"""Kernels in Triton, compiled ahead of time on a machine without a GPU, against NumPy."""
import unittest

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from device import DeviceTest, TensorMap

TYPES = {"float16": "fp16", "float32": "fp32", "int32": "i32", "int8": "i8", "uint8": "u8",
         "float8_e4m3fn": "fp8e4nv"}


@triton.jit
def add(x, y, out, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@triton.jit
def softmax(x, out, columns, block: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, block)
    v = tl.load(x + row * columns + at, at < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + at, e / tl.sum(e, axis=0), at < columns)


@triton.jit
def layer_norm(x, w, b, out, columns, eps, block: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, block)
    inside = at < columns
    v = tl.load(x + row * columns + at, inside, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / columns
    d = tl.where(inside, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, axis=0) / columns + eps)
    y = d * scale * tl.load(w + at, inside) + tl.load(b + at, inside)
    tl.store(out + row * columns + at, y, inside)


@triton.jit
def rms_norm(x, w, out, columns, eps, block: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros((block,), tl.float32)
    for begin in range(0, columns, block):
        at = begin + tl.arange(0, block)
        v = tl.load(x + row * columns + at, at < columns, other=0.0).to(tl.float32)
        squares += v * v
    scale = tl.rsqrt(tl.sum(squares, axis=0) / columns + eps)
    for begin in range(0, columns, block):
        at = begin + tl.arange(0, block)
        v = tl.load(x + row * columns + at, at < columns, other=0.0).to(tl.float32)
        y = v * scale * tl.load(w + at, at < columns, other=0.0)
        tl.store(out + row * columns + at, y, at < columns)


@triton.jit
def scans(x, total, product, largest, columns, block: tl.constexpr, back: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, block)
    inside = at < columns
    v = tl.load(x + row * columns + at, inside, other=0.0)
    tl.store(total + row * columns + at, tl.cumsum(v, axis=0, reverse=back), inside)
    v = tl.where(inside, v, 1.0)
    tl.store(product + row * columns + at, tl.cumprod(v, axis=0, reverse=back), inside)
    v = tl.where(inside, v, -float("inf"))
    tl.store(largest + row * columns + at,
             tl.associative_scan(v, 0, larger, reverse=back), inside)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def linear(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def recurrence(a, b, out, steps: tl.constexpr, columns: tl.constexpr):
    at = tl.arange(0, steps)[:, None] * columns + tl.arange(0, columns)[None, :]
    _, h = tl.associative_scan((tl.load(a + at), tl.load(b + at)), 0, linear)
    tl.store(out + at, h)


@triton.jit
def argmax(x, value, index, columns, block: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, block)
    v = tl.load(x + row * columns + at, at < columns, other=-float("inf"))
    most, where = tl.max(v, axis=0, return_indices=True)
    tl.store(value + row, most)
    tl.store(index + row, where)


@triton.jit
def sort(x, out, block: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, block)
    tl.store(out + row * block + at, tl.sort(tl.load(x + row * block + at)))


@triton.jit
def histogram(x, out, n, block: tl.constexpr, bins: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    h = tl.histogram(tl.load(x + at, at < n, other=0), bins, mask=at < n)
    tl.atomic_add(out + tl.arange(0, bins), h)


@triton.jit
def matmul(a, b, c, m, n, k, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr):
    rows = tl.program_id(0) * bm + tl.arange(0, bm)
    columns = tl.program_id(1) * bn + tl.arange(0, bn)
    step = tl.arange(0, bk)
    at_a, at_b = a + rows[:, None] * k + step[None, :], b + step[:, None] * n + columns[None, :]
    kind: tl.constexpr = tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32
    acc = tl.zeros((bm, bn), kind)
    for begin in range(0, k, bk):
        va = tl.load(at_a, (rows[:, None] < m) & (begin + step[None, :] < k), other=0)
        vb = tl.load(at_b, (begin + step[:, None] < k) & (columns[None, :] < n), other=0)
        acc = tl.dot(va, vb, acc)
        at_a += bk
        at_b += bk * n
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], acc.to(c.dtype.element_ty), inside)


@triton.jit
def matmul_scaled(a, scale_a, b, scale_b, c, n, k, bm: tl.constexpr, bn: tl.constexpr,
                  bk: tl.constexpr, kind: tl.constexpr, packed: tl.constexpr, span: tl.constexpr):
    """c = a b^T; `packed` elements to a byte, and a scale for `span` elements."""
    rows, columns = tl.arange(0, bm), tl.arange(0, bn)
    step, block = tl.arange(0, bk // packed), tl.arange(0, bk // span)
    acc = tl.zeros((bm, bn), tl.float32)
    for begin in range(0, k, bk):
        here = begin // packed + step
        va = tl.load(a + rows[:, None] * (k // packed) + here[None, :])
        vb = tl.load(b + columns[None, :] * (k // packed) + here[:, None])
        at = (begin // span + block)[None, :]
        sa = tl.load(scale_a + rows[:, None] * (k // span) + at)
        sb = tl.load(scale_b + columns[:, None] * (k // span) + at)
        acc = tl.dot_scaled(va, sa, kind, vb, sb, kind, acc)
    tl.store(c + rows[:, None] * n + columns[None, :], acc)


@triton.jit
def attention(q, k, v, out, length, scale, bm: tl.constexpr, bn: tl.constexpr,
              depth: tl.constexpr, causal: tl.constexpr):
    head, d = tl.program_id(1) * length * depth, tl.arange(0, depth)
    rows = tl.program_id(0) * bm + tl.arange(0, bm)
    at = head + rows[:, None] * depth + d[None, :]
    vq = tl.load(q + at, rows[:, None] < length, other=0.0)
    most = tl.full((bm,), -float("inf"), tl.float32)
    total = tl.zeros((bm,), tl.float32)
    acc = tl.zeros((bm, depth), tl.float32)
    end = tl.minimum(length, (tl.program_id(0) + 1) * bm) if causal else length
    for begin in range(0, end, bn):
        keys = begin + tl.arange(0, bn)
        there = head + keys[:, None] * depth + d[None, :]
        vk = tl.load(k + there, keys[:, None] < length, other=0.0)
        s = tl.dot(vq, tl.trans(vk)) * scale
        seen = keys[None, :] < length
        if causal:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -float("inf"))
        now = tl.maximum(most, tl.max(s, axis=1))
        p, keep = tl.exp(s - now[:, None]), tl.exp(most - now)
        total = total * keep + tl.sum(p, axis=1)
        vv = tl.load(v + there, keys[:, None] < length, other=0.0)
        acc = tl.dot(p.to(vv.dtype), vv, acc * keep[:, None])
        most = now
    tl.store(out + at, (acc / total[:, None]).to(out.dtype.element_ty), rows[:, None] < length)


@triton.jit
def matmul_maps(a, b, c, k, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr):
    row, column = tl.program_id(0) * bm, tl.program_id(1) * bn
    acc = tl.zeros((bm, bn), tl.float32)
    for begin in tl.range(0, k, bk):
        acc = tl.dot(a.load([row, begin]), b.load([begin, column]), acc)
    c.store([row, column], acc.to(tl.float16))


@triton.jit
def matmul_own_maps(a, b, c, m, n, k, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr):
    map_a = tl.make_tensor_descriptor(a, [m, k], [k, 1], [bm, bk])
    map_b = tl.make_tensor_descriptor(b, [k, n], [n, 1], [bk, bn])
    map_c = tl.make_tensor_descriptor(c, [m, n], [n, 1], [bm, bn])
    row, column = tl.program_id(0) * bm, tl.program_id(1) * bn
    acc = tl.zeros((bm, bn), tl.float32)
    for begin in tl.range(0, k, bk):
        acc = tl.dot(map_a.load([row, begin]), map_b.load([begin, column]), acc)
    map_c.store([row, column], acc.to(tl.float16))


@triton.jit
def printing(x):
    tl.device_assert(tl.load(x) > 0, "positive")
    tl.device_print("value", tl.load(x))


def normal(*shape, kind=np.float16, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


class Kernels:
    unit = None                           # the instruction of the matrix unit

    def compiled(self, kernel, signature, constants, **options):
        names = dict.fromkeys(constants, "constexpr")
        source = ASTSource(kernel, {**signature, **names},
                           {(kernel.arg_names.index(n),): v for n, v in constants.items()})
        return triton.compile(source, GPUTarget("cuda", self.sm, 32), options)

    def run_kernel(self, kernel, grid, args, options=None, **constants):
        """Compiles a kernel for these arguments, launches it, and gives its PTX."""
        signature = {}
        for name, arg in zip((n for n in kernel.arg_names if n not in constants), args):
            if isinstance(arg, np.ndarray):
                signature[name] = "*" + TYPES[arg.dtype.name]
            elif isinstance(arg, tuple):
                array, box = arg
                signature[name] = f"tensordesc<{TYPES[array.dtype.name]}{list(box)}>"
            else:
                signature[name] = "i32" if isinstance(arg, int) else "fp32"
        made = self.compiled(kernel, signature, constants, **(options or {}))
        about = made.metadata
        maps, values = iter(about.tensordesc_meta or []), []
        for arg in args:
            if isinstance(arg, tuple):
                array, meta = arg[0], next(maps)
                values.append(TensorMap(array, meta["block_size"], meta["swizzle"]))
                values += array.shape
                values += [np.ctypeslib.ctypes.c_int64(n // array.itemsize) for n in array.strides]
            else:
                values.append(arg)
        blocks = grid[0] * grid[1] * grid[2]
        scratch = np.zeros(max(1, about.global_scratch_size * blocks), np.uint8)
        self.launch(made.asm["ptx"], about.name, grid, (32 * about.num_warps, 1, 1), about.shared,
                    *values, scratch, None, cluster=about.num_ctas)
        return made.asm["ptx"]

    def test_add(self):
        for kind in (np.float32, np.float16, np.int32):
            x, y = normal(1000, kind=np.float32) * 9, normal(1000, kind=np.float32, seed=2) * 9
            x, y = x.astype(kind), y.astype(kind)
            out = np.zeros_like(x)
            self.run_kernel(add, (4, 1, 1), (x, y, out, 1000), block=256)
            np.testing.assert_array_equal(out, x + y)

    def test_softmax(self):
        x = normal(5, 777, kind=np.float32) * 10
        out = np.zeros_like(x)
        self.run_kernel(softmax, (5, 1, 1), (x, out, 777), block=1024)
        e = np.exp(x - x.max(1, keepdims=True))
        np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)

    def test_layer_norm(self):
        x, w, b = normal(4, 500), normal(500, seed=2), normal(500, seed=3)
        out = np.zeros_like(x)
        self.run_kernel(layer_norm, (4, 1, 1), (x, w, b, out, 500, 1e-5), block=512)
        v = x.astype(np.float64)
        v = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(out, v * w + b, rtol=2e-3, atol=2e-3)

    def test_rms_norm(self):
        x, w = normal(3, 700), normal(700, seed=2)
        out = np.zeros_like(x)
        self.run_kernel(rms_norm, (3, 1, 1), (x, w, out, 700, 1e-5), block=256)
        v = x.astype(np.float64)
        v /= np.sqrt((v * v).mean(1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(out, v * w, rtol=2e-3, atol=2e-3)

    def test_scans(self):
        x = 1 + normal(3, 300, kind=np.float32) / 16
        for back in (False, True):
            total, product, largest = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
            self.run_kernel(scans, (3, 1, 1), (x, total, product, largest, 300), block=512,
                            back=back)
            way = slice(None, None, -1 if back else 1)
            v = x[:, way].astype(np.float64)
            np.testing.assert_allclose(total[:, way], np.cumsum(v, 1), rtol=1e-4)
            np.testing.assert_allclose(product[:, way], np.cumprod(v, 1), rtol=1e-4)
            np.testing.assert_array_equal(largest[:, way], np.maximum.accumulate(x[:, way], 1))

    def test_recurrence(self):
        a = np.abs(normal(64, 32, kind=np.float32)) / 2
        b = normal(64, 32, kind=np.float32, seed=2)
        out = np.zeros_like(a)
        self.run_kernel(recurrence, (1, 1, 1), (a, b, out), steps=64, columns=32)
        h, expected = np.zeros(32), []
        for k in range(64):
            h = a[k].astype(np.float64) * h + b[k]
            expected.append(h)
        np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-4)

    def test_argmax(self):
        x = np.round(normal(6, 300, kind=np.float32) * 2)
        value, index = np.zeros(6, np.float32), np.zeros(6, np.int32)
        self.run_kernel(argmax, (6, 1, 1), (x, value, index, 300), block=512)
        np.testing.assert_array_equal(value, x.max(1))
        np.testing.assert_array_equal(index, x.argmax(1))

    def test_sort(self):
        x = normal(2, 256, kind=np.float32)
        out = np.zeros_like(x)
        self.run_kernel(sort, (2, 1, 1), (x, out), block=256)
        np.testing.assert_array_equal(out, np.sort(x))

    def test_histogram(self):
        x = np.random.default_rng(1).integers(0, 64, 1000, np.int32)
        out = np.zeros(64, np.int32)
        self.run_kernel(histogram, (2, 1, 1), (x, out, 1000), block=512, bins=64)
        np.testing.assert_array_equal(out, np.bincount(x, minlength=64))

    def product(self, kind, m, n, k, expect=None, **options):
        a, b = normal(m, k, kind=np.float32), normal(k, n, kind=np.float32, seed=2)
        a, b = (a * 4).astype(kind), (b * 4).astype(kind)
        out = np.zeros((m, n), np.int32 if kind == np.int8 else np.float32)
        ptx = self.run_kernel(matmul, (-(-m // 64), -(-n // 64), 1), (a, b, out, m, n, k), options,
                              bm=64, bn=64, bk=32)
        wide = a.astype(np.float64) @ b.astype(np.float64)
        error = 2e-2 if kind == np.float32 else 1e-4
        np.testing.assert_allclose(out, wide, rtol=error, atol=error * 16)
        if expect:
            self.assertIn(expect, ptx)

    def test_matmul(self):
        self.product(np.float16, 128, 64, 96, self.unit)

    def test_matmul_ragged(self):
        self.product(np.float16, 100, 70, 50)

    def test_matmul_tf32(self):
        self.product(np.float32, 64, 64, 64)

    def test_matmul_i8(self):
        self.product(np.int8, 64, 128, 64)

    def test_matmul_one_stage(self):
        self.product(np.float16, 64, 64, 96, num_stages=1)

    def test_matmul_eight_warps(self):
        self.product(np.float16, 64, 64, 128, num_warps=8, num_stages=4)

    def attend(self, causal, length, options=None):
        q, k, v = (normal(2, length, 64, seed=s) for s in (1, 2, 3))
        out = np.zeros_like(q)
        self.run_kernel(attention, (-(-length // 64), 2, 1), (q, k, v, out, length, 0.125), options,
                        bm=64, bn=64, depth=64, causal=causal)
        s = 0.125 * np.einsum("hqd,hkd->hqk", q.astype(np.float64), k.astype(np.float64))
        if causal:
            s = np.where(np.tri(length, dtype=bool), s, -np.inf)
        p = np.exp(s - s.max(2, keepdims=True))
        p /= p.sum(2, keepdims=True)
        np.testing.assert_allclose(out, p @ v.astype(np.float64), rtol=1e-2, atol=1e-2)

    def test_attention(self):
        self.attend(False, 192)

    def test_attention_causal(self):
        self.attend(True, 150)

    def test_print(self):
        x = np.ones(1, np.int32)
        ptx = self.run_kernel(printing, (1, 1, 1), (x,), {"debug": True})
        self.assertIn("vprintf", ptx)


class Sm80(Kernels, DeviceTest):
    sm = 80
    unit = "mma.sync"


class Maps(Kernels):
    """GPUs with tensor maps, and a matrix unit that reads shared memory."""

    def through_maps(self, own, **options):
        a, b, c = normal(128, 128), normal(128, 128, seed=2), np.zeros((128, 128), np.float16)
        grid, sizes = (2, 1, 1), {"bm": 64, "bn": 128, "bk": 64}
        if own:
            ptx = self.run_kernel(matmul_own_maps, grid, (a, b, c, 128, 128, 128), options, **sizes)
            self.assertIn("tensormap.replace", ptx)
        else:
            boxes = ((a, (64, 64)), (b, (64, 128)), (c, (64, 128)))
            ptx = self.run_kernel(matmul_maps, grid, (*boxes, 128), options, **sizes)
        self.assertIn("cp.async.bulk.tensor", ptx)
        self.assertIn(self.unit, ptx)
        np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-2,
                                   atol=2e-2)

    def test_matmul_maps(self):
        self.through_maps(False)

    def test_matmul_maps_four_stages(self):
        self.through_maps(False, num_stages=4)

    def test_matmul_own_maps(self):
        self.through_maps(True)


class Sm90(Maps, DeviceTest):
    sm = 90
    unit = "wgmma.mma_async"


class Scaled:
    """Products whose operands have block scales; the random bits of both are all values of middle size."""

    def scaled(self, elements, scales, span, expect):
        m, n, k = 128, 128, 256
        a, scale_a, value_a = operand(m, k, elements, scales, span, seed=3)
        b, scale_b, value_b = operand(n, k, elements, scales, span, seed=4)
        c = np.zeros((m, n), np.float32)
        ptx = self.run_kernel(matmul_scaled, (1, 1, 1), (a, scale_a, b, scale_b, c, n, k), bm=m, bn=n,
                              bk=128, kind=elements, packed=2 if elements == "e2m1" else 1, span=span)
        self.assertIn(expect, ptx)
        np.testing.assert_allclose(c, value_a @ value_b.T, rtol=1e-5, atol=1e-3)

    def test_matmul_scaled(self):
        self.scaled("e4m3", "ue8m0", 32, "kind::mxf8f6f4.block_scale")

    def test_matmul_mxfp4(self):
        self.scaled("e2m1", "ue8m0", 32, self.mxfp4)

    def test_matmul_nvfp4(self):
        self.scaled("e2m1", "ue4m3", 16, "kind::mxf4nvf4.block_scale")


def operand(rows, k, elements, scales, span, seed):
    """Bits of a matrix and of its scales as they lie in memory, and the values of the matrix."""
    rng = np.random.default_rng(seed)
    if elements == "e4m3":
        bits = rng.integers(0, 256, (rows, k), np.uint8) & 0x87
        bits |= rng.integers(5, 9, (rows, k), np.uint8) << 3
        value = bits.view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    else:
        codes = rng.integers(0, 16, (rows, k), np.uint8)
        value = codes.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
        bits = codes[:, ::2] | codes[:, 1::2] << 4
    if scales == "ue8m0":
        factor = rng.integers(125, 131, (rows, k // span), np.uint8)
        value_of = 2.0 ** (factor.astype(int) - 127)
    else:
        factor = rng.integers(40, 72, (rows, k // span), np.uint8).view(ml_dtypes.float8_e4m3fn)
        value_of = factor.astype(np.float64)
    return bits, factor, value * np.repeat(value_of, span, 1)


class Sm100(Maps, Scaled, DeviceTest):
    sm = 100
    unit = "tcgen05.mma"
    mxfp4 = "kind::mxf4.block_scale"


class Sm120(Kernels, Scaled, DeviceTest):
    sm = 120
    unit = "mma.sync"
    mxfp4 = "kind::mxf4nvf4.block_scale"  # with scales of 32 elements


if __name__ == "__main__":
    unittest.main()
