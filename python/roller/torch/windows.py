"""Pools: windows that slide, and those that adapt to the result's extent."""
import math

import torch

from .products import Window, each, guarded
from .values import Like, Unsupported, lowers, real_kind, spatial


def lowest(dtype):
    """What loses against every element of a window."""
    if dtype.is_floating_point:
        return "(-inf)"
    return f"(-{torch.iinfo(dtype).max} - 1)" if torch.iinfo(dtype).min else "0"


def pool_of(size, stride, pad, dilation, n):
    size = each(size, n)
    return size, Window(stride if stride else size, pad, dilation, 1, n)


@lowers("max_pool2d_with_indices", "max_pool3d_with_indices")
def lower_max_pool(g, outs, name, x, size, stride=None, pad=0, dilation=1, ceil=False):
    n = spatial(name)
    size, window = pool_of(size, stride, pad, dilation, n)
    x, taps = g.whole(x), dict(zip(window.taps, size))

    def text(s):
        at = window.reached(s[-n:], window.taps)
        return f"[{','.join(window.taps)}]({x.at([*s[:-n], *at])} else {lowest(x.dtype)})"
    values = g.store(outs[0], lambda s: "max" + text(s), taps)
    tap = g.store(Like(values.shape, torch.int64), lambda s: "argmax" + text(s), taps)

    def position(s):
        rest, found = tap.at(s), []
        for d in range(n):
            below = math.prod(size[d + 1:])
            found.append(f"(({rest})/{below}%{size[d]})" if d else f"(({rest})/{below})")
        at = window.reached(s[-n:], found)
        return "+".join(f"({i})*{math.prod(x.shape[len(x.shape) - n + d + 1:])}"
                        for d, i in enumerate(at))
    return values, g.store(outs[1], position)


