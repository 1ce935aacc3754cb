"""Element types of ONNX as those of the language."""
import numpy as np
import onnx
from onnx import TensorProto, helper

from .statements import Unsupported

NAMES = {
    TensorProto.FLOAT: "f32", TensorProto.FLOAT16: "f16", TensorProto.BFLOAT16: "bf16",
    TensorProto.DOUBLE: "f64", TensorProto.FLOAT8E4M3FN: "f8e4m3", TensorProto.FLOAT8E5M2: "f8e5m2",
    TensorProto.INT64: "i64", TensorProto.INT32: "i32", TensorProto.INT16: "i16",
    TensorProto.INT8: "i8", TensorProto.UINT8: "u8", TensorProto.BOOL: "bool",
}
CODES = {name: code for code, name in NAMES.items()}


def name_of(code):
    if code not in NAMES:
        kind = TensorProto.DataType.Name(code) if code in TensorProto.DataType.values() else code
        raise Unsupported(f"elements of type {kind}")
    return NAMES[code]


def dtype_of(array):
    """roller's name for NumPy's type (ml_dtypes for those that NumPy has not)."""
    return name_of(helper.np_dtype_to_tensor_dtype(array.dtype))


def numpy_of(name):
    return np.dtype(helper.tensor_dtype_to_np_dtype(CODES[name]))


def value_type(info):
    """The shape (integers, names, None) and type of a graph's input or output."""
    if not info.type.HasField("tensor_type"):
        raise Unsupported(f"{info.name!r} is no tensor")
    kind = info.type.tensor_type
    if not kind.HasField("shape"):
        raise Unsupported(f"{info.name!r} has no shape")
    shape = [d.dim_value if d.HasField("dim_value") else d.dim_param or None
             for d in kind.shape.dim]
    return shape, name_of(kind.elem_type)


def array_of(tensor):
    """The values of an initializer or attribute."""
    name_of(tensor.data_type)
    return onnx.numpy_helper.to_array(tensor)
