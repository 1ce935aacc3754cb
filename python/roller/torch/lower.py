"""Nodes of a graph of PyTorch's operators as statements of one op."""
import operator

import torch

from . import (distances, elements, gathers, orders, products, random,  # noqa: F401: their rows
               reductions, scatters, windows)
from .sizes import Real, Size
from .values import LOWERINGS, VIEWS, Unsupported


def name_of(node):
    """The operator's name, without its overload."""
    packet = getattr(node.target, "overloadpacket", None)
    return packet.__name__ if packet is not None else getattr(node.target, "__name__",
                                                              str(node.target))


def is_view(node):
    return node.op == "call_function" and name_of(node) in VIEWS and (
        getattr(node.target, "namespace", "") in ("aten", "prims"))


def is_number(node):
    """Is it a size, or made of sizes?"""
    return isinstance(node.meta.get("val"), (int, float, bool, Size, Real))


def lower_node(g, node, values, like=None):
    """values: of the nodes before; node's own is given back.  like: what the node gives."""
    def of(x):
        if isinstance(x, torch.fx.Node):
            return x.meta["val"] if is_number(x) else values[x]
        return [of(y) for y in x] if isinstance(x, (list, tuple)) else x
    args, keywords = of(node.args), {k: of(v) for k, v in node.kwargs.items()}
    if node.target is operator.getitem:
        return args[0][args[1]]
    name = name_of(node)
    row = VIEWS.get(name) or LOWERINGS.get(name)
    if row is None or getattr(node.target, "namespace", "") not in ("aten", "prims"):
        raise Unsupported(f"no row for {name}")
    for option in ("dtype", "device", "layout", "pin_memory", "memory_format", "non_blocking"):
        keywords.pop(option, None)
    try:
        return row(g, node.meta["val"] if like is None else like, name, *args, **keywords)
    except TypeError as error:
        raise Unsupported(f"{name} with other arguments: {error}") from error
