"""Graphs of PyTorch as .te: lower(program) for what torch.export gives after run_decompositions.

Every operator is a statement over plain indices, in the order of the graph, as a machine writes
them.  What only renames elements (permute, expand, reshape, slice, ...) is no statement: it changes
the subscripts of those that read it.  An operator that has no row here raises Unsupported.

Convolutions are @tf32 and products are not, which is what PyTorch does with f32 by default
(torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32).
"""
import dataclasses
import math
import operator
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
    """A tensor of the graph.  at(subscripts) is the text of an element; whole: it is a tensor's own,
    so that it may be guarded."""
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


@dataclasses.dataclass
class Lowered:
    te: str
    inputs: list            # names of the graph's placeholders that the op takes, in order
    draws: bool             # a scalar, the seed of its random numbers, follows them
    operators: list         # names of the graph's operators


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
            return form.format(f"{name}[{','.join(f'r{d}' for d in dims)}]({v.at(at)})")
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
    def add(function):
        LOWERINGS.update(dict.fromkeys(names, function))
        return function
    return add


MAPS = {
    "relu": "max({0}, 0)", "exp": "exp({0})", "log": "log({0})", "log2": "log2({0})",
    "log1p": "log(1 + {0})", "expm1": "(exp({0}) - 1)", "sqrt": "sqrt({0})",
    "rsqrt": "rsqrt({0})", "tanh": "tanh({0})", "erf": "erf({0})", "sin": "sin({0})",
    "cos": "cos({0})", "neg": "-{0}", "abs": "abs({0})", "floor": "floor({0})",
    "ceil": "ceil({0})", "round": "round({0})", "reciprocal": "1 / {0}",
    "sigmoid": "1 / (1 + exp(-{0}))", "exp2": "exp2({0})", "logical_not": "!{0}",
    "bitwise_not": "!{0}", "isnan": "{0} != {0}", "mul": "{0} * {1}", "maximum": "max({0}, {1})",
    "minimum": "min({0}, {1})", "pow": "pow({0}, {1})", "eq": "{0} == {1}", "ne": "{0} != {1}",
    "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}",
    "logical_and": "{0} && {1}", "bitwise_and": "{0} && {1}", "logical_or": "{0} || {1}",
    "bitwise_or": "{0} || {1}", "where": "{0} ? {1} : {2}", "remainder": "{0} % {1}",
}


def lower_map(g, out, name, *values):
    values = list(values)
    if name == "where":        # its condition stays one
        c, *values = values
        numbers = [v for v in values if isinstance(v, Value) and v.dtype != torch.bool]
        text = [lambda s, v=v: g.read(v, out.shape, s) for v in values]
        if len(numbers) < sum(isinstance(v, Value) for v in values) and numbers:
            raise Unsupported("where of truths and numbers")
        return g.store(out, lambda s: f"{g.read(c, out.shape, s)} ? {text[0](s)} : {text[1](s)}")
    return g.map(out, MAPS[name], *values)


@lowers("add", "sub")
def lower_add(g, out, name, a, b, alpha=1):
    sign = "+" if name == "add" else "-"
    return g.map(out, f"{{0}} {sign} {{1}}" if alpha == 1
                 else f"{{0}} {sign} {literal(alpha)} * {{1}}", a, b)


@lowers("div")
def lower_div(g, out, _, a, b, rounding_mode=None):
    if rounding_mode == "floor":
        whole = not out.dtype.is_floating_point
        return g.map(out, "{0} / {1}" if whole else "floor({0} / {1})", a, b)
    if rounding_mode:
        raise Unsupported(f"div with rounding_mode {rounding_mode}")
    integers = all(not v.dtype.is_floating_point for v in (a, b) if isinstance(v, Value))
    return g.map(out, f"{TYPES[out.dtype]}({{0}}) / {{1}}" if integers else "{0} / {1}", a, b)


@lowers("clamp", "hardtanh")
def lower_clamp(g, out, name, a, low=None, high=None):
    if name == "hardtanh":
        low, high = -1.0 if low is None else low, 1.0 if high is None else high
    form = "{0}" if low is None else "max({0}, {1})"
    return g.map(out, form if high is None else f"min({form}, {{2}})", a, low or 0, high or 0)


@lowers("clamp_min", "clamp_max")
def lower_clamp_side(g, out, name, a, bound):
    return g.map(out, f"{name[-3:]}({{0}}, {{1}})", a, bound)


