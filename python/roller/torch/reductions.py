"""Reductions, scans, and moments."""
import math

import torch

from .values import (Like, Unsupported, axes, axis, converted, highest, is_varying, literal,
                     literal_in, lowers, lowest, real_kind)
from .views import view_reshape

TERMS = {"sum": "sum", "prod": "prod", "amax": "max", "amin": "min"}


def kept_shape(a, dims):
    dims = axes(dims, a)
    return tuple(1 if d in dims else n for d, n in enumerate(a.shape))


@lowers("sum", "prod")
def lower_sum(g, out, name, a, dims=None, keepdim=False, **__):
    if isinstance(dims, torch.dtype):
        dims = None
    return g.reduce(out, name, a, dims, keep=keeps(out, a, keepdim))


def keeps(out, a, keepdim):
    """Does the result have the reduced axes?  Of a tensor without axes there are none."""
    return bool(keepdim) and bool(a.shape)


@lowers("amax", "amin")
def lower_amax(g, out, name, a, dims=None, keepdim=False):
    if out.dtype == torch.bool:
        return g.reduce(out, "any" if name == "amax" else "all", a, dims,
                        keep=keeps(out, a, keepdim))
    return g.reduce(out, TERMS[name], a, dims, keep=keeps(out, a, keepdim))


@lowers("any", "all")
def lower_any(g, out, name, a, dims=None, keepdim=False):
    return g.reduce(out, name, a, dims, "{}" if out.dtype == torch.bool else "u8({} ? 1 : 0)",
                    dtype=torch.bool, keep=keeps(out, a, keepdim))


@lowers("argmax", "argmin")
def lower_position(g, out, name, a, dim=None, keepdim=False):
    if dim is None and len(a.shape) > 1:
        flat = view_reshape(g, Like((a.numel,), a.dtype), name, a)
        best = g.reduce(Like((), torch.int64), name, flat, [0], dtype=numeric(a), keep=False)
        return view_reshape(g, out, name, best)
    if not a.shape:
        return g.store(out, lambda s: "i64(0)")
    return g.reduce(out, name, a, dim, dtype=numeric(a), keep=keeps(out, a, keepdim))


def numeric(a):
    return torch.int32 if a.dtype == torch.bool else a.dtype


def count(n, dtype):
    """A number of elements as a real, not rounded to a narrow type."""
    if is_varying(n):
        return f"{real_kind(dtype)}({n})"
    return literal(float(n))


@lowers("mean")
def lower_mean(g, out, _, a, dims=None, keepdim=False, **__):
    n = math.prod(a.shape[d] for d in axes(dims, a))
    return g.reduce(out, "sum", a, dims, f"{{}} / {count(n, out.dtype)}",
                    keep=keeps(out, a, keepdim))


@lowers("max", "min")
def lower_extreme(g, outs, name, a, dim=None, keepdim=False):
    if dim is None:
        return lower_amax(g, outs, f"a{name}", a)
    return (lower_amax(g, outs[0], f"a{name}", a, dim, keepdim),
            lower_position(g, outs[1], f"arg{name}", a, dim, keepdim))


@lowers("aminmax")
def lower_aminmax(g, outs, _, a, dim=None, keepdim=False):
    return (lower_amax(g, outs[0], "amin", a, dim, keepdim),
            lower_amax(g, outs[1], "amax", a, dim, keepdim))


def variance(g, out, a, dims, correction, keepdim):
    """The variance, and the mean with its axes kept."""
    kept = Like(kept_shape(a, dims), out.dtype)
    n = math.prod(a.shape[d] for d in axes(dims, a))
    mean = lower_mean(g, kept, "mean", a, dims, True)
    square = g.map(Like(a.shape, out.dtype), "({0} - {1}) * ({0} - {1})", a, mean)
    return g.reduce(out, "sum", square, dims, f"{{}} / {count(max(n - correction, 0), out.dtype)}",
                    keep=keeps(out, a, keepdim)), mean


def correction_of(dims, correction):
    """Of var(x, unbiased) and var(x, dims, correction=...)."""
    if isinstance(dims, bool):
        return None, int(dims)
    return dims, 1 if correction is None else correction


@lowers("var", "std")
def lower_var(g, out, name, a, dims=None, unbiased=None, keepdim=False, correction=None):
    if isinstance(unbiased, bool):
        correction = int(unbiased)
    dims, correction = correction_of(dims, correction)
    made = variance(g, out, a, dims, correction, keepdim)[0]
    return g.map(out, "sqrt({0})", made) if name == "std" else made


