"""Arrays on a CUDA device without a framework, over whatever libcuda.so.1 is there."""
import ctypes

import numpy as np

cu = ctypes.CDLL("libcuda.so.1")
_code = {"i": 0, "u": 1, "f": 2, "b": 6}


def call(name, *args):
    code = getattr(cu, name)(*args)
    if code:
        raise RuntimeError(f"{name} gave {code}")


def begin():
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)


def stream():
    s = ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(s), 1)
    return s.value


class Captured:
    """What is queued in its stream meanwhile, as a graph."""

    def __enter__(self):
        self.stream = stream()
        call("cuStreamBeginCapture_v2", ctypes.c_void_p(self.stream), 0)
        return self

    def __exit__(self, *error):
        graph, self.made = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuStreamEndCapture", ctypes.c_void_p(self.stream), ctypes.byref(graph))
        call("cuGraphInstantiateWithFlags", ctypes.byref(self.made), graph, ctypes.c_uint64(0))

    def launch(self):
        call("cuGraphLaunch", self.made, ctypes.c_void_p(self.stream))


class _Managed(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Array:
    """A NumPy array's copy in device memory."""

    def __init__(self, host):
        self.host, at = np.ascontiguousarray(host), ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(max(self.host.nbytes, 1)))
        self.at = at.value
        call("cuMemcpyHtoD_v2", at, ctypes.c_void_p(self.host.ctypes.data),
             ctypes.c_size_t(self.host.nbytes))
        self._shape = (ctypes.c_int64 * max(self.host.ndim, 1))(*self.host.shape)
        self._managed = _Managed(self.at, 2, 0, self.host.ndim, _code[self.host.dtype.kind],
                                 8 * self.host.itemsize, 1, ctypes.addressof(self._shape))
        self.asked = []

    def numpy(self):
        out = np.empty_like(self.host)
        call("cuCtxSynchronize")
        call("cuMemcpyDtoH_v2", ctypes.c_void_p(out.ctypes.data), ctypes.c_uint64(self.at),
             ctypes.c_size_t(out.nbytes))
        return out

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        self.asked.append(stream)
        return _new(ctypes.addressof(self._managed), b"dltensor", None)


class Interface:
    """The same for those who ask by __cuda_array_interface__."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        host = self.array.host
        return {"shape": host.shape, "typestr": host.dtype.str, "version": 3,
                "data": (self.array.at, False)}
