"""Reductions, scans, products, convolutions and windows."""
import math

import torch

from graph import Unsupported, Value, axes, axis, literal, lowers, subscript
from elements import lower_reshape


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
        inside = not any(pad) and all(
            (o - 1) * st + (k - 1) * di < e
            for o, k, st, di, e in zip(out.shape[-n:], size, stride, dilation, x.shape[-n:]))
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