@lowers("leaky_relu")
def lower_leaky(g, out, _, a, slope=0.01):
    return g.map(out, "{0} > 0 ? {0} : {0} * {1}", a, slope)


@lowers("elu")
def lower_elu(g, out, _, a, alpha=1, scale=1, input_scale=1):
    return g.map(out, "{0} > 0 ? {0} * {2} : (exp({0} * {3}) - 1) * {1}", a, alpha * scale, scale,
                 input_scale)


@lowers("gelu")
def lower_gelu(g, out, _, a, approximate="none"):
    if approximate == "none":
        return g.map(out, "0.5 * {0} * (1 + erf({0} * 0.7071067811865476))", a)
    return g.map(out, "0.5 * {0} * (1 + tanh(0.7978845608028654"
                 " * ({0} + 0.044715 * {0} * {0} * {0})))", a)


@lowers("_to_copy", "convert_element_type", "copy")
def lower_cast(g, out, name, a, *other, **_):
    v = other[0] if name == "copy" else a
    if v.dtype == out.dtype:
        return g.map(out, "{0}", v)
    form = "{0} ? 1 : 0" if v.dtype == torch.bool else f"{TYPES[out.dtype]}({{0}})"
    return g.store(out, lambda s: form.format(g.read(v, out.shape, s)))


@lowers("clone", "alias", "detach", "lift_fresh_copy", "contiguous")
def lower_same(g, out, _, a, **__):
    return a


@lowers("full", "full_like", "scalar_tensor", "zeros", "zeros_like", "ones", "ones_like")
def lower_constant(g, out, name, *args, **_):
    value = (0 if name.startswith("zeros") else 1 if name.startswith("ones")
             else args[0] if name == "scalar_tensor" else args[1])
    value = out.dtype.is_floating_point and float(value) or value
    return Value(tuple(out.shape), out.dtype, lambda s: literal(value))


@lowers("rand_like", "rand")
def lower_random(g, out, _, *__, **___):
    """Uniform in [0, 1), 24 bits each: numbers of the scalar `seed`, drawn in the order of the graph."""
    first, g.drawn = g.drawn, g.drawn + math.prod(out.shape)

    def text(s):
        at = "+".join(subscript(i, math.prod(out.shape[d + 1:])) for d, i in enumerate(s)) or "0"
        return f"f32(philox(seed, {at}+{first}) / 256) * {2.0 ** -24}"
    return g.store(out, text)


@lowers("arange")
def lower_arange(g, out, _, *args, **__):
    start, step = 0, 1
    if len(args) > 1:
        start, step = args[0], args[2] if len(args) > 2 else 1
    return Value(tuple(out.shape), out.dtype,
                 lambda s: f"{TYPES[out.dtype]}({subscript(s[0], step, start)})")


# Views.

@lowers("permute")
def lower_permute(g, out, _, a, dims):
    place = [axis(d, a) for d in dims]
    return Value(tuple(out.shape), a.dtype,
                 lambda s: a.at([s[place.index(d)] for d in range(len(place))]))


@lowers("transpose")
def lower_transpose(g, out, _, a, d, e):
    dims = list(range(len(a.shape)))
    dims[d], dims[e] = dims[e], dims[d]
    return lower_permute(g, out, _, a, dims)


@lowers("t")
def lower_t(g, out, _, a):
    return lower_permute(g, out, _, a, range(len(a.shape))[::-1])


@lowers("expand")
def lower_expand(g, out, _, a, *__, **___):
    return Value(tuple(out.shape), a.dtype, lambda s: g.read(a, out.shape, s))


@lowers("slice")
def lower_slice(g, out, _, a, dim=0, start=None, end=None, step=1):
    d, n = axis(dim, a), a.shape[axis(dim, a)]
    start = 0 if start is None else max(start + n, 0) if start < 0 else min(start, n)
    return Value(tuple(out.shape), a.dtype, lambda s: a.at(
        [subscript(i, step, start) if k == d else i for k, i in enumerate(s)]))


@lowers("split_with_sizes", "split")
def lower_split(g, outs, _, a, sizes, dim=0):
    d, parts, at = axis(dim, a), [], 0
    for out in outs:
        parts.append(lower_slice(g, out, _, a, d, at))
        at += out.shape[d]
    return tuple(parts)


