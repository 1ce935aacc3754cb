"""Reductions over axes, what normalizes by them, and scans."""
import numpy as np

from .dtypes import numpy_of
from .extents import is_known, product
from .registry import axes_of, axis_of, constant, lowers
from .statements import Tensor, Unsupported, literal
from .views import number, reshape

SIMPLE = {"ReduceSum": "sum", "ReduceMax": "max", "ReduceMin": "min", "ReduceProd": "prod"}


def reduced_axes(node, x, axes):
    given = None
    if axes is not None and axes.count != 0:
        given = [int(a) for a in constant(axes, "axes").reshape(-1)]
    elif axes is None:
        given = node.list("axes")
    if not given:
        return [] if node.get("noop_with_empty_axes", 0) else list(range(x.rank))
    return axes_of(given, x.rank)


def length(x, axes):
    return product([x.shape[d] for d in axes])


def per(n):
    """A divisor."""
    return str(n) if is_known(n) else f"({n})"


@lowers(*SIMPLE, "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
        "ReduceLogSumExp")
def lower_reduce(g, node, x, axes=None):
    dims, keep = reduced_axes(node, x, axes), bool(node.get("keepdims", 1))
    if node.op in SIMPLE:
        if x.dtype == "bool":
            return g.reduce(x, {"ReduceMax": "any", "ReduceMin": "all"}[node.op], dims, keep=keep)
        empty = any(is_known(x.shape[d]) and x.shape[d] == 0 for d in dims)
        if empty and node.op in ("ReduceMax", "ReduceMin") and not x.is_real:
            return _ends(g, node, x, dims, keep)
        return g.reduce(x, SIMPLE[node.op], dims, keep=keep)
    if node.op == "ReduceMean":
        return g.reduce(x, "sum", dims, f"{{}} / {per(length(x, dims))}", keep)
    if node.op == "ReduceL1":
        return g.reduce(x, "sum", dims, keep=keep, element="abs({0})")
    if node.op in ("ReduceL2", "ReduceSumSquare"):
        form = "{}"
        if node.op == "ReduceL2":
            form = "sqrt({})" if x.is_real else f"{x.dtype}(sqrt(f64({{}})))"
        return g.reduce(x, "sum", dims, form, keep, element="({0}) * ({0})")
    real = x if x.is_real else g.map("f32", "f32({0})", x)
    if node.op == "ReduceLogSum":
        return g.reduce(real, "sum", dims, "log({})", keep, x.dtype)
    top = g.reduce(real, "max", dims)
    top = g.map(real.dtype, "abs({0}) == inf ? 0.0 : {0}", top)
    less = g.map(real.dtype, "exp({0} - {1})", real, top)
    total = g.reduce(less, "sum", dims)
    both = g.map(x.dtype, "log({0}) + {1}", total, top)
    shape = [n for d, n in enumerate(x.shape) if d not in dims]
    return both if keep else reshape(both, shape)


def _ends(g, node, x, dims, keep):
    info = np.iinfo(numpy_of(x.dtype))
    value = info.min if node.op == "ReduceMax" else info.max
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keep or d not in dims]
    return g.store(shape, x.dtype, lambda s: f"{x.dtype}({int(value)})")


@lowers("ArgMax", "ArgMin")
def lower_arg(g, node, x):
    axis = axis_of(node.get("axis", 0), x.rank)
    keep, n = bool(node.get("keepdims", 1)), x.shape[axis]
    name = node.op.lower()
    if not node.get("select_last_index", 0):
        return g.reduce(x, name, [axis], "i64({})", keep, "i64")

    def text(s):
        at = list(s)
        at[axis:axis + keep] = [f"{n} - 1 - r{axis}"]
        return f"{n} - 1 - i64({name}[r{axis}]({x.at(at)}))"
    shape = [1 if d == axis else m for d, m in enumerate(x.shape) if keep or d != axis]
    return g.store(shape, "i64", text, {f"r{axis}": n})


# ---- rows ----
def _matrix(node, x):
    """The axes of a softmax: until version 13 all from `axis` on."""
    old = node.opset < 13
    axis = axis_of(node.get("axis", 1 if old else -1), x.rank)
    return list(range(axis, x.rank)) if old else [axis]


