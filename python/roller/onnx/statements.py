"""The op that a model becomes: statements over tensors, whose elements are text.

What only renames elements (a transpose, a slice, a reshape) is no statement: it changes the
subscripts of those that read it.
"""
import math
import re
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

from .extents import Extent, is_known, product

REALS = ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2")
NARROW = ("i8", "u8", "i16")
MOST_STATEMENTS = 4096        # that the language takes
MOST_DEPTH, MOST_TEXT = 32, 400           # of what only renames elements, before it is a statement


class Unsupported(Exception):
    """A model, an operator or an option of one that has no expression; says why."""


class Malformed(Unsupported):
    """A node whose inputs or attributes are none that its operator takes."""


@dataclass
class Tensor:
    """at(subscripts) is the text of an element; whole: it is a tensor's own, so that it may be
    guarded.  data: its values, if they are known; sizes: likewise, some of run-time sizes."""
    shape: tuple
    dtype: str
    at: Callable
    whole: bool = False
    data: np.ndarray | None = None
    sizes: np.ndarray | None = None
    depth: int = 0          # of subscripts that are changed one after the other

    @property
    def rank(self):
        return len(self.shape)

    @property
    def is_real(self):
        return self.dtype in REALS

    @property
    def count(self):
        return product(self.shape)


@dataclass
class Statement:
    name: str
    ranges: dict            # of the indices on the left
    text: str
    reduced: dict           # of those of its reductions
    note: str               # annotations
    node: str               # the model's node that it stands for


@dataclass
class Argument:
    name: str               # in the op
    source: str             # in the model
    tensor: Tensor
    data: np.ndarray | None = None        # of a weight


def literal(x, real=True):
    if isinstance(x, (bool, np.bool_)):
        return "true" if x else "false"
    if not real:
        return str(int(x)) if x >= 0 else f"({int(x)})"
    x = float(x)
    if math.isnan(x):
        return "(inf - inf)"
    if math.isinf(x):
        return "inf" if x > 0 else "(-inf)"
    text = repr(abs(x))
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text if math.copysign(1, x) > 0 else f"(-{text})"


def plain(name):
    """A name of the model as one of the language."""
    return re.sub(r"\W", "_", name) or "_"


