"""Values that do not depend on data: constants, computed by onnx's reference implementation, and
arrays of run-time sizes, by NumPy on objects."""
import warnings

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from .extents import is_known
from .statements import Unsupported
from .dtypes import CODES

RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli",
          "Multinomial", "Dropout"}
# What takes time that no size of a constant bounds: windows and steps of any number.  Their
# constants are weights like others.
LONG = {"AveragePool", "Conv", "ConvInteger", "ConvTranspose", "DeformConv", "GRU", "LSTM", "LpPool",
        "MaxPool", "QLinearConv", "RNN", "RoiAlign", "STFT"}


def evaluate(node, arrays):
    """The outputs of one node for these inputs (None: left out)."""
    proto = onnx.NodeProto()
    proto.CopyFrom(node.proto)
    names = [name if a is not None else "" for name, a in zip(proto.input, arrays)]
    inputs = {name: a for name, a in zip(names, arrays) if name}
    infos = [helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for name, a in inputs.items()]
    outputs = [name for name in proto.output if name]
    graph = helper.make_graph([proto], "node", infos,
                              [helper.make_empty_tensor_value_info(name) for name in outputs])
    domain = proto.domain or ""
    versions = [helper.make_opsetid(domain, node.opset)]
    model = helper.make_model(graph, opset_imports=versions)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = ReferenceEvaluator(model).run(None, inputs)
    except Exception as error:
        raise Unsupported(f"its constants: {error}") from None
    made = dict(zip(outputs, results))
    return [np.asarray(made[name]) if name else None for name in proto.output]


def folded(node, inputs, most):
    """The outputs of a node all of whose inputs are known; None: it is none."""
    present = [x for x in inputs if x is not None]
    if node.op in RANDOM | LONG or not present or any(x.data is None for x in present):
        if node.op == "Shape" and inputs[0] is not None:
            sizes = _shape(node, inputs[0])
            return None if any(not is_known(n) for n in sizes) else [np.array(sizes, np.int64)]
        if node.op == "Size" and is_known(inputs[0].count):
            return [np.array(inputs[0].count, np.int64)]
        return None
    if _elements(node, [None if x is None else x.data for x in inputs]) * 8 > most:
        raise Unsupported(f"a constant of more than {most >> 20} MiB")
    results = evaluate(node, [None if x is None else x.data for x in inputs])
    if sum(r.nbytes for r in results if r is not None) > most:
        raise Unsupported(f"a constant of more than {most >> 20} MiB")
    return results


def _elements(node, a):
    """Of what a node makes larger than its inputs, how many there would be."""
    def many(shape):
        return float(np.prod(np.asarray(shape, float)))
    if node.op in ("Expand", "ConstantOfShape"):
        return many(a[-1])
    if node.op == "Tile":
        return many(a[1]) * a[0].size
    if node.op == "Range":
        return abs(float(a[1] - a[0]) / (float(a[2]) or 1))
    if node.op == "OneHot":
        return float(np.max(a[1])) * a[0].size
    if node.op == "Pad" and len(a) > 1:
        return many(np.add.reduce(np.abs(np.resize(a[1], (2, max(a[0].ndim, 1)))))
                    + np.array(a[0].shape or 1))
    if node.op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        return float(np.max(a[0]))
    if node.op in ("Resize", "Upsample", "CenterCropPad", "Col2Im", "AffineGrid", "MaxUnpool",
                   "MelWeightMatrix"):
        return max(many(x) for x in a[1:] if x is not None and x.size) * max(a[0].size, 1)
    return 0.0


def _shape(node, x):
    start, end = node.get("start", 0), node.get("end", x.rank)
    return list(x.shape)[start:end]


# ---- run-time sizes ----
def _objects(x):
    if x is None:
        return None
    if x.sizes is not None:
        return x.sizes
    return None if x.data is None else x.data.astype(object)


