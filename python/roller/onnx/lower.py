"""A model's nodes, one after the other, as statements; constants and sizes on the way as values."""
from dataclasses import dataclass

import numpy as np
from . import fold
from .extents import Extent, is_known
from .registry import LOWERINGS, Node, constant
from .statements import Graph, Malformed, Tensor, Unsupported, plain
from .dtypes import array_of, dtype_of, value_type
from . import elements, pools, products, quantized, recurrent, reductions, views  # noqa: F401

DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training",
           "com.microsoft")
MOST_LOWERED = 100000         # nodes, those of loops once for each turn
MOST_FOLDED = 1 << 28         # bytes of a constant that is made of others


@dataclass
class Lowered:
    te: str
    name: str
    inputs: list              # Arguments of the op, in order
    outputs: dict             # name in the op: (name in the model, Tensor)
    nodes: dict               # statement: the model's node; consumers first
    readers: dict             # statement: those that read it
    seed: bool
    sizes: dict               # run-time sizes and their ranges
    constants: dict           # outputs of the model that depend on no input: their values
    operators: list


def lower(model, sizes, given=None, tf32=False):
    """The op of a checked model.

    sizes    {"N": 8 or "1..64"}: what dimensions of a name are
    given    {input: array}: inputs that are constants
    tf32     products of f32 may round their factors, as onnxruntime does on CUDA by default
    """
    run_time = {}
    for name, value in (sizes or {}).items():
        if not isinstance(value, int):
            run_time[plain(name)] = str(value)
    g = Graph(run_time, " @tf32" if tf32 else "")
    values = _Scope()
    opset = {o.domain: o.version for o in model.opset_import}
    _initialize(g, model.graph, values)
    for info in model.graph.input:
        if given and info.name in given:
            array = given[info.name]
            values[info.name] = g.constant(array, dtype_of(array), info.name)
        elif info.name not in values:
            shape, dtype = value_type(info)
            values[info.name] = g.argument(info.name, _extents(info.name, shape, sizes or {}),
                                           dtype)
    operators = []
    run(g, model.graph, values, opset, operators)
    return _finished(g, model, values, operators)


def _initialize(g, graph, values):
    for tensor in graph.initializer:
        try:
            array = array_of(tensor)
        except (TypeError, ValueError) as error:
            raise Malformed(f"initializer {tensor.name!r}: {error}") from error
        values[tensor.name] = g.constant(array, dtype_of(array), tensor.name)


class _Scope(dict):
    def of(self, name):
        return self[name] if name else None


def _extents(name, shape, sizes):
    result = []
    for d in shape:
        if isinstance(d, int):
            result.append(d)
        elif d is None or d not in sizes:
            raise Unsupported(f"input {name!r} has the dimension {d or '?'}: give its size, or "
                              f"its range at run time, as --size {d or 'NAME'}=8 or =1..64")
        else:
            result.append(sizes[d] if isinstance(sizes[d], int) else Extent.symbol(plain(d)))
    return result


def run(g, graph, values, opset, operators):
    """Lowers the nodes of a graph or function body; results go to values."""
    for position, proto in enumerate(graph.node):
        g.node = proto.name or f"{proto.op_type}_{position}"
        g.lowered += 1
        if g.lowered > MOST_LOWERED:
            raise Unsupported(f"loops of more than {MOST_LOWERED} nodes in all")
        inputs = [values.of(name) for name in proto.input]
        node = Node(proto, opset.get(proto.domain, 1), g.node)
        try:
            results = _lower_node(g, node, inputs, values, opset, operators)
        except Unsupported as error:
            if str(error).startswith("node "):
                raise
            raise type(error)(f"node {g.node!r} ({proto.op_type}): {error}") from None
        except (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError,
                ValueError) as error:
            raise Malformed(f"node {g.node!r} ({proto.op_type}) is malformed: "
                            f"{type(error).__name__}: {error}") from error
        for name, result in zip(proto.output, results):
            if name:
                values[name] = result


def _lower_node(g, node, inputs, values, opset, operators):
    proto = node.proto
    if proto.domain not in DOMAINS:
        raise Unsupported(f"operators of the domain {proto.domain!r}")
    if proto.op_type == "Constant":
        return [g.constant(a, dtype_of(a), proto.output[0]) for a in fold.evaluate(node, [])]
    if proto.op_type in CONTROL:
        return CONTROL[proto.op_type](g, node, inputs, values, opset, operators)
    folded = fold.folded(node, inputs, MOST_FOLDED)
    if folded is not None:
        return [g.constant(a, dtype_of(a), name) for a, name in zip(folded, proto.output)]
    sized = fold.sized(node, inputs)
    if sized is not None:
        return [Tensor(sized.shape, "i64", _size_at(sized), False, None, sized)]
    if proto.op_type not in LOWERINGS:
        return _inlined(g, node, inputs, opset, operators)
    operators.append(proto.op_type)
    results = LOWERINGS[proto.op_type](g, node, *inputs)
    results = results if isinstance(results, (list, tuple)) else [results]
    return [g.settled(v, inputs) for v in results]