@lowers("select")
def lower_select(g, out, _, a, dim, index):
    d = axis(dim, a)
    return Value(tuple(out.shape), a.dtype,
                 lambda s: a.at([*s[:d], str(index % a.shape[d]), *s[d:]]))


@lowers("flip")
def lower_flip(g, out, _, a, dims):
    dims = axes(dims, a)
    return Value(tuple(out.shape), a.dtype, lambda s: a.at(
        [f"{a.shape[d] - 1}-{i}" if d in dims else i for d, i in enumerate(s)]))


def spans(old, new):
    """Parts both shapes into runs of dimensions with the same product: pairs of ranges."""
    i = j = 0
    while i < len(old) or j < len(new):
        first, second, a, b = i, j, 1, 1
        while a != b or (i == first and j == second):
            if j >= len(new) or (i < len(old) and a <= b):
                a, i = a * old[i], i + 1
            else:
                b, j = b * new[j], j + 1
        yield range(first, i), range(second, j)


@lowers("as_strided")
def lower_strided(g, out, _, a, size, stride, offset=0):
    dense = [math.prod(size[d + 1:]) for d in range(len(size))]
    if offset or list(stride) != dense or math.prod(size) != math.prod(a.shape):
        raise Unsupported("as_strided that is no reshape")
    return lower_reshape(g, out, _, a)


@lowers("view", "reshape", "_unsafe_view", "squeeze", "unsqueeze")
def lower_reshape(g, out, _, a, *__):
    old, new = a.shape, tuple(out.shape)

    def at(s):
        subscripts = [None] * len(old)
        for ours, theirs in spans(old, new):
            wide = [d for d in ours if old[d] != 1]
            terms, factor = [], 1
            for d in reversed(theirs):
                if new[d] != 1:
                    terms.insert(0, subscript(s[d], factor))
                factor *= new[d]
            position, below = "+".join(terms) or "0", 1
            for d in reversed(ours):
                text = position if len(terms) < 2 or len(wide) < 2 else f"({position})"
                if below > 1:
                    text = f"({text})/{below}"
                if wide and d != wide[0]:
                    text = f"({text}) % {old[d]}"
                subscripts[d] = text if old[d] != 1 else "0"
                below *= old[d]
        return a.at(subscripts)
    return Value(new, a.dtype, at)


# Movements of data.

@lowers("cat")
def lower_cat(g, out, _, parts, dim=0):
    d = axis(dim, out)
    parts = [p for p in parts if math.prod(p.shape)]

    def text(s):
        result, end = None, out.shape[d]
        for p in reversed(parts):
            begin = end - p.shape[d]
            at = p.at([subscript(i, 1, -begin) if k == d else i for k, i in enumerate(s)])
            result = at if result is None else f"({s[d]} < {end} ? {at} : {result})"
            end = begin
        return result
    return g.store(out, text)


