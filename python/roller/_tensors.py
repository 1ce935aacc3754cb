"""Arrays of any library as RollerTensor, which is DLPack's DLTensor field for field.

A tensor is the bytes of that struct, so that a call's are joined and handed over.  A NumPy array is
read by its own interface, which also tells of read-only arrays, and of types that DLPack has no word
for in older versions of NumPy; every other array by DLPack, or, where it has none, by
__cuda_array_interface__.  What an address depends on is kept by the caller.
"""
import ctypes
import struct
import sys
from ctypes import addressof, c_char_p, c_int64, c_ssize_t, c_void_p, py_object

import numpy as np

from ._errors import ArgumentError

CPU, CUDA = 1, 2
# RollerTensor: data, device, ndim, dtype, shape, strides, byte_offset.
_tensor = struct.Struct("@QiiiBBHQQQ")
_pack, _unpack = _tensor.pack, _tensor.unpack
SIZE = _tensor.size
device_of = struct.Struct("@8xii").unpack_from

# Name, DLPack code and bits, NumPy's letter and width; raw: what else may hold its bits.
#  dtype     code bits numpy  raw
_TYPES = [
    ("f64",    2,  64, "f8",  None),
    ("f32",    2,  32, "f4",  None),
    ("f16",    2,  16, "f2",  None),
    ("bf16",   4,  16, None,  "u2"),
    ("i64",    0,  64, "i8",  None),
    ("i32",    0,  32, "i4",  None),
    ("i16",    0,  16, "i2",  None),
    ("i8",     0,  8,  "i1",  None),
    ("f6e3m2", 1,  8,  None,  "u1"),
    ("f6e2m3", 1,  8,  None,  "u1"),
    ("f4e2m1x2", 1, 8, None,  "u1"),      # two to a byte, the first in the low half
    ("u8",     1,  8,  "u1",  None),
    ("bool",   6,  8,  "b1",  None),
    ("f8ue4m3", 10, 8, None,  "u1"),      # e4m3's codes with sign 0
    ("f8e4m3", 10, 8,  None,  "u1"),
    ("f8e5m2", 12, 8,  None,  "u1"),
    ("f8ue8m0", 14, 8, None,  "u1"),
]
CODES = {name: (code, bits) for name, code, bits, _, _ in _TYPES}
NAME_OF_CODE = {(code, bits): name for name, code, bits, _, _ in _TYPES}
_OF_NUMPY = {letter: name for name, _, _, letter, _ in _TYPES if letter}
_RAW = {name: raw for name, _, _, _, raw in _TYPES if raw}
# What packages of more types for NumPy (ml_dtypes) call them.
_OTHER_NAMES = {"bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
                "float8_e8m0fnu": "f8ue8m0"}
_TORCH = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64",
          "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "bool": "bool",
          "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8ue4m3": "float8_e4m3fn",
          "f8ue8m0": "float8_e8m0fnu", "f6e3m2": "uint8", "f6e2m3": "uint8", "f4e2m1x2": "uint8"}
_SCALARS = {"f32": ctypes.c_float, "f64": ctypes.c_double, "i32": ctypes.c_int32,
            "i64": ctypes.c_int64}

_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = c_void_p, [py_object, c_char_p]
_bytes_at = ctypes.pythonapi.PyBytes_FromStringAndSize
_bytes_at.restype, _bytes_at.argtypes = py_object, [c_void_p, c_ssize_t]


def dtype_of(x):
    """roller's name of an array's type; None if it has none."""
    d = getattr(x, "dtype", None)
    name = str(d).rpartition(".")[2]                   # "torch.float32", "float32", "bfloat16"
    for ours, theirs in _TORCH.items():
        if name == theirs:
            return ours
    return None


def _numpy_dtype(d):
    return _OTHER_NAMES.get(d.name) or (_OF_NUMPY.get(d.str[1:]) if d.isnative else None)


def _made(address, device, dtype, shape, strides):
    """The tensor, and what must live as long as it is used."""
    n = len(shape)
    cells = (c_int64 * (2 * n))(*shape, *(strides or ()))
    at = addressof(cells) if n else 0
    return _pack(address, *device, n, *CODES[dtype], 1, at,
                 at + 8 * n if n and strides is not None else 0, 0), cells