@lowers("Softmax", "LogSoftmax", "Hardmax")
def lower_softmax(g, node, x):
    axes = _matrix(node, x)
    if node.op == "Hardmax":
        return hardmax(g, x, axes)
    return softmax(g, x, axes, node.op == "LogSoftmax")


def softmax(g, x, axes, logarithm=False):
    top = g.reduce(x, "max", axes)
    total = g.reduce(_less(g, x, top), "sum", axes, element="exp({0})")
    if logarithm:
        return g.map(x.dtype, "{0} - {1} - log({2})", x, top, total)
    return g.map(x.dtype, "exp({0} - {1}) / {2}", x, top, total)


def _less(g, x, top):
    return Tensor(x.shape, x.dtype, lambda s: f"{x.at(s)} - {g.read(top, x.shape, s)}")


def hardmax(g, x, axes):
    if len(axes) != 1:
        raise Unsupported("Hardmax over several axes")
    best = g.reduce(x, "argmax", axes, dtype="i32")
    return g.store(x.shape, x.dtype, lambda s:
                   f"{s[axes[0]]} == {g.read(best, x.shape, s)} ? 1.0 : 0.0")


@lowers("LayerNormalization", "RMSNormalization")
def lower_layer_norm(g, node, x, scale=None, bias=None):
    axis = axis_of(node.get("axis", -1), x.rank)
    axes, eps = list(range(axis, x.rank)), literal(node.get("epsilon", 1e-5))
    kind = "f64" if x.dtype == "f64" else "f32"
    results = normalized(g, x, axes, eps, centered=node.op[0] == "L", kind=kind)
    y = results[0]
    form, values = "{0}", [y]
    if scale is not None:
        form, values = form + " * {1}", values + [scale]
    if bias is not None:
        form, values = form + f" + {{{len(values)}}}", values + [bias]
    return [g.map(x.dtype, form, *values), *results[1:]]


def normalized(g, x, axes, eps, centered=True, kind="f32"):
    """(x - mean) / sqrt(variance + eps), the mean, 1 / sqrt(variance + eps); in f32 or f64."""
    n = per(length(x, axes))
    if not centered:
        inverse = g.reduce(x, "sum", axes, f"rsqrt({{}} / {n} + {eps})", dtype=kind,
                           element="({0}) * ({0})")
        return [g.map(kind, "{0} * {1}", x, inverse)]
    mean = g.reduce(x, "sum", axes, f"{{}} / {n}", dtype=kind)
    deviation = Tensor(x.shape, kind, lambda s: f"({x.at(s)} - {g.read(mean, x.shape, s)})")
    inverse = g.reduce(deviation, "sum", axes, f"rsqrt({{}} / {n} + {eps})", dtype=kind,
                       element="{0} * {0}")
    return [g.map(kind, "({0} - {1}) * {2}", x, mean, inverse), mean, inverse]


@lowers("InstanceNormalization")
def lower_instance_norm(g, node, x, scale, bias):
    y = normalized(g, x, list(range(2, x.rank)), literal(node.get("epsilon", 1e-5)))[0]
    return g.store(x.shape, x.dtype,
                   lambda s: f"{y.at(s)} * {scale.at([s[1]])} + {bias.at([s[1]])}")


@lowers("GroupNormalization")
def lower_group_norm(g, node, x, scale, bias):
    groups, channels = node["num_groups"], x.shape[1]
    each = channels // groups
    parts = reshape(x, [x.shape[0], groups, each, *x.shape[2:]])
    y = normalized(g, parts, list(range(2, parts.rank)), literal(node.get("epsilon", 1e-5)))[0]
    y = reshape(y, x.shape)
    of = (lambda c: f"{c} / {each}") if node.opset < 21 else (lambda c: c)
    return g.store(x.shape, x.dtype,
                   lambda s: f"{y.at(s)} * {scale.at([of(s[1])])} + {bias.at([of(s[1])])}")


