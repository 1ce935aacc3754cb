"""Launches by STEM.so, with its functions declared as in STEM.h."""
import ctypes

from driver import P

CODES = {"f": 2, "i": 0}
i64p = ctypes.POINTER(ctypes.c_int64)


class Tensor(ctypes.Structure):
    _fields_ = [("data", P), ("type", ctypes.c_int32), ("id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", i64p), ("strides", i64p),
                ("byte_offset", ctypes.c_uint64)]


def tensor(memory):
    shape = (ctypes.c_int64 * max(len(memory.shape), 1))(*memory.shape)
    t = Tensor(memory.address, 2, 0, len(memory.shape), CODES[memory.dtype[0]],
               int(memory.dtype[1:]), 1, shape, None, 0)
    t.keep = shape
    return t


def scalar(number, dtype):
    kind = {"f32": ctypes.c_float, "f64": ctypes.c_double, "i32": ctypes.c_int32,
            "i64": ctypes.c_int64}[dtype](number)
    t = Tensor(ctypes.addressof(kind), 1, 0, 0, CODES[dtype[0]], int(dtype[1:]), 1, None, None, 0)
    t.keep = kind
    return t


class Library:
    def __init__(self, path, op):
        self.so, self.op, self.handle = ctypes.CDLL(path), op, P()
        self.call("status_text").restype = ctypes.c_char_p
        self.status = self.call("load")(ctypes.byref(self.handle))

    def call(self, name):
        return getattr(self.so, f"roller_{self.op}_{name}")

    def workspace(self, ins, outs):
        n = ctypes.c_size_t()
        a, b = (Tensor * max(len(ins), 1))(*ins), (Tensor * len(outs))(*outs)
        s = self.call("workspace")(self.handle, a, len(ins), b, len(outs), ctypes.byref(n))
        return s, n.value

    def launch(self, ins, outs, workspace=0, size=0, stream=0):
        a, b = (Tensor * max(len(ins), 1))(*ins), (Tensor * len(outs))(*outs)
        return self.call("launch")(self.handle, a, len(ins), b, len(outs), P(workspace),
                                   ctypes.c_size_t(size), P(stream))

    def unload(self):
        self.call("unload")(self.handle)