@dataclass
class Graph:
    sizes: dict                           # run-time sizes: their ranges, as -D takes them
    products: str = ""                    # annotation of sums of products of f32
    statements: list = field(default_factory=list)
    arguments: dict = field(default_factory=dict)
    seed: bool = False
    lowered: int = 0                      # nodes, each as often as its loop turns
    node: str = ""                        # that is lowered now

    # ---- tensors ----
    def argument(self, source, shape, dtype, data=None):
        name = f"a{len(self.arguments)}_{plain(source)}"[:60]
        tensor = Tensor(tuple(shape), dtype, lambda s: f"{name}[{','.join(s)}]", True)
        self.arguments[name] = Argument(name, source, tensor, data)
        return tensor

    def constant(self, data, dtype, source="constant"):
        """One value is a literal; more are an argument, once somebody reads them."""
        made = []

        def at(s):
            if data.size == 1:
                return literal(data.reshape(-1)[0], dtype in REALS)
            if not made:
                made.append(self.argument(source, data.shape, dtype, data))
            return made[0].at(s)
        return Tensor(data.shape, dtype, at, data.size != 1, data)

    def store(self, shape, dtype, text, reduced=None, note="", name=None):
        """A statement; text(indices) is its right side."""
        if len(self.statements) >= MOST_STATEMENTS:
            raise Unsupported(f"it would be more than {MOST_STATEMENTS} statements")
        name = name or f"t{len(self.statements)}"
        indices = [f"d{d}" for d in range(len(shape))]
        if any(is_known(n) and n == 0 for n in shape):    # there is nothing to compute, or to read
            value, reduced = "false" if dtype == "bool" else "0.0" if "f" in dtype else "0", {}
        else:
            value = text(indices)
        if dtype in NARROW:               # arithmetic is that of i32
            value = f"{dtype}({value})"
        self.statements.append(Statement(name, dict(zip(indices, shape)), value, reduced or {},
                                         note, self.node))
        return Tensor(tuple(shape), dtype, lambda s: f"{name}[{','.join(s)}]", True)

    def store_product(self, shape, dtype, text, reduced):
        return self.store(shape, dtype, text, reduced, self.products if dtype == "f32" else "")

    def whole(self, v):
        return v if v.whole else self.store(v.shape, v.dtype, v.at)

    def settled(self, v, inputs):
        """v; as a statement where its subscripts have become long."""
        if v is None or v.whole or v.data is not None or v.sizes is not None:
            return v
        v.depth = 1 + max((x.depth for x in inputs if x is not None), default=0)
        text = v.at([f"d{d}" for d in range(v.rank)])
        return self.whole(v) if v.depth > MOST_DEPTH or len(text) > MOST_TEXT else v

    # ---- reads ----
    def read(self, v, shape, s):
        """The element of v that broadcasts to s of a result of that shape."""
        skip = len(shape) - v.rank
        return v.at(["0" if n == 1 else s[d + skip] for d, n in enumerate(v.shape)])

    def map(self, dtype, form, *values):
        """form.format(elements) over the shape that the values broadcast to."""
        shape = broadcast(*(v.shape for v in values))
        return self.store(shape, dtype,
                          lambda s: form.format(*(self.read(v, shape, s) for v in values)))

    def reduce(self, v, name, axes, form="{}", keep=True, dtype=None, element="{}"):
        """name[...] of v's elements over some axes, which may be kept with extent 1."""
        axes = sorted(axes)
        shape = [1 if d in axes else n for d, n in enumerate(v.shape) if keep or d not in axes]

        def text(s):
            left = iter(s)
            at = []
            for d in range(v.rank):
                i = next(left) if keep or d not in axes else None
                at.append(f"r{d}" if d in axes else i)
            body = element.format(v.at(at))
            return form.format(f"{name}[{','.join(f'r{d}' for d in axes)}]({body})"
                               if axes else body)
        return self.store(shape, dtype or v.dtype, text, {f"r{d}": v.shape[d] for d in axes})

    # ---- the op ----
    def text(self, name, outputs):
        """The op, without statements that no output needs; its inputs; by statement, from the
        last one on, the node that it stands for and the statements that read it.
        outputs: {name: Tensor}"""
        needed, body, nodes, readers = set(outputs), [], {}, {}
        for s in reversed(self.statements):
            if s.name not in needed:
                continue
            reads = set(re.findall(r"(\w+)\[", s.text))
            needed |= reads
            for read in reads:
                readers.setdefault(read, []).append(s.name)
            nodes[s.name] = s.node
            ranges = ", ".join(f"{i} in {n}" for i, n in {**s.ranges, **s.reduced}.items())
            body.append(f"  {s.name}[{','.join(s.ranges)}] = {s.text}"
                        + (f" where {ranges}" if ranges else "") + s.note + ";\n")
        inputs = [a for a in self.arguments.values() if a.name in needed]
        self._give_sizes(inputs, outputs)

        def declare(n, t):
            return f"{n}: {t.dtype}[{','.join(map(str, t.shape))}]"
        left = ", ".join([declare(a.name, a.tensor) for a in inputs] + ["seed: i64"] * self.seed)
        right = ", ".join(declare(n, t) for n, t in outputs.items())
        head = "".join(f"param {n} = {r};\n" for n, r in self.sizes.items())
        text = f"{head}op {plain(name)}({left}) -> ({right}) {{\n{''.join(reversed(body))}}}\n"
        return text, inputs, nodes, readers

    def _give_sizes(self, inputs, outputs):
        """A launch reads each run-time size off an extent; so does one that no input has."""
        have = {str(n) for t in [a.tensor for a in inputs] + list(outputs.values())
                for n in t.shape}
        used = set().union(*(n.names() for s in self.statements
                             for n in [*s.ranges.values(), *s.reduced.values()]
                             if not is_known(n)), set())
        for size in self.sizes:
            if size in have or not any(re.search(rf"\b{size}\b", n) for n in used):
                continue
            more = [a for a in self.arguments.values() if Extent.symbol(size) in a.tensor.shape]
            if more and more[0] not in inputs:
                inputs.append(more[0])


def broadcast(*shapes):
    rank = max(map(len, shapes), default=0)
    result = []
    for d in range(rank):
        extents = {s[d - rank + len(s)] for s in shapes if d - rank + len(s) >= 0} - {1}
        if len(extents) > 1:
            raise Unsupported(f"shapes {shapes} do not broadcast")
        result.append(extents.pop() if extents else 1)
    return tuple(result)


def joined(index, extents):
    """The place that indices have in the row-major order of these extents."""
    text = ""
    for i, n in zip(index, extents):
        if n == 1:
            continue
        text = f"({text})*{_factor(n)} + {i}" if text else i
    return text or "0"


def parted(place, extents):
    """The indices of a place."""
    if len([n for n in extents if n != 1]) <= 1:
        return ["0" if n == 1 else place for n in extents]
    if any(is_known(n) and n == 0 for n in extents):      # there are no elements
        return ["0"] * len(extents)
    result, behind = [], product(extents)
    first = True
    for n in extents:
        if n == 1:
            result.append("0")
            continue
        behind = behind // n
        text = f"({place})" if behind == 1 else f"({place})/{_factor(behind)}"
        result.append(text if first else f"{text}%{_factor(n)}")
        first = False
    return result


def _factor(n):
    return str(n) if is_known(n) else f"({n})"
