"""What a lowering writes: statements over tensors, whose elements are text."""
import dataclasses
import math
import re
import typing

import torch

TYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
         torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8",
         torch.uint8: "u8", torch.bool: "bool"}


class Unsupported(Exception):
    """An operator, or an option of one, that has no lowering."""


@dataclasses.dataclass
class Value:
    """A tensor of the graph.  at(subscripts) is the text of an element; whole: it is a tensor's
    own, so that it may be guarded."""
    shape: tuple
    dtype: torch.dtype
    at: typing.Callable
    whole: bool = False


@dataclasses.dataclass
class Statement:
    name: str
    ranges: dict            # of the indices on the left
    text: str
    reduced: dict           # of those of its reduction
    note: str               # an annotation


def literal(x):
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, float) and math.isnan(x):
        return "(inf - inf)"
    if isinstance(x, float) and math.isinf(x):
        return "inf" if x > 0 else "(-inf)"
    text = repr(abs(x))
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text if math.copysign(1, x) > 0 else f"(-{text})"


def subscript(index, factor=1, offset=0):
    text = index if factor == 1 else f"{index}*{factor}"
    return text if offset == 0 else f"{text}{offset:+d}"


class Graph:
    def __init__(self):
        self.statements, self.arguments, self.drawn = [], {}, 0

    def store(self, like, text, reduced=None, note="", name=None):
        """A statement; text(indices) is its right side, `like` has its shape and type."""
        name = name or f"t{len(self.statements)}"
        indices = [f"d{d}" for d in range(len(like.shape))]
        self.statements.append(Statement(name, dict(zip(indices, like.shape)), text(indices),
                                         reduced or {}, note))
        return Value(tuple(like.shape), like.dtype, lambda s: f"{name}[{','.join(s)}]", True)

    def argument(self, like):
        """A tensor of one element without axes is declared with one."""
        name = f"a{len(self.arguments)}"
        self.arguments[name] = like
        return Value(tuple(like.shape), like.dtype,
                     lambda s: f"{name}[{','.join(s) or '0'}]", True)

    def whole(self, v):
        return v if v.whole else self.store(v, v.at)

    def read(self, v, shape, s):
        """The element of v that broadcasts to s of a result of that shape."""
        if not isinstance(v, Value):
            return literal(v)
        skip = len(shape) - len(v.shape)
        return v.at(["0" if n == 1 else s[d + skip] for d, n in enumerate(v.shape)])

    def map(self, like, form, *values):
        """form.format(elements); booleans become numbers among numbers."""
        tensors = [v for v in values if isinstance(v, Value)]
        logic = all(v.dtype == torch.bool for v in tensors)

        def element(v, s):
            text = self.read(v, like.shape, s)
            number = isinstance(v, Value) and v.dtype == torch.bool and not logic
            return f"({text} ? 1 : 0)" if number else text
        return self.store(like, lambda s: form.format(*(element(v, s) for v in values)))

    def reduce(self, like, name, v, dims, form="{}"):
        """name[...] over dims of v; `like` may keep them as axes of extent 1."""
        dims = axes(dims, v)
        keep = len(like.shape) == len(v.shape)

        def text(s):
            left = iter(s)
            at = []
            for d in range(len(v.shape)):
                i = next(left) if keep or d not in dims else None
                at.append(f"r{d}" if d in dims else i)
            body = v.at(at) if v.dtype != torch.bool or name not in ("sum", "prod") else (
                f"{v.at(at)} ? 1 : 0")
            return form.format(f"{name}[{','.join(f'r{d}' for d in dims)}]({body})")
        return self.store(like, text, {f"r{d}": v.shape[d] for d in dims})

    def text(self, outputs):
        """The op; statements that no output needs are left out."""
        needed, body = set(outputs), []
        for s in reversed(self.statements):
            if s.name not in needed:
                continue
            needed |= set(re.findall(r"(\w+)\[", s.text))
            ranges = ", ".join(f"{i} in {n}" for i, n in {**s.ranges, **s.reduced}.items())
            body.append(f"  {s.name}[{','.join(s.ranges)}] = {s.text}"
                        + (f" where {ranges}" if ranges else "") + s.note + ";\n")
        inputs = [name for name in self.arguments if name in needed]

        def declare(name, like, scalar):
            shape = ",".join(map(str, like.shape)) or scalar
            return f"{name}: {TYPES[like.dtype]}" + (f"[{shape}]" if shape else "")
        left = ", ".join([declare(n, self.arguments[n], "1") for n in inputs]
                         + ["seed: i64"] * (self.drawn > 0))
        right = ", ".join(declare(n, like, "") for n, like in outputs.items())
        return f"op graph({left}) -> ({right}) {{\n{''.join(reversed(body))}}}\n", inputs


def axes(dims, v):
    dims = [dims] if isinstance(dims, int) else dims or range(len(v.shape))
    return sorted(d % len(v.shape) for d in dims)


def axis(d, v):
    return d % max(len(v.shape), 1)


LOWERINGS = {}


def lowers(*names):
    """Registers what lowers these operators: f(graph, result, name, *arguments, **options)."""
    def add(function):
        LOWERINGS.update(dict.fromkeys(names, function))
        return function
    return add
