"""cuBLASLt through ctypes: the best of the algorithms that its heuristic proposes.

cuBLAS counts matrices by columns.  A row-major C = A B is the column-major C' = B' A', so B goes in
as the first operand; `ta`, `tb` say that A is stored [K,M], B [N,K]."""
import ctypes
import glob
import os
import sys
from ctypes import POINTER, Structure, byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64
from ctypes import c_void_p

TYPE = {"f32": 0, "f64": 1, "f16": 2, "i8": 3, "i32": 10, "bf16": 14, "f8e4m3": 28}
COMPUTE_32F, COMPUTE_64F, COMPUTE_32I = 68, 70, 72
TRANSA, TRANSB, EPILOGUE, BIAS_POINTER, A_SCALE, B_SCALE, BIAS_TYPE = 3, 4, 7, 8, 17, 18, 26
BATCH_COUNT, BATCH_STRIDE = 5, 6
MAX_WORKSPACE = 1
EPILOGUES = {"": 4, "none": 4, "identity": 4, "relu": 6}         # each with a bias
WORKSPACE_BYTES, MOST_ALGORITHMS = 64 << 20, 64


class Result(Structure):
    _fields_ = [("algo", c_uint64 * 8), ("workspace", c_size_t), ("state", c_int),
                ("waves", c_float), ("reserved", c_int * 4)]


class CublasError(Exception):
    pass


def candidates():
    """Places of the library: that of the framework's own packages first."""
    names = []
    for folder in sys.path:
        names += sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libcublasLt.so.1*")))
    toolkit = os.environ.get("CUDA_PATH", "/usr/local/cuda")
    names += sorted(glob.glob(os.path.join(toolkit, "lib64", "libcublasLt.so.1*")))
    return names + ["libcublasLt.so.13", "libcublasLt.so.12"]


def open_library(names=None):
    for name in names or candidates():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise CublasError("no libcublasLt")


class CublasLt:
    def __init__(self, library=None):
        self.lib = library or open_library()
        self.handle = c_void_p()
        self.must("cublasLtCreate", byref(self.handle))

    def must(self, name, *arguments):
        code = getattr(self.lib, name)(*arguments)
        if code:
            raise CublasError(f"{name} failed with status {code}")

    def layout(self, kind, rows, columns, batch):
        out = c_void_p()
        self.must("cublasLtMatrixLayoutCreate", byref(out), c_int(kind), c_uint64(rows),
                  c_uint64(columns), c_int64(rows))
        if batch > 1:
            self.attribute("cublasLtMatrixLayoutSetAttribute", out, BATCH_COUNT, c_int32(batch))
            self.attribute("cublasLtMatrixLayoutSetAttribute", out, BATCH_STRIDE,
                           c_int64(rows * columns))
        return out

    def attribute(self, name, of, which, value):
        self.must(name, of, c_int(which), byref(value), c_size_t(ctypes.sizeof(value)))


class Product:
    """One matrix product; `algorithms` are what can run it, `launch(i, stream)` runs one."""

    def __init__(self, lt, shape, types, address, workspace, bias=None, epilogue=None,
                 scales=None):
        m, n, k, batch, ta, tb = shape
        a_type, c_type = types
        self.lt, self.workspace = lt, workspace
        self.first, self.second, self.out = (c_void_p(address[x]) for x in "BAC")
        compute, scale = COMPUTE_32F, "f32"
        if a_type == "i8":
            compute, scale = COMPUTE_32I, "i32"
        elif a_type == "f64":
            compute, scale = COMPUTE_64F, "f64"
        kind = {"i32": c_int32, "f32": c_float, "f64": ctypes.c_double}[scale]
        self.one, self.zero = kind(1), kind(0)
        self.desc = c_void_p()
        lt.must("cublasLtMatmulDescCreate", byref(self.desc), c_int(compute), c_int(TYPE[scale]))
        self.set(TRANSA, c_int32(1 if tb else 0))
        self.set(TRANSB, c_int32(1 if ta else 0))
        if epilogue is not None:
            self.set(EPILOGUE, c_int32(epilogue))
            self.set(BIAS_POINTER, c_void_p(bias))
            self.set(BIAS_TYPE, c_int32(TYPE[c_type]))
        if scales:
            self.set(A_SCALE, c_void_p(scales))
            self.set(B_SCALE, c_void_p(scales))
        first = (k, n) if tb else (n, k)
        second = (m, k) if ta else (k, m)
        self.a = lt.layout(TYPE[a_type], *first, batch)
        self.b = lt.layout(TYPE[a_type], *second, batch)
        self.c = lt.layout(TYPE[c_type], n, m, batch)
        self.algorithms = self.heuristic()

    def set(self, which, value):
        self.lt.attribute("cublasLtMatmulDescSetAttribute", self.desc, which, value)

    def heuristic(self):
        preference, found = c_void_p(), c_int(0)
        self.lt.must("cublasLtMatmulPreferenceCreate", byref(preference))
        self.lt.attribute("cublasLtMatmulPreferenceSetAttribute", preference, MAX_WORKSPACE,
                          c_uint64(WORKSPACE_BYTES))
        results = (Result * MOST_ALGORITHMS)()
        self.lt.must("cublasLtMatmulAlgoGetHeuristic", self.lt.handle, self.desc, self.a, self.b,
                     self.c, self.c, preference, c_int(MOST_ALGORITHMS),
                     ctypes.cast(results, POINTER(Result)), byref(found))
        self.lt.lib.cublasLtMatmulPreferenceDestroy(preference)
        return [results[i] for i in range(found.value) if results[i].state == 0]

    def launch(self, i, stream):
        algorithm = self.algorithms[i]
        self.lt.must("cublasLtMatmul", self.lt.handle, self.desc, byref(self.one), self.first,
                     self.a, self.second, self.b, byref(self.zero), self.out, self.c, self.out,
                     self.c, byref(algorithm, 0), c_void_p(self.workspace),
                     c_size_t(algorithm.workspace), c_void_p(stream))


def shape_of(row):
    """(m, n, k, batch, ta, tb) of a row that is one product, else None."""
    p = {key: int(v) for key, v in row["params"].items() if v.lstrip("-").isdigit()}
    if row["op"] not in ("matmul", "bmm", "gemm_bias_act"):
        return None
    if row["op"] == "gemm_bias_act" and (p.get("res") or not p.get("bias") or
                                         row["params"].get("act", "none") not in EPILOGUES):
        return None
    batch = p["B"] if row["op"] == "bmm" else 1
    return p["M"], p["N"], p["K"], batch, p.get("ta", 0), p.get("tb", 0)
