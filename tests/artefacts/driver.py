"""The CUDA driver by ctypes, as tests of launchers need it."""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
P = ctypes.c_void_p


def call(name, *args):
    code = getattr(cuda, name)(*args)
    if code:
        raise RuntimeError(f"{name} gave {code}")


def begin(device=0):
    call("cuInit", 0)
    number, context = ctypes.c_int(), P()
    call("cuDeviceGet", ctypes.byref(number), device)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, number)
    return context


def current():
    context = P()
    call("cuCtxGetCurrent", ctypes.byref(context))
    return context


def enter(context):
    call("cuCtxSetCurrent", context)


def stream():
    s = P()
    call("cuStreamCreate", ctypes.byref(s), 1)
    return s.value


class Memory:
    """Device memory with poison; an array for whoever asks by __cuda_array_interface__."""

    letter = {"f32": "f", "f64": "d", "i32": "i", "i64": "q"}

    def __init__(self, shape, dtype="f32", values=None, bytes=None):
        count = 1
        for n in shape:
            count *= n
        kind = {"f32": ctypes.c_float, "f64": ctypes.c_double, "i32": ctypes.c_int32,
                "i64": ctypes.c_int64}[dtype]
        self.shape, self.dtype, self.kind, self.count = tuple(shape), dtype, kind, count
        self.bytes = bytes or count * ctypes.sizeof(kind)
        at = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(max(self.bytes, 16)))
        self.address = at.value
        call("cuMemsetD8_v2", at, ctypes.c_ubyte(0xff), ctypes.c_size_t(max(self.bytes, 16)))
        if values is not None:
            host = (kind * count)(*values)
            call("cuMemcpyHtoD_v2", at, host, ctypes.c_size_t(self.bytes))

    def read(self):
        call("cuCtxSynchronize")
        host = (self.kind * self.count)()
        call("cuMemcpyDtoH_v2", host, ctypes.c_uint64(self.address), ctypes.c_size_t(self.bytes))
        return list(host)

    def pack(self, **changes):
        """The same array for those who ask by DLPack; `changes` are fields of its DLTensor."""
        return Packed(self, changes)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": "<" + {"f": "f", "i": "i"}[self.dtype[0]] +
                str(int(self.dtype[1:]) // 8), "data": (self.address, False), "version": 3}


class _Managed(ctypes.Structure):
    """DLManagedTensor of DLPack."""
    _fields_ = [("data", P), ("type", ctypes.c_int32), ("id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
                ("context", P), ("deleter", P)]


class Packed:
    def __init__(self, memory, changes):
        self.shape = (ctypes.c_int64 * len(memory.shape))(*memory.shape)
        fields = dict(data=memory.address, type=2, id=0, ndim=len(memory.shape),
                      code={"i": 0, "f": 2}[memory.dtype[0]], bits=int(memory.dtype[1:]), lanes=1,
                      shape=self.shape)
        fields.update(changes)
        self.managed, self.asked = _Managed(**fields), None

    def __dlpack__(self, stream=None):
        self.asked = stream
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [P, ctypes.c_char_p, P]
        return new(ctypes.addressof(self.managed), b"dltensor", None)