def _strides(x, strides, width):
    """In elements."""
    if any(s % width for s in strides):
        raise ArgumentError(f"an array has strides {tuple(strides)} in bytes, which are not whole "
                            f"elements of {width}", status="STRIDE",
                            hint="copy it: numpy.ascontiguousarray(x)")
    return [s // width for s in strides]


def _from_numpy(x, want, output):
    dtype = _numpy_dtype(x.dtype)
    if dtype != want and _RAW.get(want) == x.dtype.str[1:]:
        dtype = want
    if dtype is None:
        raise ArgumentError(f"roller has no type for NumPy's {x.dtype}", status="DTYPE")
    if output and not x.flags.writeable:
        raise ArgumentError("an output is read-only", status="ARGS")
    # Strides of what has no elements mean nothing; NumPy gives it some.
    strides = _strides(x, x.strides, x.itemsize) if x.size else None
    return _made(x.ctypes.data, (CPU, 0), dtype, x.shape, strides)


def _from_interface(x, want):
    i = x.__cuda_array_interface__
    kind, width = i["typestr"][1:], int(i["typestr"][2:])
    raw = want in _RAW and kind in (_RAW[want], f"V{CODES[want][1] // 8}")
    dtype = want if raw else _OF_NUMPY.get(kind)
    if dtype is None or i["typestr"][0] == ">":
        raise ArgumentError(f"roller has no type for {i['typestr']}", status="DTYPE")
    strides = i.get("strides")
    device = getattr(getattr(x, "device", None), "id", 0)
    return _made(i["data"][0] or 0, (CUDA, device), dtype, i["shape"],
                 None if strides is None else _strides(x, strides, width))


def _plain(x, output):
    """A tensor of PyTorch without its history; one whose bits are not its values is written out."""
    if type(x).__module__.partition(".")[0] != "torch":
        return x
    x = x.detach()
    if not x.is_neg() and not x.is_conj():
        return x
    if output:
        raise ArgumentError("an output is a negated or conjugate view", status="ARGS")
    return x.resolve_conj().resolve_neg()


def describe(x, want, output):
    """x, an argument of type `want`, as a tensor; and what that depends on besides x."""
    if isinstance(x, np.ndarray):
        return _from_numpy(x, want, output)
    x = _plain(x, output)
    try:
        # The stream that a launch is given orders the work, not the exporter (-1).
        on_host = x.__dlpack_device__()[0] == CPU
        capsule = x.__dlpack__() if on_host else x.__dlpack__(stream=-1)
    except AttributeError:
        if hasattr(x, "__cuda_array_interface__"):
            return _from_interface(x, want)
        raise TypeError(f"{type(x).__module__}.{type(x).__qualname__} is no array: it has neither "
                        "__dlpack__ nor __cuda_array_interface__") from None
    except (BufferError, ValueError) as error:      # sparse, or without memory of its own
        raise ArgumentError(f"its library does not lend {type(x).__qualname__}: {error}",
                            status="ARGS") from error
    return _bytes_at(_get_pointer(capsule, b"dltensor"), SIZE), (capsule, x)


def describe_scalar(x, dtype):
    cell = _SCALARS[dtype](x)
    return _pack(addressof(cell), CPU, 0, 0, *CODES[dtype], 1, 0, 0, 0), cell


def empty_like(x, shape, dtype):
    """A new array of another shape, of x's library and where x is."""
    library = type(x).__module__.partition(".")[0]
    if isinstance(x, np.ndarray):
        letter = next(t[3] or t[4] for t in _TYPES if t[0] == dtype)
        if x.dtype.name in _OTHER_NAMES and _OTHER_NAMES[x.dtype.name] == dtype:
            return np.empty(shape, x.dtype)
        return np.empty(shape, letter)
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, _TORCH[dtype]), device=x.device)
    if library in ("jax", "jaxlib"):
        # Memory of its own, that nothing of JAX has seen: it is written before it is given out.
        jax = sys.modules["jax"]
        name = {ours: theirs for theirs, ours in _OTHER_NAMES.items()}.get(dtype, _TORCH[dtype])
        made = jax.numpy.empty(shape, name, device=x.device)
        if dtype_of(made) != dtype:
            raise TypeError(f"JAX has no {dtype} unless jax_enable_x64 is set: give out=")
        return made.block_until_ready()
    if library == "cupy":
        with x.device:
            return sys.modules["cupy"].empty(shape, next(t[3] or t[4] for t in _TYPES
                                                         if t[0] == dtype))
    raise TypeError(f"roller cannot make arrays of {library}: give the outputs with out=")


def current_stream(x):
    """The address of the stream that x's library works in; 0 where it has none."""
    library = _library.get(type(x))
    if library is None:
        library = _library[type(x)] = type(x).__module__.partition(".")[0]
    if library == "torch":
        return sys.modules["torch"].cuda.current_stream(x.device).cuda_stream
    if library == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr
    return 0


_library: dict[type, str] = {}


def stream_address(s):
    """A number, or an object of a library that has one."""
    if type(s) is int:
        return s
    for name in ("cuda_stream", "ptr", "handle"):
        s = getattr(s, name, s)
    return int(s)


def workspace_of(w):
    """Address and bytes of an array that is lent as workspace; keep what is returned last."""
    tensor, kept = describe(w, "u8", True)
    data, _, _, n, _, bits, _, shape, _, offset = _unpack(tensor)
    count = 1
    for d in range(n):
        count *= c_int64.from_address(shape + 8 * d).value
    return data + offset, count * bits // 8, (w, kept)
