"""What a lowering writes: statements over tensors, whose elements are text."""
import dataclasses
import math
import re
import typing

import torch

TYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
         torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8",
         torch.uint8: "u8", torch.bool: "bool"}
NARROW = (torch.float16, torch.bfloat16)         # rounded wherever PyTorch stores them
WRAPPING = (torch.int8, torch.int16, torch.uint8)            # narrower than .te computes in
STORED = (*NARROW, *WRAPPING, torch.int32, torch.int64)      # temporaries say so
MAX_RANK = 8


class Unsupported(Exception):
    """An operator, or an option of one, that has no lowering; the text says why."""


@dataclasses.dataclass
class Value:
    """A tensor of the graph.  at(subscripts) is the text of an element; whole: it is a tensor's
    own, so that it may be guarded."""
    shape: tuple
    dtype: torch.dtype
    at: typing.Callable
    whole: bool = False

    @property
    def numel(self):
        return math.prod(self.shape)


@dataclasses.dataclass
class Like:
    """Shape and type of a result that no node of the graph stands for."""
    shape: tuple
    dtype: torch.dtype


@dataclasses.dataclass
class Statement:
    name: str
    ranges: dict            # of the indices on the left
    text: str
    reduced: dict           # of those of its reduction
    note: str               # an annotation


def type_of(dtype):
    if dtype not in TYPES:
        raise Unsupported(f"{str(dtype).removeprefix('torch.')} has no type in .te")
    return TYPES[dtype]


def literal(x):
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, complex):
        raise Unsupported("complex numbers have no type in .te")
    if isinstance(x, float) and math.isnan(x):
        return "(inf - inf)"
    if isinstance(x, float) and math.isinf(x):
        return "inf" if x > 0 else "(-inf)"
    if isinstance(x, int) and x == -2**63:
        return "(-9223372036854775807 - 1)"
    if is_varying(x):
        return str(x)
    text = repr(abs(x))
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text if math.copysign(1, x) > 0 else f"(-{text})"


def is_one(n):
    """Is it 1 whatever the sizes are?  What only may be 1 has a subscript like any other."""
    return isinstance(n, int) and n == 1


def subscript(index, factor=1, offset=0):
    text = index if factor == 1 else f"({index})*{factor}"
    return text if offset == 0 else f"{text}{offset:+d}"


def linear(subscripts, shape):
    """The position of an element, row by row."""
    terms = [subscript(s, math.prod(shape[d + 1:])) for d, s in enumerate(subscripts)
             if not is_one(shape[d])]
    return "+".join(terms) or "0"


def result_type(*values):
    """PyTorch's type for an operation on values and numbers."""
    def stand_in(v):
        if is_varying(v) and not isinstance(v, Value):
            return 1.0 if hasattr(v, "text") else 1
        return torch.empty(v.shape and (1,), dtype=v.dtype, device="meta") if isinstance(
            v, Value) else v
    kinds = [stand_in(v) for v in values]
    return torch.result_type(*kinds) if len(kinds) == 2 else kinds[0].dtype


