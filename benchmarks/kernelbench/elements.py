"""Operators of one element each, constants, views, and movements of data."""
import math

import torch

from graph import TYPES, Unsupported, Value, axes, axis, literal, lowers, subscript

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
    """Uniform in [0, 1), 24 bits each: numbers of the scalar `seed`, in the graph's order."""
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