@lowers("var_mean", "std_mean")
def lower_var_mean(g, outs, name, a, dims=None, unbiased=None, keepdim=False, correction=None):
    if isinstance(unbiased, bool):
        correction = int(unbiased)
    dims, correction = correction_of(dims, correction)
    made, mean = variance(g, outs[0], a, dims, correction, keepdim)
    if name == "std_mean":
        made = g.map(outs[0], "sqrt({0})", made)
    return made, view_reshape(g, outs[1], name, mean)


SCANS = {"cumsum": ("sum", 0), "cumprod": ("prod", 1)}


@lowers(*SCANS)
def lower_scan(g, out, name, a, dim, **_):
    d, (monoid, none) = axis(dim, a), SCANS[name]
    if not a.shape:
        return g.map(out, "{0}", a)
    return g.store(out, lambda s: "{}[r](r <= {} ? {} : {})".format(
        monoid, s[d], converted(a.at([*s[:d], "r", *s[d + 1:]]), a.dtype, out.dtype),
        literal_in(none, out.dtype)), {"r": a.shape[d]})


@lowers("cummax", "cummin")
def lower_extremes(g, outs, name, a, dim):
    """The extremes up to each place, and the last place of each; NaN is beyond all numbers."""
    if not a.shape:
        return g.map(outs[0], "{0}", a), g.store(outs[1], lambda s: "i64(0)")
    if a.dtype == torch.bool:
        raise Unsupported("cumulative extremes of bools")
    d, monoid, a = axis(dim, a), name[3:], g.whole(a)
    none = lowest(a.dtype) if monoid == "max" else highest(a.dtype)

    def other(s):
        return a.at([*s[:d], "r", *s[d + 1:]])
    best = g.store(outs[0], lambda s: f"{monoid}[r](r <= {s[d]} ? {other(s)} : {none})",
                   {"r": a.shape[d]})

    def last(s):
        same = f"{other(s)} == {best.at(s)}"
        if a.dtype.is_floating_point:
            same = f"({same} || {other(s)} != {other(s)} && {best.at(s)} != {best.at(s)})"
        return f"max[r](r <= {s[d]} && {same} ? i64(r) : -1)"
    return best, g.store(outs[1], last, {"r": a.shape[d]})


@lowers("logcumsumexp")
def lower_logcumsumexp(g, out, _, a, dim):
    """Beside the largest so far, as far as that is finite."""
    if not a.shape:
        return g.map(out, "{0}", a)
    d, a = axis(dim, a), g.whole(a)
    kind = torch.float64 if a.dtype == torch.float64 else torch.float32

    def other(s):
        return converted(a.at([*s[:d], "r", *s[d + 1:]]), a.dtype, kind)
    most = g.store(Like(a.shape, kind), lambda s: f"max[r](r <= {s[d]} ? {other(s)} : -inf)",
                   {"r": a.shape[d]})
    base = g.map(Like(a.shape, kind), "(abs({0}) < inf ? {0} : 0)", most)
    total = g.store(Like(a.shape, kind), lambda s: f"sum[r](r <= {s[d]} ? exp({other(s)} - "
                    f"{base.at(s)}) : 0)", {"r": a.shape[d]})
    return g.map(out, "log({0}) + {1}", total, base, dtype=kind)


@lowers("linalg_vector_norm")
def lower_norm(g, out, _, a, order=2, dims=None, keepdim=False, **__):
    """Powers leave the range of narrow types long before their root does: they are of f32."""
    kind = torch.float64 if out.dtype == torch.float64 else torch.float32

    def reduced(name, term, root="{}"):
        return g.reduce(out, name, g.map(Like(a.shape, kind), term, a), dims, root, dtype=kind,
                        keep=keeps(out, a, keepdim))
    if order in (math.inf, -math.inf):
        return reduced("max" if order > 0 else "min", "abs({0})")
    if order == 0:
        return reduced("sum", "({0} != 0 ? 1.0 : 0.0)")
    if order == 1:
        return reduced("sum", "abs({0})")
    if order == 2:
        return reduced("sum", "{0} * {0}", "sqrt({})")
    return reduced("sum", f"pow(abs({{0}}), {literal(float(order))})",
                   f"pow({{}}, {literal(1 / order)})")