@lowers("BatchNormalization")
def lower_batch_norm(g, node, x, scale, bias, mean, variance):
    eps, training = literal(node.get("epsilon", 1e-5)), node.get("training_mode", 0)
    running = []
    if training:
        axes = [d for d in range(x.rank) if d != 1]
        momentum = node.get("momentum", 0.9)
        old = [mean, variance]
        n = per(length(x, axes))
        mean = g.reduce(x, "sum", axes, f"{{}} / {n}", keep=False, dtype="f32")
        deviation = Tensor(x.shape, "f32", lambda s: f"({x.at(s)} - {mean.at([s[1]])})")
        variance = g.reduce(deviation, "sum", axes, f"{{}} / {n}", keep=False, dtype="f32",
                            element="{0} * {0}")
        running = [g.map(o.dtype, f"{{0}} * {literal(momentum)} + {{1}} * {literal(1 - momentum)}",
                         o, v) for o, v in zip(old, (mean, variance))]
    y = g.store(x.shape, x.dtype, lambda s: (
        f"({x.at(s)} - {mean.at([s[1]])}) / sqrt({variance.at([s[1]])} + {eps}) * "
        f"{scale.at([s[1]])} + {bias.at([s[1]])}"))
    return [y, *running]


@lowers("LpNormalization")
def lower_lp_norm(g, node, x):
    axis = axis_of(node.get("axis", -1), x.rank)
    if node.get("p", 2) == 2:
        total = g.reduce(x, "sum", [axis], "sqrt({})", element="({0}) * ({0})")
    else:
        total = g.reduce(x, "sum", [axis], element="abs({0})")
    return g.map(x.dtype, "{1} == 0 ? 0.0 : {0} / {1}", x, total)


@lowers("LRN")
def lower_lrn(g, node, x):
    size = node["size"]
    alpha, beta, bias = node.get("alpha", 1e-4), node.get("beta", 0.75), node.get("bias", 1.0)
    source, before = g.whole(x), (size - 1) // 2

    def text(s):
        near = source.at([s[0], f"{s[1]} + r - {before}", *s[2:]])
        return (f"{x.at(s)} / pow({literal(bias)} + {literal(alpha / size)} * "
                f"sum[r](({near} else 0) * ({near} else 0)), {literal(beta)})")
    return g.store(x.shape, x.dtype, text, {"r": size})


# ---- scans ----
@lowers("CumSum", "CumProd")
def lower_scan(g, node, x, axis):
    axis = axis_of(int(constant(axis, "axis").reshape(-1)[0]), x.rank)
    name, none = ("sum", 0) if node.op == "CumSum" else ("prod", 1)
    sign = {(0, 0): "<=", (1, 0): "<", (0, 1): ">=", (1, 1): ">"}[
        node.get("exclusive", 0), node.get("reverse", 0)]

    def text(s):
        at = list(s)
        at[axis] = "r"
        return f"{name}[r](r {sign} {s[axis]} ? {x.at(at)} : {number(x.dtype, none)})"
    return g.store(x.shape, x.dtype, text, {"r": x.shape[axis]})


# ---- order ----
@lowers("TopK")
def lower_top_k(g, node, x, k=None):
    """An element's rank is how many come before it: a sum over pairs, so n * n comparisons."""
    count = int(constant(k, "K").reshape(-1)[0]) if k is not None else node["k"]
    axis = axis_of(node.get("axis", -1), x.rank)
    n, sign = x.shape[axis], ">" if node.get("largest", 1) else "<"

    def before(s):
        own, other = list(s), list(s)
        other[axis] = "q"
        a, b = x.at(other), x.at(own)
        return f"sum[q](({a} {sign} {b}) || ({a} == {b} && q < {s[axis]}) ? 1 : 0)"
    rank = g.store(x.shape, "i32", before, {"q": n})
    shape = list(x.shape)
    shape[axis] = count

    def picked(s):
        at = list(s)
        at[axis] = "p"
        return f"sum[p]({rank.at(at)} == {s[axis]} ? i64(p) : 0)"
    place = g.store(shape, "i64", picked, {"p": n})
    source = g.whole(x)

    def value(s):
        at = list(s)
        at[axis] = place.at(s)
        return source.at(at) + " else 0"
    return [g.store(shape, x.dtype, value), place]