@lowers("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def lower_max_pool_backward(g, out, name, dy, x, size, stride, pad, dilation, ceil, indices):
    n = spatial(name)
    size, window = pool_of(size, stride, pad, dilation, n)
    dy, indices = g.whole(dy), g.whole(indices)

    def text(s):
        at, met = window.reaching(s[-n:], window.taps)
        here = "+".join(f"({i})*{math.prod(out.shape[len(s) - n + d + 1:])}"
                        for d, i in enumerate(s[-n:]))
        place = [*s[:-n], *at]
        chosen = guarded(indices.at(place), met, "-1")
        return (f"sum[{','.join(window.taps)}]({chosen} == {here} ? "
                f"{guarded(dy.at(place), met)} : 0)")
    return g.store(out, text, dict(zip(window.taps, size)))


def divisor(window, size, extents, outputs, with_pad, fixed, place):
    """The number of elements that the window at `place` divides by."""
    if fixed:
        return str(fixed)
    text = []
    for i, k, st, p, e, o in zip(place, size, window.stride, window.pad, extents, outputs):
        begin = f"(({i})*{st}-{p})"
        inside = (o - 1) * st - p + k <= e + (p if with_pad else 0) and (with_pad or not p)
        if inside:
            text.append(str(k))
        elif with_pad:
            text.append(f"(min({begin}+{k}, {e + p}) - {begin})")
        else:
            text.append(f"(min({begin}+{k}, {e}) - max({begin}, 0))")
    return "*".join(text)


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def lower_avg_pool(g, out, name, x, size, stride=None, pad=0, ceil=False, with_pad=True,
                   fixed=None):
    n = spatial(name)
    size, window = pool_of(size, stride, pad, 1, n)
    x = g.whole(x)

    def text(s):
        at = window.reached(s[-n:], window.taps)
        by = divisor(window, size, x.shape[-n:], out.shape[-n:], with_pad, fixed, s[-n:])
        return (f"sum[{','.join(window.taps)}]({x.at([*s[:-n], *at])} else 0) / "
                f"{real(by, out)}")
    return g.store(out, text, dict(zip(window.taps, size)))


def real(text, out):
    if not out.dtype.is_floating_point:
        raise Unsupported("means of integers")
    return f"{real_kind(out.dtype)}({text})" if not text.isdigit() else f"{text}.0"


@lowers("avg_pool2d_backward", "avg_pool3d_backward")
def lower_avg_pool_backward(g, out, name, dy, x, size, stride, pad, ceil, with_pad, fixed):
    n = spatial(name)
    size, window = pool_of(size, stride, pad, 1, n)
    dy = g.whole(dy)

    def text(s):
        at, met = window.reaching(s[-n:], window.taps)
        by = divisor(window, size, x.shape[-n:], dy.shape[-n:], with_pad, fixed, at)
        return (f"sum[{','.join(window.taps)}]({guarded(dy.at([*s[:-n], *at]), met)} / "
                f"{real(by, out)})")
    return g.store(out, text, dict(zip(window.taps, size)))


# Windows from floor(i * extent / results) to ceil((i + 1) * extent / results).

def begin(i, extent, results):
    return f"({i})*{extent}/{results}"


def length(i, extent, results):
    return f"((({i})+1)*{extent}+{results - 1})/{results}-{begin(i, extent, results)}"


def longest(extent, results):
    return max((-(-(i + 1) * extent // results)) - i * extent // results for i in range(results))


@lowers("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def lower_adaptive(g, out, name, x, size):
    n = spatial(name)
    extents, results = x.shape[-n:], tuple(out.shape)[-n:]
    if 0 in (*extents, *results):
        raise Unsupported("adaptive pools of nothing")
    x, taps = g.whole(x), [f"r{d}" for d in range(n)]

    def text(s):
        at, met, by = [], [], []
        for i, r, e, o in zip(s[-n:], taps, extents, results):
            at.append(f"{begin(i, e, o)}+{r}" if e % o else f"({i})*{e // o}+{r}")
            by.append(f"({length(i, e, o)})" if e % o else str(e // o))
            if e % o:
                met.append(f"{r} < {length(i, e, o)}")
        read = guarded(x.at([*s[:-n], *at]), " && ".join(met)) if met else x.at([*s[:-n], *at])
        by = str(math.prod(map(int, by))) if not met else "*".join(by)
        return f"sum[{','.join(taps)}]({read}) / {real(by, out)}"
    return g.store(out, text, {r: longest(e, o) for r, e, o in zip(taps, extents, results)})


@lowers("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def lower_adaptive_backward(g, out, name, dy, x):
    n = spatial(name)
    extents, results = tuple(out.shape)[-n:], dy.shape[-n:]
    if 0 in (*extents, *results):
        raise Unsupported("adaptive pools of nothing")
    taps = [f"r{d}" for d in range(n)]

    def text(s):
        met, by = [], []
        for i, r, e, o in zip(s[-n:], taps, extents, results):
            met.append(f"{begin(r, e, o)} <= {i} && {i} < {begin(r, e, o)}+{length(r, e, o)}")
            by.append(f"({length(r, e, o)})")
        return (f"sum[{','.join(taps)}]({' && '.join(met)} ? {dy.at([*s[:-n], *taps])} / "
                f"{real('*'.join(by), out)} : 0)")
    return g.store(out, text, dict(zip(taps, results)))


@lowers("adaptive_max_pool2d", "adaptive_max_pool3d")
def lower_adaptive_max(g, outs, name, x, size):
    n = spatial(name)
    extents, results = x.shape[-n:], tuple(outs[0].shape)[-n:]
    if 0 in (*extents, *results):
        raise Unsupported("adaptive pools of nothing")
    x, taps = g.whole(x), [f"r{d}" for d in range(n)]
    long = [longest(e, o) for e, o in zip(extents, results)]

    def text(s):
        at = [f"{begin(i, e, o)}+{r}" for i, r, e, o in zip(s[-n:], taps, extents, results)]
        met = " && ".join(f"{r} < {length(i, e, o)}" for i, r, e, o in
                          zip(s[-n:], taps, extents, results))
        return f"[{','.join(taps)}]({guarded(x.at([*s[:-n], *at]), met, lowest(x.dtype))})"
    values = g.store(outs[0], lambda s: "max" + text(s), dict(zip(taps, long)))
    tap = g.store(Like(values.shape, torch.int64), lambda s: "argmax" + text(s),
                  dict(zip(taps, long)))

    def position(s):
        terms = []
        for d, (i, e, o) in enumerate(zip(s[-n:], extents, results)):
            found = f"({tap.at(s)})/{math.prod(long[d + 1:])}%{long[d]}"
            terms.append(f"({begin(i, e, o)}+{found})*{math.prod(extents[d + 1:])}")
        return "+".join(terms)
    return values, g.store(outs[1], position)


@lowers("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward")
def lower_adaptive_max_backward(g, out, name, dy, x, indices):
    n = spatial(name)
    taps, extents = [f"r{d}" for d in range(n)], tuple(out.shape)[-n:]

    def text(s):
        here = "+".join(f"({i})*{math.prod(extents[d + 1:])}" for d, i in enumerate(s[-n:]))
        return (f"sum[{','.join(taps)}]({indices.at([*s[:-n], *taps])} == {here} ? "
                f"{dy.at([*s[:-n], *taps])} : 0)")
    return g.store(out, text, dict(zip(taps, dy.shape[-n:])))