def _slice(node, a):
    x, starts, ends, *more = a
    axes = more[0] if more and more[0] is not None else range(len(starts))
    steps = more[1] if len(more) > 1 and more[1] is not None else [1] * len(starts)
    cut = [slice(None)] * x.ndim
    for d, lo, hi, step in zip(axes, starts, ends, steps):
        cut[int(d)] = slice(int(lo), int(hi), int(step))
    return x[tuple(cut)]


def _axes(node, a):
    return tuple(int(d) for d in (a[1] if len(a) > 1 and a[1] is not None
                                  else node.list("axes") or ()))


def _unsqueeze(node, a):
    x = a[0]
    for d in sorted(_axes(node, a)):
        x = np.expand_dims(x, d)
    return x


SIZED = {
    "Gather": lambda node, a: np.take(a[0], a[1].astype(np.int64), axis=node.get("axis", 0)),
    "Concat": lambda node, a: np.concatenate(a, axis=node["axis"]),
    "Slice": _slice,
    "Squeeze": lambda node, a: np.squeeze(a[0], axis=_axes(node, a) or None),
    "Unsqueeze": _unsqueeze,
    "Reshape": lambda node, a: a[0].reshape([int(n) for n in a[1]]),
    "Identity": lambda node, a: a[0],
    "Cast": lambda node, a: a[0],
    "Add": lambda node, a: a[0] + a[1],
    "Sub": lambda node, a: a[0] - a[1],
    "Mul": lambda node, a: a[0] * a[1],
    "Div": lambda node, a: a[0] // a[1],
    "Where": lambda node, a: np.where(a[0].astype(bool), a[1], a[2]),
    "ReduceProd": lambda node, a: np.array(np.prod(a[0])),
}


def sized(node, inputs):
    """The value of a node among whose inputs are run-time sizes; None: it is data."""
    if node.op == "Shape":
        return np.array(_shape(node, inputs[0]), object)
    if node.op == "Size":
        return np.array(inputs[0].count, object)
    if not any(x is not None and x.sizes is not None for x in inputs) or node.op not in SIZED:
        return None
    values = [_objects(x) for x in inputs]
    if any(v is None and x is not None for v, x in zip(values, inputs)):
        return None
    if node.op == "Cast" and node["to"] not in (CODES["i64"], CODES["i32"]):
        return None
    result = SIZED[node.op](node, values)
    made = np.empty(np.shape(result), object)
    made[...] = result
    return made


# ---- operators that are made of others ----
def body_of(node, inputs):
    """The function that defines an operator, in ONNX's own words, for these types; None: it has
    none."""
    proto = node.proto
    if not onnx.defs.has(proto.op_type, node.opset, proto.domain):
        return None
    schema = onnx.defs.get_schema(proto.op_type, node.opset, proto.domain)
    if schema.has_function:
        return _with_attributes(schema.function_body, node)
    if not schema.has_context_dependent_function:
        return None
    kinds = [_kind(x) for x in inputs]
    function = onnx.FunctionProto()
    function.ParseFromString(schema.get_context_dependent_function(
        proto.SerializeToString(), [k.SerializeToString() for k in kinds]))
    return _with_attributes(function, node)


def _kind(x):
    if x is None:
        return onnx.TypeProto()
    shape = [n if is_known(n) else str(n) for n in x.shape]
    return helper.make_tensor_type_proto(CODES[x.dtype], shape)


def _with_attributes(function, node):
    """References to the function's attributes become the node's, or the defaults."""
    made = onnx.FunctionProto()
    made.CopyFrom(function)
    given = {a.name: a for a in node.proto.attribute}
    schema = onnx.defs.get_schema(node.op, node.opset, node.proto.domain)
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.name:
            given[name] = attribute.default_value
    for inner in made.node:
        kept = []
        for a in inner.attribute:
            if not a.ref_attr_name:
                kept.append(a)
            elif a.ref_attr_name in given:
                value = onnx.AttributeProto()
                value.CopyFrom(given[a.ref_attr_name])
                value.name = a.name
                kept.append(value)
        del inner.attribute[:]
        inner.attribute.extend(kept)
    return made