@lowers("constant_pad_nd")
def lower_pad(g, out, _, a, pads, value=0):
    a = g.whole(a)
    first = {len(a.shape) - 1 - k: pads[2 * k] for k in range(len(pads) // 2)}
    return g.store(out, lambda s: "{} else {}".format(
        a.at([subscript(i, 1, -first.get(d, 0)) for d, i in enumerate(s)]), literal(value)))


@lowers("gather")
def lower_gather(g, out, _, a, dim, index, **__):
    a, d = g.whole(a), axis(dim, a)
    return g.store(out, lambda s: a.at(
        [index.at(s) if k == d else i for k, i in enumerate(s)]) + " else 0")


@lowers("embedding")
def lower_embedding(g, out, _, table, index, *__):
    table = g.whole(table)
    return g.store(out, lambda s: table.at([index.at(s[:-1]), s[-1]]) + " else 0")


# Reductions and scans.

@lowers("sum", "prod", "amax", "amin", "any", "all", "argmax", "argmin")
def lower_reduction(g, out, name, a, dims=None, *_, **__):
    return g.reduce(out, {"amax": "max", "amin": "min"}.get(name, name), a, dims)


@lowers("mean")
def lower_mean(g, out, _, a, dims=None, *__, **___):
    n = math.prod(a.shape[d] for d in axes(dims, a))
    return g.reduce(out, "sum", a, dims, f"{{}} / {n}")


@lowers("max", "min")
def lower_extreme(g, outs, name, a, dim=None, *_):
    if dim is None:
        return g.reduce(outs, name, a, None)
    return (g.reduce(outs[0], name, a, dim), g.reduce(outs[1], f"arg{name}", a, dim))


def lower_variance(g, out, a, dims, correction):
    kept = torch.empty([1 if d in axes(dims, a) else n for d, n in enumerate(a.shape)],
                       dtype=a.dtype, device="meta")
    n = math.prod(a.shape[d] for d in axes(dims, a))
    mean = lower_mean(g, kept, "mean", a, dims)
    apart = g.map(a, "{0} - {1}", a, mean)
    square = g.map(a, "{0} * {0}", apart)
    return g.reduce(out, "sum", square, dims, f"{{}} / {literal(float(n - correction))}"), mean


@lowers("var")
def lower_var(g, out, _, a, dims=None, correction=1, **__):
    return lower_variance(g, out, a, dims, 1 if correction is None else correction)[0]


@lowers("var_mean")
def lower_var_mean(g, outs, _, a, dims=None, correction=1, **__):
    variance, mean = lower_variance(g, outs[0], a, dims, 1 if correction is None else correction)
    return variance, lower_reshape(g, outs[1], _, mean)


SCANS = {"cumsum": ("sum", "0"), "cumprod": ("prod", "1")}


@lowers(*SCANS)
def lower_scan(g, out, name, a, dim, **_):
    d, (monoid, none) = axis(dim, a), SCANS[name]
    return g.store(out, lambda s: f"{monoid}[r](r <= {s[d]} ? "
                   f"{a.at([*s[:d], 'r', *s[d + 1:]])} : {none})", {"r": a.shape[d]})


# Products, convolutions, windows.

def lower_product(g, out, a, b):
    def text(s):
        return (f"sum[r]({a.at([*s[:-1], 'r'])} * {b.at([*s[:-2], 'r', s[-1]])})")
    return g.store(out, text, {"r": a.shape[-1]})


@lowers("mm", "bmm")
def lower_mm(g, out, _, a, b):
    return lower_product(g, out, a, b)


@lowers("addmm", "baddbmm")
def lower_addmm(g, out, _, c, a, b, beta=1, alpha=1):
    product = lower_product(g, out, a, b)
    if alpha != 1:
        product = g.map(out, "{0} * {1}", product, alpha)
    return g.map(out, "{0} + {1}" if beta == 1 else f"{{0}} + {literal(beta)} * {{1}}", product, c)


def each(values, n):
    values = [values] if isinstance(values, int) else list(values)
    return values * n if len(values) == 1 else values


@lowers("convolution")
def lower_convolution(g, out, _, x, w, bias, stride, pad, dilation, transposed, output_pad, groups):
    x, n = g.whole(x), len(out.shape) - 2
    stride, pad, dilation = each(stride, n), each(pad, n), each(dilation, n)
    places = [f"r{d + 1}" for d in range(n)]
    channels = x.shape[1] // groups
    per_group = out.shape[1] // groups

    def text(s):
        channel = "r0" if groups == 1 else f"{s[1]}/{per_group}*{channels}+r0"
        inner = s[1] if groups == 1 else f"{s[1]}%{per_group}"
        if not transposed:
            at = [f"{subscript(i, st)}+{subscript(r, di)}{-p:+d}"
                  for i, r, st, di, p in zip(s[2:], places, stride, dilation, pad)]
            read, weight = f"({x.at([s[0], channel, *at])} else 0)", w.at([s[1], "r0", *places])
        else:
            at = [f"({i}{p:+d}-{subscript(r, di)})"
                  for i, r, di, p in zip(s[2:], places, dilation, pad)]
            met = " && ".join(f"{a} % {st} == 0" for a, st in zip(at, stride) if st > 1)
            at = [f"{a}/{st}" if st > 1 else a for a, st in zip(at, stride)]
            read = f"({x.at([s[0], channel, *at])} else 0)"
            read = f"({met} ? {read} : 0)" if met else read
            weight = w.at([channel, inner, *places])
        return f"sum[r0,{','.join(places)}]({read} * {weight})"
    reduced = dict(zip(["r0", *places], [channels, *w.shape[2:]]))
    result = g.store(out, text, reduced, " @tf32" if x.dtype == torch.float32 else "")
    if bias is None:
        return result
    along = Value((bias.shape[0],) + (1,) * n, bias.dtype, lambda s: bias.at(s[:1]))
    return g.map(out, "{0} + {1}", result, along)


def lower_window(g, out, x, name, size, stride, pad, dilation, none, form="{}"):
    x, n = g.whole(x), len(size)
    places = [f"r{d}" for d in range(n)]

    def text(s):
        at = [subscript(i, st) + f"+{subscript(r, di)}{-p:+d}"
              for i, r, st, di, p in zip(s[-n:], places, stride, dilation, pad)]
        inside = all((o - 1) * st + (k - 1) * di - 2 * p < e for o, k, st, di, p, e in
                     zip(out.shape[-n:], size, stride, dilation, pad, x.shape[-n:])) and not any(pad)
        read = x.at([*s[:-n], *at]) + ("" if inside else f" else {none}")
        return form.format(f"{name}[{','.join(places)}]({read})")
    return g.store(out, text, dict(zip(places, size)))


@lowers("max_pool2d_with_indices", "max_pool3d_with_indices")
def lower_max_pool(g, outs, name, x, size, stride=None, pad=0, dilation=1, ceil=False):
    n = int(name[8])
    size = each(size, n)
    return (lower_window(g, outs[0], x, "max", size, each(stride, n) if stride else size,
                         each(pad, n), each(dilation, n), "(-inf)"), None)


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def lower_avg_pool(g, out, name, x, size, stride=None, pad=0, ceil=False, with_pad=True,
                   divisor=None):
    n = int(name[8])
    size, pad = each(size, n), each(pad, n)
    if ceil or (any(pad) and not with_pad):
        raise Unsupported(f"{name} whose divisor differs at the edge")
    return lower_window(g, out, x, "sum", size, each(stride, n) if stride else size, pad, [1] * n,
                        "0", f"{{}} / {divisor or math.prod(size)}")


@lowers("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def lower_adaptive(g, out, name, x, size):
    n = int(name[-2])
    if any(e % o for e, o in zip(x.shape[-n:], out.shape[-n:])):
        raise Unsupported(f"{name} to an extent that does not divide")
    size = [e // o for e, o in zip(x.shape[-n:], out.shape[-n:])]
    return lower_window(g, out, x, "sum", size, size, [0] * n, [1] * n, "0",
                        f"{{}} / {math.prod(size)}")


def lower_node(g, node, values):
    """values: of the nodes before; node's own is given back."""
    def of(x):
        if isinstance(x, torch.fx.Node):
            return values[x]
        return [of(y) for y in x] if isinstance(x, (list, tuple)) else x
    args, keywords = of(node.args), {k: of(v) for k, v in node.kwargs.items()}
    if node.target is operator.getitem:
        return args[0][args[1]]
    name = node.target.overloadpacket.__name__
    if name in MAPS:
        return lower_map(g, node.meta["val"], name, *args)
    if name not in LOWERINGS:
        raise Unsupported(name)
    return LOWERINGS[name](g, node.meta["val"], name, *args, **keywords)


def lower(program):
    """The .te of an ExportedProgram.  Its outputs are those of the op, in order."""
    g, values, names, outputs, operators = Graph(), {}, {}, {}, []
    constants = program.graph_signature.inputs_to_lifted_tensor_constants
    for node in program.graph.nodes:
        if node.op == "placeholder":
            like = node.meta["val"]
            if node.name in constants and program.constants[constants[node.name]].numel() == 1:
                value = program.constants[constants[node.name]].item()
                values[node] = Value(tuple(like.shape), like.dtype, lambda s, v=value: literal(v))
            elif isinstance(like, torch.Tensor):
                values[node] = g.argument(like)
                names[values[node].at([]).split("[")[0]] = node.name
        elif node.op == "call_function":
            values[node] = lower_node(g, node, values)
            if node.target is not operator.getitem:
                name = node.target.overloadpacket.__name__
                turned = name == "convolution" and node.args[6]
                operators.append("transposed convolution" if turned else name)
        elif node.op == "output":
            for k, result in enumerate(node.args[0]):
                like = result.meta["val"]
                outputs[f"y{k}"] = like
                g.store(like, values[result].at, name=f"y{k}")
    te, inputs = g.text(outputs)
    return Lowered(te, [names[i] for i in inputs], g.drawn > 0, operators)