class Graph:
    """sizes: those that are known at run time, where there are any."""

    def __init__(self, *, tf32_products=False, tf32_convolutions=False, own_random=False,
                 sizes=None):
        self.own_random, self.sizes = own_random, sizes
        self.statements, self.arguments, self.strides, self.drawn = [], {}, {}, 0
        self.product_note = " @tf32" if tf32_products else ""
        self.convolution_note = " @tf32" if tf32_convolutions else ""

    def store(self, like, text, reduced=None, note="", name=None):
        """A statement; text(indices) is its right side, `like` has its shape and type."""
        own, name = name is None, name or f"t{len(self.statements)}"
        if len(like.shape) > MAX_RANK:
            raise Unsupported(f"tensors have {MAX_RANK} dimensions at most in .te")
        type_of(like.dtype)
        indices = [f"d{d}" for d in range(len(like.shape))]
        if own and like.dtype in STORED:
            note += f" @type({TYPES[like.dtype]})"
        self.statements.append(Statement(name, dict(zip(indices, like.shape)), text(indices),
                                         reduced or {}, note))
        return Value(tuple(like.shape), like.dtype, lambda s: f"{name}[{','.join(s)}]", True)

    def argument(self, like, strides=None):
        name = f"a{len(self.arguments)}"
        if len(like.shape) > MAX_RANK:
            raise Unsupported(f"tensors have {MAX_RANK} dimensions at most in .te")
        type_of(like.dtype)
        self.arguments[name], self.strides[name] = like, strides
        return Value(tuple(like.shape), like.dtype, lambda s: f"{name}[{','.join(s)}]", True)

    def whole(self, v):
        return v if v.whole else self.store(v, v.at)

    def read(self, v, shape, s):
        """The element of v that broadcasts to s of a result of that shape."""
        if not isinstance(v, Value):
            return literal(v)
        skip = len(shape) - len(v.shape)
        return v.at([s[d + skip] if not is_one(n) and (n is shape[d + skip] or n == shape[d + skip])
                     else "0" for d, n in enumerate(v.shape)])

    def element(self, v, shape, s, dtype):
        """The same in another type."""
        text = self.read(v, shape, s)
        if not isinstance(v, Value):
            return literal_in(v, dtype)
        return converted(text, v.dtype, dtype)

    def map(self, like, form, *values, dtype=None, gives=None):
        """form.format(elements), computed in dtype (that of the result); the form is of the type
        `gives` (dtype)."""
        dtype = dtype or like.dtype

        def text(s):
            made = form.format(*(f"({self.element(v, like.shape, s, dtype)})" for v in values))
            if like.dtype in WRAPPING:
                return f"{TYPES[like.dtype]}({made})"
            return converted(made, gives or dtype, like.dtype)
        return self.store(like, text)

    def reduce(self, like, name, v, dims, form="{}", dtype=None, keep=None):
        """name[...] over dims of v; `like` may keep them as axes of extent 1."""
        dims, dtype = axes(dims, v), dtype or like.dtype
        keep = len(like.shape) == len(v.shape) if keep is None else keep

        def text(s):
            left = iter(s)
            at = []
            for d in range(len(v.shape)):
                i = next(left) if keep or d not in dims else None
                at.append(f"r{d}" if d in dims else i)
            body = converted(v.at(at), v.dtype, dtype)
            indices = ",".join(f"r{d}" for d in dims)
            return form.format(f"{name}[{indices}]({body})" if dims else body)
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

        return self.op(inputs, outputs, "".join(reversed(body)))

    def op(self, inputs, outputs, body):
        """The text, its tensors, and the sizes that no tensor has by itself: they are extents of
        arguments that nothing reads."""
        def declare(name, like):
            strides = self.strides.get(name)
            return (f"{name}: {TYPES[like.dtype]}[{','.join(map(str, like.shape))}]"
                    + (f" strides({','.join(map(str, strides))})" if strides else ""))
        left = [declare(n, self.arguments[n]) for n in inputs]
        right = ", ".join(declare(n, like) for n, like in outputs.items())
        names, params = self.sizes.declared(" ".join([*left, right, body])) if self.sizes else (
            [], "")
        seen = {str(x) for like in [*map(self.arguments.get, inputs), *outputs.values()]
                for x in like.shape}
        told = [n for n in names if n not in seen]
        left += [f"of_{n}: bool[{n}] strides(0)" for n in told] + ["seed: i64"] * (self.drawn > 0)
        return f"{params}op graph({', '.join(left)}) -> ({right}) {{\n{body}}}\n", inputs, told


def is_varying(x):
    """Is it a size that is known at run time?  (sizes.Size)"""
    return hasattr(x, "sizes")


def real_kind(dtype):
    """The type in which a real number is computed beside this one."""
    return "f64" if dtype == torch.float64 else "f32"


def lowest(dtype):
    """The neutral element of a maximum."""
    return "(-inf)" if dtype.is_floating_point else f"{type_of(dtype)}({literal(torch.iinfo(dtype).min)})"


def highest(dtype):
    """The neutral element of a minimum."""
    return "inf" if dtype.is_floating_point else f"{type_of(dtype)}({literal(torch.iinfo(dtype).max)})"


def literal_in(x, dtype):
    if dtype == torch.bool:
        return literal(bool(x))
    if is_varying(x):
        kind = type_of(dtype)
        return x.text(real_kind(dtype)) if hasattr(x, "text") else f"{kind}({x})"
    return literal(float(x) if dtype.is_floating_point and not isinstance(x, float) else
                   int(x) if not dtype.is_floating_point and not isinstance(x, complex) else x)


def converted(text, has, wants):
    """An expression of one type as another, as PyTorch converts."""
    if has == wants:
        return text
    if wants == torch.bool:
        return f"({text}) != 0"
    return f"{type_of(wants)}({f'({text}) ? 1 : 0' if has == torch.bool else text})"


def broadcast(shapes):
    """The shape to which these broadcast."""
    rank = max(map(len, shapes))
    return tuple(next((n for n in each if n != 1), 1) for each in zip(
        *((1,) * (rank - len(s)) + tuple(s) for s in shapes)))


def axes(dims, v):
    if not v.shape:
        return []
    dims = [dims] if isinstance(dims, int) else dims or range(len(v.shape))
    return sorted(d % len(v.shape) for d in dims)


def axis(d, v):
    return d % max(len(v.shape), 1)


def spatial(name):
    """How many dimensions of space an operator has by its name: 2 for avg_pool2d_backward."""
    return int(re.search(r"(\d)d", name)[1])


LOWERINGS, VIEWS = {}, {}


def lowers(*names):
    """Registers what lowers these operators: f(graph, result, name, *arguments, **options)."""
    def add(function):
        LOWERINGS.update(dict.fromkeys(names, function))
        return function
    return add


def views(*names):
    """The same for those that only rename elements, as subscripts do, and for their copies."""
    def add(function):
        VIEWS.update(dict.fromkeys(names, function))
        LOWERINGS.update({f"{name}_copy": function for name in names})
        return function
    return add