def _size_at(sizes):
    def at(s):
        if sizes.size != 1:
            raise Unsupported("several run-time sizes are read as data")
        return f"({sizes.reshape(-1)[0]})"
    return at


# ---- graphs in nodes ----
MOST_TURNS = 64


def _inner(g, graph, outer, given, opset, operators):
    """The outputs of a graph whose inputs are these."""
    values = _Scope(outer)
    _initialize(g, graph, values)
    values.update(zip([info.name for info in graph.input], given))
    run(g, graph, values, opset, operators)
    return [values[info.name] for info in graph.output]


def _branch(g, node, inputs, values, opset, operators):
    taken = bool(constant(inputs[0], "its condition").reshape(-1)[0])
    graph = node["then_branch" if taken else "else_branch"]
    return _inner(g, graph, values, [], opset, operators)


def _loop(g, node, inputs, values, opset, operators):
    """Turn by turn, where constants say how many."""
    body, (most, keep, *states) = node["body"], inputs
    turns = MOST_TURNS + 1 if most is None else int(constant(most, "its count").reshape(-1)[0])
    going = True if keep is None else bool(constant(keep, "its condition").reshape(-1)[0])
    parts, turn = [], 0
    while going and turn < turns:
        if turn == MOST_TURNS:
            raise Unsupported(f"a loop of more than {MOST_TURNS} turns")
        given = [g.constant(np.array(turn, np.int64), "i64"),
                 g.constant(np.array(True), "bool"), *states]
        going, *results = _inner(g, body, values, given, opset, operators)
        going = bool(constant(going, "its condition").reshape(-1)[0])
        states, turn = results[:len(states)], turn + 1
        parts.append(results[len(states):])
    return states + _stacked(g, parts, node.n_outputs - len(states))


def _scan(g, node, inputs, values, opset, operators):
    """Likewise: as many turns as its inputs are long."""
    body, count = node["body"], node["num_scan_inputs"]
    states, scanned = inputs[:-count], inputs[-count:]
    axes = [a % x.rank for a, x in zip(node.list("scan_input_axes", [0] * count), scanned)]
    turned = node.list("scan_input_directions", [0] * count)
    length = scanned[0].shape[axes[0]]
    if node.opset < 9 or not is_known(length) or length > MOST_TURNS:
        raise Unsupported(f"a scan of more than {MOST_TURNS} turns")
    parts = []
    for turn in range(length):
        steps = [views.taken(x, a, length - 1 - turn if back else turn)
                 for x, a, back in zip(scanned, axes, turned)]
        results = _inner(g, body, values, [*states, *steps], opset, operators)
        states = results[:len(states)]
        parts.append(results[len(states):])
    n = node.n_outputs - len(states)
    back = node.list("scan_output_directions", [0] * n)
    axes = node.list("scan_output_axes", [0] * n)
    return states + _stacked(g, parts, n, axes, back)


def _stacked(g, parts, n, axes=None, back=None):
    """Output k of all turns as one tensor, along a new axis."""
    results = []
    for k in range(n):
        steps = [p[k] for p in parts][::-1 if back and back[k] else 1]
        if not steps:
            raise Unsupported("a loop without turns that collects values")
        axis = axes[k] % (steps[0].rank + 1) if axes else 0
        results.append(views.concat(g, [views.reshape(v, [*v.shape[:axis], 1, *v.shape[axis:]])
                                        for v in steps], axis))
    return results


CONTROL = {"If": _branch, "Loop": _loop, "Scan": _scan}


def _inlined(g, node, inputs, opset, operators):
    """An operator that is defined by others."""
    proto = node.proto
    body = fold.body_of(node, inputs)
    if body is None:
        raise Unsupported("it has no expression here")
    operators.append(proto.op_type)
    inner = _Scope(zip(body.input, inputs + [None] * (len(body.input) - len(inputs))))
    versions = {o.domain: o.version for o in body.opset_import} or opset
    run(g, body, inner, {**opset, **versions}, [])
    return [inner.get(name) for name in body.output]


def _finished(g, model, values, operators):
    outputs, constants = {}, {}
    for k, info in enumerate(model.graph.output):
        if not info.type.HasField("tensor_type"):
            raise Unsupported(f"{info.name!r} is no tensor")
        v = values[info.name]
        if v.data is not None:
            constants[info.name] = v.data
            continue
        g.node = f"output {info.name}"
        name = f"y{k}_{plain(info.name)}"[:60]
        outputs[name] = info.name, g.store(v.shape, v.dtype, v.at, name=name)
    te, inputs, nodes, readers = "", [], {}, {}
    name = plain(model.graph.name)[:50]
    name = name if name[0].isalpha() else f"model{name}"
    if outputs:
        te, inputs, nodes, readers = g.text(name, {n: t for n, (_, t) in outputs.items()})
    return Lowered(te, name, inputs, outputs, nodes, readers, g.seed, g.sizes, constants, operators)
