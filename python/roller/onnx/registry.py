"""What lowers each operator, and a node with its attributes."""
from onnx import helper

from .statements import Unsupported

LOWERINGS = {}


def lowers(*names):
    """Registers what lowers these operators: f(graph, node, *inputs) -> Tensor or several; an
    input that a node leaves out is None."""
    def add(function):
        LOWERINGS.update(dict.fromkeys(names, function))
        return function
    return add


class Node:
    """node["axis"], node.get("axis", -1); opset: its version."""

    def __init__(self, proto, opset, name):
        self.proto, self.opset, self.name = proto, opset, name
        self.attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}

    @property
    def op(self):
        return self.proto.op_type

    @property
    def n_outputs(self):
        return len(self.proto.output)

    def wants(self, i):
        """Is output i used by name?"""
        return i < self.n_outputs and self.proto.output[i] != ""

    def __getitem__(self, name):
        if name not in self.attributes:
            raise Unsupported(f"it has no attribute {name!r}")
        value = self.attributes[name]
        return value.decode() if isinstance(value, bytes) else value

    def get(self, name, default=None):
        return self[name] if name in self.attributes else default

    def list(self, name, default=None):
        return list(self[name]) if name in self.attributes else default


def constant(v, what):
    """The values of an input that the expression depends on."""
    if v is None:
        return None
    if v.data is None:
        raise Unsupported(f"{what} is data, which has to be a constant")
    return v.data


def extents_of(v, what):
    """The same where they may be run-time sizes: a list."""
    if v is None:
        return None
    if v.sizes is not None:
        return list(v.sizes.reshape(-1))
    return [int(x) for x in constant(v, what).reshape(-1)]


def axis_of(axis, rank):
    return axis % rank if rank else 0


def axes_of(axes, rank):
    return sorted({a % rank for a in axes}) if rank else []
