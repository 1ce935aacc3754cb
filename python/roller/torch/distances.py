"""Distances between rows, and products of three."""
import math

from .reductions import lower_norm
from .values import Like, Unsupported, Value, broadcast, literal, lowers


def between(g, x, y):
    """Differences of rows of x and rows of y: [..., row of x, row of y, column]."""
    first = Value((*x.shape[:-1], 1, x.shape[-1]), x.dtype, lambda s: x.at([*s[:-2], s[-1]]))
    second = Value((*y.shape[:-2], 1, *y.shape[-2:]), y.dtype, lambda s: y.at([*s[:-3], *s[-2:]]))
    return g.map(Like(broadcast([first.shape, second.shape]), x.dtype), "{0} - {1}", first, second)


@lowers("_cdist_forward")
def lower_cdist(g, out, name, x, y, p, mode=None):
    if not x.shape[-1]:
        return g.store(out, lambda s: "0.0")
    return lower_norm(g, out, name, between(g, x, y), p, [-1])


@lowers("_cdist_backward")
def lower_cdist_backward(g, out, _, dy, x, y, p, distance):
    """sign(d) (|d| / distance)^(p-1) of each difference d, and nothing where that is 0."""
    apart = between(g, x, y)
    if apart.shape[:-3] != tuple(out.shape[:-2]):
        raise Unsupported("distances of broadcast batches")

    def text(s):
        at = [*s[:-1], "r"]
        d, whole = apart.at([*at, s[-1]]), distance.at(at)
        share = f"abs({d}) / {whole}"
        if p == math.inf:
            share = f"({share} == 1 ? 1 : 0)"
        elif p != 2:
            share = f"pow({share}, {literal(float(p - 1))})"
        return f"sum[r]({d} == 0 ? 0 : ({d} < 0 ? -1 : 1) * {share} * {dy.at(at)})"
    if p == 0:
        return g.store(out, lambda s: "0.0")
    return g.store(out, text, {"r": y.shape[-2]})


@lowers("_trilinear")
def lower_trilinear(g, out, _, x, y, z, *where):
    """The sum, over the last of `where`, of three factors, each with axes of extent 1 put in."""
    def widened(v, dims):
        shape = list(v.shape)
        for d in sorted(dims):
            shape.insert(d, 1)
        return Value(tuple(shape), v.dtype, lambda s: v.at(
            [i for d, i in enumerate(s) if d not in dims]))
    factors = [widened(v, dims) for v, dims in zip((x, y, z), where)]
    shape = broadcast([v.shape for v in factors])
    made = g.map(Like(shape, out.dtype), "{0} * {1} * {2}", *factors)
    return g.reduce(out, "sum", made, where[3], keep=False)
